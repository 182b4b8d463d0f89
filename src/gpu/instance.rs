//! Opening the drivers without messages from the libraries involved.
//!
//! If an instance could show windows on Wayland, Mesa's device selection layer asks Wayland's
//! library for the display. The library complains on standard error if the environment names no
//! runtime folder, as in containers and batch jobs: `error: XDG_RUNTIME_DIR is invalid or not set`.
//! There is no Wayland then, and an instance without that extension is equivalent and silent.
//! (Observed with Mesa 22.3 and libwayland 1.21.)

/// Opens the described instance.
pub(super) fn open(description: wgpu::InstanceDescriptor) -> wgpu::Instance {
    #[cfg(all(unix, not(target_vendor = "apple"), not(target_os = "android")))]
    if description.display.is_none()
        && !wayland_path_is_set(|name| std::env::var_os(name))
        && let Some(instance) = without_wayland(&description)
    {
        return instance;
    }
    wgpu::Instance::new(description)
}

/// What Wayland's library checks before it complains.
#[cfg(all(unix, not(target_vendor = "apple"), not(target_os = "android")))]
fn wayland_path_is_set(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> bool {
    let absolute =
        |name| variable(name).is_some_and(|path| path.as_encoded_bytes().starts_with(b"/"));
    absolute("XDG_RUNTIME_DIR")
        || absolute("WAYLAND_DISPLAY")
        || variable("WAYLAND_SOCKET").is_some()
}

/// An instance without the extension; `None` if there is no Vulkan.
#[cfg(all(unix, not(target_vendor = "apple"), not(target_os = "android")))]
fn without_wayland(description: &wgpu::InstanceDescriptor) -> Option<wgpu::Instance> {
    use wgpu::hal::vulkan;
    if !description.backends.contains(wgpu::Backends::VULKAN) {
        return None;
    }
    let descriptor = wgpu::hal::InstanceDescriptor {
        name: "wgpu",
        flags: description.flags,
        memory_budget_thresholds: description.memory_budget_thresholds,
        backend_options: description.backend_options.clone(),
        telemetry: None,
        display: None,
    };
    let leave_out = |arguments: vulkan::CreateInstanceCallbackArgs<'_, '_, '_>| {
        arguments.extensions.retain(|name| name.to_bytes() != b"VK_KHR_wayland_surface");
    };
    // SAFETY: the extension that is removed serves only surfaces on Wayland, and wgpu checks this
    // same list before it creates one.
    let opened =
        unsafe { vulkan::Instance::init_with_callback(&descriptor, Some(Box::new(leave_out))) }
            .ok()?;
    // SAFETY: the instance was just made, and nothing else holds it.
    Some(unsafe { wgpu::Instance::from_hal::<wgpu::hal::api::Vulkan>(opened) })
}

#[cfg(all(test, unix, not(target_vendor = "apple"), not(target_os = "android")))]
mod tests {
    use super::*;

    #[test]
    fn wayland_display_is_detected() {
        let with = |set: &[(&str, &str)]| {
            wayland_path_is_set(|name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
            })
        };
        assert!(!with(&[]));
        assert!(!with(&[("XDG_RUNTIME_DIR", ""), ("WAYLAND_DISPLAY", "wayland-0")]));
        assert!(!with(&[("XDG_RUNTIME_DIR", "run/user")]));
        assert!(with(&[("XDG_RUNTIME_DIR", "/run/user/1000")]));
        assert!(with(&[("WAYLAND_DISPLAY", "/run/wayland-0")]));
        assert!(with(&[("WAYLAND_SOCKET", "5")]));
    }

    #[test]
    fn instance_without_wayland_finds_same_adapters() {
        let description = || wgpu::InstanceDescriptor::new_without_display_handle();
        let names = |instance: &wgpu::Instance| -> Vec<_> {
            pollster::block_on(instance.enumerate_adapters(wgpu::Backends::VULKAN))
                .iter()
                .map(|adapter| adapter.get_info().name)
                .collect()
        };
        let silent = without_wayland(&description()).expect("there should be a Vulkan loader");
        assert_eq!(names(&silent), names(&wgpu::Instance::new(description())));
        assert!(!names(&silent).is_empty());
    }
}
