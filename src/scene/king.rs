//! The models of King (1966): isothermal spheres with the energies above that of a tidal radius
//! left out, f(E) ~ exp(E / sigma^2) - 1.
//!
//! With W = (Phi(r_t) - Phi(r)) / sigma^2, lengths in units of King's core radius and G = sigma =
//! 1, Poisson's equation is
//!     W'' + 2 W' / r = -9 rho(W) / rho(W0),  W(0) = W0, W'(0) = 0
//! (King 1966, equation 29; Binney & Tremaine 2008, section 4.3.3c). The mass within r is -r^2 W'.

use std::f64::consts::PI;

use glam::DVec3;

use super::rng::Stream;

/// Steps of the radius, in units of radius and core: fourth-order errors of about 1e-10.
const STEP: f64 = 0.01;
const CORE: f64 = 0.05;
/// Halvings of an interval in which a radius is looked for.
const HALVINGS: usize = 52;

/// rho(W) = exp(W) erf(sqrt(W)) - sqrt(4 W / pi) (1 + 2 W / 3), as the series 2 / sqrt(pi) times
/// the sum of 2^k W^(k + 1/2) / (2 k + 1)!! from k = 2, in which nothing cancels.
fn density(w: f64) -> f64 {
    let mut term = 2.0 / PI.sqrt() * w * w * w.sqrt() * 4.0 / 15.0;
    let (mut sum, mut odd) = (0.0, 5.0);
    while term > 1e-18 * sum {
        sum += term;
        odd += 2.0;
        term *= 2.0 * w / odd;
    }
    sum
}

/// W, its derivative and the integral of W over the mass.
type State = [f64; 3];

/// The state at a radius.
#[derive(Clone, Copy, Debug)]
struct Node {
    r: f64,
    w: f64,
    slope: f64,
}

impl Node {
    fn mass(&self) -> f64 {
        -self.r * self.r * self.slope
    }
}

/// A King model in standard units: M = 1, W = -1/2, K = 1/4 (Heggie & Mathieu 1986).
#[derive(Clone, Debug)]
pub(crate) struct King {
    /// From the centre to the tidal radius.
    nodes: Vec<Node>,
    central_density: f64,
    /// Standard units per core radius and per sigma.
    length: f64,
    speed: f64,
}

impl King {
    /// The model of central potential `w0`, from 0.1 to 16.
    pub fn new(w0: f64) -> Self {
        let central_density = density(w0);
        let source = |w: f64| 9.0 * density(w.max(0.0)) / central_density;
        // Of radius: (W, W', integral).
        let by_radius = |r: f64, [w, slope, _]: State| -> State {
            let source = source(w);
            [slope, -source - 2.0 * slope / r, w * r * r * source]
        };
        // Of W, for the last step, in which W' is far from 0: (r, W', integral).
        let by_potential = |w: f64, [r, slope, _]: State| -> State {
            let source = source(w);
            [1.0 / slope, (-source - 2.0 * slope / r) / slope, w * r * r * source / slope]
        };
        let unit = w0.sqrt().min(1.0);
        // d rho / d W = rho + 4 / (3 sqrt(pi)) W^(3/2) gives the next term of W = W0 - 3/2 r^2 +
        // ...
        let fourth = 0.675 * (1.0 + 4.0 / (3.0 * PI.sqrt()) * w0 * w0.sqrt() / central_density);
        let mut r = 1e-3 * unit;
        let mut state = [
            w0 - 1.5 * r * r + fourth * r.powi(4),
            -3.0 * r + 4.0 * fourth * r.powi(3),
            3.0 * w0 * r.powi(3),
        ];
        let mut nodes = vec![Node { r: 0.0, w: w0, slope: 0.0 }];
        loop {
            let [w, slope, _] = state;
            nodes.push(Node { r, w, slope });
            let step = STEP * (r + CORE * unit);
            let next = runge_kutta(by_radius, r, state, step);
            if next[0] > 0.0 {
                (r, state) = (r + step, next);
                continue;
            }
            let [edge, slope, integral] = runge_kutta(by_potential, w, [r, slope, state[2]], -w);
            nodes.push(Node { r: edge, w: 0.0, slope });
            let mass = nodes[nodes.len() - 1].mass();
            // The potential is -W - M / r_t.
            let potential = -0.5 * (integral + mass * mass / edge);
            let length = -2.0 * potential / (mass * mass);
            let speed = (1.0 / (mass * length)).sqrt();
            return Self { nodes, central_density, length, speed };
        }
    }

    /// Position and velocity of the body that has the fraction `inside` < 1 of the mass within its
    /// radius.
    pub fn body(&self, inside: f64, stream: &mut Stream) -> (DVec3, DVec3) {
        let (r, w) = self.place(inside);
        let speed = draw_speed(w, stream);
        (stream.direction() * (r * self.length), stream.direction() * (speed * self.speed))
    }

    /// Radius and W of a body, by inverting the mass.
    fn place(&self, inside: f64) -> (f64, f64) {
        let last = self.nodes.len() - 1;
        let target = inside * self.nodes[last].mass();
        let above = self.nodes.partition_point(|node| node.mass() <= target).clamp(1, last);
        let (a, b) = (self.nodes[above - 1], self.nodes[above]);
        let step = b.r - a.r;
        let rise =
            |node: Node| 9.0 * node.r * node.r * density(node.w) / self.central_density * step;
        let mass = |t: f64| cubic(t, [a.mass(), rise(a)], [b.mass(), rise(b)]);
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            match mass(middle) <= target {
                true => low = middle,
                false => high = middle,
            }
        }
        let t = 0.5 * (low + high);
        (a.r + t * step, cubic(t, [a.w, a.slope * step], [b.w, b.slope * step]).max(0.0))
    }
}

