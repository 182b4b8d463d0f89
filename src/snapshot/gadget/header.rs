//! The header of 256 bytes.
//!
//! Offsets: 0 bodies in this file by type (6 i32); 24 masses by type (6 f64; 0 if the masses are in
//! a MASS block); 72 time, 80 redshift (f64); 88 and 92 flags of star formation and feedback (i32);
//! 96 bodies in all files (6 u32); 120 flag of cooling; 124 number of files; 128 box size, 136
//! Omega_0, 144 Omega_Lambda, 152 Hubble parameter (f64); 160 and 164 flags of stellar ages and
//! metals; 168 high words of the bodies in all files (6 u32); 192 flag of entropy instead of U; 196
//! flag of f64 (GADGET-3); the rest is unused.

use std::collections::BTreeMap;

use super::super::bytes::ByteWriter;
use super::super::kinds::StatedHeader;
use super::super::{Endianness, FormatError, Losses, Snapshot};
use super::{HEADER_BYTES, KINDS, TYPES};
use crate::messages;
use crate::units::{Measure, Units};

/// A number of the header that becomes an attribute.
struct HeaderFact {
    attribute: &'static str,
    at: usize,
    is_f64: bool,
}

const fn real(attribute: &'static str, at: usize) -> HeaderFact {
    HeaderFact { attribute, at, is_f64: true }
}

const fn flag(attribute: &'static str, at: usize) -> HeaderFact {
    HeaderFact { attribute, at, is_f64: false }
}

const FACTS: [HeaderFact; 11] = [
    real("redshift", 80),
    flag("gadget.flag_sfr", 88),
    flag("gadget.flag_feedback", 92),
    flag("gadget.flag_cooling", 120),
    real("box_size", 128),
    real("omega_0", 136),
    real("omega_lambda", 144),
    real("hubble_parameter", 152),
    flag("gadget.flag_stellar_age", 160),
    flag("gadget.flag_metals", 164),
    flag("gadget.flag_entropy", 192),
];

/// Attribute with the flag that decides which gas blocks format 1 has.
pub(super) const COOLING: &str = "gadget.flag_cooling";

/// The units that readers assume: kpc, 1e10 solar masses and km/s, all but velocities divided by
/// the Hubble parameter in snapshots of an expanding universe.
pub(in crate::snapshot) fn units(snapshot: &Snapshot) -> Units {
    let gadget = Units::gadget();
    match (snapshot.scale_factor(), snapshot.number("hubble_parameter")) {
        (Some(_), Some(hubble)) if hubble.is_normal() && hubble > 0.0 && hubble != 1.0 => {
            let divided = |name: &str| {
                let Measure { factor, name } = Measure::of(name);
                let factor =
                    format!("{:e}", messages::rounded(factor / hubble, 9)).replace("e0", "");
                format!("{factor} {name}")
            };
            let [length, mass, time] =
                [gadget.length, gadget.mass, gadget.time].map(|n| divided(&n));
            Units { length, mass, time, ..gadget }
        }
        _ => gadget,
    }
}

/// The number of files of the snapshot according to the 256 bytes of a header; at least 1.
pub(super) fn files(data: &[u8], endianness: Endianness) -> u64 {
    u64::try_from(endianness.i32(&data[124..])).unwrap_or(0).max(1)
}

/// The content of a header.
#[derive(Clone, Debug, Default)]
pub(super) struct GadgetHeader {
    /// Bodies in this file by type.
    pub counts: [usize; TYPES],
    /// Bodies in all files by type; may be 0 in a single file.
    pub totals: [u64; TYPES],
    /// Number of files.
    pub files: u64,
    /// Masses by type; 0 if they vary.
    pub masses: [f64; TYPES],
    /// In internal units, or the scale factor.
    pub time: f64,
    /// The other numbers that are not 0.
    pub facts: BTreeMap<String, String>,
}

impl GadgetHeader {
    /// Parses the 256 bytes of the header, which begin at byte `at` of the file.
    pub fn parse(data: &[u8], at: usize, endianness: Endianness) -> Result<Self, FormatError> {
        if data.len() != HEADER_BYTES {
            return Err(format!(
                "the GADGET header at byte {at} has {} bytes, but {HEADER_BYTES} were expected",
                data.len()
            ));
        }
        let time = endianness.f64(&data[72..]);
        let mut header = Self { time, files: files(data, endianness), ..Self::default() };
        for t in 0..TYPES {
            let count = endianness.i32(&data[4 * t..]);
            header.counts[t] = usize::try_from(count).map_err(|_| {
                let kind = KINDS[t].name;
                format!(
                    "the GADGET header says {count} bodies of type {t} ({kind}) at byte {}, but counts cannot be negative",
                    at + 4 * t
                )
            })?;
            header.masses[t] = endianness.f64(&data[24 + 8 * t..]);
            let [low, high] = [96, 168].map(|at| endianness.u32(&data[at + 4 * t..]));
            header.totals[t] = u64::from(high) << 32 | u64::from(low);
        }
        for fact in &FACTS {
            let number = &data[fact.at..];
            let text = if fact.is_f64 {
                format!("{:?}", endianness.f64(number))
            } else {
                endianness.i32(number).to_string()
            };
            if text != "0" && text != "0.0" {
                header.facts.insert(fact.attribute.into(), text);
            }
        }
        Ok(header)
    }

    /// What must agree between the files of a snapshot.
    pub fn stated(&self) -> StatedHeader {
        StatedHeader {
            files: self.files,
            time: self.time,
            counts: self.counts.iter().map(|&count| count as u64).collect(),
            totals: self.totals.to_vec(),
        }
    }

    /// Number of bodies of all types.
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|&count| count as u64).sum()
    }

    /// Whether the header holds this attribute when written.
    pub fn holds(attribute: &str) -> bool {
        FACTS.iter().any(|fact| fact.attribute == attribute)
    }

    /// The 256 bytes. Counts and the number of files must fit i32. An attribute that is not a
    /// number is noted and left out.
    pub fn bytes(&self, endianness: Endianness, double: bool, losses: &mut Losses) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_BYTES];
        let mut put = |at: usize, write: &dyn Fn(&mut ByteWriter)| {
            let mut number = ByteWriter::new(endianness, 8);
            write(&mut number);
            bytes[at..at + number.bytes.len()].copy_from_slice(&number.bytes);
        };
        for t in 0..TYPES {
            put(4 * t, &|out| out.u32(self.counts[t] as u32));
            put(24 + 8 * t, &|out| out.f64(self.masses[t]));
            put(96 + 4 * t, &|out| out.u32(self.totals[t] as u32));
            put(168 + 4 * t, &|out| out.u32((self.totals[t] >> 32) as u32));
        }
        put(72, &|out| out.f64(self.time));
        put(124, &|out| out.u32(self.files as u32));
        put(196, &|out| out.u32(double.into()));
        for fact in &FACTS {
            let Some(text) = self.facts.get(fact.attribute) else { continue };
            match (fact.is_f64, text.parse::<f64>(), text.parse::<i32>()) {
                (true, Ok(number), _) => put(fact.at, &|out| out.f64(number)),
                (false, _, Ok(number)) => put(fact.at, &|out| out.u32(number as u32)),
                _ => losses.note(format!(
                    "attribute {} = '{text}' is not a {}, 0 is written",
                    fact.attribute,
                    if fact.is_f64 { "number" } else { "32-bit whole number" }
                )),
            }
        }
        bytes
    }
}
