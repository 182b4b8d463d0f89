//! Named values: bars from 0, or dots on a logarithmic scale, where the length of a bar has no
//! meaning.

use super::Bars;
use super::svg::{self, MARGIN, NARROW, Svg};

const ROW: f64 = 32.0;
const BAR: f64 = 16.0;
/// Height of a name above its bar, in a narrow plot.
const NAME: f64 = 18.0;
/// Space for the value after the longest bar.
const RIGHT: f64 = 110.0;

/// The plot as SVG.
pub(super) fn draw(plot: &Bars, width: f64) -> String {
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
