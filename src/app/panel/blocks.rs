//! Individual steps: how many bodies have which, and how large the blocks are.

use egui::{Grid, Ui};
use egui_plot::{Bar, BarChart, Plot};

use super::theme::{DIM, LINES, bodies, heading, number, quantity, row};
use gravitile::live::BlockFacts;

/// Where the bars begin, in powers of ten: below one body, so that a single body can be seen.
const FLOOR: f64 = -0.3;

pub fn show(ui: &mut Ui, steps: &BlockFacts, unit_of_time: &str) {
    heading(ui, "Individual steps");
    Grid::new("blocks").num_columns(2).show(ui, |ui| {
        let about = "Bodies in the latest block. At the end of each dt many steps end together";
        row(ui, "active block", about, bodies(steps.last_active));
        let about = "Recent average of bodies per block";
        row(ui, "mean block", about, format!("{:.1} bodies", steps.mean_active));
        let about =
            format!("Recent blocks per unit of simulated time, {}", quantity(1.0, unit_of_time));
        let text = format!("{} per unit of time", number(steps.blocks_per_time));
        row(ui, "blocks", &about, text);
        let about = "Recent blocks per second of wall-clock time";
        row(ui, "", about, format!("{} /s, {} so far", number(steps.blocks_per_sec), steps.blocks));
    });
    ui.colored_label(DIM, "bodies by step length; dt-max at the right");
    let longest = steps.dt_max.log2();
    let levels = steps.steps_by_level.len().max(1) as f64;
    let bars = steps.steps_by_level.iter().enumerate().filter(|(_, count)| **count > 0);
    let bars = bars.map(|(level, &count)| {
        let height = (count as f64).log10() - FLOOR;
        Bar::new(longest - level as f64, height).base_offset(FLOOR).width(0.8)
    });
    let label = |bar: &Bar, _: &BarChart| {
        let count = 10f64.powf(bar.value + FLOOR).round();
        format!("{} with dt = {}", bodies(count as usize), number(bar.argument.exp2()))
    };
    let chart = BarChart::new("bodies", bars.collect()).color(LINES[0]);
    let chart = chart.element_formatter(Box::new(label));
    Plot::new("steps by level")
        .height(140.0)
        .allow_scroll(false)
        .allow_drag(false)
        .allow_zoom(false)
        .include_x(longest + 0.6)
        .include_x(longest - levels.max(6.0) + 0.4)
        .include_y(FLOOR)
        .include_y(1.0)
        .y_axis_min_width(38.0)
        .y_axis_formatter(|mark, _| {
            whole(mark.value).map_or(String::new(), |v| format!("{}", 10f64.powi(v.max(0))))
        })
        .x_axis_formatter(|mark, _| whole(mark.value).map_or(String::new(), |v| format!("2^{v}")))
        .x_grid_spacer(egui_plot::uniform_grid_spacer(|_| [16.0, 4.0, 1.0]))
        .y_grid_spacer(egui_plot::uniform_grid_spacer(|_| [8.0, 4.0, 1.0]))
        .show(ui, |plot| plot.bar_chart(chart));
}

/// Axis marks only at whole powers.
fn whole(value: f64) -> Option<i32> {
    ((value - value.round()).abs() < 1e-6).then_some(value.round() as i32)
}
