//! Coloured cells over two axes, with the value in each and a colour scale at the right.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::canvas::{self, NORMAL, SMALL, TITLE, WIDTH};
use super::{Map, number, theme};

const ROW: i32 = 34;
const SCALE_WIDTH: i32 = 130;

/// The plot as SVG.
pub(super) fn draw(plot: &Map) -> String {
    let (columns, rows) = (plot.x.1.len() as i32, plot.y.1.len() as i32);
    if columns == 0 || rows == 0 {
        return canvas::nothing(&plot.title);
    }
    let widest = plot.y.1.iter().map(|name| canvas::width(name, SMALL)).max().unwrap_or(0);
    let (left, top) = (14 + 24 + widest + 8, TITLE + 8);
    let column = (WIDTH as i32 - left - SCALE_WIDTH) / columns;
    let bottom = top + rows * ROW;
    canvas::sheet(&plot.title, (bottom + 56) as u32, |root| {
        for (row, (name, cells)) in plot.y.1.iter().zip(&plot.cells).enumerate() {
            let y = bottom - (row as i32 + 1) * ROW;
            let place = (HPos::Right, VPos::Center);
            canvas::text(root, name, (left - 8, y + ROW / 2), SMALL, theme::SOFT, place)?;
            for (i, ratio) in cells.iter().enumerate() {
                let x = left + i as i32 * column;
                let corners = [(x + 1, y + 1), (x + column - 1, y + ROW - 1)];
                let middle = (x + column / 2, y + ROW / 2);
                let centre = (HPos::Center, VPos::Center);
                match ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0) {
                    Some(ratio) => {
                        root.draw(&Rectangle::new(corners, theme::cell(ratio).filled()))?;
                        let words = factor(ratio);
                        canvas::text(root, &words, middle, SMALL, theme::ON_CELL, centre)?;
                    }
                    None => {
                        root.draw(&Rectangle::new(corners, theme::GRID.filled()))?;
                        canvas::text(root, "–", middle, SMALL, theme::SOFT, centre)?;
                    }
                }
            }
        }
        for (i, name) in plot.x.1.iter().enumerate() {
            let at = (left + i as i32 * column + column / 2, bottom + 8);
            canvas::text(root, name, at, SMALL, theme::SOFT, (HPos::Center, VPos::Top))?;
        }
        let middle = (left + columns * column / 2, bottom + 30);
        let below = (HPos::Center, VPos::Top);
        canvas::text(root, &plot.x.0, middle, NORMAL, theme::INK, below)?;
        let ink = theme::INK;
        let style = TextStyle::from(canvas::font(NORMAL))
            .color(&ink)
            .transform(FontTransform::Rotate270)
            .pos(Pos::new(HPos::Center, VPos::Center));
        root.draw(&Text::new(plot.y.0.clone(), (18, (top + bottom) / 2), style))?;
        scale(root, plot, left + columns * column + 22, top)
    })
}

/// Draws the colour scale.
fn scale(root: &canvas::Area<'_>, plot: &Map, x: i32, top: i32) -> canvas::Drawn {
    let steps = [16.0, 4.0, 2.0, 1.0, 0.5, 0.25, 1.0 / 16.0];
    let place = (HPos::Left, VPos::Center);
    canvas::text(root, &plot.ends.1, (x, top + 8), SMALL, theme::INK, place)?;
    for (i, ratio) in steps.iter().enumerate() {
        let y = top + 22 + i as i32 * 20;
        let corners = [(x, y), (x + 22, y + 19)];
        root.draw(&Rectangle::new(corners, theme::cell(*ratio).filled()))?;
        canvas::text(root, &factor(*ratio), (x + 30, y + 10), SMALL, theme::SOFT, place)?;
    }
    let y = top + 22 + steps.len() as i32 * 20 + 12;
    canvas::text(root, &plot.ends.0, (x, y), SMALL, theme::INK, place)
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
