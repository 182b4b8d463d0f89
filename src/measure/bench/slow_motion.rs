//! A workgroup in slow motion: figures 31-2 to 31-4 of the GPU Gems 3 chapter for a kernel of any
//! shape. Its tiles are loaded, waited for, computed with, and waited for again.

use super::plot::svg::{MARGIN, Svg, WIDTH};
use crate::forces::direct::gpu::KernelConfig;

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

/// The most rows, columns or threads that are drawn; the picture is too small for more.
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

/// The square of interactions and one workgroup, as an SVG document of this width in pixels, at
/// least [`NARROWEST`]; what happens is its label.
pub fn svg(config: &KernelConfig, count: usize, phase: &SlowMotion, width: f64) -> String {
    let cut = Cut::of(config, count);
    let width = width.clamp(NARROWEST, WIDTH);
    let mut svg = Svg::untitled(width, &state(config, phase));
    square(&mut svg, &cut, phase, width - MARGIN);
    workgroup(&mut svg, config, phase, width - MARGIN);
    svg.finish(WORKGROUP + 190.0)
}

/// What happens, in one line.
pub fn state(config: &KernelConfig, phase: &SlowMotion) -> String {
    format!("{}: {}", phase.doing.name(), sentence(config, phase.doing))
}

/// The width of a small phone's picture: the words on it fit.
pub const NARROWEST: f64 = 300.0;

/// Where the pictures begin across the document.
const LEFT: f64 = 44.0;
/// Where the square and the workgroup begin, and the square's height.
const SQUARE: f64 = 30.0;
const SQUARE_HEIGHT: f64 = 190.0;
const WORKGROUP: f64 = SQUARE + SQUARE_HEIGHT + 62.0;

/// Classes of the style sheet: not begun, at work, finished, fetched.
const EMPTY: &str = "class=\"empty\"";
const COMPUTE: &str = "class=\"c1\"";
const FINISHED: &str = "class=\"c1 faint\"";
const LOAD: &str = "class=\"c0\"";

/// Sinks downwards, sources to the right.
fn square(svg: &mut Svg, cut: &Cut, phase: &SlowMotion, right: f64) {
    let [rows, slices, tiles] = cut.shown;
    svg.text(((LEFT + right) / 2.0, SQUARE - 10.0), "soft middle", "sources");
    svg.upright((LEFT - 16.0, SQUARE + SQUARE_HEIGHT / 2.0), "sinks");
    // A wider gap separates slices.
    let gap = if slices > 1 { 8.0 } else { 0.0 };
    let width = (right - LEFT - gap * (slices - 1) as f64) / slices as f64;
    let (cell_width, cell_height) = (width / tiles as f64, SQUARE_HEIGHT / rows as f64);
    for slice in 0..slices {
        for row in 0..rows {
            for tile in 0..tiles {
                let x = LEFT + slice as f64 * (width + gap) + tile as f64 * cell_width + 1.0;
                let (y, height) = (SQUARE + row as f64 * cell_height + 1.0, cell_height - 2.0);
                let base = if tile < phase.tile { FINISHED } else { EMPTY };
                svg.rectangle(base, (x, y), (cell_width - 2.0, height));
                let part = f64::from(phase.part).max(0.05);
                let (colour, part) = match phase.doing {
                    _ if tile != phase.tile => continue,
                    Doing::Load => (LOAD, part),
                    Doing::Loaded => (LOAD, 1.0),
                    Doing::Compute => (COMPUTE, part),
                    Doing::Done => (FINISHED, 1.0),
                };
                svg.rectangle(colour, (x, y), ((cell_width - 2.0) * part, height));
            }
        }
    }
}