/// A speed in units of sigma, from the density v^2 (exp(W - v^2 / 2) - 1) below the escape speed
/// sqrt(2 W), by rejection under its maximum.
fn draw_speed(w: f64, stream: &mut Stream) -> f64 {
    let value = |u: f64| u * u * libm::expm1(w * (1.0 - u * u));
    // At the maximum y = W (1 - u^2) solves 1 - exp(-y) = W - y, whose left side is concave.
    let mut y = 0.5 * w;
    for _ in 0..60 {
        let excess = y - w - libm::expm1(-y);
        let next = y - excess / (1.0 + libm::exp(-y));
        if (next - y).abs() <= 1e-15 * w {
            break;
        }
        y = next;
    }
    // The factor covers rounding.
    let most = value((1.0 - y / w).max(0.0).sqrt()) * (1.0 + 1e-12);
    loop {
        let u = stream.uniform();
        // At the edge W, the maximum and all speeds are 0.
        if stream.uniform() * most <= value(u) {
            return u * (2.0 * w).sqrt();
        }
    }
}

/// A cubic polynomial with these values and slopes at t = 0 and 1.
fn cubic(t: f64, [from, from_slope]: [f64; 2], [to, to_slope]: [f64; 2]) -> f64 {
    let rest = 1.0 - t;
    rest * rest * ((1.0 + 2.0 * t) * from + t * from_slope)
        + t * t * ((1.0 + 2.0 * rest) * to - rest * to_slope)
}

/// One step of the classical method of fourth order.
fn runge_kutta(rate: impl Fn(f64, State) -> State, x: f64, y: State, step: f64) -> State {
    let moved = |k: State, part: f64| std::array::from_fn(|i| y[i] + part * step * k[i]);
    let first = rate(x, y);
    let second = rate(x + 0.5 * step, moved(first, 0.5));
    let third = rate(x + 0.5 * step, moved(second, 0.5));
    let fourth = rate(x + step, moved(third, 1.0));
    std::array::from_fn(|i| {
        y[i] + step / 6.0 * (first[i] + 2.0 * (second[i] + third[i]) + fourth[i])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Concentrations log10(r_t / r_c) as in King 1966, table II (0.67, 1.03, 1.53, 2.12); masses
    /// within 0.5, 1, 2 and 4 core radii, the mean of v^2 at 1 in units of sigma^2, and the virial
    /// radius in core radii by scipy 1.17.1 (solve_ivp with DOP853, rtol 1e-11; quad).
    const MODELS: [(f64, f64, [f64; 4], f64, f64); 4] = [
        (
            3.0,
            0.6720430994,
            [0.0777660777, 0.3491424716, 0.8084775285, 0.9987993726],
            1.4816618274,
            1.5008927713,
        ),
        (
            5.0,
            1.0292640074,
            [0.0356514999, 0.1758182631, 0.5006681880, 0.8483467944],
            2.3594969112,
            2.4547968334,
        ),
        (
            7.0,
            1.5277403326,
            [0.0170602459, 0.0860663880, 0.2602687897, 0.5075549348],
            2.7881165358,
            4.8326171560,
        ),
        (
            9.0,
            2.1185315570,
            [0.0061013105, 0.0309385802, 0.0949903387, 0.1936030338],
            2.9423683864,
            15.7277177274,
        ),
    ];

    #[test]
    fn models_match_those_of_scipy() {
        for (w0, concentration, masses, square, virial_radius) in MODELS {
            let king = King::new(w0);
            let edge = king.nodes[king.nodes.len() - 1];
            assert!((libm::log10(edge.r) - concentration).abs() < 1e-7, "{w0}: {}", edge.r);
            assert!((1.0 / king.length / virial_radius - 1.0).abs() < 1e-7, "{w0}");
            for (r, inside) in [0.5, 1.0, 2.0, 4.0].into_iter().zip(masses) {
                let (found, _) = king.place(inside);
                assert!((found / r - 1.0).abs() < 1e-7, "{w0}: {found} for {r}");
            }
            let (_, w) = king.place(masses[1]);
            let mut stream = Stream::new(3, 0);
            let draws = 40_000;
            let squares = (0..draws).map(|_| draw_speed(w, &mut stream).powi(2));
            let mean = squares.sum::<f64>() / f64::from(draws);
            // Five standard errors: the variance of v^2 is below its squared mean.
            let error = 5.0 / f64::from(draws).sqrt();
            assert!((mean / square - 1.0).abs() < error, "{w0}: {mean} for {square}");
        }
    }

    #[test]
    fn density_is_that_of_its_closed_form() {
        // scipy: exp(W) erf(sqrt(W)) - sqrt(4 W / pi) (1 + 2 W / 3).
        for (w, expected) in [(0.5, 0.0617186058994), (5.0, 137.2472585461), (12.0, 162719.4552472)]
        {
            assert!((density(w) / expected - 1.0).abs() < 1e-11, "{w}: {}", density(w));
        }
        assert_eq!(density(0.0), 0.0);
    }

    #[test]
    fn extreme_models_and_places_are_finite() {
        for w0 in [0.1, 1.0, 12.0, 16.0] {
            let king = King::new(w0);
            assert!(king.nodes.len() < 5000, "{}", king.nodes.len());
            assert!(king.nodes.windows(2).all(|pair| pair[0].mass() < pair[1].mass()));
            let mut stream = Stream::new(1, 0);
            for inside in [0.0, 1e-300, 1e-12, 0.5, 1.0 - f64::EPSILON / 2.0] {
                let (x, v) = king.body(inside, &mut stream);
                assert!(x.is_finite() && v.is_finite(), "{w0}, {inside}: {x} {v}");
            }
        }
    }
}
