//! The tree: how cells are opened and what that costs in accuracy, its cells, and what acts on a body.

use egui::{Button, Color32, ComboBox, Grid, RichText, Slider, SliderClamping, Ui};

use super::physics::plain;
use super::theme::{DIM, LINES, WARN, heading, number, released_or_reset, resets, row};
use super::{Action, Facts};
use crate::forces::Method;
use crate::forces::tree::{LevelWalk, MultipoleOrder, Opening, Rebuild, TreeConfig};
use crate::live::{SeenWalk, Wish};
use crate::sim::Settings;

/// Colour of what acts as a whole.
pub const ACCEPTED: Color32 = LINES[0];
/// Colour of bodies that act one by one.
pub const ONE_BY_ONE: Color32 = LINES[1];
/// Colour of the group that both act on.
pub const GROUP: Color32 = LINES[3];

/// Levels that are shown at first.
const USUAL_DEPTH: u32 = 4;

/// What is shown of the tree in the picture, and what the tab remembers.
pub struct TreeForm {
    /// Cells as boxes.
    pub boxes: bool,
    /// Down to this level; the root's is 0.
    pub depth: u32,
    /// What acts on a body that is clicked on.
    pub lists: bool,
    /// That body, by its number.
    pub body: Option<usize>,
    held: Option<f64>,
}

impl Default for TreeForm {
    fn default() -> Self {
        Self { boxes: false, depth: USUAL_DEPTH, lists: false, body: None, held: None }
    }
}

/// The rules with what they are, in plain words. The angle is the usual one of each.
const RULES: [(Opening, &str, &str); 4] = [
    (
        Opening::Acceleration { alpha: 0.003 },
        "acceleration",
        "A cell acts as a whole where it may spoil no more than the part alpha of what the bodies feel",
    ),
    (
        Opening::Radius { theta: 0.6 },
        "radius",
        "Where its radius is less than theta times its distance",
    ),
    (
        Opening::Bonsai { theta: 0.75 },
        "bonsai",
        "By its longest edge, and by how far its mass is from the middle of its box",
    ),
    (Opening::Octgrav { theta: 0.75 }, "octgrav", "By its longest edge, measured from box to box"),
];

impl TreeForm {
    /// What is to be looked into; the error only where somebody sees it.
    pub fn wish(&self, is_shown: bool) -> Wish {
        let body = self.body.filter(|_| self.lists);
        Wish { error: is_shown, tree: self.boxes || self.lists, body, about: None }
    }

    pub(super) fn show(&mut self, ui: &mut Ui, facts: &Facts, actions: &mut Vec<Action>) {
        heading(ui, "Force error");
        use_tree(ui, facts, actions);
        let now = facts.settings.tree;
        let mut wanted = now;
        ui.horizontal_wrapped(|ui| {
            for (rule, name, about) in RULES {
                let current = std::mem::discriminant(&rule) == std::mem::discriminant(&now.opening);
                if ui.selectable_label(current, name).on_hover_text(about).clicked() && !current {
                    wanted.opening = rule;
                }
            }
            let usual = TreeConfig::default().opening;
            let is_usual = std::mem::discriminant(&usual) == std::mem::discriminant(&now.opening);
            if resets(ui, is_usual) {
                wanted.opening = usual;
            }
        });
        self.slider(ui, &mut wanted.opening);
        ui.horizontal_wrapped(|ui| {
            for (order, name, about) in [
                (
                    MultipoleOrder::Quadrupole,
                    "quadrupoles",
                    "Cells attract with their second moments, too",
                ),
                (
                    MultipoleOrder::Monopole,
                    "monopoles",
                    "Cells attract as their mass in its centre",
                ),
            ] {
                let current = order == now.moments;
                if ui.selectable_label(current, name).on_hover_text(about).clicked() {
                    wanted.moments = order;
                }
            }
            let usual = TreeConfig::default().moments;
            if resets(ui, now.moments == usual) {
                wanted.moments = usual;
            }
        });
        built(ui, &mut wanted.rebuild);
        if wanted != now {
            actions.push(Action::Tree(wanted));
        }
        measured(ui, facts);
        self.cells(ui, facts);
        self.lists(ui, facts);
        ui.add_space(6.0);
        ui.colored_label(DIM, "docs/tree.md is a chapter on all of this.");
    }

