//! The window's surface, device, canvas and egui renderer. All are recreated on another device when
//! the first is lost.

use std::sync::Arc;

use winit::window::Window;

use super::layers::Layers;
use gravitile::error::{Error, Result};
use gravitile::gpu::{AdapterRequest, Gpu, Timeline, instance, let_browser_turn, template};
use gravitile::render::{GpuCanvas, PictureSize};

pub struct Screen {
    window: Arc<Window>,
    /// None once released, so that another device can create a surface.
    surface: Option<wgpu::Surface<'static>>,
    config: wgpu::SurfaceConfiguration,
    pub gpu: Arc<Gpu>,
    pub canvas: GpuCanvas,
    pub egui: egui_wgpu::Renderer,
    pub layers: Layers,
    pub timeline: Timeline,
    configured: bool,
}

/// A surface texture to draw into, and whether the surface must be reconfigured afterwards.
pub struct ScreenTarget {
    surface_texture: Option<wgpu::SurfaceTexture>,
    pub view: wgpu::TextureView,
    suboptimal: bool,
    queue: wgpu::Queue,
}

impl ScreenTarget {
    pub fn texture(&self) -> &wgpu::Texture {
        self.view.texture()
    }
}

/// Presents even after an error: wgpu 30 does not discard the texture of a lost device, and panics
/// when its surface is dropped with it.
impl Drop for ScreenTarget {
    fn drop(&mut self) {
        if let Some(texture) = self.surface_texture.take() {
            self.queue.present(texture);
        }
    }
}

fn refused(problem: &str) -> Error {
    Error::Display(format!("cannot draw on the window: {problem}"))
}

#[cfg(not(target_arch = "wasm32"))]
fn no_driver(error: &Error) -> Error {
    let advice = match cfg!(target_os = "linux") {
        true => "on Debian or Ubuntu: sudo apt install mesa-vulkan-drivers; ",
        false => "",
    };
    Error::Display(format!(
        "a window needs a graphics driver, but {error}; {advice}'gravitile render' makes films without one"
    ))
}

#[cfg(target_arch = "wasm32")]
fn no_driver(_: &Error) -> Error {
    Error::Display("this browser offers no adapter through WebGPU".to_owned())
}

/// A device that can draw on the window.
pub struct OpenDevice {
    window: Arc<Window>,
    surface: wgpu::Surface<'static>,
    pub gpu: Arc<Gpu>,
}

/// Opens a device that can draw on the window, the first of those requested.
///
/// # Errors
///
/// The window has no surface. From the future: there is no such device.
pub fn open_device(
    window: &Arc<Window>,
    display: Box<dyn wgpu::wgt::WgpuHasDisplayHandle>,
    request: &AdapterRequest,
) -> Result<impl Future<Output = Result<OpenDevice>> + use<>> {
    // Window systems require that the surface is created on the window's thread.
    let (instance, window) = (instance(Some(display)), Arc::clone(window));
    let made = instance.create_surface(Arc::clone(&window));
    let surface = made.map_err(|error| refused(&error.to_string()))?;
    let request = request.first();
    Ok(async move {
        let_browser_turn().await;
        template::prepare().await?;
        let opened = Gpu::open_on(&instance, Some(&surface), &request).await;
        let gpu = opened.map_err(|error| match error {
            Error::NoAdapter { .. } => no_driver(&error),
            other => other,
        })?;
        let_browser_turn().await;
        Ok(OpenDevice { window, surface, gpu })
    })
}

impl Screen {
    /// Prepares to draw on the window.
    ///
    /// # Errors
    ///
    /// The device cannot draw on it after all.
    pub async fn open(device: OpenDevice) -> Result<Self> {
        let OpenDevice { window, surface, gpu } = device;
        let capabilities = surface.get_capabilities(&gpu.wgpu_adapter);
        // egui blends in gamma space: it needs a format without automatic sRGB.
        let format = egui_wgpu::preferred_framebuffer_format(&capabilities.formats)
            .map_err(|error| refused(&error.to_string()))?;
        let size = window.inner_size();
        let mut config = surface
            .get_default_config(&gpu.wgpu_adapter, size.width.max(1), size.height.max(1))
            .ok_or_else(|| refused("the adapter cannot present on it"))?;
        config.format = format;
        config.present_mode = wgpu::PresentMode::AutoVsync;
        config.view_formats = Vec::new();
        let copies = capabilities.usages.contains(wgpu::TextureUsages::COPY_DST);
        if copies {
            config.usage |= wgpu::TextureUsages::COPY_DST;
        }
        let side = gpu.limits.texture_side;
        (config.width, config.height) = (config.width.min(side), config.height.min(side));
        surface.configure(&gpu.device, &config);
        gpu.check()?;
        let picture = PictureSize::new(config.width, config.height)?;
        let_browser_turn().await;
        let canvas = GpuCanvas::open(gpu.handles(), picture, format).await?;
        let_browser_turn().await;
        let options = egui_wgpu::RendererOptions::default();
        let egui = egui_wgpu::Renderer::new(&gpu.device, format, options);
        let layers = Layers::new(&gpu.device, format, copies);
        let timeline = Timeline::new(&gpu.device, &gpu.queue);
        let surface = Some(surface);
        let configured = true;
        Ok(Self { window, surface, config, gpu, canvas, egui, layers, timeline, configured })
    }

