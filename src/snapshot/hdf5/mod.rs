//! HDF5 snapshots in the layouts of GADGET-4, AREPO, GIZMO and SWIFT; behind the feature `hdf5`.
//!
//! | group | content |
//! |---|---|
//! | `Header` | attributes: bodies by type in this file and in all, table of masses, time, redshift, files |
//! | `PartType0` to `PartType6` | datasets with a row per body: `Coordinates`, `Velocities`, `ParticleIDs`, `Masses`, others |
//! | `Parameters`, `Units`, `Cosmology` | attributes with units and densities, as the code writes them |
//! | `gravitile` | attributes that only this program writes: its own attributes, components and names of units |
//!
//! Numbers may be integers of 8 to 64 bits or floating point of 32 or 64, in either byte order,
//! plain or in chunks, with the filters gzip, shuffle, fletcher32 and LZF. Attributes may be
//! scalars or arrays of one. Masses are those of `Masses`, or of the header's table if there are
//! none. The types become the components `gas`, `halo`, `disk`, `bulge`, `stars`, `boundary` and
//! `neutrinos`; of SWIFT `gas`, `halo`, `background`, `sinks`, `stars`, `black holes` and
//! `neutrinos`. AREPO's tracers are left out.
//!
//! Any other dataset of one to 16 numbers per body becomes a column of [`Snapshot::extra`] under
//! its name, that of GADGET 2's block if there is one (`Potential` is `POT`), vectors as `ACCE.x`,
//! `ACCE.y`, `ACCE.z`. Bodies of types without the dataset have NaN.
//!
//! Units are those of `UnitLength_in_cm`, `UnitMass_in_g` and `UnitVelocity_in_cm_per_s` in
//! `Header`, `Parameters` or `Units`, or of SWIFT's `Units`; GADGET's default ones are assumed,
//! which is noted, if there are none. In cosmological snapshots they are divided by the Hubble
//! parameter (not SWIFT's), positions remain comoving, and velocities are divided by the square
//! root of the scale factor.
//!
//! # Writing
//! The layout is GADGET's. Positions, velocities and masses are f32 if all of their numbers are
//! exact in f32, else f64; ids are u64, and columns keep their types. Every type has `Masses`.
//! Every file states units, since readers would assume others: those of N-body units are kpc, km/s
//! and the mass with which the gravitational constant has its value. As yt assumes kpc, 1e10 solar
//! masses and km/s whatever the file states, known units are converted to these, except with
//! `-raw`; for N-body units yt needs its `unit_base`.
//!
//! # Several files
//! `snap_000.0.hdf5`, `snap_000.1.hdf5`, ...: as of [`super::gadget`]. Types may be missing in any
//! of them.

mod header;
mod names;
mod numbers;
mod open;
mod own;
mod read;
mod units;
mod write;

#[cfg(doc)]
use super::Snapshot;
use super::file::is_hdf5;
use super::kinds::BodyType;
use super::{Confidence, F32, F64, Format, RAW_UNITS, Several, gadget};
use crate::bodies::Role;

/// The format's entry in the registry.
pub(super) const FORMAT: Format = Format {
    name: "gadget-hdf5",
    summary: "HDF5 of GADGET-4, AREPO, GIZMO; SWIFT's is read",
    holds: "everything but the order of bodies of different types; compressed",
    extensions: &["hdf5", "h5"],
    units: Some(units::assumed),
    modifiers: &[F64, F32, RAW_UNITS],
    recognise: |head, _| if is_hdf5(head) { Confidence::Sure } else { Confidence::No },
    files: Some(Several { count: read::files, is_index: None }),
    series: None,
    read: read::read,
    write: Some(write::write),
};

const TYPES: usize = 7;

/// The components that the types become: those of GADGET's files, and neutrinos.
const KINDS: &[BodyType; TYPES] = {
    let [gas, halo, disk, bulge, stars, boundary] = *gadget::KINDS;
    &[gas, halo, disk, bulge, stars, boundary, BodyType { name: "neutrinos", role: Role::Halo }]
};

/// The components that SWIFT's types become.
const SWIFT_KINDS: &[BodyType; TYPES] = &[
    BodyType { name: "gas", role: Role::Gas },
    BodyType { name: "halo", role: Role::Halo },
    BodyType { name: "background", role: Role::Halo },
    BodyType { name: "sinks", role: Role::Star },
    BodyType { name: "stars", role: Role::Star },
    BodyType { name: "black holes", role: Role::Star },
    BodyType { name: "neutrinos", role: Role::Halo },
];
