//! A second run next to the first, with one other setting.

use egui::{ComboBox, Ui};

use super::theme::{named, released_or_reset, section, softening_slider};
use super::{Action, Facts};
use gravitile::integrate;
use gravitile::settings::Comparison;

/// The value of the slider that is being dragged.
#[derive(Default)]
pub struct CompareForm {
    softening: Option<f64>,
}

/// Why there can be no second run; `None` if there can.
fn refusal(facts: &Facts) -> Option<&'static str> {
    if facts.recording.is_some() {
        Some("Films show one run")
    } else if !facts.settings.devices.is_one() {
        Some("Two runs share one device: choose one in the tab Kernel")
    } else {
        None
    }
}

/// What a second run can have instead, with names: no softening or the suitable one, the engine's
/// other methods, the other integrators.
fn choices(facts: &Facts) -> Vec<(String, Comparison)> {
    let now = facts.settings;
    let softening = if now.softening > 0.0 { 0.0 } else { facts.hints.softening };
    let methods = facts.engine.selectable_methods().into_iter();
    let methods = methods
        .filter(|method| *method != facts.method)
        .map(|method| (method.name().to_owned(), Comparison::Method(method.name().to_owned())));
    let integrators = integrate::ALL.iter().filter(|integrator| {
        **integrator != *now.integrator && (integrator.reversible || facts.dt > 0.0)
    });
    let integrators = integrators.map(|integrator| {
        (integrator.name.to_owned(), Comparison::Integrator(integrator.name.to_owned()))
    });
    let softening = ("softening".to_owned(), Comparison::Softening(softening));
    [softening].into_iter().chain(methods).chain(integrators).collect()
}

/// The actions of the key that begins and ends a second run.
pub fn toggled(facts: &Facts) -> Vec<Action> {
    let first = choices(facts).swap_remove(0).1;
    vec![Action::Compare(facts.compared.is_none().then_some(first))]
}

impl CompareForm {
    pub(super) fn show(&mut self, ui: &mut Ui, facts: &Facts, actions: &mut Vec<Action>) {
        if !section(ui, "Two runs side by side") {
            return;
        }
        let differs = facts.compared.as_ref().map(|compared| compared.differs);
        let choices = choices(facts);
        let is_current = |choice: &Comparison| {
            differs.is_some_and(|now| match (now, choice) {
                (Comparison::Softening(_), Comparison::Softening(_)) => true,
                _ => now == choice,
            })
        };
        let current = choices.iter().find(|(_, choice)| is_current(choice));
        let shown = match (differs, current) {
            (None, _) => "nothing".to_owned(),
            (Some(_), Some((name, _))) => name.clone(),
            // What both have.
            (Some(now), None) => now.to_string(),
        };
        let refused = refusal(facts);
        let list = |ui: &mut Ui| {
            let none = ui.selectable_label(differs.is_none(), "nothing");
            if none.clicked() && differs.is_some() {
                actions.push(Action::Compare(None));
            }
            for (name, choice) in &choices {
                let is_current = is_current(choice);
                if ui.selectable_label(is_current, name).clicked() && !is_current {
                    actions.push(Action::Compare(Some(choice.clone())));
                }
            }
        };
        let about = "A second run of the same bodies, from here on, in the right half of the picture, \
                     with this instead. Camera and clock are common (v)";
        ui.add_enabled_ui(refused.is_none(), |ui| {
            named(ui, "compare with", |ui| {
                let list = ComboBox::from_id_salt("compare").selected_text(shown).show_ui(ui, list);
                list.response
                    .on_hover_text(about)
                    .on_disabled_hover_text(refused.unwrap_or_default())
            });
        });
        let Some(Comparison::Softening(now)) = differs else { return };
        let (mut length, suitable) = (*now, facts.hints.softening);
        let about =
            "Softening length of the second run, which begins again from the first one's state";
        let held = &mut self.softening;
        released_or_reset(ui, held, (&mut length, 0.0), ["eps there", about], |value| {
            softening_slider(value, suitable, &facts.units.length)
        });
        if length != *now {
            actions.push(Action::Compare(Some(Comparison::Softening(length))));
        }
    }
}
