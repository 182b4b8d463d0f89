//! The event loop: it makes the window, hands events on and asks for frames.

use std::sync::Arc;
use std::time::{Duration, Instant};

use winit::application::ApplicationHandler;
use winit::dpi::{LogicalSize, PhysicalSize};
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop};
use winit::window::{Window, WindowId};

use super::frame::Frames;
use super::memory::Memory;
use super::no_display;
use crate::error::Result;
use crate::settings::ViewRequest;

/// While nothing can be seen, the simulation goes on at this pace.
const HIDDEN_FRAME: Duration = Duration::from_millis(50);

pub fn run(request: ViewRequest) -> Result<()> {
    let event_loop = event_loop()?;
    let mut shell = Shell { request: Some(request), frames: None, hidden: false, failed: None };
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
fn event_loop() -> Result<EventLoop<()>> {
    #[cfg(all(unix, not(target_os = "macos")))]
    if std::env::var_os("DISPLAY").is_none_or(|value| value.is_empty())
        && std::env::var_os("WAYLAND_DISPLAY").is_none_or(|value| value.is_empty())
    {
        return Err(no_display("neither DISPLAY nor WAYLAND_DISPLAY is set"));
    }
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let made = std::panic::catch_unwind(EventLoop::new);
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

struct Shell {
    request: Option<ViewRequest>,
    frames: Option<Box<Frames>>,
    /// Minimised or covered.
    hidden: bool,
    failed: Option<crate::error::Error>,
}

impl Shell {
    fn start(&mut self, event_loop: &ActiveEventLoop, request: ViewRequest) -> Result<Box<Frames>> {
        let memory = Memory::load();
        let [width, height] = memory.window_size;
        let attributes = Window::default_attributes()
            .with_title("gravitile")
            .with_min_inner_size(LogicalSize::new(320.0, 240.0))
            .with_inner_size(LogicalSize::new(width, height));
        let window =
            event_loop.create_window(attributes).map_err(|error| no_display(&error.to_string()))?;
        let display = event_loop.owned_display_handle();
        Ok(Box::new(Frames::new(Arc::new(window), display, request, memory)?))
    }
}

impl ApplicationHandler for Shell {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        if let Some(request) = self.request.take() {
            match self.start(event_loop, request) {
                Ok(frames) => {
                    frames.window().request_redraw();
                    self.frames = Some(frames);
                }
                Err(error) => {
                    self.failed = Some(error);
                    event_loop.exit();
                }
            }
        }
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        let Some(frames) = &mut self.frames else { return };
        frames.on_event(&event);
        match event {
            WindowEvent::CloseRequested => event_loop.exit(),
            WindowEvent::Occluded(occluded) => self.hidden = occluded,
            WindowEvent::Resized(PhysicalSize { width, height }) => {
                self.hidden = width == 0 || height == 0;
                frames.resized(width, height);
            }
            WindowEvent::ScaleFactorChanged { .. } => {
                let size = frames.window().inner_size();
                frames.resized(size.width, size.height);
            }
            WindowEvent::RedrawRequested => match frames.frame() {
                Ok(true) => {}
                Ok(false) => event_loop.exit(),
                Err(error) => {
                    self.failed = Some(error);
                    event_loop.exit();
                }
            },
            _ => {}
        }
    }

    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        let Some(frames) = &self.frames else { return };
        frames.window().request_redraw();
        let flow = if self.hidden {
            ControlFlow::WaitUntil(Instant::now() + HIDDEN_FRAME)
        } else {
            ControlFlow::Poll
        };
        event_loop.set_control_flow(flow);
    }
}
