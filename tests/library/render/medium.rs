//! Densities around bodies and dust in front of them: known values, agreement of device and CPU,
//! and no work unless requested.

use glam::DVec3;
use gravitile::bodies::{Bodies, Component, Role};
use gravitile::render::cpu_canvas::CpuCanvas;
use gravitile::render::splat::Point;
use gravitile::render::{
    Adding, Camera, ColourBy, Image, Look, Painter, PictureSize, Points, Scale, Style, tags,
};

use crate::render::gpu::{compare_pictures, devices, difference, painter_on};
use crate::render::two_galaxies;

/// Pseudo-random numbers from 0 to 1, the same sequence on every call.
pub fn random_numbers() -> impl FnMut() -> f64 {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn cube(chance: &mut impl FnMut() -> f64, side: f64) -> DVec3 {
    DVec3::new(chance() - 0.5, chance() - 0.5, chance() - 0.5) * side
}

fn by_density() -> Style {
    Style { colour_by: ColourBy::Density, ..Style::default() }
}

/// The median.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn sampled_densities_match_the_bodies() {
    // Uniform cubes far apart, of increasing density.
    let cubes = [(2000, 2.0), (4000, 1.0), (8000, 0.5)];
    let mut chance = random_numbers();
    let mut bodies = Bodies::default();
    bodies.components.push(Component::new("stars", Role::Star));
    for (k, (count, side)) in cubes.into_iter().enumerate() {
        for _ in 0..count {
            let place = cube(&mut chance, side) + DVec3::X * 10.0 * k as f64;
            bodies.push(0.25, place, DVec3::ZERO, 0);
        }
    }
    let look = Look::new(&by_density(), &bodies, None).unwrap();
    let plan = look.medium.unwrap();
    let found = plan.sampled(&bodies, &look.uniform, false);
    assert_eq!(found.len(), bodies.len());
    let mut first = 0;
    let mut measured = Vec::new();
    for (count, side) in cubes {
        let octaves = found[first..first + count].to_vec();
        let true_density = 0.25 * count as f64 / (side * side * side);
        let ratio = median(octaves.clone()).exp2() * plan.unit() / true_density;
        // At the edge of a cube the surroundings are empty: slightly less than the true density.
        assert!((0.75..1.2).contains(&ratio), "{side}: {ratio}");
        let off =
            median(octaves.iter().map(|y| (y - median(octaves.clone())).abs()).take(300).collect());
        assert!(off < 0.7, "{side}: half of the bodies are {off} octaves off");
        measured.push(ratio * true_density);
        first += count;
    }
    assert!(measured[0] < measured[1] && measured[1] < measured[2]);
    // The colour scale spans the densities found, in the bodies' units.
    let [thin, dense] = [measured[0], measured[2]];
    assert!(look.least_value < 1.2 * thin && look.most_value > 0.8 * dense);
    assert!(look.least_value > 0.02 * thin && look.most_value < 10.0 * dense);
}

/// Stars above and below a sheet of gas: seen from above, the left ones are behind it.
fn stars_around_a_gas_sheet() -> Bodies {
    let mut chance = random_numbers();
    let mut bodies = Bodies {
        components: vec![Component::new("stars", Role::Star), Component::new("gas", Role::Gas)],
        ..Bodies::default()
    };
    for i in 0..6000 {
        let place = cube(&mut chance, 1.0);
        if i % 2 == 0 {
            bodies.push(1e-3, place * DVec3::new(6.0, 3.0, 0.05), DVec3::ZERO, 1);
        } else {
            let side = if i % 4 == 1 { -1.0 } else { 1.0 };
            bodies.push(1e-3, 0.5 * place + DVec3::new(side, 0.0, side), DVec3::ZERO, 0);
        }
    }
    bodies
}

