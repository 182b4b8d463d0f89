//! The figures of the tree: its cells, what acts on a body, errors against alpha, and times against
//! all pairs. They are computed on the processor, so that they need no device; the times also on a
//! device, if there is one.

use std::cell::OnceCell;
use std::sync::Arc;

use glam::DVec3;
use gravitile::bodies::Bodies;
use gravitile::error::{Error, Result};
use gravitile::forces::direct::gpu::KernelRequest;
use gravitile::forces::direct::{CpuDouble, CpuSingle};
use gravitile::forces::tree::gpu::WalkShape;
use gravitile::forces::tree::{CpuTree, GroupWalk, MultipoleOrder, Opening, TreeConfig};
use gravitile::forces::{ForceEngine, Forces, Identity, Outputs, Sinks, Sources};
use gravitile::gpu::Gpu;
use gravitile::measure::plot::{Curve, CurvePoint, GREY, Plot, PlotAxis, number, short};
use gravitile::measure::{ErrorDistribution, SampledForces, StepTimer, Timer, TreePicture};
use gravitile::scene::Scene;
use serde_json::json;
use web_time::Instant;

/// Bodies of the picture and of the errors, and their softening, with a scale length of 1.
const BODIES: usize = 4096;
const SOFTENING: f64 = 0.01;
/// Bodies whose errors are measured.
const SAMPLED: usize = 512;

/// alpha of the errors, from fine to coarse.
const ALPHAS: [f64; 7] = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1];

/// Numbers of bodies of the times, and the most seconds of one evaluation.
const SIZES: [usize; 12] =
    [256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072, 262_144, 524_288];
const LONGEST: f64 = 0.7;

/// The Plummer sphere of the picture.
#[derive(Default)]
pub struct LessonCluster(OnceCell<ClusterTree>);

struct ClusterTree {
    picture: TreePicture,
    /// Accelerations of the last step, which the rule needs.
    acceleration: Vec<DVec3>,
    from_middle: Vec<usize>,
}

fn plummer(n: usize) -> Result<Bodies> {
    let mut scene = Scene::builtin("plummer")?;
    scene.set_n(n)?;
    scene.build()
}

fn by_alpha(alpha: f64, moments: MultipoleOrder) -> TreeConfig {
    TreeConfig { opening: Opening::Acceleration { alpha }, moments, ..TreeConfig::default() }
}

/// The accelerations of all bodies by an engine, and its seconds.
fn forces(engine: &mut dyn ForceEngine, bodies: &Bodies) -> Result<(Vec<DVec3>, f64)> {
    let Bodies { position, mass, .. } = bodies;
    let mut out = Forces::default();
    let (sources, sinks) =
        (Sources::new(position, mass), Sinks::new(position, Identity::Offset(0)));
    let begun = Instant::now();
    engine.evaluate_from(&sources, &sinks, SOFTENING, &Outputs::ACCELERATION, &mut out)?;
    Ok((out.acceleration, begun.elapsed().as_secs_f64()))
}

impl LessonCluster {
    fn known(&self) -> Result<&ClusterTree> {
        if let Some(known) = self.0.get() {
            return Ok(known);
        }
        let bodies = plummer(BODIES)?;
        let (acceleration, _) = forces(&mut CpuTree::new(TreeConfig::default()), &bodies)?;
        let picture = TreePicture::new(&bodies.position, &bodies.mass, SOFTENING);
        let from_middle = picture.from_middle();
        Ok(self.0.get_or_init(|| ClusterTree { picture, acceleration, from_middle }))
    }

    /// The picture, `width` pixels wide, with cells down to the level `depth`. As JSON with a
    /// sentence.
    ///
    /// # Errors
    ///
    /// The forces failed.
    pub fn cells(&self, depth: usize, width: f64) -> Result<String> {
        let ClusterTree { picture, from_middle, .. } = self.known()?;
        let deepest = picture.depth();
        let depth = depth.min(deepest);
        let levels = picture.view().levels();
        let cells = levels[depth + 1] - levels[depth];
        let words = format!(
            "{} bodies. Level {depth} of {deepest} has {cells} cell{}; boxes of the levels above it are fainter. A box is \
             the smallest one around the bodies of a cell.",
            short(from_middle.len() as f64),
            if cells == 1 { "" } else { "s" },
        );
        self.drawn((Some(depth), None), width, &words)
    }

