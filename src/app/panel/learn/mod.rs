//! The tab Learn: what the kernel does and what that costs. The tile grid in slow motion, limits,
//! the driver's report, the model's prediction, a map of p and q that fills while it is shown, and
//! a ladder of kernels.

mod calculator;
mod grid;
pub(super) mod heat;
mod ladder;
mod numbers;
mod query;

use std::time::Duration;

use egui::{Button, Color32, CornerRadius, RichText, Ui};

use super::theme::{DIM, WARN, heading, offer, section, unless};
use super::{Action, Facts, wgsl};
use gravitile::forces::Method;
use gravitile::forces::direct::gpu::{Dispatch, KernelConfig, KernelRequest, KernelVariant};
use gravitile::inspect::CompilerReport;
use gravitile::live::Command;
use gravitile::measure::{Ceilings, RUNGS};
use gravitile::sim::EngineKind;

use calculator::Calculator;
use heat::{HeatCell, HeatMap, P, Q};
use ladder::RungRates;
use query::Query;

/// Time between layouts while an answer is pending.
const POLL: Duration = Duration::from_millis(100);

/// The state of the tab between frames.
pub struct LearnForm {
    frozen: bool,
    /// Seconds of slow motion so far.
    secs: f64,
    report: Query<CompilerReport>,
    reported_variant: Option<KernelVariant>,
    ceilings: Query<Ceilings>,
    calculator: Calculator,
    /// Whether measuring the ceilings has paused the simulation.
    paused: bool,
    heat: HeatMap,
    rung_rates: RungRates,
    rung: usize,
    texts: [wgsl::Highlighted; 2],
}

impl Default for LearnForm {
    fn default() -> Self {
        Self {
            frozen: false,
            secs: 0.0,
            report: Query::Idle,
            reported_variant: None,
            ceilings: Query::Idle,
            calculator: Calculator::default(),
            paused: false,
            heat: HeatMap::default(),
            rung_rates: RungRates::default(),
            rung: 2,
            texts: Default::default(),
        }
    }
}

/// Why there are no rates of the kernel alone now.
fn has_no_rates(facts: &Facts) -> Option<&'static str> {
    match (facts.engine, facts.times) {
        (kind, _) if kind != EngineKind::Gpu => Some("The engine is on the processor"),
        _ if facts.method != Method::Direct => Some("The method is not direct"),
        (_, None) => Some("Rates of the kernel alone need GPU timestamps"),
        _ if facts.is_at_end => Some("The run has ended"),
        _ if facts.keeper.paused => Some("The simulation is paused"),
        _ => None,
    }
}

/// The kernel that is shown, and the engine's rate with it, if it is known.
#[derive(Clone, Copy)]
struct LearnView<'a> {
    facts: &'a Facts<'a>,
    config: &'a KernelConfig,
    rate: Option<f64>,
}

fn request_kernel(config: KernelConfig) -> Action {
    Action::Live(Command::Kernel(KernelRequest::from(config)))
}

impl LearnForm {
    pub(super) fn show(&mut self, ui: &mut Ui, facts: &Facts, actions: &mut Vec<Action>) {
        let Some(config) = facts.config else {
            ui.colored_label(WARN, "This adapter cannot run a kernel of this shape.");
            return;
        };
        if facts.engine != EngineKind::Gpu {
            ui.horizontal_wrapped(|ui| {
                ui.colored_label(DIM, "The engine is on the processor: the kernel below is idle.");
                let about = "Runs the kernel on the graphics adapter, keeping the current state";
                offer(ui.button("Use the GPU"), about, actions, Action::Engine(EngineKind::Gpu));
            });
        }
        if facts.engine == EngineKind::Gpu && facts.method != Method::Direct {
            ui.horizontal_wrapped(|ui| {
                let text =
                    format!("The method is {}: the kernel below is idle.", facts.method.name());
                ui.colored_label(DIM, text);
                if facts.method == Method::Tree {
                    let text = "See the tab Tree for it; docs/tree.md explains it.";
                    ui.colored_label(DIM, text);
                }
                let about = "Computes all pairs with the kernel below, keeping the current state";
                offer(ui.button("Use all pairs"), about, actions, Action::Method(Method::Direct));
            });
        }
        let on_gpu = facts.runs_all_pairs() && !facts.keeper.paused;
        let rate = facts.rates.engine_interactions_per_sec().filter(|_| on_gpu);
        self.rung_rates.frame(on_gpu.then_some(config), facts.count, rate);
        if rate.is_some() && self.rung_rates.is_settling() {
            // Otherwise the panel is laid out only a few times a second.
            ui.ctx().request_repaint();
        }

        heading(ui, &config.to_string());
        let shown = LearnView { facts, config: &config, rate };
        self.slow_motion(ui, shown, actions);
        self.numbers(ui, shown, actions);
        self.heat_map(ui, shown, actions);
        if section(ui, "Occupancy") {
            let report =
                if let Query::Done(Ok(report)) = &self.report { Some(report) } else { None };
            self.calculator.show(ui, report.map(|report| (report, config.threads())));
        }
        self.ladder(ui, shown, actions);
    }

