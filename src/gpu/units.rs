//! The number of compute units of an adapter. WebGPU does not report it; some Vulkan drivers do.

/// Multiprocessors (NVIDIA) or compute units (AMD), if reported.
#[cfg(all(feature = "inspect", any(windows, all(unix, not(target_vendor = "apple")))))]
pub(super) fn of(adapter: &wgpu::Adapter) -> Option<u32> {
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

/// Other drivers are not queried.
#[cfg(not(all(feature = "inspect", any(windows, all(unix, not(target_vendor = "apple"))))))]
pub(super) fn of(_: &wgpu::Adapter) -> Option<u32> {
    None
}
