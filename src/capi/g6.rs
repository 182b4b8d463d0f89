//! The GRAPE-6 interface: Belleman, Bédorf and Portegies Zwart (2008), appendix B, and Sapporo2's
//! `sapporoG6lib.cpp`; `docs/direct.md` lists where they differ.
//!
//! GRAPE-6 takes scaled derivatives: a2 = a/2, j6 = jerk/6 and k18 = snap/18.

use std::borrow::Cow;
use std::ffi::c_int;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use glam::DVec3;

use super::cluster::{Call, Cluster, Requested};
use super::guard::{DONE, OVERFLOW, report};
use super::options::Options;
use super::queue::Particle;
use super::registry::{self, ClusterKey, with, with_cluster};
use super::results::ResultArrays;
use super::slices::{InputArray, OutputArray, count};
use gravitile::error::{Error, Result};
use gravitile::files;
use gravitile::forces::Moving;

both_forms! { "Opens cluster `id`; no effect if it is open.";
g6_open g6_open_, GPU_g6_open GPU_g6_open_; (id: cluster) { registry::open(ClusterKey::G6(id)) } }

both_forms! { "Sapporo2: opens cluster 0 on `devices` devices of the kind that GRAVITILE_ADAPTER \
    selects.";
g6_open_special g6_open_special_; (devices: int, _list: ignored) { open_special(devices) } }

both_forms! { "The same, as Starlab calls it. Memory grows as needed, so `nmax` is ignored.";
g6_open_special2 g6_open_special2_; (devices: int, _list: ignored, _nmax: int) { open_special(devices) } }

both_forms! { "Closes cluster `id` and frees its memory.";
g6_close g6_close_, GPU_g6_close GPU_g6_close_; (id: cluster) { registry::close(ClusterKey::G6(id)) } }

both_forms! { "Recommended number of i-particles per call; more are accepted.";
g6_npipes g6_npipes_, GPU_g6_npipes GPU_g6_npipes_,
g6_get_number_of_pipelines g6_get_number_of_pipelines_; () { pipelines() } }

// Declared without arguments: clients pass an int, a double, or a pointer to either.
both_forms! { "Unit of time of GRAPE-6's fixed-point numbers. No effect: gravitile has none.";
g6_set_tunit g6_set_tunit_, GPU_g6_set_tunit GPU_g6_set_tunit_; () { Ok(DONE) } }

both_forms! { "Unit of length of GRAPE-6's fixed-point numbers. No effect: gravitile has none.";
g6_set_xunit g6_set_xunit_, GPU_g6_set_xunit GPU_g6_set_xunit_; () { Ok(DONE) } }

both_forms! { "Sets the time to which j-particles are predicted, from the next first half on.";
g6_set_ti g6_set_ti_, GPU_g6_set_ti GPU_g6_set_ti_; (id: cluster, ti: double) {
    set_time(ClusterKey::G6(id), "the time ti", Some(ti))
} }

both_forms! { "Phantom-GRAPE: announces the number of j-particles. No effect.";
g6_setup_njdata g6_setup_njdata_; (id: cluster, _nj: int) { no_effect(id) } }

both_forms! { "Sapporo: uploads particles now. No effect: they are uploaded when needed.";
force_j_particle_send force_j_particle_send_; () { Ok(DONE) } }

both_forms! { "Writes a j-particle to an address.";
g6_set_j_particle g6_set_j_particle_, GPU_g6_set_j_particle GPU_g6_set_j_particle_;
(id: cluster, address: int, index: int, tj: double, _dtj: double, mass: double,
 k18: vectors, j6: vectors, a2: vectors, v: vectors, x: vectors) first {
    Ok(registry::try_enqueue(ClusterKey::G6(id), address, &particle(index, tj, mass, [x, v, a2, j6, k18])?))
} {
    registry::set(ClusterKey::G6(id), address, particle(index, tj, mass, [x, v, a2, j6, k18])?)
} }