    /// The same with what acts at `alpha` on a body, the one `rank` from the middle outwards, and
    /// the numbers of both lists.
    ///
    /// # Errors
    ///
    /// No such body; alpha that is not above 0 and at most 1.
    pub fn lists(&self, rank: usize, alpha: f64, width: f64) -> Result<String> {
        let ClusterTree { picture, acceleration, from_middle } = self.known()?;
        if !(alpha > 0.0 && alpha <= 1.0) {
            return Err(Error::value("alpha", alpha, "above 0 and at most 1".to_owned()));
        }
        let (config, count) = (by_alpha(alpha, MultipoleOrder::Quadrupole), from_middle.len());
        let body = *from_middle
            .get(rank)
            .ok_or_else(|| Error::value("body", rank, format!("less than {count}")))?;
        let walk = picture.view().walk(body, &config, acceleration).unwrap_or_default();
        self.drawn((None, Some(&walk)), width, &in_words(&walk, count))
    }

    fn drawn(
        &self,
        (depth, walk): (Option<usize>, Option<&GroupWalk>),
        width: f64,
        words: &str,
    ) -> Result<String> {
        let ClusterTree { picture, from_middle, .. } = self.known()?;
        let svg = picture.svg(depth, walk, width, words);
        let (deepest, count) = (picture.depth(), from_middle.len());
        Ok(json!({ "svg": svg, "words": words, "deepest": deepest, "bodies": count }).to_string())
    }

    /// The rank from the middle outwards of the body that is shown nearest to a place of the
    /// picture.
    ///
    /// # Errors
    ///
    /// The forces failed.
    pub fn body_at(&self, width: f64, place: (f64, f64)) -> Result<usize> {
        let ClusterTree { picture, from_middle, .. } = self.known()?;
        let body = picture.body_at(width, place);
        Ok(from_middle.iter().position(|other| Some(*other) == body).unwrap_or(0))
    }
}

fn in_words(walk: &GroupWalk, count: usize) -> String {
    let own = walk.cells.len() + walk.bodies.len();
    format!(
        "The group of {} bodies (ochre box) meets {} cells as a whole (blue), {} far cells together (green), and {} bodies \
         one by one (orange): {} interactions for each body in place of {}, after {} tests.",
        walk.members.len(),
        walk.cells.len(),
        walk.far.len(),
        short(walk.bodies.len() as f64),
        short(own as f64),
        short(count as f64),
        walk.tests(),
    )
}

/// The rms error of accelerations against alpha, with quadrupoles and with monopoles; `partly`
/// receives what is known after each, as JSON.
///
/// # Errors
///
/// The forces failed.
pub async fn errors(width: f64, partly: &mut dyn FnMut(String)) -> Result<String> {
    let bodies = plummer(BODIES)?;
    let sources = Sources::new(&bodies.position, &bodies.mass);
    let (mut engine, outputs) = (CpuDouble::new(), Outputs::ACCELERATION);
    let right = SampledForces::new(&mut engine, &sources, SAMPLED, SOFTENING, &outputs)?;
    let kinds =
        [("quadrupoles", MultipoleOrder::Quadrupole), ("monopoles", MultipoleOrder::Monopole)];
    let mut curves = kinds.map(|(name, _)| (name, Vec::new()));
    let mut rows =
        vec![["cells", "alpha", "rms error", "interactions per body"].map(str::to_owned)];
    let count = ALPHAS.len() * kinds.len();
    let mut shown = String::new();
    for (k, (kind, alpha)) in
        (0..kinds.len()).flat_map(|kind| ALPHAS.map(|alpha| (kind, alpha))).enumerate()
    {
        let mut engine = CpuTree::new(by_alpha(alpha, kinds[kind].1));
        let (found, _) = forces(&mut engine, &bodies)?;
        let rms = ErrorDistribution::of(&right.of(&found), &right.forces.acceleration).rms();
        curves[kind].1.push(CurvePoint::at(alpha, rms));
        let each = engine.interactions(BODIES) as f64 / BODIES as f64;
        rows.push([
            kinds[kind].0.to_owned(),
            alpha.to_string(),
            format!("{rms:.1e}"),
            number(each),
        ]);
        let x =
            PlotAxis::decades("alpha: the part of a body's acceleration by which a cell may err");
        let drawn =
            plot("Error against alpha, 4,096 bodies", x, "rms error of accelerations", &curves);
        let done = (k + 1) as f64 / count as f64;
        shown = answer((&drawn, width), &rows, &slope(&curves[0].1), done, CLOCK);
        partly(shown.clone());
        gravitile::gpu::let_browser_turn().await;
    }
    Ok(shown)
}

/// How the error grows with alpha between the ends of a curve.
fn slope(points: &[CurvePoint]) -> Vec<String> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Vec::new() };
    let slope = (last.y / first.y).ln() / (last.x / first.x).ln();
    let is_known = points.len() == ALPHAS.len() && slope.is_finite();
    let sentence = format!(
        "With quadrupoles, {:.0} times the alpha makes {:.0} times the error: it grows like alpha to the power of {slope:.2}",
        last.x / first.x,
        last.y / first.y
    );
    if is_known { vec![sentence] } else { Vec::new() }
}

