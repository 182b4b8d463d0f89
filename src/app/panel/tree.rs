//! The tab Tree: when cells are opened and what that costs in accuracy, its cells, and what acts on
//! a body.

use std::mem::{Discriminant, discriminant};

use egui::{Button, Color32, ComboBox, Grid, RichText, Slider, SliderClamping, Ui};

use super::theme::{
    DIM, InUnit, LINES, NARROW, WARN, bodies, label, number, pick, quantity, released_or_reset,
    resets, row, section, table, unless,
};
use super::{Action, Facts};
use gravitile::forces::Method;
use gravitile::forces::tree::{LevelWalk, MultipoleOrder, Opening, Rebuild, TreeConfig};
use gravitile::live::{InspectRequest, InspectedWalk};
use gravitile::sim::Settings;

/// Colour of cells that act as a whole.
pub const ACCEPTED: Color32 = LINES[0];
/// Colour of cells that act by an expansion.
pub const EXPANDED: Color32 = LINES[2];
/// Colour of bodies that act one by one.
pub const ONE_BY_ONE: Color32 = LINES[1];
/// Colour of the group that both act on.
pub const GROUP: Color32 = LINES[3];

/// In place of the number of cells: a tree to look at is built only while something of it is shown.
const BOXES_OFF: &str = "boxes are off, so no cells are built to look at";

/// Number of levels shown by default.
const DEFAULT_DEPTH: u32 = 4;

/// What is shown of the tree in the picture, and the state of the tab between frames.
pub struct TreeForm {
    /// Cells as boxes.
    pub boxes: bool,
    /// The deepest level shown; the root's is 0.
    pub depth: u32,
    /// Whether to show what acts on a clicked body.
    pub lists: bool,
    /// That body's index.
    pub body: Option<usize>,
    held: Option<f64>,
}

impl Default for TreeForm {
    fn default() -> Self {
        Self { boxes: false, depth: DEFAULT_DEPTH, lists: false, body: None, held: None }
    }
}

/// What the rules of [`Opening::ALL`] do, in plain words.
const RULES: [&str; 4] = [
    "A cell acts as a whole where its estimated error is at most the part alpha of the bodies' acceleration",
    "A cell acts as a whole where its radius is less than theta times its distance",
    "By the cell's longest edge, and by how far its centre of mass is from the middle of its box",
    "By the cell's longest edge, with the distance from box to box",
];

/// The rule of this kind with its default number.
fn default_of(kind: Discriminant<Opening>) -> Option<Opening> {
    Opening::ALL.into_iter().find(|rule| discriminant(rule) == kind)
}

const MOMENTS: [(MultipoleOrder, &str, &str); 2] = [
    (MultipoleOrder::Quadrupole, "quadrupoles", "Cells attract with their second moments as well"),
    (MultipoleOrder::Monopole, "monopoles", "Cells attract as one mass in its centre"),
];

impl TreeForm {
    /// The inspection that the tab needs; of the error only while it is shown.
    pub fn request(&self, is_shown: bool) -> InspectRequest {
        let body = self.body.filter(|_| self.lists);
        InspectRequest { error: is_shown, tree: self.boxes || self.lists, body, about: None }
    }

    pub(super) fn show(&mut self, ui: &mut Ui, facts: &Facts, actions: &mut Vec<Action>) {
        if section(ui, "Force error") {
            use_tree(ui, facts, actions);
            let now = facts.settings.tree;
            let mut requested = now;
            ui.horizontal_wrapped(|ui| {
                let rules = Opening::ALL.iter().zip(RULES);
                let rules = rules.map(|(rule, about)| (discriminant(rule), rule.name(), about));
                let rule = discriminant(&now.opening);
                if let Some(picked) = pick(ui, &rule, rules) {
                    requested.opening = default_of(picked).unwrap_or(now.opening);
                }
                let default = TreeConfig::default().opening;
                if resets(ui, discriminant(&default) == rule) {
                    requested.opening = default;
                }
            });
            self.slider(ui, &mut requested.opening);
            ui.horizontal_wrapped(|ui| {
                requested.moments = pick(ui, &now.moments, MOMENTS).unwrap_or(now.moments);
                let default = TreeConfig::default().moments;
                if resets(ui, now.moments == default) {
                    requested.moments = default;
                }
            });
            built(ui, &mut requested.rebuild);
            if requested != now {
                actions.push(Action::Tree(requested));
            }
            measured(ui, facts);
        }
        self.cells(ui, facts);
        self.lists(ui, facts);
        ui.add_space(6.0);
        ui.colored_label(DIM, "All of this is explained in docs/tree.md.");
    }

