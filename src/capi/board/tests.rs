use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use super::*;
use crate::registry::{self, ClusterKey, Open, with_board};
use gravitile::forces::direct::{CpuSingle, Reference};
use gravitile::forces::{EngineCapabilities, Interfaces, TestBodies};

/// An engine whose `begin` returns only once another engine's `begin` has been entered too.
struct Rendezvous {
    inner: Reference,
    begun: Arc<(Mutex<usize>, Condvar)>,
}

impl ForceEngine for Rendezvous {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    answered_by_inner!();

    fn set_sources(&mut self, sources: &Sources) -> Result<()> {
        self.inner.set_sources(sources)
    }

    fn update_sources(&mut self, index: &[u32], sources: &Sources) -> Result<()> {
        self.inner.update_sources(index, sources)
    }

    fn begin(&mut self, sinks: &Sinks, softening: f64, outputs: &Outputs) -> Result<()> {
        let (count, changed) = &*self.begun;
        let mut begun = count.lock().unwrap();
        *begun += 1;
        changed.notify_all();
        let limit = Duration::from_secs(30);
        let (begun, _) = changed.wait_timeout_while(begun, limit, |begun| *begun < 2).unwrap();
        assert!(*begun == 2, "the other board waits");
        drop(begun);
        self.inner.begin(sinks, softening, outputs)
    }

    fn capabilities(&self) -> EngineCapabilities<'_> {
        EngineCapabilities::default()
    }

    fn interfaces(&mut self) -> Interfaces<'_> {
        Interfaces::default()
    }
}

#[test]
fn boards_compute_at_the_same_time() {
    let begun = Arc::default();
    for number in [501, 502] {
        let inner = Reference::default();
        let engine = Rendezvous { inner, begun: Arc::clone(&begun) };
        let board = Box::new(Board::new(Box::new(engine)));
        registry::insert(ClusterKey::G5(number), Open::Board(board));
    }
    let force = |number: i32| -> Result<f64> {
        with_board(number, |board| {
            let (position, mass) = ([[f64::from(number), 0.0, 0.0]], [2.0]);
            let new = NewSources {
                position: Some(&position),
                mass: Some(&mass),
                softening_squared: None,
            };
            board.set_sources(0, 1, &new)?;
            board.set_count(1);
            board.set_sinks(&[[0.0; 3]]);
            Ok(board.finish(1, Some(0.0))?.potential[0])
        })
    };
    let both = std::thread::scope(|scope| {
        let other = scope.spawn(|| force(501));
        (force(502).unwrap(), other.join().unwrap().unwrap())
    });
    assert_eq!(both, (-2.0 / 502.0, -2.0 / 501.0));
    for number in [501, 502] {
        registry::close(ClusterKey::G5(number)).unwrap();
    }
}

#[test]
fn unchanged_sources_are_uploaded_once_and_give_same_bits() {
    let bodies = TestBodies::new(100, 3);
    let arrays = |from: &[DVec3]| from.iter().map(|x| x.to_array()).collect::<Vec<_>>();
    let (position, mass) = (arrays(&bodies.position), bodies.mass.clone());
    let all = NewSources { position: Some(&position), mass: Some(&mass), softening_squared: None };
    let mut board = Board::new(Box::new(CpuSingle::new()));
    board.set_sources(0, 100, &all).unwrap();
    board.set_count(100);
    let forces = |board: &mut Board, range: std::ops::Range<usize>| {
        board.set_sinks(&position[range.clone()]);
        board.finish(range.len(), Some(1e-4)).unwrap().clone()
    };
    let whole = forces(&mut board, 0..100);
    let part = forces(&mut board, 30..37);
    assert_eq!(part.acceleration, whole.acceleration[30..37]);
    // Fewer sources, then all of them; then a change of one source.
    board.set_count(50);
    assert_ne!(forces(&mut board, 0..100), whole);
    board.set_count(100);
    assert_eq!(forces(&mut board, 0..100), whole);
    let heavier = [1e3 * mass[7]];
    let one = NewSources { mass: Some(&heavier), ..NewSources::default() };
    board.set_sources(7, 1, &one).unwrap();
    assert_ne!(forces(&mut board, 0..100), whole);
    board.set_sources(0, 100, &all).unwrap();
    assert_eq!(forces(&mut board, 0..100), whole);
}
