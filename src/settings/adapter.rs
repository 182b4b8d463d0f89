//! Which graphics adapters to use, and how one is recognised again.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Which graphics adapters are requested.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "options", derive(clap::Args), command(next_help_heading = "Engine"))]
pub struct AdapterRequest {
    /// Graphics adapter: its number or place in 'gravitile info', or part of its name; several,
    /// separated by commas, share the bodies of run, render and view [default: the best one]
    // The full path keeps clap from expecting one value per item: a single value holds the list.
    #[cfg_attr(
        feature = "options",
        arg(
            id = "adapter",
            long = "adapter",
            value_name = "NAME",
            value_parser = names,
            default_value = "",
            hide_default_value = true
        )
    )]
    #[serde(rename = "adapter")]
    pub names: ::std::vec::Vec<AdapterName>,
    /// Use only WebGPU's baseline features and limits
    #[cfg_attr(feature = "options", arg(long))]
    pub baseline: bool,
}

impl AdapterRequest {
    /// The adapters with these names or numbers, separated by commas; the best one if there are
    /// none.
    pub fn named(list: &str) -> Self {
        Self { names: split(list), ..Self::default() }
    }

    /// An adapter that was identified before.
    pub fn known(identity: AdapterIdentity) -> Self {
        Self { names: vec![AdapterName::Known(identity)], ..Self::default() }
    }

    /// Only the first of them; the best one if none is named.
    #[must_use]
    pub fn first(&self) -> Self {
        Self { names: self.names.first().cloned().into_iter().collect(), ..*self }
    }

    /// The one adapter that is requested, if any.
    ///
    /// # Errors
    ///
    /// More than one.
    pub fn only(&self) -> Result<Option<&AdapterName>> {
        match self.names.as_slice() {
            [] => Ok(None),
            [name] => Ok(Some(name)),
            several => {
                let list: Vec<String> = several.iter().map(AdapterName::to_string).collect();
                let allowed = "one adapter here: several are for run, resume, render and view";
                Err(Error::value("--adapter", list.join(","), allowed))
            }
        }
    }

    /// Names adapters as a command line does: one known from a file by its place on the PCI bus, or
    /// by its name if that place is unknown.
    #[must_use]
    pub fn spelled(&self) -> Self {
        let names = self.names.iter().map(|name| AdapterName::Matching(name.to_string()));
        Self { names: names.collect(), ..*self }
    }

    /// Whether a particular adapter is requested.
    pub fn is_certain(&self) -> bool {
        !self.names.is_empty()
    }
}

/// One of the requested adapters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum AdapterName {
    /// Its number in [`crate::gpu::adapters`], its place on the PCI bus, or part of its name, in
    /// any case.
    Matching(String),
    /// This very adapter or, if it is not there, another of the same name.
    Known(AdapterIdentity),
}

impl std::fmt::Display for AdapterName {
    /// As the command line names it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Matching(text) => f.write_str(text),
            Self::Known(identity) => {
                f.write_str(identity.place.as_deref().unwrap_or(&identity.name))
            }
        }
    }
}

/// Splits at commas, except those in brackets, which belong to a name: `llvmpipe (LLVM 15.0.6, 256
/// bits)`.
fn split(list: &str) -> Vec<AdapterName> {
    let mut depth = 0i32;
    let is_comma = |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth <= 0
    };
    let parts = list.split(is_comma).map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| AdapterName::Matching(part.to_owned())).collect()
}

/// [`split`] for clap.
#[cfg(feature = "options")]
fn names(list: &str) -> std::result::Result<Vec<AdapterName>, std::convert::Infallible> {
    Ok(split(list))
}

