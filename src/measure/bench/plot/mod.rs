//! Plots as SVG: curves, bars and maps, for light and dark backgrounds.
//!
//! A plot is a description first, and one function draws it for all figures, so that they look
//! alike.

mod axis;
mod draw;
pub(in crate::measure) mod svg;

pub use axis::{PlotAxis, number, short};

/// Something to draw.
#[derive(Clone, Debug, PartialEq)]
pub enum Plot {
    /// Curves over an axis.
    Lines(Lines),
    /// One bar per name; on a logarithmic scale a dot.
    Bars(Bars),
    /// Coloured cells over two axes.
    Map(Map),
}

/// Curves.
#[derive(Clone, Debug, PartialEq)]
pub struct Lines {
    /// What it shows, in one line.
    pub title: String,
    /// Horizontal.
    pub x: PlotAxis,
    /// Vertical.
    pub y: PlotAxis,
    /// The curves, in the order of the legend.
    pub curves: Vec<Curve>,
}

/// One curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Name in the legend.
    pub name: String,
    /// Points from left to right.
    pub points: Vec<CurvePoint>,
    /// How it is drawn.
    pub look: CurveStyle,
    /// Number of its colour; curves of the same colour belong together.
    pub colour: usize,
}

/// Number of the neutral colour, for the CPU engine and for published values.
pub const GREY: usize = 7;

impl Curve {
    /// A line with marks.
    pub fn measured(name: impl Into<String>, points: Vec<CurvePoint>, colour: usize) -> Self {
        Self { name: name.into(), points, look: CurveStyle::Measured, colour }
    }

    /// A dashed line: a prediction or a limit.
    pub fn predicted(name: impl Into<String>, points: Vec<CurvePoint>, colour: usize) -> Self {
        Self { name: name.into(), points, look: CurveStyle::Predicted, colour }
    }

    /// A predicted curve over the same x, with `y(x, last)` from the last point of this one.
    pub fn law(
        &self,
        name: &str,
        colour: usize,
        y: impl Fn(f64, CurvePoint) -> f64,
    ) -> Option<Self> {
        let last = *self.points.last()?;
        let points = self.points.iter().map(|point| CurvePoint::at(point.x, y(point.x, last)));
        Some(Self::predicted(name, points.collect(), colour))
    }
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// On the x axis.
    pub x: f64,
    /// On the y axis.
    pub y: f64,
    /// Quartiles of y.
    pub range: (f64, f64),
}

impl CurvePoint {
    /// A value without a range.
    pub fn at(x: f64, y: f64) -> Self {
        Self { x, y, range: (y, y) }
    }
}

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurveStyle {
    /// A line with a mark at each point: measured.
    Measured,
    /// A dashed line without marks: a prediction or a limit.
    Predicted,
}

/// Named values: bars, or dots on a logarithmic scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// What it shows, in one line.
    pub title: String,
    /// The scale.
    pub x: PlotAxis,
    /// Names, values, and the values as text.
    pub bars: Vec<(String, f64, String)>,
}

/// Coloured cells: the ratio of the speeds of two candidates.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// What it shows, in one line.
    pub title: String,
    /// Label below, and the columns' names.
    pub x: (String, Vec<String>),
    /// Label at the left, and the rows' names, from the bottom.
    pub y: (String, Vec<String>),
    /// Cells `[row][column]`; `None` if not measured. Above 1 the first candidate is faster.
    pub cells: Vec<Vec<Option<f64>>>,
    /// Which candidate is faster below 1, and above.
    pub ends: (String, String),
}

impl Plot {
    /// Curves over axes.
    pub fn lines(title: impl Into<String>, x: PlotAxis, y: PlotAxis, curves: Vec<Curve>) -> Self {
        Self::Lines(Lines { title: title.into(), x, y, curves })
    }

    /// The plot as an SVG document; an empty plot contains a note.
    pub fn svg(&self) -> String {
        self.svg_of_width(svg::WIDTH)
    }

    /// The same for a place `width` pixels wide, such as a phone's; from 600 on a page enlarges the
    /// whole.
    pub fn svg_of_width(&self, width: f64) -> String {
        let width = if width < svg::NARROW { width.max(300.0) } else { svg::WIDTH };
        match self {
            Self::Lines(plot) => draw::draw_lines(plot, width),
            Self::Bars(plot) => draw::draw_bars(plot, width),
            Self::Map(plot) => draw::draw_map(plot, width),
        }
    }

    /// What it shows, in one line.
    pub fn title(&self) -> &str {
        match self {
            Self::Lines(plot) => &plot.title,
            Self::Bars(plot) => &plot.title,
            Self::Map(plot) => &plot.title,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(values: &[f64]) -> Plot {
        let point = |(i, &y): (usize, &f64)| CurvePoint { x: (1 << i) as f64, y, range: (y, y) };
        Plot::Lines(Lines {
            title: "a < b & \"c\"".to_owned(),
            x: PlotAxis::powers("bodies"),
            y: PlotAxis::linear("rate, G/s"),
            curves: vec![Curve {
                name: "<script>alert(1)</script>".to_owned(),
                points: values.iter().enumerate().map(point).collect(),
                look: CurveStyle::Measured,
                colour: 0,
            }],
        })
    }

    #[test]
    fn every_plot_is_svg_with_its_words_and_both_themes() {
        let map = Plot::Map(Map {
            title: "map".to_owned(),
            x: ("sinks".to_owned(), vec!["1".to_owned(), "2".to_owned()]),
            y: ("sources".to_owned(), vec!["1".to_owned()]),
            cells: vec![vec![Some(3.0), None]],
            ends: ("CPU".to_owned(), "GPU".to_owned()),
        });
        let bars = Plot::Bars(Bars {
            title: "bars".to_owned(),
            x: PlotAxis::decades("rate, G/s"),
            bars: vec![("one".to_owned(), 3.0, "3 G/s".to_owned())],
        });
        for plot in [lines(&[1.0, 2.0]), map, bars] {
            for width in [svg::WIDTH, 320.0] {
                let svg = plot.svg_of_width(width);
                assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
                assert!(svg.contains("prefers-color-scheme: dark") && !svg.contains("NaN"));
                assert_eq!(svg.matches("<svg").count(), 1);
                let places = svg.split(" x=\"").skip(1).filter_map(|rest| rest.split('"').next());
                assert!(places.clone().count() > 3, "{svg}");
                assert!(places.flat_map(str::parse).all(|x: f64| x < width), "{width}: {svg}");
            }
        }
    }

    #[test]
    fn hostile_names_are_text() {
        let svg = lines(&[1.0, 2.0]).svg();
        assert!(!svg.contains("<script>") && svg.contains("&lt;script&gt;"));
    }

    #[test]
    fn no_value_makes_a_plot_panic() {
        for values in [&[][..], &[1.0], &[0.0, 0.0], &[1e-300, 1e300], &[5.0, 5.0, 5.0]] {
            assert!(lines(values).svg().contains("</svg>"));
        }
        let mut plot = lines(&[f64::NAN, f64::INFINITY, -1.0, 2.0]);
        assert!(plot.svg().contains("</svg>"));
        if let Plot::Lines(lines) = &mut plot {
            lines.y = PlotAxis::decades("y");
        }
        assert!(plot.svg().contains("</svg>"));
    }
}
