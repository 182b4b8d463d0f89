//! Shared by all plots: the sheet with its title, and text.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::theme;

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

pub(super) const WIDTH: u32 = 760;
/// Height of the title's line.
pub(super) const TITLE: i32 = 34;
/// Font sizes in pixels; plotters divides by this before it writes them.
const SCALE: f64 = 1.24;
pub(super) const SMALL: f64 = 12.0;
pub(super) const NORMAL: f64 = 13.0;

/// Draws on a sheet of `height`, below the title.
pub(super) fn sheet(title: &str, height: u32, draw: impl FnOnce(&Area<'_>) -> Drawn) -> String {
    let mut svg = String::new();
    let drawn = {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        let all = || {
            root.fill(&theme::PAPER)?;
            let bold = font(15.0).style(FontStyle::Bold).color(&theme::INK);
            let style = bold.pos(Pos::new(HPos::Left, VPos::Center));
            root.draw(&Text::new(title.to_owned(), (14, TITLE / 2 + 2), style))?;
            draw(&root)?;
            root.present()
        };
        all()
    };
    // Writing into a string cannot fail; if plotters rejects a range, the sheet stays empty.
    if drawn.is_err() {
        log::warn!("the plot '{title}' could not be drawn");
    }
    theme::finish(&svg, title)
}

/// The font at a size in pixels.
pub(super) fn font(pixels: f64) -> FontDesc<'static> {
    ("sans-serif", pixels * SCALE).into_font()
}

/// Draws text at a position.
pub(super) fn text(
    area: &Area<'_>,
    words: &str,
    at: (i32, i32),
    pixels: f64,
    colour: RGBColor,
    (h, v): (HPos, VPos),
) -> Drawn {
    let style = TextStyle::from(font(pixels)).color(&colour).pos(Pos::new(h, v));
    area.draw(&Text::new(words.to_owned(), at, style))
}

/// Approximate width of text in pixels: browsers choose the font.
pub(super) fn width(words: &str, pixels: f64) -> i32 {
    (words.chars().count() as f64 * pixels * 0.56).ceil() as i32
}

/// The sheet of a plot without data.
pub(super) fn nothing(title: &str) -> String {
    sheet(title, 110, |area| {
        let place = (HPos::Left, VPos::Center);
        text(area, "nothing was measured for this plot", (14, 66), NORMAL, theme::SOFT, place)
    })
}
