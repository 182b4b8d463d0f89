//! The event loop: creates the window, dispatches events and schedules frames.

use std::sync::Arc;

use web_time::{Duration, Instant};
use winit::application::ApplicationHandler;
use winit::dpi::PhysicalSize;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, ControlFlow};
use winit::window::{Window, WindowId};

use super::machine::{self, Deferred, UserEvent};
use super::pace::{display_pause, due};
use super::preferences::Preferences;
use super::state::WindowState;
use super::{Listen, no_display};
use gravitile::error::{Error, Result};
use gravitile::settings::ViewRequest;

/// Interval of the simulation's slices while the window is hidden and nothing is drawn.
const HIDDEN_FRAME: Duration = Duration::from_millis(50);

/// Interval at which a running window is checked for being minimised.
const CHECK_MINIMISED: Duration = Duration::from_millis(500);

/// Interval at which the device being opened is polled.
const OPENING: Duration = Duration::from_millis(10);

/// Opens the window and returns when it is closed.
///
/// # Errors
///
/// Those of [`super::open`].
#[cfg(not(target_arch = "wasm32"))]
pub fn run(request: ViewRequest, listen: Listen) -> Result<()> {
    let event_loop = machine::event_loop()?;
    gravitile::live::lower_engine_priority();
    let outside = event_loop.create_proxy();
    listen(Box::new(move || {
        // Fails only if the window is closed already.
        let _ = outside.send_event(UserEvent::Quit);
    }));
    let mut shell = WindowLoop::new(request);
    let ran = machine::without_winits_panics(|| event_loop.run_app(&mut shell));
    shell.is_lost |= ran.is_err();
    shell.end()?;
    let ran = ran.map_err(|panic| Error::Display(format!("the window was lost: {panic}")))?;
    ran.map_err(|error| no_display(&error.to_string()))
}

/// Starts the window's event loop and returns at once: the browser runs it.
///
/// # Errors
///
/// The browser refuses.
#[cfg(target_arch = "wasm32")]
pub fn run(request: ViewRequest, _: Listen) -> Result<()> {
    use winit::platform::web::EventLoopExtWebSys;

    machine::event_loop()?.spawn_app(WindowLoop::new(request));
    Ok(())
}

/// The window's side of the event loop.
#[derive(Default)]
struct WindowLoop {
    request: Option<ViewRequest>,
    /// The state, while its device is being opened.
    opening: Option<Deferred<Result<WindowState>>>,
    state: Option<Box<WindowState>>,
    /// Whether it is behind other windows, or off the screen.
    covered: bool,
    minimised: bool,
    /// When `minimised` was last checked.
    checked: Option<Instant>,
    /// Whether width or height is 0.
    empty: bool,
    /// When the last frame began.
    begun: Option<Instant>,
    /// When the next frame is due; `None` while nothing moves.
    due: Option<Instant>,
    /// Whether a redraw has been requested for the next frame.
    redraw_requested: bool,
    /// The display's refresh interval.
    pause: Duration,
    /// Whether another program has destroyed the window.
    is_lost: bool,
    failed: Option<Error>,
}

impl WindowLoop {
    /// A shell that will open the window for `request`.
    fn new(request: ViewRequest) -> Self {
        Self { request: Some(request), ..Self::default() }
    }

    /// Saves the settings after the event loop has ended.
    ///
    /// # Errors
    ///
    /// The error that ended the event loop.
    fn end(&mut self) -> Result<()> {
        if let Some(state) = &mut self.state {
            state.close(self.is_lost);
        }
        self.failed.take().map_or(Ok(()), Err)
    }

    fn start(
        &mut self,
        event_loop: &ActiveEventLoop,
        request: ViewRequest,
    ) -> Result<Deferred<Result<WindowState>>> {
        let preferences = Preferences::load();
        let attributes = Window::default_attributes().with_title("gravitile");
        let attributes =
            machine::window_attributes(attributes, event_loop, preferences.window_size)?;
        let window =
            event_loop.create_window(attributes).map_err(|error| no_display(&error.to_string()))?;
        let display = event_loop.owned_display_handle();
        let opening = WindowState::open(Arc::new(window), display, request, preferences)?;
        Ok(Deferred::of(opening))
    }

    /// Schedules the first frame once the device is open.
    fn poll_opening(&mut self, event_loop: &ActiveEventLoop) {
        match self.opening.as_ref().and_then(Deferred::take) {
            None => return,
            Some(Ok(state)) => {
                self.pause = display_pause(state.window());
                self.state = Some(Box::new(state));
                self.wake();
            }
            Some(Err(error)) => self.fail(event_loop, error),
        }
        self.opening = None;
    }