/// What was timed against N: method and place, and the most that the time grows when N doubles.
const TIMED: [(&str, f64); 4] = [
    ("tree", 2.3),
    ("all pairs", 4.0),
    ("tree on the processor, one thread", 2.3),
    ("all pairs on the processor, one thread", 4.0),
];

/// The times of the four, in ms, as far as they are known.
#[derive(Default)]
struct Times([Vec<CurvePoint>; 4]);

impl Times {
    /// Whether `which` takes too long with twice the bodies.
    fn is_slow(&self, which: usize) -> bool {
        let last = self.0[which].last().map_or(0.0, |point| point.y);
        last * TIMED[which].1 > LONGEST * 1e3
    }

    fn add(&mut self, which: usize, n: usize, secs: f64) {
        self.0[which].push(CurvePoint::at(n as f64, secs.max(1e-6) * 1e3));
    }

    /// The figure so far.
    fn answer(&self, device: Option<&str>, width: f64, done: f64) -> String {
        let name = |which: usize| match (device, which < 2) {
            (Some(device), true) => format!("{} on {device}", TIMED[which].0),
            _ => TIMED[which].0.to_owned(),
        };
        let is_there = |which: &usize| !self.0[*which].is_empty();
        let shown: Vec<usize> = (0..4).filter(is_there).collect();
        let mut head = vec!["N".to_owned()];
        head.extend(shown.iter().map(|which| format!("{}, ms", name(*which))));
        let mut rows = vec![head];
        for n in SIZES {
            let cell = |which: &usize| {
                let point = self.0[*which].iter().find(|point| point.x == n as f64);
                point.map_or("–".to_owned(), |point| number(point.y))
            };
            let cells: Vec<String> = shown.iter().map(cell).collect();
            if cells.iter().any(|cell| cell != "–") {
                rows.push([vec![short(n as f64)], cells].concat());
            }
        }
        let curve = |which: &usize| Curve::measured(name(*which), self.0[*which].clone(), *which);
        let curves = shown.iter().map(curve).collect();
        let x = PlotAxis::powers("number of bodies N");
        let y = PlotAxis::decades("time of a step, ms");
        let drawn = Plot::lines("Time of a step against N", x, y, curves);
        let sentences: Vec<String> = [(0, device), (2, Some("the processor"))]
            .into_iter()
            .filter_map(|(which, place)| crossing(place?, &self.0[which], &self.0[which + 1]))
            .collect();
        let clock = match device {
            Some(_) => {
                "the device's clock, if it has one that can be read, and that of the processor"
            }
            None => CLOCK,
        };
        answer((&drawn, width), &rows, &sentences, done, clock)
    }
}

/// The time of a step against N, by the tree and by all pairs, on one thread of the processor and
/// on `gpu`, if there is one; `partly` receives what is known after each, as JSON.
///
/// # Errors
///
/// The forces failed.
pub async fn times(
    gpu: Option<&Arc<Gpu>>,
    width: f64,
    partly: &mut dyn FnMut(String),
) -> Result<String> {
    let device = gpu.map(|gpu| gpu.adapter.name.as_str());
    let mut times = Times::default();
    let parts = if gpu.is_some() { 2.0 } else { 1.0 } * SIZES.len() as f64;
    let mut done = 0.0;
    for n in SIZES {
        if times.is_slow(2) && times.is_slow(3) {
            break;
        }
        let bodies = plummer(n)?;
        for which in [2, 3] {
            if times.is_slow(which) {
                continue;
            }
            let mut best = f64::INFINITY;
            for _ in 0..2 {
                let secs = match which {
                    2 => forces(&mut CpuTree::new(TreeConfig::default()), &bodies)?.1,
                    _ => forces(&mut CpuSingle::new(), &bodies)?.1,
                };
                best = best.min(secs);
                gravitile::gpu::let_browser_turn().await;
            }
            times.add(which, n, best);
        }
        done += 1.0;
        partly(times.answer(device, width, done / parts));
    }
    let Some(gpu) = gpu else { return Ok(times.answer(None, width, 1.0)) };
    done = SIZES.len() as f64;
    for n in SIZES {
        if !times.is_slow(0) {
            let config = TreeConfig::default();
            let mut timer = StepTimer::of_tree(gpu, plummer(n)?, SOFTENING, config);
            times.add(0, n, timer.sample(&WalkShape::DEFAULT).await?);
        }
        if !times.is_slow(1) {
            let kernel = KernelRequest::default().resolve(gpu, n, n)?;
            times.add(1, n, StepTimer::new(gpu, n).sample(&kernel).await?);
        }
        done += 1.0;
        partly(times.answer(device, width, done / parts));
    }
    Ok(times.answer(device, width, 1.0))
}

