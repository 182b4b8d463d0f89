//! How fast it runs, and where the time goes.

use egui::Ui;
use egui_plot::{Bar, BarChart, Line, Plot, PlotPoints, uniform_grid_spacer};

use super::Facts;
use super::history::RateSample;
use super::theme::{DIM, LINES, bodies, number, quantity, row, section, table};
use gravitile::forces::Method;
use gravitile::forces::direct::FLOPS;
use gravitile::live::BlockFacts;
use gravitile::sim::{EngineKind, VaryingStep};

pub fn show(ui: &mut Ui, facts: &Facts) {
    let rates = facts.rates;
    if section(ui, "Rates") {
        table("rates").show(ui, |ui| {
        if counts(facts) {
            interactions(ui, facts);
        } else {
            let about = "Only the device knows how many bodies and cells act on a body. The tab Tree counts them \
                         for one group";
            row(ui, "interactions", about, "not counted for a tree on the device");
        }
        row(ui, "steps", "Steps of dt per second", format!("{:.1} /s", rates.steps_per_sec()));
        row(ui, "frames", "Pictures per second", format!("{:.1} /s", rates.frames_per_sec()));
    });
    }
    // Before the plots: a window of the default height shows it without scrolling.
    if let Some(steps) = facts.blocks {
        individual_steps(ui, steps, &facts.units.time);
    }
    if let Some(step) = facts.varying {
        varying_step(ui, step, &facts.units.time);
    }
    if section(ui, "Over the last minute") {
        if counts(facts) {
            plot(ui, "G interactions/s", LINES[0], facts, |s| s.interactions_per_sec / 1e9);
        }
        plot(ui, "steps/s", LINES[1], facts, |s| s.steps_per_sec);
        plot(ui, "frames/s", LINES[2], facts, |s| s.frames_per_sec);
    }

    if section(ui, "One frame") {
        match facts.times {
            Some(times) => {
                ui.colored_label(DIM, "by GPU timestamps");
                table("times").show(ui, |ui| {
                    for (part, secs) in &times.parts {
                        row(ui, part, "Time on the device", format!("{:.3} ms", secs * 1e3));
                    }
                    row(
                        ui,
                        "all",
                        "Time on the device",
                        format!("{:.3} ms", times.total_secs() * 1e3),
                    );
                });
            }
            None => {
                let text = "by the wall clock: this device has no timestamps";
                ui.colored_label(DIM, text);
                let secs = 1.0 / rates.frames_per_sec().max(1e-9);
                ui.label(format!("a frame: {:.1} ms", secs * 1e3));
            }
        }
        table("panel time").show(ui, |ui| {
            let about = "Processor time for this panel, by the wall clock";
            row(ui, "panel, processor", about, format!("{:.3} ms", facts.panel_secs * 1e3));
        });
    }
    if !section(ui, "Device") {
        return;
    }
    let gpu = facts.gpu;
    ui.label(format!("{} ({})", gpu.adapter.name, gpu.adapter.class.name()));
    ui.colored_label(DIM, format!("{} through {}", gpu.adapter.driver, gpu.adapter.backend));
    ui.colored_label(DIM, format!("{} x {} pixels", facts.picture[0], facts.picture[1]));
}

/// Whether the engine knows how many interactions it computes.
fn counts(facts: &Facts) -> bool {
    (facts.engine, facts.method) != (EngineKind::Gpu, Method::Tree)
}

fn interactions(ui: &mut Ui, facts: &Facts) {
    let per_sec = facts.rates.interactions_per_sec();
    row(
        ui,
        "interactions",
        "Pairs per second of wall-clock time, including everything else; a tree's cells count as well",
        format!("{:.3} G/s", per_sec / 1e9),
    );
    row(
        ui,
        "at 20 flops each",
        "The count that the GPU Gems 3 chapter and most papers use",
        format!("{:.1} GFLOP/s", per_sec * FLOPS / 1e9),
    );
    let engine = facts.rates.engine_interactions_per_sec();
    let text = engine.map_or("not yet known".to_owned(), |rate| {
        format!("{:.3} G/s, {:.1} GFLOP/s", rate / 1e9, rate * FLOPS / 1e9)
    });
    let about = match (facts.engine, facts.times.is_some()) {
        (EngineKind::Gpu, true) => "While the kernel runs, by GPU timestamps",
        (EngineKind::Gpu, false) => "Unknown: this device has no timestamps",
        _ => "While the engine computes, by the wall clock",
    };
    row(ui, "engine alone", about, text);
}

