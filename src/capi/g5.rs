//! The GRAPE-5 interface of Sapporo2's `sapporoG5lib.cpp` and Phantom-GRAPE's `gp5util.h`:
//! accelerations and potentials of particles without indices. No pair is excluded: a source at a
//! sink's position adds -m/eps to the potential. Names that end in MC take a board number; each
//! board has its own sources and sinks, so that threads may use one each. The common eps applies to
//! all boards.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::board::{Board, NewSources};
use super::g6::pipelines;
use super::guard::DONE;
use super::memory::LARGEST_MEMORY;
use super::options::Options;
use super::registry::{self, ClusterKey};
use super::slices::{InputArray, OutputArray, count};
use gravitile::error::{Error, Result};

/// Board numbers are below this. Programs use a thread's number.
const BOARDS: c_int = 1024;

/// Bits of the common eps^2 of the sinks of all boards; NaN until it is set.
static SOFTENING_SQUARED: AtomicU64 = AtomicU64::new(f64::NAN.to_bits());

/// Whether potentials are returned with positive sign.
static IS_POSITIVE: AtomicBool = AtomicBool::new(true);

both_forms! { "Opens GRAPE-5."; g5_open g5_open_; () { open() } }

both_forms! { "Sapporo2: opens. The device list is ignored: GRAVITILE_ADAPTER selects the adapter.";
g5_open_special g5_open_special_; (_devices: int, _list: ignored) { open() } }

both_forms! { "Closes GRAPE-5 and frees its memory."; g5_close g5_close_; () {
    SOFTENING_SQUARED.store(f64::NAN.to_bits(), Ordering::Relaxed);
    registry::close_boards()
} }

both_forms! { "Recommended number of sinks per call; more are accepted.";
g5_get_number_of_pipelines g5_get_number_of_pipelines_,
g5_get_number_of_pipelines_per_board g5_get_number_of_pipelines_per_board_; () { pipelines() } }

both_forms! { "Number of boards to distribute sinks over: 1, since each board has its own sources.";
g5_get_number_of_boards g5_get_number_of_boards_; () { Ok(1) } }

both_forms! { "Number of the first of these boards.";
g5_get_firstcluster g5_get_firstcluster_; () { Ok(0) } }

both_forms! { "1, as Sapporo2 returns.";
g5_get_number_of_real_pipelines g5_get_number_of_real_pipelines_;
() { Ok(1) } }

both_forms! { "1, as Sapporo2 returns."; g5_get_pcibus_freq g5_get_pcibus_freq_; () { Ok(1) } }

both_forms! { "Maximum number of sources."; g5_get_jmemsize g5_get_jmemsize_;
() { Ok(LARGEST_MEMORY as c_int) } }

both_forms! { "Range of GRAPE-5's fixed-point numbers. No effect: gravitile has none.";
g5_set_range g5_set_range_; (_xmin: double, _xmax: double, _mmin: double) { Ok(DONE) } }

for_boards! { "Sets the number of sources: those below address `nj` attract.";
g5_set_n g5_set_n_; g5_set_nMC g5_set_nMC_; board; (nj: int) {
    let n = count("the number nj of sources", nj)?;
    with_board(board, |board| { board.set_count(n); Ok(DONE) })
} }

both_forms! { "Sets the common eps of all boards.";
g5_set_eps_to_all g5_set_eps_to_all_; (eps: double) {
    softening("eps", eps, eps * eps)
} }

both_forms! { "Sets the common eps^2 of all boards.";
g5_set_eps2_to_all g5_set_eps2_to_all_; (eps2: double) {
    softening("eps2", eps2, eps2)
} }

for_boards! { "Sets eps per sink until the forces are fetched; then the common eps applies.";
g5_set_eps g5_set_eps_; g5_set_epsMC g5_set_epsMC_; board; (ni: int, eps: doubles) {
    set_eps(board, ni, eps)
} }

for_boards! { "Sets sources `address` to `address` + `nj` - 1 from the same entries of `xj` and `mj`.";
g5_set_xmj g5_set_xmj_; g5_set_xmjMC g5_set_xmjMC_; board;
(address: int, nj: int, xj: vectors, mj: doubles) {
    set_sources(board, address, nj, Some(xj), Some(mj), None)
} }

