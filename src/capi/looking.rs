//! Functions that read particles back: Sapporo's `get_j_part_data`, and Phantom-GRAPE's dumps to
//! files in the working directory.

use std::ffi::c_int;
use std::fmt::Write as _;
use std::io::Write as _;

use super::guard::DONE;
use super::slices::count;
use super::world::{Key, with_cluster};
use gravitile::error::{Error, Result};
use gravitile::files;

/// The file that numbers are appended to.
const NUMBERS: &str = "dump.dat";

both_forms! { "Returns the j-particle at an address of cluster 0, or of the only open cluster, \
    as set and as predicted. Arguments are Sapporo2's; Sapporo 1 lacks the last three.";
get_j_part_data get_j_part_data_;
(address: int, _nj: int, pos: vectors_out, vel: vectors_out, acc: vectors_out, jrk: vectors_out,
 ppos: vectors_out, pvel: vectors_out, mass: doubles_out, eps2: doubles_out, index: ints_out) {
    let (mut mass, mut eps2, mut index) = (mass, eps2, index);
    let particle = with_cluster(Key::G6(0), |cluster| {
        let particle = cluster.memory.get(address)?;
        Ok((particle, particle.at(cluster.time)))
    })?;
    let (particle, [x, v, _]) = particle;
    let [set_x, set_v, set_a, set_j, ..] = particle.motion;
    for (mut into, from) in [pos, vel, acc, jrk, ppos, pvel].into_iter().zip([set_x, set_v, set_a, set_j, x, v]) {
        into.take(1)?[0] = from.to_array();
    }
    mass.take(1)?[0] = particle.mass;
    eps2.take(1)?[0] = particle.softening_squared;
    index.take(1)?[0] = particle.index;
    Ok(DONE)
} }

both_forms! { "Phantom-GRAPE: writes masses, positions and velocities to dump.dat.TTTTT, one \
    line per particle, where TTTTT is the integer part of `time`.";
g6_dump g6_dump_; (time: double, n: int, m: doubles, x: vectors, v: vectors) {
    let n = count("the number n of particles", n)?;
    let mut table = String::new();
    for ((m, x), v) in m.take(n)?.iter().zip(x.take(n)?).zip(v.take(n)?) {
        let numbers = [*m, x[0], x[1], x[2], v[0], v[1], v[2]].map(|number| format!("{number:+.16e}"));
        let _ = writeln!(table, "{}", numbers.join(" "));
    }
    let name = format!("dump.dat.{:05}", time as i64);
    files::replace(name, table.as_bytes()).map(|()| DONE)
} }

both_forms! { "Phantom-GRAPE: appends a number to the file dump.dat.";
g6_debugfunc g6_debugfunc_; (number: int) {
    add_line(&number.to_string())
} }

both_forms! { "The same for a double."; g6_debugfunc_double g6_debugfunc_double_; (number: double) {
    add_line(&format!("{number:+e}"))
} }

fn add_line(line: &str) -> Result<c_int> {
    let open = std::fs::OpenOptions::new().create(true).append(true).open(NUMBERS);
    open.and_then(|mut file| writeln!(file, "{line}")).map(|()| DONE).map_err(|source| Error::Io {
        action: "write",
        path: NUMBERS.into(),
        source,
    })
}