both_forms! { "The same for a particle at rest, as tree codes use it.";
g6_set_j_particle_mxonly g6_set_j_particle_mxonly_;
(id: cluster, address: int, index: int, mass: double, x: vectors) {
    at_rest(id, address, index, mass, x)
} }

both_forms! { "The same in `clusters` consecutive clusters from `id` on.";
g6_set_j_particle_multisend_mxfast g6_set_j_particle_multisend_mxfast_,
GPU_g6_set_j_particle_multisend_mxfast GPU_g6_set_j_particle_multisend_mxfast_;
(id: cluster, clusters: int, address: int, index: int, mass: double, x: vectors) {
    // Clients pass 0 or 1 for one cluster.
    for k in 0..clusters.clamp(1, 1024) {
        at_rest(id.saturating_add(k), address, index, mass, x)?;
    }
    Ok(DONE)
} }

both_forms! { "No effect: particles are always buffered, and uploaded when needed.";
g6_initialize_jp_buffer g6_initialize_jp_buffer_,
GPU_g6_initialize_jp_buffer GPU_g6_initialize_jp_buffer_;
(id: cluster, _size: int) { no_effect(id) } }

both_forms! { "No effect: particles are uploaded when needed.";
g6_flush_jp_buffer g6_flush_jp_buffer_, GPU_g6_flush_jp_buffer GPU_g6_flush_jp_buffer_;
(id: cluster) { no_effect(id) } }

both_forms! { "No effect: particles are uploaded when needed.";
g6_flush_jp_buffer_and_multisend g6_flush_jp_buffer_and_multisend_,
GPU_g6_flush_jp_buffer_and_multisend GPU_g6_flush_jp_buffer_and_multisend_;
(id: cluster, _clusters: int) { no_effect(id) } }

both_forms! { "Uploads changed particles, predicts all, and starts the forces of those below \
    address `nj`.";
g6calc_firsthalf g6calc_firsthalf_, GPU_g6calc_firsthalf GPU_g6calc_firsthalf_,
GPU2_g6calc_firsthalf GPU2_g6calc_firsthalf_;
(id: cluster, nj: int, ni: int, index: ints, xi: vectors, vi: vectors,
 _aold: ignored, _j6old: ignored, _phiold: ignored, eps2: double, h2: doubles) {
    // Discards a previous call first: if this one fails, a last half must not return old results.
    with_cluster(ClusterKey::G6(id), |cluster| { cluster.reset(); Ok(()) })?;
    let (addresses, n) = (count("the number nj of j-particles", nj)?, count("the number ni of i-particles", ni)?);
    with_cluster(ClusterKey::G6(id), |cluster| {
        let call = Call {
            addresses,
            position: Cow::Borrowed(bytemuck::cast_slice(xi.take(n)?)),
            velocity: Cow::Borrowed(bytemuck::cast_slice(vi.take(n)?)),
            acceleration: Cow::default(),
            index: Cow::Borrowed(index.take(n)?),
            softening_squared: eps2,
            radius_squared: Cow::Borrowed(h2.take_if_any(n)),
        };
        cluster.begin(&call).map(|()| DONE)
    })
} }

both_forms! { "Waits for the results of the first half. On failure the arrays are filled with NaN.";
g6calc_lasthalf g6calc_lasthalf_, GPU_g6calc_lasthalf GPU_g6calc_lasthalf_,
GPU2_g6calc_lasthalf GPU2_g6calc_lasthalf_, g6calc_lasthalfn g6calc_lasthalfn_;
(id: cluster, _nj: int, ni: int, _index: ignored, _xi: ignored, _vi: ignored, _eps2: double,
 _h2: ignored, acc: vectors_out, jerk: vectors_out, pot: doubles_out) {
    finish(id, ni, [acc, jerk], pot, None, None)
} }

