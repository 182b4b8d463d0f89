//! What is simulated: scenes, their parameters, dropped snapshots, encounters.

use std::path::PathBuf;

use egui::{ComboBox, DragValue, Slider, Ui};

use super::theme::{DIM, WARN, heading};
use super::{Action, Facts, Input};
use crate::messages;
use crate::scene::{Kind, Scene};
use crate::settings::Assignment;

/// The scene as it is being changed, before it is made.
#[derive(Default)]
pub struct SceneForm {
    /// What was last taken over from the window.
    shown: Option<Input>,
    /// The scene with changed parameters; `None` for a snapshot.
    scene: Option<Scene>,
    problem: Option<String>,
    encounter: Option<EncounterForm>,
}

struct EncounterForm {
    files: [PathBuf; 2],
    distance: f64,
    speed: f64,
    offset: f64,
    tilt_degrees: f64,
}

impl SceneForm {
    /// Offers an encounter of two dropped snapshots.
    pub fn offer_encounter(&mut self, files: [PathBuf; 2], extent: f64) {
        let offset = 0.5 * extent;
        self.encounter = Some(EncounterForm {
            files,
            distance: 4.0 * extent,
            speed: 0.5,
            offset,
            tilt_degrees: 30.0,
        });
    }

    /// Whether an encounter is being prepared.
    pub fn has_encounter(&self) -> bool {
        self.encounter.is_some()
    }

    pub(super) fn show(&mut self, ui: &mut Ui, facts: &Facts, actions: &mut Vec<Action>) {
        if self.encounter.is_some() {
            self.show_encounter(ui, facts, actions);
            ui.separator();
        }
        if self.shown.as_ref() != Some(facts.input) {
            self.adopt(facts.input);
        }
        let title = self.scene.as_ref().map_or(facts.input.input.clone(), |s| s.name.clone());
        let mut picked = None;
        let about =
            "A built-in scene. Snapshots and scene files: drop them onto the window, or File";
        ui.horizontal(|ui| {
            ComboBox::from_id_salt("scene")
                .width(210.0)
                .height(400.0)
                .selected_text(short_name(&title))
                .show_ui(ui, |ui| {
                    for name in Scene::names() {
                        let text = Scene::builtin(name).map_or_else(|_| name.into(), |s| s.title);
                        if ui.selectable_label(title == name, name).on_hover_text(text).clicked() {
                            picked = Some(name);
                        }
                    }
                })
                .response
                .on_hover_text(about);
            if ui.button("Restart").on_hover_text("From the beginning (r)").clicked() {
                actions.push(Action::Restart);
            }
        });
        if let Some(name) = picked {
            actions.push(Action::Load(Input::named(name)));
        }
        match &mut self.scene {
            Some(scene) => {
                ui.label(egui::RichText::new(messages::piece(&scene.title)).italics());
                Self::parameters(ui, scene, &mut self.problem);
                if let Some(problem) = &self.problem {
                    ui.colored_label(WARN, problem);
                }
                let changed = self.changed(facts.input);
                ui.add_space(4.0);
                let text = if changed { "Make the changed scene" } else { "Make it anew" };
                let button = egui::Button::new(text).selected(changed);
                if ui.add(button).on_hover_text("Builds the bodies with these numbers").clicked() {
                    actions.push(Action::Load(self.wanted(facts.input)));
                }
            }
            None => {
                ui.label(format!("{} bodies from a file", facts.count));
                ui.colored_label(DIM, &facts.input.input);
            }
        }
        heading(ui, "Components");
        for component in facts.components {
            ui.label(format!("{} ({})", messages::piece(&component.name), component.role.name()));
        }
    }

    fn adopt(&mut self, input: &Input) {
        self.scene = scene_of(input);
        self.problem = None;
        self.shown = Some(input.clone());
    }

