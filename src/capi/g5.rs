//! The GRAPE-5 set, as Sapporo2's `sapporoG5lib.cpp` and Phantom-GRAPE's `gp5util.h` have it: accelerations and
//! potentials of particles without indices. Nothing is left out: where a source is in a sink's place, the potential
//! has -m/eps. Names that end in MC name a board, each with sources and sinks of its own, so that threads may have one
//! each; all have the eps of all in common.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard};

use glam::DVec3;

use super::cluster::{Asked, Call};
use super::each::{self, Forces};
use super::g6::{pipelines, vectors, write};
use super::guard::DONE;
use super::memory::{LARGEST_MEMORY, Particle};
use super::options::Options;
use super::slices::{Input, Output, count};
use super::world::{self, Key, with_cluster};
use crate::error::{Error, Result};

/// Boards have numbers below this. Programs take a thread's number.
const BOARDS: c_int = 1024;

/// What was set for one board since `g5_open`.
#[derive(Default)]
struct Board {
    sources: Option<usize>,
    sinks: Option<Vec<DVec3>>,
    /// eps^2 of each sink, in the place of that of all, until forces are fetched.
    each: Option<Vec<f64>>,
    /// Whether what is under way is of what was set.
    is_current: bool,
    /// Forces that are there already, since sinks differ in their eps.
    done: Option<Forces>,
}

/// What was set since `g5_open`. Calls that name no board are for board 0.
struct State {
    softening_squared: Option<f64>,
    sign: f64,
    boards: BTreeMap<c_int, Board>,
}

static STATE: Mutex<State> =
    Mutex::new(State { softening_squared: None, sign: 1.0, boards: BTreeMap::new() });

both_forms! { "Opens GRAPE-5."; g5_open g5_open_; () { open() } }

both_forms! { "Sapporo2's way to name devices. Which adapter is taken is GRAVITILE_ADAPTER's to say.";
g5_open_special g5_open_special_; (_devices: int, _list: ignored) { open() } }

