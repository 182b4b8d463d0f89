//! Opening, saving, pictures and films.

use std::path::PathBuf;

use egui::{DragValue, TextEdit, Ui};

use super::theme::{DIM, offer, section};
use super::{Action, Facts};
use gravitile::settings::InputRequest;

/// A page has no files: names are those of downloads.
const IS_PAGE: bool = cfg!(target_arch = "wasm32");

/// What files are dropped onto, in words.
const WHERE: &str = if IS_PAGE { "the page" } else { "the window" };

/// Paths as typed so far.
pub struct FileForm {
    open: String,
    snapshot: String,
    screenshot: String,
    size: Option<[u32; 2]>,
    film: Option<String>,
    /// The film has the size of saved pictures, not the window's.
    film_as_picture: bool,
}

impl Default for FileForm {
    fn default() -> Self {
        Self {
            open: String::new(),
            snapshot: "snapshot.gvt".to_owned(),
            screenshot: "picture.png".to_owned(),
            size: None,
            film: None,
            film_as_picture: false,
        }
    }
}

impl FileForm {
    pub(super) fn show(&mut self, ui: &mut Ui, facts: &Facts, actions: &mut Vec<Action>) {
        if section(ui, "Open bodies") {
            ui.horizontal(|ui| {
                let (about, hint) = match IS_PAGE {
                    true => ("A scene by its name; Enter opens it", "a scene's name"),
                    false => (
                        "A scene by name, a scene file or a snapshot; Enter opens it",
                        "path or scene",
                    ),
                };
                let field =
                    TextEdit::singleline(&mut self.open).hint_text(hint).desired_width(170.0);
                if entry(ui, field, hint, "Open", about) && !self.open.trim().is_empty() {
                    actions.push(Action::Load(InputRequest::named(self.open.trim())));
                }
                offer(ui.button("…"), "Choose a file (ctrl+o)", actions, Action::OpenDialog);
            });
            ui.colored_label(DIM, format!("or drop one or two snapshots onto {WHERE}"));
        }
        if section(ui, "Save the bodies") {
            let about = "The ending sets the format: .gvt (restarts bit for bit), .tipsy, .gadget, .csv, .txt";
            if let Some(path) = field(ui, &mut self.snapshot, "Save", about) {
                actions.push(Action::SaveSnapshot(path));
            }
        }
        let [width, height] = self.size.get_or_insert([1920, 1080]);
        if section(ui, "Picture") {
            ui.horizontal(|ui| {
                let sides = 16..=facts.gpu.limits.texture_side.min(16384);
                let about = "In pixels; need not be the window's size";
                let wide = ui.add(DragValue::new(width).range(sides.clone()));
                wide.accessible_name("width").on_hover_text(about);
                ui.label("x");
                let high = ui.add(DragValue::new(height).range(sides));
                high.accessible_name("height").on_hover_text(about);
                if ui
                    .button("as the window")
                    .on_hover_text("Take the window's current size")
                    .clicked()
                {
                    [*width, *height] = facts.picture;
                }
            });
            let about =
                "The picture without the panel, as PNG (F12 saves one at the window's size)";
            if let Some(path) = field(ui, &mut self.screenshot, "Save", about) {
                actions.push(Action::Screenshot(path, *width, *height));
            }
        }
        let (width, height) = (*width, *height);
        if section(ui, "Film") {
            match facts.recording {
                Some((path, pictures)) => {
                    let secs = pictures as f64 / 30.0;
                    ui.label(format!("recording {}: {secs:.1} s", path.display()));
                    offer(
                        ui.button("Stop"),
                        "End and save the film",
                        actions,
                        Action::StopRecording,
                    );
                }
                None => {
                    let kinds = match facts.film_name {
                        "film.webp" => "film.webp, film.mp4, film.apng or frames/",
                        "film.webm" => "film.webm or film.apng",
                        only => only,
                    };
                    let about = &format!(
                        "What the window shows, as {kinds}: 30 pictures a second, equally spaced in simulated time, \
                     so it plays at the current speed however long recording takes"
                    );
                    let size = self.film_as_picture.then_some([width, height]);
                    let film = self.film.get_or_insert_with(|| facts.film_name.to_owned());
                    if let Some(path) = field(ui, film, "Record", about) {
                        actions.push(Action::Record(path, size));
                    }
                    ui.horizontal(|ui| {
                        ui.radio_value(&mut self.film_as_picture, false, "as the window")
                            .on_hover_text("The size of the part that the panel leaves free");
                        ui.radio_value(
                            &mut self.film_as_picture,
                            true,
                            format!("{width} x {height}"),
                        )
                        .on_hover_text("The picture size above");
                    });
                }
            }
        }
        if !section(ui, "Share") {
            return;
        }
        let about = "A command that opens this scene with these settings and this view";
        offer(ui.button("Copy the command line"), about, actions, Action::CopyCommandLine);
        let about = "A link that opens this scene in a browser with these settings and this view";
        offer(ui.button("Copy the link"), about, actions, Action::CopyLink);
    }
}

/// A path and a button; returns the path when the button is clicked or Enter is pressed.
fn field(ui: &mut Ui, text: &mut String, button: &str, about: &str) -> Option<PathBuf> {
    ui.horizontal(|ui| {
        let field = TextEdit::singleline(text).desired_width(190.0);
        let is_given = entry(ui, field, "file name", button, about);
        (is_given && !text.trim().is_empty()).then(|| PathBuf::from(text.trim()))
    })
    .inner
}

/// A text field of this accessible name, and a button; true when the button is clicked or Enter is
/// pressed.
fn entry(ui: &mut Ui, field: TextEdit, name: &str, button: &str, about: &str) -> bool {
    let response = ui.add(field).accessible_name(name).on_hover_text(about);
    let entered = response.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
    let clicked = ui.button(button).on_hover_text(about).clicked();
    entered || clicked
}
