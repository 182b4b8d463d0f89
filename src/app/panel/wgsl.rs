//! Syntax colours for WGSL: enough of its grammar to tell words, numbers and comments apart.

use egui::text::{LayoutJob, TextFormat};
use egui::{Color32, FontId};

/// A coloured text, cached until the source changes.
#[derive(Default)]
pub struct Highlighted {
    text: String,
    job: LayoutJob,
}

impl Highlighted {
    /// The coloured text.
    pub fn of(&mut self, text: &str) -> LayoutJob {
        if self.text != text {
            self.job = highlight(text);
            self.text = text.to_owned();
        }
        self.job.clone()
    }
}

const PLAIN: Color32 = Color32::from_gray(210);
const COMMENT: Color32 = Color32::from_rgb(125, 140, 125);
const KEYWORD: Color32 = Color32::from_rgb(120, 170, 245);
const TYPE: Color32 = Color32::from_rgb(95, 200, 185);
const NUMBER: Color32 = Color32::from_rgb(240, 190, 110);
const ATTRIBUTE: Color32 = Color32::from_rgb(205, 150, 220);

const KEYWORDS: &str = "alias break const const_assert continue continuing diagnostic discard else enable \
    false fn for if let loop override requires return struct switch true var while";
const TYPES: &str = "array atomic bool f16 f32 f64 i32 mat2x2 mat3x3 mat4x4 ptr u32 vec2 vec2f vec2u vec3 \
    vec3f vec3u vec4 vec4f vec4u storage uniform workgroup private function read \
    read_write";

/// Whether `word` is one of the words of `list`.
fn is_listed(list: &str, word: &str) -> bool {
    list.split(' ').any(|known| known == word)
}

fn format(color: Color32) -> TextFormat {
    TextFormat { font_id: FontId::monospace(11.0), color, ..Default::default() }
}

/// A text in one colour.
pub fn plain(text: &str) -> LayoutJob {
    LayoutJob::single_section(text.to_owned(), format(PLAIN))
}

fn highlight(text: &str) -> LayoutJob {
    let mut job = LayoutJob::default();
    let mut put = |part: &str, color: Color32| job.append(part, 0.0, format(color));
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let take =
            |while_true: &dyn Fn(char) -> bool| rest.find(|c| !while_true(c)).unwrap_or(rest.len());
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let (length, colour) = if rest.starts_with("//") {
            (take(&|c| c != '\n'), COMMENT)
        } else if first == '@' {
            let word = rest[1..].find(|c| !is_word(c)).unwrap_or(rest.len() - 1);
            (1 + word, ATTRIBUTE)
        } else if first.is_ascii_digit() {
            (take(&|c| is_word(c) || c == '.'), NUMBER)
        } else if is_word(first) {
            let length = take(&is_word);
            let word = &rest[..length];
            let colour = if is_listed(KEYWORDS, word) {
                KEYWORD
            } else if is_listed(TYPES, word) {
                TYPE
            } else {
                PLAIN
            };
            (length, colour)
        } else {
            // Everything up to what could begin one of the above.
            let plain = |c: char| !is_word(c) && c != '/' && c != '@';
            (take(&plain).max(first.len_utf8()), PLAIN)
        };
        put(&rest[..length], colour);
        rest = &rest[length..];
    }
    job
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn highlighting_keeps_the_text_and_colours_its_tokens() {
        let text =
            "// a tile: p x q\n@compute fn main(i: u32) { let x = 1.5e3 / 2.0; } // ende é\n";
        let job = highlight(text);
        assert_eq!(job.text, text);
        let colour_of = |word: &str| {
            let at = text.find(word).unwrap();
            let is_it = |s: &&egui::text::LayoutSection| {
                s.byte_range.start.0 <= at && at < s.byte_range.end.0
            };
            job.sections.iter().find(is_it).unwrap().format.color
        };
        assert_eq!(colour_of("// a tile"), COMMENT);
        assert_eq!(colour_of("@compute"), ATTRIBUTE);
        assert_eq!(colour_of("fn"), KEYWORD);
        assert_eq!(colour_of("u32"), TYPE);
        assert_eq!(colour_of("1.5e3"), NUMBER);
        assert_eq!(colour_of("main"), PLAIN);
    }
}
