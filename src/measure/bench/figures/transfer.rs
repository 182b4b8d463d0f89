//! Kirin's thesis, figure 4.1: the time to send bodies to the device and to fetch them.

use crate::wall_clock::Instant;

use super::Figure;
use super::curves::{by_series, filled, micros, of};
use crate::error::Result;
use crate::gpu::{Gpu, read_blocking, storage};
use crate::measure::plot::{CurvePoint, Plot, PlotAxis};
use crate::measure::{BenchSession, BenchSizes, Record, RecordKind};

pub(super) const TRANSFER: Figure = Figure::own("transfer", measure, plots);

/// Number of chunks of a split transfer.
const CHUNKS: usize = 8;
/// Transfers before the first that counts.
const WARMING: usize = 3;
/// The shortest sample: the same transfer is repeated to reach it.
const LEAST_SECS: f64 = 5e-4;

/// A mode of transferring the bodies.
#[derive(Clone, Copy)]
enum TransferMode {
    To,
    From,
    ToInWrites,
    ToInSubmissions,
}

const MODES: [(&str, TransferMode); 4] = [
    ("to the device", TransferMode::To),
    ("from the device", TransferMode::From),
    ("to the device, 8 writes", TransferMode::ToInWrites),
    ("to the device, 8 submissions", TransferMode::ToInSubmissions),
];

fn transfer(
    gpu: &Gpu,
    buffer: &wgpu::Buffer,
    bodies: &[[f32; 4]],
    mode: TransferMode,
) -> Result<()> {
    let submit = || pollster::block_on(gpu.finish(gpu.queue.submit([])));
    let size = bodies.len().div_ceil(CHUNKS);
    let chunks = bodies.chunks(size).enumerate();
    let write = |(k, chunk): (usize, &[[f32; 4]])| {
        let at = (16 * k * size) as u64;
        gpu.queue.write_buffer(buffer, at, bytemuck::cast_slice(chunk));
    };
    match mode {
        TransferMode::To => {
            write((0, bodies));
            submit()
        }
        TransferMode::ToInWrites => {
            chunks.for_each(write);
            submit()
        }
        TransferMode::ToInSubmissions => {
            for chunk in chunks {
                write(chunk);
                submit()?;
            }
            Ok(())
        }
        TransferMode::From => read_blocking::<[f32; 4]>(gpu, &[buffer], bodies.len()).map(drop),
    }
}

fn measure(session: &mut BenchSession<'_>) -> Result<()> {
    let Some(gpu) = session.gpu.clone() else { return Ok(()) };
    let sizes = BenchSizes::powers(CHUNKS, 4 * session.sizes.largest, 2);
    session.expect(sizes.len());
    for n in sizes {
        session.step(&format!("{n} bodies, sent and fetched"))?;
        let (buffer, bodies) = (storage(&gpu, "bodies that travel", n), vec![[1.0f32; 4]; n]);
        let mut samples: [Vec<f64>; MODES.len()] = Default::default();
        let mut repeats = [1; MODES.len()];
        for round in 0..WARMING + session.sizes.rounds.1 {
            for (k, (_, mode)) in MODES.iter().enumerate() {
                let begun = Instant::now();
                for _ in 0..repeats[k] {
                    transfer(&gpu, &buffer, &bodies, *mode)?;
                }
                let secs = begun.elapsed().as_secs_f64() / f64::from(repeats[k]);
                if round + 1 == WARMING {
                    repeats[k] = (LEAST_SECS / secs).ceil().clamp(1.0, 100.0) as u32;
                } else if round >= WARMING {
                    samples[k].push(secs);
                }
            }
        }
        for (k, (series, _)) in MODES.iter().enumerate() {
            let mut record = session.on_adapter(TRANSFER.name, series, RecordKind::Transfer);
            (record.x, record.work, record.repeats) = (n as f64, (16 * n) as f64, repeats[k]);
            record.method = "wall clock".to_owned();
            record.set_samples(&samples[k]);
            session.records.push(record);
        }
    }
    Ok(())
}

fn plots(records: &[Record]) -> Vec<Plot> {
    let own = of(records, TRANSFER.name, RecordKind::Transfer);
    let times = by_series(own.clone(), micros);
    let mut rates = by_series(own, |r| Some(CurvePoint::at(r.x, r.per_sec()? / 1e9)));
    rates.truncate(2);
    let x = PlotAxis::powers("bodies that travel, 16 bytes each").marked(&times);
    let y = PlotAxis::decades("time until it has arrived, µs");
    filled([
        Plot::lines("Time of a transfer", x.clone(), y, times),
        Plot::lines("Bytes per second", x, PlotAxis::decades("GB/s"), rates),
    ])
}
