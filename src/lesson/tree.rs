//! The figures of the tree: its cells, what acts on a body, errors against alpha, and times against all pairs. They are
//! computed on the processor, so that they need no device.

use std::cell::OnceCell;

use glam::DVec3;
use gravitile::bodies::Bodies;
use gravitile::error::{Error, Result};
use gravitile::forces::direct::{CpuDouble, CpuSingle};
use gravitile::forces::tree::{CpuTree, GroupWalk, MultipoleOrder, Opening, TreeConfig};
use gravitile::forces::{ForceEngine, Forces, Identity, Outputs, Sinks, Sources};
use gravitile::measure::plot::{Axis, Curve, CurvePoint, GREY, Plot, number, short};
use gravitile::measure::{ErrorDistribution, TreePicture};
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
const SIZES: [usize; 8] = [256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768];
const LONGEST: f64 = 0.7;

/// The Plummer sphere of the picture.
#[derive(Default)]
pub struct Cluster(OnceCell<Known>);

struct Known {
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

impl Cluster {
    fn known(&self) -> Result<&Known> {
        if let Some(known) = self.0.get() {
            return Ok(known);
        }
        let bodies = plummer(BODIES)?;
        let (acceleration, _) = forces(&mut CpuTree::new(TreeConfig::default()), &bodies)?;
        let picture = TreePicture::new(&bodies.position, &bodies.mass, SOFTENING);
        let from_middle = picture.from_middle();
        Ok(self.0.get_or_init(|| Known { picture, acceleration, from_middle }))
    }

    /// The picture, `width` pixels wide, with cells down to the level `depth`, or with what acts on a body at `alpha`: the body
    /// `rank` from the middle outwards. As JSON with the numbers of both lists.
    ///
    /// # Errors
    ///
    /// No such body; alpha that is not above 0 and at most 1.
    pub fn picture(&self, view: &View, width: f64) -> Result<String> {
        let Known { picture, acceleration, from_middle } = self.known()?;
        let (deepest, count) = (picture.depth(), from_middle.len());
        let common = |svg: String, words: String| {
            json!({ "svg": svg, "words": words, "deepest": deepest, "bodies": count }).to_string()
        };
        match *view {
            View::Cells { depth } => {
                let depth = depth.min(deepest);
                let levels = picture.view().levels();
                let cells = levels[depth + 1] - levels[depth];
                let words = format!(
                    "{} bodies. Level {depth} of {deepest} has {cells} cell{}; boxes of the levels above it are fainter. A box is \
                     the smallest one around the bodies of a cell.",
                    short(count as f64),
                    if cells == 1 { "" } else { "s" },
                );
                Ok(common(picture.svg(Some(depth), None, width, &words), words))
            }
            View::Lists { rank, alpha } => {
                if !(alpha > 0.0 && alpha <= 1.0) {
                    return Err(Error::value("alpha", alpha, "above 0 and at most 1".to_owned()));
                }
                let config = by_alpha(alpha, MultipoleOrder::Quadrupole);
                let body = *from_middle
                    .get(rank)
                    .ok_or_else(|| Error::value("body", rank, format!("less than {count}")))?;
                let walk = picture.view().walk(body, &config, acceleration).unwrap_or_default();
                let words = in_words(&walk, count);
                Ok(common(picture.svg(None, Some(&walk), width, &words), words))
            }
        }
    }

