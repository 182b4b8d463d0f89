//! Integers equal, sums to 1e-6.

use gravitile::forces::tree::gpu::{Field, TreeForces, TreeShape};
use gravitile::forces::tree::{
    CellBox, CellForce, CellOpen, CellRecord, Cells, Cube, Key, Moment, MultipoleOrder, Opening,
    Place, key, moments, order, split,
};
use gravitile::forces::{Throughput, evaluate_blocking};
use gravitile::gpu::layout::TreeState;
use gravitile::gpu::{BodyBuffers, Checks, Gpu, read_blocking};

use super::bodies::{hard_cases, plummer};
use super::common;

/// Bodies on the device, as they are.
pub fn upload(gpu: &Gpu, places: &[Place]) -> BodyBuffers {
    let buffer = |label| {
        gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: 16 * places.len().max(1) as u64,
            usage: wgpu::BufferUsages::STORAGE
                | wgpu::BufferUsages::COPY_SRC
                | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        })
    };
    let buffers = BodyBuffers {
        count: places.len() as u32,
        sinks: 0..places.len() as u32,
        position_mass: buffer("position and mass"),
        velocity: buffer("velocity"),
        acceleration: buffer("acceleration"),
    };
    gpu.queue.write_buffer(&buffers.position_mass, 0, bytemuck::cast_slice(places));
    buffers
}

/// What the building has left on the device.
struct Built {
    state: TreeState,
    keys: Vec<Key>,
    order: Vec<u32>,
    sources: Vec<Place>,
    open: Vec<CellOpen>,
    force: Vec<CellForce>,
    bounds: Vec<CellBox>,
}

fn build(gpu: &Gpu, shape: TreeShape, places: &[Place]) -> Built {
    let bodies = upload(gpu, places);
    let field = Field { softening: 0.01, guarded: true, potential: false, has_accelerations: true };
    let mut forces = pollster::block_on(TreeForces::new(gpu, shape, &bodies, field)).unwrap();
    evaluate_blocking(&mut forces, gpu, &mut Throughput::guess(gpu.adapter.class)).unwrap();
    let buffers = forces.buffers();
    let n = places.len();
    let words = |buffer, count| read_blocking::<u32>(gpu, &[buffer], count).unwrap().remove(0);
    let state: TreeState =
        bytemuck::cast_slice(&words(&buffers.state, size_of::<TreeState>() / 4))[0];
    let cells = state.cells as usize;
    let keys = words(&buffers.keys, 2 * n);
    Built {
        state,
        keys: keys.chunks(2).map(|key| Key { hi: key[1], lo: key[0] }).collect(),
        order: words(&buffers.order, n),
        sources: read_blocking(gpu, &[&buffers.sources], n).unwrap().remove(0),
        open: read_blocking(gpu, &[&buffers.cell_open], cells).unwrap().remove(0),
        force: read_blocking(gpu, &[&buffers.cell_force], cells).unwrap().remove(0),
        bounds: read_blocking(gpu, &[&buffers.cell_box], cells).unwrap().remove(0),
    }
}

