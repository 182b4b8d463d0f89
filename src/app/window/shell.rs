//! The event loop: creates the window, dispatches events and schedules frames.

use std::sync::Arc;

use web_time::{Duration, Instant};
use winit::application::ApplicationHandler;
use winit::dpi::PhysicalSize;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, ControlFlow};
use winit::window::{Window, WindowId};

use super::frame::Frames;
use super::machine;
use super::memory::Memory;
use super::no_display;
use super::pace::{display_pause, due};
use super::soon::Deferred;
use gravitile::error::{Error, Result};
use gravitile::settings::ViewRequest;

/// Interval of the simulation's slices while the window is hidden and nothing is drawn.
const HIDDEN_FRAME: Duration = Duration::from_millis(50);

/// Interval at which a running window is checked for being minimised.
const LOOK: Duration = Duration::from_millis(500);

/// Interval at which the device being opened is polled.
const OPENING: Duration = Duration::from_millis(10);

/// An event sent to the event loop by other threads, or by the page.
#[derive(Clone, Copy, Debug)]
pub enum UserEvent {
    /// Ends the program.
    #[cfg_attr(
        target_arch = "wasm32",
        expect(dead_code, reason = "a page is closed by its browser")
    )]
    Quit,
    /// Requests a frame, which runs the queued callbacks.
    #[cfg(target_arch = "wasm32")]
    Wake,
}

/// The window's side of the event loop.
#[derive(Default)]
pub struct Shell {
    request: Option<ViewRequest>,
    /// The frames, while their device is being opened.
    opening: Option<Deferred<Result<Frames>>>,
    frames: Option<Box<Frames>>,
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

impl Shell {
    /// A shell that will open the window for `request`.
    pub fn new(request: ViewRequest) -> Self {
        Self { request: Some(request), ..Self::default() }
    }

    /// Saves the settings after the event loop has ended.
    ///
    /// # Errors
    ///
    /// The error that ended the event loop.
    pub fn end(&mut self) -> Result<()> {
        if let Some(frames) = &mut self.frames {
            frames.close(self.is_lost);
        }
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Stops all calls to the window, which another program has destroyed.
    pub fn lose_window(&mut self) {
        self.is_lost = true;
    }

    fn start(
        &mut self,
        event_loop: &ActiveEventLoop,
        request: ViewRequest,
    ) -> Result<Deferred<Result<Frames>>> {
        let memory = Memory::load();
        let attributes = Window::default_attributes().with_title("gravitile");
        let attributes = machine::window_attributes(attributes, event_loop, memory.window_size)?;
        let window =
            event_loop.create_window(attributes).map_err(|error| no_display(&error.to_string()))?;
        let display = event_loop.owned_display_handle();
        let opening = Frames::open(Arc::new(window), display, request, memory)?;
        Ok(Deferred::of(opening))
    }

    /// Schedules the first frame once the device is open.
    fn poll_opening(&mut self, event_loop: &ActiveEventLoop) {
        match self.opening.as_ref().and_then(Deferred::take) {
            None => return,
            Some(Ok(frames)) => {
                self.pause = display_pause(frames.window());
                self.frames = Some(Box::new(frames));
                self.wake();
            }
            Some(Err(error)) => {
                self.failed = Some(error);
                event_loop.exit();
            }
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
        let Some(frames) = &self.frames else { return };
        self.minimised = frames.window().is_minimized() == Some(true);
        self.checked = Some(Instant::now());
    }

    fn is_hidden(&self) -> bool {
        self.covered || self.minimised || self.empty || self.is_lost
    }

    fn frame(&mut self, event_loop: &ActiveEventLoop) {
        if self.checked.is_none_or(|checked| checked.elapsed() > LOOK) {
            self.check_minimised();
        }
        let hidden = self.is_hidden();
        let Some(frames) = &mut self.frames else { return };
        let begun = Instant::now();
        (self.begun, self.redraw_requested) = (Some(begun), false);
        match frames.frame(hidden) {
            Ok(_) if frames.is_over() => event_loop.exit(),
            Ok(pace) => {
                let pause = if hidden { HIDDEN_FRAME } else { frames.pause(self.pause) };
                self.due = due(pace, begun, pause);
            }
            Err(error) => {
                self.failed = Some(error);
                event_loop.exit();
            }
        }
    }
}

impl ApplicationHandler<UserEvent> for Shell {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        if let Some(request) = self.request.take() {
            match self.start(event_loop, request) {
                Ok(opening) => self.opening = Some(opening),
                Err(error) => {
                    self.failed = Some(error);
                    event_loop.exit();
                }
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
            self.lose_window();
            let problem = "the window was lost: another program destroyed it";
            self.failed = Some(Error::Display(problem.to_owned()));
            event_loop.exit();
            return;
        }
        let Some(frames) = &mut self.frames else { return };
        if let WindowEvent::RedrawRequested = event {
            if self.is_hidden() {
                self.checked = None;
            }
            self.frame(event_loop);
            return;
        }
        let mut wakes = frames.on_event(&event);
        match event {
            WindowEvent::CloseRequested if frames.asks_before_closing() => wakes = true,
            WindowEvent::CloseRequested => event_loop.exit(),
            WindowEvent::Occluded(occluded) => (self.covered, wakes) = (occluded, true),
            WindowEvent::Resized(PhysicalSize { width, height }) => {
                self.empty = width == 0 || height == 0;
                frames.resized(width, height);
                wakes = true;
            }
            WindowEvent::ScaleFactorChanged { .. } => {
                let size = frames.window().inner_size();
                frames.resized(size.width, size.height);
                wakes = true;
            }
            WindowEvent::Moved(_) => self.pause = display_pause(frames.window()),
            _ => {}
        }
        if wakes {
            self.checked = None;
            self.wake();
        }
    }

    fn exiting(&mut self, _: &ActiveEventLoop) {
        machine::on_exit(self);
    }

    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        let now = Instant::now();
        self.poll_opening(event_loop);
        if self.opening.is_some() {
            event_loop.set_control_flow(ControlFlow::WaitUntil(now + OPENING));
        }
        let Some(frames) = &self.frames else { return };
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
                    frames.window().request_redraw();
                    self.redraw_requested = true;
                }
                ControlFlow::Wait
            }
        };
        event_loop.set_control_flow(flow);
    }
}
