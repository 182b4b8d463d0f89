//! Several threads on one cluster, in every order that their calls may come in.

use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use super::*;

type Task<'scope> = Box<dyn FnOnce(&mut Cluster) + Send + 'scope>;

/// A thread that does one thing after the other, when it is told to.
struct Worker<'scope> {
    orders: Sender<Task<'scope>>,
}

impl<'scope> Worker<'scope> {
    fn new(scope: &'scope thread::Scope<'scope, '_>, cluster: &'scope Mutex<Cluster>) -> Self {
        let (orders, inbox) = channel::<Task<'scope>>();
        scope.spawn(move || {
            for order in inbox {
                order(&mut cluster.lock().unwrap());
            }
        });
        Self { orders }
    }

    /// What `work` on the cluster answers in this thread.
    fn does<T: Send + 'scope>(&self, work: impl FnOnce(&mut Cluster) -> T + Send + 'scope) -> T {
        let (answer, back) = channel();
        let order = move |cluster: &mut Cluster| answer.send(work(cluster)).unwrap();
        self.orders.send(Box::new(order)).unwrap();
        back.recv().unwrap()
    }
}

/// The call on sinks `from` to `to`.
fn part(bodies: &TestBodies, from: usize, to: usize) -> Call {
    let whole = call(bodies, index_of);
    Call {
        position: whole.position[from..to].to_vec(),
        velocity: whole.velocity[from..to].to_vec(),
        acceleration: whole.acceleration[from..to].to_vec(),
        index: whole.index[from..to].to_vec(),
        radius_squared: whole.radius_squared[from..to].to_vec(),
        ..whole
    }
}

fn index_of(k: usize) -> i32 {
    3 * k as i32 - 50
}

/// Checks answers, nearest and lists of sinks `from` to `to`.
fn check(cluster: &mut Cluster, bodies: &TestBodies, from: usize, to: usize) {
    let wanted = wanted(bodies, Order::Jerk, 100);
    let got = cluster.finish(to - from, Asked::Distance).unwrap();
    assert_eq!(got.acceleration, wanted.acceleration[from..to]);
    assert_eq!(got.jerk, wanted.jerk[from..to]);
    for i in from..to {
        assert_eq!(cluster.nearest_indices()[i - from], index_of(wanted.nearest[i] as usize));
    }
}

fn check_lists(cluster: &mut Cluster, bodies: &TestBodies, from: usize, to: usize) {
    let wanted = wanted(bodies, Order::Jerk, 100);
    cluster.read_lists().unwrap();
    for i in from..to {
        let list: Vec<i32> =
            wanted.neighbours.of(i).iter().map(|&j| index_of(j as usize)).collect();
        assert_eq!(cluster.list((i - from) as i32).unwrap().0, list);
    }
}

#[test]
fn each_thread_gets_its_own_call_back() {
    let bodies = TestBodies::new(60, 3);
    let bodies = &bodies;
    let cluster = Mutex::new(cluster(bodies, Order::Jerk, index_of));
    thread::scope(|scope| {
        let (one, two) = (Worker::new(scope, &cluster), Worker::new(scope, &cluster));
        for _ in 0..3 {
            one.does(|cluster| cluster.begin(part(bodies, 0, 20)).unwrap());
            two.does(|cluster| cluster.begin(part(bodies, 20, 60)).unwrap());
            one.does(|cluster| check(cluster, bodies, 0, 20));
            two.does(|cluster| check(cluster, bodies, 20, 60));
            // Lists are each thread's own, too.
            one.does(|cluster| check_lists(cluster, bodies, 0, 20));
            two.does(|cluster| check_lists(cluster, bodies, 20, 60));
            one.does(|cluster| assert!(cluster.finish(20, Asked::Distance).is_err()));
        }
        // A first half after a first half by the same thread takes its place, and the other's stays.
        one.does(|cluster| cluster.begin(part(bodies, 0, 20)).unwrap());
        two.does(|cluster| cluster.begin(part(bodies, 20, 60)).unwrap());
        two.does(|cluster| cluster.begin(part(bodies, 30, 35)).unwrap());
        two.does(|cluster| check(cluster, bodies, 30, 35));
        one.does(|cluster| check(cluster, bodies, 0, 20));
        // One that failed does not get another's forces.
        one.does(|cluster| cluster.begin(part(bodies, 0, 20)).unwrap());
        let broken = Call { softening_squared: f64::NAN, ..part(bodies, 0, 20) };
        assert!(two.does(move |cluster| cluster.begin(broken)).is_err());
        assert!(two.does(|cluster| cluster.finish(20, Asked::Distance).is_err()));
        one.does(|cluster| check(cluster, bodies, 0, 20));
    });
}