/// What identifies an adapter in another process, after a restart, or among others of its kind.
///
/// A field that is not known matches anything. Files hold it as a table, or as the name alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "NameOrTable")]
pub struct AdapterIdentity {
    /// The driver's name for it.
    pub name: String,
    /// `vulkan`, `metal`, `dx12`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// PCI vendor number, or what the driver reports instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<u32>,
    /// PCI device number, or what the driver reports instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<u32>,
    /// Address on the PCI bus (`0000:01:00.0`), if there is one and the driver reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

impl AdapterIdentity {
    /// An adapter of which only the name is known.
    pub fn of_name(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Whether everything that is known of both agrees.
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

/// The forms in files.
#[derive(Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "expected an adapter's name, or a table with its name, backend, vendor, device and place"
)]
enum NameOrTable {
    Name(String),
    Table {
        name: String,
        backend: Option<String>,
        vendor: Option<u32>,
        device: Option<u32>,
        place: Option<String>,
    },
}

impl From<NameOrTable> for AdapterIdentity {
    fn from(written: NameOrTable) -> Self {
        match written {
            NameOrTable::Name(name) => Self::of_name(name),
            NameOrTable::Table { name, backend, vendor, device, place } => {
                Self { name, backend, vendor, device, place }
            }
        }
    }
}

/// Adapters in files: a single one is written as in older files, several as a list.
pub mod one_or_several {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::AdapterIdentity;

    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "expected an adapter's name, or a table with its name, backend, vendor, device and place"
    )]
    enum OneOrSeveral {
        One(AdapterIdentity),
        Several(Vec<AdapterIdentity>),
    }

    /// For `#[serde(with)]`.
    ///
    /// # Errors
    ///
    /// Those of the file format.
    pub fn serialize<S: Serializer>(all: &[AdapterIdentity], into: S) -> Result<S::Ok, S::Error> {
        match all {
            [one] => one.serialize(into),
            several => several.serialize(into),
        }
    }

    /// For `#[serde(with)]`.
    ///
    /// # Errors
    ///
    /// Neither an adapter nor a list of them.
    pub fn deserialize<'de, D>(from: D) -> Result<Vec<AdapterIdentity>, D::Error>
    where
        D: Deserializer<'de>,
    {
        Ok(match OneOrSeveral::deserialize(from)? {
            OneOrSeveral::One(one) => vec![one],
            OneOrSeveral::Several(all) => all,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_commas_between_names_and_not_in_them() {
        let of = |list: &str| {
            AdapterRequest::named(list).names.iter().map(|n| n.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(of("llvmpipe (LLVM 15.0.6, 256 bits)"), ["llvmpipe (LLVM 15.0.6, 256 bits)"]);
        assert_eq!(of("0, 4090,0000:01:00.0"), ["0", "4090", "0000:01:00.0"]);
        assert_eq!(of("a (b),c"), ["a (b)", "c"]);
        assert!(of(" , ").is_empty());
        let text = AdapterRequest::named("a,b").only().unwrap_err().to_string();
        assert_eq!(
            text,
            "--adapter is a,b, but must be one adapter here: several are for run, resume, render and view"
        );
        assert_eq!(AdapterRequest::default().only().unwrap(), None);
        let mut known = AdapterIdentity::of_name("A100");
        assert_eq!(AdapterRequest::known(known.clone()).spelled(), AdapterRequest::named("A100"));
        known.place = Some("0000:41:00.0".to_owned());
        let placed = AdapterRequest { baseline: true, ..AdapterRequest::named("0000:41:00.0") };
        let known = AdapterRequest { baseline: true, ..AdapterRequest::known(known) };
        assert_eq!(known.spelled(), placed);
    }

    #[test]
    fn files_hold_a_table_and_in_older_ones_a_name() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct File {
            adapter: AdapterIdentity,
        }
        let a100 = AdapterIdentity {
            name: "A100".to_owned(),
            backend: Some("vulkan".to_owned()),
            vendor: Some(0x10de),
            device: Some(7),
            place: Some("0000:01:00.0".to_owned()),
        };
        let whole = File { adapter: a100 };
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
