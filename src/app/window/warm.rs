//! In a page, what egui needs for its first frames is made ahead, a little at a time. A browser compiles a function when it
//! is first called, some hundred of them with the first words laid out, and letters are made then as well: all at once they
//! would stall the page, the more so as the adapter's driver and the worker need the processor meanwhile.

use egui::{Color32, FontFamily, FontId, RichText, TextStyle, Ui};

use super::frame::Frames;
use super::input::Input;
use super::output::Output;
use crate::gpu::let_browser_turn;

/// Most of the letters that the panel uses, with their styles.
const LETTERS: &[(TextStyle, &str)] = {
    use TextStyle::{Body, Heading, Monospace};
    &[
        (Body, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:;+-−×/()%…'=<>«»"),
        (Heading, "aceghiklmnoprstuvyBCDEGHIMPSTW"),
        (Monospace, "pqrus0123456789.abcdefghiklmnot"),
    ]
};
/// Letters in other sizes.
const SIZES: &[(f32, &str)] =
    &[(12.0, "0123456789.kpc"), (12.5, "abcdefghilmnoprstuwxy0123456789.,=%×"), (16.0, "gravitle")];
/// Letters made in one turn of the browser.
const LETTERS_AT_ONCE: usize = 8;
/// Texts that use more and more of the layout and drawing of letters: none, a character that is never drawn, a blank, a
/// letter of straight lines, one with curves.
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

/// In a page: has egui make its fonts, letters and controls a few at a time, so that they do not stall the first frames.
pub async fn up(input: &mut Input, output: &mut Output) {
    if !cfg!(target_arch = "wasm32") {
        return;
    }
    let context = input.context.clone();
    // What `run_ui` does, and in which order.
    let_browser_turn().await;
    context.begin_pass(input.egui_state.take_egui_input(&output.window));
    let_browser_turn().await;
    let drawn = context.end_pass();
    let_browser_turn().await;
    output.screen.take_textures(&mut { drawn.textures_delta });
    draw_ahead(input, output, |_| ()).await;
    let families = context.fonts(|fonts| fonts.families());
    for family in families.into_iter().filter(|family| matches!(family, FontFamily::Name(_))) {
        // Each font file by itself.
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

/// In a page: a first frame that is not shown, a little at a time.
pub async fn begin(frames: &mut Frames) {
    if !cfg!(target_arch = "wasm32") {
        return;
    }
    let_browser_turn().await;
    frames.take_news(0.0);
    let_browser_turn().await;
    // The next frame finds any error as well, and shows it.
    let _ = frames.draw(None, false, 0.0);
    let_browser_turn().await;
}

/// Draws something that is not shown, in turns of its own.
async fn draw_ahead(input: &mut Input, output: &mut Output, draw: impl Fn(&mut Ui)) {
    let_browser_turn().await;
    let events = input.egui_state.take_egui_input(&output.window);
    let drawn = input.context.run_ui(events, |ui| draw(ui));
    let_browser_turn().await;
    output.screen.take_textures(&mut { drawn.textures_delta });
    let_browser_turn().await;
    drop(input.context.tessellate(drawn.shapes, drawn.pixels_per_point));
}
