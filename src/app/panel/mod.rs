//! The panel next to the picture: one file per tab. A tab shows [`Facts`] and returns the user's
//! requests as [`Action`]s; it changes nothing itself, so each can be tested without a window.

mod accuracy;
mod actions;
mod bookmarks;
mod card;
mod compare;
mod conservation;
mod devices;
mod facts;
mod field;
mod file;
pub mod growth;
mod history;
mod kernel;
mod kernel_editor;
mod keys;
mod learn;
mod light;
mod names;
mod numbers;
pub mod overlay;
mod path;
mod physics;
mod pictures;
mod scene;
mod score;
mod status;
mod theme;
mod throw;
mod transport;
pub mod tree;
mod trial;
mod view;
mod welcome;
mod wgsl;

pub use actions::{Action, Integration, Viewpoint};
pub use card::BodyCard;
pub use facts::{Bookmark, ComparedRuns, DeviceSharing, Facts, StoredState};
pub use history::History;
pub use keys::{KEYS, KeyBinding, sheet};
pub use light::background;
pub use scene::{MeetingOffer, SceneForm};
pub use score::ScoreForm;
pub use status::{BEHIND, LEFT_OUT};
pub use theme::style;
pub(crate) use theme::{number, quantity};
pub use throw::ThrowForm;
pub(crate) use throw::arrow;
pub use transport::PAST_BYTES;
pub use trial::TrialForm;
pub use view::ViewChoice;
pub use welcome::Welcome;

use serde::{Deserialize, Serialize};

use theme::offer;

/// The tabs, in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tab {
    /// What is simulated.
    #[default]
    Scene,
    /// Time step, softening, speed.
    Physics,
    /// Engine and kernel.
    Kernel,
    /// Opening rule, error, cells and lists of the tree.
    Tree,
    /// Colours, camera, exposure.
    View,
    /// What the kernel does, and what limits its speed.
    Learn,
    /// Rates and times.
    Numbers,
    /// Energies, momenta, radii.
    Conservation,
    /// Opening, saving, recording.
    File,
}

impl Tab {
    /// All tabs with their titles and hints.
    pub const ALL: [(Self, &'static str, &'static str); 9] = [
        (Self::Scene, "Scene", "What is simulated"),
        (Self::Physics, "Physics", "Time step, softening, integrator and speed"),
        (Self::Kernel, "Kernel", "The engine, and the shape of its all-pairs kernel"),
        (Self::Tree, "Tree", "How accurate the tree is, its cells, and what acts on a body"),
        (Self::View, "View", "Colours, exposure and camera"),
        (Self::Learn, "Learn", "What the kernel does with its tiles, and what limits it"),
        (Self::Numbers, "Numbers", "How fast it runs, and where the time goes"),
        (Self::Conservation, "Conservation", "What physics conserves, and how far it drifts"),
        (Self::File, "File", "Open, save, record"),
    ];
}

/// Width of the panel in points, until somebody drags its edge.
const DEFAULT_WIDTH: f32 = 360.0;
/// If less than this would be left of the panel, in points, the panel lies below the picture
/// instead.
const LEAST_ROOM: f32 = 200.0;
/// The part of the window's height that it has there.
const PART_BELOW: f32 = 0.5;

/// The panel's own state from frame to frame.
#[derive(Default)]
pub struct Panel {
    /// Whether it is unfolded.
    pub open: bool,
    /// Whether there are neither panel nor bar, only messages: the window is embedded in another
    /// page.
    pub is_hidden: bool,
    /// Whether it is light, with high contrast.
    pub light: bool,
    /// The tab that is shown.
    pub tab: Tab,
    /// Its width in points when last shown unfolded.
    pub width: f32,
    /// Whether the sheet of keys is shown.
    pub help: bool,
    /// Whether it asks if the window is to be closed.
    pub asks_to_quit: bool,
    /// A few scenes as pictures, for users who have not chosen one.
    pub welcome: Welcome,
    /// The scene as it is being changed.
    pub scene: SceneForm,
    /// The score of the adapter, where it can be measured here.
    pub score: ScoreForm,
    /// Check and race of the kernel, where that can be done here.
    pub trial: TrialForm,
    /// What is shown of the tree.
    pub tree: tree::TreeForm,
    /// The card of the body that was clicked on.
    pub card: BodyCard,
    /// What a drag in the picture throws in, if it does.
    pub throw: ThrowForm,
    accuracy: accuracy::AccuracyForm,
    bookmarks: bookmarks::BookmarkForm,
    compare: compare::CompareForm,
    field: field::FieldForm,
    file: file::FileForm,
    kernel: kernel::KernelForm,
    learn: learn::LearnForm,
    path: path::PathForm,
}

