//! Several threads on one cluster, with their calls in every order.

use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use super::*;

type Task<'scope> = Box<dyn FnOnce(&mut Cluster) + Send + 'scope>;

/// A thread that runs tasks in order.
struct Worker<'scope> {
    tasks: Sender<Task<'scope>>,
}

impl<'scope> Worker<'scope> {
    fn new(scope: &'scope thread::Scope<'scope, '_>, cluster: &'scope Mutex<Cluster>) -> Self {
        let (tasks, receiver) = channel::<Task<'scope>>();
        scope.spawn(move || {
            for task in receiver {
                task(&mut cluster.lock().unwrap());
            }
        });
        Self { tasks }
    }

    /// Runs `work` on the cluster in this thread and returns its result.
    fn run<T: Send + 'scope>(&self, work: impl FnOnce(&mut Cluster) -> T + Send + 'scope) -> T {
        let (answer, back) = channel();
        let task = move |cluster: &mut Cluster| answer.send(work(cluster)).unwrap();
        self.tasks.send(Box::new(task)).unwrap();
        back.recv().unwrap()
    }
}

/// The call for sinks `from` to `to`.
fn range_call(bodies: &TestBodies, from: usize, to: usize) -> Call<'static> {
    let whole = call(bodies, index_of);
    Call {
        position: Cow::Owned(whole.position[from..to].to_vec()),
        velocity: Cow::Owned(whole.velocity[from..to].to_vec()),
        acceleration: Cow::Owned(whole.acceleration[from..to].to_vec()),
        index: Cow::Owned(whole.index[from..to].to_vec()),
        radius_squared: Cow::Owned(whole.radius_squared[from..to].to_vec()),
        ..whole
    }
}

fn index_of(k: usize) -> i32 {
    3 * k as i32 - 50
}

/// Checks forces and nearest particles of sinks `from` to `to`.
fn check(cluster: &mut Cluster, bodies: &TestBodies, from: usize, to: usize) {
    let expected = expected(bodies, Order::Jerk, 100);
    let BoardForces { results: got, nearest } =
        cluster.finish(to - from, Requested::Distance).unwrap();
    assert_eq!(got.acceleration, expected.acceleration[from..to]);
    assert_eq!(got.jerk, expected.jerk[from..to]);
    for i in from..to {
        assert_eq!(nearest[i - from], index_of(expected.nearest[i] as usize));
    }
}

fn check_lists(cluster: &mut Cluster, bodies: &TestBodies, from: usize, to: usize) {
    let expected = expected(bodies, Order::Jerk, 100);
    cluster.read_lists().unwrap();
    for i in from..to {
        let list: Vec<i32> =
            expected.neighbours.of(i).iter().map(|&j| index_of(j as usize)).collect();
        assert_eq!(cluster.list((i - from) as i32).unwrap().0, list);
    }
}

#[test]
fn each_thread_fetches_its_own_call() {
    let bodies = TestBodies::new(60, 3);
    let bodies = &bodies;
    let cluster = Mutex::new(cluster(bodies, Order::Jerk, index_of));
    thread::scope(|scope| {
        let (one, two) = (Worker::new(scope, &cluster), Worker::new(scope, &cluster));
        for _ in 0..3 {
            one.run(|cluster| cluster.begin(&range_call(bodies, 0, 20)).unwrap());
            two.run(|cluster| cluster.begin(&range_call(bodies, 20, 60)).unwrap());
            one.run(|cluster| check(cluster, bodies, 0, 20));
            two.run(|cluster| check(cluster, bodies, 20, 60));
            // Each thread reads its own lists.
            one.run(|cluster| check_lists(cluster, bodies, 0, 20));
            two.run(|cluster| check_lists(cluster, bodies, 20, 60));
            one.run(|cluster| assert!(cluster.finish(20, Requested::Distance).is_err()));
        }
        // A second first half of a thread replaces its first one, not the other thread's.
        one.run(|cluster| cluster.begin(&range_call(bodies, 0, 20)).unwrap());
        two.run(|cluster| cluster.begin(&range_call(bodies, 20, 60)).unwrap());
        two.run(|cluster| cluster.begin(&range_call(bodies, 30, 35)).unwrap());
        two.run(|cluster| check(cluster, bodies, 30, 35));
        one.run(|cluster| check(cluster, bodies, 0, 20));
        // A thread whose first half failed does not get another thread's forces.
        one.run(|cluster| cluster.begin(&range_call(bodies, 0, 20)).unwrap());
        let broken = Call { softening_squared: f64::NAN, ..range_call(bodies, 0, 20) };
        assert!(two.run(move |cluster| cluster.begin(&broken)).is_err());
        assert!(two.run(|cluster| cluster.finish(20, Requested::Distance).is_err()));
        one.run(|cluster| check(cluster, bodies, 0, 20));
    });
}

