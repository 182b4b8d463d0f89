//! Runs the panel, and handles files that are dropped onto the window or picked in a dialog.

use web_time::Instant;

use super::frame::Frames;
use super::load::{Loading, Session};
use super::machine;
use super::output::Output;
use super::simulated::{Purpose, Simulated};
use super::steer::{PointerRequest, tracking};
use super::viewer::Viewer;
use crate::app::panel::{self, Action, Facts};
use crate::live::{Command, Live, Tracking};
use crate::render::Follow;
use crate::settings::InputRequest;

/// Shown when the user moves a directed camera.
const TAKEN_OVER: &str =
    "the camera is yours: it no longer directs (tab View, directed camera; ctrl+z)";

/// Shown when zooming reaches its limit.
const ZOOM_ENDS: &str = "the zoom ends here: f fits all bodies, Home goes back to the start";

impl Frames {
    /// Runs the panel and carries out its actions.
    pub(super) fn show_panel(&mut self) -> egui::FullOutput {
        let begun = Instant::now();
        let input = self.input.egui_state.take_egui_input(&self.output.window);
        let context = self.input.context.clone();
        let (mut actions, mut pointer_request) = (Vec::new(), None);
        let covered = self.covered_px();
        self.viewer.steering.below_px = self.covered_below_px();
        let size = self.output.screen.picture_size();
        let (led, panel_secs) = (self.viewer.led(), self.output.panel_secs);
        let mut by_hand = false;
        let message = self.output.message.as_ref().map(|(text, _)| text.clone());
        let is_error = self.output.message.as_ref().is_some_and(|(_, is_error)| *is_error);
        let going = || self.simulated.session.as_ref()?.progress_to_goal(&self.viewer.choice);
        let loading = self.simulated.loading.as_ref().map(Loading::describe).or_else(going);
        let rests = self.rests();
        let left_out = self.viewer.sparing.describe().filter(|_| !rests);
        let output = context.run_ui(input, |ui| {
            let Self { viewer, simulated, input, output, panel, last, .. } = &mut *self;
            let Viewer { choice: view, steering, look, spared_look, paths, path_colours, .. } =
                viewer;
            let Simulated { session, history, past, sharing, .. } = simulated;
            let Output { screen, times, recording, .. } = output;
            let picker = &mut input.picker;
            if let Some(session) = session {
                session.refresh_wgsl();
                let live = &session.live;
                let facts = Facts {
                    input: &session.input,
                    hints: &session.hints,
                    defaults: &session.default_integration,
                    units: view.units(&session.template.units),
                    own_units: &session.template.units,
                    count: live.len(),
                    components: &session.bodies.components,
                    settings: live.settings(),
                    dt: live.dt(),
                    keeper: live.keeper(),
                    status: live.status(),
                    engine: live.choice().kind,
                    method: live.choice().method,
                    engine_reason: &live.choice().because(),
                    engine_text: &live.describe_engine(),
                    gpu: &screen.gpu,
                    shared: sharing.summary(live),
                    config: live.config(),
                    wgsl: session.wgsl.as_ref().map(|(_, text)| text.as_str()),
                    rates: live.rates(),
                    blocks: live.blocks(),
                    inspected: live.seen(),
                    history,
                    past: past.marks(),
                    is_at_end: session.is_at_end(),
                    times: times.as_ref(),
                    panel_secs,
                    colour_range: look.as_ref().map(|look| [look.least_value, look.most_value]),
                    picture: screen.size(),
                    film_name: machine::film_name(),
                    recording: recording.as_ref().map(|r| (r.path.as_path(), r.pictures)),
                    loading: loading.as_deref(),
                    left_out: left_out.as_deref(),
                    message: message.as_deref(),
                    message_is_error: is_error,
                };
                panel::growth::begin(ui.ctx(), *last);
                // Widgets that are added later are above the picture.
                let before = steering.camera();
                pointer_request = steering.input(ui, covered, size);
                by_hand = steering.camera() != before;
                if !picker.is_open() {
                    actions.extend(panel.pressed(ui.ctx(), &facts));
                }
                let seen = steering.shown(covered, size);
                let units = view.units(&session.template.units);
                if panel.covers(ui.ctx()).y == 0.0 {
                    panel::overlay::show(ui, view, (&seen, size, covered), &units.length);
                }
                if view.style.paths {
                    let pieces = paths.pieces(&seen, size);
                    panel::overlay::paths(ui, &pieces, path_colours, covered);
                }
                // No legend for effects that are left out.
                let drawn = spared_look.as_ref().filter(|_| !rests).or(look.as_ref());
                if let (true, Some(look)) = (view.legend, drawn) {
                    panel::overlay::legend(ui, look, units, &session.bodies.components, covered);
                }
                actions.extend(panel.show(ui, &facts, view));
            } else {
                let wants_out = |input: &egui::InputState| {
                    input.key_pressed(egui::Key::Q) || input.key_pressed(egui::Key::Escape)
                };
                if ui.input(wants_out) {
                    actions.push(Action::Quit);
                }
                egui::CentralPanel::no_frame().show(ui, |ui| {
                    ui.centered_and_justified(|ui| match (&message, &loading) {
                        (_, Some(what)) if machine::can_close() => {
                            ui.label(format!("{what} … (Esc closes the window)"))
                        }
                        (_, Some(what)) => ui.label(format!("{what} …")),
                        (Some(text), None) => ui.label(text),
                        (None, None) => ui.label("Drop a snapshot here"),
                    });
                });
            }
            picker.show(ui.ctx());
        });
        self.output.panel_secs += 0.1 * (begun.elapsed().as_secs_f64() - self.output.panel_secs);
        // Only the switch itself is stored: other choices end directing for this run only.
        if self.viewer.choice.directs != led.directs {
            self.memory.directs = self.viewer.choice.directs;
        }
        self.viewer.lead(&led);
        if self.viewer.steering.take_zoom_limit() {
            self.output.show_message(ZOOM_ENDS.to_owned(), false);
        }
        // Moving the camera by hand ends automatic control.
        if by_hand && self.viewer.take_over() {
            self.output.show_message(TAKEN_OVER.to_owned(), false);
        }
        if let Some(session) = &mut self.simulated.session {
            let tracked = match self.viewer.has_paths() || self.viewer.choice.directs {
                true => Tracking::All,
                false => tracking(self.viewer.choice.follow),
            };
            session.live.track(tracked);
            if self.panel.open && self.panel.tab == panel::Tab::Numbers {
                session.live.watch_blocks();
            }
        }
        self.inspect_forces();
        match pointer_request {
            Some(PointerRequest::Release) => {
                self.viewer.choice.follow = Follow::Nothing;
                self.viewer.steering.release();
            }
            Some(pick) => self.request_moment(Purpose::Pick(pick)),
            None => {}
        }
        let is_held = self.input.context.input(|input| input.pointer.any_down());
        self.undo.watch_view(&self.viewer.choice, is_held);
        for action in actions {
            self.act(action);
        }
        output
    }

