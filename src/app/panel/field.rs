//! The numbers of the external field.
//!
//! A change restarts the integrator from the current state, so a number acts once the pointer is
//! released or it has been typed.

use egui::{DragValue, Grid, RichText, Ui};

use super::theme::{DIM, InUnit, WARN, section};
use super::{Action, Facts};
use gravitile::field::{Field, Range, Unit};
use gravitile::units::{Measure, Units};

const ABOUT: &str = "It attracts the bodies and counts in their energy; G is that of the bodies";

/// A field while one of its numbers is dragged.
#[derive(Default)]
pub struct FieldForm {
    /// The field that is being changed, and as it is shown.
    held: Option<[Field; 2]>,
    /// What is wrong with the last number, and the field it was for.
    problem: Option<(Field, String)>,
}

impl FieldForm {
    pub(super) fn show(&mut self, ui: &mut Ui, facts: &Facts, actions: &mut Vec<Action>) {
        let now = &facts.settings.field;
        if now.is_empty() {
            return;
        }
        if !section(ui, "External field") {
            return;
        }
        let held = self.held.take().filter(|[before, _]| before == now);
        let mut shown = held.map_or_else(|| now.clone(), |[_, shown]| shown);
        let mut is_dragged = false;
        for (k, potential) in shown.0.iter_mut().enumerate() {
            ui.label(potential.law().kind().name).on_hover_text(ABOUT);
            Grid::new(("field", k)).num_columns(2).show(ui, |ui| {
                for (number, mut value) in potential.numbers().collect::<Vec<_>>() {
                    let (unit, range) = (measure(number.unit, facts.units), number.range.words());
                    let about = format!("{}: {range}", number.name);
                    let label = ui.label(RichText::new(number.name).color(DIM));
                    // Numbers that may be 0 must not come to rest there.
                    let least = if number.range == Range::Any { 0.1 / unit.factor } else { 0.0 };
                    let per_point = 0.01 * value.abs().max(least);
                    let drag = DragValue::new(&mut value).speed(per_point);
                    let drag = drag.update_while_editing(false).in_measure(&unit);
                    let drag = ui.add(drag).on_hover_text(about).labelled_by(label.id);
                    is_dragged |= drag.dragged();
                    if drag.changed() {
                        match potential.with(number.name, value) {
                            Ok(changed) => (*potential, self.problem) = (changed, None),
                            Err(error) => self.problem = Some((now.clone(), error.to_string())),
                        }
                    }
                    ui.end_row();
                }
            });
        }
        if let Some((_, problem)) = self.problem.as_ref().filter(|(of, _)| of == now) {
            ui.colored_label(WARN, problem);
        }
        if is_dragged {
            self.held = Some([now.clone(), shown]);
        } else if shown != *now {
            actions.push(Action::Field(shown));
        }
    }
}

/// The unit in which a number is shown.
fn measure(unit: Unit, units: &Units) -> Measure {
    let [length, time, mass] =
        [&units.length, &units.time, &units.mass].map(|unit| Measure::of(unit));
    let (_, powers) = unit.named();
    let factors = [&length, &time, &mass].map(|measure| measure.factor);
    let factor =
        factors.into_iter().zip(powers).map(|(factor, power)| factor.powi(power)).product();
    let name = match unit {
        Unit::Length => length.name,
        Unit::Mass => mass.name,
        Unit::Speed if !units.is_unnamed() => format!("{}/{}", length.name, time.name),
        Unit::Tide if !units.is_unnamed() => format!("1/{}^2", time.name),
        _ => String::new(),
    };
    Measure { factor, name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_in_the_units_of_the_bodies() {
        let [length, mass, time] = ["3.5 kpc", "2e10 Msun", "13 Myr"].map(str::to_owned);
        let units = Units { length, mass, time, ..Units::default() };
        let speed = measure(Unit::Speed, &units);
        assert!((speed.factor - 3.5 / 13.0).abs() < 1e-15 && speed.name == "kpc/Myr", "{speed:?}");
        let tide = measure(Unit::Tide, &units);
        assert!((tide.factor * 169.0 - 1.0).abs() < 1e-15 && tide.name == "1/Myr^2", "{tide:?}");
        assert_eq!(measure(Unit::Mass, &units), Measure { factor: 2e10, name: "Msun".to_owned() });
        assert_eq!(measure(Unit::Ratio, &units), Measure { factor: 1.0, name: String::new() });
        assert_eq!(measure(Unit::Speed, &Units::default()).name, "");
    }
}
