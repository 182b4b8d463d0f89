//! What is simulated: scenes, their parameters, dropped snapshots, encounters.

use std::path::PathBuf;

use egui::{ComboBox, DragValue, Slider, SliderClamping, Ui};

use super::theme::{DIM, InUnit, WARN, bodies, heading, named, offer, section};
use super::{Action, Facts, growth, names};
use gravitile::bodies::Role;
use gravitile::messages;
use gravitile::scene::{Kind, Orbit, Scene};
use gravitile::settings::{Assignment, InputRequest};
use gravitile::units::Measure;

/// Width of the parameters' sliders, in points.
const SLIDER_WIDTH: f32 = 60.0;
/// Width of the list of scenes.
const LIST_WIDTH: f32 = 200.0;

/// The hint on gas.
const COLLISIONLESS: &str = "Collisionless: these bodies attract and are attracted, but no pressure acts on them and no shock \
                             stops them. Only their colours, by density, are those of gas";

/// The scene as edited, before it is built.
#[derive(Default)]
pub struct SceneForm {
    /// The window's input from which the form was last filled.
    shown: Option<InputRequest>,
    /// The scene with changed parameters; `None` for a snapshot.
    scene: Option<Scene>,
    problem: Option<String>,
    encounter: Option<EncounterForm>,
    /// The closed form of the last encounter, which can be opened again to change its numbers.
    closed: Option<EncounterForm>,
}

/// Two snapshots that may meet, with suitable numbers.
pub struct MeetingOffer {
    /// The first and the second.
    pub files: [PathBuf; 2],
    /// Distance between their centres at the start, in units of length.
    pub separation: f64,
    /// Pericentre of the orbit.
    pub pericentre: f64,
    /// The unit of length.
    pub unit: String,
    /// The mass of both, times G.
    pub mass: f64,
    /// The unit of speed.
    pub speed: Measure,
}

struct EncounterForm {
    offer: MeetingOffer,
    eccentricity: f64,
    tilt_degrees: f64,
}

/// The name of a parameter.
fn name_of(ui: &mut Ui, name: &str, about: &str) -> egui::Response {
    ui.label(egui::RichText::new(name).color(DIM)).on_hover_text(about)
}

impl SceneForm {
    /// Offers an encounter of two dropped snapshots.
    pub fn offer_encounter(&mut self, offer: MeetingOffer) {
        self.encounter = Some(EncounterForm { offer, eccentricity: 1.0, tilt_degrees: 30.0 });
        // The window keeps only the last two snapshots.
        self.closed = None;
    }

    /// Whether an encounter is being prepared.
    pub fn has_encounter(&self) -> bool {
        self.encounter.is_some()
    }

    /// Closes the form of the encounter; it can be opened again.
    pub fn drop_encounter(&mut self) {
        self.closed = self.encounter.take();
    }

    pub(super) fn show(&mut self, ui: &mut Ui, facts: &Facts, actions: &mut Vec<Action>) {
        if self.encounter.is_some() {
            self.show_encounter(ui, actions);
            ui.separator();
        } else if self.closed.is_some() {
            let about = "Other numbers for the two snapshots that were opened together last";
            if ui.button("Change the encounter").on_hover_text(about).clicked() {
                self.encounter = self.closed.take();
            }
        }
        if self.shown.as_ref() != Some(facts.input) {
            self.adopt(facts.input);
        }
        let title = self.scene.as_ref().map_or(facts.input.input.clone(), |s| s.name.clone());
        let mut picked = None;
        let about =
            "A built-in scene. Snapshots and scene files: drop them onto the window, or use File";
        ui.horizontal(|ui| {
            // A long name is truncated: otherwise the button after it would widen the panel
            // permanently.
            ui.scope(|ui| {
                ui.set_max_width(LIST_WIDTH);
                ComboBox::from_id_salt("scene")
                    .width(LIST_WIDTH)
                    .height(400.0)
                    .truncate()
                    .selected_text(short_name(&title))
                    .show_ui(ui, |ui| {
                        for name in Scene::names() {
                            let text =
                                Scene::builtin(name).map_or_else(|_| name.into(), |s| s.title);
                            if ui
                                .selectable_label(title == name, name)
                                .on_hover_text(text)
                                .clicked()
                            {
                                picked = Some(name);
                            }
                        }
                    })
                    .response
                    .on_hover_text(about);
            });
            let about = "Start from the beginning, with suitable step and softening (r)";
            offer(ui.button("Restart"), about, actions, Action::Restart { reset_numbers: true });
        });
        let about = "Some of the scenes as pictures, with a description";
        if ui.link("Choose by pictures").on_hover_text(about).clicked() {
            actions.push(Action::Welcome);
        }
        if let Some(name) = picked {
            actions.push(Action::Load(InputRequest::named(name)));
        }
        if !growth::is_due(ui.ctx(), "parameters") {
            return;
        }
        match &mut self.scene {
            Some(scene) => {
                ui.label(egui::RichText::new(messages::piece(&scene.title)).italics());
                Self::parameters(ui, scene, facts, &mut self.problem);
                if let Some(problem) = &self.problem {
                    ui.colored_label(WARN, problem);
                }
                let changed = self.changed(facts.input);
                ui.add_space(4.0);
                let text = if changed { "Build with these numbers" } else { "Rebuild" };
                let button = egui::Button::new(text).selected(changed);
                let about = "Makes new bodies; ctrl+z brings the current ones back";
                ui.horizontal(|ui| {
                    if ui.add(button).on_hover_text(about).clicked() {
                        actions.push(Action::Load(self.requested(facts.input)));
                    }
                    let about = "Back to the scene's default numbers";
                    if ui.button("Reset to defaults").on_hover_text(about).clicked() {
                        self.scene = scene_of(&InputRequest {
                            n: facts.input.n,
                            ..InputRequest::named(&facts.input.input)
                        });
                        self.problem = None;
                    }
                });
            }
            None => {
                ui.label(format!("{} from a file", bodies(facts.count)));
                let name = egui::RichText::new(&facts.input.input).color(DIM);
                ui.add(egui::Label::new(name).truncate());
            }
        }
        if !growth::is_due(ui.ctx(), "components") {
            return;
        }
        if !section(ui, "Components") {
            return;
        }
        for component in facts.components {
            let name = messages::piece(&component.name);
            let role = component.role.name();
            let label = match name.to_lowercase().contains(role) {
                true => ui.label(name),
                false => ui.label(format!("{name} ({role})")),
            };
            if component.role == Role::Gas {
                label.on_hover_text(COLLISIONLESS);
            }
        }
    }

