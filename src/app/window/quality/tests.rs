use super::*;

/// A simulated adapter: each effect has a cost in seconds, on top of a base of 10 ms.
struct Adapter {
    costs: [f64; ORDER.len()],
    base: f64,
    now: f64,
    number: u64,
    changes: Vec<(usize, f64)>,
}

impl Adapter {
    fn new(costs: [f64; ORDER.len()]) -> Self {
        Self { costs, base: 0.010, now: 0.0, number: 0, changes: Vec::new() }
    }

    fn draw(&mut self, quality: &mut AdaptiveQuality, workload: &Workload, secs: f64) {
        let until = self.now + secs;
        while self.now < until {
            let shown = Workload { style: quality.reduced(&workload.style), ..workload.clone() };
            let (every, side) = (quality.every(), quality.pixel_side());
            let is_drawn = |k: &usize| {
                let effect = &ORDER[*k];
                (effect.applies)(&shown)
                    && (effect.every == 1 || every < effect.every)
                    && (effect.pixel_side == 1.0 || side < effect.pixel_side)
            };
            let effects = (0..ORDER.len()).filter(is_drawn).map(|k| self.costs[k]);
            let picture = self.base + effects.sum::<f64>();
            self.number += 1;
            self.now += picture.max(1.0 / 60.0);
            let drawn = PARTS.map(|part| (part, 0.25 * picture));
            let parts = [("steps", 1.0)].into_iter().chain(drawn).chain([("panel", 1.0)]).collect();
            let times = FrameTimes { number: self.number - 1, parts };
            if quality.learn(workload, &times, self.number, self.now) {
                self.changes.push((quality.left, self.now));
            }
        }
    }
}

/// The costs of streaks, trails, each number of bodies, glow and sky.
fn costs(streaks: f64, trails: f64, bodies: [f64; 5], glow: f64, sky: f64) -> [f64; ORDER.len()] {
    let mut costs = [0.0; ORDER.len()];
    (costs[PIXELS], costs[PIXELS + 1], costs[GLOW], costs[GLOW + 1]) = (streaks, trails, glow, sky);
    costs[GLOW - 5..GLOW].copy_from_slice(&bodies);
    costs
}

/// Number of effects of [`ORDER`] that are pixels.
const PIXELS: usize = 3;
/// Index of the glow in [`ORDER`].
const GLOW: usize = ORDER.len() - 2;

fn all() -> Workload {
    let style =
        Style { streak_time: 1.0, trail_secs: 1.0, gas: 1.0, dust: 1.0, ..Style::default() };
    Workload { style, has_gas: true, bodies: 10_000, size: [1280, 720] }
}

fn is_left_out(quality: &AdaptiveQuality, name: &str) -> bool {
    quality.describe().is_some_and(|text| text.contains(name))
}

#[test]
fn effects_are_dropped_in_order_until_pictures_are_fast_enough() {
    let (mut quality, workload) = (AdaptiveQuality::default(), all());
    // Streaks 36 ms, glow 13: about what llvmpipe takes.
    let mut adapter = Adapter::new(costs(0.036, 0.004, [0.0; 5], 0.013, 0.001));
    adapter.draw(&mut quality, &workload, 8.0);
    for gone in ["streaks", "trails", "dust", "glow of gas"] {
        assert!(is_left_out(&quality, gone), "{gone}: {:?}", quality.describe());
    }
    // 24 ms are within the limit of glow and sky.
    let shown = quality.reduced(&workload.style);
    assert_eq!((shown.streak_time, shown.trail_secs), (0.0, 0.0));
    assert_eq!((shown.bloom, shown.sky), (workload.style.bloom, workload.style.sky));
    // 64 ms are not.
    adapter.costs[GLOW] = 0.053;
    adapter.draw(&mut quality, &workload, 8.0);
    assert!(
        quality.describe().is_some_and(|text| text.ends_with("glow of gas, glow")),
        "{:?}",
        quality.describe()
    );
    let shown = quality.reduced(&workload.style);
    assert_eq!((shown.bloom, shown.local_exposure, shown.sky), (0.0, 0.0, workload.style.sky));
    // Effects of gas are not reported as left out if there is no gas.
    let without = Workload { has_gas: false, ..workload.clone() };
    let mut quality = AdaptiveQuality::default();
    Adapter::new(costs(0.036, 0.004, [0.0; 5], 0.013, 0.001)).draw(&mut quality, &without, 8.0);
    assert!(!is_left_out(&quality, "dust") && is_left_out(&quality, "streaks"));
    // Nothing changes later.
    adapter.costs[GLOW] = 0.013;
    let before = adapter.changes.len();
    adapter.draw(&mut quality, &without, 100.0);
    assert_eq!(adapter.changes.len(), before, "{:?}", adapter.changes);
}