    /// The slider of the rule's number.
    fn slider(&mut self, ui: &mut Ui, opening: &mut Opening) {
        let default = default_of(discriminant(opening)).map(Opening::parameter);
        let (name, value, least, about) = match opening {
            Opening::Acceleration { alpha } => (
                "alpha",
                alpha,
                1e-5,
                "Smaller is more accurate and slower: the error grows roughly with its square root",
            ),
            Opening::Radius { theta } | Opening::Bonsai { theta } | Opening::Octgrav { theta } => {
                ("theta", theta, 0.1, "An angle: smaller is more accurate and slower")
            }
        };
        let default = default.unwrap_or(*value);
        released_or_reset(ui, &mut self.held, (value, default), [name, about], |value| {
            Slider::new(value, least..=1.0)
                .logarithmic(true)
                .clamping(SliderClamping::Always)
                .in_unit("")
        });
    }

    fn cells(&mut self, ui: &mut Ui, facts: &Facts) {
        if !section(ui, "Cells") {
            return;
        }
        let about = "The smallest boxes around the bodies of each cell, which the opening test uses. Built in \
                     the background, so they lag a moment behind the bodies";
        ui.checkbox(&mut self.boxes, "boxes").on_hover_text(about);
        let about = "Boxes are shown down to this level; the root's is 0";
        ui.horizontal(|ui| {
            let label = label(ui, "depth");
            let slider = Slider::new(&mut self.depth, 0..=20);
            let slider = ui.add_enabled(self.boxes, slider).on_hover_text(about);
            let slider = slider.on_disabled_hover_text(BOXES_OFF);
            slider.labelled_by(label.id);
            if resets(ui, self.depth == DEFAULT_DEPTH) {
                self.depth = DEFAULT_DEPTH;
            }
        });
        let Some(tree) = &facts.inspected.tree else {
            // Always one line, so that nothing below moves.
            let text = if self.boxes || self.lists { "being built …" } else { BOXES_OFF };
            ui.colored_label(DIM, text);
            return;
        };
        let levels = tree.view.levels().len().saturating_sub(1);
        let cells = tree.view.cells();
        let time = quantity(tree.time, &facts.units.time);
        ui.colored_label(DIM, format!("{cells} cells on {levels} levels at t = {time}"));
        if self.boxes {
            let shown = shown_cells(tree.view.levels(), self.depth);
            let all = tree.view.levels()[(self.depth as usize + 1).min(levels)] as usize;
            if shown < all {
                ui.colored_label(WARN, format!("the first {shown} of {all} are drawn"));
            }
        }
    }

    fn lists(&mut self, ui: &mut Ui, facts: &Facts) {
        if !section(ui, "What acts on a body") {
            return;
        }
        let about = "Groups of 64 bodies along the curve walk the tree together. Click on a body to mark its \
                     group, the cells that act on it as a whole, and the bodies that act one by one";
        ui.checkbox(&mut self.lists, "of the body clicked on").on_hover_text(about);
        if !self.lists {
            return;
        }
        let walk = match (self.body, &facts.inspected.walk) {
            (None, _) => {
                ui.colored_label(DIM, "click on a body in the picture");
                return;
            }
            (Some(body), Some(walk)) if walk.body == body => walk,
            _ => {
                ui.colored_label(DIM, "computing …");
                return;
            }
        };
        legend(ui, walk, facts.count);
        levels(ui, &walk.walk.levels);
    }
}

/// How often the tree is rebuilt; between builds its boxes and moments follow the bodies.
fn built(ui: &mut Ui, rebuild: &mut Rebuild) {
    let named = |rebuild: Rebuild| match rebuild {
        Rebuild::EACH_STEP => "at each step".to_owned(),
        Rebuild::Auto => "when it pays off".to_owned(),
        every => format!("every {every} steps"),
    };
    let about = "Between builds bodies keep their cells, whose boxes and moments follow them: a little faster, \
                 but energy drifts more. 'When it pays off' is timed, in the window only; the tab Kernel shows \
                 the result";
    ui.horizontal(|ui| {
        label(ui, "built");
        let list = ComboBox::from_id_salt("rebuild").selected_text(named(*rebuild));
        let shown = list.show_ui(ui, |ui| {
            let several = [2, 4, 8, 16].map(Rebuild::Every);
            for choice in [Rebuild::EACH_STEP].into_iter().chain(several).chain([Rebuild::Auto]) {
                ui.selectable_value(rebuild, choice, named(choice));
            }
        });
        shown.response.on_hover_text(about);
        if resets(ui, *rebuild == Rebuild::default()) {
            *rebuild = Rebuild::default();
        }
    });
}

