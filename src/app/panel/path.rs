//! The camera path: keyframes at times of the run, and the file that stores them.

use std::path::PathBuf;

use egui::{Grid, RichText, TextEdit, Ui};

use super::theme::{DIM, NARROW, offer, quantity, section};
use super::{Action, Facts, ViewChoice, Viewpoint};

/// The name of the file as typed so far.
#[derive(Default)]
pub struct PathForm {
    name: Option<String>,
}

impl PathForm {
    pub(super) fn show(
        &mut self,
        ui: &mut Ui,
        facts: &Facts,
        view: &mut ViewChoice,
        actions: &mut Vec<Action>,
    ) {
        if !section(ui, "Camera path") {
            return;
        }
        ui.horizontal_wrapped(|ui| {
            let time = quantity(facts.status.time, &facts.units.time);
            let about = format!("The camera will be here at t = {time} (k). Two places make a path");
            offer(ui.button("Set a place"), about, actions, Action::Keyframe);
            let about = "The camera follows the path as the run's time passes, here and in films; moving it by \
                         hand ends that";
            ui.add_enabled_ui(!view.path.is_empty(), |ui| {
                ui.checkbox(&mut view.plays, "follow the path").on_hover_text(about);
            });
        });
        if view.path.is_empty() {
            ui.colored_label(DIM, "no places yet");
            return;
        }
        let mut dropped = None;
        Grid::new("path").num_columns(3).min_col_width(NARROW).spacing([8.0, 2.0]).show(ui, |ui| {
            for (index, key) in view.path.iter().enumerate() {
                let time = format!("t = {}", quantity(key.time, &facts.units.time));
                if ui.link(time).on_hover_text("Move the camera there; the time stays").clicked() {
                    actions.push(Action::Camera(Viewpoint::Keyframe(index)));
                }
                let extent = quantity(key.extent, &facts.units.length);
                ui.label(RichText::new(format!("± {extent}")).color(DIM)).on_hover_text(
                    "Half the height of a 16 by 9 picture; other shapes show at least as much",
                );
                if ui
                    .small_button("×")
                    .on_hover_text("Remove this place (ctrl+z brings it back)")
                    .clicked()
                {
                    dropped = Some(index);
                }
                ui.end_row();
            }
        });
        if let Some(index) = dropped {
            view.path.remove(index);
            view.plays &= !view.path.is_empty();
        }
        ui.horizontal(|ui| {
            let name = self.name.get_or_insert_with(|| "path.toml".to_owned());
            let about = "Saves the scene with this path as a scene file, for 'gravitile render FILE'; for a \
                         snapshot only the path, for 'render --path FILE'";
            ui.add(TextEdit::singleline(name).desired_width(150.0)).on_hover_text(about);
            if ui.button("Save the path").on_hover_text(about).clicked() && !name.trim().is_empty() {
                actions.push(Action::SavePath(PathBuf::from(name.trim())));
            }
        });
    }
}