#[test]
fn threads_in_turn_are_one_caller() {
    let bodies = TestBodies::new(40, 4);
    let bodies = &bodies;
    let cluster = Mutex::new(cluster(bodies, Order::Jerk, index_of));
    thread::scope(|scope| {
        let (one, two) = (Worker::new(scope, &cluster), Worker::new(scope, &cluster));
        // As in regions of OpenMP that some thread enters: who begins need not be who fetches.
        for (from, to) in [(0, 10), (10, 40), (5, 6)] {
            one.does(move |cluster| cluster.begin(part(bodies, from, to)).unwrap());
            two.does(move |cluster| check(cluster, bodies, from, to));
            one.does(move |cluster| check_lists(cluster, bodies, from, to));
            two.does(move |cluster| cluster.begin(part(bodies, from, to)).unwrap());
            one.does(move |cluster| check(cluster, bodies, from, to));
            two.does(move |cluster| check_lists(cluster, bodies, from, to));
        }
        let three = Worker::new(scope, &cluster);
        one.does(|cluster| cluster.begin(part(bodies, 0, 10)).unwrap());
        two.does(|cluster| cluster.begin(part(bodies, 0, 10)).unwrap());
        let text =
            three.does(|cluster| cluster.finish(10, Asked::Distance).unwrap_err().to_string());
        assert!(text.contains("2 threads have begun"), "{text}");
        one.does(|cluster| check(cluster, bodies, 0, 10));
        // One is left: it is meant.
        three.does(|cluster| check(cluster, bodies, 0, 10));
        assert!(two.does(|cluster| cluster.finish(10, Asked::Distance).is_err()));
    });
}

#[test]
fn a_thread_that_ends_leaves_nothing_that_others_wait_for() {
    let bodies = TestBodies::new(40, 4);
    let mut cluster = cluster(&bodies, Order::Jerk, index_of);
    for k in 0..5 {
        thread::scope(|scope| {
            scope.spawn(|| cluster.begin(part(&bodies, k, 30)).unwrap()).join().unwrap();
        });
    }
    assert_eq!(cluster.calls.all.len(), 1, "calls of threads that have ended are forgotten");
    cluster.begin(part(&bodies, 0, 7)).unwrap();
    check(&mut cluster, &bodies, 0, 7);
    // What it began may still be fetched by another.
    thread::scope(|scope| {
        scope.spawn(|| cluster.begin(part(&bodies, 2, 9)).unwrap()).join().unwrap();
    });
    check(&mut cluster, &bodies, 2, 9);
    assert!(cluster.finish(7, Asked::Distance).is_err());
}

#[test]
fn what_came_between_the_halves_changes_no_answer() {
    let bodies = TestBodies::new(40, 4);
    let bodies = &bodies;
    let cluster = Mutex::new(cluster(bodies, Order::Jerk, index_of));
    thread::scope(|scope| {
        let (one, two) = (Worker::new(scope, &cluster), Worker::new(scope, &cluster));
        one.does(|cluster| cluster.begin(part(bodies, 0, 20)).unwrap());
        // Another index: sources are arranged anew for the second call.
        let stranger = Particle { index: 9999, mass: 5.0, ..Particle::default() };
        two.does(move |cluster| cluster.memory.set(39, stranger).unwrap());
        two.does(|cluster| cluster.begin(part(bodies, 3, 5)).unwrap());
        one.does(|cluster| check(cluster, bodies, 0, 20));
        let with_stranger = two.does(|cluster| cluster.finish(2, Asked::Distance).unwrap().clone());
        let without = wanted(bodies, Order::Jerk, 100);
        assert_ne!(with_stranger.acceleration, without.acceleration[3..5]);
        one.does(|cluster| assert!(cluster.read_lists().is_ok()));
    });
}