#[test]
fn fast_adapter_drops_nothing_even_after_a_short_stall() {
    let (mut quality, workload) = (AdaptiveQuality::default(), all());
    let mut adapter = Adapter::new([0.001; ORDER.len()]);
    adapter.draw(&mut quality, &workload, 30.0);
    assert_eq!((quality.describe(), adapter.changes.len()), (None, 0));
    assert_eq!(quality.reduced(&workload.style), workload.style);
    adapter.base = 0.5;
    adapter.draw(&mut quality, &workload, 1.0);
    adapter.base = 0.010;
    adapter.draw(&mut quality, &workload, 30.0);
    assert_eq!((quality.describe(), adapter.changes.len()), (None, 0));
}

#[test]
fn effects_return_when_pictures_become_fast() {
    let (mut quality, workload) = (AdaptiveQuality::default(), all());
    let mut adapter = Adapter::new(costs(0.007, 0.001, [0.0; 5], 0.005, 0.001));
    adapter.draw(&mut quality, &workload, 8.0);
    assert!(is_left_out(&quality, "streaks") && !is_left_out(&quality, "trails"));
    adapter.draw(&mut quality, &workload, 30.0);
    assert!(is_left_out(&quality, "streaks"), "17 ms without, 24 ms with them");
    // The camera is far away now.
    adapter.base = 0.0005;
    adapter.draw(&mut quality, &workload, 12.0);
    assert_eq!(quality.describe(), None);
    // Larger pixels, in vain; all pixels; without streaks; with them.
    assert_eq!(adapter.changes.len(), 4, "{:?}", adapter.changes);
}

#[test]
fn repeatedly_dropped_effect_returns_ever_less_often() {
    let (mut quality, workload) = (AdaptiveQuality::default(), all());
    let mut adapter = Adapter::new([0.0; ORDER.len()]);
    // Drawing streaks slows everything else down as well.
    for _ in 0..2000 {
        adapter.base = if is_left_out(&quality, "streaks") { 0.005 } else { 0.030 };
        adapter.draw(&mut quality, &workload, 0.3);
        quality.costs = [0.0; ORDER.len()];
    }
    let returns = adapter.changes.iter().filter(|(left, _)| *left == PIXELS).count();
    assert!((2..=8).contains(&returns), "{returns} in {} s: {:?}", adapter.now, adapter.changes);
}

#[test]
fn another_scene_is_measured_again_and_forget_restores_all_effects() {
    let (mut quality, workload) = (AdaptiveQuality::default(), all());
    let mut adapter = Adapter::new(costs(0.036, 0.004, [0.0; 5], 0.013, 0.001));
    adapter.draw(&mut quality, &workload, 8.0);
    let few = Workload { bodies: 3, ..workload.clone() };
    (adapter.costs, adapter.base) = ([0.0001; ORDER.len()], 0.001);
    adapter.draw(&mut quality, &few, 60.0);
    assert_eq!(quality.describe(), None);
    // Frames count after their numbers have restarted, too.
    (adapter.number, adapter.base) = (0, 0.030);
    adapter.draw(&mut quality, &few, 4.0);
    assert!(is_left_out(&quality, "streaks"));
    quality.forget();
    assert_eq!(quality.reduced(&workload.style), workload.style);
}

#[test]
fn fraction_of_many_bodies_is_reduced_before_the_glow() {
    let drawn = |bodies: usize, base: f64, first: f64| {
        let (mut quality, workload) = (AdaptiveQuality::default(), Workload { bodies, ..all() });
        let thinner = [1.0, 0.3, 0.1, 0.05, 0.02].map(|part| part * first);
        let mut adapter = Adapter::new(costs(0.0, 0.0, thinner, 0.013, 0.001));
        adapter.base = base;
        adapter.draw(&mut quality, &workload, 60.0);
        (quality.every(), quality.describe().unwrap_or_default())
    };
    assert_eq!(drawn(10_000, 0.005, 0.1).0, 1, "few are all drawn, however slow");
    assert_eq!(drawn(20_000, 0.005, 0.1).0, 3);
    assert_eq!(drawn(100_000, 0.005, 0.002).0, 1, "all are drawn where that is fast enough");
    let (every, text) = drawn(100_000, 0.005, 0.02);
    assert!(every == 5 && text.ends_with("glow of gas, 4 of 5 bodies"), "{every}: {text}");
    let (every, text) = drawn(1_000_000, 0.035, 0.4);
    assert!(every == 53 && text.ends_with("glow of gas, 52 of 53 bodies, glow"), "{every}: {text}");
}

