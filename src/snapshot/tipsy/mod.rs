//! Tipsy, the format of the TIPSY viewer and of GASOLINE, ChaNGa, Bonsai and NVIDIA's samples.
//!
//! A header (time f64; number of bodies, dimensions, gas, dark and star bodies as i32: 28 bytes,
//! usually followed by 4 of padding for alignment) and three runs of records:
//!
//! | kind | bytes | f32 each |
//! |---|---|---|
//! | gas | 48 | mass, position, velocity, rho, temp, hsmooth, metals, phi |
//! | dark | 36 | mass, position, velocity, eps, phi |
//! | star | 44 | mass, position, velocity, metals, tform, eps, phi |
//!
//! `Standard` files are big-endian (XDR), `native` ones have the writer's byte order; the number of
//! dimensions, 3, tells which. The kinds become the components `gas`, `halo` and `stars`; the other
//! columns go to [`Snapshot::extra`] under the names above (a column of zeros is left out, as
//! writing restores it). Tipsy has no ids: the bodies are numbered from 0.
//!
//! NVIDIA's and Bonsai's files have an integer id in place of phi in dark and star records: dark
//! ids from 200,000,000, disk stars below 100,000,000, bulge stars between. This variant is
//! recognised if all ids lie in these ranges (dark ones below 800,000,000) and are not all 0: as
//! potentials they would all be positive and below 1e-9. Its stars become the components `disk` and
//! `bulge`. Its gas bodies have no ids and are numbered from 1,000,000,000.
//!
//! A file with the long header that has lost its last 4 bytes has the length of one with the short
//! header. It is detected, and rejected, because it has no masses where they should be.
//!
//! Writing groups the bodies into gas, dark and star and keeps their order within each. Numbers are
//! narrowed to f32; time stays f64. The padding has no meaning and is not kept.

mod read;
mod write;

#[cfg(doc)]
use super::Snapshot;
use super::kinds::Kind;
use super::{Endianness, Format, LITTLE_ENDIAN, Modifier, RAW_UNITS};
use crate::bodies::Role;

/// The format's entry in the registry.
pub(super) const FORMAT: Format = Format {
    name: "tipsy",
    summary: "TIPSY, GASOLINE, ChaNGa; with integer ids NVIDIA's samples and Bonsai",
    holds: "time, f32 masses, positions, velocities; gas, dark and star; rho, temp, hsmooth, metals, tform, eps, phi; no units; ids only with -id, which has no phi",
    extensions: &["tipsy", "tip", "bin"],
    units: Some(|snapshot| snapshot.units.with_g_one()),
    modifiers: &[
        LITTLE_ENDIAN,
        Modifier {
            suffix: "be",
            summary: "big-endian, tipsy's standard",
            apply: |options| options.endianness = Some(Endianness::Big),
        },
        Modifier {
            suffix: "28",
            summary: "header of 28 bytes, without padding",
            apply: |options| options.short_header = Some(true),
        },
        Modifier {
            suffix: "id",
            summary: "integer ids in the place of the potential",
            apply: |options| options.integer_ids = Some(true),
        },
        Modifier {
            suffix: "phi",
            summary: "potentials, no ids",
            apply: |options| options.integer_ids = Some(false),
        },
        RAW_UNITS,
    ],
    recognise: read::recognise,
    files: None,
    series: None,
    read: |input, _| input.whole(read::read),
    write: Some(|snapshot, options, output, losses| {
        output.whole(write::write(snapshot, options, losses))
    }),
};

/// Columns after mass, position and velocity, by section: gas, dark, star.
const COLUMNS: [&[&str]; 3] = [
    &["rho", "temp", "hsmooth", "metals", "phi"],
    &["eps", "phi"],
    &["metals", "tform", "eps", "phi"],
];

/// Names of the sections in messages.
const SECTIONS: [&str; 3] = ["gas", "dark", "star"];

const SECTION_GAS: usize = 0;
const SECTION_DARK: usize = 1;

/// The components of a plain file's bodies, by section.
const KINDS: &[Kind] = &[
    Kind { name: "gas", role: Role::Gas },
    Kind { name: "halo", role: Role::Halo },
    Kind { name: "stars", role: Role::Star },
];

/// The components of the bodies of a file with ids.
const KINDS_WITH_IDS: &[Kind] = &[
    Kind { name: "gas", role: Role::Gas },
    Kind { name: "halo", role: Role::Halo },
    Kind { name: "disk", role: Role::Disk },
    Kind { name: "bulge", role: Role::Bulge },
];

const KIND_DISK: usize = 2;
const KIND_BULGE: usize = 3;

/// First id and end of the range, by kind of [`KINDS_WITH_IDS`].
const ID_RANGES: [(u64, u64); 4] = [
    (1_000_000_000, u64::MAX),
    (200_000_000, 800_000_000),
    (0, 100_000_000),
    (100_000_000, 200_000_000),
];

/// The attribute that records the variant of a file.
const IDS_ATTRIBUTE: &str = "layout.tipsy.ids";

/// Bytes of one record of a section.
const fn record_bytes(section: usize) -> usize {
    4 * (7 + COLUMNS[section].len())
}
