//! Compiler output for each shape: instructions per interaction, registers, occupancy.
//!
//! Nothing is timed here. Only the driver's compiler is used; for an AMD GPU the device need not be
//! present.

use super::Figure;
use super::curves::{curves, distinct, filled, of};
use super::kernels::CHAPTER;
use crate::error::Result;
use crate::forces::direct::gpu::{KernelConfig, KernelVariant};
use crate::inspect::Inspector;
use crate::measure::plot::{CurvePoint, Plot, PlotAxis};
use crate::measure::{BenchSession, CompiledFacts, Record, RecordKind, RecordedDevice};

pub(super) const INSTRUCTIONS: Figure = Figure::own("instructions", measure, plots);

fn measure(session: &mut BenchSession<'_>) -> Result<()> {
    let points = points(&session.sizes.unroll);
    // The adapter in use first, then the requested AMD GPU.
    let present = session.gpu.clone().map(|gpu| {
        let made = Inspector::present(&gpu.adapter).map_err(|error| error.to_string());
        (Some(RecordedDevice::of(&gpu.adapter)), made)
    });
    let absent = std::mem::replace(&mut session.absent, Err("already queried".to_owned()));
    let compilers: Vec<_> = present.into_iter().chain([(None, absent)]).collect();
    let mut measured = Ok(());
    for (device, compiler) in &compilers {
        if let (Ok(inspector), Ok(())) = (compiler, &measured) {
            measured = inspect(session, inspector, device.as_ref(), &points);
        }
    }
    for (device, compiler) in compilers {
        if let Err(reason) = &compiler {
            let record = blank(session, "the compiler", device.as_ref());
            session.records.push(record.skipped(reason));
        }
        if device.is_none() {
            session.absent = compiler;
        }
    }
    measured
}

/// A record for a compiler's report, of `device` or of one to be named later.
fn blank(session: &BenchSession<'_>, series: &str, device: Option<&RecordedDevice>) -> Record {
    let mut record = session.blank(INSTRUCTIONS.name, series);
    record.kind = RecordKind::Compiled;
    record.method = "asked of the driver's compiler".to_owned();
    if let Some(device) = device {
        record.device = device.clone();
    }
    record
}

/// Series, x values and shapes: r and u with p = 256, then p and q with r = 1, u = 4.
fn points(unroll: &[u32]) -> Vec<(String, u32, KernelConfig)> {
    let mut points = Vec::new();
    for &u in unroll.iter().filter(|u| **u <= 16) {
        let untiled = KernelConfig { u, untiled: true, ..CHAPTER };
        points.push(("untiled, r = 1".to_owned(), u, untiled));
        for r in [1, 2, 4, 8] {
            points.push((format!("r = {r}"), u, KernelConfig { r, u, ..CHAPTER }));
        }
    }
    for q in [1, 2, 4, 8] {
        for p in [32, 64, 128, 256, 512] {
            if p * q <= 1024 {
                let config = KernelConfig { p, q, u: 4, ..CHAPTER };
                points.push((format!("q = {q}"), p, config));
            }
        }
    }
    points
}

fn inspect(
    session: &mut BenchSession<'_>,
    inspector: &Inspector,
    device: Option<&RecordedDevice>,
    points: &[(String, u32, KernelConfig)],
) -> Result<()> {
    session.expect(points.len());
    for (series, x, config) in points {
        session.step(&config.to_string())?;
        let mut record = blank(session, series, device);
        (record.x, record.kernel) = (f64::from(*x), Some(*config));
        let variant = KernelVariant::new(*config, 1.0, 1.0, false);
        session.attempt(record, |_, record| {
            let report = inspector.report(&variant)?;
            record.compiled = Some(CompiledFacts::of(&report));
            if device.is_none() {
                record.device = RecordedDevice {
                    name: report.device,
                    kind: "compiler alone".to_owned(),
                    backend: "vulkan".to_owned(),
                    driver: report.driver,
                };
            }
            Ok(())
        })?;
    }
    Ok(())
}