    fn parameters(ui: &mut Ui, scene: &mut Scene, problem: &mut Option<String>) {
        let mut note = |result: crate::error::Result<()>| {
            *problem = result.err().map(|error| error.to_string());
        };
        egui::Grid::new("parameters").num_columns(2).spacing([8.0, 4.0]).show(ui, |ui| {
            let adjustable = scene.parameters().iter().any(|(_, p, _)| p.kind == Kind::Count);
            if let (Some(n), true) = (scene.n(), adjustable) {
                ui.label("bodies").on_hover_text("Number of bodies, all components together");
                let mut wanted = n;
                let drag = DragValue::new(&mut wanted).speed(n as f64 * 0.01).range(2..=4_000_000);
                if ui.add(drag).on_hover_text("Drag, or click to type").changed() {
                    note(scene.set_n(wanted));
                }
                ui.end_row();
            }
            ui.label("seed")
                .on_hover_text("Another seed, other random numbers: the same kind of scene");
            ui.add(DragValue::new(&mut scene.seed)).on_hover_text("Drag, or click to type");
            ui.end_row();
            for (name, parameter, value) in scene.parameters() {
                if parameter.kind == Kind::Count && parameter.name == "n" {
                    continue;
                }
                ui.label(&name).on_hover_text(parameter.help);
                let mut wanted = value;
                let about = format!("{} ({})", parameter.help, parameter.allowed());
                let changed = match parameter.kind {
                    Kind::Count => {
                        let range = parameter.min..=parameter.max;
                        ui.add(DragValue::new(&mut wanted).range(range).fixed_decimals(0))
                    }
                    Kind::Scale if parameter.min > 0.0 => {
                        // Decades around the usual value; the type-in box takes the whole range.
                        let low = (parameter.default * 0.01).max(parameter.min);
                        let high = (parameter.default * 100.0).min(parameter.max);
                        let clamping = egui::SliderClamping::Edits;
                        let slider = Slider::new(&mut wanted, low..=high).logarithmic(true);
                        ui.add(slider.clamping(clamping))
                    }
                    _ if (parameter.max - parameter.min) < 1e4 => {
                        ui.add(Slider::new(&mut wanted, parameter.min..=parameter.max))
                    }
                    _ => {
                        let speed = 0.01 * parameter.default.abs().max(0.1);
                        let range = parameter.min..=parameter.max;
                        ui.add(DragValue::new(&mut wanted).speed(speed).range(range))
                    }
                }
                .on_hover_text(about)
                .changed();
                if changed {
                    note(scene.set(&name, wanted));
                }
                ui.end_row();
            }
        });
    }

    /// The scene as the command line would ask for it.
    fn wanted(&self, input: &Input) -> Input {
        let (Some(scene), Some(plain)) = (&self.scene, scene_of(&Input::named(&input.input)))
        else {
            return input.clone();
        };
        let mut wanted = Input { gravity: input.gravity, ..Input::named(&input.input) };
        if scene.seed != plain.seed {
            wanted.seed = Some(scene.seed);
        }
        // A number that was asked for stays one: without any the window takes what suits the machine.
        if scene.n() != plain.n() || input.n.is_some() {
            wanted.n = scene.n();
        }
        let usual = plain.parameters();
        for ((name, parameter, value), (_, _, before)) in scene.parameters().into_iter().zip(usual)
        {
            if parameter.name != "n" && value != before {
                wanted.set.push(Assignment { name, value });
            }
        }
        wanted
    }

    fn changed(&self, input: &Input) -> bool {
        let wanted = self.wanted(input);
        // Two inputs are the same if the scenes they make are.
        let now = scene_of(input).map(|scene| (scene.seed, scene.parameters()));
        let then = scene_of(&wanted).map(|scene| (scene.seed, scene.parameters()));
        now != then
    }

    fn show_encounter(&mut self, ui: &mut Ui, facts: &Facts, actions: &mut Vec<Action>) {
        let Some(form) = &mut self.encounter else { return };
        heading(ui, "An encounter");
        for (file, role) in form.files.iter().zip(["stays", "comes"]) {
            ui.label(format!("{}: {role}", short_name(&file.display().to_string())))
                .on_hover_text(file.display().to_string());
        }
        let length = facts.units.length.trim();
        let unit =
            if length.is_empty() { String::new() } else { format!(" (in units of {length})") };
        let value = |ui: &mut Ui, value: &mut f64, low: f64, name: &str, about: &str| {
            ui.horizontal(|ui| {
                let speed = 0.01 * value.abs().max(0.1);
                ui.add(DragValue::new(value).speed(speed).range(low..=1e12)).on_hover_text(about);
                ui.label(name).on_hover_text(about);
            });
        };
        value(ui, &mut form.distance, 1e-6, &format!("distance{unit}"), "Between the centres");
        value(ui, &mut form.speed, 0.0, "speed", "Of the approach, in the snapshots' units");
        let about = "How far the way would miss the other centre: 0 is head-on";
        value(ui, &mut form.offset, 0.0, &format!("offset{unit}"), about);
        ui.add(Slider::new(&mut form.tilt_degrees, 0.0..=180.0).text("tilt").suffix("°"))
            .on_hover_text("Of the one that comes; above 90 it turns the other way round");
        let (mut make, mut cancel) = (false, false);
        ui.horizontal(|ui| {
            make = ui.button("Let them meet").clicked();
            cancel = ui.button("Cancel").clicked();
        });
        if make {
            actions.push(Action::Encounter {
                files: form.files.clone(),
                distance: form.distance,
                speed: form.speed,
                offset: form.offset,
                tilt_degrees: form.tilt_degrees,
            });
        }
        if make || cancel {
            self.encounter = None;
        }
    }
}

/// The scene that `input` names, with its changes; `None` for snapshots.
fn scene_of(input: &Input) -> Option<Scene> {
    input.scene().ok().flatten()
}

/// The last part of a path.
fn short_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}
