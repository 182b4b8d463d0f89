//! The kinds of plots as SVG.

use super::svg::{self, MARGIN, NARROW, Svg, WIDTH};
use super::{Bars, Curve, CurvePoint, CurveStyle, Lines, Map, number};

// Curves over an axis, with a legend above and quartiles as bars.

const PLOT_HEIGHT: f64 = 360.0;
const LEGEND_ROW: f64 = 22.0;

/// The plot as SVG.
pub(super) fn draw_lines(plot: &Lines, width: f64) -> String {
    let plot = &drawable(plot);
    if plot.curves.is_empty() {
        return svg::nothing(width, &plot.title);
    }
    let (mut svg, title) = Svg::new(width, &plot.title);
    let top = legend(&mut svg, plot, (width, title)) + 10.0;
    let more = chart(&mut svg, plot, width, (top, top + PLOT_HEIGHT - 58.0));
    svg.finish(top + PLOT_HEIGHT + more)
}

/// The plot without points that the axes cannot show.
fn drawable(plot: &Lines) -> Lines {
    let mut plot = plot.clone();
    for curve in &mut plot.curves {
        curve.points.retain(|point| {
            plot.x.position(point.x).is_some()
                && plot.y.position(point.y).is_some()
                && point.y >= 0.0
        });
    }
    plot.curves.retain(|curve| !curve.points.is_empty());
    plot
}

/// Draws axes and curves; returns the height of further lines of the label below.
fn chart(svg: &mut Svg, plot: &Lines, width: f64, (top, bottom): (f64, f64)) -> f64 {
    let points = || plot.curves.iter().flat_map(|curve| &curve.points);
    let marks = (12.0 * width / WIDTH) as usize;
    let x = plot.x.layout(points().map(|point| point.x), marks.max(4));
    let ends = |p: &CurvePoint| [p.y, p.range.0, p.range.1];
    let y = plot.y.layout(points().flat_map(ends).filter(|y| *y >= 0.0), 7);
    let widest = y.marks.iter().map(|mark| svg::width(&plot.y.name(*mark), 12.0));
    let (left, right) = (MARGIN + 30.0 + widest.fold(0.0, f64::max), width - 20.0);
    for mark in &y.marks {
        let at = y.between(*mark, bottom, top);
        svg.line("grid", [(left, at), (right, at)]);
        svg.text((left - 6.0, at), "soft end", &plot.y.name(*mark));
    }
    for mark in &x.marks {
        let at = x.between(*mark, left, right);
        svg.line("grid", [(at, top), (at, bottom)]);
        svg.text((at, bottom + 13.0), "soft middle", &plot.x.name(*mark));
    }
    svg.line("frame", [(left, top), (left, bottom), (right, bottom)]);
    let middle = ((left + right) / 2.0, bottom + 38.0);
    let more = svg.lines(middle, right - left + 20.0, &plot.x.label);
    svg.upright((MARGIN + 2.0, (top + bottom) / 2.0), &plot.y.label);
    let at = |value_x: f64, value_y: f64| {
        let value_x = plot.x.position(value_x).unwrap_or(x.low);
        let value_y = plot.y.position(value_y).unwrap_or(y.low).clamp(y.low, y.high);
        (x.between(value_x, left, right), y.between(value_y, bottom, top))
    };
    for curve in &plot.curves {
        draw_curve(svg, curve, &at);
    }
    more
}

fn draw_curve(svg: &mut Svg, curve: &Curve, at: &dyn Fn(f64, f64) -> (f64, f64)) {
    let class = class(curve.colour);
    let points = curve.points.iter().map(|point| at(point.x, point.y));
    if curve.look == CurveStyle::Predicted {
        return svg.line(&format!("{class} dashed"), points);
    }
    svg.line(&format!("{class} thick"), points.clone());
    for point in curve.points.iter().filter(|point| point.range.0 > 0.0) {
        svg.line(&class, [at(point.x, point.range.0), at(point.x, point.range.1)]);
    }
    for point in points {
        svg.circle(&class, point, 4.0);
    }
}

fn class(colour: usize) -> String {
    format!("c{}", colour % 8)
}