    /// Pauses the run while the welcome sheet hides it.
    pub(super) fn wait_for_welcome(&mut self) {
        let Some(session) = &self.simulated.session else { return };
        let (is_open, is_paused) = (self.panel.welcome.open, session.live.keeper().paused);
        if is_open && !is_paused && !self.paused_by_welcome {
            self.paused_by_welcome = true;
            self.act(Action::Live(Command::Pause(true)));
        } else if !is_open && std::mem::take(&mut self.paused_by_welcome) && is_paused {
            self.act(Action::Live(Command::Pause(false)));
        }
    }

    /// Runs queued callbacks, and handles dropped and picked files.
    pub(super) fn take_arrivals(&mut self) {
        machine::arrivals().into_iter().for_each(|arrival| arrival(self));
        self.take_dropped();
        self.take_picked();
    }

    /// Closes an open dialog or card, else leaves full screen, else asks whether to close the
    /// window.
    pub(super) fn escape(&mut self) {
        let panel = &mut self.panel;
        if panel.asks_to_quit || panel.help {
            (panel.asks_to_quit, panel.help) = (false, false);
        } else if panel.welcome.open {
            panel.welcome.open = false;
        } else if panel.scene.has_encounter() {
            panel.scene.drop_encounter();
        } else if panel.card.body.is_some() {
            panel.card.body = None;
        } else if self.output.window.fullscreen().is_some() {
            self.output.toggle_fullscreen();
        } else if machine::can_close() {
            panel.asks_to_quit = true;
        }
    }

    /// Asks the user, as `q` does, before the window system closes the window. Returns false if
    /// there are no bodies that could be lost, or the question is open already.
    pub fn asks_before_closing(&mut self) -> bool {
        if self.simulated.session.is_none() || self.panel.asks_to_quit {
            return false;
        }
        // A question in a minimised window would be invisible.
        self.output.window.set_minimized(false);
        self.act(Action::AskToQuit);
        true
    }

    /// Shows a message of the page.
    #[cfg(target_arch = "wasm32")]
    pub fn show_message(&mut self, text: String, is_error: bool) {
        self.output.show_message(text, is_error);
    }

    /// Passes an event from the page's elements to egui.
    #[cfg(target_arch = "wasm32")]
    pub fn push_event(&mut self, event: egui::Event) {
        self.input.egui_state.egui_input_mut().events.push(event);
        self.refresh.disturb();
    }

    /// Queues files that were dropped onto the page, or picked.
    #[cfg(target_arch = "wasm32")]
    pub fn drop_files(&mut self, paths: Vec<std::path::PathBuf>) {
        self.input.dropped.extend(paths);
    }

    pub(super) fn take_dropped(&mut self) {
        let mut files = std::mem::take(&mut self.input.dropped);
        if files.len() >= 2 {
            let second = files.swap_remove(1);
            if let Err(error) = self.read_meeting([files.swap_remove(0), second]) {
                self.output.show_error(&error);
            }
        } else if let Some(file) = files.pop() {
            self.act(Action::Load(InputRequest::named(file.display().to_string())));
        }
    }

    pub(super) fn take_picked(&mut self) {
        if let Some(path) = self.input.picker.picked() {
            self.act(Action::Load(InputRequest::named(path.display().to_string())));
        }
    }
}

impl Session {
    /// Updates the source of the kernel in use.
    fn refresh_wgsl(&mut self) {
        let variant = Live::variant(&self.live);
        if self.wgsl.as_ref().map(|(known, _)| *known) != variant {
            self.wgsl = variant.and_then(|variant| Some((variant, variant.wgsl().ok()?)));
        }
    }
}
