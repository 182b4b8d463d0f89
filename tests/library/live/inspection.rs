//! Inspection of forces and the tree during an interactive simulation.

use gravitile::forces::Method;
use gravitile::forces::tree::{Opening, TreeConfig};
use gravitile::live::{Command, ForceError, InspectRequest, SAMPLES, Tempo};
use gravitile::sim::Settings;

use super::watcher::{Watcher, bits};
use super::{ENGINES, plummer, settings};

const ALL: InspectRequest = InspectRequest { error: true, tree: true, body: Some(17), about: None };

fn by_tree(engine: gravitile::sim::EngineKind, alpha: f64) -> Settings {
    let tree = TreeConfig { opening: Opening::Acceleration { alpha }, ..TreeConfig::default() };
    Settings { method: Some(Method::Tree), tree, ..settings(engine) }
}

#[test]
fn force_error_matches_accelerations_and_falls_with_alpha() {
    for engine in ENGINES {
        let mut errors = Vec::new();
        for alpha in [0.03, 0.0003] {
            let mut watcher = Watcher::new(plummer(4000), by_tree(engine, alpha)).ready();
            watcher.live.inspect(InspectRequest { error: true, ..InspectRequest::default() });
            watcher.until("the error", |w| w.live.inspected().error.is_some());
            let found = watcher.live.inspected().error.unwrap();
            let state = watcher.state();
            let mass = state.bodies.gravitating_mass(1.0);
            assert_eq!(found, ForceError::of(&state, &mass).unwrap(), "{engine:?}");
            assert_eq!((found.samples, found.steps), (SAMPLES, 0));
            assert!(found.median < found.rms && found.rms < found.largest, "{found:?}");
            errors.push(found.rms);
            // An empty request clears the result.
            watcher.live.inspect(InspectRequest::default());
            assert!(watcher.live.inspected().error.is_none());
        }
        assert!(errors[0] < 1e-2 && errors[1] < 0.2 * errors[0], "{engine:?}: {errors:?}");
    }
}

#[test]
fn force_error_uses_new_softening_while_paused() {
    for engine in ENGINES {
        let mut watcher = Watcher::new(plummer(1000), by_tree(engine, 0.003)).ready();
        watcher.live.inspect(ALL);
        watcher.until("the error", |w| w.live.inspected().error.is_some());
        watcher.apply(Command::Softening(0.5));
        let before = watcher.live.inspected().error;
        watcher.until("another error", |w| w.live.inspected().error != before);
        let after = watcher.live.inspected().error.unwrap();
        // Compared with accelerations of the other softening, the error would be of order one.
        assert!(after.rms < 5e-3 && after.steps == 0, "{engine:?}: {after:?}");
    }
}

#[test]
fn tree_and_walk_match_requested_state() {
    for engine in ENGINES {
        let mut watcher = Watcher::new(plummer(3000), by_tree(engine, 0.003)).ready();
        watcher.live.inspect(ALL);
        watcher.until("a walk", |w| w.live.inspected().walk.is_some());
        let seen = watcher.live.inspected().clone();
        let (tree, walk) = (seen.tree.unwrap(), seen.walk.unwrap());
        assert_eq!((tree.time, tree.view.bodies(), walk.body), (0.0, 3000, 17));
        assert!(walk.walk.members.contains(&17) && walk.walk.tests() > 50);
        // Another body of the same state: the tree is reused.
        watcher.live.inspect(InspectRequest { body: Some(2500), ..ALL });
        watcher.until("another walk", |w| {
            w.live.inspected().walk.as_ref().is_some_and(|walk| walk.body == 2500)
        });
        let reused = watcher.live.inspected().tree.clone().unwrap();
        assert!(std::sync::Arc::ptr_eq(&reused.view, &tree.view), "{engine:?}");
        // A body that does not exist has no walk; this is no error.
        watcher.live.inspect(InspectRequest { body: Some(1_000_000), ..ALL });
        for _ in 0..20 {
            watcher.frame();
        }
        watcher.live.inspect(ALL);
        watcher.steps(3);
        watcher.until("a later tree", |w| {
            w.live.inspected().tree.as_ref().is_some_and(|tree| tree.time > 0.02)
        });
        assert!(watcher.failures.is_empty(), "{:?}", watcher.failures);
    }
}

#[test]
fn body_facts_follow_current_state() {
    for engine in ENGINES {
        let mut watcher = Watcher::new(plummer(500), by_tree(engine, 0.003)).ready();
        let about = |body| InspectRequest { about: Some(body), ..InspectRequest::default() };
        watcher.live.inspect(about(17));
        watcher.until("facts", |w| w.live.inspected().about.is_some());
        let first = watcher.live.inspected().about.clone().unwrap();
        assert_eq!((first.body, first.time, first.nearest.len()), (17, 0.0, 3));
        assert!(first.is_bound(), "a body of a cluster in equilibrium: {first:?}");
        watcher.live.inspect(about(18));
        watcher.until("another body's", |w| {
            w.live.inspected().about.as_ref().is_some_and(|facts| facts.body == 18)
        });
        watcher.steps(3);
        watcher.until("later ones", |w| {
            w.live.inspected().about.as_ref().is_some_and(|facts| facts.time > 0.02)
        });
        // A body that does not exist has no facts; this is no error.
        watcher.live.inspect(about(1_000_000));
        watcher.until("nothing", |w| w.live.inspected().about.is_none());
        assert!(watcher.failures.is_empty(), "{:?}", watcher.failures);
    }
}

#[test]
fn inspection_does_not_change_bits() {
    for engine in ENGINES {
        let run = |request: InspectRequest| {
            let mut watcher = Watcher::new(plummer(800), by_tree(engine, 0.003)).ready();
            watcher.live.inspect(request);
            watcher.apply(Command::Tempo(Tempo::Fastest));
            for _ in 0..3 {
                watcher.steps(4);
                if request.body.is_some() {
                    watcher.until("a walk", |w| w.live.inspected().walk.is_some());
                }
            }
            bits(&watcher.state())
        };
        let all = InspectRequest { about: Some(3), ..ALL };
        assert!(run(all) == run(InspectRequest::default()), "{engine:?}");
    }
}
