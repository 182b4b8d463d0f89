//! Functions behind Sapporo2's C++ class `sapporo` in `include/sapporo.h`. Each object has its own
//! memory of j-particles and the order of GRAPE-5, GRAPE-6 or the sixth-order interface.
//! Derivatives are unscaled, as in that class.

use std::borrow::Cow;
use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};

use glam::DVec3;

use super::cluster::{Call, Cluster};
use super::g6::{give_list, read_lists, set_time};
use super::guard::DONE;
use super::options::Options;
use super::queue::Particle;
use super::registry::{self, ClusterKey, with_cluster};
use super::results::{self, ResultArrays};
use super::slices::count;
use gravitile::error::{Error, Result};
use gravitile::forces::{Moving, Order, Precision};

/// Orders by Sapporo2's numbers, from 0.
const ORDERS: [Order; 3] = [Order::Acceleration, Order::Jerk, Order::Snap];

value_form! { "Creates an object of order 0 (GRAPE-5), 1 (GRAPE-6) or 2 (the sixth) with a \
    precision of at least 0 (single), 1 (double-single) or 2 (double). Returns its number.";
sapporo_open; (order: int, precision: int) {
    static NEXT: AtomicI32 = AtomicI32::new(0);
    let requested = usize::try_from(order).ok().and_then(|order| ORDERS.get(order));
    let requested = *requested.ok_or_else(|| Error::value("the order", order, "0 (GRAPE-5), 1 (GRAPE-6) or 2 (the sixth)"))?;
    let precision = match precision {
        // As in Sapporo2, single applies to GRAPE-5 only.
        0 if requested > Order::Acceleration => None,
        0 => Some(Precision::Single),
        1 => Some(Precision::DoubleSingle),
        2 => Some(Precision::Double),
        other => return Err(Error::value("the precision", other, "0 (single), 1 (double-single) or 2 (double)")),
    };
    // The number encodes the order in its two lowest bits.
    let number = (NEXT.fetch_add(1, Ordering::Relaxed) & 0x0fff_ffff) * 4 + order;
    registry::open_with(ClusterKey::Object(number, requested), precision, 1)?;
    Ok(number)
} }

value_form! { "Recommended number of i-particles per call: `most`, the length of the program's \
    arrays, unless the user set another.";
sapporo_pipelines; (most: int) { Ok(Options::of_user()?.pipelines.unwrap_or(most)) } }

value_form! { "Frees an object's memory."; sapporo_close; (object: int) {
    registry::close(key(object))
} }

value_form! { "Sets the time to which j-particles are predicted.";
sapporo_set_time; (object: int, time: double) {
    set_time(key(object), "the time", Some(time))
} }

value_form! { "Uses j-particles as set, without prediction."; sapporo_set_no_time; (object: int) {
    set_time(key(object), "the time", None)
} }

value_form! { "Writes a j-particle to an address. Derivatives that the order does not use are \
    not read; `eps2` is only stored.";
sapporo_set_j_particle; (object: int, address: int, index: int, time: double, mass: double,
 pos: vectors, vel: vectors, acc: vectors, jrk: vectors, snp: vectors, crk: vectors, eps2: double) {
    let given = [pos, vel, acc, jrk, snp, crk];
    let used = match order_of(object) { Order::Acceleration => 1, Order::Jerk => 4, _ => 6 };
    let mut motion = [DVec3::ZERO; 6];
    for (into, from) in motion.iter_mut().zip(given).take(used) {
        *into = DVec3::from_array(from.one()?);
    }
    let moving = Moving { time, mass, motion };
    registry::set(key(object), address, Particle { index, softening_squared: eps2, moving })
} }

value_form! { "Starts the forces of the j-particles below address `nj` on `ni` i-particles. \
    `acc` is for the sixth order; `eps2_i`, if not NULL, has eps^2 per i-particle and replaces \
    `eps2`.";
sapporo_start; (object: int, nj: int, ni: int, index: ints, pos: vectors, vel: vectors, acc: vectors,
 eps2: double, h2: doubles, eps2_i: doubles) {
    with_object(object, |cluster| { cluster.reset(); Ok(()) })?;
    let (addresses, n) = (count("the number nj of j-particles", nj)?, count("the number ni of i-particles", ni)?);
    let order = order_of(object);
    // Derivatives above the order are not read, and GRAPE-5 has no indices and excludes no pair.
    let n_of = |least: Order| if order < least { 0 } else { n };
    let each = eps2_i.take_if_any(n);
    let call = Call {
        addresses,
        position: Cow::Borrowed(bytemuck::cast_slice(pos.take(n)?)),
        velocity: Cow::Borrowed(bytemuck::cast_slice(vel.take(n_of(Order::Jerk))?)),
        acceleration: Cow::Borrowed(bytemuck::cast_slice(acc.take(n_of(Order::Snap))?)),
        index: Cow::Borrowed(index.take(n_of(Order::Jerk))?),
        softening_squared: each.first().copied().unwrap_or(eps2),
        radius_squared: Cow::Borrowed(h2.take_if_any(n)),
    };
    with_object(object, |cluster| {
        if each.iter().all(|other| *other == call.softening_squared) {
            return cluster.begin(&call).map(|()| DONE);
        }
        let forces = results::evaluate(cluster, &call, each, order > Order::Acceleration)?;
        cluster.reset();
        cluster.precomputed = Some(forces);
        Ok(DONE)
    })
} }