    /// The rank from the middle outwards of the body that is shown nearest to a place of the picture.
    ///
    /// # Errors
    ///
    /// The forces failed.
    pub fn body_at(&self, width: f64, place: (f64, f64)) -> Result<usize> {
        let Known { picture, from_middle, .. } = self.known()?;
        let body = picture.body_at(width, place);
        Ok(from_middle.iter().position(|other| Some(*other) == body).unwrap_or(0))
    }
}

/// What the picture shows.
#[derive(Clone, Copy, Debug)]
pub enum View {
    /// Cells down to a level.
    Cells {
        /// The deepest level.
        depth: usize,
    },
    /// What acts on the group of a body.
    Lists {
        /// Its number from the middle of the picture outwards.
        rank: usize,
        /// The opening rule's parameter.
        alpha: f64,
    },
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

/// The rms error of accelerations against alpha, with quadrupoles and with monopoles; `partly` receives what is known after
/// each, as JSON.
///
/// # Errors
///
/// The forces failed.
pub async fn errors(partly: &mut dyn FnMut(String)) -> Result<String> {
    let bodies = plummer(BODIES)?;
    let index: Vec<usize> = (0..BODIES).step_by(BODIES / SAMPLED).collect();
    let at: Vec<DVec3> = index.iter().map(|i| bodies.position[*i]).collect();
    let own: Vec<u32> = index.iter().map(|i| *i as u32).collect();
    let mut right = Forces::default();
    CpuDouble::new().evaluate_from(
        &Sources::new(&bodies.position, &bodies.mass),
        &Sinks::new(&at, Identity::Each(&own)),
        SOFTENING,
        &Outputs::ACCELERATION,
        &mut right,
    )?;
    let kinds =
        [("quadrupoles", MultipoleOrder::Quadrupole), ("monopoles", MultipoleOrder::Monopole)];
    let mut curves = kinds.map(|(name, _)| (name, Vec::new()));
    let mut rows =
        vec![["cells", "alpha", "rms error", "interactions per body"].map(str::to_owned)];
    let count = ALPHAS.len() * kinds.len();
    for (k, (kind, alpha)) in
        (0..kinds.len()).flat_map(|kind| ALPHAS.map(|alpha| (kind, alpha))).enumerate()
    {
        let mut engine = CpuTree::new(by_alpha(alpha, kinds[kind].1));
        let (found, _) = forces(&mut engine, &bodies)?;
        let found: Vec<DVec3> = index.iter().map(|i| found[*i]).collect();
        let rms = ErrorDistribution::of(&found, &right.acceleration).rms();
        curves[kind].1.push(CurvePoint::at(alpha, rms));
        let each = engine.interactions(BODIES) as f64 / BODIES as f64;
        rows.push([
            kinds[kind].0.to_owned(),
            alpha.to_string(),
            format!("{rms:.1e}"),
            number(each),
        ]);
        let x = Axis::decades("alpha: the part of a body's acceleration by which a cell may err");
        let drawn =
            plot("Error against alpha, 4,096 bodies", x, "rms error of accelerations", &curves);
        let done = (k + 1) as f64 / count as f64;
        partly(answer(&drawn, &rows, &slope(&curves[0].1), done));
        gravitile::gpu::let_browser_turn().await;
    }
    let x = Axis::decades("alpha: the part of a body's acceleration by which a cell may err");
    let drawn = plot("Error against alpha, 4,096 bodies", x, "rms error of accelerations", &curves);
    Ok(answer(&drawn, &rows, &slope(&curves[0].1), 1.0))
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

/// The time of all forces against N, by the tree and by all pairs, on one thread of the processor; `partly` receives what is
/// known after each, as JSON.
///
/// # Errors
///
/// The forces failed.
pub async fn times(partly: &mut dyn FnMut(String)) -> Result<String> {
    let mut curves = [("tree, alpha = 0.003", Vec::new()), ("all pairs", Vec::new())];
    let mut rows = vec![["N", "tree, ms", "all pairs, ms"].map(str::to_owned)];
    let title = "Time of all forces on this processor, one thread";
    let mut last = String::new();
    // Seconds of the last size.
    let mut before = [0.0f64; 2];
    for (k, n) in SIZES.into_iter().enumerate() {
        let bodies = plummer(n)?;
        let mut cells = [String::new(), String::new()];
        for method in 0..2 {
            let growth = if method == 0 { 2.3 } else { 4.0 };
            if before[method] * growth > LONGEST {
                before[method] = f64::INFINITY;
                cells[method] = "–".to_owned();
                continue;
            }
            let mut best = f64::INFINITY;
            for _ in 0..2 {
                let secs = if method == 0 {
                    forces(&mut CpuTree::new(TreeConfig::default()), &bodies)?.1
                } else {
                    forces(&mut CpuSingle::new(), &bodies)?.1
                };
                best = best.min(secs);
                gravitile::gpu::let_browser_turn().await;
            }
            before[method] = best;
            curves[method].1.push(CurvePoint::at(n as f64, best.max(1e-6) * 1e3));
            cells[method] = number(best * 1e3);
        }
        let [tree, pairs] = cells;
        rows.push([short(n as f64), tree, pairs]);
        let drawn = plot(title, Axis::powers("number of bodies N"), "time, ms", &curves);
        let done = (k + 1) as f64 / SIZES.len() as f64;
        last = answer(&drawn, &rows, &crossing(&curves), done);
        partly(last.clone());
    }
    Ok(last)
}

/// From which N on the tree is faster.
fn crossing(curves: &[(&str, Vec<CurvePoint>)]) -> Vec<String> {
    let [(_, tree), (_, pairs)] = curves else { return Vec::new() };
    let both: Vec<_> = tree
        .iter()
        .filter_map(|tree| Some((tree.x, tree.y, pairs.iter().find(|pairs| pairs.x == tree.x)?.y)))
        .collect();
    let Some((n, tree, pairs)) = both.last() else { return Vec::new() };
    let first = both.iter().rev().take_while(|(_, tree, pairs)| tree < pairs).last();
    let from = match first {
        Some((n, ..)) => format!("The tree is faster from N = {} on", short(*n)),
        None => "All pairs are faster at each N that both were timed with".to_owned(),
    };
    vec![format!(
        "{from}; with {} bodies it takes {} ms and all pairs {} ms",
        short(*n),
        number(*tree),
        number(*pairs)
    )]
}

fn plot<S: AsRef<str>>(title: &str, x: Axis, y: &str, curves: &[(S, Vec<CurvePoint>)]) -> Plot {
    let colour = |k: usize| if k == 0 { 0 } else { GREY };
    let curve = |(k, (name, points)): (usize, &(S, Vec<CurvePoint>))| {
        Curve::measured(name.as_ref(), points.clone(), colour(k))
    };
    let curves = curves.iter().enumerate().map(curve).collect();
    Plot::lines(title, x, Axis::decades(y), curves)
}

fn answer<const N: usize>(
    plot: &Plot,
    rows: &[[String; N]],
    sentences: &[String],
    done: f64,
) -> String {
    let rows: Vec<&[String]> = rows.iter().map(|row| &row[..]).collect();
    json!({
        "plots": [plot.svg()], "rows": rows, "sentences": sentences, "done": done, "left": 0,
        "method": "the clock of the processor",
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
        let cluster = Cluster::default();
        let shown = |view| parsed(&cluster.picture(&view, 400.0).unwrap());
        let root = shown(View::Cells { depth: 0 });
        assert!(root["words"].as_str().unwrap().contains("has 1 cell;"), "{}", root["words"]);
        let lists =
            |alpha| shown(View::Lists { rank: 0, alpha })["words"].as_str().unwrap().to_owned();
        let interactions = |words: &str| -> f64 {
            let after = words.split("(orange): ").nth(1).unwrap();
            after.split(' ').next().unwrap().replace(',', "").parse().unwrap()
        };
        let [coarse, fine] = [0.03, 0.0003].map(|alpha| interactions(&lists(alpha)));
        assert!(coarse < fine && fine <= 4096.0 + 1000.0, "{coarse} {fine}");
        assert_eq!(cluster.body_at(400.0, (200.0, 200.0)).unwrap(), 0);
        assert!(cluster.body_at(400.0, (5.0, 5.0)).unwrap() > 3000);
        assert!(cluster.picture(&View::Lists { rank: 4096, alpha: 0.1 }, 400.0).is_err());
        assert!(cluster.picture(&View::Lists { rank: 0, alpha: 0.0 }, 400.0).is_err());
    }

    #[test]
    fn errors_grow_with_alpha_and_monopoles_err_more() {
        let mut parts = 0;
        let found = parsed(&pollster::block_on(errors(&mut |_| parts += 1)).unwrap());
        assert_eq!(parts, 14);
        let rows = found["rows"].as_array().unwrap();
        let of = |kind: &str| -> Vec<f64> {
            let own = rows.iter().filter(|row| row[0] == kind);
            own.map(|row| row[2].as_str().unwrap().parse().unwrap()).collect()
        };
        let (quadrupoles, monopoles) = (of("quadrupoles"), of("monopoles"));
        assert!(quadrupoles.is_sorted() && monopoles.is_sorted(), "{quadrupoles:?} {monopoles:?}");
        // docs/tree.md, answers 4 and 5: a power of about 0.55, and monopoles err about twice as much at 0.003.
        let ratio = monopoles[3] / quadrupoles[3];
        assert!((1.3..4.0).contains(&ratio), "{ratio}");
        let words = found["sentences"][0].as_str().unwrap();
        let power: f64 = words.rsplit(' ').next().unwrap().parse().unwrap();
        assert!((0.4..0.8).contains(&power), "{words}");
    }
}
