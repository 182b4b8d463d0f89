//! Sapporo2, figure 1: how many threads and workgroups it takes to fill a device.

use super::table::CHAPTER;
use super::{Figure, RATE, curves, marks, millis, of, rates_and_model, values};
use crate::error::Result;
use crate::forces::direct::gpu::KernelConfig;
use crate::gpu::DeviceClass;
use crate::measure::plot::{Axis, Lines, Look, Plot, short};
use crate::measure::{Candidate, Point, Record, Session};

pub(super) const FIGURE: Figure = Figure {
    name: "fill",
    title: "Threads and workgroups that fill the device (Sapporo2, figure 1)",
    about: "A block of individual steps has few sinks, one thread each, in one workgroup. Its sources are cut into slices with \
            a workgroup of their own: 1, 2, 4, 8 for each compute unit (of 16, where the driver tells no number). As long \
            as a curve is flat, more sinks cost nothing: threads wait for each other's answers, or units stand idle. Where it begins \
            to rise the device is full. Sapporo2 takes the smallest block of threads from which on more workgroups gain nothing.",
    measure,
    plots,
};

/// Workgroups per compute unit.
const PER_UNIT: [u32; 4] = [1, 2, 4, 8];
/// Number of compute units assumed if the driver does not report it.
const USUAL_UNITS: u32 = 16;

fn measure(session: &mut Session<'_>) -> Result<()> {
    let Some(gpu) = session.gpu.clone() else { return Ok(()) };
    // On a GPU, enough sources that a slice has a whole tile even with the most slices and the
    // largest tiles.
    let is_software = gpu.adapter.class == DeviceClass::Software;
    let sources = session.sizes.sources * if is_software { 1 } else { 8 };
    let units = gpu.limits.units.unwrap_or(USUAL_UNITS);
    let mut points = Vec::new();
    for p in [32, 64, 128, 192, 256, 384, 512, 768, 1024] {
        if p > gpu.limits.threads_per_workgroup {
            continue;
        }
        for per_unit in PER_UNIT {
            let s = (per_unit * units).clamp(1, 1024);
            if sources < (p * s) as usize {
                // Workgroups without sources would only be counted.
                continue;
            }
            let candidate = Candidate::Kernel(KernelConfig { p, s, ..CHAPTER });
            let series =
                format!("{per_unit} workgroup{} per unit", if per_unit == 1 { "" } else { "s" });
            points.push(Point { series, x: f64::from(p), sinks: p as usize, sources, candidate });
        }
    }
    session.sweep(FIGURE.name, &points)
}

fn plots(records: &[Record]) -> Vec<Plot> {
    let own = of(records, FIGURE.name);
    let times = curves(own.clone(), Look::Measured, millis);
    if times.is_empty() {
        return Vec::new();
    }
    let sources = own.clone().map(|record| record.sources).max().unwrap_or(0);
    let sources = short(sources as f64);
    let rates = rates_and_model(own);
    let x = || Axis::powers("sinks = threads per workgroup").with_marks(marks(&times));
    vec![
        Plot::Lines(Lines {
            title: format!("Time of a block of sinks on {sources} sources"),
            x: x(),
            y: Axis::decades("time per evaluation, ms"),
            curves: times.clone(),
        }),
        Plot::Lines(Lines {
            title: format!("Rate of a block of sinks on {sources} sources"),
            x: x(),
            y: Axis::fitting(RATE, values(&rates)),
            curves: rates,
        }),
    ]
}
