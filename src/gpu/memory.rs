//! How much memory an adapter has of its own. WebGPU does not tell; Vulkan does.

/// Bytes of the largest heap of the device's own, if that can be known.
#[cfg(any(windows, all(unix, not(target_vendor = "apple"))))]
pub(super) fn of(adapter: &wgpu::Adapter) -> Option<u64> {
    // SAFETY: of the physical device, which lives as long as the adapter, properties are read and nothing else.
    let properties = unsafe {
        let adapter = adapter.as_hal::<wgpu::hal::api::Vulkan>()?;
        let instance = adapter.shared_instance().raw_instance();
        instance.get_physical_device_memory_properties(adapter.raw_physical_device())
    };
    const DEVICE_LOCAL: u32 = 1;
    let heaps = properties.memory_heaps_as_slice().iter();
    heaps.filter(|heap| heap.flags.as_raw() & DEVICE_LOCAL != 0).map(|heap| heap.size).max()
}

/// Other drivers are not asked.
#[cfg(not(any(windows, all(unix, not(target_vendor = "apple")))))]
pub(super) fn of(_: &wgpu::Adapter) -> Option<u64> {
    None
}
