//! Which bodies step when, in integer times.

use super::LEVELS;

/// Number of shortest steps per `dt_max`.
pub(crate) const PERIOD: u64 = 1 << LEVELS;

/// The bodies' own times and steps, in shortest steps since the present period began.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Schedule {
    /// Number of completed periods (of `dt_max`).
    pub period: u64,
    /// The time to which each body has been corrected, <= PERIOD; a multiple of its step.
    pub time: Vec<u64>,
    /// Each body's next step, a power of two <= PERIOD.
    pub step: Vec<u64>,
}

/// The first step, if the criterion gives this one in shortest steps: the largest power of two not
/// above it, at most a period. `None` if it is less than one.
pub(super) fn first(criterion: f64) -> Option<u64> {
    shortened(PERIOD, criterion)
}

/// The next step of all bodies, which are at `now` < PERIOD and whose criterion gives this step in
/// shortest steps: the largest power of two not above that of which `now` is a multiple. It follows
/// from the two alone, whatever the last step was. `None` if it is less than one.
pub(crate) fn common(now: u64, criterion: f64) -> Option<u64> {
    shortened(1 << now.trailing_zeros().min(LEVELS), criterion)
}

/// `step`, halved until it is not above the criterion's; `None` below 1. NaN halves nothing.
fn shortened(mut step: u64, criterion: f64) -> Option<u64> {
    while criterion < step as f64 {
        step /= 2;
        if step == 0 {
            return None;
        }
    }
    Some(step)
}

impl Schedule {
    /// All bodies at the beginning of the first period.
    pub fn new(step: Vec<u64>) -> Self {
        Self { period: 0, time: vec![0; step.len()], step }
    }

    /// The latest time that any body has reached.
    pub fn now(&self) -> u64 {
        self.time.iter().copied().max().unwrap_or(0)
    }

    /// The time at which the next step ends.
    pub fn next(&self) -> u64 {
        let ends = self.time.iter().zip(&self.step).map(|(time, step)| time + step);
        ends.min().unwrap_or(PERIOD)
    }

    /// The bodies whose step ends at `next`, ascending.
    pub fn ending_at(&self, next: u64, active: &mut Vec<u32>) {
        active.clear();
        let ends = self.time.iter().zip(&self.step).map(|(time, step)| time + step);
        active.extend(ends.enumerate().filter(|(_, end)| *end == next).map(|(i, _)| i as u32));
    }

    /// Sets the next step of body `i`, which has arrived at `now` and whose criterion gives this
    /// step in shortest steps: the largest power of two not above that, at most twice its last
    /// step, and twice only if its time is a multiple of it. Returns false if it is below 1; the
    /// step is then 1.
    pub fn step_done(&mut self, i: usize, now: u64, criterion: f64) -> bool {
        let last = self.step[i];
        self.time[i] = now;
        let twice = 2 * last;
        if criterion >= twice as f64 && twice <= PERIOD && now.is_multiple_of(twice) {
            self.step[i] = twice;
            return true;
        }
        let step = shortened(last, criterion);
        self.step[i] = step.unwrap_or(1);
        step.is_some()
    }

    /// Begins the next period if all bodies have reached the end of this one; returns whether they
    /// have.
    pub fn turn_over(&mut self) -> bool {
        let over = self.time.iter().all(|&time| time == PERIOD);
        if over {
            self.time.fill(0);
            self.period += 1;
        }
        over
    }

    /// The number of bodies with a step of PERIOD / 2^k, as element k.
    pub fn by_level(&self) -> Vec<usize> {
        let mut levels = Vec::new();
        for step in &self.step {
            let level = (LEVELS - step.trailing_zeros()) as usize;
            if levels.len() <= level {
                levels.resize(level + 1, 0);
            }
            levels[level] += 1;
        }
        levels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_powers_of_two_not_above_the_criterion() {
        assert_eq!(first(f64::INFINITY), Some(PERIOD));
        assert_eq!(first(PERIOD as f64), Some(PERIOD));
        assert_eq!(first(5.9), Some(4));
        assert_eq!(first(1.0), Some(1));
        assert_eq!(first(0.99), None);
        assert_eq!(first(0.0), None);
    }

    #[test]
    fn common_step_divides_the_time_and_ends_with_the_period() {
        assert_eq!(common(0, f64::INFINITY), Some(PERIOD));
        assert_eq!(common(4, 1e9), Some(4));
        assert_eq!(common(PERIOD - 6, 1e9), Some(2));
        assert_eq!((common(0, 0.5), common(7, 1.0)), (None, Some(1)));
        let (mut now, mut steps) = (0, Vec::new());
        // Shorter at once, longer only at multiples.
        for criterion in [0.3, 0.9, 0.1, 0.3, 0.3, 0.3, 1.0, 1.0] {
            let step = common(now, criterion * PERIOD as f64).unwrap();
            now += step;
            steps.push(PERIOD / step);
            if now == PERIOD {
                break;
            }
        }
        assert_eq!(steps, [4, 4, 16, 16, 8, 4]);
        assert_eq!(now, PERIOD);
    }

    #[test]
    fn all_bodies_are_synchronous_at_end_of_period() {
        let quarter = PERIOD / 4;
        let mut schedule = Schedule::new(vec![quarter, PERIOD / 2, PERIOD]);
        let mut active = Vec::new();
        let mut ends = Vec::new();
        for _ in 0..4 {
            let next = schedule.next();
            schedule.ending_at(next, &mut active);
            ends.push((next / quarter, active.clone()));
            for &i in &active {
                assert!(schedule.step_done(
                    i as usize,
                    next,
                    1.5 * schedule.step[i as usize] as f64
                ));
            }
            schedule.turn_over();
        }
        let expected = [(1, vec![0]), (2, vec![0, 1]), (3, vec![0]), (4, vec![0, 1, 2])];
        assert_eq!(ends, expected);
        assert_eq!((schedule.period, schedule.time), (1, vec![0; 3]));
    }

    #[test]
    fn step_doubles_only_at_even_times_and_halves_at_once() {
        let mut schedule = Schedule::new(vec![4, 4]);
        assert!(schedule.step_done(0, 4, 1e9));
        assert_eq!(schedule.step[0], 4, "4 is no multiple of 8");
        assert!(schedule.step_done(0, 8, 1e9));
        assert_eq!(schedule.step[0], 8);
        assert!(schedule.step_done(0, 16, 1.2));
        assert_eq!(schedule.step[0], 1);
        assert!(!schedule.step_done(0, 17, 0.5));
        assert_eq!(schedule.by_level().iter().sum::<usize>(), 2);
        assert_eq!(schedule.by_level()[LEVELS as usize], 1);
    }
}
