//! Quality targets of pictures: enough of the demo's film is lit and nothing burns out; no rings
//! around bright cores; colour scales follow a collapse.

use glam::DVec3;
use gravitile::bodies::{Bodies, Component, Role};
use gravitile::render::{Camera, ColourBy, Image, Look, Painter, PictureSize, Preset, Style};

use crate::render::cameras::{file_of, for_each_sample};

/// The lit fraction of the pixels in the central half of the area, and the burnt-out fraction of
/// all.
fn lit_and_burnt(image: &Image) -> (f64, f64) {
    let [width, height] = [image.size().width(), image.size().height()].map(f64::from);
    let (mut lit, mut central, mut burnt) = (0.0, 0.0, 0.0);
    for (at, pixel) in image.rgba().chunks_exact(4).enumerate() {
        let (x, y) = ((at as f64 % width).floor() + 0.5, (at as f64 / width).floor() + 0.5);
        burnt += f64::from(u8::from(pixel[..3].contains(&255)));
        // Half the area has sides of 1 / sqrt(2).
        let is_central = |place: f64, side: f64| (place / side - 0.5).abs() < 0.5 / 2f64.sqrt();
        if is_central(x, width) && is_central(y, height) {
            let [r, g, b] = [pixel[0], pixel[1], pixel[2]].map(f64::from);
            central += 1.0;
            lit += f64::from(u8::from(0.2126 * r + 0.7152 * g + 0.0722 * b >= 16.0));
        }
    }
    (lit / central, burnt / (width * height))
}

/// The least lit fraction and the largest burnt-out fraction in the demo's film.
fn demo(style: &Style) -> (f64, f64) {
    let size = PictureSize::new(480, 270).unwrap();
    let (mut painter, mut look) = (Painter::cpu(size), None);
    let (mut least, mut most) = (1.0f64, 0.0f64);
    for_each_sample(&file_of("galaxy-collision"), 8000, style, size, |secs, bodies, camera| {
        let look = look.get_or_insert_with(|| Look::new(style, bodies, None).unwrap());
        let (lit, burnt) = lit_and_burnt(&painter.paint(bodies, camera, look, secs).unwrap());
        println!("{secs:.2} s: lit {lit:.3}, burnt {burnt:.4}");
        (least, most) = (least.min(lit), most.max(burnt));
    });
    (least, most)
}

#[test]
fn demo_film_is_well_exposed() {
    // Without sky and dither, which would count as lit.
    let style = Style { sky: 0.0, dither: false, ..Style::default() };
    let (lit, burnt) = demo(&style);
    assert!(lit >= 0.25, "only {lit:.3} of the middle is lit");
    assert!(burnt <= 0.001, "{burnt:.4} has burnt out");
    // Control: without local exposure less is lit.
    let plain = Style { bloom: 0.0, local_exposure: 0.0, ..style };
    assert!(demo(&plain).0 < 0.25);
}

/// A small dense core with few bodies around it.
fn core() -> Bodies {
    let components = vec![Component::new("stars", Role::Star)];
    let mut bodies = Bodies { components, ..Bodies::default() };
    let turn = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let mut push = |radius: f64, z: f64, angle: f64| {
        let (sin, cos) = libm::sincos(angle);
        let aside = (1.0 - z * z).sqrt();
        let place = DVec3::new(aside * cos, aside * sin, z) * radius;
        bodies.push(1.0, place, DVec3::ZERO, 0);
    };
    // Low-discrepancy sequences for radius and direction.
    let spread = |i: i32, by: f64| (f64::from(i) * by).fract();
    for i in 0..2700 {
        let radius = 0.2 * (f64::from(i) + 0.5) / 2700.0;
        push(radius, 1.0 - 2.0 * spread(i, 0.618_033_988_7), 1.7 * turn * f64::from(i));
    }
    for i in 0..300 {
        let radius = 0.5 + 3.0 * spread(i, 0.754_877_666_2);
        push(radius, 1.0 - 2.0 * spread(i, 0.569_840_290_9), 1.3 * turn * f64::from(i));
    }
    bodies
}