    /// The number of the rule.
    fn slider(&mut self, ui: &mut Ui, opening: &mut Opening) {
        let usual = RULES.iter().find_map(|(rule, _, _)| {
            let is_it = std::mem::discriminant(rule) == std::mem::discriminant(opening);
            is_it.then(|| angle(*rule))
        });
        let (name, value, least, about) = match opening {
            Opening::Acceleration { alpha } => (
                "alpha",
                alpha,
                1e-5,
                "Less is more exact and slower: the error goes with its root, roughly",
            ),
            Opening::Radius { theta } | Opening::Bonsai { theta } | Opening::Octgrav { theta } => {
                ("theta", theta, 0.1, "An angle: less is more exact and slower")
            }
        };
        let usual = usual.unwrap_or(*value);
        released_or_reset(ui, &mut self.held, (value, usual), about, |value| {
            Slider::new(value, least..=1.0)
                .logarithmic(true)
                .text(name)
                .clamping(SliderClamping::Always)
                .custom_formatter(plain)
        });
    }

    fn cells(&mut self, ui: &mut Ui, facts: &Facts) {
        heading(ui, "Cells");
        let about = "The smallest boxes around the bodies of cells, which the opening test knows. Built beside \
                     the pictures, so that they come a moment later than the bodies";
        ui.checkbox(&mut self.boxes, "boxes").on_hover_text(about);
        let about = "Boxes are shown down to this level; the root's is 0";
        ui.horizontal(|ui| {
            let slider = Slider::new(&mut self.depth, 0..=20).text("depth");
            ui.add_enabled(self.boxes, slider).on_hover_text(about);
            if resets(ui, self.depth == USUAL_DEPTH) {
                self.depth = USUAL_DEPTH;
            }
        });
        let Some(tree) = &facts.seen.tree else {
            // A line in any case: what is below stays where it is.
            let text = if self.boxes || self.lists { "being built …" } else { "not looked at" };
            ui.colored_label(DIM, text);
            return;
        };
        let levels = tree.view.levels().len().saturating_sub(1);
        let cells = tree.view.cells();
        let time = super::theme::quantity(tree.time, &facts.units.time);
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
        heading(ui, "What acts on a body");
        let about = "64 bodies along the curve walk through the tree together. Click on a body: its group, the cells \
                     that act on it as a whole, and the bodies that act one by one are marked";
        ui.checkbox(&mut self.lists, "of the body clicked on").on_hover_text(about);
        if !self.lists {
            return;
        }
        let walk = match (self.body, &facts.seen.walk) {
            (None, _) => {
                ui.colored_label(DIM, "click on a body in the picture");
                return;
            }
            (Some(body), Some(walk)) if walk.body == body => walk,
            _ => {
                ui.colored_label(DIM, "being found …");
                return;
            }
        };
        legend(ui, walk, facts.count);
        levels(ui, &walk.walk.levels);
    }
}

