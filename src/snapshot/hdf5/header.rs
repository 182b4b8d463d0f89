//! Counts, masses, time and cosmology: attributes of the groups `Hdf5Header`, `Parameters` and, of
//! SWIFT, `Cosmology`.

use std::collections::BTreeMap;

use hdf5_reader::group::Group;

use super::super::kinds::StatedHeader;
use super::super::{Column, FormatError};
use super::numbers::Attributes;
use super::write::FLAGS;
use super::{KINDS, TYPES};

/// The groups of attributes that describe a file.
pub(super) struct Described {
    pub header: Attributes,
    pub parameters: Attributes,
    pub units: Attributes,
    pub cosmology: Attributes,
}

impl Described {
    pub fn of(root: &Group) -> Result<Self, FormatError> {
        let of = |name| Attributes::of(root, name);
        let [header, parameters, units, cosmology] =
            [of("Header")?, of("Parameters")?, of("Units")?, of("Cosmology")?];
        if header.is_empty() {
            return Err(
                "is an HDF5 file, but not a snapshot of GADGET-4, AREPO, GIZMO or SWIFT: its group Header is missing or empty"
                    .into(),
            );
        }
        Ok(Self { header, parameters, units, cosmology })
    }

    /// Whether SWIFT wrote it.
    pub fn is_swift(&self) -> bool {
        self.units.numbers(super::units::SWIFT[0]).is_some()
    }

    /// Number of files of the snapshot.
    pub fn files(&self) -> u64 {
        let files = self.header.number("NumFilesPerSnapshot").unwrap_or(1.0);
        if (1.0..1e9).contains(&files) { files as u64 } else { 1 }
    }
}

/// The content of a file's header.
#[derive(Debug)]
pub(super) struct Hdf5Header {
    pub stated: StatedHeader,
    /// Masses by type; 0 if they are in datasets.
    pub masses: [f64; TYPES],
    /// `redshift`, `box_size`, `omega_0`, `omega_lambda`, `hubble_parameter`, if not 0.
    pub facts: BTreeMap<String, String>,
    /// Factor from the file's velocities to GADGET's: SWIFT writes a dx/dt of comoving x, GADGET
    /// sqrt(a) dx/dt.
    pub velocity: f64,
    /// Assumptions.
    pub notes: Vec<String>,
}

impl Hdf5Header {
    pub fn parse(described: &Described) -> Result<Self, FormatError> {
        let Described { header, .. } = described;
        if header.number("Virtual").is_some_and(|is| is != 0.0) {
            return Err(
                "is SWIFT's main file of virtual datasets, which holds no bodies: name a file with them, as snap.0.hdf5"
                    .into(),
            );
        }
        let counts = header
            .numbers("NumPart_ThisFile")
            .ok_or("has no numbers NumPart_ThisFile in its Header")?;
        let counts = by_type("NumPart_ThisFile", &counts)?;
        let mut totals = match header.numbers("NumPart_Total") {
            Some(totals) => by_type("NumPart_Total", &totals)?,
            None => [0; TYPES],
        };
        if let Some(high) = header.numbers("NumPart_Total_HighWord") {
            for (total, high) in totals.iter_mut().zip(by_type("NumPart_Total_HighWord", &high)?) {
                // Where the total has 64 bits, the high word repeats its upper half.
                *total = (*total & 0xffff_ffff | high << 32).max(*total);
            }
        }
        let mut masses = [0.0; TYPES];
        if let Some(table) = header.numbers("MassTable") {
            (0..TYPES.min(table.len())).for_each(|t| masses[t] = table.value(t));
        }
        let time = header.number("Time").ok_or("has no number Time in its Header")?;
        let stated = StatedHeader {
            files: described.files(),
            time,
            counts: counts.into(),
            totals: totals.into(),
        };
        let mut parsed =
            Self { stated, masses, facts: BTreeMap::new(), velocity: 1.0, notes: Vec::new() };
        for (flag, attribute) in FLAGS {
            if let Some(value) = header.number(flag).filter(|value| *value != 0.0) {
                parsed.facts.insert(attribute.into(), value.to_string());
            }
        }
        match described.is_swift() {
            true => parsed.swift(described),
            false => parsed.gadget(described)?,
        }
        Ok(parsed)
    }

    fn add(&mut self, name: &str, value: Option<f64>) {
        if let Some(value) = value.filter(|value| *value != 0.0) {
            self.facts.insert(name.into(), format!("{value:?}"));
        }
    }

    fn gadget(&mut self, described: &Described) -> Result<(), FormatError> {
        let find = |names: &[&str]| {
            described.header.first(names).or_else(|| described.parameters.first(names))
        };
        let is_comoving = find(&["ComovingIntegrationOn"]).map(|flag| flag != 0.0);
        self.add("box_size", box_size(&described.header));
        let hubble = find(&["HubbleParam"]);
        if is_comoving == Some(false) {
            // The densities of a universe that does not expand have no meaning.
            let divided = hubble.filter(|hubble| *hubble != 1.0 && *hubble > 0.0);
            self.notes.extend(divided.map(|hubble| {
                format!("its HubbleParam {hubble} is not used, as ComovingIntegrationOn is 0")
            }));
            return Ok(());
        }
        let matter = find(&["Omega0", "Omega_Matter"]);
        self.add("redshift", described.header.number("Redshift"));
        self.add("omega_0", matter);
        self.add("omega_lambda", find(&["OmegaLambda", "Omega_Lambda"]));
        self.add("hubble_parameter", hubble);
        if is_comoving == Some(true) && matter.is_none_or(|matter| !(matter > 0.0)) {
            return Err(
                "is of an expanding universe (ComovingIntegrationOn 1), but has no Omega0".into()
            );
        }
        Ok(())
    }

    fn swift(&mut self, described: &Described) {
        let Described { header, parameters, cosmology, .. } = described;
        if parameters.number("InitialConditions:periodic") != Some(0.0) {
            self.add("box_size", box_size(header));
        }
        let is_comoving = cosmology.number("Cosmological run").is_some_and(|flag| flag != 0.0);
        let a = cosmology.first(&["Scale-factor"]).or_else(|| header.number("Scale-factor"));
        if let Some(a) = a.filter(|a| is_comoving && *a > 0.0) {
            self.stated.time = a;
            self.velocity = 1.0 / a.sqrt();
            self.add("redshift", Some(1.0 / a - 1.0));
            self.add("omega_0", cosmology.number("Omega_m"));
            self.add("omega_lambda", cosmology.number("Omega_lambda"));
            self.add("hubble_parameter", cosmology.number("h"));
        }
    }
}

/// The longest side.
fn box_size(header: &Attributes) -> Option<f64> {
    let sides = header.numbers("BoxSize")?;
    (0..sides.len().min(3)).map(|k| sides.value(k)).reduce(f64::max)
}

/// Numbers of bodies by type.
fn by_type(name: &str, numbers: &Column) -> Result<[u64; TYPES], FormatError> {
    let mut counts = [0; TYPES];
    for t in 0..numbers.len() {
        let count = match numbers.whole(t) {
            Some(count) if numbers.value(t) >= 0.0 => count,
            _ => {
                let value = numbers.value(t);
                return Err(format!(
                    "its {name} says {value} bodies of type {t}, but a whole number from 0 on was expected"
                ));
            }
        };
        match counts.get_mut(t) {
            Some(place) => *place = count,
            None if count == 0 => {}
            None => {
                let last = TYPES - 1;
                return Err(format!(
                    "its {name} says {count} bodies of type {t}, but types 0 to {last} ({}) are read",
                    KINDS[last].name
                ));
            }
        }
    }
    Ok(counts)
}