#[test]
fn threads_in_turn_share_one_call() {
    let bodies = TestBodies::new(40, 4);
    let bodies = &bodies;
    let cluster = Mutex::new(cluster(bodies, Order::Jerk, index_of));
    thread::scope(|scope| {
        let (one, two) = (Worker::new(scope, &cluster), Worker::new(scope, &cluster));
        // As in OpenMP single regions: the thread that begins may differ from the one that fetches.
        for (from, to) in [(0, 10), (10, 40), (5, 6)] {
            one.run(move |cluster| cluster.begin(&range_call(bodies, from, to)).unwrap());
            two.run(move |cluster| check(cluster, bodies, from, to));
            one.run(move |cluster| check_lists(cluster, bodies, from, to));
            two.run(move |cluster| cluster.begin(&range_call(bodies, from, to)).unwrap());
            one.run(move |cluster| check(cluster, bodies, from, to));
            two.run(move |cluster| check_lists(cluster, bodies, from, to));
        }
        let three = Worker::new(scope, &cluster);
        one.run(|cluster| cluster.begin(&range_call(bodies, 0, 10)).unwrap());
        two.run(|cluster| cluster.begin(&range_call(bodies, 0, 10)).unwrap());
        let text =
            three.run(|cluster| cluster.finish(10, Requested::Distance).unwrap_err().to_string());
        assert!(text.contains("2 threads have begun"), "{text}");
        one.run(|cluster| check(cluster, bodies, 0, 10));
        // With one call pending, any thread can fetch it.
        three.run(|cluster| check(cluster, bodies, 0, 10));
        assert!(two.run(|cluster| cluster.finish(10, Requested::Distance).is_err()));
    });
}

#[test]
fn calls_of_ended_threads_do_not_block_others() {
    let bodies = TestBodies::new(40, 4);
    let mut cluster = cluster(&bodies, Order::Jerk, index_of);
    for k in 0..5 {
        thread::scope(|scope| {
            scope.spawn(|| cluster.begin(&range_call(&bodies, k, 30)).unwrap()).join().unwrap();
        });
    }
    assert_eq!(cluster.calls.all.len(), 1, "calls of threads that have ended are forgotten");
    cluster.begin(&range_call(&bodies, 0, 7)).unwrap();
    check(&mut cluster, &bodies, 0, 7);
    // A call begun by a thread that has ended can be fetched by another.
    thread::scope(|scope| {
        scope.spawn(|| cluster.begin(&range_call(&bodies, 2, 9)).unwrap()).join().unwrap();
    });
    check(&mut cluster, &bodies, 2, 9);
    assert!(cluster.finish(7, Requested::Distance).is_err());
}

#[test]
fn particles_set_between_halves_do_not_change_results() {
    let bodies = TestBodies::new(40, 4);
    let bodies = &bodies;
    let cluster = Mutex::new(cluster(bodies, Order::Jerk, index_of));
    thread::scope(|scope| {
        let (one, two) = (Worker::new(scope, &cluster), Worker::new(scope, &cluster));
        one.run(|cluster| cluster.begin(&range_call(bodies, 0, 20)).unwrap());
        // Another index: sources are rearranged for the second call.
        let moving = Moving { mass: 5.0, ..Moving::default() };
        let unknown = Particle { index: 9999, moving, ..Particle::default() };
        two.run(move |cluster| cluster.memory.set(39, &unknown).unwrap());
        two.run(|cluster| cluster.begin(&range_call(bodies, 3, 5)).unwrap());
        one.run(|cluster| check(cluster, bodies, 0, 20));
        let with_unknown =
            two.run(|cluster| cluster.finish(2, Requested::Distance).unwrap().results.clone());
        let without = expected(bodies, Order::Jerk, 100);
        assert_ne!(with_unknown.acceleration, without.acceleration[3..5]);
        one.run(|cluster| assert!(cluster.read_lists().is_ok()));
    });
}