    fn adopt(&mut self, input: &InputRequest) {
        self.scene = scene_of(input);
        self.problem = None;
        self.shown = Some(input.clone());
    }

    fn parameters(ui: &mut Ui, scene: &mut Scene, facts: &Facts, problem: &mut Option<String>) {
        let mut note = |result: gravitile::error::Result<()>| {
            *problem = result.err().map(|error| error.to_string());
        };
        // Shown names are longer than those in files.
        ui.spacing_mut().slider_width = SLIDER_WIDTH;
        egui::Grid::new("parameters").num_columns(2).spacing([8.0, 4.0]).show(ui, |ui| {
            let adjustable = scene.parameters().iter().any(|(_, p, _)| p.kind == Kind::Count);
            if let (Some(n), true) = (scene.n(), adjustable) {
                let mut requested = n;
                let drag = DragValue::new(&mut requested).speed(n as f64 * 0.01).range(2..=4_000_000);
                let about = "Number of bodies in all components. Drag, or click to type";
                let label = name_of(ui, "bodies", about);
                let drag = ui.add(drag).on_hover_text(about);
                if drag.labelled_by(label.id).changed() {
                    note(scene.set_n(requested));
                }
                ui.end_row();
            }
            let about = "Another seed gives other random numbers for the same kind of scene. Drag, or click to type";
            let label = name_of(ui, "seed", about);
            let drag = ui.add(DragValue::new(&mut scene.seed)).on_hover_text(about);
            drag.labelled_by(label.id);
            ui.end_row();
            for (k, (name, parameter, value)) in scene.parameters().into_iter().enumerate() {
                if !growth::is_due(ui.ctx(), ("parameter", k)) {
                    break;
                }
                if parameter.kind == Kind::Count && parameter.name == "n" {
                    continue;
                }
                let about = names::sentence(&name, parameter, value);
                let mut requested = value;
                let unit = names::unit(parameter, facts.units);
                let label = name_of(ui, &names::label(&name), &about);
                let control = match parameter.kind {
                    Kind::Count => {
                        let range = parameter.min..=parameter.max;
                        ui.add(DragValue::new(&mut requested).range(range).fixed_decimals(0))
                    }
                    Kind::Scale if parameter.min > 0.0 => {
                        // Two decades around the default; the text field takes the whole range.
                        let low = (parameter.default * 0.01).max(parameter.min);
                        let high = (parameter.default * 100.0).min(parameter.max);
                        let clamping = SliderClamping::Edits;
                        let slider = Slider::new(&mut requested, low..=high).logarithmic(true);
                        ui.add(slider.clamping(clamping).in_unit_if_any(unit))
                    }
                    _ if (parameter.max - parameter.min) < 1e4 => ui.add(
                        Slider::new(&mut requested, parameter.min..=parameter.max).in_unit_if_any(unit),
                    ),
                    _ => {
                        let speed = 0.01 * parameter.default.abs().max(0.1);
                        let range = parameter.min..=parameter.max;
                        ui.add(DragValue::new(&mut requested).speed(speed).range(range).in_unit_if_any(unit))
                    }
                };
                if control.on_hover_text(about).labelled_by(label.id).changed() {
                    note(scene.set(&name, requested));
                }
                ui.end_row();
            }
        });
    }

