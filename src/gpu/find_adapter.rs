//! The available adapters, and finding the one that is meant.

use super::adapter::{AdapterInfo, shared};
use crate::error::{Error, Result};
use crate::settings::{AdapterName, AdapterRequest};

/// All adapters with their properties, best first.
pub(super) async fn enumerate(instance: &wgpu::Instance) -> Vec<(wgpu::Adapter, AdapterInfo)> {
    let found = instance.enumerate_adapters(wgpu::Backends::PRIMARY).await;
    let described = |adapter: wgpu::Adapter| {
        let info = AdapterInfo::of(&adapter.get_info());
        (adapter, info)
    };
    let mut found: Vec<_> = found.into_iter().map(described).collect();
    // The sort is stable, so that adapters of equal rank keep the driver's order.
    found.sort_by_key(|(_, info)| info.class);
    found
}

/// All adapters, best first.
pub async fn adapters() -> Vec<AdapterInfo> {
    enumerate(&shared()).await.into_iter().map(|(_, info)| info).collect()
}

/// Chooses the requested adapter; with a surface, among those that can present on it.
pub(super) async fn choose(
    instance: &wgpu::Instance,
    surface: Option<&wgpu::Surface<'_>>,
    request: &AdapterRequest,
) -> Result<(wgpu::Adapter, AdapterInfo)> {
    let requested = request.only()?;
    let found = enumerate(instance).await;
    let usable: Vec<bool> = found
        .iter()
        .map(|(adapter, _)| surface.is_none_or(|surface| adapter.is_surface_supported(surface)))
        .collect();
    let infos: Vec<AdapterInfo> = found.iter().map(|(_, info)| info.clone()).collect();
    let index = position(&infos, requested, &|i| usable[i]).unwrap_or(usize::MAX);
    found.into_iter().nth(index).ok_or_else(|| not_found(requested, &infos, &|i| usable[i]))
}

/// The error for no adapter in `found` matching `requested`; only the `usable` ones are acceptable.
pub(super) fn not_found(
    requested: Option<&AdapterName>,
    found: &[AdapterInfo],
    usable: &dyn Fn(usize) -> bool,
) -> Error {
    let found = listed(found, usable);
    let requested = match requested {
        None => "was found (no Vulkan, Metal or DX12 driver answers)".to_owned(),
        Some(AdapterName::Known(identity)) => format!("is {identity}, nor has that name"),
        Some(AdapterName::Matching(name)) => {
            format!("has '{name}' in its name or as its number")
        }
    };
    Error::NoAdapter { requested, found }
}

/// Lists the adapters with their numbers, in one line.
fn listed(infos: &[AdapterInfo], usable: &dyn Fn(usize) -> bool) -> String {
    if infos.is_empty() {
        return "none".to_owned();
    }
    let entry = |(i, info): (usize, &AdapterInfo)| {
        let refusal = if usable(i) { "" } else { " (cannot show a window here)" };
        format!("{i}: {}{refusal}", info.name)
    };
    infos.iter().enumerate().map(entry).collect::<Vec<_>>().join(", ")
}

/// The index of the requested adapter in `found`; only the `usable` ones are acceptable. Without a
/// name it is the first. Numbers count all adapters, so that they are the same everywhere.
pub(super) fn position(
    found: &[AdapterInfo],
    requested: Option<&AdapterName>,
    usable: &dyn Fn(usize) -> bool,
) -> Option<usize> {
    let all = || (0..found.len()).filter(|&i| usable(i));
    let name = match requested {
        None => return all().next(),
        Some(AdapterName::Matching(name)) => name.trim(),
        Some(AdapterName::Known(identity)) => {
            let the_same = all().find(|&i| identity.is(&found[i].identity()));
            return the_same.or_else(|| all().find(|&i| found[i].name == identity.name));
        }
    };
    if let Some(index) = all().find(|&i| found[i].place.as_deref() == Some(name)) {
        return Some(index);
    }
    let Ok(number) = name.parse::<usize>() else {
        let lower = name.to_lowercase();
        return all().find(|&i| found[i].name.to_lowercase().contains(&lower));
    };
    match number < found.len() {
        true => Some(number).filter(|&i| usable(i)),
        // A model number, such as 4090; the 1 in 15 is not one.
        false => all().find(|&i| holds_number(&found[i].name, name)),
    }
}

