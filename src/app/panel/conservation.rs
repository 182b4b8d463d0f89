//! What should be conserved, and how far it drifts: live plots of the diagnostics.

use std::ops::RangeInclusive;

use egui::{Color32, Rangef, Ui};
use egui_plot::{
    AxisHints, Corner, GridMark, Legend, Line, LineStyle, Plot, PlotPoints, PlotUi, Points,
    uniform_grid_spacer,
};

use super::history::ReportSample;
use super::theme::{DIM, LINES, number, offer, quantity, row, section, table};
use super::{Action, Facts};
use gravitile::bodies::Role;
use gravitile::diagnostics::FRACTIONS;
use gravitile::live::Command;
use gravitile::messages;
use gravitile::render::legend::{plain_colours, speed_unit};
use gravitile::render::round_below;
use gravitile::units::{Measure, Units};

pub fn show(ui: &mut Ui, facts: &Facts, actions: &mut Vec<Action>) {
    let reports = facts.history.reports();
    ui.horizontal(|ui| {
        let about = "Diagnostics are measured now and then; this measures them at once";
        offer(ui.button("Measure now"), about, actions, Action::Live(Command::Report));
        ui.colored_label(DIM, format!("{} so far", reports.len()));
    });
    let Some(last) = reports.last() else {
        ui.label("The first diagnostics are on their way.");
        return;
    };
    let now = &last.report.diagnostics;
    let [energy, momentum, angular] = mechanical_units(facts.units);
    table("now").show(ui, |ui| {
        let time = quantity(last.report.time, &facts.units.time);
        row(ui, "at time", "When the latest diagnostics were measured", time);
        let about =
            "(E - E0) / |E0| since the beginning, without the jumps of E where eps was changed";
        row(ui, "energy error", about, format!("{:.2e}", last.energy_error));
        row(ui, "energy", "Kinetic and potential", with_unit(now.energy(), &energy));
        row(ui, "virial ratio", "2K/|W|: 1 in equilibrium", number(now.virial_ratio()));
        let about = "|sum m v|: should stay constant";
        row(ui, "momentum", about, with_unit(now.momentum.length(), &momentum));
        let about = "|sum m x × v| about the origin: should stay constant";
        row(ui, "angular momentum", about, with_unit(now.angular_momentum.length(), &angular));
    });
    let time = Measure::of(&facts.units.time);
    let shown = PlottedReports { reports, time: time.factor };
    if section(ui, &format!("Over time{}", after(", ", &time))) {
        single(ui, "energy error", shown, |r| r.energy_error);
        if let Some(compared) = &facts.compared {
            let [first, second] = compared.histories;
            let both = [first, second]
                .map(|history| PlottedReports { reports: history.reports(), ..shown });
            ui.colored_label(DIM, "energy error of both runs");
            let legend = Legend::default().position(Corner::LeftTop).background_alpha(0.4);
            frame("both runs", 110.0, both[0]).legend(legend).show(ui, |plot| {
                for ((of_run, name), colour) in both.iter().zip(&compared.names).zip(LINES) {
                    let points = of_run.points(|r| r.energy_error);
                    draw(plot, name, points, colour, LineStyle::Solid);
                }
            });
        }
        single(ui, "virial ratio", shown, |r| r.report.diagnostics.virial_ratio());
        let in_unit = |what: &str, unit: &Measure| format!("{what}{}", after(", ", unit));
        single(ui, &in_unit("|momentum|", &momentum), shown, |r| {
            r.report.diagnostics.momentum.length() * momentum.factor
        });
        single(ui, &in_unit("|angular momentum|", &angular), shown, |r| {
            r.report.diagnostics.angular_momentum.length() * angular.factor
        });
    }
    if !section(ui, "Lagrangian radii") {
        return;
    }
    let percent = FRACTIONS.map(|f| format!("{:.0}", f * 100.0)).join(", ");
    let length = Measure::of(&facts.units.length);
    let unit = after("; ", &length);
    let about = format!("{percent} % of each component's mass, about its own centre{unit}");
    ui.colored_label(DIM, about);
    let legend = Legend::default().position(Corner::LeftTop).background_alpha(0.4);
    frame("radii", 190.0, shown).legend(legend).show(ui, |plot| {
        let colours = plain_colours(facts.components);
        for component in now.components.iter().map(|radii| radii.component) {
            let name = facts.components.get(usize::from(component));
            let name = name.map_or_else(|| component.to_string(), |c| messages::piece(&c.name));
            for k in 0..FRACTIONS.len() {
                let of = |r: &ReportSample| {
                    let all = &r.report.diagnostics.components;
                    let of_it = all.iter().find(|radii| radii.component == component);
                    of_it.map_or(f64::NAN, |of_it| of_it.radii[k] * length.factor)
                };
                let index = usize::from(component);
                let [r, g, b] = colours.get(index).copied().unwrap_or([200; 3]);
                // Components can have nearly the same colour in the picture: the line's style shows
                // the role.
                let style = match facts.components.get(index).map(|component| component.role) {
                    Some(Role::Bulge) => LineStyle::Dashed { length: 8.0 },
                    Some(Role::Halo) => LineStyle::Dotted { spacing: 5.0 },
                    Some(Role::Gas) => LineStyle::Dashed { length: 3.0 },
                    _ => LineStyle::Solid,
                };
                draw(plot, &name, shown.points(of), Color32::from_rgb(r, g, b), style);
            }
        }
    });
}

