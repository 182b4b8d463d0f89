//! Axes: their range and the labels of their marks.

use super::Curve;
pub use crate::measure::bench::names::number;
use crate::measure::bench::names::thousands;

/// A quantity with its unit and scale.
#[derive(Clone, Debug, PartialEq)]
pub struct PlotAxis {
    /// Quantity and unit.
    pub label: String,
    /// The scale.
    pub scale: AxisScale,
    /// Mark positions, if the given values should be marked.
    pub marks: Vec<f64>,
}

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisScale {
    /// Linear, from 0.
    Linear,
    /// Logarithmic, in powers of two.
    Powers,
    /// Logarithmic, in powers of ten.
    Decades,
}

impl PlotAxis {
    /// Linear, from 0.
    pub fn linear(label: &str) -> Self {
        Self { label: label.to_owned(), scale: AxisScale::Linear, marks: Vec::new() }
    }

    /// Logarithmic, in powers of two.
    pub fn powers(label: &str) -> Self {
        Self { label: label.to_owned(), scale: AxisScale::Powers, marks: Vec::new() }
    }

    /// Logarithmic, in powers of ten.
    pub fn decades(label: &str) -> Self {
        Self { label: label.to_owned(), scale: AxisScale::Decades, marks: Vec::new() }
    }

    /// Linear if the values of the curves are of similar size, otherwise in powers of ten.
    pub fn fitting(label: &str, curves: &[Curve]) -> Self {
        let (least, most) = curves
            .iter()
            .flat_map(|curve| curve.points.iter().map(|point| point.y))
            .filter(|y| y.is_finite() && *y > 0.0)
            .fold((f64::INFINITY, 0.0f64), |(a, b), x| (a.min(x), b.max(x)));
        if most > 20.0 * least { Self::decades(label) } else { Self::linear(label) }
    }

    /// With marks at these values.
    #[must_use]
    pub fn with_marks(self, marks: Vec<f64>) -> Self {
        Self { marks, ..self }
    }

    /// With a mark at each x of some curves.
    #[must_use]
    pub fn marked(self, curves: &[Curve]) -> Self {
        let points = curves.iter().flat_map(|curve| &curve.points);
        let mut marks: Vec<f64> = points.map(|point| point.x).collect();
        marks.sort_by(f64::total_cmp);
        marks.dedup();
        self.with_marks(marks)
    }

    /// Whether it is linear, from 0.
    pub(super) fn is_linear(&self) -> bool {
        self.scale == AxisScale::Linear
    }

    /// The position of a value on the drawn axis; `None` if it has none.
    pub(super) fn position(&self, value: f64) -> Option<f64> {
        let position = match self.scale {
            AxisScale::Linear => value,
            AxisScale::Powers => value.log2(),
            AxisScale::Decades => value.log10(),
        };
        position.is_finite().then_some(position)
    }

    fn value(&self, position: f64) -> f64 {
        match self.scale {
            AxisScale::Linear => position,
            AxisScale::Powers => position.exp2(),
            AxisScale::Decades => 10f64.powf(position),
        }
    }

    /// The range of the drawn axis around `values`, and its marks; at most `most` of them are
    /// labelled.
    pub(super) fn layout(&self, values: impl Iterator<Item = f64>, most: usize) -> Layout {
        let positions = values.filter_map(|value| self.position(value));
        let (mut low, mut high) =
            positions.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        match self.scale {
            AxisScale::Linear => self.even(low, high, most),
            AxisScale::Powers | AxisScale::Decades => self.by_powers(low, high, most),
        }
    }

