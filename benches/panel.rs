//! CPU cost of the panel, for each tab: layout, comparison with the previous layout, and
//! tessellation, which the window skips if the layout is unchanged. The device and the numbers
//! shown are those of the panel's tests.
//!
//! `cargo bench --bench panel`; medians over 300 frames after 30 that fill egui's caches.

#[allow(dead_code)]
#[path = "../tests/program/panel/world.rs"]
mod world;

use std::time::Instant;

use gravitile_app::panel::{Tab, style};
use world::World;

fn main() {
    // `cargo test --benches` draws only a few frames.
    let is_bench = std::env::args().any(|word| word == "--bench");
    // Fade-ins of egui take 12 frames.
    let (warm_up, frames) = if is_bench { (30, 300) } else { (15, 2) };
    println!(
        "{:>14} {:>10} {:>10} {:>10} {:>10}",
        "tab", "layout ms", "same? ms", "mesh ms", "worst ms"
    );
    for (tab, name, _) in Tab::ALL {
        let mut world = World::on(tab);
        let context = egui::Context::default();
        style(&context);
        let (mut layout, mut same, mut mesh) = (Vec::new(), Vec::new(), Vec::new());
        let mut last = Vec::new();
        for frame in 0..warm_up + frames {
            let input = egui::RawInput {
                screen_rect: Some(egui::Rect::from_min_size(
                    egui::Pos2::ZERO,
                    egui::vec2(1280.0, 720.0),
                )),
                time: Some(f64::from(frame) / 60.0),
                ..Default::default()
            };
            let begun = Instant::now();
            let mut output = context.run_ui(input, |ui| World::draw(ui, &mut world));
            let laid_out = Instant::now();
            // egui requires that texture updates are handled.
            output.textures_delta.clear();
            let is_same = output.shapes == last;
            let compared = Instant::now();
            // Tabs with slow motion or growing plots change without input.
            let moves = matches!(tab, Tab::Learn | Tab::Numbers);
            assert!(is_same || moves || frame < warm_up, "{name} changes by itself");
            last.clone_from(&output.shapes);
            let begun_mesh = Instant::now();
            let triangles = context.tessellate(output.shapes, output.pixels_per_point);
            let done = Instant::now();
            assert!(!triangles.is_empty());
            if frame >= warm_up {
                layout.push(1e3 * (laid_out - begun).as_secs_f64());
                same.push(1e3 * (compared - laid_out).as_secs_f64());
                mesh.push(1e3 * (done - begun_mesh).as_secs_f64());
            }
        }
        let worst = layout.iter().zip(&mesh).map(|(a, b)| a + b).fold(0.0, f64::max);
        println!(
            "{name:>14} {:>10.3} {:>10.3} {:>10.3} {worst:>10.3}",
            median(layout),
            median(same),
            median(mesh)
        );
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