/// The reports to plot.
#[derive(Clone, Copy)]
struct PlottedReports<'a> {
    reports: &'a [ReportSample],
    /// The factor from times to the numbers shown.
    time: f64,
}

impl PlottedReports<'_> {
    fn points(&self, of: impl Fn(&ReportSample) -> f64) -> PlotPoints<'static> {
        let point = |sample: &ReportSample| [sample.report.time * self.time, of(sample)];
        self.reports.iter().map(point).filter(|point| point[1].is_finite()).collect()
    }
}

fn frame<'a>(name: &str, height: f32, shown: PlottedReports<'_>) -> Plot<'a> {
    // Number of marks to aim for: egui's own, at powers of ten, can leave a short axis without any.
    let (across, up) = (4.0, f64::from(height) / 42.0);
    let spaced = |marks: f64| {
        uniform_grid_spacer(move |input| {
            let step = step(input.bounds.1 - input.bounds.0, marks);
            [step, 10.0 * step, 100.0 * step]
        })
    };
    let labels = |marks: f64| {
        move |mark: GridMark, range: &RangeInclusive<f64>| {
            axis_label(mark.value, step(range.end() - range.start(), marks))
        }
    };
    let x = AxisHints::new_x().formatter(labels(across)).label_spacing(EVERY_MARK);
    let y = AxisHints::new_y().formatter(labels(up)).label_spacing(EVERY_MARK).min_thickness(46.0);
    let mut plot = Plot::new(name.to_owned());
    if let (Some(first), Some(last)) = (shown.reports.first(), shown.reports.last())
        && first.report.time == last.report.time
    {
        // egui would give an axis without extent the range of the other one.
        let at = last.report.time * shown.time;
        let margin = 0.5 + 0.1 * at.abs();
        plot = plot.include_x(at - margin).include_x(at + margin);
    }
    plot.height(height)
        .allow_scroll(false)
        .x_grid_spacer(spaced(across))
        .y_grid_spacer(spaced(up))
        .custom_x_axes(vec![x])
        .custom_y_axes(vec![y])
}

/// Distances between marks, in points, at which their labels begin to show and are fully shown.
const EVERY_MARK: Rangef = Rangef { min: 8.0, max: 14.0 };

/// The distance between marks on an axis of this span.
fn step(span: f64, marks: f64) -> f64 {
    let (digit, power) = round_below(span / marks);
    f64::from(digit) * 10f64.powi(power)
}

