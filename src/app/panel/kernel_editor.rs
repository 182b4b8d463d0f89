//! The editor of a user's own kernel. What is typed is saved and compiled after a pause.

use std::path::Path;
use std::time::Duration;

use egui::text::{CCursor, CCursorRange};
use egui::text_edit::TextEditState;
use egui::{Id, TextEdit, Ui};

use super::theme::{DIM, WARN, offer};
use super::{Action, wgsl};
use gravitile::forces::direct::gpu::own;
use gravitile::gpu::Fault;

/// Seconds without a key after which a text is saved and compiled, as in the lesson's page.
const PAUSE_SECS: f64 = 0.3;

/// Texts beyond this many bytes are not coloured: laying them out at each key would take too long.
const MOST_COLOURED: usize = 60_000;

/// Height in points of the visible part of the text.
const HEIGHT: f32 = 420.0;

/// The text between frames.
#[derive(Default)]
pub struct KernelEditor {
    text: String,
    /// The text that ran when this was last shown.
    ran: String,
    /// When a change was last typed, if it is not saved yet.
    typed_at: Option<f64>,
    fault: Option<Fault>,
    colours: wgsl::Highlighted,
}

impl KernelEditor {
    /// Shows the kernel in `file`, whose text `running` runs, and saves what is typed.
    pub fn show(&mut self, ui: &mut Ui, file: &Path, running: &str, actions: &mut Vec<Action>) {
        if self.ran != running {
            // Saved by another editor, unless it is what was typed here.
            if self.text != running && self.typed_at.is_none() {
                running.clone_into(&mut self.text);
                self.fault = None;
            }
            running.clone_into(&mut self.ran);
        }
        ui.colored_label(DIM, format!("{}, saved as you type", file.display()));
        let id = ui.scope_id().with("kernel text");
        self.faults(ui, id);
        egui::ScrollArea::both().max_height(HEIGHT).show(ui, |ui| {
            let Self { text, colours, .. } = self;
            let mut layout = |ui: &Ui, text: &dyn egui::TextBuffer, _: f32| {
                let text = text.as_str();
                let job = match text.len() < MOST_COLOURED {
                    true => colours.of(text),
                    false => wgsl::plain(text),
                };
                ui.fonts_mut(|fonts| fonts.layout_job(job))
            };
            let edit = TextEdit::multiline(text)
                .id(id)
                .code_editor()
                .desired_width(f32::INFINITY)
                .layouter(&mut layout);
            let response = ui.add(edit).accessible_name("The kernel in WGSL");
            if response.changed() {
                self.typed_at = Some(ui.input(|input| input.time));
            }
        });
        self.save(ui, actions);
    }

    /// Saves at once what was typed, when the text is no longer shown.
    pub fn leave(&mut self, actions: &mut Vec<Action>) {
        if self.typed_at.take().is_some() {
            self.fault = own::fault_of(&self.text);
            actions.push(Action::SaveKernel(self.text.clone()));
        }
    }

    /// Saves what was typed once there was no key for a while.
    fn save(&mut self, ui: &Ui, actions: &mut Vec<Action>) {
        let Some(typed_at) = self.typed_at else { return };
        let left = PAUSE_SECS - (ui.input(|input| input.time) - typed_at);
        if left > 0.0 {
            ui.ctx().request_repaint_after(Duration::from_secs_f64(left));
            return;
        }
        self.leave(actions);
    }

    /// What is wrong with the text; a click goes there.
    fn faults(&self, ui: &mut Ui, id: Id) {
        let Some(Fault { line, column, message }) = &self.fault else {
            let words = if self.typed_at.is_some() { "…" } else { "It compiles." };
            ui.colored_label(DIM, words);
            return;
        };
        if *line == 0 {
            ui.colored_label(WARN, message);
            return;
        }
        let words = format!("line {line}, column {column}: {message}");
        let button = egui::Button::new(egui::RichText::new(words).color(WARN)).wrap();
        if ui.add(button).on_hover_text("Go there").clicked() {
            let mut state = TextEditState::load(ui.ctx(), id).unwrap_or_default();
            let at = CCursor::new(place(&self.text, *line as usize, *column as usize));
            state.cursor.set_char_range(Some(CCursorRange::one(at)));
            state.store(ui.ctx(), id);
            ui.memory_mut(|memory| memory.request_focus(id));
        }
    }
}

/// The number of characters before a line and a column, in bytes, both from 1 on.
fn place(text: &str, line: usize, column: usize) -> usize {
    let mut lines = text.split_inclusive('\n');
    let before: usize = lines.by_ref().take(line - 1).map(|line| line.chars().count()).sum();
    let own = lines.next().unwrap_or_default();
    before + own.char_indices().take_while(|(at, _)| at + 1 < column).count()
}

/// A button that begins to edit the kernel that runs.
pub fn begin(ui: &mut Ui, actions: &mut Vec<Action>) {
    let about = "Copies this text to a file, runs the copy, and compiles it again as you type; any editor may change \
                 the file, too";
    offer(ui.button("Edit a copy of this kernel"), about, actions, Action::EditKernel);
}

#[cfg(test)]
mod tests {
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;

    use super::*;

    const PLAIN: &str = include_str!("../../../docs/lesson/plain.wgsl");

    #[test]
    fn places_are_counted_in_characters() {
        assert_eq!(place("ab\ncd", 2, 2), 4);
        assert_eq!(place("é x\ny", 1, 4), 2);
        assert_eq!(place("a", 9, 1), 1);
    }

    #[test]
    fn typed_text_is_saved_after_a_pause_with_its_fault_beside_it() {
        let show = |ui: &mut Ui, (editor, actions): &mut (KernelEditor, Vec<Action>)| {
            editor.show(ui, Path::new("kernel.wgsl"), PLAIN, actions);
        };
        let mut harness = Harness::builder()
            .with_step_dt(0.1)
            .build_ui_state(show, (KernelEditor::default(), Vec::new()));
        harness.run_steps(2);
        assert_eq!(harness.state().0.text, PLAIN);
        harness.get_by_label("The kernel in WGSL").focus();
        harness.run_steps(2);
        harness.get_by_label("The kernel in WGSL").type_text("fn (");
        harness.run_steps(1);
        assert!(harness.state().1.is_empty(), "too early");
        harness.run_steps(6);
        let (editor, actions) = harness.state();
        let [Action::SaveKernel(saved)] = &actions[..] else { panic!("{actions:?}") };
        assert!(saved.len() == PLAIN.len() + 4 && *saved == editor.text);
        assert!(editor.fault.as_ref().is_some_and(|fault| fault.line > 0), "{:?}", editor.fault);
        let line = editor.fault.as_ref().map_or(0, |fault| fault.line);
        assert!(harness.query_by_label_contains(&format!("line {line}, column")).is_some());
        harness.get_by_label("The kernel in WGSL").type_text("x");
        harness.run_steps(1);
        let (editor, actions) = harness.state_mut();
        editor.leave(actions);
        editor.leave(actions);
        assert_eq!(actions.len(), 2, "a text is saved once more when its tab is left");
    }
}