const TITLE: &str = "Instructions per interaction, p = 256";

type CompiledQuantity = fn(&CompiledFacts) -> Option<f64>;

fn plots(records: &[Record]) -> Vec<Plot> {
    let own = of(records, INSTRUCTIONS.name, RecordKind::Compiled);
    let (unroll, p) = ("interactions written out per turn of the loop, u", "p");
    let instructions: CompiledQuantity = |compiled| compiled.per_interaction;
    let sets: [(bool, &str, &str, &str, CompiledQuantity); 4] = [
        (false, unroll, TITLE, "machine instructions", instructions),
        (false, unroll, "Occupancy, p = 256", "subgroups per SIMD unit", |compiled| {
            compiled.subgroups_per_simd.map(|count| count as f64)
        }),
        (false, unroll, "Registers, p = 256", "registers per thread", |compiled| {
            compiled.registers.map(|count| count as f64)
        }),
        (true, p, "Instructions, r = 1, u = 4", "machine instructions", instructions),
    ];
    let mut plots = Vec::new();
    for device in distinct(own.clone().map(|record| &record.device.name)) {
        for (is_over_p, x, what, y, value) in sets {
            let shown = own
                .clone()
                .filter(|r| r.device.name == *device && r.series.starts_with("q =") == is_over_p);
            let point = |r: &Record| Some(CurvePoint::at(r.x, value(r.compiled.as_ref()?)?));
            let curves = curves(shown, |r: &Record| r.series.clone(), point);
            let x = PlotAxis::powers(x).marked(&curves);
            plots.push(Plot::lines(format!("{what}: {device}"), x, PlotAxis::linear(y), curves));
        }
    }
    filled(plots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::bench::record::tests::example;

    #[test]
    fn inspected_shapes_are_valid_kernels() {
        let points = points(&[1, 2, 4, 8, 16, 32]);
        assert!(points.len() > 40);
        for (series, _, config) in &points {
            config.validate(None).unwrap_or_else(|error| panic!("{series}, {config}: {error}"));
        }
    }

    #[test]
    fn plots_are_per_device_and_omit_unreported_values() {
        let with = |device: &str, series: &str, x: f64, compiled| {
            let mut record = example();
            (record.figure, record.device.name) =
                (super::INSTRUCTIONS.name.to_owned(), device.to_owned());
            (record.series, record.x) = (series.to_owned(), x);
            (record.kind, record.compiled) = (RecordKind::Compiled, Some(compiled));
            record
        };
        let full = CompiledFacts {
            per_interaction: Some(22.0),
            vector_per_interaction: Some(18.0),
            registers: Some(16),
            spilled: Some(0),
            workgroup_memory: Some(4096),
            subgroup_size: 32,
            subgroups_per_simd: Some(32),
            limited_by: None,
        };
        let terse = CompiledFacts { per_interaction: None, subgroups_per_simd: None, ..full };
        let records = [
            with("A", "r = 1", 1.0, full),
            with("A", "r = 1", 4.0, CompiledFacts { per_interaction: Some(18.25), ..full }),
            with("A", "q = 2", 64.0, full),
            with("B", "r = 1", 1.0, terse),
        ];
        let plots = plots(&records);
        let titles: Vec<_> = plots.iter().map(Plot::title).collect();
        assert_eq!(titles.len(), 5, "{titles:?}");
        assert!(titles[0].starts_with(TITLE) && titles[0].ends_with("A"));
        assert_eq!(titles[4], "Registers, p = 256: B");
        let Plot::Lines(first) = &plots[0] else { panic!("curves were expected") };
        let values: Vec<f64> = first.curves[0].points.iter().map(|point| point.y).collect();
        assert_eq!((first.curves.len(), values), (1, vec![22.0, 18.25]));
    }
}
