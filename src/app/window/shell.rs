//! The event loop: it makes the window, hands events on and asks for frames.

use std::sync::Arc;

use web_time::{Duration, Instant};
use winit::application::ApplicationHandler;
use winit::dpi::{LogicalSize, PhysicalSize};
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop};
use winit::window::{Window, WindowId};

use super::frame::Frames;
use super::memory::Memory;
use super::pace::{display_pause, due};
use super::{Listen, no_display};
use crate::error::Result;
use crate::settings::ViewRequest;

/// While nothing can be seen, nothing is drawn, and the simulation goes on in slices that come so often.
const HIDDEN_FRAME: Duration = Duration::from_millis(50);

/// How often a window that moves is asked whether it is minimised.
const LOOK: Duration = Duration::from_millis(500);

/// What the window is told from outside.
#[derive(Clone, Copy, Debug)]
pub enum Word {
    /// The program is to end.
    Leave,
}

pub fn run(request: ViewRequest, listen: Listen) -> Result<()> {
    let event_loop = event_loop()?;
    let outside = event_loop.create_proxy();
    listen(Box::new(move || {
        // Where nobody is there any more, the window is closed already.
        let _ = outside.send_event(Word::Leave);
    }));
    let mut shell = Shell { request: Some(request), ..Shell::default() };
    let ran = event_loop.run_app(&mut shell);
    if let Some(frames) = &mut shell.frames {
        frames.close();
    }
    if let Some(error) = shell.failed {
        return Err(error);
    }
    ran.map_err(|error| no_display(&error.to_string()))
}

/// winit panics where a library of the display is missing; that is no reason to show a backtrace.
fn event_loop() -> Result<EventLoop<Word>> {
    #[cfg(all(unix, not(target_os = "macos")))]
    if std::env::var_os("DISPLAY").is_none_or(|value| value.is_empty())
        && std::env::var_os("WAYLAND_DISPLAY").is_none_or(|value| value.is_empty())
    {
        return Err(no_display("neither DISPLAY nor WAYLAND_DISPLAY is set"));
    }
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let made = std::panic::catch_unwind(|| EventLoop::with_user_event().build());
    std::panic::set_hook(usual);
    match made {
        Ok(Ok(event_loop)) => Ok(event_loop),
        Ok(Err(error)) => Err(no_display(&error.to_string())),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(no_display(text.unwrap_or("a library of the display is missing")))
        }
    }
}

#[derive(Default)]
struct Shell {
    request: Option<ViewRequest>,
    frames: Option<Box<Frames>>,
    /// Behind other windows, beside the screen.
    covered: bool,
    minimised: bool,
    /// When it was looked whether it is.
    looked: Option<Instant>,
    /// Without width or height.
    empty: bool,
    /// When the last frame was begun.
    begun: Option<Instant>,
    /// When the next one is due; none while nothing moves.
    due: Option<Instant>,
    /// The window system has been asked for it.
    asked: bool,
    /// From picture to picture of the display.
    pause: Duration,
    failed: Option<crate::error::Error>,
}

impl Shell {
    fn start(&mut self, event_loop: &ActiveEventLoop, request: ViewRequest) -> Result<Box<Frames>> {
        let memory = Memory::load();
        let mut size = memory.window_size;
        let monitor =
            event_loop.primary_monitor().or_else(|| event_loop.available_monitors().next());
        if let Some(monitor) = monitor.filter(|monitor| monitor.size().width > 0) {
            // Frame and task bar want some of the screen, too.
            let screen = monitor.size().to_logical::<f64>(monitor.scale_factor());
            size = [size[0].min(screen.width), size[1].min(0.92 * screen.height)];
        }
        let [width, height] = size.map(f64::round);
        let attributes = Window::default_attributes()
            .with_title("gravitile")
            .with_min_inner_size(LogicalSize::new(320.0, 240.0))
            .with_inner_size(LogicalSize::new(width, height));
        let window =
            event_loop.create_window(attributes).map_err(|error| no_display(&error.to_string()))?;
        let display = event_loop.owned_display_handle();
        Ok(Box::new(Frames::new(Arc::new(window), display, request, memory)?))
    }

    /// Something has happened: a frame follows as soon as the display can show it.
    fn wake(&mut self) {
        let next = self.begun.map_or_else(Instant::now, |begun| begun + self.pause);
        self.due = Some(self.due.map_or(next, |due| due.min(next)));
    }

    /// Whether anybody can see the window. Not every window system tells when it is minimised: it is asked.
    fn look_whether_minimised(&mut self) {
        let Some(frames) = &self.frames else { return };
        self.minimised = frames.window().is_minimized() == Some(true);
        self.looked = Some(Instant::now());
    }

    fn is_hidden(&self) -> bool {
        self.covered || self.minimised || self.empty
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
                let pause = if hidden { HIDDEN_FRAME } else { self.pause };
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
                Ok(frames) => {
                    self.pause = display_pause(frames.window());
                    self.frames = Some(frames);
                    self.wake();
                }
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
        }
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
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

    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        let Some(frames) = &self.frames else { return };
        let now = Instant::now();
        let flow = match self.due {
            None => ControlFlow::Wait,
            Some(due) if due > now => ControlFlow::WaitUntil(due),
            // Some window systems ask for no picture of a window that nobody sees.
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
