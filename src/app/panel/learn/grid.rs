//! The tile grid: figures 31-2 to 31-4 of the GPU Gems 3 chapter, for the kernel that runs, in slow
//! motion.

use egui::{Align2, Color32, FontId, Rect, Sense, Stroke, StrokeKind, Ui, Vec2, pos2, vec2};

use super::super::theme::{DIM, LINES};
use gravitile::forces::direct::gpu::KernelConfig;

/// How the N x N interactions are divided, and how much of them is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Rows of workgroups: p r sinks each.
    pub rows: usize,
    /// Slices of the sources: workgroups side by side.
    pub slices: usize,
    /// Tiles of p q sources that a workgroup takes, one after the other.
    pub tiles: usize,
    /// How many of each are drawn.
    pub shown: [usize; 3],
}

/// More than these cannot be told apart in the picture.
const MOST_ROWS: usize = 12;
const MOST_COLUMNS: usize = 16;

impl Cut {
    /// For a shape and a number of bodies.
    pub fn of(config: &KernelConfig, count: usize) -> Self {
        let rows = count.div_ceil(config.sinks_per_workgroup() as usize).max(1);
        let length = config.slice_length(count.min(u32::MAX as usize) as u32) as usize;
        let (slices, tiles) = (config.s as usize, length / config.tile() as usize);
        let shown_slices = slices.min(8);
        let shown_tiles = tiles.clamp(1, (MOST_COLUMNS / shown_slices).max(1));
        Self {
            rows,
            slices,
            tiles: tiles.max(1),
            shown: [rows.min(MOST_ROWS), shown_slices, shown_tiles],
        }
    }

    /// The cut in words, and how much of it is drawn.
    pub fn in_words(&self, config: &KernelConfig, count: usize) -> String {
        let tile = if config.untiled { "block" } else { "tile" };
        let mut text = format!(
            "{count} x {count} interactions: {} rows of workgroups with {} sinks each, {} {tile}s of {} \
             sources one after the other",
            self.rows,
            config.sinks_per_workgroup(),
            self.tiles,
            config.tile(),
        );
        if self.slices > 1 {
            text += &format!(", in each of {} slices at the same time", self.slices);
        }
        if self.shown != [self.rows, self.slices, self.tiles] {
            let [rows, slices, tiles] = self.shown;
            text += &format!(". The picture shows {rows} rows");
            if self.slices > 1 {
                text += &format!(", {slices} slices");
            }
            text += &format!(" and {tiles} {tile}s");
        }
        text
    }
}

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
        ui.label(match phase.doing {
            Doing::Load => "load",
            Doing::Loaded | Doing::Done => "barrier",
            Doing::Compute => "compute",
        });
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

/// What happens, in one sentence.
fn sentence(config: &KernelConfig, doing: Doing) -> String {
    let threads = config.threads();
    let sinks = if config.r == 1 { "its sink".to_owned() } else { format!("{} sinks", config.r) };
    match doing {
        Doing::Load => format!("each of the {threads} threads fetches one source into the tile"),
        Doing::Loaded => "all threads wait until the whole tile is loaded".to_owned(),
        Doing::Done => "all threads wait: none may overwrite what others still read".to_owned(),
        Doing::Compute if config.untiled => {
            format!("each thread reads each source itself; a read serves {sinks}")
        }
        Doing::Compute => {
            let q = config.q;
            let whose = if q == 1 { String::new() } else { format!(" its 1/{q} of") };
            format!("each thread reads{whose} the tile; a read serves {sinks}")
        }
    }
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

/// A part of the work on one tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    /// Each thread fetches one source into workgroup memory.
    Load,
    /// All wait until the whole tile is loaded.
    Loaded,
    /// Each thread computes the tile's pull on its sinks.
    Compute,
    /// All wait until no thread reads the tile any more.
    Done,
}

/// Where the slow motion is.
#[derive(Clone, Copy, Debug, PartialEq)]
struct SlowMotion {
    /// The tile that all workgroups of a slice are at.
    tile: usize,
    /// What they do with it.
    doing: Doing,
    /// How much of it is done, 0 to 1.
    part: f32,
}

/// The parts of a tile's work, and how many seconds of slow motion each takes.
const TILED: [(Doing, f64); 4] =
    [(Doing::Load, 0.7), (Doing::Loaded, 0.3), (Doing::Compute, 1.2), (Doing::Done, 0.3)];
/// Without workgroup memory there is nothing to load and no barrier.
const UNTILED: [(Doing, f64); 1] = [(Doing::Compute, 1.2)];

impl SlowMotion {
    /// The phase `secs` after the beginning of an endless loop over `tiles` (1 or more) tiles.
    fn at(secs: f64, tiles: usize, untiled: bool) -> Self {
        let parts: &[(Doing, f64)] = if untiled { &UNTILED } else { &TILED };
        let turn: f64 = parts.iter().map(|part| part.1).sum();
        let turns = (secs.max(0.0) / turn).floor();
        let tile = (turns % tiles.max(1) as f64) as usize;
        let mut rest = secs.max(0.0) - turns * turn;
        for &(doing, length) in parts {
            if rest < length {
                return Self { tile, doing, part: (rest / length) as f32 };
            }
            rest -= length;
        }
        let (doing, _) = parts[parts.len() - 1];
        Self { tile, doing, part: 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grid_has_the_rows_slices_and_tiles_of_the_kernel() {
        let config = KernelConfig { q: 2, r: 4, u: 4, s: 4, ..KernelConfig::tiled(64) };
        let cut = Cut::of(&config, 4096);
        assert_eq!((cut.rows, cut.slices, cut.tiles), (16, 4, 8));
        assert_eq!(cut.shown, [12, 4, 4]);
        let words = cut.in_words(&config, 4096);
        for part in ["16 rows", "256 sinks", "8 tiles of 128", "4 slices", "shows 12 rows"] {
            assert!(words.contains(part), "'{words}' should say '{part}'");
        }
        // All of a small one is drawn, and one body is a row.
        let small = Cut::of(&KernelConfig { s: 1, ..config }, 1);
        assert_eq!((small.rows, small.tiles, small.shown), (1, 1, [1, 1, 1]));
        assert!(!small.in_words(&config, 1).contains("shows"));
        let many = Cut::of(&KernelConfig { s: 64, ..config }, 1 << 20);
        assert!(many.shown[1] * many.shown[2] <= MOST_COLUMNS);
    }

    #[test]
    fn phases_of_a_tile_are_load_barrier_compute_barrier() {
        let phase_at = |secs| SlowMotion::at(secs, 3, false);
        assert_eq!((phase_at(0.0).tile, phase_at(0.0).doing), (0, Doing::Load));
        assert_eq!(phase_at(0.8).doing, Doing::Loaded);
        assert_eq!(phase_at(1.6).doing, Doing::Compute);
        assert!((phase_at(1.6).part - 0.5).abs() < 1e-6);
        assert_eq!(phase_at(2.3).doing, Doing::Done);
        assert_eq!((phase_at(2.6).tile, phase_at(2.6).doing), (1, Doing::Load));
        assert_eq!(phase_at(7.6).tile, 0, "and again from the first");
        for k in 0..1000 {
            let untiled = SlowMotion::at(f64::from(k) * 0.037, 2, true);
            assert_eq!(untiled.doing, Doing::Compute);
            assert!(untiled.tile < 2 && (0.0..=1.0).contains(&untiled.part));
        }
    }
}
