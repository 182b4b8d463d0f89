//! The tile grid: figures 31-2 to 31-4 of the GPU Gems 3 chapter, for the kernel that runs, in slow
//! motion.

use egui::{Align2, Color32, FontId, Rect, Sense, Stroke, StrokeKind, Ui, Vec2, pos2, vec2};

use super::super::theme::{DIM, LINES};
use gravitile::forces::direct::gpu::KernelConfig;
use gravitile::measure::slow_motion::{Cut, Doing, SlowMotion, sentence};

const EMPTY: Color32 = Color32::from_gray(38);
const LINE: Color32 = Color32::from_gray(80);
const WAIT: Color32 = Color32::from_gray(235);
/// A tile being loaded, and being computed with.
const LOAD: Color32 = LINES[0];
const COMPUTE: Color32 = LINES[1];
const FINISHED: Color32 = Color32::from_rgb(84, 66, 26);

/// Draws the whole square of interactions and one workgroup with its tile.
pub fn show(ui: &mut Ui, config: &KernelConfig, count: usize, secs: f64) {
    let cut = Cut::of(config, count);
    let phase = SlowMotion::at(secs, cut.shown[2], config.untiled);
    let side = ui.available_width().min(300.0);
    square(ui, side, &cut, &phase);
    lines(ui, 4.0, cut.in_words(config, count));
    ui.add_space(4.0);
    workgroup(ui, side, config, &phase);
    ui.horizontal(|ui| {
        let colour = match phase.doing {
            Doing::Load => LOAD,
            Doing::Compute => COMPUTE,
            _ => WAIT,
        };
        let (rect, _) = ui.allocate_exact_size(vec2(10.0, 10.0), Sense::hover());
        ui.painter().rect_filled(rect, 2.0, colour);
        ui.label(phase.doing.name());
    });
    lines(ui, 2.0, sentence(config, phase.doing));
}

/// A text in an area at least `lines` lines high, so that nothing below moves when it changes.
pub fn lines(ui: &mut Ui, lines: f32, text: String) {
    let height = lines * ui.text_style_height(&egui::TextStyle::Body) + 4.0;
    ui.allocate_ui(vec2(ui.available_width(), height), |ui| {
        ui.set_min_height(height);
        ui.colored_label(DIM, text);
    });
}

/// Sinks downwards, sources to the right.
fn square(ui: &mut Ui, side: f32, cut: &Cut, phase: &SlowMotion) {
    let [rows, slices, tiles] = cut.shown;
    let (response, painter) = ui.allocate_painter(vec2(side, side * 0.55), Sense::hover());
    let whole = response.rect;
    response.on_hover_text(
        "Every sink (downwards) with every source (to the right). A workgroup is a row and takes its tiles one \
         after the other; each slice of the sources has its own workgroups",
    );
    let (left, top) = (16.0, 16.0);
    let area = Rect::from_min_max(whole.min + vec2(left, top), whole.max);
    let small = FontId::proportional(11.0);
    let min = whole.min;
    painter.text(pos2(area.center().x, min.y), Align2::CENTER_TOP, "sources", small.clone(), DIM);
    let galley = painter.layout_no_wrap("sinks".to_owned(), small, DIM);
    let down = pos2(min.x, area.center().y + galley.size().x / 2.0);
    let turned = egui::epaint::TextShape::new(down, galley, DIM);
    painter.add(turned.with_angle(-std::f32::consts::FRAC_PI_2));
    // A wider gap separates slices.
    let gap = if slices > 1 { 4.0 } else { 0.0 };
    let width = (area.width() - gap * (slices - 1) as f32) / slices as f32;
    let cell = vec2(width / tiles as f32, area.height() / rows as f32);
    for slice in 0..slices {
        for row in 0..rows {
            for tile in 0..tiles {
                let x = area.min.x + slice as f32 * (width + gap) + tile as f32 * cell.x;
                let rect = Rect::from_min_size(pos2(x, area.min.y + row as f32 * cell.y), cell);
                paint_tile(&painter, rect.shrink(0.5), tile, phase);
            }
        }
    }
}

