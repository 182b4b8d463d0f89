//! Colours. Each has a single use, so that a style sheet can turn light into dark.

use plotters::style::RGBColor;

/// A colour in light and in dark.
type Pair = (RGBColor, RGBColor);

const fn rgb(hex: u32) -> RGBColor {
    RGBColor((hex >> 16) as u8, (hex >> 8) as u8, hex as u8)
}

pub(super) const PAPER: RGBColor = rgb(0xFFFFFF);
pub(super) const INK: RGBColor = rgb(0x1C1E21);
pub(super) const SOFT: RGBColor = rgb(0x5B6066);
pub(super) const GRID: RGBColor = rgb(0xE4E6E9);
pub(super) const FRAME: RGBColor = rgb(0xA0A5AB);
/// Text on the cells of a map.
pub(super) const ON_CELL: RGBColor = rgb(0x23211E);

/// All but the curves, with their colours on a dark page.
const NEUTRAL: [Pair; 5] = [
    (PAPER, rgb(0x17191C)),
    (INK, rgb(0xE8EAED)),
    (SOFT, rgb(0xA9AFB7)),
    (GRID, rgb(0x30343A)),
    (FRAME, rgb(0x666C74)),
];

/// Distinguishable with colour vision deficiencies, and in greyscale by lightness as far as eight
/// colours can be.
const CURVES: [Pair; 8] = [
    (rgb(0x0B62A4), rgb(0x6DB3F2)),
    (rgb(0xC8451B), rgb(0xFF9166)),
    (rgb(0x1B7F4F), rgb(0x5FCF98)),
    (rgb(0x8048A8), rgb(0xC79BF0)),
    (rgb(0x9A6B00), rgb(0xF0B94D)),
    (rgb(0x0E7C86), rgb(0x5FD0D8)),
    (rgb(0xB0306A), rgb(0xF58BB8)),
    (rgb(0x54595F), rgb(0xC3C8CE)),
];

pub(super) const fn curve(number: usize) -> RGBColor {
    CURVES[number % CURVES.len()].0
}

/// The colour of a cell: orange for ratios below 1, blue above, pale near 1. It suits light and
/// dark pages alike, with dark text on it.
pub(super) fn cell(ratio: f64) -> RGBColor {
    // The scale ends at a factor of sixteen.
    let at = (ratio.log2() / 4.0).clamp(-1.0, 1.0);
    let (pale, full) = if at < 0.0 {
        ((0xEF, 0xEC, 0xE6), (0xF2, 0x8E, 0x49))
    } else {
        ((0xEF, 0xEC, 0xE6), (0x56, 0xA8, 0xE8))
    };
    let mix = |a: u8, b: u8| (f64::from(a) + at.abs() * (f64::from(b) - f64::from(a))) as u8;
    RGBColor(mix(pale.0, full.0), mix(pale.1, full.1), mix(pale.2, full.2))
}

/// An SVG with its style sheet, and a description for screen readers.
pub(super) fn finish(svg: &str, title: &str) -> String {
    let hex = |c: RGBColor| format!("#{:02X}{:02X}{:02X}", c.0, c.1, c.2);
    let mut dark = String::new();
    for (light, night) in NEUTRAL.iter().chain(&CURVES) {
        let (light, night) = (hex(*light), hex(*night));
        dark += &format!(
            ".gravitile [fill=\"{light}\"]{{fill:{night}}}.gravitile [stroke=\"{light}\"]{{stroke:{night}}}"
        );
    }
    let style = format!(
        "<style>.gravitile text{{font-family:system-ui,-apple-system,'Segoe UI','Liberation Sans',Arial,sans-serif}}\
         .gravitile polyline{{stroke-linejoin:round;stroke-linecap:round}}\
         @media (prefers-color-scheme: dark){{{dark}}}</style>"
    );
    let title = escape(title);
    let head = format!("<svg class=\"gravitile\" role=\"img\" aria-label=\"{title}\" ");
    let with_head = svg.trim_start().replacen("<svg ", &head, 1);
    let end = with_head.find('>').map_or(0, |at| at + 1);
    let (open, rest) = with_head.split_at(end);
    // plotters does not close the last tag when it writes into a string.
    let close = if rest.contains("</svg>") { "" } else { "</svg>\n" };
    format!("{open}\n{style}<title>{title}</title>{rest}{close}")
}

/// Text escaped for HTML and XML, in elements and in attributes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
