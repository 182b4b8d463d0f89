//! Limits, the driver's report, the model's prediction, and measured rates.

use egui::Ui;

use super::super::Facts;
use super::super::theme::{DIM, bytes, number, row, table};
use super::LearnView;
use super::query::Query;
use gravitile::forces::direct::gpu::KernelConfig;
use gravitile::inspect::{CompilerReport, LEAST_PER_INTERACTION, lanes_idle};
use gravitile::measure::{Ceilings, predict};
use gravitile::sim::EngineKind;

/// Threads, workgroup memory and traffic against the adapter's limits.
pub fn limits(ui: &mut Ui, facts: &Facts, config: &KernelConfig) {
    let limits = &facts.gpu.limits;
    table("learn limits").show(ui, |ui| {
        let about = "p x q threads per workgroup, and how many the adapter allows";
        row(ui, "threads", about, format!("{} of {}", config.threads(), limits.threads_per_workgroup));
        let size = facts.gpu.wgpu_adapter.get_info().subgroup_max_size;
        let idle = lanes_idle(config.threads(), size);
        let about = "Part of the lanes in a workgroup's subgroups that have no thread: they cost as much as the others";
        row(ui, "lanes idle", about, format!("{:.0} %, subgroups of {size}", 100.0 * idle));
        let about = "One to four tiles of p x q sources with 16 bytes each, and what the adapter has per workgroup";
        let memory = format!("{} of {} B", config.workgroup_memory(), limits.workgroup_memory);
        row(ui, "workgroup memory", about, memory);
        let (n, reuse) = (facts.count as f64, traffic_divisor(config));
        let words = if config.untiled { "N^2 / r" } else { "N^2 / (p r)" };
        let about = "Sources fetched per force evaluation, 16 bytes each: the chapter's N^2 / p, divided by r as \
                     well; without tiles the caches take up some of it";
        let traffic = n * n / reuse * 16.0;
        row(ui, "memory traffic", about, format!("{words} x 16 B = {}", bytes(traffic)));
    });
}

/// What the N^2 reads of sources are divided by.
fn traffic_divisor(config: &KernelConfig) -> f64 {
    let tile = if config.untiled { 1 } else { config.p };
    f64::from(tile) * f64::from(config.r)
}

/// The driver's report on the kernel.
pub fn driver_report(ui: &mut Ui, config: &KernelConfig, query: &Query<CompilerReport>) {
    match query {
        Query::Idle => {}
        Query::Pending(_) => {
            ui.colored_label(DIM, "asking the driver …");
        }
        Query::Done(Err(reason)) => {
            let text = "Registers and occupancy: not reported by this driver.";
            ui.colored_label(DIM, text).on_hover_text(reason.as_str());
        }
        Query::Done(Ok(report)) => {
            table("learn report").show(ui, |ui| {
                let count = |value: Option<u64>| value.map(|n| n.to_string());
                let unknown = || "not reported".to_owned();
                let about = "Per thread; spilled ones are kept in memory, which is slow";
                let registers = count(report.registers()).map(|n| match report.spilled() {
                    Some(spilled) if spilled > 0 => format!("{n}, {spilled} spilled"),
                    _ => n,
                });
                row(ui, "registers", about, registers.unwrap_or_else(unknown));
                let about =
                    "Subgroups that fit on one SIMD unit at once: while some wait, others work";
                let occupancy = count(report.subgroups_per_simd());
                row(ui, "subgroups per SIMD", about, occupancy.unwrap_or_else(unknown));
                if let Some(room) = report.room(config.threads()) {
                    let about = "Calculated from registers, workgroup memory and subgroup slots of this processor";
                    row(ui, "limited by", about, room.limit.name());
                }
                let about = "Machine instructions of the inner loop per interaction; the arithmetic alone needs 13";
                let per = report.per_interaction();
                let text = per.map(|n| format!("{n:.2}, at least {LEAST_PER_INTERACTION}"));
                row(ui, "per interaction", about, text.unwrap_or_else(unknown));
            });
        }
    }
}

/// The measured and the predicted rate.
pub(super) fn rates(ui: &mut Ui, shown: LearnView, ceilings: &Query<Ceilings>) {
    let LearnView { facts, config, rate } = shown;
    let predicted = match ceilings {
        Query::Done(Ok(ceilings)) => predict(ceilings, config, facts.count, facts.count),
        _ => None,
    };
    table("learn rates").show(ui, |ui| {
        let giga = |rate: f64| format!("{} G/s", number(rate / 1e9));
        let about = "Interactions per second while the kernel runs, by GPU timestamps";
        let measured = match (rate, facts.engine, facts.times) {
            (Some(rate), _, _) => giga(rate),
            (None, kind, _) if kind != EngineKind::Gpu => "not on the GPU".to_owned(),
            (None, _, None) => "no GPU timestamps".to_owned(),
            _ if facts.keeper.paused => "paused".to_owned(),
            _ => "not yet known".to_owned(),
        };
        row(ui, "measured", about, measured);
        let about = "By a model from this adapter's ceilings; see docs/tiling.md";
        let text = match (&predicted, ceilings) {
            (Some(found), _) => giga(found.rate(facts.count, facts.count)),
            (None, Query::Pending(_)) => "measuring …".to_owned(),
            _ => "measure the ceilings first".to_owned(),
        };
        row(ui, "predicted", about, text);
        if let Some(found) = &predicted {
            let about = "The scarcest resource, by the model";
            row(ui, "limit", about, found.limit.name());
            if let Some(rate) = rate {
                let part = rate / found.rate(facts.count, facts.count);
                row(ui, "measured / predicted", about, format!("{:.0} %", part * 100.0));
            }
        }
    });
    if let Query::Done(Err(reason)) = ceilings {
        ui.colored_label(DIM, format!("No ceilings: {reason}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_and_registers_divide_the_traffic() {
        let config = KernelConfig { q: 4, r: 2, u: 4, s: 8, ..KernelConfig::tiled(64) };
        assert_eq!(traffic_divisor(&config), 128.0);
        assert_eq!(traffic_divisor(&KernelConfig { untiled: true, q: 1, ..config }), 2.0);
    }
}
