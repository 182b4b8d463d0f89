//! What must not change, and how it does: live plots of the diagnostics.

use egui::{Grid, Ui};
use egui_plot::{Legend, Line, Plot, PlotPoints};

use super::history::ReportSample;
use super::theme::{DIM, LINES, heading, number, quantity, row};
use super::{Action, Facts};
use crate::diagnostics::FRACTIONS;
use crate::live::Command;

pub fn show(ui: &mut Ui, facts: &Facts, actions: &mut Vec<Action>) {
    let reports = facts.history.reports();
    ui.horizontal(|ui| {
        let about = "Diagnostics come by themselves now and then; this asks for them at once";
        if ui.button("Measure now").on_hover_text(about).clicked() {
            actions.push(Action::Live(Command::Report));
        }
        ui.colored_label(DIM, format!("{} so far", reports.len()));
    });
    let Some(last) = reports.last() else {
        ui.label("The first diagnostics are on their way.");
        return;
    };
    Grid::new("now").num_columns(2).show(ui, |ui| {
        let time = quantity(last.time, &facts.units.time);
        row(ui, "at time", "Of the newest diagnostics", time);
        let about = "(E - E0) / |E0| since the beginning, or since eps was changed";
        row(ui, "energy error", about, format!("{:.2e}", last.energy_error));
        row(ui, "energy", "Kinetic and potential", number(last.energy));
        row(ui, "virial ratio", "2K/|W|: 1 in equilibrium", number(last.virial_ratio));
        row(ui, "momentum", "|sum m v|: should stay 0", format!("{:.2e}", last.momentum));
        let about = "|sum m x * v| about the origin";
        row(ui, "angular momentum", about, number(last.angular_momentum));
    });
    single(ui, "energy error", reports, |r| r.energy_error);
    single(ui, "virial ratio", reports, |r| r.virial_ratio);
    single(ui, "|momentum|", reports, |r| r.momentum);
    single(ui, "|angular momentum|", reports, |r| r.angular_momentum);
    heading(ui, "Lagrangian radii");
    let percent = FRACTIONS.map(|f| format!("{:.0}", f * 100.0)).join(", ");
    ui.colored_label(DIM, format!("{percent} % of each component's mass, about its own centre"));
    frame("radii", 170.0).legend(Legend::default()).show(ui, |plot| {
        for (which, (component, _)) in last.radii.iter().enumerate() {
            let name = facts.components.get(*component as usize);
            let name = name.map_or_else(|| component.to_string(), |c| c.name.clone());
            for k in 0..FRACTIONS.len() {
                let of = |r: &ReportSample| {
                    r.radii.iter().find(|(c, _)| c == component).map(|(_, radii)| radii[k])
                };
                let points: PlotPoints =
                    reports.iter().filter_map(|r| Some([r.time, of(r)?])).collect();
                let colour = LINES[which % LINES.len()];
                plot.line(Line::new(name.clone(), points).color(colour).width(1.3));
            }
        }
    });
}

fn frame<'a>(name: &str, height: f32) -> Plot<'a> {
    Plot::new(name.to_owned())
        .height(height)
        .allow_scroll(false)
        .y_axis_formatter(|mark, _| number(mark.value))
        .x_axis_formatter(|mark, _| number(mark.value))
        .y_axis_min_width(46.0)
}

fn single(ui: &mut Ui, name: &str, reports: &[ReportSample], of: impl Fn(&ReportSample) -> f64) {
    let points: PlotPoints = reports
        .iter()
        .map(|report| [report.time, of(report)])
        .filter(|point| point[1].is_finite())
        .collect();
    ui.colored_label(DIM, name);
    frame(name, 84.0).show(ui, |plot| {
        plot.line(Line::new(name.to_owned(), points).color(LINES[0]).width(1.5));
    });
}