    /// The edited scene as an input, as on a command line.
    fn requested(&self, input: &InputRequest) -> InputRequest {
        let (Some(scene), Some(plain)) =
            (&self.scene, scene_of(&InputRequest::named(&input.input)))
        else {
            return input.clone();
        };
        let mut requested =
            InputRequest { gravity: input.gravity, ..InputRequest::named(&input.input) };
        if scene.seed != plain.seed {
            requested.seed = Some(scene.seed);
        }
        // An explicit number of bodies is kept; without one the window chooses a number that suits
        // the machine.
        if scene.n() != plain.n() || input.n.is_some() {
            requested.n = scene.n();
        }
        let defaults = plain.parameters();
        for ((name, parameter, value), (_, _, before)) in
            scene.parameters().into_iter().zip(defaults)
        {
            if parameter.name != "n" && value != before {
                requested.set.push(Assignment { name, value });
            }
        }
        requested
    }

    fn changed(&self, input: &InputRequest) -> bool {
        let requested = self.requested(input);
        // Inputs are equal if they describe the same scene.
        let now = scene_of(input).map(|scene| (scene.seed, scene.parameters()));
        let then = scene_of(&requested).map(|scene| (scene.seed, scene.parameters()));
        now != then
    }

    fn show_encounter(&mut self, ui: &mut Ui, actions: &mut Vec<Action>) {
        let Some(form) = &mut self.encounter else { return };
        heading(ui, "Two snapshots meet");
        for (file, role) in form.offer.files.iter().zip(["on the left", "on the right"]) {
            let text = format!("{} {role}", short_name(&file.display().to_string()));
            ui.add(egui::Label::new(text).truncate()).on_hover_text(file.display().to_string());
        }
        let (length, mass) = (Measure::of(&form.offer.unit), form.offer.mass);
        let speed_unit = form.offer.speed.clone();
        let field =
            |ui: &mut Ui, value: &mut f64, least: f64, unit: &Measure, [name, about]: [&str; 2]| {
                let per_point = 0.01 * value.abs().max(1e-6);
                let drag = DragValue::new(value).speed(per_point).range(least..=1e12);
                let drag = drag.in_measure(unit);
                named(ui, name, |ui| ui.add(drag).on_hover_text(about)).changed()
            };
        let texts = ["initial distance", "Between the centres at the start"];
        field(ui, &mut form.offer.separation, 1e-12, &length, texts);
        let about = "Smallest distance of the orbit, if both were points: 0 would be head-on";
        field(ui, &mut form.offer.pericentre, 1e-12, &length, ["closest approach", about]);
        // The vis-viva equation with the pericentre q: v^2 = M (2/r - (1 - e)/q).
        let (q, r) = (form.offer.pericentre, form.offer.separation);
        let mut speed = (mass * (2.0 / r - (1.0 - form.eccentricity) / q)).max(0.0).sqrt();
        let about = "Of one relative to the other at the start; it sets the eccentricity";
        // 0 is allowed: a field that raised it to a least value would change the eccentricity by
        // itself.
        if field(ui, &mut speed, 0.0, &speed_unit, ["initial speed", about]) {
            form.eccentricity = (1.0 - q * (2.0 / r - speed * speed / mass)).max(0.0);
        }
        let slider = Slider::new(&mut form.eccentricity, 0.0..=3.0).exact();
        let slider = slider.clamping(SliderClamping::Never);
        let about = "Of the orbit: below 1 it is bound, 1 is a parabola, above 1 a faster passage";
        named(ui, "eccentricity", |ui| ui.add(slider).on_hover_text(about));
        let slider = Slider::new(&mut form.tilt_degrees, 0.0..=180.0).exact().suffix("°");
        let about = "Of the snapshot on the right; above 90 it spins the other way";
        named(ui, "tilt", |ui| ui.add(slider).on_hover_text(about));
        let (mut make, mut cancel) = (false, false);
        ui.horizontal(|ui| {
            make = ui.button("Let them meet").clicked();
            cancel = ui.button("Cancel").clicked();
        });
        if make {
            let MeetingOffer { separation, pericentre, .. } = form.offer;
            let orbit = Orbit { eccentricity: form.eccentricity, pericentre, separation };
            actions.push(Action::Encounter { orbit, tilt_degrees: form.tilt_degrees });
        }
        if make || cancel {
            self.drop_encounter();
        }
    }
}

/// The scene that `input` names, with its changes; `None` for snapshots.
fn scene_of(input: &InputRequest) -> Option<Scene> {
    input.scene().ok().flatten()
}

/// The last part of a path.
fn short_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}
