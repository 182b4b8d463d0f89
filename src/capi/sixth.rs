//! Sapporo2's sixth-order interface, `sapporo6thlib.cpp`, with names as general as `initialize`.
//! C++ references are pointers here, as in the ABI of every compiler.
//!
//! Of Yebisu's interface, which has some of the same names with other arguments, `set_jp_2` is
//! included.

use std::borrow::Cow;
use std::ffi::c_int;

use super::cluster::Call;
use super::g6::{set_time, vector};
use super::guard::DONE;
use super::queue::Particle;
use super::registry::{self, ClusterKey, with_cluster};
use super::results::{self, ResultArrays};
use super::slices::{InputArray, count};
use gravitile::error::Result;
use gravitile::forces::Moving;

both_forms! { "Opens the sixth-order interface; no effect if it is open.";
initialize initialize_; () { registry::open(ClusterKey::Sixth) } }

both_forms! { "The same. The device list is ignored: GRAVITILE_ADAPTER selects the adapter.";
initialize_special initialize_special_; (_devices: int, _list: ignored) { registry::open(ClusterKey::Sixth) } }

both_forms! { "Writes a j-particle with unscaled derivatives. `eps2` is stored for \
    pick_up_predictor_2.";
set_j_particle set_j_particle_, set_jp_2 set_jp_2_;
(address: int, pos: vectors, vel: vectors, acc: vectors, jrk: vectors, snp: vectors, crk: vectors,
 mass: double, time: double, id: int, eps2: double) first {
    let particle = particle(id, time, mass, eps2, [pos, vel, acc, jrk, snp, crk])?;
    Ok(registry::try_enqueue(ClusterKey::Sixth, address, &particle))
} {
    let particle = particle(id, time, mass, eps2, [pos, vel, acc, jrk, snp, crk])?;
    registry::set(ClusterKey::Sixth, address, particle)
} }

both_forms! { "Sets the time to which j-particles are predicted, with all derivatives.";
predict_all predict_all_; (time: double, nj: int) {
    count("the number nj of j-particles", nj)?;
    set_time(ClusterKey::Sixth, "the time", Some(time))
} }

both_forms! { "Uses j-particles as set, without prediction.";
no_predict_all no_predict_all_; (_time: double, nj: int) {
    count("the number nj of j-particles", nj)?;
    set_time(ClusterKey::Sixth, "the time", None)
} }

both_forms! { "Returns the predicted j-particle at an address.";
pick_up_predictor_2 pick_up_predictor_2_;
(address: int, id: ints_out, mass: doubles_out, eps2: doubles_out, pos: vectors_out, vel: vectors_out, acc: vectors_out) {
    let (mut id, mut mass, mut eps2) = (id, mass, eps2);
    let (particle, [x, v, a]) = with_cluster(ClusterKey::Sixth, |cluster| cluster.particle(address))?;
    for (mut into, from) in [pos, vel, acc].into_iter().zip([x, v, a]) {
        into.take(1)?[0] = from.to_array();
    }
    id.take(1)?[0] = particle.index;
    mass.take(1)?[0] = particle.moving.mass;
    eps2.take(1)?[0] = particle.softening_squared;
    Ok(DONE)
} }

both_forms! { "Computes accelerations, jerks, snaps, potentials, and id and r^2 + eps^2 of the \
    nearest j-particle, on `ni` sinks with eps^2 per sink. On failure the arrays are filled with \
    NaN.";
calc_force_on_predictors calc_force_on_predictors_;
(ni: int, nj: int, ids: ints, pos: vectors, vel: vectors, acc: vectors, _mass: ignored, eps2: doubles,
 acc_new: vectors_out, jrk_new: vectors_out, snp_new: vectors_out, crk_new: vectors_out,
 phi: doubles_out, nnb: ints_out, nnb_r2: doubles_out) {
    let n = count("the number ni of i-particles", ni)?;
    let arrays = ResultArrays {
        acceleration: Some(acc_new),
        jerk: Some(jrk_new),
        snap: Some(snp_new),
        crackle: crk_new.if_any(),
        potential: Some(phi),
        nearest: Some(nnb),
        nearest_squared: Some(nnb_r2),
        ..ResultArrays::default()
    };
    arrays.fill(n, |arrays| {
        let addresses = count("the number nj of j-particles", nj)?;
        let softening_squared = eps2.take(n)?;
        let call = Call {
            addresses,
            position: Cow::Borrowed(bytemuck::cast_slice(pos.take(n)?)),
            velocity: Cow::Borrowed(bytemuck::cast_slice(vel.take(n)?)),
            acceleration: Cow::Borrowed(bytemuck::cast_slice(acc.take(n)?)),
            index: Cow::Borrowed(ids.take(n)?),
            softening_squared: 0.0,
            radius_squared: Cow::default(),
        };
        let forces = with_cluster(ClusterKey::Sixth, |cluster| {
            results::evaluate(cluster, &call, softening_squared, true)
        })?;
        arrays.write(&forces, softening_squared)
    })
} }

#[inline(always)]
fn particle(
    index: c_int,
    time: f64,
    mass: f64,
    softening_squared: f64,
    given: [InputArray<[f64; 3]>; 6],
) -> Result<Particle> {
    let [x, v, a, j, s, c] = given;
    let motion = [vector(x)?, vector(v)?, vector(a)?, vector(j)?, vector(s)?, vector(c)?];
    let moving = Moving { time, mass, motion };
    Ok(Particle { index, softening_squared, moving })
}
