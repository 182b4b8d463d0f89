//! Time step, softening, integrator, speed; pause, single step, reverse.

use egui::{Slider, SliderClamping, Ui};

use super::accuracy::AccuracyForm;
use super::theme::{InUnit, heading, quantity, resets};
use super::{Action, Facts};
use gravitile::live::{Command, Tempo};

pub fn show(ui: &mut Ui, facts: &Facts, accuracy: &mut AccuracyForm, actions: &mut Vec<Action>) {
    let integrator = facts.settings.integrator;
    let mut command = |command: Command| actions.push(Action::Live(command));
    let keeper = facts.keeper;
    ui.horizontal_wrapped(|ui| {
        let (text, about) = if keeper.paused {
            ("Run", "Resume (space)")
        } else {
            ("Pause", "Pause the simulation; the camera still moves (space)")
        };
        if ui.button(text).on_hover_text(about).clicked() {
            command(Command::Pause(!keeper.paused));
        }
        if ui.button("Step").on_hover_text("One step of dt, then stop (s)").clicked() {
            command(Command::Pause(true));
            command(Command::Step(1));
        }
        let text = if facts.dt < 0.0 { "Forwards" } else { "Backwards" };
        let about = "Run time the other way. The leapfrog retraces its path, up to rounding (b)";
        let reversible = integrator.reversible;
        let button = ui.add_enabled(reversible, egui::Button::new(text));
        let button = button.on_disabled_hover_text("This integrator only runs forwards");
        if button.on_hover_text(about).clicked() {
            command(Command::Reverse);
        }
    });

    heading(ui, "Speed");
    ui.horizontal(|ui| {
        let real =
            "A fixed amount of simulated time per second, set below, if the engine can keep up";
        if ui.radio(keeper.tempo == Tempo::RealTime, "fixed speed").on_hover_text(real).clicked() {
            command(Command::Tempo(Tempo::RealTime));
        }
        let fastest = "As many steps as the engine can do while drawing";
        if ui.radio(keeper.tempo == Tempo::Fastest, "fastest").on_hover_text(fastest).clicked() {
            command(Command::Tempo(Tempo::Fastest));
        }
    });
    let mut factor = keeper.factor;
    let slider =
        Slider::new(&mut factor, 0.01..=100.0).logarithmic(true).suffix(" ×").text("speed");
    // Keys and the command line may have set a value beyond the slider's range, which is shown
    // nevertheless.
    let slider = slider.clamping(SliderClamping::Edits);
    let per_sec = quantity(keeper.units_per_sec * keeper.factor, &facts.units.time);
    let about =
        format!("Now {per_sec} of simulated time per second (keys , and . halve and double it)");
    let enabled = keeper.tempo == Tempo::RealTime;
    let is_default = keeper.factor == 1.0;
    let [changed, reset] = with_reset(ui, is_default, |ui| {
        ui.add_enabled(enabled, slider).on_hover_text(about).changed()
    });
    if changed || reset {
        command(Command::Factor(if reset { 1.0 } else { factor }));
    }

    heading(ui, "Integration");
    let mut dt = facts.settings.dt;
    // Ranges depend on the suitable values, not on the current ones, so that they do not change
    // while a slider is dragged.
    let range = facts.hints.dt * 0.01..=facts.hints.dt * 100.0;
    let slider =
        Slider::new(&mut dt, range).logarithmic(true).text("dt").in_unit(&facts.units.time);
    let slider = slider.clamping(SliderClamping::Edits);
    let about = "Time step. Shorter is more accurate and slower; too long, and energy drifts";
    let suitable = facts.hints;
    let [changed, reset] = with_reset(ui, facts.settings.dt == suitable.dt, |ui| {
        ui.add(slider).on_hover_text(about).changed()
    });
    if changed || reset {
        command(Command::Dt(if reset { suitable.dt } else { dt }));
    }
    let mut softening = facts.settings.softening;
    let top = if facts.hints.softening > 0.0 { facts.hints.softening * 100.0 } else { 1.0 };
    let slider = Slider::new(&mut softening, 0.0..=top)
        .logarithmic(true)
        .smallest_positive(top * 1e-4)
        .text("eps")
        .clamping(SliderClamping::Edits)
        .in_unit(&facts.units.length);
    let about = "Softening length: closer than this, gravity hardly grows. 0 is pure Newton";
    let [changed, reset] = with_reset(ui, facts.settings.softening == suitable.softening, |ui| {
        ui.add(slider).on_hover_text(about).changed()
    });
    if changed || reset {
        command(Command::Softening(if reset { suitable.softening } else { softening }));
    }
    accuracy.show(ui, facts, actions);
}

/// A control followed by the button that resets it: whether each of the two was used.
fn with_reset(ui: &mut Ui, is_default: bool, control: impl FnOnce(&mut Ui) -> bool) -> [bool; 2] {
    ui.horizontal(|ui| [control(ui), resets(ui, is_default)]).inner
}