both_forms! { "Closes it and frees its memory."; g5_close g5_close_; () {
    let mut state = state()?;
    state.softening_squared = None;
    let boards = std::mem::take(&mut state.boards);
    for board in boards.keys().filter(|board| **board != 0) {
        // One whose opening failed is not there.
        let _ = world::close(Key::G5(*board));
    }
    world::close(Key::G5(0))
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
g5_set_n g5_set_n_; (nj: int) { set_n(0, nj) } }

both_forms! { "The same for a board."; g5_set_nMC g5_set_nMC_; (board: int, nj: int) { set_n(board, nj) } }

both_forms! { "eps of all, on every board."; g5_set_eps_to_all g5_set_eps_to_all_; (eps: double) {
    softening("eps", eps, eps * eps)
} }

both_forms! { "eps^2 of all, on every board."; g5_set_eps2_to_all g5_set_eps2_to_all_; (eps2: double) {
    softening("eps2", eps2, eps2)
} }

both_forms! { "eps of each sink, until forces were fetched; then that of all is valid again.";
g5_set_eps g5_set_eps_; (ni: int, eps: doubles) { set_eps(0, ni, eps) } }

both_forms! { "The same for a board."; g5_set_epsMC g5_set_epsMC_; (board: int, ni: int, eps: doubles) {
    set_eps(board, ni, eps)
} }

both_forms! { "Sets the sources `address` to `address` + `nj` - 1, from entries of these numbers: x and m begin with source 0.";
g5_set_xmj g5_set_xmj_; (address: int, nj: int, xj: vectors, mj: doubles) {
    set_sources(0, address, nj, xj, mj)
} }

both_forms! { "The same for a board."; g5_set_xmjMC g5_set_xmjMC_;
(board: int, address: int, nj: int, xj: vectors, mj: doubles) { set_sources(board, address, nj, xj, mj) } }

both_forms! { "The same as g5_set_xmj."; g5_set_jp g5_set_jp_;
(address: int, nj: int, mj: doubles, xj: vectors) { set_sources(0, address, nj, xj, mj) } }

both_forms! { "Takes the sinks, and starts if all that is needed was set."; g5_set_xi g5_set_xi_;
(ni: int, xi: vectors) { set_xi(0, ni, xi) } }

both_forms! { "The same for a board."; g5_set_xiMC g5_set_xiMC_; (board: int, ni: int, xi: vectors) {
    set_xi(board, ni, xi)
} }

both_forms! { "Takes the sinks with an eps^2 of each."; g5_set_xei g5_set_xei_;
(ni: int, xi: vectors, eps2: doubles) { set_xei(0, count("the number ni of sinks", ni)?, xi, eps2) } }

both_forms! { "The same for a board."; g5_set_xeiMC g5_set_xeiMC_;
(board: int, ni: int, xi: vectors, eps2: doubles) {
    set_xei(board, count("the number ni of sinks", ni)?, xi, eps2)
} }

both_forms! { "Starts, unless that was done."; g5_run g5_run_; () { begin(&mut *state()?, 0).map(|()| DONE) } }

both_forms! { "The same for a board."; g5_runMC g5_runMC_; (board: int) {
    begin(&mut *state()?, board).map(|()| DONE)
} }

both_forms! { "Accelerations and potentials on the sinks. Where it fails, the arrays are filled with NaN.";
g5_get_force g5_get_force_; (ni: int, a: vectors_out, p: doubles_out) {
    fetch(0, count("the number ni of sinks", ni)?, Ok(DONE), a, p)
} }

both_forms! { "The same for a board."; g5_get_forceMC g5_get_forceMC_;
(board: int, ni: int, a: vectors_out, p: doubles_out) {
    fetch(board, count("the number ni of sinks", ni)?, Ok(DONE), a, p)
} }

both_forms! { "All in one: takes sinks, answers accelerations and potentials.";
g5_calculate_force_on_x g5_calculate_force_on_x_;
(xi: vectors, a: vectors_out, p: doubles_out, ni: int) { on_x(0, xi, a, p, ni) } }

both_forms! { "The same for a board."; g5_calculate_force_on_xMC g5_calculate_force_on_xMC_;
(board: int, xi: vectors, a: vectors_out, p: doubles_out, ni: int) { on_x(board, xi, a, p, ni) } }

both_forms! { "All in one, with an eps^2 of each sink.";
g5_calculate_force_on_xe g5_calculate_force_on_xe_;
(xi: vectors, eps2: doubles, a: vectors_out, p: doubles_out, ni: int) { on_xe(0, xi, eps2, a, p, ni) } }

both_forms! { "The same for a board."; g5_calculate_force_on_xeMC g5_calculate_force_on_xeMC_;
(board: int, xi: vectors, eps2: doubles, a: vectors_out, p: doubles_out, ni: int) {
    on_xe(board, xi, eps2, a, p, ni)
} }

/// What was set. In a process that was forked it is not waited for: who held it is not there.
fn state() -> Result<MutexGuard<'static, State>> {
    world::with(|_| Ok(()))?;
    Ok(STATE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

fn open() -> Result<c_int> {
    let positive = Options::of_user()?.g5_potential_is_positive;
    let mut state = state()?;
    world::open(Key::G5(0))?;
    state.sign = if positive { -1.0 } else { 1.0 };
    Ok(DONE)
}

impl State {
    /// A board of GRAPE-5, which must be open. Its cluster is opened when it is named for the first time.
    fn board(&mut self, number: c_int) -> Result<&mut Board> {
        if !(0..BOARDS).contains(&number) {
            let allowed = format!("from 0 to {}", BOARDS - 1);
            return Err(Error::value("the board", number, allowed));
        }
        with_cluster(Key::G5(0), |_| Ok(()))?;
        if number != 0 && !self.boards.contains_key(&number) {
            world::open(Key::G5(number))?;
        }
        Ok(self.boards.entry(number).or_default())
    }
}

/// Changes what was set. Forces that are under way are not of it.
fn change(number: c_int, change: impl FnOnce(&mut Board)) -> Result<c_int> {
    let mut state = state()?;
    let board = state.board(number)?;
    board.is_current = false;
    change(board);
    Ok(DONE)
}

fn set_n(board: c_int, nj: c_int) -> Result<c_int> {
    let n = count("the number nj of sources", nj)?;
    change(board, |board| board.sources = Some(n))
}

fn softening(name: &str, given: f64, squared: f64) -> Result<c_int> {
    if !(given >= 0.0 && squared.is_finite()) {
        return Err(Error::value(name, given, "finite and at least 0"));
    }
    let mut state = state()?;
    state.board(0)?;
    state.softening_squared = Some(squared);
    state.boards.values_mut().for_each(|board| board.is_current = false);
    Ok(DONE)
}

fn set_eps(board: c_int, ni: c_int, eps: Input<f64>) -> Result<c_int> {
    let eps = eps.take(count("the number ni of sinks", ni)?)?;
    if let Some(i) = eps.iter().position(|eps| !(*eps >= 0.0 && (eps * eps).is_finite())) {
        return Err(Error::value(format!("eps of sink {i}"), eps[i], "finite and at least 0"));
    }
    change(board, |board| board.each = Some(eps.iter().map(|eps| eps * eps).collect()))
}

fn set_xi(number: c_int, ni: c_int, xi: Input<[f64; 3]>) -> Result<c_int> {
    let sinks = vectors(xi.take(count("the number ni of sinks", ni)?)?);
    change(number, |board| board.sinks = Some(sinks))?;
    let state = &mut *state()?;
    let board = state.board(number)?;
    if board.sources.is_some() && board.each.is_none() && state.softening_squared.is_some() {
        begin(state, number)?;
    }
    Ok(DONE)
}

fn set_xei(board: c_int, n: usize, xi: Input<[f64; 3]>, eps2: Input<f64>) -> Result<c_int> {
    let (sinks, eps2) = (vectors(xi.take(n)?), eps2.take(n)?.to_vec());
    change(board, |board| {
        board.sinks = Some(sinks);
        board.each = Some(eps2);
    })
}

fn set_sources(
    board: c_int,
    address: c_int,
    nj: c_int,
    x: Input<[f64; 3]>,
    m: Input<f64>,
) -> Result<c_int> {
    let first = count("the address of a source", address)?;
    let n = count("the number nj of sources", nj)?;
    let end = first.saturating_add(n);
    if end > LARGEST_MEMORY {
        let allowed = format!("at most {LARGEST_MEMORY} in all");
        return Err(Error::value("the number of sources", end, allowed));
    }
    let (x, m) = (x.take(end)?, m.take(end)?);
    change(board, |_| ())?;
    with_cluster(Key::G5(board), |cluster| {
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

fn on_x(
    board: c_int,
    xi: Input<[f64; 3]>,
    a: Output<[f64; 3]>,
    p: Output<f64>,
    ni: c_int,
) -> Result<c_int> {
    let n = count("the number ni of sinks", ni)?;
    // `a` may be `xi`: what is taken is copied before anything is written.
    let taken = xi.take(n).and_then(|xi| {
        let sinks = vectors(xi);
        change(board, |board| board.sinks = Some(sinks))
    });
    fetch(board, n, taken, a, p)
}

fn on_xe(
    board: c_int,
    xi: Input<[f64; 3]>,
    eps2: Input<f64>,
    a: Output<[f64; 3]>,
    p: Output<f64>,
    ni: c_int,
) -> Result<c_int> {
    let n = count("the number ni of sinks", ni)?;
    fetch(board, n, set_xei(board, n, xi, eps2), a, p)
}

fn begin(state: &mut State, number: c_int) -> Result<()> {
    let lacking =
        |what: &str, call: &str| Error::Outside(format!("{what} not set: call {call} before"));
    let of_all = state.softening_squared;
    let board = state.board(number)?;
    if board.is_current {
        return Ok(());
    }
    let mut call = Call {
        addresses: board.sources.ok_or_else(|| lacking("the number of sources is", "g5_set_n"))?,
        position: board.sinks.clone().ok_or_else(|| lacking("sinks are", "g5_set_xi"))?,
        ..Call::default()
    };
    let key = Key::G5(number);
    board.done = match &board.each {
        Some(each) => {
            Some(with_cluster(key, |cluster| each::evaluate(cluster, call, each, false))?)
        }
        None => {
            call.softening_squared =
                of_all.ok_or_else(|| lacking("the softening is", "g5_set_eps_to_all"))?;
            with_cluster(key, |cluster| cluster.begin(call))?;
            None
        }
    };
    board.is_current = true;
    Ok(())
}

/// Forces on what was `taken`; whatever fails leaves NaN.
fn fetch(
    number: c_int,
    n: usize,
    taken: Result<c_int>,
    mut a: Output<[f64; 3]>,
    mut p: Output<f64>,
) -> Result<c_int> {
    let outcome = taken.and_then(|_| fetch_begun(number, n, &mut a, &mut p));
    if outcome.is_err() {
        a.fill(n, [f64::NAN; 3]);
        p.fill(n, f64::NAN);
    }
    outcome
}

fn fetch_begun(
    number: c_int,
    n: usize,
    a: &mut Output<[f64; 3]>,
    p: &mut Output<f64>,
) -> Result<c_int> {
    let state = &mut *state()?;
    let sign = state.sign;
    let begun = begin(state, number);
    let board = state.board(number)?;
    let done = board.done.take();
    (board.is_current, board.sinks, board.each) = (false, None, None);
    begun?;
    let mut give = |acceleration: &[DVec3], potential: &[f64]| {
        write(acceleration, a.take(n)?);
        let signed = potential.iter().map(|potential| sign * potential);
        p.take(n)?.iter_mut().zip(signed).for_each(|(into, from)| *into = from);
        Ok(DONE)
    };
    match done {
        Some(forces) if forces.acceleration.len() == n => {
            give(&forces.acceleration, &forces.potential)
        }
        Some(forces) => {
            let allowed = format!("{}, as many as were given", forces.acceleration.len());
            Err(Error::value("the number ni of sinks", n, allowed))
        }
        None => with_cluster(Key::G5(number), |cluster| {
            let answers = cluster.finish(n, Asked::Forces)?;
            give(&answers.acceleration, &answers.potential)
        }),
    }
}
