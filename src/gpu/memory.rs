//! What memory an adapter has: how much of its own, and whether the host reaches into it. WebGPU does not tell; Vulkan does.

/// `VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT`, and that of heaps.
#[cfg(any(windows, all(unix, not(target_vendor = "apple"))))]
const DEVICE_LOCAL: u32 = 1;

/// With it, `VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT` and `VK_MEMORY_PROPERTY_HOST_COHERENT_BIT`.
#[cfg(any(windows, all(unix, not(target_vendor = "apple"))))]
const REACHED: u32 = DEVICE_LOCAL | 2 | 4;

/// Bytes of the largest heap of the device's own, if that can be known.
#[cfg(any(windows, all(unix, not(target_vendor = "apple"))))]
pub(super) fn of(adapter: &wgpu::Adapter) -> Option<u64> {
    look(adapter, |heaps, _| {
        heaps.iter().filter(|(flags, _)| flags & DEVICE_LOCAL != 0).map(|(_, size)| *size).max()
    })?
}

/// The feature by which storage buffers are mapped, where such that the host writes lie in the device's own memory:
/// kernels that read them across a bus would be slow.
#[cfg(any(windows, all(unix, not(target_vendor = "apple"))))]
pub(super) fn mapping(adapter: &wgpu::Adapter) -> wgpu::Features {
    let is_reached = look(adapter, |_, types| types.iter().any(|flags| flags & REACHED == REACHED));
    match is_reached {
        Some(true) => wgpu::Features::MAPPABLE_PRIMARY_BUFFERS,
        _ => wgpu::Features::empty(),
    }
}

/// What comes of the flags and sizes of heaps, and of the flags of types; `None`: it is not a Vulkan adapter.
#[cfg(any(windows, all(unix, not(target_vendor = "apple"))))]
fn look<R>(adapter: &wgpu::Adapter, look: impl FnOnce(&[(u32, u64)], &[u32]) -> R) -> Option<R> {
    // SAFETY: of the physical device, which lives as long as the adapter, properties are read and nothing else.
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

/// Other drivers are not asked.
#[cfg(not(any(windows, all(unix, not(target_vendor = "apple")))))]
pub(super) fn of(_: &wgpu::Adapter) -> Option<u64> {
    None
}

/// On other drivers nobody has measured it.
#[cfg(not(any(windows, all(unix, not(target_vendor = "apple")))))]
pub(super) fn mapping(_: &wgpu::Adapter) -> wgpu::Features {
    wgpu::Features::empty()
}