value_form! { "Waits for the results. Arrays may be NULL; derivatives above the order are not \
    written. On failure the arrays are filled with NaN, `nnb` with -1.";
sapporo_results; (object: int, ni: int, acc: vectors_out, jrk: vectors_out, snp: vectors_out, crk: vectors_out,
 pot: doubles_out, nnb: ints_out, nnb_r2: doubles_out) {
    let n = count("the number ni of i-particles", ni)?;
    let order = order_of(object);
    let (jerk, snap) = (order >= Order::Jerk, order >= Order::Snap);
    let arrays = ResultArrays {
        acceleration: acc.if_any(),
        jerk: jrk.if_any().filter(|_| jerk),
        snap: snp.if_any().filter(|_| snap),
        crackle: crk.if_any().filter(|_| snap),
        potential: pot.if_any(),
        nearest: nnb.if_any().filter(|_| jerk),
        nearest_squared: nnb_r2.if_any().filter(|_| jerk),
        ..ResultArrays::default()
    };
    arrays.fill(n, |arrays| {
        let nearest = arrays.nearest.is_some() || arrays.nearest_squared.is_some();
        let forces = with_object(object, |cluster| match cluster.precomputed.take() {
            Some(forces) if forces.results.acceleration.len() == n => Ok(forces),
            Some(forces) => {
                let allowed = format!("{}, as in the start", forces.results.acceleration.len());
                Err(Error::value("the number ni of i-particles", n, allowed))
            }
            None => results::finish(cluster, n, nearest),
        })?;
        arrays.write(&forces, &[])
    })
} }

value_form! { "Returns the j-particle at an address as set (position to jerk) and as predicted. \
    Arrays may be NULL.";
sapporo_state; (object: int, address: int, mass: doubles_out, index: ints_out, eps2: doubles_out,
 pos: vectors_out, vel: vectors_out, acc: vectors_out, jrk: vectors_out,
 predicted_pos: vectors_out, predicted_vel: vectors_out, predicted_acc: vectors_out) {
    let (mut mass, mut index, mut eps2) = (mass, index, eps2);
    let (particle, [x, v, a]) = with_object(object, |cluster| cluster.particle(address))?;
    let [set_x, set_v, set_a, set_j, ..] = particle.moving.motion;
    let outs = [pos, vel, acc, jrk, predicted_pos, predicted_vel, predicted_acc];
    for (mut into, from) in outs.into_iter().zip([set_x, set_v, set_a, set_j, x, v, a]) {
        into.fill(1, from.to_array());
    }
    mass.fill(1, particle.moving.mass);
    index.fill(1, particle.index);
    eps2.fill(1, particle.softening_squared);
    Ok(DONE)
} }

value_form! { "Computes the neighbour lists of the last call, which must have had a common eps. \
    Returns 1 if some are truncated.";
sapporo_read_lists; (object: int) {
    with_object(object, read_lists)
} }

value_form! { "Returns a list, ascending. `nblen` is the number found; returns 1 if `nbl` holds \
    fewer.";
sapporo_list; (object: int, ipipe: int, maxlength: int, nblen: ints_out, nbl: ints_out) {
    give_list(key(object), ipipe, maxlength, true, nblen, nbl)
} }

/// The order encoded in an object's number.
fn order_of(object: c_int) -> Order {
    ORDERS.get((object & 3) as usize).copied().unwrap_or(Order::Jerk)
}

fn key(object: c_int) -> ClusterKey {
    ClusterKey::Object(object, order_of(object))
}

fn with_object<T>(object: c_int, work: impl FnOnce(&mut Cluster) -> Result<T>) -> Result<T> {
    with_cluster(key(object), work)
}
