//! What `include/sapporo.h` makes Sapporo2's class `sapporo` of: objects with a memory of j-particles each, of the
//! order of GRAPE-5, GRAPE-6 or the sixth. C++ calls these; derivatives are plain ones here, as in that class.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard};

use glam::DVec3;

use super::cluster::{Call, Cluster};
use super::each::{self, Forces};
use super::g6::{vectors, write};
use super::guard::{DONE, OVERFLOW};
use super::memory::Particle;
use super::options::Options;
use super::slices::{Input, Output, count};
use super::world::{self, Key, with_cluster};
use crate::error::{Error, Result};
use crate::forces::{Order, Precision};

/// Sapporo2's numbers of orders, from 0.
const ORDERS: [Order; 3] = [Order::Acceleration, Order::Jerk, Order::Snap];

/// Forces that are there before they are asked for, since sinks differ in their eps, by object.
static DONE_ALREADY: Mutex<BTreeMap<c_int, Forces>> = Mutex::new(BTreeMap::new());

value_form! { "Makes an object of order 0 (GRAPE-5), 1 (GRAPE-6) or 2 (the sixth), in at least the `precision` 0 (single), 1 (double-single) or 2 (double). Answers its number.";
sapporo_open; (order: int, precision: int) {
    static NEXT: AtomicI32 = AtomicI32::new(0);
    let wanted = usize::try_from(order).ok().and_then(|order| ORDERS.get(order));
    let wanted = *wanted.ok_or_else(|| Error::value("the order", order, "0 (GRAPE-5), 1 (GRAPE-6) or 2 (the sixth)"))?;
    let precision = match precision {
        // As in Sapporo2, single is for GRAPE-5 alone.
        0 if wanted > Order::Acceleration => None,
        0 => Some(Precision::Single),
        1 => Some(Precision::DoubleSingle),
        2 => Some(Precision::Double),
        other => return Err(Error::value("the precision", other, "0 (single), 1 (double-single) or 2 (double)")),
    };
    // A number tells its order.
    let number = (NEXT.fetch_add(1, Ordering::Relaxed) & 0x0fff_ffff) * 4 + order;
    world::open_in(Key::Object(number, wanted), precision, 1)?;
    Ok(number)
} }

value_form! { "i-particles to be given per call; more are taken. `most` is the length of the program's arrays, unless the user chose another number.";
sapporo_pipelines; (most: int) { Ok(Options::of_user()?.pipelines.unwrap_or(most)) } }

value_form! { "Frees an object's memory."; sapporo_close; (object: int) {
    world::close(key(object))?;
    done_already().remove(&object);
    Ok(DONE)
} }

value_form! { "The time that j-particles are predicted to."; sapporo_set_time; (object: int, time: double) {
    if !time.is_finite() {
        return Err(Error::value("the time", time, "finite"));
    }
    with_object(object, |cluster| { cluster.time = Some(time); Ok(DONE) })
} }

value_form! { "j-particles are taken as they were set."; sapporo_set_no_time; (object: int) {
    with_object(object, |cluster| { cluster.time = None; Ok(DONE) })
} }

value_form! { "Puts a j-particle at an address. What the object's order has no use for is not looked at; `eps2` is kept for who asks.";
sapporo_set_j_particle; (object: int, address: int, index: int, time: double, mass: double,
 pos: vectors, vel: vectors, acc: vectors, jrk: vectors, snp: vectors, crk: vectors, eps2: double) {
    let given = [pos, vel, acc, jrk, snp, crk];
    let used = match order_of(object) { Order::Acceleration => 1, Order::Jerk => 4, _ => 6 };
    let mut motion = [DVec3::ZERO; 6];
    for (into, from) in motion.iter_mut().zip(given).take(used) {
        *into = DVec3::from_array(from.one()?);
    }
    let particle = Particle { index, time, mass, softening_squared: eps2, motion };
    world::set(key(object), address, particle)
} }

