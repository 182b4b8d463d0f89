//! Independence of the resolution: a picture of 2160 lines, box-filtered to 720, agrees with one of
//! 720; likewise 1080 and 360 lines for methods that are too slow in software at 2160.

use std::iter::once;

use glam::DVec3;
use gravitile::bodies::Bodies;
use gravitile::render::{Adding, Camera, Image, Look, Painter, PictureSize, Points, Style};

use crate::render::gpu::{Device, devices, painter_on};
use crate::render::two_galaxies;

/// Square, so that the sums of the large picture fit the baseline's buffers.
fn size(lines: u32) -> PictureSize {
    PictureSize::new(lines, lines).unwrap()
}

/// Means of blocks of `factor` x `factor` pixels, three channels each.
fn box_filtered(image: &Image, factor: usize) -> Vec<[f64; 3]> {
    let width = image.size().width() as usize;
    let out = width / factor;
    let mut sums = vec![[0.0; 3]; out * (image.size().height() as usize / factor)];
    for (at, pixel) in image.rgba().chunks_exact(4).enumerate() {
        let (x, y) = (at % width, at / width);
        let sum = &mut sums[y / factor * out + x / factor];
        for (sum, &channel) in sum.iter_mut().zip(pixel) {
            *sum += f64::from(channel) / (factor * factor) as f64;
        }
    }
    sums
}

fn luminance([r, g, b]: [f64; 3]) -> f64 {
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

/// Compares a picture with one of three times its lines; an error states the differences.
fn compare(small: &Image, large: &Image) -> Result<(), String> {
    let [small, large] = [box_filtered(small, 1), box_filtered(large, 3)];
    let count = small.len() as f64;
    let mean = |pixels: &[[f64; 3]]| pixels.iter().map(|p| luminance(*p)).sum::<f64>() / count;
    let lit = |pixels: &[[f64; 3]]| pixels.iter().filter(|p| luminance(**p) >= 16.0).count() as f64;
    let squares = small.iter().zip(&large).flat_map(|(a, b)| (0..3).map(|k| (a[k] - b[k]).powi(2)));
    let rms = (squares.sum::<f64>() / (3.0 * count)).sqrt();
    let (brighter, larger) = (mean(&large) / mean(&small) - 1.0, lit(&large) / lit(&small) - 1.0);
    let found = format!("mean {brighter:+.4}, lit area {larger:+.4}, rms {rms:.3}");
    println!("{found}, lit {:.3}, mean {:.1}", lit(&small) / count, mean(&small));
    match brighter.abs() <= 0.03 && larger.abs() <= 0.05 && rms <= 3.0 {
        true => Ok(()),
        false => Err(found),
    }
}

fn pictures(
    bodies: &Bodies,
    style: &Style,
    lines: u32,
    painter: impl Fn(PictureSize) -> Painter,
) -> [Image; 2] {
    let camera = Camera::default().framing(bodies, style, 0.95, size(lines));
    let look = Look::new(style, bodies, None).unwrap();
    let pull: Vec<DVec3> = bodies.velocity.iter().map(|&v| DVec3::Z.cross(v)).collect();
    let points = Points::Host { bodies, acceleration: Some(&pull) };
    [lines, 3 * lines].map(|lines| painter(size(lines)).paint(points, &camera, &look, 0.0).unwrap())
}

#[test]
fn picture_is_independent_of_the_resolution() {
    // Dither is a pattern of pixels and thus depends on the resolution.
    let style = Style { dither: false, ..Style::default() };
    let on = |device: &'static Device, adding: Adding| {
        move |size| {
            let mut painter = painter_on(device, size);
            painter.add_by(Some(adding));
            painter
        }
    };
    let streaks = Style { streak_time: 0.5, ..style.clone() };
    let all = [3, 700, 20_000].map(|n| [(n, &style), (n, &streaks)]);
    // So many that streaks are drawn for a subset that stands for all.
    let long = Style { streak_time: 2.0, ..style.clone() };
    for (n, style) in all.into_iter().flatten().chain([(60_000, &long)]) {
        let bodies = two_galaxies(n);
        let time = style.streak_time;
        let check = |who: &str, [small, large]: [Image; 2]| {
            compare(&small, &large)
                .unwrap_or_else(|e| panic!("{n} bodies, streaks of {time}, by {who}: {e}"));
        };
        check("CPU", pictures(&bodies, style, 720, Painter::cpu));
        let device = devices().1.as_ref().unwrap_or(&devices().0);
        check("raster", pictures(&bodies, style, 360, on(device, Adding::Raster)));
        check("compute", pictures(&bodies, style, 360, on(device, Adding::Compute)));
    }
    // Control: smaller sprites and a brighter picture are detected.
    let bodies = two_galaxies(700);
    let [small, _] = pictures(&bodies, &style, 360, Painter::cpu);
    let other = Style { sprite_size: 0.5, stops: 0.5, ..style };
    let [_, large] = pictures(&bodies, &other, 360, Painter::cpu);
    assert!(compare(&small, &large).is_err());
}

/// Mean and rms of the differences, over blocks of 3 x 3 pixels, of a picture from a reference,
/// relative to the reference's mean.
fn difference(picture: &Image, reference: &Image) -> [f64; 2] {
    let [a, b] = [picture, reference].map(|image| box_filtered(image, 3));
    let mean = b.iter().map(|p| luminance(*p)).sum::<f64>() / b.len() as f64;
    let differences = || a.iter().zip(&b).map(|(a, b)| (luminance(*a) - luminance(*b)) / mean);
    let squares = differences().map(|d| d * d).sum::<f64>();
    [differences().sum::<f64>() / b.len() as f64, (squares / b.len() as f64).sqrt()]
}

#[test]
fn larger_pixels_show_the_same_picture_with_fewer_details() {
    let style = Style { dither: false, sky: 0.0, ..Style::default() };
    let bodies = two_galaxies(20_000);
    for size in [PictureSize::new(723, 480).unwrap(), PictureSize::new(480, 723).unwrap()] {
        let camera = Camera::default().framing(&bodies, &style, 0.95, size);
        let look = Look::new(&style, &bodies, None).unwrap();
        for device in once(&devices().0).chain(&devices().1) {
            let mut painter = painter_on(device, size);
            let mut paint = |side: f64| {
                painter.enlarge_pixels(side).unwrap();
                painter.reset_exposure();
                let image = painter.paint(&bodies, &camera, &look, 0.0).unwrap();
                assert_eq!(image.size(), size);
                image
            };
            let whole = paint(1.0);
            for (side, most) in [(1.5, 0.04), (2.0, 0.06), (3.0, 0.09)] {
                let [mean, rms] = difference(&paint(side), &whole);
                println!("{size}, pixels of {side}: mean {mean:+.4}, rms {rms:.4}");
                assert!(mean.abs() < 0.03 && rms < most, "{side}: {mean} {rms}");
                assert!(rms > 0.005, "larger pixels are drawn");
            }
            assert!(paint(1.0) == whole, "all pixels again");
        }
    }
}