    /// Sets the window's size in pixels; nothing is drawn while one side is 0.
    pub fn resize(&mut self, width: u32, height: u32) -> Result<()> {
        let side = self.gpu.limits.texture_side;
        let (width, height) = (width.min(side), height.min(side));
        if width == 0 || height == 0 {
            self.configured = false;
            return Ok(());
        }
        if self.configured && (width, height) == (self.config.width, self.config.height) {
            return Ok(());
        }
        (self.config.width, self.config.height) = (width, height);
        if let Some(surface) = &self.surface {
            surface.configure(&self.gpu.device, &self.config);
            self.configured = true;
        }
        self.canvas.resize(self.gpu.handles(), PictureSize::new(width, height)?)
    }

    /// Width and height in pixels.
    pub fn size(&self) -> [u32; 2] {
        [self.config.width, self.config.height]
    }

    pub fn picture_size(&self) -> PictureSize {
        self.canvas.size()
    }

    /// Uploads egui's new textures, and returns those to free after the next submission.
    pub fn take_textures(&mut self, delta: &mut egui::TexturesDelta) -> Vec<egui::TextureId> {
        for (id, deltas) in std::mem::take(&mut delta.set) {
            for delta in &deltas {
                self.egui.update_texture(&self.gpu.device, &self.gpu.queue, id, delta);
            }
        }
        std::mem::take(&mut delta.free).into_iter().collect()
    }

    /// The next surface texture to draw into; `None` if nothing can be shown now.
    pub fn acquire(&mut self) -> Result<Option<ScreenTarget>> {
        use wgpu::CurrentSurfaceTexture as Current;
        if !self.configured {
            return Ok(None);
        }
        for attempt in 0..2 {
            let Some(surface) = &self.surface else { return Ok(None) };
            let (texture, suboptimal) = match surface.get_current_texture() {
                Current::Success(texture) => (texture, false),
                Current::Suboptimal(texture) => (texture, true),
                Current::Timeout | Current::Occluded => return Ok(None),
                // The window has changed: reconfigure the surface and retry once.
                Current::Outdated | Current::Lost if attempt == 0 => {
                    let size = self.window.inner_size();
                    self.configured = false;
                    self.resize(size.width, size.height)?;
                    if !self.configured {
                        return Ok(None);
                    }
                    continue;
                }
                Current::Outdated | Current::Lost => return Ok(None),
                Current::Validation => {
                    self.gpu.check()?;
                    return Ok(None);
                }
            };
            let view = texture.texture.create_view(&Default::default());
            let (surface_texture, queue) = (Some(texture), self.gpu.queue.clone());
            return Ok(Some(ScreenTarget { surface_texture, view, suboptimal, queue }));
        }
        Ok(None)
    }

    /// Shows what was drawn, after the submission.
    pub fn present(&mut self, target: ScreenTarget) {
        self.window.pre_present_notify();
        let suboptimal = target.suboptimal;
        drop(target);
        if let (true, Some(surface)) = (suboptimal, &self.surface) {
            surface.configure(&self.gpu.device, &self.config);
        }
    }

    /// Drops the surface, as some drivers refuse a second one on the same window.
    pub fn release(&mut self) {
        self.configured = false;
        let surface = self.surface.take();
        // wgpu 30 panics here, after it has freed what it can, if commands of a lost device still
        // hold a texture of the surface.
        let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(surface)));
        if dropped.is_err() {
            log::warn!("the surface of the lost device was still in use");
        }
    }

    /// Rebuilds the render passes with the current shaders.
    ///
    /// # Errors
    ///
    /// A shader does not compile; the passes are then unchanged.
    pub fn renew_canvas(&mut self) -> Result<()> {
        let device = &self.gpu.device;
        let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let made = GpuCanvas::new(self.gpu.handles(), self.canvas.size(), self.config.format);
        if let Some(problem) = pollster::block_on(scope.pop()) {
            let (name, problem) = ("render".to_owned(), problem.to_string());
            return Err(Error::Shader { name, problem });
        }
        self.canvas = made?;
        Ok(())
    }

    /// egui's state for the window and this device.
    pub fn egui_state(&self, context: &egui::Context) -> egui_winit::State {
        egui_winit::State::new(
            context.clone(),
            egui::ViewportId::ROOT,
            &self.window,
            Some(self.window.scale_factor() as f32),
            Some(winit::window::Theme::Dark),
            Some(self.gpu.limits.texture_side as usize),
        )
    }
}
