//! What is known of a graphics adapter.

use crate::settings::AdapterIdentity;

/// The kind of device that an adapter is, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeviceClass {
    /// A graphics card with its own memory.
    Discrete,
    /// Graphics in the processor's package.
    Integrated,
    /// A share of a graphics card in a virtual machine.
    Virtual,
    /// Not reported by the driver.
    Unknown,
    /// Software: lavapipe, SwiftShader, WARP. Always slower than the CPU engine.
    Software,
}

impl DeviceClass {
    /// Its name for display.
    pub fn name(self) -> &'static str {
        match self {
            Self::Discrete => "discrete GPU",
            Self::Integrated => "integrated GPU",
            Self::Virtual => "virtual GPU",
            Self::Software => "software",
            Self::Unknown => "unknown kind",
        }
    }

    /// Number of threads that keep a large device of the class busy: with fewer, a dispatch leaves
    /// part of it idle.
    pub fn threads_to_fill(self) -> u32 {
        match self {
            // 132 multiprocessors of 2048 threads, half of which hide the latency.
            Self::Discrete | Self::Virtual | Self::Unknown => 1 << 17,
            Self::Integrated => 1 << 14,
            // A few workgroups: one per core.
            Self::Software => 1 << 8,
        }
    }

    /// The most iterations of a thread's innermost loop in one dispatch. llvmpipe (Mesa 22.3)
    /// silently leaves every loop after 65,535 iterations, those of all loops together; a loop over
    /// tiles adds at most two for each of the inner ones.
    pub fn most_iterations(self) -> u32 {
        match self {
            Self::Software => 15_000,
            _ => u32::MAX,
        }
    }
}

/// An adapter as shown in reports.
#[derive(Clone, Debug, PartialEq)]
pub struct AdapterInfo {
    /// The driver's name for it.
    pub name: String,
    /// `vulkan`, `metal`, `dx12`, `webgpu`.
    pub backend: String,
    /// The driver and its version.
    pub driver: String,
    /// The kind of device.
    pub class: DeviceClass,
    /// PCI vendor and device number.
    pub pci: (u32, u32),
    /// Address on the PCI bus (`0000:01:00.0`), if there is one and the driver reports it.
    pub place: Option<String>,
}

/// The browser's name for its adapter, which wgpu does not pass on.
#[cfg(target_arch = "wasm32")]
static NAMED: std::sync::OnceLock<String> = std::sync::OnceLock::new();

/// Sets the name of the browser's adapter.
#[cfg(target_arch = "wasm32")]
pub fn name_adapter(name: &str) {
    NAMED.get_or_init(|| name.to_owned());
}

#[cfg(target_arch = "wasm32")]
fn name_of(_: &wgpu::AdapterInfo) -> String {
    NAMED.get().map_or("the browser's adapter", String::as_str).to_owned()
}

#[cfg(not(target_arch = "wasm32"))]
fn name_of(info: &wgpu::AdapterInfo) -> String {
    info.name.clone()
}

impl AdapterInfo {
    pub(super) fn of(info: &wgpu::AdapterInfo) -> Self {
        let class = match info.device_type {
            wgpu::DeviceType::DiscreteGpu => DeviceClass::Discrete,
            wgpu::DeviceType::IntegratedGpu => DeviceClass::Integrated,
            wgpu::DeviceType::VirtualGpu => DeviceClass::Virtual,
            wgpu::DeviceType::Cpu => DeviceClass::Software,
            wgpu::DeviceType::Other => DeviceClass::Unknown,
        };
        let driver = format!("{} {}", info.driver, info.driver_info);
        Self {
            name: name_of(info),
            backend: info.backend.to_string(),
            driver: driver.trim().to_owned(),
            class,
            pci: (info.vendor, info.device),
            place: Some(info.device_pci_bus_id.clone()).filter(|place| !place.is_empty()),
        }
    }

    /// Its name, and its place if known, to distinguish two of one kind.
    pub fn in_words(&self) -> String {
        match &self.place {
            Some(place) => format!("{} at {place}", self.name),
            None => self.name.clone(),
        }
    }

    /// The identity by which it is recognised later.
    pub fn identity(&self) -> AdapterIdentity {
        AdapterIdentity {
            name: self.name.clone(),
            backend: Some(self.backend.clone()),
            vendor: Some(self.pci.0),
            device: Some(self.pci.1),
            place: self.place.clone(),
        }
    }
}

/// The entry point to all drivers; with a display, also to its windows.
pub fn instance(display: Option<Box<dyn wgpu::wgt::WgpuHasDisplayHandle>>) -> wgpu::Instance {
    let mut description = match display {
        Some(display) => wgpu::InstanceDescriptor::new_with_display_handle(display),
        None => wgpu::InstanceDescriptor::new_without_display_handle(),
    };
    // Otherwise each indirect dispatch would cost a second, validating one, even in release builds.
    description.flags.remove(wgpu::InstanceFlags::VALIDATION_INDIRECT_CALL);
    super::instance::open(description)
}

/// The instance for everything without a window; there is one, and it is never destroyed (see
/// [`super::Gpu::open`]).
#[cfg(not(target_arch = "wasm32"))]
pub(super) fn shared() -> wgpu::Instance {
    static SHARED: std::sync::LazyLock<wgpu::Instance> =
        std::sync::LazyLock::new(|| instance(None));
    SHARED.clone()
}

/// In a browser there is nothing to destroy.
#[cfg(target_arch = "wasm32")]
pub(super) fn shared() -> wgpu::Instance {
    instance(None)
}
