//! Properties of an adapter that WebGPU does not report and Vulkan does.

/// What the driver reports; nothing from other drivers than Vulkan's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reported {
    /// Bytes of the largest device-local heap.
    pub memory: Option<u64>,
    /// Whether buffers that the host writes are in device-local memory: otherwise kernels would
    /// read them slowly across a bus.
    pub maps_storage: bool,
    /// Multiprocessors (NVIDIA) or compute units (AMD).
    pub units: Option<u32>,
}

#[cfg(not(any(windows, all(unix, not(target_vendor = "apple")))))]
impl Reported {
    /// Other drivers are not queried.
    pub fn of(_: &wgpu::Adapter) -> Self {
        Self::default()
    }
}

/// `VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT`, which has the same value for heaps.
#[cfg(any(windows, all(unix, not(target_vendor = "apple"))))]
const DEVICE_LOCAL: u32 = 1;

/// The same with `VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT` and `VK_MEMORY_PROPERTY_HOST_COHERENT_BIT`.
#[cfg(any(windows, all(unix, not(target_vendor = "apple"))))]
const MAPPABLE: u32 = DEVICE_LOCAL | 2 | 4;

#[cfg(any(windows, all(unix, not(target_vendor = "apple"))))]
impl Reported {
    /// What the driver reports of this adapter.
    pub fn of(adapter: &wgpu::Adapter) -> Self {
        // SAFETY: only reads properties of the physical device, which lives as long as the adapter.
        let properties = unsafe {
            let Some(adapter) = adapter.as_hal::<wgpu::hal::api::Vulkan>() else {
                return Self::default();
            };
            let instance = adapter.shared_instance().raw_instance();
            instance.get_physical_device_memory_properties(adapter.raw_physical_device())
        };
        let heaps = properties.memory_heaps_as_slice().iter();
        let local = heaps.filter(|heap| heap.flags.as_raw() & DEVICE_LOCAL != 0);
        let mut types = properties.memory_types_as_slice().iter();
        Self {
            memory: local.map(|heap| heap.size).max(),
            maps_storage: types.any(|kind| kind.property_flags.as_raw() & MAPPABLE == MAPPABLE),
            units: units(adapter),
        }
    }
}

#[cfg(all(feature = "inspect", any(windows, all(unix, not(target_vendor = "apple")))))]
fn units(adapter: &wgpu::Adapter) -> Option<u32> {
    use ash::{amd, nv, vk};
    // SAFETY: only reads properties of the physical device, which lives as long as the adapter; the
    // driver declares support for each structure in the chain.
    let units = unsafe {
        let adapter = adapter.as_hal::<wgpu::hal::api::Vulkan>()?;
        let instance = adapter.shared_instance().raw_instance();
        let device = adapter.raw_physical_device();
        let knows = |name| adapter.physical_device_capabilities().supports_extension(name);
        if knows(nv::shader_sm_builtins::NAME) {
            let mut reported = vk::PhysicalDeviceShaderSMBuiltinsPropertiesNV::default();
            let mut all = vk::PhysicalDeviceProperties2::default().push_next(&mut reported);
            instance.get_physical_device_properties2(device, &mut all);
            reported.shader_sm_count
        } else if knows(amd::shader_core_properties::NAME) {
            let mut reported = vk::PhysicalDeviceShaderCorePropertiesAMD::default();
            let mut all = vk::PhysicalDeviceProperties2::default().push_next(&mut reported);
            instance.get_physical_device_properties2(device, &mut all);
            let arrays = reported
                .shader_engine_count
                .saturating_mul(reported.shader_arrays_per_engine_count);
            arrays.saturating_mul(reported.compute_units_per_shader_array)
        } else {
            0
        }
    };
    Some(units).filter(|units| *units > 0)
}

#[cfg(all(not(feature = "inspect"), any(windows, all(unix, not(target_vendor = "apple")))))]
fn units(_: &wgpu::Adapter) -> Option<u32> {
    None
}