fn plot(
    ui: &mut Ui,
    name: &str,
    colour: egui::Color32,
    facts: &Facts,
    value: impl Fn(&RateSample) -> f64,
) {
    let samples = facts.history.rates();
    let now = facts.history.rates().last().map_or(0.0, |sample| sample.secs);
    let points: Vec<[f64; 2]> = samples.map(|sample| [sample.secs - now, value(sample)]).collect();
    // A line of zeros belongs at the bottom, not in the middle.
    let least_top = if points.iter().all(|point| point[1] == 0.0) { 1.0 } else { 0.0 };
    let points = PlotPoints::from(points);
    ui.colored_label(DIM, name);
    Plot::new(name.to_owned())
        .height(64.0)
        .allow_drag(false)
        .allow_zoom(false)
        .allow_scroll(false)
        .show_axes([false, true])
        .show_x(false)
        .include_y(0.0)
        .include_y(least_top)
        .include_x(-20.0)
        .include_x(0.0)
        .y_axis_formatter(|mark, _| number(mark.value))
        .y_axis_min_width(38.0)
        .show(ui, |plot| plot.line(Line::new(name.to_owned(), points).color(colour).width(1.5)));
}

/// Where the bars begin, in powers of ten: below one body, so that a single body is visible.
const FLOOR: f64 = -0.3;

/// Individual steps: how many bodies have which, and how large the blocks are.
fn individual_steps(ui: &mut Ui, steps: &BlockFacts, unit_of_time: &str) {
    if !section(ui, "Individual steps") {
        return;
    }
    table("blocks").show(ui, |ui| {
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
    by_level(ui, steps.dt_max, &steps.steps_by_level, bodies);
}

/// One step for all bodies that varies: what it is a part of, and how many were taken of each
/// length.
fn varying_step(ui: &mut Ui, step: &VaryingStep, unit_of_time: &str) {
    if !section(ui, "Varying step") {
        return;
    }
    table("step").show(ui, |ui| {
        let about = "The next step of all bodies, a power of two shorter than dt";
        let next = step.next_dt().unwrap_or(0.0);
        row(ui, "next step", about, quantity(next, unit_of_time));
        let about =
            "The least sqrt(eps / |acceleration|) of all bodies, and the step as a part of it";
        let part = next / step.least_time();
        let text = format!("{:.3} of {}", part, quantity(step.least_time(), unit_of_time));
        row(ui, "", about, text);
    });
    ui.colored_label(DIM, "steps so far by length; dt at the right");
    let counts: Vec<_> = step.by_level().iter().map(|&steps| steps as usize).collect();
    by_level(ui, step.longest(), &counts, |steps| format!("{steps} steps"));
}

/// Element k of `counts`, described by `name`, is of steps of `longest` / 2^k.
fn by_level(ui: &mut Ui, longest: f64, counts: &[usize], name: fn(usize) -> String) {
    let longest = longest.log2();
    let levels = counts.len().max(1) as f64;
    let bars = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    let bars = bars.map(|(level, &count)| {
        let height = (count as f64).log10() - FLOOR;
        Bar::new(longest - level as f64, height).base_offset(FLOOR).width(0.8)
    });
    let label = move |bar: &Bar, _: &BarChart| {
        let count = 10f64.powf(bar.value + FLOOR).round();
        format!("{} with dt = {}", name(count as usize), number(bar.argument.exp2()))
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
        .x_grid_spacer(uniform_grid_spacer(|_| [16.0, 4.0, 1.0]))
        .y_grid_spacer(uniform_grid_spacer(|_| [8.0, 4.0, 1.0]))
        .show(ui, |plot| plot.bar_chart(chart));
}

/// Axis marks only at whole powers.
fn whole(value: f64) -> Option<i32> {
    ((value - value.round()).abs() < 1e-6).then_some(value.round() as i32)
}