/// A value on an axis, with enough digits to tell it from its neighbours a step away.
fn axis_label(value: f64, step: f64) -> String {
    let size = value.abs();
    // The power of ten of the last digit.
    let last = (step * 1.001).log10().floor();
    if size < 1e-6 * step {
        "0".to_owned()
    } else if !(1e-3..1e5).contains(&size) {
        let digits = (size.log10().floor() - last).max(0.0) as usize;
        format!("{value:.digits$e}")
    } else {
        let decimals = (-last).max(0.0) as usize;
        format!("{value:.decimals$}")
    }
}

fn single(ui: &mut Ui, name: &str, shown: PlottedReports<'_>, of: impl Fn(&ReportSample) -> f64) {
    ui.colored_label(DIM, name);
    let mut plot = frame(name, 84.0, shown);
    // egui would show values that agree to the last digit in a range of several tens.
    let values = || shown.reports.iter().map(&of).filter(|value| value.is_finite());
    let (least, most) = (values().fold(f64::MAX, f64::min), values().fold(f64::MIN, f64::max));
    if least <= most && most - least <= 1e-9 * most.abs() {
        let margin = if most == 0.0 { 1.0 } else { 0.05 * most.abs() };
        plot = plot.include_y(most - margin).include_y(most + margin);
    }
    plot.show(ui, |plot| {
        draw(plot, name, shown.points(of), LINES[0], LineStyle::Solid);
    });
}

/// Draws a line, or a dot for a single measurement, which as a line would have no length.
fn draw(
    plot: &mut PlotUi<'_>,
    name: &str,
    points: PlotPoints<'static>,
    colour: Color32,
    style: LineStyle,
) {
    let all = points.points();
    match all.first().zip(all.last()) {
        Some((first, last)) if first.x == last.x => {
            plot.points(Points::new(name.to_owned(), points).color(colour).radius(2.5));
        }
        _ => plot.line(Line::new(name.to_owned(), points).color(colour).style(style).width(1.4)),
    }
}

/// The unit's name after this separator, if it has one.
fn after(separator: &str, unit: &Measure) -> String {
    if unit.name.is_empty() { String::new() } else { format!("{separator}{}", unit.name) }
}

/// The number in this unit, followed by the unit's name.
fn with_unit(value: f64, unit: &Measure) -> String {
    format!("{} {}", number(value * unit.factor), unit.name).trim_end().to_owned()
}

/// The units of energy, momentum and angular momentum; without names where mass, length or speed
/// have none, or where G is not 1: the simulation has G m in place of m, so these are G times the
/// quantities.
fn mechanical_units(units: &Units) -> [Measure; 3] {
    let (mass, length, speed) =
        (Measure::of(&units.mass), Measure::of(&units.length), speed_unit(units));
    let named = [&mass.name, &length.name, &speed.name].iter().all(|name| !name.is_empty());
    if !named || units.gravitational_constant != 1.0 {
        return Default::default();
    }
    let unit = |factor: f64, name: String| Measure { factor: mass.factor * factor, name };
    let (m, v) = (&mass.name, &speed.name);
    [
        unit(speed.factor * speed.factor, format!("{m} ({v})²")),
        unit(speed.factor, format!("{m} {v}")),
        unit(speed.factor * length.factor, format!("{m} {v} {}", length.name)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_labels_have_the_digits_of_their_step() {
        assert_eq!(axis_label(0.6, 0.2), "0.6");
        assert_eq!(axis_label(1.0, 0.05), "1.00");
        assert_eq!(axis_label(400.0, 200.0), "400");
        assert_eq!(axis_label(21.392, 0.002), "21.392");
        assert_eq!(axis_label(-2e-7, 2e-7), "-2e-7");
        assert_eq!(axis_label(2.2e-9, 1e-10), "2.2e-9");
        assert_eq!(axis_label(1e-17, 0.5), "0");
    }

    #[test]
    fn axis_steps_are_round_and_about_as_many_as_requested() {
        assert_eq!(step(38.5, 4.0), 5.0);
        assert!((step(0.1, 2.0) - 0.05).abs() < 1e-15);
        assert_eq!(step(4000.0, 4.0), 1000.0);
    }
}