both_forms! { "The same with the index of the nearest j-particle, -1 for none.";
g6calc_lasthalf2 g6calc_lasthalf2_, GPU_g6calc_lasthalf2 GPU_g6calc_lasthalf2_,
GPU2_g6calc_lasthalf2 GPU2_g6calc_lasthalf2_, g6calc_lasthalf2n g6calc_lasthalf2n_;
(id: cluster, _nj: int, ni: int, _index: ignored, _xi: ignored, _vi: ignored, _eps2: double,
 _h2: ignored, acc: vectors_out, jerk: vectors_out, pot: doubles_out, nnbindex: ints_out) {
    finish(id, ni, [acc, jerk], pot, Some(nnbindex), None)
} }

both_forms! { "Phantom-GRAPE: the same with its squared distance, without eps; infinite for none.";
g6calc_lasthalf2p g6calc_lasthalf2p_, g6calc_lasthalf2np g6calc_lasthalf2np_;
(id: cluster, _nj: int, ni: int, _index: ignored, _xi: ignored, _vi: ignored, _eps2: double,
 _h2: ignored, acc: vectors_out, jerk: vectors_out, pot: doubles_out, nnbindex: ints_out, rnnb: floats_out) {
    finish(id, ni, [acc, jerk], pot, Some(nnbindex), Some(rnnb))
} }

both_forms! { "Computes the lists of j-particles within h of each i-particle. Returns 1 if some \
    are truncated.";
g6_read_neighbour_list g6_read_neighbour_list_, g6_read_neighbour_list_old g6_read_neighbour_list_old_,
GPU_g6_read_neighbour_list GPU_g6_read_neighbour_list_; (id: cluster) {
    with_cluster(ClusterKey::G6(id), read_lists)
} }

both_forms! { "Returns a list. `nblen` is the number found; returns 1 if `nbl` holds fewer.";
g6_get_neighbour_list g6_get_neighbour_list_,
GPU_g6_get_neighbour_list GPU_g6_get_neighbour_list_;
(id: cluster, ipipe: int, maxlength: int, nblen: ints_out, nbl: ints_out) {
    let sorts = with(|registry| Ok(registry.sorts_lists))?;
    give_list(ClusterKey::G6(id), ipipe, maxlength, sorts, nblen, nbl)
} }

both_forms! { "Sorts lists by index (1, the default) or by address (0), for all clusters.";
g6_set_neighbour_list_sort_mode g6_set_neighbour_list_sort_mode_,
GPU_g6_set_neighbour_list_sort_mode GPU_g6_set_neighbour_list_sort_mode_; (mode: int) {
    with(|registry| { registry.sorts_lists = mode != 0; Ok(DONE) })
} }

both_forms! { "Returns the sort mode of lists.";
g6_get_neighbour_list_sort_mode g6_get_neighbour_list_sort_mode_; () {
    with(|registry| Ok(c_int::from(registry.sorts_lists)))
} }

both_forms! { "Selects the fixed-point overflows that count as errors. No effect: there are none.";
g6_set_overflow_flag_test_mode g6_set_overflow_flag_test_mode_,
GPU_g6_set_overflow_flag_test_mode GPU_g6_set_overflow_flag_test_mode_; () { Ok(DONE) } }

both_forms! { "Cancels the pending call. The j-particles are unchanged.";
g6_reset g6_reset_, GPU_g6_reset GPU_g6_reset_; (id: cluster) { reset(id) } }

both_forms! { "The same: there is no FPGA to reprogram.";
g6_reset_fofpga g6_reset_fofpga_, GPU_g6_reset_fofpga GPU_g6_reset_fofpga_;
(id: cluster) { reset(id) } }

both_forms! { "The same.";
g6_reinitialize g6_reinitialize_, GPU_g6_reinitialize GPU_g6_reinitialize_;
(id: cluster) { reset(id) } }

