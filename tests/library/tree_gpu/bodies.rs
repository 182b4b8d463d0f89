//! Test bodies for trees.

use gravitile::forces::tree::PointMass;

/// Pseudo-random numbers (xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn unit(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f32 / (1u32 << 24) as f32
    }

    /// A uniformly distributed unit vector.
    fn direction(&mut self) -> [f32; 3] {
        loop {
            let v = [0; 3].map(|_| 2.0 * self.unit() - 1.0);
            let square: f32 = v.iter().map(|x| x * x).sum();
            if square > 0.01 && square < 1.0 {
                return v.map(|x| x / square.sqrt());
            }
        }
    }
}

/// A Plummer sphere of mass 1 and scale length 1, truncated at radius 20.
pub fn plummer(n: usize, seed: u64) -> Vec<PointMass> {
    let mut random = Random(seed);
    (0..n)
        .map(|_| {
            let fraction = random.unit().clamp(1e-6, 0.999);
            let radius = (fraction.powf(-2.0 / 3.0) - 1.0).powf(-0.5).min(20.0);
            let [x, y, z] = random.direction().map(|e| e * radius);
            [x, y, z, 1.0 / n as f32]
        })
        .collect()
}

/// Named distributions of bodies that are hard for trees.
pub fn hard_cases() -> Vec<(&'static str, Vec<PointMass>)> {
    let n = 3000;
    let mut random = Random(11);
    let mass = 1.0 / n as f32;
    let bodies_from = |f: &mut dyn FnMut(usize) -> [f32; 3]| -> Vec<PointMass> {
        (0..n)
            .map(|i| {
                let [x, y, z] = f(i);
                [x, y, z, mass]
            })
            .collect()
    };
    let mut pair = plummer(n, 3);
    pair[5] = [100.0, 0.0, 0.0, mass];
    pair[6] = [100.0, 1e-7, 0.0, mass];
    let mut massless = plummer(n, 4);
    massless.iter_mut().step_by(2).for_each(|body| body[3] = 0.0);
    let mut heavy = plummer(n, 5);
    heavy[17][3] = 1e9 * mass;
    // Chains of cells with one child each: 0.4 cells per body and more, twice the capacity.
    let mut chains = plummer(100, 7);
    chains = (0..3300)
        .map(|i| {
            let ([x, y, z, _], [a, b, c]) = (chains[i / 33], random.direction());
            let size = 1e-3 * random.unit();
            [x + size * a, y + size * b, z + size * c, 1.0 / 3300.0]
        })
        .collect();
    let mut far = plummer(20_000, 6);
    far[7] = [1e6, 0.0, 0.0, 1.0 / 20_000.0];
    far[19_000] = [0.0, -3e6, 1e5, 1.0 / 20_000.0];
    let mut around = plummer(20_000, 8);
    for body in &mut around[..70] {
        let [x, y, z] = random.direction().map(|x| 300.0 * x);
        *body = [x, y, z, body[3]];
    }
    let mut weightless = plummer(500, 8);
    weightless.iter_mut().for_each(|body| body[3] = 0.0);
    let few = [1, 2, 63, 64, 65].map(|n| ("few", plummer(n, 9)));
    let mut all = vec![
        ("one place", bodies_from(&mut |_| [0.3, 0.2, 0.1])),
        ("a line", bodies_from(&mut |i| [i as f32 / n as f32, 0.0, 0.0])),
        (
            "a lattice",
            bodies_from(&mut |i| [i % 16, i / 16 % 16, i / 256].map(|k| k as f32 / 16.0)),
        ),
        (
            "two clusters",
            bodies_from(&mut |i| {
                let [x, y, z] = random.direction();
                [x + if i % 2 == 0 { 1e6 } else { 0.0 }, y, z]
            }),
        ),
        (
            "nested",
            bodies_from(&mut |i| {
                Random(i as u64 + 1).direction().map(|x| x * 0.1f32.powi((i % 9) as i32))
            }),
        ),
        ("a close pair", pair),
        ("massless bodies", massless),
        ("a heavy body", heavy),
        ("far bodies", far),
        ("some around all others", around),
        ("chains", chains),
        // As with a gravitational constant of 0.
        ("nothing attracts", weightless),
    ];
    all.extend(few);
    all
}