/// Number of cells drawn down to a level, up to as many as a picture can show.
pub fn shown_cells(levels: &[u32], depth: u32) -> usize {
    const MOST: usize = 30_000;
    let end = levels.get(depth as usize + 1).or(levels.last());
    (end.copied().unwrap_or(0) as usize).min(MOST)
}

/// Names the method in use if it is not the tree, and offers to switch.
fn use_tree(ui: &mut Ui, facts: &Facts, actions: &mut Vec<Action>) {
    if facts.method == Method::Tree {
        return;
    }
    ui.horizontal_wrapped(|ui| {
        let text = format!("Forces are now computed by the method {}.", facts.method.name());
        ui.colored_label(DIM, text);
        let requested = Settings { method: Some(Method::Tree), ..facts.settings.clone() };
        let refused = requested.validate().err();
        let button = Button::new("Use the tree");
        if unless(ui, refused, button, "Keeps the current state").clicked() {
            actions.push(Action::Method(Method::Tree));
        }
    });
}

/// The error as last measured. Before the first measurement there are as many lines, so that
/// nothing moves when it arrives.
fn measured(ui: &mut Ui, facts: &Facts) {
    let about = "|a - a'| / |a'| of a sample of bodies evenly spaced by index, with a' by all pairs in f64; \
                 every few seconds, on the processor";
    let [rms, others, of] = match facts.inspected.error {
        None => ["being measured …", "–", "–"].map(str::to_owned),
        Some(error) => {
            let time = quantity(error.time, &facts.units.time);
            [
                format!("{:.2e}", error.rms),
                format!("{:.2e}, {:.2e}", error.median, error.largest),
                format!("{} at t = {time}", bodies(error.samples)),
            ]
        }
    };
    table("force error").show(ui, |ui| {
        row(ui, "rms error", about, RichText::new(rms).strong());
        row(ui, "median, largest", about, others);
        row(ui, "measured", about, of);
    });
}

/// What the colours in the picture mean, with counts.
fn legend(ui: &mut Ui, inspected: &InspectedWalk, count: usize) {
    let walk = &inspected.walk;
    let one_by_one = walk.bodies.len();
    ui.label(format!("body {}: {}", inspected.body, inspected.config));
    Grid::new("legend").num_columns(3).min_col_width(NARROW).show(ui, |ui| {
        let mut entry = |colour: Color32, value: String, about: &str| {
            let (rect, _) = ui.allocate_exact_size(egui::vec2(10.0, 10.0), egui::Sense::empty());
            ui.painter().rect_filled(rect, 2.0, colour);
            ui.label(value);
            ui.label(RichText::new(about).color(DIM));
            ui.end_row();
        };
        entry(GROUP, walk.members.len().to_string(), "bodies of the group");
        entry(ACCEPTED, walk.cells.len().to_string(), "cells as a whole");
        entry(EXPANDED, walk.far.len().to_string(), "far cells, expanded for all");
        entry(ONE_BY_ONE, one_by_one.to_string(), "bodies one by one");
    });
    let acts = (walk.cells.len() + walk.far.len() + one_by_one) as f64;
    let all = bodies(count);
    let instead = format!("{} tests; {} in place of {all}", walk.tests(), number(acts));
    ui.label(instead).on_hover_text("How many cells and bodies attract each body of the group");
}

/// The walk level by level.
fn levels(ui: &mut Ui, levels: &[LevelWalk]) {
    Grid::new("levels").num_columns(4).min_col_width(NARROW).striped(true).show(ui, |ui| {
        for (name, about) in [
            ("level", "The root's is 0"),
            ("tested", "Cells that were tested: children of opened ones"),
            ("as a whole", "Cells far enough to act as a whole"),
            ("leaves", "Cells without children whose bodies act one by one"),
        ] {
            ui.colored_label(DIM, name).on_hover_text(about);
        }
        ui.end_row();
        for (number, level) in levels.iter().enumerate().filter(|(_, level)| level.tested > 0) {
            for value in [number as u32, level.tested, level.accepted, level.leaves] {
                ui.label(value.to_string());
            }
            ui.end_row();
        }
    });
}