/// One workgroup: threads with their sinks downwards, the tile on top, q rows of threads side by
/// side, each over its part of it.
fn workgroup(svg: &mut Svg, config: &KernelConfig, phase: &SlowMotion, right: f64) {
    let q = (config.q as usize).min(8);
    let r = (config.r as usize).min(8);
    let threads = (config.p as usize).min(16 / r.max(2)).max(1);
    let columns = (config.p as usize).min(if q == 1 { 16 } else { 32 / q }).max(1);
    let u = (config.u as usize).min(columns);
    let of = if config.untiled { "sources" } else { "the tile" };
    let below = format!(
        "below, {threads} of its {} threads with {r} sink{} each",
        config.threads(),
        if r == 1 { "" } else { "s" }
    );
    for (y, words) in [(-30.0, format!("one workgroup: {of} above,")), (-14.0, below)] {
        svg.text(((LEFT + right) / 2.0, WORKGROUP + y), "soft middle", &words);
    }
    let gap = if q > 1 { 10.0 } else { 0.0 };
    let band = (right - LEFT - gap * (q - 1) as f64) / q as f64;
    let (body, body_height) = (WORKGROUP + 32.0, 140.0);
    let (width, height) = (band / columns as f64, body_height / (threads * r) as f64);
    let turns = columns.div_ceil(u);
    // The current iteration of the inner loop.
    let turn = ((phase.part * turns as f32) as usize).min(turns - 1);
    for row in 0..q {
        let left = LEFT + row as f64 * (band + gap);
        for column in 0..columns {
            let x = left + column as f64 * width + 1.0;
            let at_work = phase.doing == Doing::Compute && column / u == turn;
            let place = (row * columns + column) as f32 / (q * columns) as f32;
            let is_loaded = !config.untiled && (phase.doing != Doing::Load || place < phase.part);
            let colour = match (at_work, is_loaded) {
                (true, _) => COMPUTE,
                (false, true) => LOAD,
                (false, false) => EMPTY,
            };
            svg.rectangle(colour, (x, WORKGROUP), (width - 2.0, 24.0));
            let finished = match phase.doing {
                Doing::Compute => column / u < turn,
                Doing::Done => true,
                _ => false,
            };
            let colour = match (at_work, finished) {
                (true, _) => COMPUTE,
                (false, true) => FINISHED,
                (false, false) => EMPTY,
            };
            for line in 0..threads * r {
                let y = body + line as f64 * height + 0.5;
                svg.rectangle(colour, (x, y), (width - 2.0, height - 1.0));
            }
        }
        // Lines of one thread belong together.
        for thread in 0..=threads {
            let y = body + (thread * r) as f64 * height;
            svg.line("frame", [(left, y), (left + band, y)]);
        }
    }
}

/// What happens, in one sentence.
pub fn sentence(config: &KernelConfig, doing: Doing) -> String {
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

/// A part of the work on one tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Each thread fetches one source into workgroup memory.
    Load,
    /// All wait until the whole tile is loaded.
    Loaded,
    /// Each thread computes the tile's pull on its sinks.
    Compute,
    /// All wait until no thread reads the tile any more.
    Done,
}

impl Doing {
    /// Its name: a tile is loaded, waited for, computed with, and waited for again.
    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Loaded | Self::Done => "barrier",
            Self::Compute => "compute",
        }
    }
}

/// Where the slow motion is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowMotion {
    /// The tile that all workgroups of a slice are at.
    pub tile: usize,
    /// What they do with it.
    pub doing: Doing,
    /// How much of it is done, 0 to 1.
    pub part: f32,
}

/// The parts of a tile's work, and how many seconds of slow motion each takes.
const TILED: [(Doing, f64); 4] =
    [(Doing::Load, 0.7), (Doing::Loaded, 0.3), (Doing::Compute, 1.2), (Doing::Done, 0.3)];
/// Without workgroup memory there is nothing to load and no barrier.
const UNTILED: [(Doing, f64); 1] = [(Doing::Compute, 1.2)];

impl SlowMotion {
    /// The phase `secs` after the beginning of an endless loop over `tiles` (1 or more) tiles.
    pub fn at(secs: f64, tiles: usize, untiled: bool) -> Self {
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

    #[test]
    fn picture_shows_the_phase_and_the_shape() {
        let config = KernelConfig { q: 2, r: 4, u: 4, ..KernelConfig::tiled(64) };
        let picture = |secs| svg(&config, 4096, &SlowMotion::at(secs, 4, false), WIDTH);
        assert!(picture(0.1).contains("load: each of the 128 threads fetches one source"));
        assert!(picture(0.8).contains("barrier: all threads wait"));
        let computing = picture(1.6);
        assert!(computing.contains("compute: each thread reads its 1/2 of the tile"));
        // Four columns of sixteen in each of two bands are at work, over 16 lines of sinks.
        let at_work = |picture: &str| picture.matches("class=\"c1\"").count();
        let rows = Cut::of(&config, 4096).shown[0];
        assert_eq!(at_work(&computing), rows + 2 * 4 * (1 + 16));
        assert_eq!(at_work(&picture(0.1)), 0);
    }
}
