//! Text, lines and rectangles on finished pictures.

use ab_glyph::{Font, FontRef, PxScale, ScaleFont, point};

use super::image::Image;

/// A font at one size.
pub struct Lettering {
    /// `None` if the embedded font is invalid; a test checks that it is valid.
    font: Option<FontRef<'static>>,
    size_px: f64,
}

/// The text colour.
const COLOUR: [u8; 3] = [235, 238, 245];
const STRENGTH: f32 = 0.92;

impl Lettering {
    /// A font of height `size_px`, from ascent to descent without the line gap.
    pub fn new(size_px: f64) -> Self {
        let font = FontRef::try_from_slice(epaint_default_fonts::UBUNTU_LIGHT).ok();
        Self { font, size_px }
    }

    /// The font size.
    pub fn size_px(&self) -> f64 {
        self.size_px
    }

    /// How wide a text is, in pixels.
    pub fn width(&self, text: &str) -> f64 {
        self.laid_out(text, [0.0; 2]).1
    }

    /// Breaks a text between words into at most `most` lines no wider than `width_px`; the last one
    /// is shortened if necessary.
    pub fn lines(&self, text: &str, width_px: f64, most: usize) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let mut words = text.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let mut line = word.to_owned();
            // The rest of the text goes into the last line, to be shortened.
            let is_last = lines.len() + 1 == most;
            while let Some(next) = words.peek() {
                let longer = format!("{line} {next}");
                if !is_last && self.width(&longer) > width_px {
                    break;
                }
                line = longer;
                words.next();
            }
            lines.push(self.shortened(&line, width_px));
        }
        lines
    }

    /// The text cut to `width_px` with an ellipsis; empty if not even that fits.
    pub fn shortened(&self, text: &str, width_px: f64) -> String {
        if self.width(text) <= width_px {
            return text.to_owned();
        }
        let ends = text.char_indices().map(|(end, _)| end).take(200).collect::<Vec<_>>();
        let cut = |end: &usize| format!("{}…", text[..*end].trim_end());
        let fitting = ends.partition_point(|end| self.width(&cut(end)) <= width_px);
        fitting.checked_sub(1).map_or(String::new(), |last| cut(&ends[last]))
    }

    /// The positioned glyphs, and the x coordinate at which the text ends.
    fn laid_out(&self, text: &str, [left, top]: [f64; 2]) -> (Vec<ab_glyph::Glyph>, f64) {
        let Some(font) = &self.font else { return (Vec::new(), left) };
        let scale = PxScale::from(self.size_px as f32);
        let scaled = font.as_scaled(scale);
        let (mut x, baseline) = (left as f32, top as f32 + scaled.ascent());
        let (mut glyphs, mut last) = (Vec::new(), None);
        for letter in text.chars().filter(|letter| !letter.is_control()).take(200) {
            let id = font.glyph_id(letter);
            x += last.map_or(0.0, |last| scaled.kern(last, id));
            glyphs.push(id.with_scale_and_position(scale, point(x, baseline)));
            x += scaled.h_advance(id);
            last = Some(id);
        }
        (glyphs, f64::from(x))
    }

    /// Writes a text with its upper left corner at `place`, with a soft shadow for contrast with
    /// bright areas.
    pub fn write(&self, image: &mut Image, place: [f64; 2], text: &str) {
        let Some(font) = &self.font else { return };
        let (glyphs, _) = self.laid_out(text, place);
        let shade = (self.size_px / 16.0).max(1.0);
        for (aside, colour, strength) in [(shade, [0; 3], 0.7), (0.0, COLOUR, STRENGTH)] {
            for glyph in &glyphs {
                let Some(outline) = font.outline_glyph(glyph.clone()) else { continue };
                let bounds = outline.px_bounds();
                let (left, top) =
                    (f64::from(bounds.min.x) + aside, f64::from(bounds.min.y) + aside);
                outline.draw(|x, y, covered| {
                    let at = [(left + f64::from(x)).round(), (top + f64::from(y)).round()];
                    blend(image, at, colour, covered.clamp(0.0, 1.0) * strength);
                });
            }
        }
    }
}

/// Blends a colour over a pixel, if it is in the picture.
fn blend(image: &mut Image, [x, y]: [f64; 2], colour: [u8; 3], strength: f32) {
    let size = image.size();
    if !(x >= 0.0 && y >= 0.0 && x < f64::from(size.width()) && y < f64::from(size.height())) {
        return;
    }
    let first = 4 * (y as usize * size.width() as usize + x as usize);
    for (byte, wanted) in image.rgba_mut()[first..first + 3].iter_mut().zip(colour) {
        let mixed = f32::from(*byte) + (f32::from(wanted) - f32::from(*byte)) * strength;
        *byte = (mixed + 0.5) as u8;
    }
}

/// Fills a rectangle, given by left, top, width and height in pixels, rounded to whole pixels.
pub fn rectangle(
    image: &mut Image,
    [left, top, width, height]: [f64; 4],
    colour: [u8; 3],
    strength: f32,
) {
    let size = image.size();
    let span = |from: f64, length: f64, end: u32| {
        let first = from.round().clamp(0.0, f64::from(end)) as u32;
        let last = (from + length.max(1.0)).round().clamp(0.0, f64::from(end)) as u32;
        first..last
    };
    for y in span(top, height, size.height()) {
        for x in span(left, width, size.width()) {
            blend(image, [f64::from(x), f64::from(y)], colour, strength);
        }
    }
}

/// Draws a bright horizontal line with a shadow below it.
pub fn line(image: &mut Image, [left, top]: [f64; 2], length: f64, thick: f64) {
    rectangle(image, [left + thick, top + thick, length, thick], [0; 3], 0.6);
    rectangle(image, [left, top, length, thick], [235; 3], 0.9);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn font_loads_and_longer_texts_are_wider() {
        let letters = Lettering::new(20.0);
        assert!(letters.font.is_some());
        assert!(letters.width("kpc") > 20.0 && letters.width("100 kpc") > letters.width("kpc"));
        assert_eq!(letters.width(""), 0.0);
    }

    #[test]
    fn text_wraps_at_words_within_width() {
        let letters = Lettering::new(20.0);
        let text = "Two galaxies   that meet on a parabola";
        assert_eq!(letters.lines(text, 1e4, 3), ["Two galaxies that meet on a parabola"]);
        assert!(letters.lines(" ", 100.0, 3).is_empty());
        for width in [60.0, 100.0, 150.0, 250.0] {
            let lines = letters.lines(text, width, 3);
            assert!((1..=3).contains(&lines.len()), "{lines:?}");
            assert!(lines.iter().all(|line| letters.width(line) <= width), "{lines:?}");
            let words: Vec<_> = lines.iter().flat_map(|line| line.split(' ')).collect();
            let whole = words.iter().all(|word| text.split(' ').any(|known| known == *word));
            assert_eq!(whole, !lines.concat().contains('…'), "{lines:?}");
            assert_eq!(whole, width > 140.0, "{lines:?}");
        }
        assert_eq!(letters.shortened("short", 1.0), "");
        assert_eq!(letters.shortened("short", 1e3), "short");
    }
}
