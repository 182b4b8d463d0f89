//! The GRAPE-5 set, as Sapporo2's `sapporoG5lib.cpp` has it: accelerations and potentials of particles
//! without indices. Nothing is left out: where a source is in a sink's place, the potential has -m/eps.

use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard};

use glam::DVec3;

use super::cluster::Call;
use super::g6::{pipelines, vectors, write};
use super::guard::DONE;
use super::memory::{LARGEST_MEMORY, Particle};
use super::options::Options;
use super::slices::{Input, Output, count};
use super::world::{self, Key, with_cluster};
use crate::error::{Error, Result};

/// What was set since `g5_open`.
struct State {
    softening_squared: Option<f64>,
    sources: Option<usize>,
    sinks: Option<Vec<DVec3>>,
    /// Whether what is under way is of what was set.
    is_current: bool,
    sign: f64,
}

const NOTHING: State =
    State { softening_squared: None, sources: None, sinks: None, is_current: false, sign: 1.0 };

static STATE: Mutex<State> = Mutex::new(NOTHING);

both_forms! { "Opens GRAPE-5."; g5_open g5_open_; () { open() } }

both_forms! { "Sapporo2's way to name devices. Which adapter is taken is GRAVITILE_ADAPTER's to say.";
g5_open_special g5_open_special_; (_devices: int, _list: ignored) { open() } }

both_forms! { "Closes it and frees its memory."; g5_close g5_close_; () {
    *state() = NOTHING;
    world::close(Key::G5)
} }

both_forms! { "Sinks that a client should give per call. More are taken too.";
g5_get_number_of_pipelines g5_get_number_of_pipelines_; () { pipelines() } }

both_forms! { "As Sapporo2 answers."; g5_get_number_of_real_pipelines g5_get_number_of_real_pipelines_;
() { Ok(1) } }

both_forms! { "As Sapporo2 answers."; g5_get_pcibus_freq g5_get_pcibus_freq_; () { Ok(1) } }

both_forms! { "Sources that there is room for."; g5_get_jmemsize g5_get_jmemsize_;
() { Ok(LARGEST_MEMORY as c_int) } }

both_forms! { "The range of GRAPE-5's fixed point numbers. There are none here.";
g5_set_range g5_set_range_; (_xmin: double, _xmax: double, _mmin: double) { Ok(DONE) } }

both_forms! { "The number of sources that attract: those at addresses below it.";
g5_set_n g5_set_n_; (nj: int) {
    let n = count("the number nj of sources", nj)?;
    with_open(|state| state.sources = Some(n))
} }

both_forms! { "eps of all."; g5_set_eps_to_all g5_set_eps_to_all_; (eps: double) {
    softening("eps", eps, eps * eps)
} }

both_forms! { "eps^2 of all."; g5_set_eps2_to_all g5_set_eps2_to_all_; (eps2: double) {
    softening("eps2", eps2, eps2)
} }

both_forms! { "Sets the sources `address` to `address` + `nj` - 1, from entries of these numbers: x and m begin with source 0.";
g5_set_xmj g5_set_xmj_; (address: int, nj: int, xj: vectors, mj: doubles) {
    set_sources(address, nj, xj, mj)
} }

both_forms! { "The same."; g5_set_jp g5_set_jp_; (address: int, nj: int, mj: doubles, xj: vectors) {
    set_sources(address, nj, xj, mj)
} }

both_forms! { "Takes the sinks, and starts if all that is needed was set."; g5_set_xi g5_set_xi_;
(ni: int, xi: vectors) {
    let sinks = vectors(xi.take(count("the number ni of sinks", ni)?)?);
    with_open(|state| state.sinks = Some(sinks))?;
    let state = &mut *state();
    if state.softening_squared.is_some() && state.sources.is_some() {
        begin(state)?;
    }
    Ok(DONE)
} }

both_forms! { "Starts, unless that was done."; g5_run g5_run_; () { begin(&mut state()).map(|()| DONE) } }

