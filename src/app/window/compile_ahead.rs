//! Compiling egui ahead of its use in a page, in small slices before the first frames. A browser
//! compiles a function at its first call, some hundred of them with the first text layout, which
//! also rasterizes glyphs: all at once this would stall the page, the more so as the adapter's
//! driver and the worker need the CPU at the same time.

use egui::{Color32, FontFamily, FontId, RichText, TextStyle, Ui};

use super::input::WindowInput;
use super::output::WindowOutput;
use gravitile::gpu::let_browser_turn;

/// Most of the characters that the panel uses, with their styles.
const LETTERS: &[(TextStyle, &str)] = {
    use TextStyle::{Body, Heading, Monospace};
    &[
        (Body, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:;+-−×/()%…'=<>«»"),
        (Heading, "aceghiklmnoprstuvyBCDEGHIMPSTW"),
        (Monospace, "pqrus0123456789.abcdefghiklmnot"),
    ]
};
/// Characters in other sizes.
const SIZES: &[(f32, &str)] =
    &[(12.0, "0123456789.kpc"), (12.5, "abcdefghilmnoprstuwxy0123456789.,=%×"), (16.0, "gravitle")];
/// Glyphs rasterized per task of the event loop.
const LETTERS_AT_ONCE: usize = 8;
/// Texts that need more and more of the code for layout and rasterizing: none, a control character,
/// a blank, a letter of straight lines, one with curves.
const FIRST: &[&str] = &["", "\r", " ", "l", "o"];
/// Kinds of controls.
const CONTROLS: &[fn(&mut Ui)] = &[
    |ui| drop(ui.label("l")),
    |ui| drop(ui.horizontal(|ui| ui.label("l"))),
    |ui| drop(ui.button("?")),
    |ui| drop(ui.label("?").on_hover_text("?")),
    |ui| drop(ui.selectable_value(&mut 1, 1, "Scene")),
    |ui| drop(ui.link("pictures").on_hover_text("?")),
    |ui| drop(ui.checkbox(&mut true, "bar")),
    |ui| drop(ui.add(egui::DragValue::new(&mut 1.5).range(0.0..=9.0))),
    |ui| drop(ui.add(egui::Slider::new(&mut 1.5, 0.1..=9.0).logarithmic(true).suffix("°"))),
    |ui| {
        egui::ComboBox::from_id_salt("a").selected_text("a").show_ui(ui, |ui| ui.label("a"));
    },
    |ui| drop(egui::Grid::new("b").num_columns(2).show(ui, |ui| ui.label("b"))),
    |ui| drop(egui::ScrollArea::vertical().id_salt("c").show(ui, |ui| ui.separator())),
    |ui| {
        egui::Area::new(egui::Id::unique("d")).show(ui.ctx(), |ui| {
            egui::Frame::popup(ui.style()).show(ui, |ui| ui.horizontal_wrapped(|ui| ui.label("d")));
        });
    },
    |ui| drop(egui::Panel::right("e").show(ui, |ui| ui.label("e"))),
];

/// In a page: makes egui prepare its fonts, glyphs and controls a few at a time, so that they do
/// not stall the first frames.
pub async fn prepare_egui(input: &mut WindowInput, output: &mut WindowOutput) {
    if !cfg!(target_arch = "wasm32") {
        return;
    }
    let context = input.context.clone();
    // The same steps as in `run_ui`.
    let_browser_turn().await;
    context.begin_pass(input.egui_state.take_egui_input(&output.window));
    let_browser_turn().await;
    let drawn = context.end_pass();
    let_browser_turn().await;
    output.screen.take_textures(&mut { drawn.textures_delta });
    draw_ahead(input, output, |_| ()).await;
    let families = context.fonts(|fonts| fonts.families());
    for family in families.into_iter().filter(|family| matches!(family, FontFamily::Name(_))) {
        // One font file at a time.
        let_browser_turn().await;
        context.fonts_mut(|fonts| fonts.row_height(&FontId::new(12.0, family)));
    }
    let body = TextStyle::Body.resolve(&context.global_style());
    let_browser_turn().await;
    context.fonts_mut(|fonts| fonts.glyph_width(&body, 'l'));
    for words in FIRST {
        let_browser_turn().await;
        let (words, font) = ((*words).to_owned(), body.clone());
        context.fonts_mut(|fonts| drop(fonts.layout_no_wrap(words, font, Color32::WHITE)));
    }
    for control in CONTROLS {
        draw_ahead(input, output, control).await;
    }
    let styles =
        LETTERS.iter().map(|(style, letters)| (style.resolve(&context.global_style()), *letters));
    let sizes = SIZES.iter().map(|(size, letters)| (FontId::proportional(*size), *letters));
    for (font, letters) in styles.chain(sizes) {
        let letters: Vec<char> = letters.chars().collect();
        for few in letters.chunks(LETTERS_AT_ONCE) {
            let text = RichText::new(few.iter().collect::<String>()).font(font.clone());
            draw_ahead(input, output, |ui| drop(ui.label(text.clone()))).await;
        }
    }
    let_browser_turn().await;
}

/// Lays out and tessellates `draw` without showing it, in separate tasks of the event loop.
async fn draw_ahead(input: &mut WindowInput, output: &mut WindowOutput, draw: impl Fn(&mut Ui)) {
    let_browser_turn().await;
    let events = input.egui_state.take_egui_input(&output.window);
    let drawn = input.context.run_ui(events, |ui| draw(ui));
    let_browser_turn().await;
    output.screen.take_textures(&mut { drawn.textures_delta });
    let_browser_turn().await;
    drop(input.context.tessellate(drawn.shapes, drawn.pixels_per_point));
}
