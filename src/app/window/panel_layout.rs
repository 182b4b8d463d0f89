//! Lays out the panel, carries out its actions, and handles the pointer over the picture. When that
//! is due: see `refresh`.

use egui::epaint::ClippedShape;
use egui_wgpu::ScreenDescriptor;
use web_time::{Duration, Instant};

use super::loading::Loading;
use super::machine;
use super::output::WindowOutput;
use super::simulated::{Purpose, Simulated};
use super::state::WindowState;
use super::steer::{PointerRequest, tracking};
use super::throwing::Aim;
use super::viewer::Viewer;
use crate::panel::overlay::Marks;
use crate::panel::{self, Action, Facts, Tab};
use gravitile::live::{InspectRequest, Tracking};
use gravitile::render::Follow;
use gravitile::settings::InputRequest;

/// The panel to draw: its shapes, whether textures have changed, and its left edge in points.
pub type Shapes = (Vec<ClippedShape>, bool, f32);

/// Shown when the user moves a directed camera.
const TAKEN_OVER: &str =
    "the camera is yours: it no longer directs (tab View, directed camera; ctrl+z)";

/// A shorter drag throws nothing in, in points.
const LEAST_DRAG: f32 = 6.0;

/// Shown when zooming reaches its limit.
const ZOOM_ENDS: &str = "the zoom ends here: f fits all bodies, Home goes back to the start";

impl WindowState {
    /// Lays the panel out if it is due in the frame that begins `now`.
    pub(super) fn show_panel_if_due(&mut self, now: Instant) -> Option<egui::FullOutput> {
        let marks = self.marks();
        let drawn_secs = self.output.times.as_ref().and_then(|times| times.secs("panel"));
        if self.output.pass() {
            self.refresh.disturb();
        }
        if !self.refresh.begin(now, marks, drawn_secs) {
            return None;
        }
        let output = self.show_panel();
        let root = output.viewport_output.get(&egui::ViewportId::ROOT);
        self.refresh.end(now, root.map_or(Duration::MAX, |viewport| viewport.repaint_delay));
        Some(output)
    }

    /// The marks over the picture, which move with the camera or the bodies.
    fn marks(&self) -> Option<Marks> {
        let session = self.simulated.session.as_ref()?;
        let size = self.output.screen.picture_size();
        let camera = self.viewer.steering.shown(self.covered_px()[0], size);
        let time = self.viewer.has_paths().then(|| session.live.status().time);
        let view = &self.viewer.choice;
        let unit = &view.units(&session.initial.template.units).length;
        let pixels_per_point = self.input.context.pixels_per_point();
        Some(Marks::of(view, (&camera, size, pixels_per_point), unit, time))
    }

    /// Handles egui's output; returns what to draw, and the textures to free after the submission.
    pub(super) fn take_panel(
        &mut self,
        output: egui::FullOutput,
    ) -> ((Shapes, ScreenDescriptor), Vec<egui::TextureId>) {
        let egui::FullOutput {
            platform_output, mut textures_delta, shapes, pixels_per_point, ..
        } = output;
        let has_textures = !textures_delta.set.is_empty();
        self.output.screen.layers.put_behind(panel::background(self.panel.light));
        let freed = self.output.screen.take_textures(&mut textures_delta);
        machine::take_output(&platform_output);
        self.input.egui_state.handle_platform_output(&self.output.window, platform_output);
        let screen =
            ScreenDescriptor { size_in_pixels: self.output.screen.size(), pixels_per_point };
        let free = f64::from(screen.size_in_pixels[0]) - self.panel_px()[0];
        // The clip rectangles of scroll areas extend a little beyond the panel.
        let left = free as f32 / pixels_per_point - 4.0;
        (((shapes, has_textures, left), screen), freed)
    }

