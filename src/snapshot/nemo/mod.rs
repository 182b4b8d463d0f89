//! NEMO's structured files, written by its programs (gyrfalcON, hackcode1, mkplummer), by AMUSE and
//! by unsio.
//!
//! A file is a sequence of items, each in the byte order of the machine that wrote it:
//!
//! ```text
//!  u16   0x0992 for one value, 0x0b92 for an array; read as 0x9209 or 0x920b it shows the other order
//!  text  the type, ended by NUL: c char, b byte, s i16, i i32, l i64, h f16, f f32, d f64, a any;
//!        ( begins a set of items, ) ends it
//!  text  the name, ended by NUL; none for )
//!  i32   for arrays: the dimensions, ended by 0
//!  data  the values, the last dimension running fastest
//! ```
//!
//! A snapshot is the set `SnapShot` of two sets: `Parameters` (`Nobj`, `Time`) and `Particles`
//! (`CoordSystem` = 66306, `Mass`, `PhaseSpace` or `Position` and `Velocity`, and optionally `Key`,
//! `Potential`, `Acceleration`, `Aux`, `Density` and `Eps`). Sets without coordinates hold
//! diagnostics and are not counted. `Key` holds the ids; without it the bodies are numbered from 0.
//!
//! A file may hold many snapshots, of which [`super::ReadOptions::snapshot`] chooses one. Programs
//! such as hackcode1 write the masses only into the first: a snapshot without masses has those of
//! the snapshot before it. A file that ends inside a snapshot, such as that of a run which is still
//! writing, holds those before it, which is noted.
//!
//! NEMO's files have no units (G = 1 is assumed) and no components. Bodies are written in f64 with
//! `PhaseSpace`, which its oldest programs read as well. Its `Headline` and `History` become the
//! attributes `headline` and `history` (one line per program) and are written again.
//!
//! Source: NEMO's `filestruct.c`, `snapshot/snapshot.h` and `filesecret.h`.

mod items;
mod read;
mod write;

use super::{Confidence, Endianness, Format, LITTLE_ENDIAN, Modifier, RAW_UNITS};

/// The format's entry in the registry.
pub(super) const FORMAT: Format = Format {
    name: "nemo",
    summary: "NEMO: gyrfalcON, hackcode1 and its other programs; AMUSE, unsio",
    holds: "time, f64 masses, positions, velocities; ids up to 2^63; phi, ACCE, rho, eps, aux; headline, history; no components, no units",
    extensions: &["nemo", "snp"],
    units: Some(|snapshot| snapshot.units.with_g_one()),
    modifiers: &[
        LITTLE_ENDIAN,
        Modifier {
            suffix: "be",
            summary: "big-endian",
            apply: |options| options.endianness = Some(Endianness::Big),
        },
        RAW_UNITS,
    ],
    recognise: |head, _| match items::begins(head) {
        true => Confidence::Sure,
        false => Confidence::No,
    },
    files: None,
    series: Some(read::times),
    read: |input, options| input.whole(|bytes| read::read(bytes, options)),
    write: Some(|snapshot, options, output, losses| {
        output.whole(write::write(snapshot, options, losses))
    }),
};

/// The magic numbers of one value and of an array.
const SINGLE: u16 = 0x0992;
const PLURAL: u16 = 0x0b92;

/// `CoordSystem` of Cartesian coordinates in 3 dimensions with 2 derivatives (x, v).
const CARTESIAN: i64 = 0x01_03_02;

/// Items of `Particles` that become columns, with the columns of their values per body. In
/// snapshots converted from GADGET, `phi` and `rho` are named `POT` and `RHO`.
const COLUMNS: [(&str, &[&str]); 5] = [
    ("Potential", &["phi"]),
    ("Acceleration", &["ACCE.x", "ACCE.y", "ACCE.z"]),
    ("Aux", &["aux"]),
    ("Density", &["rho"]),
    ("Eps", &["eps"]),
];

/// The attributes for `Headline` and `History`.
const HEADLINE: &str = "headline";
const HISTORY: &str = "history";