/// From which N on the tree is faster.
fn crossing(place: &str, tree: &[CurvePoint], pairs: &[CurvePoint]) -> Option<String> {
    let both: Vec<_> = tree
        .iter()
        .filter_map(|tree| Some((tree.x, tree.y, pairs.iter().find(|pairs| pairs.x == tree.x)?.y)))
        .collect();
    let (n, tree, pairs) = both.last()?;
    let first = both.iter().rev().take_while(|(_, tree, pairs)| tree < pairs).last();
    let from = match first {
        Some((n, ..)) => format!("On {place} the tree is faster from N = {} on", short(*n)),
        None => format!("On {place} all pairs are faster at each N that both were timed with"),
    };
    let (n, tree, pairs) = (short(*n), number(*tree), number(*pairs));
    Some(format!("{from}; with {n} bodies it takes {tree} ms and all pairs {pairs} ms"))
}

fn plot<S: AsRef<str>>(title: &str, x: PlotAxis, y: &str, curves: &[(S, Vec<CurvePoint>)]) -> Plot {
    let colour = |k: usize| if k == 0 { 0 } else { GREY };
    let curve = |(k, (name, points)): (usize, &(S, Vec<CurvePoint>))| {
        Curve::measured(name.as_ref(), points.clone(), colour(k))
    };
    let curves = curves.iter().enumerate().map(curve).collect();
    Plot::lines(title, x, PlotAxis::decades(y), curves)
}

/// The clock of what the processor computes.
const CLOCK: &str = "the clock of the processor";

fn answer<R: AsRef<[String]>>(
    (plot, width): (&Plot, f64),
    rows: &[R],
    sentences: &[String],
    done: f64,
    method: &str,
) -> String {
    let rows: Vec<&[String]> = rows.iter().map(AsRef::as_ref).collect();
    json!({
        "plots": [plot.svg_of_width(width)], "rows": rows, "sentences": sentences, "done": done, "left": 0,
        "method": method,
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn parsed(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn picture_counts_what_acts_on_a_body() {
        let cluster = LessonCluster::default();
        let root = parsed(&cluster.cells(0, 400.0).unwrap());
        assert!(root["words"].as_str().unwrap().contains("has 1 cell;"), "{}", root["words"]);
        let lists = |alpha| {
            let shown = parsed(&cluster.lists(0, alpha, 400.0).unwrap());
            shown["words"].as_str().unwrap().to_owned()
        };
        let interactions = |words: &str| -> f64 {
            let after = words.split("(orange): ").nth(1).unwrap();
            after.split(' ').next().unwrap().replace(',', "").parse().unwrap()
        };
        let [coarse, fine] = [0.03, 0.0003].map(|alpha| interactions(&lists(alpha)));
        assert!(coarse < fine && fine <= 4096.0 + 1000.0, "{coarse} {fine}");
        assert_eq!(cluster.body_at(400.0, (200.0, 200.0)).unwrap(), 0);
        assert!(cluster.body_at(400.0, (5.0, 5.0)).unwrap() > 3000);
        assert!(cluster.lists(4096, 0.1, 400.0).is_err());
        assert!(cluster.lists(0, 0.0, 400.0).is_err());
    }

    #[test]
    fn errors_grow_with_alpha_and_monopoles_err_more() {
        let mut parts = 0;
        let found = parsed(&pollster::block_on(errors(760.0, &mut |_| parts += 1)).unwrap());
        assert_eq!(parts, 14);
        let rows = found["rows"].as_array().unwrap();
        let of = |kind: &str| -> Vec<f64> {
            let own = rows.iter().filter(|row| row[0] == kind);
            own.map(|row| row[2].as_str().unwrap().parse().unwrap()).collect()
        };
        let (quadrupoles, monopoles) = (of("quadrupoles"), of("monopoles"));
        assert!(quadrupoles.is_sorted() && monopoles.is_sorted(), "{quadrupoles:?} {monopoles:?}");
        // docs/tree.md, answers 4 and 5: a power of about 0.55, and monopoles err about twice as
        // much at 0.003.
        let ratio = monopoles[3] / quadrupoles[3];
        assert!((1.3..4.0).contains(&ratio), "{ratio}");
        let words = found["sentences"][0].as_str().unwrap();
        let power: f64 = words.rsplit(' ').next().unwrap().parse().unwrap();
        assert!((0.4..0.8).contains(&power), "{words}");
    }
}
