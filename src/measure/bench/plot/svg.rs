//! SVG documents made of text, lines, circles and rectangles. Classes name their colours, which a
//! style sheet gives for light and for dark pages.

use std::fmt::Write;

use minijinja::HtmlEscape;

/// Width in pixels of a plot on a page of its own.
pub const WIDTH: f64 = 760.0;
/// Below this width, as on a phone, legends and names lie above and below what they belong to.
pub const NARROW: f64 = 600.0;
/// Height of the title, and of each further line of it.
const TITLE: f64 = 34.0;
const TITLE_LINE: f64 = 19.0;
/// Lines of a text below each other.
const LINE: f64 = 15.0;
pub const MARGIN: f64 = 14.0;
const STYLE: &str = include_str!("plot.css");

/// A document under its title.
pub struct Svg {
    label: String,
    width: f64,
    shapes: String,
}

/// Text as XML, in elements and in attributes. Slashes, which need no escape there, stay readable.
fn escaped(text: &str) -> String {
    HtmlEscape(&text.replace(char::is_control, " ")).to_string().replace("&#x2f;", "/")
}

impl Svg {
    /// The document, and where its title ends.
    pub fn new(width: f64, title: &str) -> (Self, f64) {
        let mut svg = Self::untitled(width, title);
        let lines = wrapped(title, 15.5, width - 2.0 * MARGIN);
        for (k, line) in lines.iter().enumerate() {
            svg.text((MARGIN, TITLE / 2.0 + 2.0 + k as f64 * TITLE_LINE), "title", line);
        }
        (svg, TITLE + TITLE_LINE * (lines.len() - 1) as f64)
    }

    /// Text centred at `at`, in lines below each other that are no wider than `room`; returns the
    /// height of the further ones.
    pub fn lines(&mut self, at: (f64, f64), room: f64, text: &str) -> f64 {
        let lines = wrapped(text, 13.0, room);
        for (k, line) in lines.iter().enumerate() {
            self.text((at.0, at.1 + k as f64 * LINE), "middle", line);
        }
        LINE * (lines.len() - 1) as f64
    }

    /// A document of another width, described by `label` and without a title on it.
    pub fn untitled(width: f64, label: &str) -> Self {
        Self { label: escaped(label), width, shapes: String::new() }
    }

    fn add(&mut self, shape: std::fmt::Arguments<'_>) {
        writeln!(self.shapes, "{shape}").expect("memory should take it");
    }

    /// Text, vertically centred; its class says where `at` is along the text.
    pub fn text(&mut self, (x, y): (f64, f64), class: &str, text: &str) {
        let text = escaped(text);
        self.add(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" dy=\"0.35em\" class=\"{class}\">{text}</text>"
        ));
    }

    /// Text from bottom to top, centred.
    pub fn upright(&mut self, (x, y): (f64, f64), text: &str) {
        let text = escaped(text);
        self.add(format_args!(
            "<text transform=\"translate({x:.1} {y:.1}) rotate(-90)\" dy=\"0.35em\" class=\"middle\">{text}</text>"
        ));
    }

    pub fn line(&mut self, class: &str, points: impl IntoIterator<Item = (f64, f64)>) {
        let points = points.into_iter().map(|(x, y)| format!("{x:.1},{y:.1}"));
        let points = points.collect::<Vec<_>>().join(" ");
        self.add(format_args!("<polyline class=\"line {class}\" points=\"{points}\"/>"));
    }

    pub fn circle(&mut self, class: &str, (x, y): (f64, f64), radius: f64) {
        self.add(format_args!(
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"/>"
        ));
    }

    /// Dots of one diameter: a path of strokes without length, whose ends are round.
    pub fn dots(
        &mut self,
        class: &str,
        points: impl IntoIterator<Item = (f64, f64)>,
        diameter: f64,
    ) {
        let points: String = points.into_iter().map(|(x, y)| format!("M{x:.1} {y:.1}h0")).collect();
        self.add(format_args!(
            "<path class=\"{class}\" stroke-linecap=\"round\" stroke-width=\"{diameter}\" d=\"{points}\"/>"
        ));
    }

    /// A rectangle from its upper left corner on, with an attribute for its colour.
    pub fn rectangle(&mut self, colour: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
        self.add(format_args!(
            "<rect {colour} x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
        ));
    }

    /// The document, with a description for screen readers.
    pub fn finish(self, height: f64) -> String {
        let Self { label, width, shapes } = self;
        format!(
            "<svg class=\"gravitile\" role=\"img\" aria-label=\"{label}\" width=\"{width}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width} {height:.0}\" xmlns=\"http://www.w3.org/2000/svg\">\n\
             <style>{STYLE}</style><title>{label}</title>\n\
             <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n{shapes}</svg>\n"
        )
    }
}

/// A text in lines, at least one, no wider than `room` where its words allow it.
fn wrapped(text: &str, pixels: f64, room: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is a first line");
        let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
        match line.is_empty() || width(&longer, pixels) <= room {
            true => *line = longer,
            false => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Approximate width of text in pixels: browsers choose the font.
pub(super) fn width(text: &str, pixels: f64) -> f64 {
    text.chars().count() as f64 * pixels * 0.56
}

/// The document of a plot without data.
pub(super) fn nothing(width: f64, title: &str) -> String {
    let (mut svg, title) = Svg::new(width, title);
    svg.text((MARGIN, title + 32.0), "soft", "nothing was measured for this plot");
    svg.finish(title + 76.0)
}
