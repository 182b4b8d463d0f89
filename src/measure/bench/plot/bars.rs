//! Named values: bars from 0, or dots on a logarithmic scale, where the length of a bar has no
//! meaning.

use super::Bars;
use super::svg::{self, MARGIN, Svg, TITLE, WIDTH};

const ROW: f64 = 32.0;
const BAR: f64 = 16.0;
/// Space for the value after the longest bar.
const RIGHT: f64 = 110.0;

/// The plot as SVG.
pub(super) fn draw(plot: &Bars) -> String {
    let bars: Vec<_> = plot.bars.iter().filter(|bar| bar.1.is_finite() && bar.1 > 0.0).collect();
    if bars.is_empty() {
        return svg::nothing(&plot.title);
    }
    let axis = plot.x.layout(bars.iter().map(|bar| bar.1), 8);
    let names = bars.iter().map(|bar| svg::width(&bar.0, 13.0)).fold(0.0, f64::max);
    let (begin, end) = (MARGIN + names.min(360.0) + 10.0, WIDTH - RIGHT);
    let (top, bottom) = (TITLE + 2.0, TITLE + 6.0 + ROW * bars.len() as f64);
    let mut svg = Svg::new(&plot.title);
    for mark in &axis.marks {
        let x = axis.between(*mark, begin, end);
        svg.line("grid", [(x, top), (x, bottom)]);
        svg.text((x, bottom + 12.0), "soft middle", &plot.x.name(*mark));
    }
    for (row, (name, value, words)) in bars.into_iter().enumerate() {
        let y = TITLE + 6.0 + ROW * (row as f64 + 0.5);
        let x =
            plot.x.position(*value).map_or(begin, |position| axis.between(position, begin, end));
        let x = x.max(begin + 2.0);
        svg.text((begin - 10.0, y), "end", name);
        if plot.x.is_linear() {
            svg.rectangle("class=\"c0\"", (begin, y - BAR / 2.0), (x - begin, BAR));
        } else {
            svg.circle("c0", (x, y), 5.0);
        }
        svg.text((x + 8.0, y), "small", words);
    }
    svg.line("frame", [(begin, top), (begin, bottom)]);
    svg.text(((begin + end) / 2.0, bottom + 32.0), "middle", &plot.x.label);
    svg.finish(bottom + 50.0)
}
