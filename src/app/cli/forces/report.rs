//! What `gravitile forces` found, as text, JSON and tables.

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::Files;
use super::evaluation::{DerivativeOptions, Evaluation};
use gravitile::bodies::Bodies;
use gravitile::forces::{ForceEngine, Forces, NO_SOURCE};
use gravitile::measure::{ErrorStats, acceleration_errors, potential_errors};

/// One evaluation of all bodies on all.
pub struct Report<'a> {
    pub evaluation: &'a Evaluation<'a>,
    /// What was assumed about the bodies.
    pub notes: &'a [String],
    pub engine: &'a dyn ForceEngine,
    /// Whether the engine computes nothing but accelerations and potentials.
    pub plain: bool,
    pub found: &'a Forces,
    /// Differences from f64 by quantity; empty if not compared.
    pub errors: Vec<(&'static str, ErrorStats)>,
    /// Where the tables were written.
    pub files: &'a Files,
}

impl Report<'_> {
    /// Each pair counts once, and so does the external field.
    fn potential_energy(&self) -> f64 {
        let Evaluation { bodies, field, .. } = self.evaluation;
        let each = self.found.potential.iter().zip(&bodies.mass).zip(&bodies.position);
        gravitile::math::sum(each.map(|((phi, m), x)| 0.5 * m * (phi + field.potential(*x))))
    }

    /// Number of lists that lack some neighbours.
    fn cut(&self) -> usize {
        let lists = &self.found.neighbours;
        (0..lists.len()).filter(|&i| lists.overflowed(i)).count()
    }

    pub fn json(&self) -> Value {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let mut object = json!({
            "n": self.evaluation.bodies.len(),
            "softening": self.evaluation.eps,
            "engine": self.engine.name(),
            "configuration": self.engine.describe(),
            "total_mass": self.evaluation.bodies.total_mass(),
            "potential_energy": self.potential_energy(),
            "notes": self.notes,
            "out": path(&self.files.out),
        });
        let mut errors = Map::new();
        for (name, stats) in &self.errors {
            errors.insert(format!("{name}_rms_error"), stats.rms.into());
            errors.insert(format!("{name}_worst_error"), stats.worst.into());
        }
        if self.plain {
            // The same keys whether compared or not.
            for key in ["acceleration_rms_error", "acceleration_worst_error", "potential_rms_error"]
            {
                object[key] = errors.remove(key).into();
            }
        } else {
            object["precision"] = self.engine.precision().name().into();
            object["lists_cut_short"] = self.cut().into();
            object["neighbours_out"] = path(&self.files.lists).into();
            for (key, error) in errors {
                object[key] = error;
            }
        }
        object
    }

    pub fn text(&self) -> String {
        let (n, eps, engine) = (self.evaluation.bodies.len(), self.evaluation.eps, self.engine);
        let mut text = format!("{n} bodies, eps {eps}, engine {}\n", engine.name());
        text += &format!("computed on {}\n", engine.describe());
        text += &format!("potential energy {}\n", self.potential_energy());
        let errors = self.errors.iter().map(|(name, ErrorStats { rms, worst })| {
            format!("{name} rms {rms:.2e}, worst {worst:.2e}")
        });
        let errors: Vec<String> = errors.collect();
        // Two quantities fit one line.
        let lines = if self.plain { vec![errors.join("; ")] } else { errors };
        for line in lines.iter().filter(|line| !line.is_empty()) {
            text += &format!("against f64: {line}\n");
        }
        let (cut, most) = (self.cut(), self.evaluation.options.capacity);
        if cut > 0 {
            text += &format!(
                "{cut} bodies have more than {most} neighbours: their lists are cut to that many (--capacity)\n"
            );
        }
        for path in self.files.out.iter().chain(&self.files.lists) {
            text += &format!("wrote {}\n", path.display());
        }
        text
    }
}

/// The errors of each quantity that was computed.
pub fn compare(found: &Forces, right: &Forces) -> Vec<(&'static str, ErrorStats)> {
    let mut rows = Vec::new();
    for (name, found, right) in [
        ("acceleration", &found.acceleration, &right.acceleration),
        ("jerk", &found.jerk, &right.jerk),
        ("snap", &found.snap, &right.snap),
    ] {
        if !found.is_empty() {
            rows.push((name, acceleration_errors(found, right)));
        }
    }
    rows.push(("potential", potential_errors(&found.potential, &right.potential)));
    rows
}

/// Writes the table: the columns of plain forces, then whatever else was requested.
pub fn table(
    out: &mut dyn Write,
    options: &DerivativeOptions,
    bodies: &Bodies,
    found: &Forces,
) -> std::io::Result<()> {
    let mut header = "id,ax,ay,az,potential".to_owned();
    for (requested, columns) in [
        (options.jerk, ",jx,jy,jz"),
        (options.snap, ",sx,sy,sz"),
        (options.neighbours.is_some(), ",nearest_id,nearest_distance,n_neighbours"),
    ] {
        if requested {
            header += columns;
        }
    }
    writeln!(out, "{header}")?;
    for i in 0..bodies.len() {
        let a = found.acceleration[i];
        write!(out, "{},{},{},{},{}", bodies.id[i], a.x, a.y, a.z, found.potential[i])?;
        for (requested, derivative) in [(options.jerk, &found.jerk), (options.snap, &found.snap)] {
            if requested {
                let d = derivative[i];
                write!(out, ",{},{},{}", d.x, d.y, d.z)?;
            }
        }
        if options.neighbours.is_some() {
            match found.nearest[i] {
                NO_SOURCE => write!(out, ",-1,inf,0")?,
                j => {
                    let (id, distance) = (bodies.id[j as usize], found.nearest_distance[i]);
                    write!(out, ",{id},{distance},{}", found.neighbours.found(i))?;
                }
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Writes one row per body and neighbour.
pub fn list(out: &mut dyn Write, bodies: &Bodies, found: &Forces) -> std::io::Result<()> {
    writeln!(out, "id,neighbour_id")?;
    for i in 0..bodies.len() {
        for &j in found.neighbours.of(i) {
            writeln!(out, "{},{}", bodies.id[i], bodies.id[j as usize])?;
        }
    }
    Ok(())
}