    fn even(&self, low: f64, high: f64, most: usize) -> Layout {
        if !self.marks.is_empty() {
            let room = 0.04 * (high - low).max(high.abs() * 0.1).max(1e-9);
            return Layout { low: low - room, high: high + room, marks: self.marks.clone() };
        }
        let low = low.min(0.0);
        let high = if high > low { low + 1.06 * (high - low) } else { low + 1.0 };
        let rough = (high - low) / most.max(2) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0]
            .into_iter()
            .map(|s| s * power)
            .find(|step| *step >= rough)
            .unwrap_or(rough);
        let first = (low / step).ceil() as i64;
        let marks = (first..).map(|i| i as f64 * step).take_while(|x| *x <= high).take(50);
        Layout { low, high, marks: marks.collect() }
    }

    fn by_powers(&self, low: f64, high: f64, most: usize) -> Layout {
        let (mut low, mut high) = (low, high);
        let decades = self.scale == AxisScale::Decades;
        if decades {
            // Whole decades if there are several, so that both ends have a mark.
            (low, high) = ((low + 0.001).floor(), (high - 0.001).ceil().max(low.floor() + 1.0));
        } else {
            let room = 0.03 * (high - low).max(1.0);
            (low, high) = (low - room, high + room);
        }
        let marks: Vec<f64> = if self.marks.is_empty() {
            let (first, last) = (low.ceil() as i64, high.floor() as i64);
            let step = (((last - first + 1) as f64 / most.max(2) as f64).ceil() as i64).max(1);
            (first..=last).step_by(step as usize).map(|i| i as f64).collect()
        } else {
            self.marks.iter().filter_map(|value| self.position(*value)).collect()
        };
        Layout { low, high, marks }
    }

    /// The label of a mark.
    pub(super) fn name(&self, position: f64) -> String {
        short(self.value(position))
    }
}

/// A drawn axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    pub low: f64,
    pub high: f64,
    pub marks: Vec<f64>,
}

impl Layout {
    /// Where a position of the axis is drawn, with its ends at `begin` and `end`.
    pub fn between(&self, position: f64, begin: f64, end: f64) -> f64 {
        begin + (position - self.low) / (self.high - self.low) * (end - begin)
    }
}

/// A number as an axis shows it: 0.25, 4,096, 2 M, 10⁻⁶.
pub fn short(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e9).contains(&size) {
        let power = size.log10().round() as i32;
        if (size / 10f64.powi(power) - 1.0).abs() < 1e-6 {
            return format!("10{}", superscript(power));
        }
        return format!("{value:.1e}");
    }
    if size >= 1e6 {
        // 2^20 counts as 1 M; numbers that are not round keep a digit.
        let millions = size / 1e6;
        let binary = size / f64::from(1 << 20);
        let shown = if (binary - binary.round()).abs() < 1e-9 { binary } else { millions };
        return format!("{} M", trimmed(shown, 1));
    }
    if size >= 1000.0 { thousands(value.round() as i64) } else { trimmed(value, 4) }
}

fn trimmed(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

fn superscript(number: i32) -> String {
    let digit = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4'..='9' => char::from_u32('⁴' as u32 + c as u32 - '4' as u32).unwrap_or(c),
        _ => '⁰',
    };
    number.to_string().chars().map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_numbers_are_formatted_for_readers() {
        let shown = [0.25, 4096.0, 1048576.0, 1e-6, 0.0, 1e6, 1e12].map(short);
        assert_eq!(shown, ["0.25", "4,096", "1 M", "10⁻⁶", "0", "1 M", "10¹²"]);
        let measured = [0.01234, 1.2345, 12.345, 1234.5, 1.5e-7, 0.0].map(number);
        assert_eq!(measured, ["0.0123", "1.23", "12.3", "1,235", "1.50e-7", "0"]);
        assert_eq!(thousands(-1234567), "-1,234,567");
    }

    #[test]
    fn marks_lie_on_the_axis_and_are_few() {
        for (axis, values) in [
            (PlotAxis::linear("y"), vec![0.3, 17.0]),
            (PlotAxis::linear("y"), vec![0.0]),
            (PlotAxis::powers("x"), vec![1.0, 1048576.0]),
            (PlotAxis::decades("y"), vec![1e-6, 3e4]),
            (PlotAxis::decades("y"), vec![5.0]),
            (PlotAxis::linear("y"), vec![]),
        ] {
            let layout = axis.layout(values.iter().copied(), 8);
            assert!(layout.low < layout.high);
            assert!((1..=12).contains(&layout.marks.len()), "{layout:?}");
            assert!(layout.marks.iter().all(|m| (layout.low..=layout.high).contains(m)));
            for value in values {
                let position = axis.position(value).unwrap_or(layout.low);
                assert!((layout.low..=layout.high).contains(&position), "{layout:?}");
            }
        }
        let fitting = |most: f64| {
            let points = [1.0, most].map(|y| super::super::CurvePoint::at(0.0, y));
            PlotAxis::fitting("", &[Curve::measured("", points.to_vec(), 0)]).scale
        };
        assert_eq!((fitting(2.0), fitting(200.0)), (AxisScale::Linear, AxisScale::Decades));
    }
}