/// A tile of the square: waiting, at work, or done.
fn paint_tile(painter: &egui::Painter, rect: Rect, tile: usize, phase: &SlowMotion) {
    let base = if tile < phase.tile { FINISHED } else { EMPTY };
    painter.rect_filled(rect, 0.0, base);
    if tile != phase.tile {
        return;
    }
    let part = |part: f32| Rect::from_min_size(rect.min, vec2(rect.width() * part, rect.height()));
    let faint = LOAD.gamma_multiply(0.45);
    let (rect_now, now) = match phase.doing {
        Doing::Load => (part(phase.part), faint),
        Doing::Loaded => (rect, faint),
        Doing::Compute => (part(phase.part), COMPUTE),
        Doing::Done => (rect, FINISHED),
    };
    painter.rect_filled(rect_now, 0.0, now);
    if matches!(phase.doing, Doing::Loaded | Doing::Done) {
        painter.rect_stroke(rect, 0.0, Stroke::new(1.0, WAIT), StrokeKind::Inside);
    }
}

/// One workgroup: threads with their sinks downwards, the tile on top, q rows of threads side by
/// side, each over its part of it.
fn workgroup(ui: &mut Ui, side: f32, config: &KernelConfig, phase: &SlowMotion) {
    let q = (config.q as usize).min(8);
    let r = (config.r as usize).min(8);
    let threads = (config.p as usize).min(16 / r.max(2)).max(1);
    let columns = (config.p as usize).min(if q == 1 { 16 } else { 32 / q }).max(1);
    let u = (config.u as usize).min(columns);
    let (response, painter) = ui.allocate_painter(vec2(side, 104.0), Sense::hover());
    let min = response.rect.min;
    response.on_hover_text(
        "One workgroup: each line is a sink of a thread, each column a source of the tile. With r sinks per \
         thread, a source read once serves r lines; u columns are unrolled per iteration of the loop; q threads \
         share a sink, each with its part of the tile",
    );
    let tile = Rect::from_min_size(min, vec2(side, 14.0));
    let body = Rect::from_min_max(min + vec2(0.0, 20.0), min + vec2(side, 104.0));
    let gap = if q > 1 { 5.0 } else { 0.0 };
    let band = (side - gap * (q - 1) as f32) / q as f32;
    let cell = vec2(band / columns as f32, body.height() / (threads * r) as f32);
    let turns = columns.div_ceil(u);
    // The current iteration of the inner loop.
    let turn = ((phase.part * turns as f32) as usize).min(turns - 1);
    for row in 0..q {
        for column in 0..columns {
            let x = min.x + row as f32 * (band + gap) + column as f32 * cell.x;
            let at_work = phase.doing == Doing::Compute && column / u == turn;
            if !config.untiled {
                let place = (row * columns + column) as f32 / (q * columns) as f32;
                let loaded = phase.doing != Doing::Load || place < phase.part;
                let colour = if at_work {
                    COMPUTE
                } else if loaded {
                    LOAD
                } else {
                    EMPTY
                };
                let rect = Rect::from_min_size(pos2(x, tile.min.y), Vec2::new(cell.x, 14.0));
                painter.rect_filled(rect.shrink(0.7), 1.0, colour);
            }
            let finished = match phase.doing {
                Doing::Compute => column / u < turn,
                Doing::Done => true,
                _ => false,
            };
            for line in 0..threads * r {
                let y = body.min.y + line as f32 * cell.y;
                let rect = Rect::from_min_size(pos2(x, y), cell);
                let colour = if at_work {
                    COMPUTE
                } else if finished {
                    FINISHED
                } else {
                    EMPTY
                };
                painter.rect_filled(rect.shrink(0.5), 0.0, colour);
            }
        }
        // Lines of one thread belong together.
        for thread in 0..=threads {
            let y = body.min.y + (thread * r) as f32 * cell.y;
            let x = min.x + row as f32 * (band + gap);
            painter.line_segment([pos2(x, y), pos2(x + band, y)], Stroke::new(1.0, LINE));
        }
    }
    if matches!(phase.doing, Doing::Loaded | Doing::Done) {
        painter.rect_stroke(body, 0.0, Stroke::new(1.5, WAIT), StrokeKind::Inside);
    }
}