#[test]
fn very_slow_pictures_drop_effects_quickly() {
    let (mut quality, workload) =
        (AdaptiveQuality::default(), Workload { bodies: 1_000_000, ..all() });
    let slow = costs(0.0, 0.0, [0.5, 0.1, 0.02, 0.012, 0.0], 0.004, 0.001);
    let mut adapter = Adapter::new(slow);
    adapter.draw(&mut quality, &workload, 120.0);
    let pictures =
        |secs: f64| (adapter.changes.iter().take_while(|change| change.1 < secs)).count();
    // Pixels, in vain, four extras, then bodies: six pictures each at 640 ms.
    assert!(pictures(28.0) >= 7, "{:?}", adapter.changes);
    assert_eq!(
        (quality.every(), is_left_out(&quality, "glow, ")),
        (19, false),
        "{:?}",
        quality.describe()
    );
}

#[test]
fn pictures_without_glow_are_exposed_longer() {
    let quality = AdaptiveQuality { left: GLOW + 1, ..AdaptiveQuality::default() };
    let stops = |style: Style| quality.reduced(&style).stops - style.stops;
    assert_eq!(stops(Style::default()), STOPS_WITHOUT_GLOW);
    assert_eq!(stops(Style { bloom: 0.0, ..Style::default() }), 0.0, "there was none");
    assert_eq!(stops(Style { stops: MOST_STOPS, ..Style::default() }), 0.0);
}

#[test]
fn pixels_grow_before_an_effect_goes_and_only_if_that_saves_time() {
    let (mut quality, workload) = (AdaptiveQuality::default(), all());
    // 40 ms for all pixels, a quarter of that for pixels of twice the side.
    let mut by_pixels = costs(0.0, 0.0, [0.0; 5], 0.0, 0.0);
    by_pixels[..PIXELS].copy_from_slice(&[0.022, 0.008, 0.004]);
    let mut adapter = Adapter::new(by_pixels);
    (adapter.base, adapter.number) = (0.006, 0);
    adapter.draw(&mut quality, &workload, 20.0);
    assert_eq!(quality.pixel_side(), 1.5, "18 ms are fast enough: {:?}", adapter.changes);
    let text = quality.describe().unwrap();
    assert!(text.ends_with(": 5 of 9 pixels"), "{text}");
    assert_eq!((quality.reduced(&workload.style), quality.every()), (workload.style.clone(), 1));
    // Where larger pixels save nothing, all are drawn, and effects go instead.
    let (mut quality, mut adapter) =
        (AdaptiveQuality::default(), Adapter::new(costs(0.036, 0.0, [0.0; 5], 0.0, 0.0)));
    adapter.draw(&mut quality, &workload, 8.0);
    assert_eq!(quality.pixel_side(), 1.0);
    assert!(quality.describe().unwrap().ends_with(": streaks"), "{:?}", quality.describe());
}

#[test]
fn software_begins_with_large_pixels_and_small_windows_keep_theirs() {
    let mut quality = AdaptiveQuality::new(DeviceClass::Software);
    assert_eq!(quality.pixel_side(), 2.0, "before anything is measured");
    assert_eq!(AdaptiveQuality::new(DeviceClass::Discrete).pixel_side(), 1.0);
    let mut adapter = Adapter::new([0.0; ORDER.len()]);
    adapter.base = 0.018;
    let (small, large) = (Workload { size: [640, 300], ..all() }, all());
    adapter.draw(&mut quality, &small, 2.0);
    assert_eq!(quality.pixel_side(), 1.0, "240 lines at least");
    // Pixels come back when there is time.
    let mut quality = AdaptiveQuality::new(DeviceClass::Software);
    adapter.base = 0.004;
    adapter.draw(&mut quality, &large, 20.0);
    assert_eq!((quality.pixel_side(), quality.describe()), (1.0, None));
}
