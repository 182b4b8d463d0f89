//! Compiler output for each shape: instructions per interaction, registers, occupancy.
//!
//! Nothing is timed here. Only the driver's compiler is used; for an AMD GPU the device need not be
//! present.

use super::table::CHAPTER;
use super::{Figure, marks};
use crate::error::Result;
use crate::forces::direct::gpu::{KernelConfig, KernelVariant};
use crate::inspect::Inspector;
use crate::measure::plot::{Axis, Curve, Lines, Look, Place, Plot};
use crate::measure::{Compiled, Device, Kind, Record, Session};

pub(super) const FIGURE: Figure = Figure {
    name: "instructions",
    title: "Instructions per interaction, and occupancy",
    about: "Counted in the machine code that the driver's compiler makes of the loop over the sources. The \
            arithmetic alone takes 13 instructions; what is above them reads the tile and runs the loop. \
            Unrolling (u) shares the loop's part, sinks in registers (r) share both, so that the curves fall \
            towards 13. The price is registers: the more a thread takes, the fewer subgroups find room on a \
            SIMD unit, and the fewer there are to work while others wait. Where p is small a compiler may write \
            out the whole tile by itself, so that u counts no more (Mesa's does up to p = 128). Mesa's compiler tells this for AMD GPUs that need not be there (bench --gpu NAME).",
    measure,
    plots,
};

fn measure(session: &mut Session<'_>) -> Result<()> {
    let points = points(session.sizes.unroll);
    // The adapter in use first, then the requested AMD GPU.
    let (mut queried, mut refused) = (0, Vec::new());
    if let Some(gpu) = session.gpu.clone() {
        match Inspector::present(&gpu.adapter) {
            Ok(inspector) => {
                queried += 1;
                ask(session, &inspector, Some(Device::of(&gpu.adapter)), &points);
            }
            Err(error) => refused.push((Some(Device::of(&gpu.adapter)), error.to_string())),
        }
    }
    let absent = std::mem::replace(&mut session.absent, Err("already asked".to_owned()));
    match &absent {
        Ok(inspector) => {
            queried += 1;
            ask(session, inspector, None, &points);
        }
        Err(reason) => refused.push((None, reason.clone())),
    }
    session.absent = absent;
    log::debug!("{queried} compilers told of their code");
    for (device, reason) in refused {
        let mut record = session.compiled_record(FIGURE.name, "the compiler", device);
        record.kind = Kind::Skipped;
        record.remark = Some(crate::measure::bench::candidate::plain(&reason));
        session.records.push(record);
    }
    Ok(())
}