/// How often a tree is built; what is there in between follows the bodies.
fn built(ui: &mut Ui, rebuild: &mut Rebuild) {
    let named = |rebuild: Rebuild| match rebuild {
        Rebuild::EACH_STEP => "at each step".to_owned(),
        Rebuild::Auto => "as often as pays".to_owned(),
        every => format!("every {every} steps"),
    };
    let about = "In between bodies keep their cells, whose boxes and moments follow them: a little faster, and energy \
                 drifts more. 'As often as pays' goes by the clock, for the window alone; the tab Kernel says what \
                 it has found";
    ui.horizontal(|ui| {
        ui.label("built");
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

/// The number of a rule.
fn angle(rule: Opening) -> f64 {
    match rule {
        Opening::Acceleration { alpha } => alpha,
        Opening::Radius { theta } | Opening::Bonsai { theta } | Opening::Octgrav { theta } => theta,
    }
}

/// How many cells are drawn down to a level: a picture of more shows nothing.
pub fn shown_cells(levels: &[u32], depth: u32) -> usize {
    const MOST: usize = 30_000;
    let end = levels.get(depth as usize + 1).or(levels.last());
    (end.copied().unwrap_or(0) as usize).min(MOST)
}

/// What runs, if it is no tree, and a way to change that.
fn use_tree(ui: &mut Ui, facts: &Facts, actions: &mut Vec<Action>) {
    if facts.method == Method::Tree {
        return;
    }
    ui.horizontal_wrapped(|ui| {
        let text = format!("Forces are computed by the method {} now.", facts.method.name());
        ui.colored_label(DIM, text);
        let wanted = Settings { method: Some(Method::Tree), ..facts.settings.clone() };
        let refused = wanted.validate().err();
        let button = ui.add_enabled(refused.is_none(), Button::new("Use the tree"));
        let button = match refused {
            Some(reason) => button.on_disabled_hover_text(reason.to_string()),
            None => button.on_hover_text("Goes on with the state as it is"),
        };
        if button.clicked() {
            actions.push(Action::Method(Method::Tree));
        }
    });
}

/// The error as it was measured last; as many lines before it is known, so that nothing moves when it comes.
fn measured(ui: &mut Ui, facts: &Facts) {
    let about = "|a - a'| / |a'| of bodies evenly spread over their numbers, with a' by all pairs in f64; every \
                 few seconds, on the processor";
    let [rms, others, of] = match facts.seen.error {
        None => ["being measured …", "–", "–"].map(str::to_owned),
        Some(error) => {
            let time = super::theme::quantity(error.time, &facts.units.time);
            [
                format!("{:.2e}", error.rms),
                format!("{:.2e}, {:.2e}", error.median, error.largest),
                format!("{} at t = {time}", super::theme::bodies(error.samples)),
            ]
        }
    };
    Grid::new("force error").num_columns(2).show(ui, |ui| {
        row(ui, "rms error", about, RichText::new(rms).strong());
        row(ui, "median, largest", about, others);
        row(ui, "measured", about, of);
    });
}

/// What the colours in the picture mean, with counts.
fn legend(ui: &mut Ui, seen: &SeenWalk, count: usize) {
    let walk = &seen.walk;
    let one_by_one = walk.bodies.len();
    ui.label(format!("body {}: {}", seen.body, seen.config));
    Grid::new("legend").num_columns(3).show(ui, |ui| {
        let mut entry = |colour: Color32, value: String, about: &str| {
            let (rect, _) = ui.allocate_exact_size(egui::vec2(10.0, 10.0), egui::Sense::empty());
            ui.painter().rect_filled(rect, 2.0, colour);
            ui.label(value);
            ui.label(RichText::new(about).color(DIM));
            ui.end_row();
        };
        entry(GROUP, walk.members.len().to_string(), "bodies of the group");
        entry(ACCEPTED, walk.cells.len().to_string(), "cells as a whole");
        entry(ONE_BY_ONE, one_by_one.to_string(), "bodies one by one");
    });
    let acts = (walk.cells.len() + one_by_one) as f64;
    let all = super::theme::bodies(count);
    let instead = format!("{} tests; {} in place of {all}", walk.tests(), number(acts));
    ui.label(instead)
        .on_hover_text("Each of the group's bodies is attracted by so many cells and bodies");
}

/// The walk level by level.
fn levels(ui: &mut Ui, levels: &[LevelWalk]) {
    Grid::new("levels").num_columns(4).striped(true).show(ui, |ui| {
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
