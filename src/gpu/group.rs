//! Opening several devices.

use std::sync::Arc;
use std::time::Duration;

use super::DeviceClass;
use super::Gpu;
use super::adapter::AdapterInfo;
use super::find_adapter::{adapters, not_found, position};
use crate::error::{Error, Result};
use crate::settings::{AdapterName, AdapterRequest, DeviceCount};

/// How long a device that is ahead of the others keeps polling for them: waking up costs some 10
/// microseconds, a tenth of a step of 16,384 bodies.
const PATIENCE: Duration = Duration::from_micros(500);

impl Gpu {
    /// How long it polls for other devices before sleeping: a software adapter needs the cores
    /// itself.
    pub(crate) fn patience(&self) -> Duration {
        if self.adapter.class == DeviceClass::Software { Duration::ZERO } else { PATIENCE }
    }

    /// Opens the first of the adapters requested, or the only one.
    ///
    /// # Errors
    /// Those of [`Gpu::open`].
    pub async fn open_first(request: &AdapterRequest) -> Result<Arc<Self>> {
        Self::open(&request.first()).await
    }

    /// Opens the further adapters requested, in order, a device on each; this one is the first. An
    /// adapter named twice gets two devices.
    ///
    /// # Errors
    /// Those of [`Gpu::open`]; fewer adapters than requested.
    pub async fn open_others(
        &self,
        request: &AdapterRequest,
        count: DeviceCount,
    ) -> Result<Vec<Arc<Self>>> {
        if count.is_one() {
            // More than one name is an error.
            return request.only().map(|_| Vec::new());
        }
        let found = adapters().await;
        let mut devices = Vec::new();
        for i in group(&found, &self.adapter, &request.names, count)?.into_iter().skip(1) {
            let names = vec![AdapterName::Matching(i.to_string())];
            devices.push(Self::open(&AdapterRequest { names, ..*request }).await?);
        }
        Ok(devices)
    }

    /// The adapters that could share bodies with this one, which is the first of them, as
    /// [`Gpu::open_others`] would open them.
    ///
    /// # Errors
    /// A named adapter does not exist.
    pub async fn may_share(
        adapter: &AdapterInfo,
        names: &[AdapterName],
    ) -> Result<Vec<AdapterInfo>> {
        let found = adapters().await;
        let all = candidates(&found, adapter, names, names.is_empty())?;
        Ok(all.into_iter().map(|i| found[i].clone()).collect())
    }
}

/// The adapters in `found` that may form a group, best first: all that are named, if several are;
/// otherwise `first` or the named one, those of the same kind, and with `of_other_kinds` the rest
/// of its class.
fn candidates(
    found: &[AdapterInfo],
    first: &AdapterInfo,
    names: &[AdapterName],
    of_other_kinds: bool,
) -> Result<Vec<usize>> {
    let place = |name: &AdapterName| {
        let at = position(found, Some(name), &|_| true);
        at.ok_or_else(|| not_found(Some(name), found, &|_| true))
    };
    if names.len() > 1 {
        return names.iter().map(place).collect();
    }
    let opened = AdapterName::Known(first.identity());
    let first_at = place(names.first().unwrap_or(&opened))?;
    let first = &found[first_at];
    let is_another = |i: &usize| *i != first_at && found[*i].backend == first.backend;
    let (mut all, others): (Vec<usize>, Vec<usize>) =
        (0..found.len()).filter(is_another).partition(|i| found[*i].name == first.name);
    all.insert(0, first_at);
    if of_other_kinds {
        all.extend(others.into_iter().filter(|i| found[*i].class == first.class));
    }
    Ok(all)
}

/// The adapters in `found` that form the requested group, of which `first` is open. With at most
/// one name, the further ones are first those of the same kind, then others; the same device
/// through another interface does not count.
fn group(
    found: &[AdapterInfo],
    first: &AdapterInfo,
    names: &[AdapterName],
    count: DeviceCount,
) -> Result<Vec<usize>> {
    let requested = match count {
        DeviceCount::These(requested) => requested as usize,
        DeviceCount::Auto => usize::MAX,
    };
    // Other kinds are used only if a number is requested without names: the slowest would delay the
    // others.
    let of_other_kinds = count != DeviceCount::Auto && names.is_empty();
    let mut all = candidates(found, first, names, of_other_kinds)?;
    if names.len() > 1 {
        if count != DeviceCount::Auto && requested != names.len() {
            let allowed = format!("{}, as many as --adapter names, or left out", names.len());
            return Err(Error::value("--devices", requested, allowed));
        }
        return Ok(all);
    }
    if count != DeviceCount::Auto && requested > all.len() {
        let most = all.len();
        let allowed = format!(
            "at most {most}, the number of such adapters here ('--adapter 0,0' opens two devices on one)"
        );
        return Err(Error::value("--devices", requested, allowed));
    }
    all.truncate(requested);
    Ok(all)
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

    fn requested(names: &str, count: &str) -> Result<Vec<usize>> {
        let (found, names) = (found(), AdapterRequest::named(names).names);
        group(&found, &found[0], &names, count.parse().unwrap())
    }

    #[test]
    fn group_is_named_adapters_or_best_of_one_kind() {
        assert_eq!(requested("", "2").unwrap(), [0, 2]);
        assert_eq!(requested("", "3").unwrap(), [0, 2, 1]);
        assert_eq!(requested("", "auto").unwrap(), [0, 2]);
        assert_eq!(requested("A100", "auto").unwrap(), [1]);
        assert_eq!(requested("2", "2").unwrap(), [2, 0]);
        assert_eq!(requested("A100,0", "2").unwrap(), [1, 0]);
        // Two devices on one adapter.
        assert_eq!(requested("4,4,4", "3").unwrap(), [4, 4, 4]);
    }

    /// The device for a window must be able to present, and need not be the best.
    #[test]
    fn group_contains_open_device_and_candidates_are_largest_group() {
        let found = found();
        let of = |first: usize, count: &str| {
            group(&found, &found[first], &[], count.parse().unwrap()).unwrap()
        };
        assert_eq!(of(1, "2"), [1, 0]);
        assert_eq!(of(2, "auto"), [2, 0]);
        assert_eq!(of(3, "auto"), [3]);
        let all = |first: usize, names: &str| {
            let names = AdapterRequest::named(names).names;
            candidates(&found, &found[first], &names, names.is_empty()).unwrap()
        };
        assert_eq!(all(0, ""), [0, 2, 1]);
        assert_eq!(all(0, "H200"), [0, 2]);
        assert_eq!((all(4, ""), all(4, "4,4,4")), (vec![4], vec![4, 4, 4]));
    }

    #[test]
    fn too_many_devices_error_states_available_number() {
        let text = requested("", "4").unwrap_err().to_string();
        assert!(text.contains("--devices is 4, but must be at most 3"), "{text}");
        let text = requested("A100", "2").unwrap_err().to_string();
        assert!(text.contains("at most 1"), "{text}");
        let text = requested("0,2", "3").unwrap_err().to_string();
        assert!(text.contains("must be 2, as many as --adapter names"), "{text}");
        let text = requested("0,mystery", "2").unwrap_err().to_string();
        assert!(text.contains("no graphics adapter has 'mystery' in its name"), "{text}");
    }
}
