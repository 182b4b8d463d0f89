//! The integrator, how accurately its steps are chosen, and how precisely forces are computed.
//!
//! Each change restarts the integrator from the current state, so a slider acts only when it is
//! released.

use egui::{Button, Slider, SliderClamping, Ui};

use super::theme::{DIM, InUnit, released_or_reset, resets, section, unless};
use super::{Action, Facts, Integration};
use gravitile::forces::Precision;
use gravitile::integrate::{self, Integrator};
use gravitile::sim::{EngineKind, tiers};
use gravitile::units::Measure;

/// Values of sliders that are being dragged.
#[derive(Default)]
pub struct AccuracyForm {
    eta: Option<f64>,
    eta6: Option<f64>,
    /// The power of two.
    dt_max: Option<f64>,
}

const PRECISION: &str =
    "How precisely forces are computed: f32, pairs of f32 (48 bits in positions and sums), f64";

impl AccuracyForm {
    pub(super) fn show(&mut self, ui: &mut Ui, facts: &Facts, actions: &mut Vec<Action>) {
        let settings = facts.settings;
        let now = Integration::of(settings);
        let defaults = facts.defaults;
        let mut requested = now.clone();
        if !section(ui, "Integrator") {
            return;
        }
        ui.horizontal_wrapped(|ui| {
            for integrator in integrate::ALL {
                let current = integrator == settings.integrator;
                // While time runs backwards, only a reversible integrator can continue.
                let enabled = current || integrator.reversible || facts.dt > 0.0;
                let why = "This integrator only runs forwards, and time runs backwards now";
                let button = Button::selectable(current, integrator.name);
                let button = unless(ui, (!enabled).then_some(why), button, integrator.summary);
                if button.clicked() && !current {
                    requested.integrator = integrator;
                    requested.precision =
                        now.precision.filter(|tier| refusal(facts, integrator, *tier).is_none());
                }
            }
            // The default integrator is offered only if it can run in the current direction of
            // time.
            let can_run = defaults.integrator.reversible || facts.dt > 0.0;
            if resets(ui, settings.integrator == defaults.integrator || !can_run) {
                requested = defaults.clone();
            }
        });
        let integrator = settings.integrator;
        if integrator.has_block_steps() {
            self.steps(ui, facts, &mut requested);
        }
        ui.horizontal_wrapped(|ui| {
            ui.colored_label(DIM, "precision").on_hover_text(PRECISION);
            let first = tiers(facts.engine, facts.method, integrator)[0];
            let current = settings.precision.unwrap_or(first);
            for (tier, name) in Precision::ALL {
                let refused = refusal(facts, integrator, tier);
                let button = Button::selectable(tier == current, name);
                let button = unless(ui, refused, button, PRECISION);
                if button.clicked() && tier != current {
                    requested.precision = Some(tier);
                }
            }
            // The default precision of another integrator does not apply to this one.
            let default = defaults.precision.filter(|_| integrator == defaults.integrator);
            if resets(ui, current == default.unwrap_or(first)) {
                requested.precision = default;
            }
        });
        if requested != now {
            actions.push(Action::Integration(requested));
        }
    }

    /// Sliders for how individual steps are chosen.
    fn steps(&mut self, ui: &mut Ui, facts: &Facts, requested: &mut Integration) {
        let (blocks, defaults) = (&mut requested.blocks, &facts.defaults.blocks);
        let about = "Aarseth's accuracy parameter: each body's steps grow with its square root";
        released_or_reset(
            ui,
            &mut self.eta,
            (&mut blocks.eta, defaults.eta),
            ["eta", about],
            |value| eta_slider(value, 1e-6),
        );
        if facts.settings.integrator.order > 4 {
            let about = "The same for the sixth-order criterion: steps grow with it. The mean of both is used";
            released_or_reset(
                ui,
                &mut self.eta6,
                (&mut blocks.eta6, defaults.eta6),
                ["eta6", about],
                |value| eta_slider(value, 1e-4),
            );
        }
        let about =
            "The longest step of any body, a power of two: at its multiples all bodies are in step";
        let suits = facts.hints.dt.log2().round();
        let mut exponent = blocks.dt_max.log2();
        let suited = defaults.dt_max.log2();
        let unit = Measure::of(&facts.units.time);
        released_or_reset(
            ui,
            &mut self.dt_max,
            (&mut exponent, suited),
            ["dt-max", about],
            |value| {
                Slider::new(value, suits - 6.0..=suits + 8.0)
                    .step_by(1.0)
                    .clamping(SliderClamping::Edits)
                    .in_measure_by(&unit, f64::exp2, |dt| dt.log2().round())
            },
        );
        blocks.dt_max = exponent.round().exp2();
        let note = "Each body has its own step; dt is how often all are brought to the same time and shown.";
        ui.colored_label(DIM, note);
    }
}

/// A slider for an accuracy parameter, from `least` to 1.
fn eta_slider(value: &mut f64, least: f64) -> Slider<'_> {
    Slider::new(value, least..=1.0).logarithmic(true).clamping(SliderClamping::Edits).in_unit("")
}

/// Why the engine does not offer this precision; `None` if it does, as far as is known before
/// trying it.
fn refusal(facts: &Facts, integrator: &Integrator, tier: Precision) -> Option<String> {
    let has = tiers(facts.engine, facts.method, integrator);
    if !has.contains(&tier) {
        let names: Vec<_> = has.iter().map(|tier| tier.name()).collect();
        let (names, on) = (names.join(" and "), facts.engine.name());
        return Some(format!("The engine {on} offers {names} with {}", integrator.name));
    }
    let lacks_f64 = facts.engine == EngineKind::Gpu && !facts.gpu.tier.f64;
    (lacks_f64 && tier == Precision::Double)
        .then(|| "This adapter has no f64 in shaders; the engine cpu has it".to_owned())
}
