//! Coloured cells over two axes, with the value in each and a colour scale at the right.

use super::svg::{self, MARGIN, NARROW, Svg};
use super::{Map, number};

const ROW: f64 = 34.0;
const SCALE_WIDTH: f64 = 130.0;
const SCALE_HEIGHT: f64 = 196.0;

/// The plot as SVG.
pub(super) fn draw(plot: &Map, width: f64) -> String {
    let (columns, rows) = (plot.x.1.len() as f64, plot.y.1.len() as f64);
    if columns == 0.0 || rows == 0.0 {
        return svg::nothing(width, &plot.title);
    }
    let widest = plot.y.1.iter().map(|name| svg::width(name, 12.0)).fold(0.0, f64::max);
    let (mut svg, title) = Svg::new(width, &plot.title);
    let (left, top) = (MARGIN + 32.0 + widest, title + 8.0);
    let is_narrow = width < NARROW;
    let right_margin = if is_narrow { MARGIN } else { SCALE_WIDTH };
    let column = (width - left - right_margin) / columns;
    let (right, bottom) = (left + columns * column, top + rows * ROW);
    for (row, (name, cells)) in plot.y.1.iter().zip(&plot.cells).enumerate() {
        let y = bottom - (row as f64 + 1.0) * ROW;
        svg.text((left - 8.0, y + ROW / 2.0), "soft end", name);
        for (i, ratio) in cells.iter().enumerate() {
            let x = left + i as f64 * column;
            let ratio = ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0);
            let (colour, class, words) = match ratio {
                Some(ratio) => (colour(ratio), "on-cell middle", factor(ratio)),
                None => ("class=\"empty\"".to_owned(), "soft middle", "–".to_owned()),
            };
            svg.rectangle(&colour, (x + 1.0, y + 1.0), (column - 2.0, ROW - 2.0));
            svg.text((x + column / 2.0, y + ROW / 2.0), class, &words);
        }
    }
    for (i, name) in plot.x.1.iter().enumerate() {
        svg.text((left + (i as f64 + 0.5) * column, bottom + 14.0), "soft middle", name);
    }
    let more = svg.lines(((left + right) / 2.0, bottom + 37.0), right - MARGIN, &plot.x.0);
    svg.upright((18.0, (top + bottom) / 2.0), &plot.y.0);
    if is_narrow {
        let top = bottom + 56.0 + more;
        scale(&mut svg, plot, left, top);
        return svg.finish(top + SCALE_HEIGHT);
    }
    scale(&mut svg, plot, right + 22.0, top);
    svg.finish((bottom + 56.0 + more).max(top + SCALE_HEIGHT))
}

/// Draws the colour scale.
fn scale(svg: &mut Svg, plot: &Map, x: f64, top: f64) {
    let steps = [16.0, 4.0, 2.0, 1.0, 0.5, 0.25, 1.0 / 16.0];
    let mut y = top + 22.0;
    svg.text((x, top + 8.0), "small", &plot.ends.1);
    for ratio in steps {
        svg.rectangle(&colour(ratio), (x, y), (22.0, 19.0));
        svg.text((x + 30.0, y + 10.0), "soft", &factor(ratio));
        y += 20.0;
    }
    svg.text((x, y + 12.0), "small", &plot.ends.0);
}

/// The colour of a cell: orange for ratios below 1, blue above, pale near 1. It suits light and
/// dark pages alike, with dark text on it.
fn colour(ratio: f64) -> String {
    // The scale ends at a factor of sixteen.
    let at = (ratio.log2() / 4.0).clamp(-1.0, 1.0);
    let full = if at < 0.0 { [0xF2, 0x8E, 0x49] } else { [0x56, 0xA8, 0xE8] };
    let mix = |(pale, full): (i32, i32)| f64::from(pale) + at.abs() * f64::from(full - pale);
    let [r, g, b] = [0xEF, 0xEC, 0xE6];
    let [r, g, b] = [(r, full[0]), (g, full[1]), (b, full[2])].map(|pair| mix(pair) as u8);
    format!("fill=\"#{r:02X}{g:02X}{b:02X}\"")
}

/// A ratio with few digits: 0.06×, 3.2×, 41×.
fn factor(ratio: f64) -> String {
    match ratio {
        r if r >= 1000.0 => format!("{}×", number(r)),
        r if r >= 10.0 => format!("{r:.0}×"),
        r if r >= 1.0 => format!("{r:.1}×"),
        r if r >= 0.1 => format!("{r:.2}×"),
        r if r >= 0.001 => format!("{r:.3}×"),
        r => format!("{r:.0e}×"),
    }
}
