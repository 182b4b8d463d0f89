//! The memory of an adapter: its size, and whether the host can access it. WebGPU does not report
//! it; Vulkan does.

/// `VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT`, which has the same value for heaps.
#[cfg(any(windows, all(unix, not(target_vendor = "apple"))))]
const DEVICE_LOCAL: u32 = 1;

/// The same with `VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT` and `VK_MEMORY_PROPERTY_HOST_COHERENT_BIT`.
#[cfg(any(windows, all(unix, not(target_vendor = "apple"))))]
const REACHED: u32 = DEVICE_LOCAL | 2 | 4;

/// Bytes of the largest device-local heap, if known.
#[cfg(any(windows, all(unix, not(target_vendor = "apple"))))]
pub(super) fn of(adapter: &wgpu::Adapter) -> Option<u64> {
    look(adapter, |heaps, _| {
        heaps.iter().filter(|(flags, _)| flags & DEVICE_LOCAL != 0).map(|(_, size)| *size).max()
    })?
}

/// The feature for mapping storage buffers, if buffers that the host writes are in device-local
/// memory: otherwise kernels would read them slowly across a bus.
#[cfg(any(windows, all(unix, not(target_vendor = "apple"))))]
pub(super) fn mapping(adapter: &wgpu::Adapter) -> wgpu::Features {
    let is_reached = look(adapter, |_, types| types.iter().any(|flags| flags & REACHED == REACHED));
    match is_reached {
        Some(true) => wgpu::Features::MAPPABLE_PRIMARY_BUFFERS,
        _ => wgpu::Features::empty(),
    }
}

/// Calls `look` with the flags and sizes of heaps and the flags of memory types; `None` if it is
/// not a Vulkan adapter.
#[cfg(any(windows, all(unix, not(target_vendor = "apple"))))]
fn look<R>(adapter: &wgpu::Adapter, look: impl FnOnce(&[(u32, u64)], &[u32]) -> R) -> Option<R> {
    // SAFETY: only reads properties of the physical device, which lives as long as the adapter.
    let properties = unsafe {
        let adapter = adapter.as_hal::<wgpu::hal::api::Vulkan>()?;
        let instance = adapter.shared_instance().raw_instance();
        instance.get_physical_device_memory_properties(adapter.raw_physical_device())
    };
    let heaps = properties.memory_heaps_as_slice().iter();
    let heaps: Vec<_> = heaps.map(|heap| (heap.flags.as_raw(), heap.size)).collect();
    let types = properties.memory_types_as_slice().iter();
    let types: Vec<_> = types.map(|kind| kind.property_flags.as_raw()).collect();
    Some(look(&heaps, &types))
}

/// Other drivers are not queried.
#[cfg(not(any(windows, all(unix, not(target_vendor = "apple")))))]
pub(super) fn of(_: &wgpu::Adapter) -> Option<u64> {
    None
}

/// Not measured on other drivers.
#[cfg(not(any(windows, all(unix, not(target_vendor = "apple")))))]
pub(super) fn mapping(_: &wgpu::Adapter) -> wgpu::Features {
    wgpu::Features::empty()
}