value_form! { "Starts the forces of the j-particles below address `nj` on `ni` i-particles. `acc` is for the sixth order; `eps2_i`, if not NULL, has one for each in the place of `eps2`.";
sapporo_start; (object: int, nj: int, ni: int, index: ints, pos: vectors, vel: vectors, acc: vectors,
 eps2: double, h2: doubles, eps2_i: doubles) {
    taken(object)?;
    with_object(object, |cluster| { cluster.reset(); Ok(()) })?;
    let (addresses, n) = (count("the number nj of j-particles", nj)?, count("the number ni of i-particles", ni)?);
    let order = order_of(object);
    let from = |least: Order, given: Input<[f64; 3]>| -> Result<Vec<DVec3>> {
        if order < least { Ok(Vec::new()) } else { given.take(n).map(vectors) }
    };
    let mut call = Call {
        addresses,
        position: from(Order::Acceleration, pos)?,
        velocity: from(Order::Jerk, vel)?,
        acceleration: from(Order::Snap, acc)?,
        // GRAPE-5 knows no indices, and leaves nothing out.
        index: if order == Order::Acceleration { Vec::new() } else { index.take(n)?.to_vec() },
        softening_squared: eps2,
        radius_squared: h2.take_if_any(n).to_vec(),
    };
    let each = eps2_i.take_if_any(n);
    if let Some(first) = each.first() {
        call.softening_squared = *first;
    }
    with_object(object, |cluster| {
        if each.iter().all(|other| *other == call.softening_squared) {
            return cluster.begin(call).map(|()| DONE);
        }
        let forces = each::evaluate(cluster, call, each, order > Order::Acceleration)?;
        cluster.reset();
        done_already().insert(object, forces);
        Ok(DONE)
    })
} }

value_form! { "Waits for what was started. Arrays that are NULL are left out, derivatives beyond the order are not touched; where it fails, the others are filled with NaN, `nnb` with -1.";
sapporo_results; (object: int, ni: int, acc: vectors_out, jrk: vectors_out, snp: vectors_out, crk: vectors_out,
 pot: doubles_out, nnb: ints_out, nnb_r2: doubles_out) {
    let n = count("the number ni of i-particles", ni)?;
    let mut out = Results { order: order_of(object), acc, jrk, snp, crk, pot, nnb, nnb_r2 };
    let forces = match taken(object) {
        Err(error) => Err(error),
        Ok(Some(forces)) if forces.acceleration.len() == n => Ok(forces),
        Ok(Some(forces)) => {
            let allowed = format!("{}, as in the start", forces.acceleration.len());
            Err(Error::value("the number ni of i-particles", n, allowed))
        }
        Ok(None) => with_object(object, |cluster| Forces::finish(cluster, n, out.wants_nearest())),
    };
    match forces {
        Ok(forces) => out.write(n, &forces),
        Err(error) => {
            out.spoil(n);
            return Err(error);
        }
    }
    Ok(DONE)
} }

value_form! { "The j-particle at an address: as it was set (position to jerk), and predicted. Arrays that are NULL are left out.";
sapporo_state; (object: int, address: int, mass: doubles_out, index: ints_out, eps2: doubles_out,
 pos: vectors_out, vel: vectors_out, acc: vectors_out, jrk: vectors_out,
 predicted_pos: vectors_out, predicted_vel: vectors_out, predicted_acc: vectors_out) {
    let (mut mass, mut index, mut eps2) = (mass, index, eps2);
    let (particle, [x, v, a]) = with_object(object, |cluster| {
        let particle = cluster.memory.get(address)?;
        Ok((particle, particle.at(cluster.time)))
    })?;
    let [set_x, set_v, set_a, set_j, ..] = particle.motion;
    let outs = [pos, vel, acc, jrk, predicted_pos, predicted_vel, predicted_acc];
    for (mut into, from) in outs.into_iter().zip([set_x, set_v, set_a, set_j, x, v, a]) {
        into.fill(1, from.to_array());
    }
    mass.fill(1, particle.mass);
    index.fill(1, particle.index);
    eps2.fill(1, particle.softening_squared);
    Ok(DONE)
} }

