//! Boxes and marks drawn over a picture: position, colour, and no other changes.

use std::sync::Arc;

use glam::DVec3;
use gravitile::bodies::Bodies;
use gravitile::render::{Camera, Diagram, DrawnBox, Image, Look, Mark, PictureSize, Scale, Style};

use crate::render::gpu::{device, painter_on};
use crate::render::two_galaxies;

const CYAN: [u8; 4] = [40, 200, 220, 255];
const ORANGE: [u8; 4] = [230, 150, 10, 255];

fn size() -> PictureSize {
    PictureSize::new(320, 240).unwrap()
}

fn painted(bodies: &Bodies, camera: &Camera, diagram: Option<Diagram>) -> Image {
    let mut painter = painter_on(device(), size());
    painter.draw_over(diagram.map(Arc::new).as_ref());
    let look = Look::new(&Style::default(), bodies, None).unwrap();
    painter.paint(bodies, camera, &look, 0.0).unwrap()
}

fn pixel(image: &Image, x: usize, y: usize) -> [u8; 3] {
    let at = 4 * (y * image.size().width() as usize + x);
    [image.rgba()[at], image.rgba()[at + 1], image.rgba()[at + 2]]
}

/// Whether a pixel at most one away has about that colour; the light of bodies adds to it.
fn has_colour_near(image: &Image, place: glam::DVec2, colour: [u8; 4]) -> bool {
    let (x, y) = (place.x as usize, place.y as usize);
    let is_it = |found: [u8; 3]| (0..3).all(|k| found[k].abs_diff(colour[k]) < 60);
    (x - 1..=x + 1).any(|x| (y - 1..=y + 1).any(|y| is_it(pixel(image, x, y))))
}

/// Number of pixels that differ.
fn changed(a: &Image, b: &Image) -> usize {
    let pairs = a.rgba().chunks(4).zip(b.rgba().chunks(4));
    pairs.filter(|(a, b)| a != b).count()
}

#[test]
fn box_edges_and_marks_are_drawn_in_place() {
    let bodies = two_galaxies(50);
    let camera = Camera { distance: 10.0, ..Camera::default() };
    let plain = painted(&bodies, &camera, None);
    // The box in the units of a scale with a distant origin.
    let scale = Scale { origin: DVec3::splat(64.0), length: 0.5, ..Scale::PLAIN };
    let (lower, upper) = (DVec3::new(-1.0, -1.5, -0.5), DVec3::new(1.0, 0.5, 1.0));
    let drawn = DrawnBox {
        lower: scale.position(lower),
        colour: CYAN,
        upper: scale.position(upper),
        pad: 0,
    };
    let boxes = Diagram { scale: Some(scale), boxes: vec![drawn], marks: Vec::new() };
    let image = painted(&bodies, &camera, Some(boxes));
    let corner = |k: usize| {
        let choose = |axis: usize| if k >> axis & 1 == 1 { upper[axis] } else { lower[axis] };
        DVec3::new(choose(0), choose(1), choose(2))
    };
    let mut edges = 0;
    for a in 0..8usize {
        for axis in 0..3 {
            if a >> axis & 1 == 1 {
                continue;
            }
            // At 0.37 of its length, where no other edge covers it.
            let place = corner(a).lerp(corner(a | 1 << axis), 0.37);
            let (at, depth) = camera.pixel_of(place, size()).unwrap();
            // Edges beyond the camera's target fade.
            if depth < 10.0 {
                assert!(has_colour_near(&image, at, CYAN), "edge {a} {axis}: {at} {:?}", {
                    pixel(&image, at.x as usize, at.y as usize)
                });
                edges += 1;
            }
        }
    }
    assert!(edges >= 4, "{edges}");
    let lines = changed(&plain, &image);
    assert!((400..4000).contains(&lines), "{lines} pixels of lines");

    let marked = (0..bodies.len() as u32).find(|&i| {
        camera
            .pixel_of(bodies.position[i as usize], size())
            .is_some_and(|(at, _)| (9.0..300.0).contains(&at.x) && (9.0..220.0).contains(&at.y))
    });
    let marked = marked.unwrap();
    let mark = |body| Mark { body, colour: ORANGE, ring_px: 0.0, pad: 0 };
    // A mark of a nonexistent body draws nothing.
    let marks = Diagram { marks: vec![mark(marked), mark(4_000_000)], ..Diagram::default() };
    let image = painted(&bodies, &camera, Some(marks));
    let (at, _) = camera.pixel_of(bodies.position[marked as usize], size()).unwrap();
    assert!(has_colour_near(&image, at, ORANGE));
    assert!((4..60).contains(&changed(&plain, &image)), "{}", changed(&plain, &image));
    assert_eq!(changed(&plain, &painted(&bodies, &camera, Some(Diagram::default()))), 0);
    // A ring leaves its inside unchanged.
    let ring = Mark { ring_px: 11.0, ..mark(marked) };
    let ringed = Diagram { marks: vec![ring], ..Diagram::default() };
    let image = painted(&bodies, &camera, Some(ringed));
    assert!(!has_colour_near(&image, at, ORANGE));
    assert!(has_colour_near(&image, at + glam::DVec2::X * 11.0, ORANGE));
    assert!((30..250).contains(&changed(&plain, &image)), "{}", changed(&plain, &image));
}

#[test]
fn camera_inside_a_box_and_invalid_boxes_are_harmless() {
    let bodies = two_galaxies(50);
    let camera = Camera { distance: 2.0, ..Camera::default() };
    let plain = painted(&bodies, &camera, None);
    let drawn = |lower: f32, upper: f32| DrawnBox {
        lower: [lower; 3],
        colour: CYAN,
        upper: [upper; 3],
        pad: 0,
    };
    // The camera is in the first box; the others have NaN and infinite corners.
    let boxes = vec![drawn(-9.0, 7.0), drawn(f32::NAN, 1.0), drawn(0.0, f32::INFINITY)];
    let diagram = Diagram { boxes, ..Diagram::default() };
    let inside = painted(&bodies, &camera, Some(diagram));
    let lines = changed(&plain, &inside);
    assert!((40..6000).contains(&lines), "{lines} of {}", 320 * 240);
}