/// Medians of the luminance, 0 to 255, in rings around the middle, each `width_px` wider than the
/// one before.
fn rings(image: &Image, width_px: f64) -> Vec<f64> {
    let [width, height] = [image.size().width(), image.size().height()].map(f64::from);
    let count = (0.5 * width.min(height) / width_px) as usize;
    let mut rings = vec![Vec::new(); count];
    for (at, pixel) in image.rgba().chunks_exact(4).enumerate() {
        let (x, y) = (at as f64 % width + 0.5, (at as f64 / width).floor() + 0.5);
        let away_px = libm::hypot(x - 0.5 * width, y - 0.5 * height);
        let [r, g, b] = [pixel[0], pixel[1], pixel[2]].map(f64::from);
        if let Some(ring) = rings.get_mut((away_px / width_px) as usize) {
            ring.push(0.2126 * r + 0.7152 * g + 0.0722 * b);
        }
    }
    let median = |mut ring: Vec<f64>| {
        let middle = ring.len() / 2;
        *ring.select_nth_unstable_by(middle, f64::total_cmp).1
    };
    rings.into_iter().map(median).collect()
}

/// The largest rise in brightness above a darker ring further in.
fn rise(profile: &[f64]) -> f64 {
    let mut darkest = f64::INFINITY;
    profile.iter().fold(0.0, |most: f64, &ring| {
        darkest = darkest.min(ring);
        most.max(ring - darkest)
    })
}

#[test]
fn bright_core_has_no_rings() {
    let (bodies, size) = (core(), PictureSize::new(360, 360).unwrap());
    let style = Style { sky: 0.0, dither: false, ..Style::default() };
    let look = Look::new(&style, &bodies, None).unwrap();
    for extent in [1.5, 3.0, 6.0] {
        let camera = Camera::default().seen_from(Preset::Top);
        let distance = extent / (0.5 * camera.fov_rad).tan();
        let camera = Camera { distance, ..camera };
        let image = Painter::cpu(size).paint(&bodies, &camera, &look, 0.0).unwrap();
        let profile = rings(&image, 3.0);
        assert!(profile[0] > 100.0, "there is no core: {profile:?}");
        let rise = rise(&profile);
        assert!(rise < 1.5, "{rise} of 255 brighter again, of {extent}: {profile:.0?}");
    }
    assert_eq!(rise(&[90.0, 40.0, 45.0, 43.0, 10.0]), 5.0);
}

/// The fraction of the bodies with a speed outside of the colour scale.
fn beyond(look: &Look, bodies: &Bodies) -> f64 {
    let speeds = bodies.velocity.iter().map(|v| (*v - look.drift).length());
    let out = speeds.filter(|v| *v < look.least_value || *v > look.most_value).count();
    out as f64 / bodies.len() as f64
}

#[test]
fn speed_colour_scale_follows_a_collapse() {
    let style = Style { colour_by: ColourBy::Speed, ..Style::default() };
    let size = PictureSize::new(320, 180).unwrap();
    let (mut looks, mut last) = (None, 0.0);
    let (mut followed, mut stayed, mut apart) = (0.0, 0.0f64, 0.0);
    for_each_sample(&file_of("cold-sphere"), 1000, &style, size, |secs, bodies, _| {
        let new = || Look::new(&style, bodies, None).unwrap();
        let (following, first) = looks.get_or_insert_with(|| (new(), new()));
        following.follow_values(bodies, None, secs - last);
        last = secs;
        followed += beyond(following, bodies) / 20.0;
        // Distance to a fresh scale: a very wide one would include all bodies, but in a single
        // colour.
        let right = new();
        apart += if secs > 0.0 { octaves_apart(following, &right) / 19.0 } else { 0.0 };
        stayed = stayed.max(beyond(first, bodies));
    });
    assert!(stayed > 0.4, "the test sees no difference: {stayed}");
    assert!(followed < 0.2, "{followed} of the bodies lie beyond the scale on average");
    assert!(apart < 1.5, "the scale's ends are {apart} octaves away on average");
}

/// Sum of the distances between the ends of two colour scales, in octaves.
fn octaves_apart(a: &Look, b: &Look) -> f64 {
    let of = |a: f64, b: f64| (a / b).log2().abs();
    of(a.least_value, b.least_value) + of(a.most_value, b.most_value)
}