impl Panel {
    /// A panel that is unfolded or not, on that tab.
    pub fn new(open: bool, tab: Tab) -> Self {
        // The width is set before it is first shown: the first camera makes room for it.
        Self { open, tab, width: DEFAULT_WIDTH, ..Self::default() }
    }

    /// The actions of the keys pressed in this frame; while it asks whether to close the window,
    /// only the answer.
    pub fn pressed(&self, context: &egui::Context, facts: &Facts) -> Vec<Action> {
        keys::pressed(context, facts, self.asks_to_quit)
    }

    /// Shows everything and returns the user's requests. `view` is changed in place: it is not part
    /// of the simulation.
    pub fn show(&mut self, ui: &mut egui::Ui, facts: &Facts, view: &mut ViewChoice) -> Vec<Action> {
        let mut actions = Vec::new();
        if !self.open || self.tab != Tab::Learn {
            self.learn.leave(ui, &mut actions);
        }
        if !self.open || self.tab != Tab::Kernel {
            self.kernel.leave(&mut actions);
        }
        let covered = self.covers(ui.ctx());
        let below = covered.y;
        if self.welcome.show(ui, covered, &mut actions) {
            // It is in the panel's place.
        } else if self.open && below > 0.0 {
            egui::Panel::bottom("panel below")
                .exact_size(below)
                .frame(theme::frame().fill(theme::SHEET))
                .show(ui, |ui| self.tabs(ui, facts, view, &mut actions));
        } else if self.open {
            let shown = egui::Panel::right("panel")
                .resizable(true)
                .default_size(DEFAULT_WIDTH)
                .size_range(300.0..=560.0)
                .frame(theme::frame())
                .show(ui, |ui| self.tabs(ui, facts, view, &mut actions));
            self.width = shown.response.rect.width();
        } else if !self.is_hidden {
            self.unfold_button(ui);
        }
        let mut free = ui.ctx().content_rect();
        free.max -= self.covers(ui.ctx());
        self.card.show(ui.ctx(), facts, free, &mut view.follow);
        if growth::is_due(ui.ctx(), "status") {
            status::show(ui, facts, free, (self.is_hidden, self.light), &mut actions);
        }
        if ui.input(|input| !input.raw.hovered_files.is_empty()) {
            drop_hint(ui.ctx(), free);
        }
        if self.asks_to_quit {
            self.question(ui, facts, &mut actions);
        }
        if self.help {
            sheet(ui.ctx(), &mut self.help);
        }
        actions
    }

    /// Gives everything drawn in this frame the colours of the theme.
    pub fn tint(&self, context: &egui::Context) {
        if self.light {
            let mut free = context.content_rect();
            free.max -= self.covers(context);
            light::turn(context, free);
        }
    }

    /// The points that it or the welcome sheet covers: a width at the right, or a height below in
    /// narrow windows, as on a phone.
    pub fn covers(&self, context: &egui::Context) -> egui::Vec2 {
        let room = context.content_rect();
        let (width, least_high) = match self.welcome.open {
            true => (Welcome::width(room.width()), Welcome::LEAST_HIGH.min(room.height())),
            false => (self.width, 0.0),
        };
        if !self.open && !self.welcome.open {
            egui::Vec2::ZERO
        } else if room.width() - width >= LEAST_ROOM {
            egui::vec2(width, 0.0)
        } else {
            egui::vec2(0.0, (PART_BELOW * room.height()).round().max(least_high))
        }
    }

