//! Time step, softening, integrator, speed; pause, single step, reverse.

use egui::{Slider, SliderClamping, Ui};

use super::accuracy::AccuracyForm;
use super::field::FieldForm;
use super::theme::{InUnit, quantity, reset_after, section, softening_slider};
use super::{Action, Facts};
use gravitile::live::{Command, Tempo};

pub fn show(
    ui: &mut Ui,
    facts: &Facts,
    (accuracy, field): (&mut AccuracyForm, &mut FieldForm),
    actions: &mut Vec<Action>,
) {
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

    if section(ui, "Speed") {
        ui.horizontal(|ui| {
            let real =
                "A fixed amount of simulated time per second, set below, if the engine can keep up";
            if ui
                .radio(keeper.tempo == Tempo::RealTime, "fixed speed")
                .on_hover_text(real)
                .clicked()
            {
                command(Command::Tempo(Tempo::RealTime));
            }
            let fastest = "As many steps as the engine can do while drawing";
            if ui.radio(keeper.tempo == Tempo::Fastest, "fastest").on_hover_text(fastest).clicked()
            {
                command(Command::Tempo(Tempo::Fastest));
            }
        });
        let per_sec = quantity(keeper.units_per_sec * keeper.factor, &facts.units.time);
        let about = format!(
            "Now {per_sec} of simulated time per second (keys , and . halve and double it)"
        );
        let mut factor = keeper.factor;
        reset_after(ui, "speed", (&mut factor, 1.0), |ui, factor| {
            // Keys and the command line may have set a value beyond the slider's range, which is
            // shown nevertheless.
            let slider = Slider::new(factor, 0.01..=100.0).clamping(SliderClamping::Edits).exact();
            let slider = slider.logarithmic(true).suffix(" ×");
            ui.add_enabled(keeper.tempo == Tempo::RealTime, slider).on_hover_text(about)
        });
        if factor != keeper.factor {
            command(Command::Factor(factor));
        }
    }

    if section(ui, "Integration") {
        let suitable = facts.hints;
        let about = "Time step. Shorter is more accurate and slower; too long, and energy drifts";
        let mut dt = facts.settings.dt;
        reset_after(ui, "dt", (&mut dt, suitable.dt), |ui, dt| {
            // Ranges depend on the suitable values, not on the current ones, so that they do not
            // change while a slider is dragged.
            let slider =
                Slider::new(dt, suitable.dt * 0.01..=suitable.dt * 100.0).logarithmic(true);
            let slider = slider.in_unit(&facts.units.time);
            ui.add(slider.clamping(SliderClamping::Edits)).on_hover_text(about)
        });
        if dt != facts.settings.dt {
            command(Command::Dt(dt));
        }
        let about = "Softening length: closer than this, gravity hardly grows. 0 is pure Newton";
        let mut softening = facts.settings.softening;
        reset_after(ui, "eps", (&mut softening, suitable.softening), |ui, softening| {
            let slider = softening_slider(softening, suitable.softening, &facts.units.length);
            ui.add(slider).on_hover_text(about)
        });
        if softening != facts.settings.softening {
            command(Command::Softening(softening));
        }
    }
    field.show(ui, facts, actions);
    accuracy.show(ui, facts, actions);
}
