//! The ceilings of the adapter.

use super::kernels::CHAPTER;
use crate::forces::direct::gpu::KernelConfig;
use crate::gpu::DeviceClass;
use crate::measure::plot::{Bars, Plot, PlotAxis, number};
use crate::measure::{Ceiling, Ceilings, Limit, Record, RecordKind, predict};

/// The name of the figure.
pub(in crate::measure::bench) const CEILINGS: &str = "ceilings";

/// Enough bodies that latency, dispatch and idle units do not matter.
const MANY: usize = 1 << 22;

/// The ceilings among some records; `None` if none was measured.
pub fn ceilings_of(records: &[Record]) -> Option<Ceilings> {
    let mut found = records.iter().filter(|r| r.kind == RecordKind::Ceiling).peekable();
    let in_series = found.peek()?.device.kind == DeviceClass::Software.name();
    let rates = found.filter_map(|r| Some((r.ceiling()?, r.per_sec()?)));
    Some(Ceilings::of(rates).in_series(in_series))
}

/// What each resource alone would allow the chapter's kernel with four sinks per thread.
pub fn ceilings_plots(records: &[Record]) -> Vec<Plot> {
    let Some(ceilings) = ceilings_of(records) else { return Vec::new() };
    let config = KernelConfig { r: 4, ..CHAPTER };
    let Some(prediction) = predict(&ceilings, &config, MANY, MANY) else { return Vec::new() };
    let mut bars = vec![("pair function, in registers", ceilings.get(Ceiling::Pair) / 1e9)];
    for (limit, secs) in &prediction.parts {
        let name = match limit {
            Limit::Arithmetic => "instruction issue",
            Limit::Rsqrt => "reciprocal square roots",
            Limit::WorkgroupMemory => "workgroup memory",
            Limit::Storage => "storage bandwidth",
            _ => continue,
        };
        bars.push((name, MANY as f64 * MANY as f64 / secs / 1e9));
    }
    let in_words =
        |(name, rate): (&str, f64)| (name.to_owned(), rate, format!("{} G/s", number(rate)));
    vec![Plot::Bars(Bars {
        title: "What each resource alone would allow, p = 256, r = 4, u = 4".to_owned(),
        x: PlotAxis::decades("rate, 10⁹ interactions/s"),
        bars: bars.into_iter().map(in_words).collect(),
    })]
}
