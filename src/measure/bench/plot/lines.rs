//! Curves over an axis, with a legend above and quartiles as bars.

use super::svg::{self, MARGIN, Svg, WIDTH};
use super::{Curve, CurvePoint, Lines, Look};

const PLOT_HEIGHT: f64 = 360.0;
const LEGEND_ROW: f64 = 22.0;

/// The plot as SVG.
pub(super) fn draw(plot: &Lines, width: f64) -> String {
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
    if curve.look == Look::Predicted {
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
        let look = if curve.look == Look::Predicted { "dashed" } else { "thick" };
        svg.line(&format!("{class} {look}"), [(x, y), (x + 23.0, y)]);
        if curve.look == Look::Measured {
            svg.circle(&class, (x + 12.0, y), 4.0);
        }
        svg.text((x + 30.0, y), "small", &curve.name);
        x += wide;
    }
    y + LEGEND_ROW / 2.0
}