/// Blue and red light of the stars, without that of the gas, in the left and the right half.
fn halves(bodies: &Bodies, style: &Style) -> [[f32; 2]; 2] {
    let size = PictureSize::new(240, 120).unwrap();
    let camera = Camera { elevation_rad: 89.99f64.to_radians(), ..Camera::default() };
    let mut look = Look::new(style, bodies, None).unwrap();
    // Gas that absorbs but does not emit.
    look.uniform.components[1].peak = [0.0; 3];
    look.uniform.medium &= 2;
    let tags = tags(bodies);
    let point = |i: usize| Point {
        position: bodies.position[i].as_vec3().to_array(),
        mass: bodies.mass[i] as f32,
        tag: tags[i],
        ..Point::default()
    };
    let mut canvas = CpuCanvas::new(size);
    canvas.paint(bodies.len(), point, &Scale::PLAIN, (&camera, &look), 0.0).unwrap();
    let mut sums = [[0.0; 2]; 2];
    for (at, pixel) in canvas.hdr().pixels().iter().enumerate() {
        let half = &mut sums[usize::from(at % 240 >= 120)];
        half[0] += pixel[2];
        half[1] += pixel[0];
    }
    sums
}

#[test]
fn dust_dims_light_behind_it_and_blue_most() {
    let bodies = stars_around_a_gas_sheet();
    let with = |dust| halves(&bodies, &Style { dust, variety: 0.0, ..Style::default() });
    let ([left, right], [clear_left, clear_right]) = (with(1.0), with(0.0));
    // The camera's right is +x when it looks from -y and above.
    let before = right[0] / clear_right[0];
    let behind = left[0] / clear_left[0];
    assert!(before > 0.97, "light from before the dust: {before}");
    assert!(behind < 0.6, "light from behind it: {behind}");
    let red = left[1] / clear_left[1];
    assert!(red > 1.15 * behind, "red {red}, blue {behind}");
}

#[test]
fn device_and_cpu_agree_on_density_and_dust() {
    let mut bodies = two_galaxies(6000);
    bodies.components[2].role = Role::Gas;
    let size = PictureSize::new(320, 180).unwrap();
    let painted = |style: &Style| -> Vec<Image> {
        let camera = Camera::default().framing(&bodies, style, 0.95, size);
        let look = Look::new(style, &bodies, None).unwrap();
        assert!(look.medium.is_some());
        let mut painters = vec![Painter::cpu(size)];
        for device in [Some(&devices().0), devices().1.as_ref()].into_iter().flatten() {
            for adding in [Adding::Raster, Adding::Compute] {
                let mut painter = painter_on(device, size);
                painter.add_by(Some(adding));
                painters.push(painter);
            }
        }
        let points = Points::from(&bodies);
        painters.iter_mut().map(|p| p.paint(points, &camera, &look, 0.0).unwrap()).collect()
    };
    let dusty = Style { dust: 1.0, ..Style::default() };
    for style in [&dusty, &by_density()] {
        let pictures = painted(style);
        for other in &pictures[1..] {
            compare_pictures(&pictures[0], other).unwrap();
        }
    }
    // Control: without dust and glow the picture differs.
    let [with, without] =
        [dusty.clone(), Style { gas: 0.0, ..dusty.clone() }].map(|style| painted(&style).remove(0));
    assert!(difference(&with, &without).0 > 0.5);
}

#[test]
fn medium_is_off_without_gas_or_density_colours() {
    let bodies = two_galaxies(700);
    let off = Look::new(&Style::default(), &bodies, None).unwrap();
    assert!(off.medium.is_none() && off.uniform.medium == 0);
    let mut gaseous = bodies.clone();
    gaseous.components[2].role = Role::Gas;
    let plain = Style { gas: 0.0, dust: 0.0, ..Style::default() };
    assert!(Look::new(&plain, &gaseous, None).unwrap().medium.is_none());
    assert!(Look::new(&Style::default(), &gaseous, None).unwrap().medium.is_some());
    // One body, or massless bodies at one position, must not fail either.
    let mut few = Bodies::default();
    few.components.push(Component::new("gas", Role::Gas));
    for n in 0..3 {
        let size = PictureSize::new(40, 30).unwrap();
        for style in [Style::default(), by_density()] {
            let look = Look::new(&style, &few, None).unwrap();
            Painter::cpu(size).paint(&few, &Camera::default(), &look, 0.0).unwrap();
            let device = &devices().0;
            painter_on(device, size).paint(&few, &Camera::default(), &look, 0.0).unwrap();
        }
        few.push(0.0, DVec3::ONE, DVec3::ZERO, 0);
        assert_eq!(few.len(), n + 1);
    }
}
