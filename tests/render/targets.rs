//! What pictures of scenes must come to: enough of the demo's film is lit and nothing burns out; a scale of speeds follows
//! a collapse.

use gravitile::bodies::Bodies;
use gravitile::render::{ColourBy, Image, Look, Painter, PictureSize, Style};

use crate::cameras::{file_of, moments};

/// The part of the pixels in the central half of the area that are seen, and that of all that have burnt out.
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

/// The least lit picture of the demo's film, and the most burnt.
fn demo(style: &Style) -> (f64, f64) {
    let size = PictureSize::new(480, 270).unwrap();
    let (mut painter, mut look) = (Painter::cpu(size), None);
    let (mut least, mut most) = (1.0f64, 0.0f64);
    moments(&file_of("galaxy-collision"), 8000, style, size, |secs, bodies, camera| {
        let look = look.get_or_insert_with(|| Look::new(style, bodies, None).unwrap());
        let (lit, burnt) = lit_and_burnt(&painter.paint(bodies, camera, look, secs).unwrap());
        println!("{secs:.2} s: lit {lit:.3}, burnt {burnt:.4}");
        (least, most) = (least.min(lit), most.max(burnt));
    });
    (least, most)
}

#[test]
fn enough_of_the_demo_is_lit_and_nothing_burns_out() {
    // Without what is lit by itself.
    let style = Style { sky: 0.0, dither: false, ..Style::default() };
    let (lit, burnt) = demo(&style);
    assert!(lit >= 0.25, "only {lit:.3} of the middle is lit");
    assert!(burnt <= 0.001, "{burnt:.4} has burnt out");
    // One exposure for all leaves more in the dark.
    let plain = Style { bloom: 0.0, local_exposure: 0.0, ..style };
    assert!(demo(&plain).0 < 0.25);
}

/// The part of the bodies whose speed lies beyond the scale.
fn beyond(look: &Look, bodies: &Bodies) -> f64 {
    let speeds = bodies.velocity.iter().map(|v| (*v - look.drift).length());
    let out = speeds.filter(|v| *v < look.least_value || *v > look.most_value).count();
    out as f64 / bodies.len() as f64
}

#[test]
fn a_scale_of_speeds_follows_a_collapse() {
    let style = Style { colour_by: ColourBy::Speed, ..Style::default() };
    let size = PictureSize::new(320, 180).unwrap();
    let (mut looks, mut last) = (None, 0.0);
    let (mut followed, mut stayed, mut apart) = (0.0, 0.0f64, 0.0);
    moments(&file_of("cold-sphere"), 1000, &style, size, |secs, bodies, _| {
        let new = || Look::new(&style, bodies, None).unwrap();
        let (following, first) = looks.get_or_insert_with(|| (new(), new()));
        following.follow_values(bodies, None, secs - last);
        last = secs;
        followed += beyond(following, bodies) / 20.0;
        // Of the scale that suits them: a wide one has all bodies within it, and all of one colour.
        let right = new();
        apart += if secs > 0.0 { octaves_apart(following, &right) / 19.0 } else { 0.0 };
        stayed = stayed.max(beyond(first, bodies));
    });
    assert!(stayed > 0.4, "the test sees no difference: {stayed}");
    assert!(followed < 0.2, "{followed} of the bodies lie beyond the scale on average");
    assert!(apart < 1.5, "the scale's ends are {apart} octaves away on average");
}

/// How far both ends of two colour scales are apart, added up.
fn octaves_apart(a: &Look, b: &Look) -> f64 {
    let of = |a: f64, b: f64| (a / b).log2().abs();
    of(a.least_value, b.least_value) + of(a.most_value, b.most_value)
}
