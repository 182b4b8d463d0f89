//! Curves over an axis, with a legend above and quartiles as bars.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::axis::Layout;
use super::canvas::{self, Area, Drawn, NORMAL, SMALL, TITLE, WIDTH};
use super::{Curve, Lines, Look, theme};

const PLOT_HEIGHT: i32 = 360;
const LEGEND_ROW: i32 = 22;
const LEFT: i32 = 14;

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Layout, Layout>>;

/// The plot as SVG.
pub(super) fn draw(plot: &Lines) -> String {
    let plot = &drawable(plot);
    if plot.curves.is_empty() {
        return canvas::nothing(&plot.title);
    }
    let rows = legend_rows(plot);
    let top = TITLE + LEGEND_ROW * rows.len() as i32 + 10;
    let height = (top + PLOT_HEIGHT) as u32;
    canvas::sheet(&plot.title, height, |root| {
        legend(root, plot, &rows)?;
        chart(&root.clone().margin(top, 8, 8, 20), plot)
    })
}

/// The plot without points that the axes cannot show.
fn drawable(plot: &Lines) -> Lines {
    let mut plot = plot.clone();
    for curve in &mut plot.curves {
        curve.places.retain(|place| {
            plot.x.place(place.x).is_some() && plot.y.place(place.y).is_some() && place.y >= 0.0
        });
    }
    plot.curves.retain(|curve| !curve.places.is_empty());
    plot
}

fn chart(area: &Area<'_>, plot: &Lines) -> Drawn {
    let places = || plot.curves.iter().flat_map(|curve| &curve.places);
    let x = plot.x.layout(places().map(|place| place.x), 12);
    let ends = |p: &super::CurvePoint| [p.y, p.range.0, p.range.1];
    let y = plot.y.layout(places().flat_map(ends).filter(|y| *y >= 0.0), 7);
    let names: Vec<String> = y.marks.iter().map(|mark| plot.y.name(*mark)).collect();
    let widest = names.iter().map(|name| canvas::width(name, SMALL)).max().unwrap_or(0);
    let mut chart = ChartBuilder::on(area)
        .x_label_area_size(50)
        .y_label_area_size(widest + 34)
        .build_cartesian_2d(x, y.clone())?;
    let small = canvas::font(SMALL).color(&theme::SOFT);
    chart
        .configure_mesh()
        .bold_line_style(theme::GRID.stroke_width(1))
        .light_line_style(TRANSPARENT)
        .axis_style(theme::FRAME.stroke_width(1))
        .label_style(small)
        .axis_desc_style(canvas::font(NORMAL).color(&theme::INK))
        .x_desc(&plot.x.label)
        .y_desc(&plot.y.label)
        .x_label_formatter(&|place| plot.x.name(*place))
        .y_label_formatter(&|place| plot.y.name(*place))
        .draw()?;
    for curve in &plot.curves {
        draw_curve(&mut chart, plot, curve, (y.low, y.high))?;
    }
    Ok(())
}

fn draw_curve(
    chart: &mut Chart<'_, '_>,
    plot: &Lines,
    curve: &Curve,
    (bottom, top): (f64, f64),
) -> Drawn {
    let colour = theme::curve(curve.colour);
    let at = |x: f64, y: f64| {
        let (x, y) = (plot.x.place(x).unwrap_or(0.0), plot.y.place(y).unwrap_or(bottom));
        (x, y.clamp(bottom, top))
    };
    let line: Vec<(f64, f64)> = curve.places.iter().map(|p| at(p.x, p.y)).collect();
    match curve.look {
        Look::Measured => {
            chart.draw_series(LineSeries::new(line.iter().copied(), colour.stroke_width(2)))?;
        }
        Look::Predicted => {
            let style = colour.stroke_width(2);
            chart.draw_series(DashedLineSeries::new(line.iter().copied(), 6, 5, style))?;
            return Ok(());
        }
    }
    for place in &curve.places {
        let (low, high) = (at(place.x, place.range.0), at(place.x, place.range.1));
        if place.range.0 > 0.0 && (low.1 - high.1).abs() > 1e-3 * (top - bottom) {
            chart.draw_series([PathElement::new(vec![low, high], colour.stroke_width(1))])?;
        }
    }
    chart.draw_series(line.iter().map(|place| Circle::new(*place, 4, colour.filled())))?;
    Ok(())
}

/// Indices of the curves in each row of the legend.
fn legend_rows(plot: &Lines) -> Vec<Vec<usize>> {
    let mut rows: Vec<Vec<usize>> = Vec::new();
    let mut used = i32::MAX / 2;
    for (i, curve) in plot.curves.iter().enumerate() {
        // Curves with the same name share an entry.
        if plot.curves[..i].iter().any(|other| other.name == curve.name) {
            continue;
        }
        let wide = entry_width(curve);
        if used + wide > WIDTH as i32 - LEFT {
            rows.push(Vec::new());
            used = LEFT;
        }
        used += wide;
        if let Some(row) = rows.last_mut() {
            row.push(i);
        }
    }
    rows
}

fn entry_width(curve: &Curve) -> i32 {
    30 + canvas::width(&curve.name, SMALL) + 18
}

fn legend(root: &Area<'_>, plot: &Lines, rows: &[Vec<usize>]) -> Drawn {
    for (row, entries) in rows.iter().enumerate() {
        let y = TITLE + LEGEND_ROW * row as i32 + LEGEND_ROW / 2;
        let mut x = LEFT;
        for &i in entries {
            let curve = &plot.curves[i];
            let alone = plot.curves.iter().filter(|other| other.name == curve.name).count() == 1;
            let colour = if alone { theme::curve(curve.colour) } else { theme::SOFT };
            let style = colour.stroke_width(2);
            if curve.look == Look::Predicted {
                for begin in [0, 9, 18] {
                    root.draw(&PathElement::new(vec![(x + begin, y), (x + begin + 5, y)], style))?;
                }
            } else {
                root.draw(&PathElement::new(vec![(x, y), (x + 23, y)], style))?;
                root.draw(&Circle::new((x + 12, y), 4, colour.filled()))?;
            }
            let place = (HPos::Left, VPos::Center);
            canvas::text(root, &curve.name, (x + 30, y), SMALL, theme::INK, place)?;
            x += entry_width(curve);
        }
    }
    Ok(())
}