both_forms! { "The same as g5_set_xmj."; g5_set_jp g5_set_jp_;
(address: int, nj: int, mj: doubles, xj: vectors) { set_sources(0, address, nj, Some(xj), Some(mj), None) } }

both_forms! { "Sets positions only. Sources whose mass was never set are massless.";
g5_set_xj g5_set_xj_;
(address: int, nj: int, xj: vectors) { set_sources(0, address, nj, Some(xj), None, None) } }

both_forms! { "Sets masses only."; g5_set_mj g5_set_mj_;
(address: int, nj: int, mj: doubles) { set_sources(0, address, nj, None, Some(mj), None) } }

for_boards! { "g5_set_xmj with eps^2 per source, which is added to the sink's.";
g5_set_xmj0 g5_set_xmj0_; g5_set_xmjMC0 g5_set_xmjMC0_; board;
(address: int, nj: int, xj: vectors, mj: doubles, epsj2: doubles) {
    set_sources(board, address, nj, Some(xj), Some(mj), Some(epsj2))
} }

for_boards! { "Sets the sinks.";
g5_set_xi g5_set_xi_; g5_set_xiMC g5_set_xiMC_; board; (ni: int, xi: vectors) {
    let xi = xi.take(count("the number ni of sinks", ni)?)?;
    with_board(board, |board| { board.set_sinks(xi); Ok(DONE) })
} }

for_boards! { "Sets the sinks with eps^2 per sink.";
g5_set_xei g5_set_xei_; g5_set_xeiMC g5_set_xeiMC_, g5_set_xiMC0 g5_set_xiMC0_; board;
(ni: int, xi: vectors, eps2: doubles) {
    let n = count("the number ni of sinks", ni)?;
    let (xi, eps2) = (xi.take(n)?, eps2.take(n)?);
    with_board(board, |board| set_sinks_with_softening(board, xi, eps2).map(|()| DONE))
} }

for_boards! { "Starts the forces unless they have been started.";
g5_run g5_run_; g5_runMC g5_runMC_, g5_runMC0 g5_runMC0_; board; () {
    with_board(board, |board| board.begin(softening_of_all()).map(|()| DONE))
} }

for_boards! { "Returns accelerations and potentials of the sinks. On failure the arrays are filled \
    with NaN.";
g5_get_force g5_get_force_; g5_get_forceMC g5_get_forceMC_; board;
(ni: int, a: vectors_out, p: doubles_out) {
    fetch(board, count("the number ni of sinks", ni)?, a, p, |_| Ok(()))
} }

for_boards! { "All in one call: sets sinks, returns accelerations and potentials.";
g5_calculate_force_on_x g5_calculate_force_on_x_;
g5_calculate_force_on_xMC g5_calculate_force_on_xMC_; board;
(xi: vectors, a: vectors_out, p: doubles_out, ni: int) {
    let n = count("the number ni of sinks", ni)?;
    // `a` may alias `xi`: sinks are copied before anything is written.
    fetch(board, n, a, p, |board| { board.set_sinks(xi.take(n)?); Ok(()) })
} }

for_boards! { "All in one call, with eps^2 per sink.";
g5_calculate_force_on_xe g5_calculate_force_on_xe_;
g5_calculate_force_on_xeMC g5_calculate_force_on_xeMC_; board;
(xi: vectors, eps2: doubles, a: vectors_out, p: doubles_out, ni: int) {
    on_xe(board, xi, eps2, a, p, ni)
} }

for_boards! { "The same with arguments in another order.";
g5_calculate_force_on_x0 g5_calculate_force_on_x0_;
g5_calculate_force_on_xMC0 g5_calculate_force_on_xMC0_; board;
(xi: vectors, a: vectors_out, p: doubles_out, ni: int, eps2: doubles) {
    on_xe(board, xi, eps2, a, p, ni)
} }

/// Runs `work` on a board. Only calls on the same board exclude each other.
fn with_board<T>(number: c_int, work: impl FnOnce(&mut Board) -> Result<T>) -> Result<T> {
    if !(0..BOARDS).contains(&number) {
        return Err(Error::value("the board", number, format!("from 0 to {}", BOARDS - 1)));
    }
    registry::with_board(number, work)
}