/// Draws the names of the curves in rows, and returns where the last row ends. Curves with the same
/// name share an entry.
fn legend(svg: &mut Svg, plot: &Lines, (width, title): (f64, f64)) -> f64 {
    let (mut x, mut y) = (MARGIN, title + LEGEND_ROW / 2.0);
    for (i, curve) in plot.curves.iter().enumerate() {
        let same = || plot.curves.iter().filter(|other| other.name == curve.name);
        if plot.curves[..i].iter().any(|other| other.name == curve.name) {
            continue;
        }
        let wide = 48.0 + svg::width(&curve.name, 12.0);
        if x > MARGIN && x + wide > width - MARGIN {
            (x, y) = (MARGIN, y + LEGEND_ROW);
        }
        let class = if same().count() == 1 { class(curve.colour) } else { "soft".to_owned() };
        let look = if curve.look == CurveStyle::Predicted { "dashed" } else { "thick" };
        svg.line(&format!("{class} {look}"), [(x, y), (x + 23.0, y)]);
        if curve.look == CurveStyle::Measured {
            svg.circle(&class, (x + 12.0, y), 4.0);
        }
        svg.text((x + 30.0, y), "small", &curve.name);
        x += wide;
    }
    y + LEGEND_ROW / 2.0
}

// Named values: bars from 0, or dots on a logarithmic scale, where the length of a bar has no
// meaning.

const ROW: f64 = 32.0;
const BAR: f64 = 16.0;
/// Height of a name above its bar, in a narrow plot.
const NAME: f64 = 18.0;
/// Space for the value after the longest bar.
const RIGHT: f64 = 110.0;

/// The plot as SVG.
pub(super) fn draw_bars(plot: &Bars, width: f64) -> String {
    let bars: Vec<_> = plot.bars.iter().filter(|bar| bar.1.is_finite() && bar.1 > 0.0).collect();
    if bars.is_empty() {
        return svg::nothing(width, &plot.title);
    }
    let (mut svg, title) = Svg::new(width, &plot.title);
    let is_narrow = width < NARROW;
    let names = bars.iter().map(|bar| svg::width(&bar.0, 13.0)).fold(0.0, f64::max);
    let begin = if is_narrow { MARGIN } else { MARGIN + names.min(360.0) + 10.0 };
    let end = width - RIGHT;
    let axis = plot.x.layout(bars.iter().map(|bar| bar.1), if is_narrow { 4 } else { 8 });
    let row_height = if is_narrow { ROW + NAME } else { ROW };
    let (top, bottom) = (title + 2.0, title + 6.0 + row_height * bars.len() as f64);
    for mark in &axis.marks {
        let x = axis.between(*mark, begin, end);
        svg.line("grid", [(x, top), (x, bottom)]);
        svg.text((x, bottom + 12.0), "soft middle", &plot.x.name(*mark));
    }
    for (row, (name, value, words)) in bars.into_iter().enumerate() {
        let y = title + 6.0 + row_height * (row as f64 + 1.0) - ROW / 2.0;
        let x =
            plot.x.position(*value).map_or(begin, |position| axis.between(position, begin, end));
        let x = x.max(begin + 2.0);
        match is_narrow {
            true => svg.text((begin + 4.0, y - NAME), "small", name),
            false => svg.text((begin - 10.0, y), "end", name),
        }
        if plot.x.is_linear() {
            svg.rectangle("class=\"c0\"", (begin, y - BAR / 2.0), (x - begin, BAR));
        } else {
            svg.circle("c0", (x, y), 5.0);
        }
        svg.text((x + 8.0, y), "small", words);
    }
    svg.line("frame", [(begin, top), (begin, bottom)]);
    let middle = if is_narrow { width / 2.0 } else { (begin + end) / 2.0 };
    let more = svg.lines((middle, bottom + 32.0), width - 2.0 * MARGIN, &plot.x.label);
    svg.finish(bottom + 50.0 + more)
}

// Coloured cells over two axes, with the value in each and a colour scale at the right.

const CELL_HEIGHT: f64 = 34.0;
const SCALE_WIDTH: f64 = 130.0;
const SCALE_HEIGHT: f64 = 196.0;

/// The plot as SVG.
pub(super) fn draw_map(plot: &Map, width: f64) -> String {
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
    let (right, bottom) = (left + columns * column, top + rows * CELL_HEIGHT);
    for (row, (name, cells)) in plot.y.1.iter().zip(&plot.cells).enumerate() {
        let y = bottom - (row as f64 + 1.0) * CELL_HEIGHT;
        svg.text((left - 8.0, y + CELL_HEIGHT / 2.0), "soft end", name);
        for (i, ratio) in cells.iter().enumerate() {
            let x = left + i as f64 * column;
            let ratio = ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0);
            let (colour, class, words) = match ratio {
                Some(ratio) => (colour(ratio), "on-cell middle", factor(ratio)),
                None => ("class=\"empty\"".to_owned(), "soft middle", "–".to_owned()),
            };
            svg.rectangle(&colour, (x + 1.0, y + 1.0), (column - 2.0, CELL_HEIGHT - 2.0));
            svg.text((x + column / 2.0, y + CELL_HEIGHT / 2.0), class, &words);
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
