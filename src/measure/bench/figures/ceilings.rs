//! The rate that each ceiling of the adapter allows a kernel.

use super::Figure;
use super::roofline::ceilings_of;
use super::table::CHAPTER;
use crate::error::Result;
use crate::forces::direct::gpu::KernelConfig;
use crate::measure::plot::{Axis, Bars, Plot, number};
use crate::measure::{Ceiling, Limit, Record, Session, predict};

pub(super) const FIGURE: Figure = Figure {
    name: "ceilings",
    title: "Ceilings of the adapter",
    about: "Each ceiling is measured by a small kernel that does one thing only. The dots translate them: \
            the rate that a kernel with p = 256, r = 4, u = 4 would have if this resource were the only \
            one it needs. The leftmost dot is the limit. Reading the tile costs 1/r of a read per \
            interaction, and the sources themselves 16/(p r) bytes, which is why neither is far left where \
            r and p are large.",
    measure,
    plots,
};

fn measure(session: &mut Session<'_>) -> Result<()> {
    session.ceilings().map(|_| ())
}

/// Enough bodies that latency, dispatch and idle units do not matter.
const MANY: usize = 1 << 22;

fn plots(records: &[Record]) -> Vec<Plot> {
    let Some(ceilings) = ceilings_of(records) else { return Vec::new() };
    let config = KernelConfig { r: 4, ..CHAPTER };
    let Some(prediction) = predict(&ceilings, &config, MANY, MANY) else { return Vec::new() };
    let mut bars =
        vec![("pair function, in registers".to_owned(), ceilings.get(Ceiling::Pair) / 1e9)];
    for (limit, secs) in &prediction.parts {
        let name = match limit {
            Limit::Arithmetic => "instruction issue",
            Limit::Rsqrt => "reciprocal square roots",
            Limit::WorkgroupMemory => "workgroup memory",
            Limit::Storage => "storage bandwidth",
            _ => continue,
        };
        bars.push((name.to_owned(), MANY as f64 * MANY as f64 / secs / 1e9));
    }
    let bars = bars
        .into_iter()
        .map(|(name, rate)| (name, rate, format!("{} G/s", number(rate))))
        .collect();
    vec![Plot::Bars(Bars {
        title: "What each resource alone would allow, p = 256, r = 4, u = 4".to_owned(),
        x: Axis::decades("rate, 10⁹ interactions/s"),
        bars,
    })]
}