fn open() -> Result<c_int> {
    IS_POSITIVE.store(Options::of_user()?.g5_potential_is_positive, Ordering::Relaxed);
    registry::open(ClusterKey::G5(0))
}

fn softening(name: &str, given: f64, squared: f64) -> Result<c_int> {
    if !(given >= 0.0 && squared.is_finite()) {
        return Err(Error::value(name, given, "finite and at least 0"));
    }
    registry::check_open(ClusterKey::G5(0))?;
    SOFTENING_SQUARED.store(squared.to_bits(), Ordering::Relaxed);
    Ok(DONE)
}

/// The common eps^2, if it was set.
fn softening_of_all() -> Option<f64> {
    let squared = f64::from_bits(SOFTENING_SQUARED.load(Ordering::Relaxed));
    (!squared.is_nan()).then_some(squared)
}

fn set_eps(board: c_int, ni: c_int, eps: InputArray<f64>) -> Result<c_int> {
    let eps = eps.take(count("the number ni of sinks", ni)?)?;
    if let Some(i) = eps.iter().position(|eps| !(*eps >= 0.0 && (eps * eps).is_finite())) {
        return Err(Error::value(format!("eps of sink {i}"), eps[i], "finite and at least 0"));
    }
    let squared = eps.iter().map(|eps| eps * eps).collect();
    with_board(board, |board| board.set_softening_of_sinks(squared).map(|()| DONE))
}

fn set_sinks_with_softening(board: &mut Board, xi: &[[f64; 3]], eps2: &[f64]) -> Result<()> {
    board.set_softening_of_sinks(eps2.to_vec())?;
    board.set_sinks(xi);
    Ok(())
}

fn set_sources(
    board: c_int,
    address: c_int,
    nj: c_int,
    x: Option<InputArray<[f64; 3]>>,
    m: Option<InputArray<f64>>,
    eps2: Option<InputArray<f64>>,
) -> Result<c_int> {
    let first = count("the address of a source", address)?;
    let n = count("the number nj of sources", nj)?;
    let end = if n == 0 { 0 } else { first.saturating_add(n) };
    if end > LARGEST_MEMORY {
        let allowed = format!("at most {LARGEST_MEMORY} in all");
        return Err(Error::value("the number of sources", end, allowed));
    }
    let first = first.min(end);
    let new = NewSources {
        position: x.as_ref().map(|x| x.take(end)).transpose()?.map(|x| &x[first..]),
        mass: m.as_ref().map(|m| m.take(end)).transpose()?.map(|m| &m[first..]),
        softening_squared: eps2.as_ref().map(|e| e.take(end)).transpose()?.map(|e| &e[first..]),
    };
    with_board(board, |board| board.set_sources(first, n, &new).map(|()| DONE))
}

fn on_xe(
    board: c_int,
    xi: InputArray<[f64; 3]>,
    eps2: InputArray<f64>,
    a: OutputArray<[f64; 3]>,
    p: OutputArray<f64>,
    ni: c_int,
) -> Result<c_int> {
    let n = count("the number ni of sinks", ni)?;
    fetch(board, n, a, p, |board| set_sinks_with_softening(board, xi.take(n)?, eps2.take(n)?))
}

/// Runs `set`, then writes the forces on `n` sinks, under one lock, so that no call of another
/// thread on this board intervenes. On errors the arrays are filled with NaN.
fn fetch(
    board: c_int,
    n: usize,
    mut a: OutputArray<[f64; 3]>,
    mut p: OutputArray<f64>,
    set: impl FnOnce(&mut Board) -> Result<()>,
) -> Result<c_int> {
    let sign = if IS_POSITIVE.load(Ordering::Relaxed) { -1.0 } else { 1.0 };
    let outcome = with_board(board, |board| {
        set(board)?;
        let forces = board.finish(n, softening_of_all())?;
        a.take(n)?.copy_from_slice(bytemuck::cast_slice(&forces.acceleration));
        let signed = forces.potential.iter().map(|potential| sign * potential);
        p.take(n)?.iter_mut().zip(signed).for_each(|(into, from)| *into = from);
        Ok(DONE)
    });
    if outcome.is_err() {
        a.fill(n, [f64::NAN; 3]);
        p.fill(n, f64::NAN);
    }
    outcome
}
