//! Bookmarked states of the run, with names and small pictures.

use egui::{Button, Image, RichText, TextEdit, Ui, vec2};

use super::theme::{DIM, offer, quantity, section};
use super::{Action, Facts};

/// Size in points of the pictures in the panel.
const SIZE: egui::Vec2 = vec2(96.0, 54.0);
/// Width of the names.
const NAME: f32 = 150.0;

/// The name that is being edited, and the time of its bookmark.
#[derive(Default)]
pub struct BookmarkForm {
    edited: Option<(f64, String)>,
}

impl BookmarkForm {
    pub(super) fn show(&mut self, ui: &mut Ui, facts: &Facts, actions: &mut Vec<Action>) {
        if !section(ui, "Bookmarks") {
            return;
        }
        let about =
            "Bookmark the present state, to come back to (m, or the flag below the picture)";
        offer(ui.button("Bookmark this state"), about, actions, Action::Bookmark);
        for (at, stored) in facts.past.iter().enumerate() {
            let Some(bookmark) = &stored.bookmark else { continue };
            let time = format!("t = {}", quantity(stored.state.time, &facts.units.time));
            ui.horizontal(|ui| {
                let about = format!("Go to {time}; the run pauses there");
                let button = match &bookmark.picture {
                    Some(picture) => {
                        let image = Image::new(picture).fit_to_exact_size(SIZE);
                        Button::image(image.alt_text(format!("go to {time}")))
                    }
                    None => Button::new("go"),
                };
                ui.spacing_mut().button_padding = vec2(1.0, 1.0);
                offer(ui.add(button.min_size(SIZE)), about, actions, Action::GoTo(at));
                ui.vertical(|ui| {
                    self.name(ui, (at, stored.state.time), &bookmark.name, actions);
                    ui.horizontal(|ui| {
                        ui.label(RichText::new(&time).color(DIM));
                        let about = "Remove the bookmark; its state may then be dropped";
                        let remove = Action::DropBookmark(at);
                        let button = ui.small_button("×");
                        let button = button.accessible_name("remove the bookmark");
                        offer(button, about, actions, remove);
                    });
                });
            });
        }
    }

    /// The field for a name, which counts once it is left.
    fn name(
        &mut self,
        ui: &mut Ui,
        (at, time): (usize, f64),
        name: &str,
        actions: &mut Vec<Action>,
    ) {
        let edited = self.edited.as_ref().filter(|(of, _)| *of == time);
        let mut text = edited.map_or(name, |(_, text)| text).to_owned();
        let field = TextEdit::singleline(&mut text).hint_text("name").desired_width(NAME);
        let field = ui.add(field.id_salt(("bookmark", time.to_bits())));
        if field.changed() {
            self.edited = Some((time, text.clone()));
        }
        if field.lost_focus() {
            self.edited = None;
            if text != name {
                actions.push(Action::NameBookmark(at, text));
            }
        }
    }
}