both_forms! { "Accelerations and potentials on the sinks. Where it fails, the arrays are filled with NaN.";
g5_get_force g5_get_force_; (ni: int, a: vectors_out, p: doubles_out) {
    fetch(count("the number ni of sinks", ni)?, a, p)
} }

both_forms! { "All in one: takes sinks, answers accelerations and potentials.";
g5_calculate_force_on_x g5_calculate_force_on_x_;
(xi: vectors, a: vectors_out, p: doubles_out, ni: int) {
    let n = count("the number ni of sinks", ni)?;
    // `a` may be `xi`: what is taken is copied before anything is written.
    let sinks = vectors(xi.take(n)?);
    with_open(|state| state.sinks = Some(sinks))?;
    fetch(n, a, p)
} }

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn open() -> Result<c_int> {
    let positive = Options::of_user()?.g5_potential_is_positive;
    world::open(Key::G5)?;
    state().sign = if positive { -1.0 } else { 1.0 };
    Ok(DONE)
}

/// Changes what was set. Forces that are under way are not of it.
fn with_open(change: impl FnOnce(&mut State)) -> Result<c_int> {
    let mut state = state();
    with_cluster(Key::G5, |_| Ok(()))?;
    state.is_current = false;
    change(&mut state);
    Ok(DONE)
}

fn softening(name: &str, given: f64, squared: f64) -> Result<c_int> {
    if !(given >= 0.0 && squared.is_finite()) {
        return Err(Error::value(name, given, "finite and at least 0"));
    }
    with_open(|state| state.softening_squared = Some(squared))
}

fn set_sources(address: c_int, nj: c_int, x: Input<[f64; 3]>, m: Input<f64>) -> Result<c_int> {
    let first = count("the address of a source", address)?;
    let n = count("the number nj of sources", nj)?;
    let end = first.saturating_add(n);
    if end > LARGEST_MEMORY {
        let allowed = format!("at most {LARGEST_MEMORY} in all");
        return Err(Error::value("the number of sources", end, allowed));
    }
    let (x, m) = (x.take(end)?, m.take(end)?);
    with_open(|_| ())?;
    with_cluster(Key::G5, |cluster| {
        for k in first..end {
            let mut motion = [DVec3::ZERO; 6];
            motion[0] = DVec3::from_array(x[k]);
            let index = k as c_int;
            let particle = Particle { index, mass: m[k], motion, ..Particle::default() };
            cluster.memory.set(index, particle)?;
        }
        Ok(DONE)
    })
}

fn begin(state: &mut State) -> Result<()> {
    let lacking =
        |what: &str, call: &str| Error::Outside(format!("{what} not set: call {call} before"));
    if state.is_current {
        return Ok(());
    }
    with_cluster(Key::G5, |_| Ok(()))?;
    let call = Call {
        addresses: state.sources.ok_or_else(|| lacking("the number of sources is", "g5_set_n"))?,
        position: state.sinks.clone().ok_or_else(|| lacking("sinks are", "g5_set_xi"))?,
        softening_squared: state
            .softening_squared
            .ok_or_else(|| lacking("the softening is", "g5_set_eps_to_all"))?,
        ..Call::default()
    };
    with_cluster(Key::G5, |cluster| cluster.begin(call))?;
    state.is_current = true;
    Ok(())
}

fn fetch(n: usize, mut a: Output<[f64; 3]>, mut p: Output<f64>) -> Result<c_int> {
    let state = &mut *state();
    let outcome = begin(state).and_then(|()| {
        with_cluster(Key::G5, |cluster| {
            let answers = cluster.finish(n, false)?;
            write(&answers.acceleration, a.take(n)?);
            let signed = answers.potential.iter().map(|potential| state.sign * potential);
            p.take(n)?.iter_mut().zip(signed).for_each(|(into, from)| *into = from);
            Ok(DONE)
        })
    });
    state.is_current = false;
    state.sinks = None;
    if outcome.is_err() {
        a.fill(n, [f64::NAN; 3]);
        p.fill(n, f64::NAN);
    }
    outcome
}