    /// The tab bar and the tab below it.
    pub fn tabs(
        &mut self,
        ui: &mut egui::Ui,
        facts: &Facts,
        view: &mut ViewChoice,
        actions: &mut Vec<Action>,
    ) {
        if !growth::is_due(ui.ctx(), "head") {
            // At its final width from the start, so that the picture does not move.
            ui.take_available_width();
            return;
        }
        ui.horizontal(|ui| {
            ui.label(egui::RichText::new("gravitile").strong().size(16.0));
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                let fold = ui.button("»").on_hover_text(format!("Fold the panel ({})", keys::FOLD));
                if fold.clicked() {
                    self.open = false;
                }
                let about = "Undo the last change (ctrl+z); replaced bodies come back, too";
                offer(ui.button("↺"), about, actions, Action::Undo);
                let keys = ui.button("?").on_hover_text("Keys and mouse (?)");
                if keys.clicked() {
                    self.help = !self.help;
                }
            });
        });
        ui.add_space(2.0);
        if !growth::is_due(ui.ctx(), "tabs") {
            ui.take_available_width();
            return;
        }
        ui.horizontal_wrapped(|ui| {
            for (tab, title, about) in Tab::ALL {
                ui.selectable_value(&mut self.tab, tab, title).on_hover_text(about);
            }
        });
        ui.separator();
        let scroll = egui::ScrollArea::vertical().id_salt(self.tab).auto_shrink([false, false]);
        scroll.show(ui, |ui| {
            if growth::is_due(ui.ctx(), self.tab) {
                self.tab(ui, self.tab, facts, view, actions);
            }
        });
    }

    /// One tab.
    pub fn tab(
        &mut self,
        ui: &mut egui::Ui,
        tab: Tab,
        facts: &Facts,
        view: &mut ViewChoice,
        actions: &mut Vec<Action>,
    ) {
        match tab {
            Tab::Scene => {
                self.scene.show(ui, facts, actions);
                if growth::is_due(ui.ctx(), "throw in") {
                    self.throw.show(ui, actions);
                    self.bookmarks.show(ui, facts, actions);
                }
            }
            Tab::Physics => {
                physics::show(ui, facts, (&mut self.accuracy, &mut self.field), actions);
                self.compare.show(ui, facts, actions);
            }
            Tab::Kernel => {
                self.kernel.show(ui, facts, actions);
                // Elsewhere `gravitile check` and `tune` do it; an edited kernel is checked where
                // it is edited.
                if cfg!(target_arch = "wasm32") || facts.kernel_file.is_some() {
                    self.trial.show(ui, actions);
                }
            }
            Tab::Tree => self.tree.show(ui, facts, actions),
            Tab::View => {
                view::show(ui, facts, view, actions);
                self.path.show(ui, facts, view, actions);
                light::switch(ui, &mut self.light);
            }
            Tab::Learn => self.learn.show(ui, facts, actions),
            Tab::Numbers => {
                numbers::show(ui, facts);
                // Elsewhere `gravitile bench` does it, which shares the device with no window.
                if cfg!(target_arch = "wasm32") {
                    self.score.show(ui, actions);
                }
            }
            Tab::Conservation => conservation::show(ui, facts, actions),
            Tab::File => self.file.show(ui, facts, actions),
        }
    }

    fn unfold_button(&mut self, ui: &mut egui::Ui) {
        egui::Area::new(egui::Id::unique("unfold"))
            .anchor(egui::Align2::RIGHT_TOP, [-8.0, 8.0])
            .show(ui.ctx(), |ui| {
                let about = format!("Unfold the panel ({})", keys::FOLD);
                if ui.button("« panel").on_hover_text(about).clicked() {
                    self.open = true;
                }
            });
    }
}

/// Shows, while files hover over the window, that they can be dropped.
fn drop_hint(context: &egui::Context, free: egui::Rect) {
    let layer = egui::LayerId::new(egui::Order::Foreground, egui::Id::unique(light::DROP));
    let (painter, rect) = (context.layer_painter(layer), free.shrink(8.0));
    painter.rect_filled(rect, 6.0, egui::Color32::from_black_alpha(190));
    let stroke = egui::Stroke::new(2.0, theme::LINES[0]);
    painter.rect_stroke(rect, 6.0, stroke, egui::StrokeKind::Inside);
    let text = "Drop to open; two snapshots at once make an encounter";
    let font = egui::FontId::proportional(16.0);
    painter.text(rect.center(), egui::Align2::CENTER_CENTER, text, font, theme::BRIGHT);
}
