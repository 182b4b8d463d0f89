//! What tells one adapter from others, and which of those that are there is meant.

use serde::{Deserialize, Serialize};

use super::{AdapterInfo, AdapterWish};

/// An adapter as it is known again: in another process, after a restart, beside another of its kind.
///
/// What is not known matches anything. In files it is a table, or the name alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AdapterIdentity {
    /// The driver's name for it.
    pub name: String,
    /// `vulkan`, `metal`, `dx12`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// PCI vendor number, or what the driver gives in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<u32>,
    /// PCI device number, or what the driver gives in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<u32>,
    /// Place on the PCI bus (`0000:01:00.0`), where there is one and the driver tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

impl AdapterIdentity {
    /// One of which only the name is known.
    pub fn of_name(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Whether nothing that is known of both differs.
    pub fn is(&self, other: &Self) -> bool {
        fn agree<T: PartialEq>(a: &Option<T>, b: &Option<T>) -> bool {
            a.is_none() || b.is_none() || a == b
        }
        self.name == other.name
            && agree(&self.backend, &other.backend)
            && agree(&self.vendor, &other.vendor)
            && agree(&self.device, &other.device)
            && agree(&self.place, &other.place)
    }
}

impl std::fmt::Display for AdapterIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.name)?;
        if let (Some(vendor), Some(device)) = (self.vendor, self.device) {
            write!(f, " [{vendor:04x}:{device:04x}]")?;
        }
        if let Some(place) = &self.place {
            write!(f, " at {place}")?;
        }
        match &self.backend {
            Some(backend) => write!(f, " through {backend}"),
            None => Ok(()),
        }
    }
}

impl<'de> Deserialize<'de> for AdapterIdentity {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(NameOrTable)
    }
}

struct NameOrTable;

impl<'de> serde::de::Visitor<'de> for NameOrTable {
    type Value = AdapterIdentity;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(
            "an adapter's name, or a table with its name, backend, vendor, device and place",
        )
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(AdapterIdentity::of_name(name))
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            name: String,
            backend: Option<String>,
            vendor: Option<u32>,
            device: Option<u32>,
            place: Option<String>,
        }
        let table = Table::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        let Table { name, backend, vendor, device, place } = table;
        Ok(AdapterIdentity { name, backend, vendor, device, place })
    }
}

/// Which of the adapters in `found`, of which only `usable` ones will do, is wished for. Its number counts
/// all of them, so that it is the same everywhere.
pub(super) fn position(
    found: &[AdapterInfo],
    wish: &AdapterWish,
    usable: &dyn Fn(usize) -> bool,
) -> Option<usize> {
    let all = || (0..found.len()).filter(|&i| usable(i));
    if let Some(identity) = &wish.identity {
        let the_same = all().find(|&i| identity.is(&found[i].identity()));
        return the_same.or_else(|| all().find(|&i| found[i].name == identity.name));
    }
    let Some(name) = &wish.name else { return all().next() };
    let Ok(number) = name.trim().parse::<usize>() else {
        let lower = name.trim().to_lowercase();
        return all().find(|&i| found[i].name.to_lowercase().contains(&lower));
    };
    match number < found.len() {
        true => Some(number).filter(|&i| usable(i)),
        // A model's number: 4090. The 1 in 15 is none.
        false => all().find(|&i| holds_number(&found[i].name, name.trim())),
    }
}

/// Whether `digits` stand in `name` with no further digit beside them.
fn holds_number(name: &str, digits: &str) -> bool {
    name.split(|c: char| !c.is_ascii_digit()).any(|number| number == digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::DeviceClass;

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

    fn at(found: &[AdapterInfo], wish: &AdapterWish) -> Option<usize> {
        position(found, wish, &|_| true)
    }

    #[test]
    fn numbers_are_places_in_the_list_before_they_are_names() {
        let found = [
            adapter("NVIDIA GeForce RTX 4090", 1, Some("0000:01:00.0")),
            adapter("NVIDIA GeForce RTX 4090", 1, Some("0000:02:00.0")),
            adapter("llvmpipe (LLVM 15.0.6, 256 bits)", 0, None),
        ];
        let named = |name: &str| at(&found, &AdapterWish::named(name));
        assert_eq!(at(&found, &AdapterWish::default()), Some(0));
        assert_eq!([named("0"), named("1"), named(" 2 ")], [Some(0), Some(1), Some(2)]);
        assert_eq!([named("rtx"), named("LLVM 15"), named("4090")], [Some(0), Some(2), Some(0)]);
        // Not the 9 in 4090, nor the 5 in 15.
        assert_eq!([named("9"), named("5"), named("409"), named("radeon")], [None; 4]);
        assert_eq!(named("15"), Some(2));
    }

    #[test]
    fn what_will_not_do_is_passed_over_but_keeps_its_number() {
        let found = [adapter("a", 1, None), adapter("b", 2, None), adapter("ab", 3, None)];
        let usable = |i: usize| i != 0;
        let of = |wish: &AdapterWish| position(&found, wish, &usable);
        assert_eq!(of(&AdapterWish::default()), Some(1));
        assert_eq!(of(&AdapterWish::named("0")), None);
        assert_eq!(of(&AdapterWish::named("1")), Some(1));
        assert_eq!(of(&AdapterWish::named("a")), Some(2));
    }

    #[test]
    fn an_adapter_is_known_again_by_its_place_and_else_by_its_name() {
        let found = [
            adapter("A100", 1, Some("0000:01:00.0")),
            adapter("A100", 1, Some("0000:41:00.0")),
            adapter("A100", 2, None),
        ];
        for (i, info) in found.iter().enumerate() {
            // The third tells no place: it is known by its device number.
            assert_eq!(at(&found, &AdapterWish::known(info.identity())), Some(i));
        }
        let mut moved = found[1].identity();
        moved.place = Some("0000:81:00.0".to_owned());
        assert_eq!(at(&found, &AdapterWish::known(moved.clone())), Some(0));
        assert!(!moved.is(&found[0].identity()));
        assert_eq!(at(&found, &AdapterWish::known(AdapterIdentity::of_name("A100"))), Some(0));
        assert_eq!(at(&found, &AdapterWish::known(AdapterIdentity::of_name("A10"))), None);
    }

    #[test]
    fn files_hold_a_table_and_in_older_ones_a_name() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct File {
            adapter: AdapterIdentity,
        }
        let whole = File { adapter: adapter("A100", 7, Some("0000:01:00.0")).identity() };
        let text = toml::to_string(&whole).unwrap();
        assert_eq!(toml::from_str::<File>(&text).unwrap(), whole, "{text}");
        let old: File = toml::from_str("adapter = \"A100\"").unwrap();
        assert_eq!(old.adapter, AdapterIdentity::of_name("A100"));
        assert!(old.adapter.is(&whole.adapter));
        for wrong in ["adapter = 5", "[adapter]\nplace = \"x\"", "[adapter]\nname = \"a\"\nx = 1"] {
            assert!(toml::from_str::<File>(wrong).is_err(), "{wrong}");
        }
        assert_eq!(whole.adapter.to_string(), "A100 [10de:0007] at 0000:01:00.0 through vulkan");
    }
}