/// Whether `name` contains `digits` without further digits next to them.
fn holds_number(name: &str, digits: &str) -> bool {
    name.split(|c: char| !c.is_ascii_digit()).any(|number| number == digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::DeviceClass;
    use crate::settings::AdapterIdentity;

    fn adapter(name: &str, device: u32, place: Option<&str>) -> AdapterInfo {
        AdapterInfo {
            name: name.to_owned(),
            backend: "vulkan".to_owned(),
            driver: String::new(),
            class: DeviceClass::Discrete,
            pci: (0x10de, device),
            place: place.map(str::to_owned),
        }
    }

    fn at(found: &[AdapterInfo], requested: &AdapterName) -> Option<usize> {
        position(found, Some(requested), &|_| true)
    }

    fn matching(name: &str) -> AdapterName {
        AdapterName::Matching(name.to_owned())
    }

    #[test]
    fn numeric_names_are_indices_first() {
        let found = [
            adapter("NVIDIA GeForce RTX 4090", 1, Some("0000:01:00.0")),
            adapter("NVIDIA GeForce RTX 4090", 1, Some("0000:02:00.0")),
            adapter("llvmpipe (LLVM 15.0.6, 256 bits)", 0, None),
        ];
        let named = |name: &str| at(&found, &matching(name));
        assert_eq!(position(&found, None, &|_| true), Some(0));
        assert_eq!([named("0"), named("1"), named(" 2 ")], [Some(0), Some(1), Some(2)]);
        assert_eq!([named("rtx"), named("LLVM 15"), named("4090")], [Some(0), Some(2), Some(0)]);
        // Neither the 9 in 4090 nor the 5 in 15.
        assert_eq!([named("9"), named("5"), named("409"), named("radeon")], [None; 4]);
        assert_eq!(named("15"), Some(2));
    }

    #[test]
    fn unusable_adapters_are_skipped_but_numbered() {
        let found = [adapter("a", 1, None), adapter("b", 2, None), adapter("ab", 3, None)];
        let usable = |i: usize| i != 0;
        let of =
            |requested: Option<&str>| position(&found, requested.map(matching).as_ref(), &usable);
        assert_eq!(of(None), Some(1));
        assert_eq!(of(Some("0")), None);
        assert_eq!(of(Some("1")), Some(1));
        assert_eq!(of(Some("a")), Some(2));
    }

    #[test]
    fn adapter_is_identified_by_bus_address_or_name() {
        let found = [
            adapter("A100", 1, Some("0000:01:00.0")),
            adapter("A100", 1, Some("0000:41:00.0")),
            adapter("A100", 2, None),
        ];
        for (i, info) in found.iter().enumerate() {
            // The third reports no place and is recognised by its device number.
            assert_eq!(at(&found, &AdapterName::Known(info.identity())), Some(i));
        }
        let mut moved = found[1].identity();
        moved.place = Some("0000:81:00.0".to_owned());
        assert_eq!(at(&found, &AdapterName::Known(moved.clone())), Some(0));
        assert!(!moved.is(&found[0].identity()));
        // A command line can name the place.
        assert_eq!(at(&found, &matching("0000:41:00.0")), Some(1));
        assert_eq!(at(&found, &AdapterName::Known(AdapterIdentity::of_name("A100"))), Some(0));
        assert_eq!(at(&found, &AdapterName::Known(AdapterIdentity::of_name("A10"))), None);
    }
}