    /// Schedules a frame as soon as the display can show it.
    fn wake(&mut self) {
        let next = self.begun.map_or_else(Instant::now, |begun| begun + self.pause);
        self.due = Some(self.due.map_or(next, |due| due.min(next)));
    }

    /// Checks whether the window is minimised: not every window system sends an event.
    fn check_minimised(&mut self) {
        let Some(state) = &self.state else { return };
        self.minimised = state.window().is_minimized() == Some(true);
        self.checked = Some(Instant::now());
    }

    fn is_hidden(&self) -> bool {
        self.covered || self.minimised || self.empty || self.is_lost
    }

    fn frame(&mut self, event_loop: &ActiveEventLoop) {
        if self.checked.is_none_or(|checked| checked.elapsed() > CHECK_MINIMISED) {
            self.check_minimised();
        }
        let hidden = self.is_hidden();
        let Some(state) = &mut self.state else { return };
        let begun = Instant::now();
        (self.begun, self.redraw_requested) = (Some(begun), false);
        match state.frame(hidden) {
            Ok(_) if state.is_over() => event_loop.exit(),
            Ok(pace) => {
                let pause = if hidden { HIDDEN_FRAME } else { state.pause(self.pause) };
                self.due = due(pace, begun, pause);
            }
            Err(error) => self.fail(event_loop, error),
        }
    }

    fn fail(&mut self, event_loop: &ActiveEventLoop, error: Error) {
        self.failed = Some(error);
        event_loop.exit();
    }
}

impl ApplicationHandler<UserEvent> for WindowLoop {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        if let Some(request) = self.request.take() {
            match self.start(event_loop, request) {
                Ok(opening) => self.opening = Some(opening),
                Err(error) => self.fail(event_loop, error),
            }
        }
    }

    fn user_event(&mut self, event_loop: &ActiveEventLoop, event: UserEvent) {
        match event {
            UserEvent::Quit => event_loop.exit(),
            #[cfg(target_arch = "wasm32")]
            UserEvent::Wake => self.wake(),
        }
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        if let WindowEvent::Destroyed = event {
            self.is_lost = true;
            let problem = "the window was lost: another program destroyed it";
            return self.fail(event_loop, Error::Display(problem.to_owned()));
        }
        let Some(state) = &mut self.state else { return };
        if let WindowEvent::RedrawRequested = event {
            if self.is_hidden() {
                self.checked = None;
            }
            self.frame(event_loop);
            return;
        }
        let mut wakes = state.on_event(&event);
        match event {
            WindowEvent::CloseRequested if state.asks_before_closing() => wakes = true,
            WindowEvent::CloseRequested => event_loop.exit(),
            WindowEvent::Occluded(occluded) => (self.covered, wakes) = (occluded, true),
            WindowEvent::Resized(PhysicalSize { width, height }) => {
                self.empty = width == 0 || height == 0;
                state.resized(width, height);
                wakes = true;
            }
            WindowEvent::ScaleFactorChanged { .. } => {
                let size = state.window().inner_size();
                state.resized(size.width, size.height);
                wakes = true;
            }
            WindowEvent::Moved(_) => self.pause = display_pause(state.window()),
            _ => {}
        }
        if wakes {
            self.checked = None;
            self.wake();
        }
    }

    fn exiting(&mut self, _: &ActiveEventLoop) {
        // Natively `run` continues after the event loop.
        #[cfg(target_arch = "wasm32")]
        crate::page::continue_without_window(self.end());
    }

    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        let now = Instant::now();
        self.poll_opening(event_loop);
        if self.opening.is_some() {
            event_loop.set_control_flow(ControlFlow::WaitUntil(now + OPENING));
        }
        let Some(state) = &self.state else { return };
        let flow = match self.due {
            None => ControlFlow::Wait,
            Some(due) if due > now => ControlFlow::WaitUntil(due),
            // Some window systems send no redraw event to a hidden window.
            Some(_) if self.is_hidden() => {
                self.frame(event_loop);
                self.due.map_or(ControlFlow::Wait, ControlFlow::WaitUntil)
            }
            Some(_) => {
                if !self.redraw_requested {
                    state.window().request_redraw();
                    self.redraw_requested = true;
                }
                ControlFlow::Wait
            }
        };
        event_loop.set_control_flow(flow);
    }
}