    /// Runs the panel and carries out its actions.
    fn show_panel(&mut self) -> egui::FullOutput {
        let begun = Instant::now();
        let input = self.input.egui_state.take_egui_input(&self.output.window);
        let context = self.input.context.clone();
        let (mut actions, mut pointer_request) = (Vec::new(), None);
        let ([covered, below], [panel_px, _]) = (self.covered_px(), self.panel_px());
        let halves = self.halves_px();
        self.viewer.steering.below_px = below;
        self.viewer.steering.throws = self.panel.throw.on;
        let size = self.output.screen.picture_size();
        let (control, panel_secs) = (self.viewer.control(), self.output.panel_secs);
        let mut by_hand = false;
        let message = self.output.message.as_ref().map(|(text, _)| text.clone());
        let is_error = self.output.message.as_ref().is_some_and(|(_, is_error)| *is_error);
        let going = || self.simulated.session.as_ref()?.progress_to_goal(&self.viewer.choice);
        let loading = self.simulated.loading.as_ref().map(Loading::describe).or_else(going);
        let rests = self.rests();
        let kernel_file = self.kernel_file();
        let left_out = self.viewer.quality.describe().filter(|_| !rests);
        let output = context.run_ui(input, |ui| {
            let Self { viewer, simulated, input, output, panel, last, .. } = &mut *self;
            let Viewer { choice: view, steering, look, reduced_look, paths, path_colours, .. } =
                viewer;
            let Simulated { session, history, past, sharing, .. } = simulated;
            let WindowOutput { screen, times, recording, .. } = output;
            let picker = &mut input.picker;
            if let Some(session) = session {
                session.refresh_wgsl();
                let (live, second) = (&session.live, session.second.as_ref());
                let units = view.units(&session.initial.template.units);
                let facts = Facts {
                    input: &session.initial.input,
                    hints: &session.initial.hints,
                    defaults: &session.initial.default_integration,
                    units,
                    own_units: &session.initial.template.units,
                    count: live.len(),
                    components: &session.initial.bodies.components,
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
                    kernel_file: kernel_file.as_deref(),
                    rates: live.rates(),
                    blocks: live.blocks(),
                    varying: live.varying(),
                    inspected: live.inspected(),
                    history,
                    past: past.stored(),
                    moments: session.initial.moments(),
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
                    compared: second.map(|second| second.summary(live, &units.length)),
                };
                panel::growth::begin(ui.ctx(), *last);
                // Widgets that are added later are above the picture.
                let before = steering.camera();
                pointer_request = steering.input(ui, (covered, halves), size);
                by_hand = steering.camera() != before;
                if !picker.is_open() {
                    actions.extend(panel.pressed(ui.ctx(), &facts));
                }
                let shown = steering.shown(covered, size);
                if let Some(PointerRequest::Throw { camera, pixels, points, released }) =
                    pointer_request
                {
                    let from = (&*session, past.latest());
                    let aim = Aim::of(&panel.throw, from, (&camera, size), pixels, units);
                    panel::arrow(ui, points, &aim.text);
                    if released && points[0].distance(points[1]) >= LEAST_DRAG {
                        actions.push(Action::Throw(aim.throw));
                    }
                }
                if panel.covers(ui.ctx()).y == 0.0 {
                    panel::overlay::show(ui, view, (&shown, size, covered), &units.length);
                }
                if view.style.paths {
                    let pieces = paths.pieces(&shown, size);
                    panel::overlay::paths(ui, &pieces, path_colours, (0.0, covered));
                }
                if let (Some(second), Some([_, offset])) = (second, halves) {
                    if view.style.paths {
                        let pieces = second.paths.pieces(&shown, size);
                        let place = (offset, panel_px);
                        panel::overlay::paths(ui, &pieces, path_colours, place);
                    }
                    panel::overlay::names(ui, &facts, offset);
                }
                // No legend for effects that are left out.
                let drawn = reduced_look.as_ref().filter(|_| !rests).or(look.as_ref());
                if let (true, Some(look)) = (view.legend, drawn) {
                    panel::overlay::legend(
                        ui,
                        look,
                        units,
                        &session.initial.bodies.components,
                        panel_px,
                    );
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
            panel.tint(ui.ctx());
        });
        self.output.panel_secs += 0.1 * (begun.elapsed().as_secs_f64() - self.output.panel_secs);
        // Only the switch itself is stored: other choices end directing for this run only.
        if self.viewer.choice.directs != control.directs {
            self.preferences.directs = self.viewer.choice.directs;
        }
        self.viewer.resolve_control(&control);
        if self.viewer.steering.take_zoom_limit() {
            self.output.notify(ZOOM_ENDS);
        }
        // Moving the camera by hand ends automatic control.
        if by_hand && self.viewer.take_over() {
            self.output.notify(TAKEN_OVER);
        }
        if let Some(session) = &mut self.simulated.session {
            let tracked = match self.viewer.has_paths() || self.viewer.choice.directs {
                true => Tracking::All,
                false => tracking(self.viewer.choice.follow),
            };
            session.live.track(tracked);
            let of_second = if self.viewer.has_paths() { tracked } else { Tracking::Nothing };
            session.second.iter_mut().for_each(|second| second.live.track(of_second));
            if self.panel.open && self.panel.tab == Tab::Numbers {
                session.live.watch_blocks();
            }
        }
        self.inspect_forces();
        match pointer_request {
            Some(PointerRequest::Release) => self.viewer.follow(Follow::Nothing),
            Some(pick @ PointerRequest::Pick { .. }) => self.request_state(Purpose::Pick(pick)),
            Some(PointerRequest::Throw { .. }) | None => {}
        }
        let is_held = self.input.context.input(|input| input.pointer.any_down());
        self.undo.watch_view(&self.viewer.choice, is_held);
        for action in actions {
            self.act(action);
        }
        output
    }

    /// Requests what the panel shows of the forces, and draws the results so far.
    fn inspect_forces(&mut self) {
        let form = &mut self.panel.tree;
        if let (true, None, Follow::Body(index)) =
            (form.lists, form.body, self.viewer.choice.follow)
        {
            form.body = Some(index);
        }
        let is_shown = self.panel.open && self.panel.tab == Tab::Tree;
        let session = &mut self.simulated.session;
        if let Some(session) = session {
            let about = self.panel.card.body;
            session.live.inspect(InspectRequest { about, ..form.request(is_shown) });
        }
        let inspected = session.as_ref().map(|session| session.live.inspected());
        self.viewer.diagram.refresh(form, self.panel.card.body, inspected);
    }

    /// Opens dropped and picked files; two dropped snapshots are read for an encounter.
    pub(super) fn open_files(&mut self) {
        let mut files = std::mem::take(&mut self.input.dropped).into_iter();
        let single = match (files.next(), files.next()) {
            (Some(first), Some(second)) => {
                let begun = self.read_meeting([first, second]);
                self.output.report(begun);
                None
            }
            (single, _) => single,
        };
        for file in single.into_iter().chain(self.input.picker.picked()) {
            self.act(Action::Load(InputRequest::named(file.display().to_string())));
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
}
