//! Several devices at once.

use std::sync::Arc;
#[cfg(not(target_arch = "wasm32"))]
use std::time::Duration;

#[cfg(not(target_arch = "wasm32"))]
use super::DeviceClass;
use super::Gpu;
use super::adapter::{self, AdapterInfo};
use super::identity::position;
use crate::error::{Error, Result};
use crate::settings::{AdapterName, AdapterRequest, DeviceCount};

/// For so long a device that is ahead of the others looks again and again whether they have come so far: being woken
/// costs some 10 microseconds, which is a tenth of a step of 16,384 bodies.
#[cfg(not(target_arch = "wasm32"))]
const PATIENCE: Duration = Duration::from_micros(500);

impl Gpu {
    /// How long it waits awake for other devices: a software adapter needs the cores itself.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn patience(&self) -> Duration {
        if self.adapter.class == DeviceClass::Software { Duration::ZERO } else { PATIENCE }
    }

    /// Opens the first of the adapters that are asked for, or the only one.
    ///
    /// Errors: those of [`Gpu::open`].
    pub async fn open_first(request: &AdapterRequest) -> Result<Arc<Self>> {
        Self::open(&request.first()).await
    }

    /// Opens those that are asked for beside the first, one after the other, a device on each. An adapter that is named
    /// twice gets two devices.
    ///
    /// Errors: those of [`Gpu::open`]; fewer adapters than are asked for.
    pub async fn open_beside(
        request: &AdapterRequest,
        count: DeviceCount,
    ) -> Result<Vec<Arc<Self>>> {
        if count.is_one() {
            // More than one name is an error.
            return request.only().map(|_| Vec::new());
        }
        let found = adapter::adapters().await;
        let mut devices = Vec::new();
        for i in group(&found, &request.names, count)?.into_iter().skip(1) {
            let names = vec![AdapterName::Matching(i.to_string())];
            devices.push(Self::open(&AdapterRequest { names, ..*request }).await?);
        }
        Ok(devices)
    }
}

/// Which of the adapters in `found` make up the group that is asked for. With one name, or none, further ones are
/// those of the same kind, and then the others; the same device through another interface is none of them.
fn group(found: &[AdapterInfo], names: &[AdapterName], count: DeviceCount) -> Result<Vec<usize>> {
    let mut named = Vec::new();
    for name in names.iter().map(Some).chain(names.is_empty().then_some(None)) {
        let at = position(found, name, &|_| true);
        named.push(at.ok_or_else(|| adapter::not_found(name, found))?);
    }
    let wanted = match count {
        DeviceCount::These(wanted) => wanted as usize,
        DeviceCount::Auto => usize::MAX,
    };
    if names.len() > 1 {
        if count != DeviceCount::Auto && wanted != names.len() {
            let allowed = format!("{}, as many as --adapter names, or left out", names.len());
            return Err(Error::value("--devices", wanted, allowed));
        }
        return Ok(named);
    }
    let (first, first_at) = (&found[named[0]], named[0]);
    let is_another = |i: &usize| *i != first_at && found[*i].backend == first.backend;
    let (mut alike, others): (Vec<usize>, Vec<usize>) =
        (0..found.len()).filter(is_another).partition(|i| found[*i].name == first.name);
    alike.insert(0, first_at);
    // Other kinds are for who asks for so many without a name: the slowest would only hold up the others.
    if count != DeviceCount::Auto && names.is_empty() {
        alike.extend(others.into_iter().filter(|i| found[*i].class == first.class));
    }
    if count != DeviceCount::Auto && wanted > alike.len() {
        let there = alike.len();
        let allowed = format!(
            "at most {there}: so many adapters of that kind are here ('--adapter 0,0' opens two devices on one)"
        );
        return Err(Error::value("--devices", wanted, allowed));
    }
    alike.truncate(wanted);
    Ok(alike)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found() -> Vec<AdapterInfo> {
        let adapter = |name: &str, backend: &str, class, place: &str| AdapterInfo {
            name: name.to_owned(),
            backend: backend.to_owned(),
            driver: String::new(),
            class,
            pci: (0, 0),
            place: Some(place.to_owned()),
        };
        use DeviceClass::*;
        vec![
            adapter("H200", "vulkan", Discrete, "0000:01:00.0"),
            adapter("A100", "vulkan", Discrete, "0000:02:00.0"),
            adapter("H200", "vulkan", Discrete, "0000:03:00.0"),
            adapter("H200", "dx12", Discrete, "0000:01:00.0"),
            adapter("llvmpipe", "vulkan", Software, ""),
        ]
    }

    fn asked(names: &str, count: &str) -> Result<Vec<usize>> {
        group(&found(), &AdapterRequest::named(names).names, count.parse().unwrap())
    }

    #[test]
    fn a_group_is_what_is_named_or_as_many_of_the_best_kind() {
        assert_eq!(asked("", "2").unwrap(), [0, 2]);
        assert_eq!(asked("", "3").unwrap(), [0, 2, 1]);
        assert_eq!(asked("", "auto").unwrap(), [0, 2]);
        assert_eq!(asked("A100", "auto").unwrap(), [1]);
        assert_eq!(asked("2", "2").unwrap(), [2, 0]);
        assert_eq!(asked("A100,0", "2").unwrap(), [1, 0]);
        // Two devices on one.
        assert_eq!(asked("4,4,4", "3").unwrap(), [4, 4, 4]);
    }

    #[test]
    fn too_many_are_refused_with_how_many_there_are() {
        let text = asked("", "4").unwrap_err().to_string();
        assert!(text.contains("--devices is 4, but must be at most 3"), "{text}");
        let text = asked("A100", "2").unwrap_err().to_string();
        assert!(text.contains("at most 1"), "{text}");
        let text = asked("0,2", "3").unwrap_err().to_string();
        assert!(text.contains("must be 2, as many as --adapter names"), "{text}");
        let text = asked("0,mystery", "2").unwrap_err().to_string();
        assert!(text.contains("no graphics adapter has 'mystery' in its name"), "{text}");
    }
}
