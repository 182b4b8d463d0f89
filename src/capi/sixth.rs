//! Sapporo2's sixth-order interface, `sapporo6thlib.cpp`, with names as general as `initialize`.
//! C++ references are pointers here, as in the ABI of every compiler.
//!
//! Of Yebisu's interface, which has some of the same names with other arguments, `set_jp_2` is
//! included.

use std::ffi::c_int;

use glam::DVec3;

use super::cluster::Call;
use super::each::{self, Forces};
use super::g6::{vectors, write};
use super::guard::DONE;
use super::memory::Particle;
use super::slices::{Input, Output, count};
use super::world::{self, Key, with_cluster};
use gravitile::error::{Error, Result};

both_forms! { "Opens the sixth-order interface; no effect if it is open.";
initialize initialize_; () { world::open(Key::Sixth) } }

both_forms! { "The same. The device list is ignored: GRAVITILE_ADAPTER selects the adapter.";
initialize_special initialize_special_; (_devices: int, _list: ignored) { world::open(Key::Sixth) } }

both_forms! { "Writes a j-particle with unscaled derivatives. `eps2` is stored for \
    pick_up_predictor_2.";
set_j_particle set_j_particle_, set_jp_2 set_jp_2_;
(address: int, pos: vectors, vel: vectors, acc: vectors, jrk: vectors, snp: vectors, crk: vectors,
 mass: double, time: double, id: int, eps2: double) first {
    let of = |vector: Input<[f64; 3]>| vector.one().map(DVec3::from_array);
    let motion = [of(pos)?, of(vel)?, of(acc)?, of(jrk)?, of(snp)?, of(crk)?];
    let particle = Particle { index: id, time, mass, softening_squared: eps2, motion };
    Ok(world::try_enqueue(Key::Sixth, address, &particle))
} {
    let of = |vector: Input<[f64; 3]>| vector.one().map(DVec3::from_array);
    let motion = [of(pos)?, of(vel)?, of(acc)?, of(jrk)?, of(snp)?, of(crk)?];
    let particle = Particle { index: id, time, mass, softening_squared: eps2, motion };
    world::set(Key::Sixth, address, particle)
} }

both_forms! { "Sets the time to which j-particles are predicted, with all derivatives.";
predict_all predict_all_; (time: double, nj: int) {
    if !time.is_finite() {
        return Err(Error::value("the time", time, "finite"));
    }
    predict(Some(time), nj)
} }

both_forms! { "Uses j-particles as set, without prediction.";
no_predict_all no_predict_all_; (_time: double, nj: int) { predict(None, nj) } }

both_forms! { "Returns the predicted j-particle at an address.";
pick_up_predictor_2 pick_up_predictor_2_;
(address: int, id: ints_out, mass: doubles_out, eps2: doubles_out, pos: vectors_out, vel: vectors_out, acc: vectors_out) {
    let (mut id, mut mass, mut eps2) = (id, mass, eps2);
    let (mut pos, mut vel, mut acc) = (pos, vel, acc);
    with_cluster(Key::Sixth, |cluster| {
        let particle = cluster.memory.get(address)?;
        let [x, v, a] = particle.at(cluster.time);
        pos.take(1)?[0] = x.to_array();
        vel.take(1)?[0] = v.to_array();
        acc.take(1)?[0] = a.to_array();
        id.take(1)?[0] = particle.index;
        mass.take(1)?[0] = particle.mass;
        eps2.take(1)?[0] = particle.softening_squared;
        Ok(DONE)
    })
} }

both_forms! { "Computes accelerations, jerks, snaps, potentials, and id and r^2 + eps^2 of the \
    nearest j-particle, on `ni` sinks with eps^2 per sink. On failure the arrays are filled with \
    NaN.";
calc_force_on_predictors calc_force_on_predictors_;
(ni: int, nj: int, ids: ints, pos: vectors, vel: vectors, acc: vectors, _mass: ignored, eps2: doubles,
 acc_new: vectors_out, jrk_new: vectors_out, snp_new: vectors_out, crk_new: vectors_out,
 phi: doubles_out, nnb: ints_out, nnb_r2: doubles_out) {
    let n = count("the number ni of i-particles", ni)?;
    let mut out = Results { acc_new, jrk_new, snp_new, crk_new, phi, nnb, nnb_r2 };
    let outcome = count("the number nj of j-particles", nj).and_then(|addresses| {
        let softening_squared = eps2.take(n)?.to_vec();
        let call = Call {
            addresses,
            position: vectors(pos.take(n)?),
            velocity: vectors(vel.take(n)?),
            acceleration: vectors(acc.take(n)?),
            index: ids.take(n)?.to_vec(),
            ..Call::default()
        };
        let forces =
            with_cluster(Key::Sixth, |cluster| each::evaluate(cluster, call, &softening_squared, true))?;
        out.write(&forces, &softening_squared)
    });
    if outcome.is_err() {
        out.fill_with_nan(n);
    }
    outcome
} }

fn predict(time: Option<f64>, nj: c_int) -> Result<c_int> {
    count("the number nj of j-particles", nj)?;
    with_cluster(Key::Sixth, |cluster| {
        cluster.time = time;
        Ok(DONE)
    })
}

/// Output arrays of the client.
struct Results {
    acc_new: Output<[f64; 3]>,
    jrk_new: Output<[f64; 3]>,
    snp_new: Output<[f64; 3]>,
    crk_new: Output<[f64; 3]>,
    phi: Output<f64>,
    nnb: Output<c_int>,
    nnb_r2: Output<f64>,
}

impl Results {
    fn write(&mut self, forces: &Forces, softening_squared: &[f64]) -> Result<c_int> {
        let n = softening_squared.len();
        write(&forces.acceleration, self.acc_new.take(n)?);
        write(&forces.jerk, self.jrk_new.take(n)?);
        write(&forces.snap, self.snp_new.take(n)?);
        self.phi.take(n)?.copy_from_slice(&forces.potential);
        self.nnb.take(n)?.copy_from_slice(&forces.nearest);
        let squares = forces.nearest_squared.iter().zip(softening_squared);
        let nnb_r2 = self.nnb_r2.take(n)?.iter_mut();
        nnb_r2.zip(squares).for_each(|(into, (square, eps2))| *into = square + eps2);
        self.crk_new.fill(n, [0.0; 3]);
        Ok(DONE)
    }

    fn fill_with_nan(&mut self, n: usize) {
        for vectors in [&mut self.acc_new, &mut self.jrk_new, &mut self.snp_new, &mut self.crk_new]
        {
            vectors.fill(n, [f64::NAN; 3]);
        }
        self.phi.fill(n, f64::NAN);
        self.nnb_r2.fill(n, f64::NAN);
        self.nnb.fill(n, -1);
    }
}