both_forms! { "Prints a line on stderr that describes the engine of cluster `id`.";
g6_print_chip_status g6_print_chip_status_,
GPU_g6_print_chip_status GPU_g6_print_chip_status_; (id: cluster) {
    let status = with_cluster(ClusterKey::G6(id), |cluster| Ok(cluster.describe()))?;
    report("g6_print_chip_status", &format!("cluster {id}: {status}"));
    Ok(DONE)
} }

both_forms! { "Returns the j-particle at an address of cluster 0, or of the only open cluster, \
    as set and as predicted. Arguments are Sapporo2's; Sapporo 1 lacks the last three.";
get_j_part_data get_j_part_data_;
(address: int, _nj: int, pos: vectors_out, vel: vectors_out, acc: vectors_out, jrk: vectors_out,
 ppos: vectors_out, pvel: vectors_out, mass: doubles_out, eps2: doubles_out, index: ints_out) {
    let (mut mass, mut eps2, mut index) = (mass, eps2, index);
    let (particle, [px, pv, _]) = with_cluster(ClusterKey::G6(0), |cluster| cluster.particle(address))?;
    let [x, v, a, j, ..] = particle.moving.motion;
    for (mut into, from) in [pos, vel, acc, jrk, ppos, pvel].into_iter().zip([x, v, a, j, px, pv]) {
        into.take(1)?[0] = from.to_array();
    }
    mass.take(1)?[0] = particle.moving.mass;
    eps2.take(1)?[0] = particle.softening_squared;
    index.take(1)?[0] = particle.index;
    Ok(DONE)
} }

both_forms! { "Phantom-GRAPE: writes masses, positions and velocities to dump.dat.TTTTT in the \
    working directory, one line per particle, where TTTTT is the integer part of `time`.";
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
g6_debugfunc g6_debugfunc_; (number: int) { dump_line(&number.to_string()) } }

both_forms! { "The same for a double."; g6_debugfunc_double g6_debugfunc_double_; (number: double) {
    dump_line(&format!("{number:+e}"))
} }

/// Default number of i-particles per call. GRAPE-6 and Phantom-GRAPE return 48, and programs have
/// arrays of that length.
const PIPELINES: c_int = 48;

/// The same for programs that call Sapporo's open functions. That library returns 256, so their
/// arrays have at least that length.
const PIPELINES_OF_SAPPORO: c_int = 256;

/// The default that was first returned to this process, 0 before: it must not change later, since
/// the program may have allocated arrays of that length.
static RETURNED_PIPELINES: AtomicI32 = AtomicI32::new(0);

static IS_SAPPORO_CLIENT: AtomicBool = AtomicBool::new(false);

fn open_special(devices: c_int) -> Result<c_int> {
    IS_SAPPORO_CLIENT.store(true, Ordering::Relaxed);
    registry::open_with(ClusterKey::G6(0), None, devices)
}

/// The number of pipelines. May be called before a cluster is open.
pub fn pipelines() -> Result<c_int> {
    let default =
        if IS_SAPPORO_CLIENT.load(Ordering::Relaxed) { PIPELINES_OF_SAPPORO } else { PIPELINES };
    if let Some(chosen) = Options::of_user()?.pipelines {
        return Ok(chosen);
    }
    let before =
        RETURNED_PIPELINES.compare_exchange(0, default, Ordering::Relaxed, Ordering::Relaxed);
    Ok(before.map_or_else(|returned| returned, |_| default))
}

/// A C vector as `DVec3`.
#[inline(always)]
pub fn vector(from: InputArray<[f64; 3]>) -> Result<DVec3> {
    from.one().map(DVec3::from_array)
}

#[inline(always)]
fn particle(
    index: c_int,
    time: f64,
    mass: f64,
    given: [InputArray<[f64; 3]>; 5],
) -> Result<Particle> {
    let [x, v, a2, j6, k18] = given;
    let (a, j, s) = (2.0 * vector(a2)?, 6.0 * vector(j6)?, 18.0 * vector(k18)?);
    let motion = [vector(x)?, vector(v)?, a, j, s, DVec3::ZERO];
    Ok(Particle { index, softening_squared: 0.0, moving: Moving { time, mass, motion } })
}

