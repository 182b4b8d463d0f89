//! Carries out the user's actions: each where its topic is.

use log::trace;

use super::machine;
use super::measuring::Measuring;
use super::state::WindowState;
use super::trace::TRACE;
use crate::panel::Action;
use gravitile::error::Result;

impl WindowState {
    /// Carries out one action. An action that fails is reported and changes nothing.
    pub(super) fn act(&mut self, action: Action) {
        trace!(target: TRACE, "does {action:?}");
        self.note(&action);
        self.refresh.disturb();
        // These actions do not change the picture.
        if !matches!(
            action,
            Action::Screenshot(..)
                | Action::Help
                | Action::Light
                | Action::Welcome
                | Action::Escape
                | Action::AskToQuit
                | Action::DismissMessage
                | Action::OpenDialog
                | Action::CopyCommandLine
                | Action::CopyLink
                | Action::CopyText(_)
        ) {
            self.still.disturb();
        }
        let outcome = self.dispatch(action);
        self.output.report(outcome);
    }

    fn dispatch(&mut self, action: Action) -> Result<()> {
        match action {
            Action::Live(command) => self.apply(command)?,
            Action::Engine(kind) => self.change_engine(kind),
            Action::Devices(count) => self.change_devices(count)?,
            Action::Method(method) => self.change_method(method)?,
            Action::Tree(tree) => self.change_tree(tree)?,
            Action::Integration(integration) => self.change_integration(integration)?,
            Action::Field(field) => self.change_field(field)?,
            Action::Compare(differs) => self.compare(differs)?,
            Action::MeasureScore => self.measure(Measuring::score)?,
            Action::EditKernel => self.edit_kernel()?,
            Action::SaveKernel(text) => self.save_kernel(text)?,
            Action::CheckKernel => self.check_kernel()?,
            Action::TuneKernel => self.tune_kernel()?,
            Action::StopMeasuring => self.measuring.iter().for_each(Measuring::stop),

            Action::Load(input) => self.load(input)?,
            Action::Restart { reset_numbers } => self.restart(reset_numbers)?,
            Action::Encounter { orbit, tilt_degrees } => {
                self.begin_encounter(&orbit, tilt_degrees)?;
            }
            Action::CancelLoading => self.cancel_loading(),
            Action::LeaveForces => self.leave_forces(),
            Action::GoTo(at) => self.request_past_state(at, None)?,
            Action::GoToMoment(at) => self.go_to_moment(at)?,
            Action::Bookmark => self.bookmark()?,
            Action::NameBookmark(at, name) => self.simulated.past.change_mark(at, |mark| {
                mark.iter_mut().for_each(|bookmark| bookmark.name.clone_from(&name));
            }),
            Action::DropBookmark(at) => self.simulated.past.change_mark(at, |mark| *mark = None),
            Action::ThrowMode => self.toggle_throwing(),
            Action::Throw(throw) => self.throw(throw)?,
            Action::Undo => self.undo()?,
            Action::Redo => self.redo(),

            Action::OpenDialog => self.input.picker.open(),
            Action::SaveSnapshot(path) => self.request_snapshot(&path)?,
            Action::Screenshot(path, width, height) => {
                self.save_picture(&path, [width, height])?;
            }
            Action::Record(path, size) => self.record(&path, size)?,
            Action::StopRecording => self.stop_recording()?,
            Action::SavePath(path) => self.save_path(&path)?,
            Action::CopyCommandLine => self.copy_command_line(),
            Action::CopyLink => self.copy_link()?,
            Action::CopyText(text) => self.input.context.copy_text(text),

            Action::Camera(place) => self.go(place),
            Action::Direct => self.preferences.directs = self.viewer.toggle_directing(),
            Action::Keyframe => self.add_keyframe(),
            Action::NextColouring => {
                let name = self.viewer.next_colouring();
                self.output.notify(format!("coloured by {name}"));
            }
            Action::SpriteSize(factor) => self.viewer.scale_sprites(factor),
            Action::Stops(stops) => self.viewer.brighten(stops),
            Action::Halo => self.viewer.choice.style.show_halo ^= true,

            // The panel takes the place of the sheet.
            Action::FoldPanel => {
                let has_sheet = std::mem::take(&mut self.panel.welcome.open);
                self.panel.open = (has_sheet || !self.panel.open) && !self.panel.is_hidden;
            }
            Action::Light => self.panel.light ^= true,
            Action::Help => self.panel.help = !self.panel.help,
            Action::Welcome => self.panel.welcome.open = true,
            Action::Fullscreen => self.output.toggle_fullscreen(),
            Action::DismissMessage => self.output.dismiss_message(),
            Action::Escape => self.escape(),
            // A page is closed with its browser tab.
            Action::AskToQuit | Action::Quit if !machine::can_close() => {}
            // A second request to quit confirms the first.
            Action::AskToQuit if self.panel.asks_to_quit => self.quit = true,
            Action::AskToQuit => self.panel.asks_to_quit = true,
            Action::Quit => self.quit = true,
        }
        Ok(())
    }

    /// Closes an open dialog or card, else leaves full screen, else asks whether to close the
    /// window.
    fn escape(&mut self) {
        let panel = &mut self.panel;
        if panel.asks_to_quit || panel.help {
            (panel.asks_to_quit, panel.help) = (false, false);
        } else if panel.welcome.open {
            panel.welcome.open = false;
        } else if panel.scene.has_encounter() {
            panel.scene.drop_encounter();
        } else if panel.throw.on {
            panel.throw.on = false;
        } else if panel.card.body.is_some() {
            panel.card.body = None;
        } else if self.output.window.fullscreen().is_some() {
            self.output.toggle_fullscreen();
        } else if machine::can_close() {
            panel.asks_to_quit = true;
        }
    }
}