    /// Restores the kernel that filling the map has replaced, when the tab is left.
    pub(super) fn leave(&mut self, ui: &Ui, actions: &mut Vec<Action>) {
        if let Some(before) = self.heat.stop() {
            actions.push(Action::Live(Command::Kernel(before)));
        }
        self.poll_ceilings(actions);
        self.keep_polling(ui);
    }

    /// Requests another layout while an answer is pending, even if nothing else moves.
    fn keep_polling(&self, ui: &Ui) {
        let waits =
            matches!(self.ceilings, Query::Pending(_)) || matches!(self.report, Query::Pending(_));
        if waits {
            ui.ctx().request_repaint_after(POLL);
        }
    }

    fn slow_motion(&mut self, ui: &mut Ui, shown: LearnView, actions: &mut Vec<Action>) {
        let LearnView { facts, config, .. } = shown;
        if !self.frozen {
            self.secs += f64::from(ui.input(|input| input.stable_dt)).min(0.1);
            ui.ctx().request_repaint_after(Duration::from_millis(33));
        }
        grid::show(ui, config, facts.count, self.secs);
        if config.dispatch == Dispatch::OneWorkgroup {
            let text = "Steps in one workgroup: all bodies are in workgroup memory and stay there for many steps.";
            ui.colored_label(DIM, text);
        }
        ui.horizontal(|ui| {
            ui.checkbox(&mut self.frozen, "hold the slow motion");
            if config.untiled {
                let about = "This kernel has no tiles and no barriers; the third of the ladder has";
                if ui.button("Show tiles").on_hover_text(about).clicked() {
                    self.rung = 2;
                    actions.push(request_kernel(RUNGS[2].config()));
                }
            }
        });
    }

    fn numbers(&mut self, ui: &mut Ui, shown: LearnView, actions: &mut Vec<Action>) {
        let LearnView { facts, config, .. } = shown;
        let guarded = facts.settings.softening == 0.0;
        // The guard goes by `guarded` alone: at softening 1 there is none.
        let variant = KernelVariant { guarded, ..KernelVariant::new(*config, 1.0, 1.0, false) };
        // Not while the map is filled: a running compiler would slow down the measured kernels.
        let waits = self.heat.is_filling() || matches!(self.report, Query::Pending(_));
        if self.reported_variant != Some(variant) && !waits {
            self.report = query::driver(&facts.gpu.adapter, variant);
            self.reported_variant = Some(variant);
        }
        self.report.poll();
        self.poll_ceilings(actions);
        self.keep_polling(ui);
        if section(ui, "What it takes") {
            numbers::limits(ui, facts, config);
            // High enough for a driver's report, so that the ladder does not move when it arrives.
            let height =
                4.0 * (ui.text_style_height(&egui::TextStyle::Body) + ui.spacing().item_spacing.y);
            ui.scope(|ui| {
                ui.set_min_height(height);
                numbers::driver_report(ui, config, &self.report);
            });
        }
        if !section(ui, "How fast") {
            return;
        }
        numbers::rates(ui, shown, &self.ceilings);
        ui.horizontal_wrapped(|ui| {
            let waiting = matches!(self.ceilings, Query::Pending(_));
            let about = "Runs small kernels that do one thing each, for a second or two, on a device of their \
                         own. The simulation pauses meanwhile";
            let button = Button::new("Measure ceilings");
            let response = ui.add_enabled(!waiting && !self.heat.is_filling(), button);
            if response.on_hover_text(about).clicked() {
                self.ceilings = query::ceilings(&facts.gpu.adapter);
                self.paused = !facts.keeper.paused && matches!(self.ceilings, Query::Pending(_));
                if self.paused {
                    actions.push(Action::Live(Command::Pause(true)));
                }
            }
            if waiting {
                ui.spinner();
            }
        });
    }

    /// Resumes the simulation once the ceilings are known.
    fn poll_ceilings(&mut self, actions: &mut Vec<Action>) {
        if self.ceilings.poll() && std::mem::take(&mut self.paused) {
            actions.push(Action::Live(Command::Pause(false)));
        }
    }

    fn heat_map(&mut self, ui: &mut Ui, shown: LearnView, actions: &mut Vec<Action>) {
        let LearnView { facts, config, rate } = shown;
        let is_open = section(ui, "p and q");
        let refuse = |config: &KernelConfig| {
            config.validate(Some(facts.gpu)).err().map(|error| error.to_string())
        };
        self.heat.update(config, facts.count, refuse);
        if !facts.keeper.paused
            && facts.runs_all_pairs()
            && let Some(request) = self.heat.frame(config, rate)
        {
            actions.push(Action::Live(Command::Kernel(request)));
        }
        if !is_open {
            return;
        }
        ui.horizontal_wrapped(|ui| {
            if self.heat.is_filling() {
                // Rates are sampled once per layout.
                ui.ctx().request_repaint();
                let about = "Restores the kernel that ran before";
                let stop = ui.button("Stop").on_hover_text(about).clicked();
                if let Some(before) = stop.then(|| self.heat.stop()).flatten() {
                    actions.push(Action::Live(Command::Kernel(before)));
                }
                let (done, all) = self.heat.progress().unwrap_or_default();
                let waits = if facts.keeper.paused { ", waiting: paused" } else { "" };
                ui.label(format!("{done} of {all}{waits}"));
                return;
            }
            let reason = has_no_rates(facts);
            let about = "Runs the simulation with one shape after the other and notes the rate of each, then \
                         restores the current kernel";
            if unless(ui, reason, Button::new("Fill"), about).clicked() {
                self.heat.begin(facts.settings.kernel);
            }
            let text = format!("r = {}, s = {}; G interactions/s", config.r, config.s);
            ui.colored_label(DIM, text);
        });
        self.cells(ui, config, actions);
    }

