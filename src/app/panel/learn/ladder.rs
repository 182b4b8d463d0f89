//! The ladder of kernels, climbed by running each in the simulation.

use egui::{Button, RichText, Ui};

use super::super::theme::{DIM, WARN, number, section};
use super::super::{Action, wgsl};
use super::{LearnForm, LearnView, grid, has_no_rates, request_kernel};
use gravitile::forces::direct::gpu::KernelConfig;
use gravitile::measure::RUNGS;

/// The rate of each rung, measured while it ran.
#[derive(Clone, Debug, Default)]
pub struct RungRates {
    count: usize,
    rates: [Option<f64>; RUNGS.len()],
    frames: u32,
    last: Option<KernelConfig>,
}

/// A rate is recorded after this many frames with it.
const SETTLED: u32 = 12;

impl RungRates {
    /// Adds a frame: the shape that ran, for how many bodies, and the engine's rate.
    pub fn frame(&mut self, running: Option<KernelConfig>, count: usize, rate: Option<f64>) {
        if self.count != count {
            *self = Self { count, ..Self::default() };
        }
        if running != self.last {
            (self.last, self.frames) = (running, 0);
        }
        let (Some(running), Some(rate)) = (running, rate) else { return };
        self.frames += 1;
        let rung = RUNGS.iter().position(|rung| rung.config() == running);
        if let (Some(rung), true) = (rung, self.frames >= SETTLED) {
            self.rates[rung] = Some(rate);
        }
    }

    /// Whether the running kernel is a rung whose rate will be recorded after more layouts of the
    /// panel.
    pub fn is_settling(&self) -> bool {
        let is_rung = |running| RUNGS.iter().any(|rung| rung.config() == running);
        self.frames < SETTLED && self.last.is_some_and(is_rung)
    }

    /// Interactions per second of a rung, as last measured with these bodies.
    pub fn rate(&self, rung: usize) -> Option<f64> {
        self.rates[rung]
    }
}

impl LearnForm {
    /// The rungs with their rates, and the texts of the chosen one and the one before.
    pub(super) fn ladder(&mut self, ui: &mut Ui, shown: LearnView, actions: &mut Vec<Action>) {
        let LearnView { facts, config, .. } = shown;
        if !section(ui, "The ladder") {
            return;
        }
        match has_no_rates(facts) {
            Some(reason) => ui.colored_label(WARN, format!("{reason}: no rates now.")),
            None => {
                ui.colored_label(DIM, "Click a rung to run it. Its rate appears once it has run.")
            }
        };
        for (i, rung) in RUNGS.iter().enumerate() {
            let shape = rung.config();
            let refusal = shape.validate(Some(facts.gpu)).err();
            ui.horizontal(|ui| {
                let free = refusal.is_none() && !self.heat.is_filling();
                let button = Button::new(format!("{}  {}", i + 1, rung.name))
                    .selected(shape == *config)
                    .min_size([150.0, 0.0].into());
                let mut response = ui.add_enabled(free, button).on_hover_text(shape.to_string());
                if let Some(reason) = &refusal {
                    response = response
                        .accessible_name(format!("{}: {reason}", rung.name))
                        .on_disabled_hover_text(reason.to_string());
                }
                if response.clicked() {
                    self.rung = i;
                    if shape != *config {
                        actions.push(request_kernel(shape));
                    }
                }
                let text =
                    self.rung_rates.rate(i).map(|rate| format!("{} G/s", number(rate / 1e9)));
                ui.label(text.unwrap_or_else(|| "–".to_owned()));
            });
        }
        let rung = &RUNGS[self.rung];
        ui.add_space(4.0);
        grid::lines(ui, 4.0, format!("{}  {}: {}", self.rung + 1, rung.name, rung.why));
        let before = self.rung.saturating_sub(1);
        let [first, second] = &mut self.texts;
        egui::ScrollArea::both().id_salt("ladder").max_height(260.0).show(ui, |ui| {
            ui.horizontal_top(|ui| {
                let mut column = |text: &mut wgsl::Highlighted, i: usize| {
                    ui.vertical(|ui| {
                        let name = format!("{}: {}", i + 1, RUNGS[i].name);
                        ui.add(egui::Label::new(RichText::new(name).color(DIM)).extend());
                        ui.add(egui::Label::new(text.of(&RUNGS[i].text())).extend());
                    });
                };
                // The chosen one comes first, visible without scrolling.
                column(first, self.rung);
                if before != self.rung {
                    column(second, before);
                }
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_is_recorded_once_settled_and_cleared_for_other_bodies() {
        let mut rates = RungRates::default();
        let tiled = RUNGS[2].config();
        for _ in 0..SETTLED - 1 {
            rates.frame(Some(tiled), 100, Some(1e9));
        }
        assert_eq!(rates.rate(2), None);
        rates.frame(Some(tiled), 100, Some(2e9));
        assert_eq!(rates.rate(2), Some(2e9));
        // Another kernel's first frames do not count for it, and a missing rate is ignored.
        rates.frame(Some(RUNGS[3].config()), 100, Some(3e9));
        rates.frame(Some(RUNGS[3].config()), 100, None);
        assert_eq!((rates.rate(2), rates.rate(3)), (Some(2e9), None));
        rates.frame(Some(tiled), 200, None);
        assert_eq!(rates.rate(2), None);
    }
}