/// Series, x values and shapes: r and u with p = 256, then p and q with r = 1, u = 4.
fn points(unroll: &[u32]) -> Vec<(String, u32, KernelConfig)> {
    let mut points = Vec::new();
    for &u in unroll.iter().filter(|u| **u <= 16) {
        points.push((UNTILED.to_owned(), u, KernelConfig { u, untiled: true, ..CHAPTER }));
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

const UNTILED: &str = "untiled, r = 1";

fn ask(
    session: &mut Session<'_>,
    inspector: &Inspector,
    device: Option<Device>,
    points: &[(String, u32, KernelConfig)],
) {
    for (done, (series, x, config)) in points.iter().enumerate() {
        if !session.progress(done as f64 / points.len() as f64, &config.to_string()) {
            return;
        }
        let mut record = session.compiled_record(FIGURE.name, series, device.clone());
        (record.x, record.kernel) = (f64::from(*x), Some(*config));
        let variant = KernelVariant {
            config: *config,
            guarded: false,
            potential: false,
            one_mass: false,
            alone: false,
        };
        match inspector.report(&variant) {
            Ok(report) => {
                if device.is_none() {
                    record.device = Device {
                        name: report.device.clone(),
                        kind: ABSENT.to_owned(),
                        backend: "vulkan".to_owned(),
                        driver: report.driver.clone(),
                    };
                }
                record.compiled = Some(Compiled::of(&report));
            }
            Err(error) => {
                record.kind = Kind::Skipped;
                record.remark = Some(crate::measure::bench::candidate::plain(&error.to_string()));
            }
        }
        session.records.push(record);
    }
}

/// The kind of a device of which only the compiler is present.
const ABSENT: &str = "compiler alone";

fn plots(records: &[Record]) -> Vec<Plot> {
    let own = || records.iter().filter(|r| r.figure == FIGURE.name && r.compiled.is_some());
    let mut devices: Vec<&str> = Vec::new();
    for record in own() {
        if !devices.contains(&record.device.name.as_str()) {
            devices.push(&record.device.name);
        }
    }
    let mut plots = Vec::new();
    for device in devices {
        let of = |is_x_p: bool, value: fn(&Compiled) -> Option<f64>| {
            let kept = own().filter(|r| r.device.name == device);
            curves(kept.filter(|r| r.series.starts_with("q =") == is_x_p), value)
        };
        let (unroll, p) = ("interactions written out per turn of the loop, u", "p");
        for (is_x_p, x, what, y, value) in [
            (false, unroll, INSTRUCTIONS, "machine instructions", per_interaction as Value),
            (false, unroll, "Occupancy, p = 256", "subgroups per SIMD unit", subgroups as Value),
            (false, unroll, "Registers, p = 256", "registers per thread", registers as Value),
            (true, p, "Instructions, r = 1, u = 4", "machine instructions", per_interaction),
        ] {
            let curves = of(is_x_p, value);
            if curves.is_empty() {
                continue;
            }
            let x = Axis::powers(x).with_marks(marks(&curves));
            let title = format!("{what}: {device}");
            plots.push(Plot::Lines(Lines { title, x, y: Axis::linear(y), curves }));
        }
    }
    plots
}

const INSTRUCTIONS: &str = "Instructions per interaction, p = 256";

type Value = fn(&Compiled) -> Option<f64>;

fn per_interaction(compiled: &Compiled) -> Option<f64> {
    compiled.per_interaction
}

fn subgroups(compiled: &Compiled) -> Option<f64> {
    compiled.subgroups_per_simd.map(|count| count as f64)
}

fn registers(compiled: &Compiled) -> Option<f64> {
    compiled.registers.map(|count| count as f64)
}

fn curves<'r>(records: impl Iterator<Item = &'r Record>, value: Value) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for record in records {
        let Some(y) = record.compiled.as_ref().and_then(value) else { continue };
        let place = Place { x: record.x, y, range: (y, y) };
        match curves.iter_mut().find(|curve| curve.name == record.series) {
            Some(curve) => curve.places.push(place),
            None => {
                let (name, colour) = (record.series.clone(), curves.len());
                let places = vec![place];
                curves.push(Curve { name, places, look: Look::Measured, colour });
            }
        }
    }
    curves
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
            (record.figure, record.device.name) = (FIGURE.name.to_owned(), device.to_owned());
            (record.series, record.x) = (series.to_owned(), x);
            (record.kind, record.compiled) = (Kind::Compiled, Some(compiled));
            record
        };
        let full = Compiled {
            per_interaction: Some(22.0),
            vector_per_interaction: Some(18.0),
            registers: Some(16),
            spilled: Some(0),
            workgroup_memory: Some(4096),
            subgroup_size: 32,
            subgroups_per_simd: Some(32),
            limited_by: None,
        };
        let terse = Compiled { per_interaction: None, subgroups_per_simd: None, ..full };
        let records = [
            with("A", "r = 1", 1.0, full),
            with("A", "r = 1", 4.0, Compiled { per_interaction: Some(18.25), ..full }),
            with("A", "q = 2", 64.0, full),
            with("B", "r = 1", 1.0, terse),
        ];
        let plots = plots(&records);
        let titles: Vec<_> = plots.iter().map(Plot::title).collect();
        assert_eq!(titles.len(), 5, "{titles:?}");
        assert!(titles[0].starts_with(INSTRUCTIONS) && titles[0].ends_with("A"));
        assert_eq!(titles[4], "Registers, p = 256: B");
        let Plot::Lines(first) = &plots[0] else { panic!("curves were expected") };
        let values: Vec<f64> = first.curves[0].places.iter().map(|place| place.y).collect();
        assert_eq!((first.curves.len(), values), (1, vec![22.0, 18.25]));
    }
}