    fn cells(&self, ui: &mut Ui, config: &KernelConfig, actions: &mut Vec<Action>) {
        let width = ((ui.available_width().min(340.0) - 30.0) / P.len() as f32 - 3.0).max(24.0);
        let best = self.heat.best().unwrap_or(0.0);
        egui::Grid::new("p and q").spacing([3.0, 3.0]).min_col_width(20.0).show(ui, |ui| {
            ui.colored_label(DIM, "q\\p");
            for p in P {
                ui.vertical_centered(|ui| ui.colored_label(DIM, p.to_string()));
            }
            ui.end_row();
            for (row, q) in Q.iter().enumerate() {
                ui.colored_label(DIM, q.to_string());
                for column in 0..P.len() {
                    let i = row * P.len() + column;
                    let Some(shape) = self.heat.config(i) else { continue };
                    self.cell(ui, (i, shape), width, best, shape == *config, actions);
                }
                ui.end_row();
            }
        });
    }

    fn cell(
        &self,
        ui: &mut Ui,
        (i, shape): (usize, KernelConfig),
        width: f32,
        best: f64,
        runs: bool,
        actions: &mut Vec<Action>,
    ) {
        let (text, ink, fill) = match self.heat.cell(i) {
            HeatCell::Rate(rate) => {
                let (fill, ink) = colour((rate / best) as f32);
                (short(rate / 1e9), ink, fill)
            }
            HeatCell::Unknown => ("·".to_owned(), DIM, Color32::from_gray(34)),
            HeatCell::Refused(_) => {
                ("–".to_owned(), Color32::from_gray(110), Color32::from_gray(60))
            }
        };
        let refusal = Some(self.heat.cell(i)).filter(|cell| matches!(cell, HeatCell::Refused(_)));
        let mut button = Button::new(RichText::new(text).size(11.0).color(ink))
            .fill(fill)
            .corner_radius(CornerRadius::same(2))
            .min_size([width, 22.0].into());
        if runs {
            button = button.stroke(egui::Stroke::new(2.0, Color32::WHITE));
        }
        // While the map fills, clicks do nothing, but colours must stay bright.
        let free = refusal.is_none();
        let response = ui.add_enabled(free, button);
        response.widget_info(|| {
            let name = format!("p = {}, q = {}", shape.p, shape.q);
            egui::WidgetInfo::labeled(egui::Role::Button, free, name)
        });
        let value = self.heat.cell(i).in_words();
        ui.ctx().accesskit_node_builder(response.id, |node| node.set_value(value));
        let response = match refusal {
            Some(refused) => response.on_disabled_hover_text(refused.in_words()),
            None => response.on_hover_text(format!("{shape}: click to run it")),
        };
        if response.clicked() && !self.heat.is_filling() {
            actions.push(request_kernel(shape));
        }
    }
}

/// A number with three digits.
fn short(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 0.995 => format!("{v:.2}"),
        v => format!("{v:.2}").trim_start_matches('0').to_owned(),
    }
}

/// From dark blue to yellow, perceptually uniform (after viridis), and a text colour that is
/// legible on it.
fn colour(part: f32) -> (Color32, Color32) {
    const STOPS: [[f32; 3]; 4] =
        [[59.0, 50.0, 120.0], [38.0, 110.0, 142.0], [53.0, 180.0, 120.0], [245.0, 225.0, 60.0]];
    let place = part.clamp(0.0, 1.0) * (STOPS.len() - 1) as f32;
    let stop = (place as usize).min(STOPS.len() - 2);
    let mix = |i: usize| {
        let (a, b) = (STOPS[stop][i], STOPS[stop + 1][i]);
        (a + (b - a) * (place - stop as f32)) as u8
    };
    let ink = if place > 1.7 { Color32::BLACK } else { Color32::WHITE };
    (Color32::from_rgb(mix(0), mix(1), mix(2)), ink)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fit_their_cells_and_colours_their_scale() {
        let values = [0.0812, 0.9, 1.5512, 15.52, 1551.0];
        assert_eq!(values.map(short), [".08", ".90", "1.55", "15.5", "1551"]);
        assert_eq!(colour(0.0).0, Color32::from_rgb(59, 50, 120));
        assert_eq!(colour(1.0), (Color32::from_rgb(245, 225, 60), Color32::BLACK));
        assert_eq!(colour(f32::NAN).0.a(), 255);
    }
}