value_form! { "Makes the neighbour lists of the last call ready, which had one eps for all. 1: some are cut short.";
sapporo_read_lists; (object: int) {
    with_object(object, |cluster| Ok(if cluster.read_lists()? { OVERFLOW } else { DONE }))
} }

value_form! { "One of the lists that were read, ascending. `nblen` is its length; 1: that is more than `maxlength`, or than was kept.";
sapporo_list; (object: int, ipipe: int, maxlength: int, nblen: ints_out, nbl: ints_out) {
    let (mut nblen, mut nbl) = (nblen, nbl);
    let room = count("maxlength", maxlength)?;
    let (mut list, found) = with_object(object, |cluster| cluster.list(ipipe))?;
    list.sort_unstable();
    list.truncate(room);
    nblen.take(1)?[0] = c_int::try_from(found).unwrap_or(c_int::MAX);
    nbl.take(list.len())?.copy_from_slice(&list);
    Ok(if found > list.len() { OVERFLOW } else { DONE })
} }

/// The order that an object's number tells.
fn order_of(object: c_int) -> Order {
    ORDERS.get((object & 3) as usize).copied().unwrap_or(Order::Jerk)
}

fn key(object: c_int) -> Key {
    Key::Object(object, order_of(object))
}

fn with_object<T>(object: c_int, work: impl FnOnce(&mut Cluster) -> Result<T>) -> Result<T> {
    with_cluster(key(object), work)
}

/// Takes the forces of an open object that are there already.
fn taken(object: c_int) -> Result<Option<Forces>> {
    // In a forked process this refuses, and no lock is waited for.
    with_object(object, |_| Ok(()))?;
    Ok(done_already().remove(&object))
}

fn done_already() -> MutexGuard<'static, BTreeMap<c_int, Forces>> {
    DONE_ALREADY.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Where the client wants its forces.
struct Results {
    order: Order,
    acc: Output<[f64; 3]>,
    jrk: Output<[f64; 3]>,
    snp: Output<[f64; 3]>,
    crk: Output<[f64; 3]>,
    pot: Output<f64>,
    nnb: Output<c_int>,
    nnb_r2: Output<f64>,
}

impl Results {
    /// Arrays of the order's derivatives; Sapporo2 has crackles in the sixth order, all 0.
    fn derivatives(&mut self) -> [Option<&mut Output<[f64; 3]>>; 3] {
        let (jerk, snap) = (self.order >= Order::Jerk, self.order >= Order::Snap);
        [
            jerk.then_some(&mut self.jrk),
            snap.then_some(&mut self.snp),
            snap.then_some(&mut self.crk),
        ]
    }

    fn wants_nearest(&self) -> bool {
        self.order > Order::Acceleration && !(self.nnb.is_null() && self.nnb_r2.is_null())
    }

    fn write(&mut self, n: usize, forces: &Forces) {
        write(&forces.acceleration, self.acc.take_if_any(n));
        self.pot.take_if_any(n).iter_mut().zip(&forces.potential).for_each(|(a, b)| *a = *b);
        self.nnb.take_if_any(n).iter_mut().zip(&forces.nearest).for_each(|(a, b)| *a = *b);
        let squares = self.nnb_r2.take_if_any(n).iter_mut().zip(&forces.nearest_squared);
        squares.for_each(|(a, b)| *a = *b);
        let zero = vec![DVec3::ZERO; n];
        let from = [&forces.jerk, &forces.snap, &zero];
        for (into, from) in self.derivatives().into_iter().zip(from) {
            if let Some(into) = into {
                write(from, into.take_if_any(n));
            }
        }
    }

    fn spoil(&mut self, n: usize) {
        self.acc.fill(n, [f64::NAN; 3]);
        self.derivatives().into_iter().flatten().for_each(|into| into.fill(n, [f64::NAN; 3]));
        self.pot.fill(n, f64::NAN);
        if self.order > Order::Acceleration {
            self.nnb.fill(n, -1);
            self.nnb_r2.fill(n, f64::NAN);
        }
    }
}