fn at_rest(
    id: c_int,
    address: c_int,
    index: c_int,
    mass: f64,
    x: InputArray<[f64; 3]>,
) -> Result<c_int> {
    let mut moving = Moving { mass, ..Moving::default() };
    moving.motion[0] = vector(x)?;
    registry::set(ClusterKey::G6(id), address, Particle { index, softening_squared: 0.0, moving })
}

/// Sets the time to which j-particles are predicted; `None` for no prediction.
pub fn set_time(key: ClusterKey, name: &str, time: Option<f64>) -> Result<c_int> {
    match time {
        Some(time) if !time.is_finite() => Err(Error::value(name, time, "finite")),
        time => with_cluster(key, |cluster| {
            cluster.time = time;
            Ok(DONE)
        }),
    }
}

/// For calls that do nothing but require an open cluster.
fn no_effect(id: c_int) -> Result<c_int> {
    with_cluster(ClusterKey::G6(id), |_| Ok(DONE))
}

fn reset(id: c_int) -> Result<c_int> {
    with_cluster(ClusterKey::G6(id), |cluster| {
        cluster.reset();
        Ok(DONE)
    })
}

/// A last half: waits for the results and writes them to the client's arrays.
fn finish(
    id: c_int,
    ni: c_int,
    [acceleration, jerk]: [OutputArray<[f64; 3]>; 2],
    potential: OutputArray<f64>,
    nearest: Option<OutputArray<c_int>>,
    nearest_squared_f32: Option<OutputArray<f32>>,
) -> Result<c_int> {
    let n = count("the number ni of i-particles", ni)?;
    let requested = match (&nearest, &nearest_squared_f32) {
        (_, Some(_)) => Requested::Distance,
        (Some(_), None) => Requested::Nearest,
        (None, None) => Requested::Forces,
    };
    let arrays = ResultArrays {
        acceleration: Some(acceleration),
        jerk: Some(jerk),
        potential: Some(potential),
        nearest,
        nearest_squared_f32,
        ..ResultArrays::default()
    };
    arrays.fill(n, |arrays| {
        with_cluster(ClusterKey::G6(id), |cluster| arrays.write(cluster.finish(n, requested)?, &[]))
    })
}

/// Computes the neighbour lists of the last call.
pub fn read_lists(cluster: &mut Cluster) -> Result<c_int> {
    Ok(if cluster.read_lists()? { OVERFLOW } else { DONE })
}

/// Writes a neighbour list to the client's arrays.
pub fn give_list(
    key: ClusterKey,
    ipipe: c_int,
    maxlength: c_int,
    sorts: bool,
    mut nblen: OutputArray<c_int>,
    mut nbl: OutputArray<c_int>,
) -> Result<c_int> {
    let capacity = count("maxlength", maxlength)?;
    let (mut list, found) = with_cluster(key, |cluster| cluster.list(ipipe))?;
    if sorts {
        list.sort_unstable();
    }
    list.truncate(capacity);
    nblen.take(1)?[0] = c_int::try_from(found).unwrap_or(c_int::MAX);
    nbl.take(list.len())?.copy_from_slice(&list);
    Ok(if found > list.len() { OVERFLOW } else { DONE })
}

/// Appends a line to Phantom-GRAPE's file.
fn dump_line(line: &str) -> Result<c_int> {
    const FILE: &str = "dump.dat";
    let open = std::fs::OpenOptions::new().create(true).append(true).open(FILE);
    open.and_then(|mut file| writeln!(file, "{line}"))
        .map(|()| DONE)
        .map_err(|error| Error::io("write", std::path::Path::new(FILE), error))
}