/// Compares each stage; `name` says of what.
fn compare(name: &str, places: &[Place], built: &Built, shape: &TreeShape) {
    let state = &built.state;
    let cube = Cube { centre: state.centre, half: state.half };
    let around = Cube::around(state.centre, places);
    assert_eq!(cube, around, "{name}");
    let inside = places.iter().filter(|place| cube.holds(place)).count();
    assert_eq!(state.inside as usize, inside, "{name}");

    let unsorted: Vec<_> = places.iter().map(|place| key(&cube, place)).collect();
    let twin = order(&unsorted);
    assert_eq!(built.order[..inside], twin[..inside], "{name}: order");
    let mut sorted: Vec<_> = built.order.clone();
    sorted.sort_unstable();
    assert!(
        sorted.iter().enumerate().all(|(i, &body)| body as usize == i),
        "{name}: a permutation"
    );
    for (k, &body) in built.order[..inside].iter().enumerate() {
        assert_eq!(built.keys[k], unsorted[body as usize], "{name}: key {k}");
        assert_eq!(built.sources[k], places[body as usize], "{name}: body {k}");
    }

    let scattered = split(&cube, &built.keys[..inside], &built.sources[..inside]);
    let scattered = scattered.into_iter().filter(|is| *is).count();
    assert_eq!(state.scattered as usize, scattered, "{name}: scattered groups");

    let cells = Cells::new(&built.keys[..inside], state.leaf as usize);
    assert_eq!(cells.len(), built.open.len(), "{name}: cells");
    for (k, cell) in cells.cells.iter().enumerate() {
        let open = &built.open[k];
        let twin = (cell.first, cell.count, cell.level, cell.parent);
        assert_eq!(
            twin,
            (open.first, open.count, built.bounds[k].level, built.bounds[k].parent),
            "{name}: cell {k}"
        );
    }
    let mut levels = cells.levels.clone();
    levels.resize(24, cells.len() as u32);
    assert_eq!(levels, state.levels, "{name}: levels");

    let moments = moments(&cells, &built.sources);
    for (k, (cell, moment)) in cells.cells.iter().zip(&moments).enumerate() {
        let twin = CellRecord::of(cell, moment, &shape.opening, shape.order);
        let (open, force, bounds) = (&built.open[k], &built.force[k], &built.bounds[k]);
        assert_eq!(open.child, twin.open.child, "{name}: children of {k}");
        assert_eq!(
            (bounds.lower, bounds.upper),
            (twin.bounds.lower, twin.bounds.upper),
            "{name}: box of {k}"
        );
        let size = (moment.radius as f32).max(1e-30);
        let near = |a: f32, b: f32, scale: f32, what: &str| {
            assert!((a - b).abs() <= 3e-6 * scale, "{name}: {what} of {k} ({cell:?}): {a} for {b}");
        };
        near(force.mass, twin.force.mass, twin.force.mass, "mass");
        for axis in 0..3 {
            // Places far from the origin are themselves no finer than this.
            let place = size + open.centre[axis].abs();
            near(force.centre[axis], twin.force.centre[axis], place, "centre");
            assert_eq!(force.centre[axis], open.centre[axis]);
            // The device's are about centres as f32 has them, of the cell and of its children.
            let reach: f32 = open.centre.iter().map(|x| 1.2e-7 * x.abs()).sum();
            let scale = 3.0 * twin.force.mass * (size * size + 1e6 * reach * (reach + size));
            near(force.diagonal[axis], twin.force.diagonal[axis], scale, "moments");
            near(force.beside[axis], twin.force.beside[axis], scale, "moments");
        }
        // Of inner cells it may be wider by what rounding has moved the centre.
        let far = open.radius_squared.sqrt();
        assert!(
            (f64::from(far) - moment.radius).abs()
                <= 1e-5 * moment.radius + 1e-6 * moment.centre.length(),
            "{name}: radius of {k}: {far} for {}",
            moment.radius
        );
        let first = cell.first as usize;
        for place in &built.sources[first..first + cell.count as usize] {
            let square: f64 =
                (0..3).map(|a| (f64::from(place[a]) - f64::from(open.centre[a])).powi(2)).sum();
            assert!(
                square <= f64::from(open.radius_squared),
                "{name}: a body beyond the radius of {k}"
            );
        }
        // From the device's own radius, in powers by logarithms.
        let moment = Moment { radius: f64::from(far), ..*moment };
        let twin = shape.opening.critical(&moment, shape.order) as f32;
        let off = (open.critical - twin).abs();
        assert!(
            off <= 1e-4 * twin.abs() + 1e-20,
            "{name}: critical of {k}: {} for {twin}",
            open.critical
        );
    }
}

fn shape() -> TreeShape {
    TreeShape {
        checks: Checks::On,
        ..TreeShape::new(Opening::Acceleration { alpha: 0.003 }, MultipoleOrder::Quadrupole)
    }
}

#[test]
fn stages_are_those_of_the_host() {
    let gpu = common::gpu();
    for n in [1, 2, 31, 32, 33, 63, 64, 65, 1000, 4097, 30_000] {
        let places = plummer(n, n as u64);
        compare(&format!("{n} bodies"), &places, &build(&gpu, shape(), &places), &shape());
    }
}

#[test]
fn hard_cases_have_the_cells_of_the_host() {
    let gpu = common::gpu();
    for (name, places) in hard_cases() {
        compare(name, &places, &build(&gpu, shape(), &places), &shape());
    }
}
