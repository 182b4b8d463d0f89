//! The event loop: it creates the window, hands events on and asks for frames.

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
use super::soon::Soon;
use crate::error::{Error, Result};
use crate::settings::ViewRequest;

/// While the window is hidden nothing is drawn, and the simulation goes on in slices this often.
const HIDDEN_FRAME: Duration = Duration::from_millis(50);

/// How often a moving window is asked whether it is minimised.
const LOOK: Duration = Duration::from_millis(500);

/// How often to look whether the device is open.
const OPENING: Duration = Duration::from_millis(10);

/// A message to the window from outside.
#[derive(Clone, Copy, Debug)]
pub enum Word {
    /// The program is to end.
    #[cfg_attr(
        target_arch = "wasm32",
        expect(dead_code, reason = "a page is closed by its browser")
    )]
    Leave,
    /// Something has arrived that the next frame takes in.
    #[cfg(target_arch = "wasm32")]
    Look,
}

/// The window's side of the event loop.
#[derive(Default)]
pub struct Shell {
    request: Option<ViewRequest>,
    /// The frames, while their device is being opened.
    opening: Option<Soon<Result<Frames>>>,
    frames: Option<Box<Frames>>,
    /// Behind other windows, or off the screen.
    covered: bool,
    minimised: bool,
    /// When that was last asked.
    looked: Option<Instant>,
    /// Without width or height.
    empty: bool,
    /// When the last frame was begun.
    begun: Option<Instant>,
    /// When the next one is due; none while nothing moves.
    due: Option<Instant>,
    /// Whether the window system has been asked for it.
    asked: bool,
    /// Time from picture to picture of the display.
    pause: Duration,
    /// Whether another program has destroyed the window.
    is_lost: bool,
    failed: Option<Error>,
}

impl Shell {
    /// A shell that will show this.
    pub fn new(request: ViewRequest) -> Self {
        Self { request: Some(request), ..Self::default() }
    }

    /// After the event loop: saves what is to be remembered.
    ///
    /// Errors: whatever ended it.
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
    ) -> Result<Soon<Result<Frames>>> {
        let memory = Memory::load();
        let attributes = Window::default_attributes().with_title("gravitile");
        let attributes = machine::dressed(attributes, event_loop, memory.window_size)?;
        let window =
            event_loop.create_window(attributes).map_err(|error| no_display(&error.to_string()))?;
        let display = event_loop.owned_display_handle();
        let opening = Frames::open(Arc::new(window), display, request, memory)?;
        Ok(Soon::of(opening))
    }

    /// The first frame follows once the device is open.
    fn look_whether_open(&mut self, event_loop: &ActiveEventLoop) {
        match self.opening.as_ref().and_then(Soon::take) {
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

    /// Something has happened: asks for a frame as soon as the display can show it.
    fn wake(&mut self) {
        let next = self.begun.map_or_else(Instant::now, |begun| begun + self.pause);
        self.due = Some(self.due.map_or(next, |due| due.min(next)));
    }

    /// Asks whether the window is minimised: not every window system says so by itself.
    fn look_whether_minimised(&mut self) {
        let Some(frames) = &self.frames else { return };
        self.minimised = frames.window().is_minimized() == Some(true);
        self.looked = Some(Instant::now());
    }

    fn is_hidden(&self) -> bool {
        self.covered || self.minimised || self.empty || self.is_lost
    }

    fn frame(&mut self, event_loop: &ActiveEventLoop) {
        if self.looked.is_none_or(|looked| looked.elapsed() > LOOK) {
            self.look_whether_minimised();
        }
        let hidden = self.is_hidden();
        let Some(frames) = &mut self.frames else { return };
        let begun = Instant::now();
        (self.begun, self.asked) = (Some(begun), false);
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

impl ApplicationHandler<Word> for Shell {
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

    fn user_event(&mut self, event_loop: &ActiveEventLoop, word: Word) {
        match word {
            Word::Leave => event_loop.exit(),
            #[cfg(target_arch = "wasm32")]
            Word::Look => self.wake(),
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
                self.looked = None;
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
            self.looked = None;
            self.wake();
        }
    }

    fn exiting(&mut self, _: &ActiveEventLoop) {
        machine::ended(self);
    }

    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        let now = Instant::now();
        self.look_whether_open(event_loop);
        if self.opening.is_some() {
            event_loop.set_control_flow(ControlFlow::WaitUntil(now + OPENING));
        }
        let Some(frames) = &self.frames else { return };
        let flow = match self.due {
            None => ControlFlow::Wait,
            Some(due) if due > now => ControlFlow::WaitUntil(due),
            // Some window systems ask for no picture of a hidden window.
            Some(_) if self.is_hidden() => {
                self.frame(event_loop);
                self.due.map_or(ControlFlow::Wait, ControlFlow::WaitUntil)
            }
            Some(_) => {
                if !self.asked {
                    frames.window().request_redraw();
                    self.asked = true;
                }
                ControlFlow::Wait
            }
        };
        event_loop.set_control_flow(flow);
    }
}
