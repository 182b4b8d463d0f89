//! Named values: bars from 0, or dots on a logarithmic scale, where the length of a bar has no
//! meaning.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::canvas::{self, NORMAL, SMALL, TITLE, WIDTH};
use super::{Bars, theme};

const ROW: i32 = 32;
const BAR: i32 = 16;
const LEFT: i32 = 14;
/// Space for the value after the longest bar.
const RIGHT: i32 = 110;

/// The plot as SVG.
pub(super) fn draw(plot: &Bars) -> String {
    let bars: Vec<_> = plot.bars.iter().filter(|bar| bar.1.is_finite() && bar.1 > 0.0).collect();
    if bars.is_empty() {
        return canvas::nothing(&plot.title);
    }
    let axis = plot.x.layout(bars.iter().map(|bar| bar.1), 8);
    let names = bars.iter().map(|bar| canvas::width(&bar.0, NORMAL)).max().unwrap_or(0);
    let begin = LEFT + names.min(360) + 10;
    let end = WIDTH as i32 - RIGHT;
    let bottom = TITLE + 6 + ROW * bars.len() as i32;
    let x_of = |place: f64| {
        begin + ((place - axis.low) / (axis.high - axis.low) * f64::from(end - begin)) as i32
    };
    canvas::sheet(&plot.title, (bottom + 50) as u32, |root| {
        for mark in &axis.marks {
            let x = x_of(*mark);
            let line = vec![(x, TITLE + 2), (x, bottom)];
            root.draw(&PathElement::new(line, theme::GRID.stroke_width(1)))?;
            let place = (HPos::Center, VPos::Top);
            canvas::text(root, &plot.x.name(*mark), (x, bottom + 6), SMALL, theme::SOFT, place)?;
        }
        for (row, (name, value, words)) in bars.iter().enumerate() {
            let y = TITLE + 6 + ROW * row as i32 + ROW / 2;
            let x = plot.x.place(*value).map_or(begin, x_of).max(begin + 2);
            let right = (HPos::Right, VPos::Center);
            canvas::text(root, name, (begin - 10, y), NORMAL, theme::INK, right)?;
            if plot.x.is_linear() {
                let corners = [(begin, y - BAR / 2), (x, y + BAR / 2)];
                root.draw(&Rectangle::new(corners, theme::curve(0).filled()))?;
            } else {
                root.draw(&Circle::new((x, y), BAR / 3, theme::curve(0).filled()))?;
            }
            let left = (HPos::Left, VPos::Center);
            canvas::text(root, words, (x + 8, y), SMALL, theme::INK, left)?;
        }
        let line = vec![(begin, TITLE + 2), (begin, bottom)];
        root.draw(&PathElement::new(line, theme::FRAME.stroke_width(1)))?;
        let place = (HPos::Center, VPos::Top);
        let middle = ((begin + end) / 2, bottom + 26);
        canvas::text(root, &plot.x.label, middle, NORMAL, theme::INK, place)
    })
}
