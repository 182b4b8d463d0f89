//! Carries out the user's actions.

use std::path::Path;
use std::sync::Arc;

use super::command_line::Shown;
use super::directing::default_follow;
use super::frame::Frames;
use super::load::{Loading, RunRequest};
use super::machine::{self, check_name};
use super::pictures::{Recording, free_name, picture};
use super::sharing::with_engine;
use super::simulated::{Purpose, suited};
use super::steer::PointerRequest;
use crate::panel::{Action, Integration, Place};
use gravitile::error::Result;
use gravitile::files;
use gravitile::live::Command;
use gravitile::render::directing::path_camera;
use gravitile::render::{ColourBy, Follow, PictureSize};
use gravitile::settings::{InputRequest, StepRequest};
use gravitile::sim::{Moment, Settings};
use gravitile::snapshot::{self, WriteOptions};

impl Frames {
    /// Carries out one action. An action that fails is reported and changes nothing.
    pub(super) fn act(&mut self, action: Action) {
        super::seen::action(&action);
        self.note(&action);
        self.refresh.disturb();
        // These actions do not change the picture.
        if !matches!(
            action,
            Action::Screenshot(..)
                | Action::Help
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
        if let Err(error) = self.try_to(action) {
            self.output.show_error(&error);
        }
    }

    fn try_to(&mut self, action: Action) -> Result<()> {
        match action {
            Action::Live(command) => self.apply(command)?,
            Action::Engine(kind) => {
                let Some(session) = &self.simulated.session else { return Ok(()) };
                let now = session.live.settings().clone();
                // Another engine may lack this method: then auto chooses.
                let requested = self.simulated.requested.settings.method;
                let method = requested.filter(|method| kind.selectable_methods().contains(method));
                let settings = Settings { method, ..with_engine(kind, now) };
                self.want_devices_of(&settings);
                self.simulated.requested.settings.engine = kind;
                self.simulated.requested.settings.method = method;
                self.request_moment(Purpose::Change(Box::new(settings)));
            }
            Action::Devices(count) => self.share_among(count)?,
            Action::Method(method) => {
                let Some(session) = &self.simulated.session else { return Ok(()) };
                let method = Some(method);
                let settings = Settings { method, ..session.live.settings().clone() };
                settings.validate()?;
                self.simulated.requested.settings.method = method;
                self.request_moment(Purpose::Change(Box::new(settings)));
            }
            Action::Tree(tree) => {
                let Some(session) = &self.simulated.session else { return Ok(()) };
                let settings = Settings { tree, ..session.live.settings().clone() };
                settings.validate()?;
                self.simulated.requested.settings.tree = tree;
                self.request_moment(Purpose::Change(Box::new(settings)));
            }
            Action::Integration(integration) => {
                let Some(session) = &self.simulated.session else { return Ok(()) };
                let Integration { integrator, blocks, precision } = integration;
                let now = session.live.settings().clone();
                // The tree lacks the forces for some integrators: then auto chooses.
                let method = self.simulated.requested.settings.method;
                let settings = Settings { integrator, blocks, precision, method, ..now };
                settings.validate()?;
                let steps = StepRequest::from(&settings);
                self.simulated.requested.steps.integrator = steps.integrator;
                self.simulated.requested.steps.blocks = steps.blocks;
                self.request_moment(Purpose::Change(Box::new(settings)));
            }
            Action::Load(input) => self.load(input)?,
            Action::Restart { reset_numbers } => {
                if let Some(session) = &self.simulated.session {
                    let (input, settings) = (session.input.clone(), session.live.settings());
                    // With `reset_numbers`, step and softening are those first requested, since a changed
                    // one may have ruined the run. The integrator stays.
                    let steps = StepRequest::from(settings);
                    let own = &self.simulated.requested.steps;
                    let steps = if reset_numbers {
                        StepRequest { dt: own.dt, eps: own.eps, ..steps }
                    } else {
                        steps
                    };
                    let request = RunRequest { steps, ..self.simulated.requested.clone() };
                    self.simulated.loading =
                        Some(Loading::input(&self.output.screen.gpu, input, request, false)?);
                }
            }
            Action::Encounter { orbit, tilt_degrees } => {
                let Some(meeting) = &self.simulated.met else { return Ok(()) };
                let path = meeting.write(&orbit, tilt_degrees)?;
                self.load(InputRequest::named(path.display().to_string()))?;
                self.output.show_message(format!("saved the encounter: {}", path.display()), false);
            }
            Action::OpenDialog => self.input.picker.open(),
            Action::SaveSnapshot(path) => {
                // A wrong extension is reported before the bodies are read back.
                snapshot::by_extension(&path)?;
                check_name(&path)?;
                self.request_moment(Purpose::Save(free_name(&path)));
            }
            Action::Screenshot(path, width, height) => {
                let path = free_name(&path);
                let size = PictureSize::new(width, height)?;
                if let (Some(session), Some((points, camera, look))) =
                    (&self.simulated.session, self.scene_to_draw())
                {
                    let over = self.viewer.diagram.diagram();
                    let on_top = self.viewer.on_top(session, 0.0);
                    let gpu = &self.output.screen.gpu;
                    let image = picture(gpu, points, (&camera, look), (over, on_top), size)?;
                    self.output.drawn.push((image, path));
                    self.save_drawn()?;
                }
            }
            Action::Record(path, size) => {
                let Some(session) = &self.simulated.session else { return Ok(()) };
                let path = free_name(&path);
                let size = match size {
                    Some([width, height]) => PictureSize::new(width, height)?,
                    None => self.free_size(),
                };
                let keeper = session.live.keeper();
                let speed = keeper.units_per_sec * keeper.factor;
                let gpu = &self.output.screen.gpu;
                self.output.recording = Some(Recording::begin(gpu, &path, size, speed)?);
            }
            Action::StopRecording => {
                if let Some(recording) = self.output.recording.take() {
                    let path = recording.end()?;
                    self.output.show_message(format!("saved {}", absolute(&path)), false);
                }
            }
            Action::CopyCommandLine => {
                if let Some(line) = self.with_shown(|shown| shown.command_line().line()) {
                    self.copy(line);
                }
            }
            Action::CopyLink => {
                if let Some(fragment) = self.with_shown(|shown| shown.link()) {
                    self.copy(machine::link(&fragment?));
                }
            }
            Action::CopyText(text) => self.input.context.copy_text(text),
            Action::MeasureScore => self.measure_score()?,
            Action::CheckKernel => self.check_kernel()?,
            Action::TuneKernel => self.tune_kernel()?,
            Action::StopMeasuring => self.stop_measuring(),
            Action::Camera(place) => self.go(place),
            Action::Direct => self.memory.directs = self.viewer.toggle_directing(),
            Action::Keyframe => self.set_place(),
            Action::SavePath(path) => self.save_path(&path)?,
            Action::FoldPanel => self.panel.open = !self.panel.open && !self.panel.is_hidden,
            Action::Help => self.panel.help = !self.panel.help,
            Action::Welcome => self.panel.welcome.open = true,
            Action::Fullscreen => self.output.toggle_fullscreen(),
            Action::NextColouring => {
                let all = ColourBy::ALL;
                let now = all.iter().position(|(by, _)| *by == self.viewer.choice.style.colour_by);
                let (next, name) = all[(now.unwrap_or(0) + 1) % all.len()];
                self.viewer.choice.style.colour_by = next;
                self.viewer.choice.style.value_range = None;
                self.output.show_message(format!("coloured by {name}"), false);
            }
            Action::SpriteSize(factor) => {
                let size = self.viewer.choice.style.sprite_size * factor;
                self.viewer.choice.style.sprite_size = size.clamp(0.1, 10.0);
            }
            Action::Stops(stops) => {
                self.viewer.choice.style.stops =
                    (self.viewer.choice.style.stops + stops).clamp(-6.0, 6.0);
            }
            Action::Halo => {
                self.viewer.choice.style.show_halo = !self.viewer.choice.style.show_halo
            }
            Action::CancelLoading => self.cancel_loading(),
            Action::LeaveForces => self.leave_forces(),
            Action::DismissMessage => self.output.dismiss_message(),
            Action::GoTo(at) => self.request_past_state(at)?,
            Action::Bookmark => {
                if !self.simulated.past.mark_next() {
                    let text =
                        "bookmarks fill the memory for kept states: save this state (tab File)";
                    self.output.show_message(text.to_owned(), true);
                } else if let Some(session) = &mut self.simulated.session {
                    session.live.apply(Command::Moment)?;
                    let time = session.time(session.live.status().time, &self.viewer.choice);
                    self.output.show_message(format!("a bookmark at {time}"), false);
                }
            }
            Action::Undo => self.undo()?,
            Action::Redo => self.redo(),
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

    /// Saves the pictures that have been completed.
    pub(super) fn save_drawn(&mut self) -> Result<()> {
        for (image, path) in std::mem::take(&mut self.output.drawn) {
            match image.take() {
                Some(image) => {
                    let image = image?;
                    files::replace_with(&path, |out| Ok(image.write_png(out)?))?;
                    self.output.show_message(format!("saved {}", absolute(&path)), false);
                }
                None => self.output.drawn.push((image, path)),
            }
        }
        Ok(())
    }

    /// Calls `read` with everything that the window shows; `None` without bodies.
    fn with_shown<T>(&self, read: impl FnOnce(&Shown<'_>) -> T) -> Option<T> {
        let session = self.simulated.session.as_ref()?;
        Some(read(&Shown {
            input: &session.input,
            components: &session.bodies.components,
            hints: &session.hints,
            names_integrator: session.names_integrator,
            settings: session.live.settings(),
            wanted: &self.simulated.requested.settings,
            view: &self.viewer.choice,
            camera: &self.viewer.steering.camera(),
            default_follow: default_follow(session),
            start: &self.start,
            now: (session.live.status().time, session.live.keeper().paused),
        }))
    }

    fn copy(&mut self, text: String) {
        self.input.context.copy_text(text.clone());
        self.output.show_message(format!("copied: {text}"), false);
    }

    /// Applies a command to the run.
    pub(super) fn apply(&mut self, command: Command) -> Result<()> {
        let Some(session) = &mut self.simulated.session else { return Ok(()) };
        let is_kernel = matches!(command, Command::Kernel(_));
        if matches!(command, Command::Dt(dt) if dt != session.live.settings().dt) {
            self.simulated.history.change_step(session.live.status().steps);
        }
        session.live.apply(command)?;
        if is_kernel {
            self.simulated.requested.settings.kernel = session.live.kernel_request();
        }
        Ok(())
    }

    fn load(&mut self, input: InputRequest) -> Result<()> {
        // An unknown name is reported at once.
        input.scene()?;
        // A scene chosen from the welcome sheet runs even if the last one was paused.
        let plays = std::mem::take(&mut self.panel.welcome.open);
        let input = suited(input, self.output.screen.gpu.adapter.class);
        // The requested lengths and times suited the previous bodies.
        let mut request = self.simulated.requested.clone();
        (request.steps.eps, request.steps.dt, request.steps.blocks.dt_max) = (None, None, None);
        let mut loading = Loading::input(&self.output.screen.gpu, input, request, false)?;
        loading.plays = plays;
        self.simulated.loading = Some(loading);
        Ok(())
    }

    fn go(&mut self, place: Place) {
        let Some(session) = &self.simulated.session else { return };
        let now = self.viewer.steering.camera();
        let bodies = match &session.last {
            Some(moment) => &moment.bodies,
            None => &session.bodies,
        };
        let camera = match place {
            Place::Start => self.viewer.steering.start,
            Place::Fit => {
                let style = &self.viewer.choice.style;
                self.within_free(now.framing(bodies, style, 0.95, self.free_size()))
            }
            Place::From(preset) => now.seen_from(preset),
            Place::Keyframe(index) => {
                let path = self.viewer.choice.path.get(index).map(std::slice::from_ref);
                let (size, nearer) = self.led_picture();
                let camera = path.and_then(|key| path_camera(key, now, 0.0, size));
                camera.map_or(now, |camera| camera.zoomed(nearer))
            }
        };
        self.viewer.take_over();
        let camera = match place {
            Place::Start | Place::Fit => self.follow_at(place, camera),
            _ => camera,
        };
        self.viewer.steering.go(camera);
    }

    /// Uses a requested moment for its purpose.
    pub(super) fn serve(&mut self, purpose: Purpose, moment: &Arc<Moment>) {
        if let Err(error) = self.try_to_serve(purpose, moment) {
            self.output.show_error(&error);
        }
    }

    fn try_to_serve(&mut self, purpose: Purpose, moment: &Arc<Moment>) -> Result<()> {
        let Some(session) = &self.simulated.session else { return Ok(()) };
        match purpose {
            Purpose::Save(path) => {
                let snapshot = session.snapshot(moment);
                let losses = snapshot::write(&path, &snapshot, &WriteOptions::default())?;
                let mut text = format!("saved {}", absolute(&path));
                for loss in losses.iter() {
                    text += &format!("; {loss}");
                }
                self.output.show_message(text, false);
            }
            Purpose::Pick(PointerRequest::Pick { camera, pixel, within_px, follow }) => {
                let (style, bodies) = (&self.viewer.choice.style, &moment.bodies);
                let visible: Vec<bool> = bodies
                    .components
                    .iter()
                    .map(|c| style.show_halo || c.role != gravitile::bodies::Role::Halo)
                    .collect();
                let is_visible = |i: usize| visible[usize::from(bodies.component[i])];
                let size = self.output.screen.picture_size();
                let found = camera.pick(&bodies.position, is_visible, pixel, within_px, size);
                self.panel.card.body = found;
                if !follow {
                    let form = &mut self.panel.tree;
                    form.body = found.or(form.body);
                    if let (Some(body), true) = (found, form.lists) {
                        let id = bodies.id[body];
                        self.output.show_message(format!("showing what acts on body {id}"), false);
                    }
                    return Ok(());
                }
                self.viewer.steering.release();
                match found {
                    Some(index) => {
                        self.viewer.take_over();
                        self.viewer.choice.follow = Follow::Body(index);
                        let component = usize::from(bodies.component[index]);
                        let name = &bodies.components[component].name;
                        self.output.show_message(
                            format!("following body {} ({name})", bodies.id[index]),
                            false,
                        );
                    }
                    None => self.viewer.choice.follow = Follow::Nothing,
                }
            }
            Purpose::Pick(PointerRequest::Release) => {}
            Purpose::GoTo(to, paused) => {
                self.undo.note_place(moment, paused);
                self.go_to_moment(&to)?;
            }
            Purpose::Change(settings) => {
                // Steps that the old engine takes meanwhile would be lost, so it stops.
                let change = Loading::change(&self.output.screen.gpu, session, moment, *settings)?;
                if let Some(session) = &mut self.simulated.session {
                    session.live.rest();
                }
                self.simulated.loading = Some(change);
            }
        }
        Ok(())
    }
}

/// The absolute path, for messages.
pub(super) fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}
