//! Thinned pictures, which draw a subset with the light of all bodies, on the CPU and by both
//! methods on the device.

use gravitile::render::{
    Adding, Camera, Exposure, Image, Look, Painter, PictureSize, Points, Style,
};

use crate::render::gpu::{devices, difference, painter_on};
use crate::render::two_galaxies;

fn mean(image: &Image) -> f64 {
    let sum: u64 =
        image.rgba().chunks(4).flat_map(|pixel| &pixel[..3]).map(|&v| u64::from(v)).sum();
    sum as f64 / (3 * image.size().pixels()) as f64
}

#[test]
fn thinned_picture_keeps_the_total_light() {
    let size = PictureSize::new(320, 180).unwrap();
    let bodies = two_galaxies(50_001);
    let style = Style {
        exposure: Exposure::Fixed { white: 40.0, mid: 0.3 },
        dither: false,
        sky: 0.0,
        ..Style::default()
    };
    let camera = Camera::default().framing(&bodies, &style, 0.95, size);
    let whole = Look::new(&style, &bodies, None).unwrap();
    let painted = |mut painter: Painter, look: &Look| {
        let points = Points::Host { bodies: &bodies, acceleration: None };
        painter.paint(points, &camera, look, 0.0).unwrap()
    };
    let thin = whole.clone().thinned(5);
    let all = painted(Painter::cpu(size), &whole);
    let fifth = painted(Painter::cpu(size), &thin);
    assert!(mean(&all) > 8.0, "{}", mean(&all));
    assert!((mean(&fifth) / mean(&all) - 1.0).abs() < 0.1, "{} {}", mean(&fifth), mean(&all));
    assert!(difference(&all, &fifth).0 > 0.5, "other bodies are drawn");
    for adding in [Adding::Raster, Adding::Compute] {
        let (narrow, wide) = devices();
        let device = wide.as_ref().unwrap_or(narrow);
        let mut painter = painter_on(device, size);
        painter.add_by(Some(adding));
        let drawn = painted(painter, &thin);
        assert!(difference(&fifth, &drawn).0 < 0.5, "{adding:?}: {:?}", difference(&fifth, &drawn));
    }
}
