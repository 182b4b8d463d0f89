//! A GRAPE-5 board: sources by address, sinks, and the forces of the sources on the sinks.
//! Particles have no indices.

use glam::DVec3;

use super::results::groups;
use gravitile::error::{Error, Result};
use gravitile::forces::{ForceEngine, Forces, Identity, Outputs, Sinks, Sources};
use gravitile::math::{all_finite, all_vectors_finite};

/// State of the board's evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum BoardProgress {
    /// No evaluation, or an outdated one.
    #[default]
    Idle,
    /// In progress, with this eps^2 for sinks without their own.
    Begun(Option<f64>),
    /// Finished: `forces` holds the sum of several evaluations.
    Done(Option<f64>),
}

/// New values for a range of sources. `None` leaves the old values, except that positions without
/// eps^2 reset it to 0.
#[derive(Clone, Copy, Default)]
pub struct NewSources<'a> {
    pub position: Option<&'a [[f64; 3]]>,
    pub mass: Option<&'a [f64]>,
    pub softening_squared: Option<&'a [f64]>,
}

/// One board. Sources that were never set are massless.
pub struct Board {
    engine: Box<dyn ForceEngine>,
    position: Vec<DVec3>,
    mass: Vec<f64>,
    /// eps^2 of each source, or empty if all are 0.
    softening_squared: Vec<f64>,
    /// Only sources at addresses below this attract.
    count: Option<usize>,
    /// Number of sources that the engine holds; `None` if they are outdated.
    sent: Option<usize>,
    sinks: Option<Vec<DVec3>>,
    /// eps^2 per sink; replaces the common eps^2.
    each: Option<Vec<f64>>,
    progress: BoardProgress,
    forces: Forces,
}

impl Board {
    /// Creates an empty board.
    pub fn new(engine: Box<dyn ForceEngine>) -> Self {
        Self {
            engine,
            position: Vec::new(),
            mass: Vec::new(),
            softening_squared: Vec::new(),
            count: None,
            sent: None,
            sinks: None,
            each: None,
            progress: BoardProgress::Idle,
            forces: Forces::default(),
        }
    }

    /// Sets the number of sources that attract.
    pub fn set_count(&mut self, count: usize) {
        (self.count, self.progress) = (Some(count), BoardProgress::Idle);
    }

    /// Sets the sinks; their eps^2 are unchanged.
    pub fn set_sinks(&mut self, position: &[[f64; 3]]) {
        self.progress = BoardProgress::Idle;
        let sinks = self.sinks.get_or_insert_default();
        sinks.clear();
        sinks.extend_from_slice(bytemuck::cast_slice(position));
    }

    /// Sets eps^2 per sink, valid until the forces are fetched.
    ///
    /// # Errors
    /// A value that is negative or not finite.
    pub fn set_softening_of_sinks(&mut self, softening_squared: Vec<f64>) -> Result<()> {
        check_softening(&softening_squared, 0, "sink")?;
        (self.each, self.progress) = (Some(softening_squared), BoardProgress::Idle);
        Ok(())
    }

    /// Sets `n` sources starting at address `first`. Each array has `n` entries.
    ///
    /// # Errors
    /// Values that are not finite, a negative mass or eps^2, or out of memory. The board is then
    /// unchanged.
    pub fn set_sources(&mut self, first: usize, n: usize, new: &NewSources) -> Result<()> {
        let end = first + n;
        check_sources(first, new)?;
        self.grow(end, new)?;
        (self.sent, self.progress) = (None, BoardProgress::Idle);
        if let Some(position) = new.position {
            self.position[first..end].copy_from_slice(bytemuck::cast_slice(position));
            if !self.softening_squared.is_empty() {
                self.softening_squared[first..end].fill(0.0);
            }
        }
        if let Some(mass) = new.mass {
            self.mass[first..end].copy_from_slice(mass);
        }
        if let Some(softening_squared) = new.softening_squared {
            self.softening_squared[first..end].copy_from_slice(softening_squared);
        }
        Ok(())
    }

    /// Grows the arrays to hold sources below address `end`.
    fn grow(&mut self, end: usize, new: &NewSources) -> Result<()> {
        let length = end.max(self.position.len());
        let full = |_| Error::Outside(format!("no memory for {length} sources"));
        if length > self.position.len() {
            self.position.try_reserve(length - self.position.len()).map_err(full)?;
            self.mass.try_reserve(length - self.mass.len()).map_err(full)?;
            // Massless padding sources at (0, 0, 0) could enlarge the extent, and with it the unit
            // of length.
            let near = new.position.and_then(|position| position.first());
            let near = near.map_or(DVec3::ZERO, |position| DVec3::from_array(*position));
            self.position.resize(length, near);
            self.mass.resize(length, 0.0);
        }
        if new.softening_squared.is_some() || !self.softening_squared.is_empty() {
            let more = length - self.softening_squared.len();
            self.softening_squared.try_reserve(more).map_err(full)?;
            self.softening_squared.resize(length, 0.0);
        }
        Ok(())
    }

    /// Starts the evaluation unless it has been started; `of_all` is eps^2 of sinks without their
    /// own.
    ///
    /// # Errors
    /// Missing sources, sinks or softening; sinks that are not finite; an error of the engine.
    pub fn begin(&mut self, of_all: Option<f64>) -> Result<()> {
        let is_begun =
            [BoardProgress::Begun(of_all), BoardProgress::Done(of_all)].contains(&self.progress);
        if is_begun {
            return Ok(());
        }
        self.progress = BoardProgress::Idle;
        let missing =
            |what: &str, call: &str| Error::Outside(format!("{what} not set: call {call} before"));
        let count = self.count.ok_or_else(|| missing("the number of sources is", "g5_set_n"))?;
        let sinks = self.sinks.take().ok_or_else(|| missing("sinks are", "g5_set_xi"))?;
        let each = self.each.take();
        let begun = match &each {
            Some(each) if each.len() != sinks.len() => {
                let allowed = format!("{}, one for each sink", sinks.len());
                Err(Error::value("the number of softenings", each.len(), allowed))
            }
            Some(each) => self.evaluate(&sinks, each, count),
            None => of_all
                .ok_or_else(|| missing("the softening is", "g5_set_eps_to_all"))
                .and_then(|of_all| self.evaluate(&sinks, &[of_all], count)),
        };
        (self.sinks, self.each) = (Some(sinks), each);
        self.progress = match begun? {
            true => BoardProgress::Done(of_all),
            false => BoardProgress::Begun(of_all),
        };
        Ok(())
    }

    /// Starts the forces of the first `count` sources on `sinks`; `each` has one eps^2 per sink or
    /// one for all. An engine accepts one eps per call: if the pairs differ in eps, this function
    /// computes the complete result itself and returns true.
    fn evaluate(&mut self, sinks: &[DVec3], each: &[f64], count: usize) -> Result<bool> {
        if !all_vectors_finite(sinks)
            && let Some(i) = sinks.iter().position(|sink| !sink.is_finite())
        {
            let what = format!("the position of sink {i}");
            return Err(Error::value(what, sinks[i], "finite"));
        }
        let count = count.min(self.position.len());
        let of_sources = self.softening_squared.get(..count).unwrap_or_default();
        let is_uniform = |all: &[f64]| all.iter().all(|one| *one == all[0]);
        if is_uniform(each) && is_uniform(of_sources) {
            let of_pairs = [each, of_sources].iter().filter_map(|all| all.first()).sum::<f64>();
            self.send(count)?;
            let sinks = Sinks::new(sinks, Identity::Foreign);
            self.engine.begin(&sinks, of_pairs.sqrt(), &Outputs::POTENTIAL)?;
            return Ok(false);
        }
        self.evaluate_in_groups(sinks, each, count)?;
        Ok(true)
    }

    /// Uploads the first `count` sources unless the engine already holds them.
    fn send(&mut self, count: usize) -> Result<()> {
        if self.sent != Some(count) {
            self.sent = None;
            let (position, mass) = (&self.position[..count], &self.mass[..count]);
            self.engine.set_sources(&Sources::new(position, mass))?;
            self.sent = Some(count);
        }
        Ok(())
    }

    /// One evaluation for each pair of a source eps^2 and a sink eps^2; sums go from the smallest
    /// source eps^2 to the largest.
    fn evaluate_in_groups(&mut self, sinks: &[DVec3], each: &[f64], count: usize) -> Result<()> {
        let of_sources = self.softening_squared.get(..count).unwrap_or_default();
        let of_sources = if of_sources.is_empty() { vec![0.0; count] } else { of_sources.to_vec() };
        let of_sinks = if each.len() == 1 { vec![each[0]; sinks.len()] } else { each.to_vec() };
        self.forces.resize(sinks.len(), &Outputs::POTENTIAL);
        self.forces.acceleration.fill(DVec3::ZERO);
        self.forces.potential.fill(0.0);
        let (source_groups, sink_groups) = (groups(&of_sources), groups(&of_sinks));
        let mut partial = Forces::default();
        for sources in &source_groups {
            if source_groups.len() == 1 {
                self.send(count)?;
            } else {
                self.sent = None;
                let position: Vec<DVec3> = sources.iter().map(|&j| self.position[j]).collect();
                let mass: Vec<f64> = sources.iter().map(|&j| self.mass[j]).collect();
                self.engine.set_sources(&Sources::new(&position, &mass))?;
            }
            for group in &sink_groups {
                let position: Vec<DVec3> = group.iter().map(|&i| sinks[i]).collect();
                let of_pairs = of_sources[sources[0]] + of_sinks[group[0]];
                let position = Sinks::new(&position, Identity::Foreign);
                self.engine.evaluate(
                    &position,
                    of_pairs.sqrt(),
                    &Outputs::POTENTIAL,
                    &mut partial,
                )?;
                for (k, &i) in group.iter().enumerate() {
                    self.forces.acceleration[i] += partial.acceleration[k];
                    self.forces.potential[i] += partial.potential[k];
                }
            }
        }
        Ok(())
    }

    /// Waits for the forces on `n` sinks. Sinks and their softenings are cleared, also on errors.
    ///
    /// # Errors
    /// Those of [`Board::begin`]; `n` differs from the number of sinks; forces that are not finite.
    pub fn finish(&mut self, n: usize, of_all: Option<f64>) -> Result<&Forces> {
        let begun = self.begin(of_all);
        let progress = std::mem::take(&mut self.progress);
        let expected = self.sinks.as_ref().map_or(0, Vec::len);
        (self.sinks, self.each) = (None, None);
        begun?;
        if matches!(progress, BoardProgress::Begun(_)) {
            self.engine.finish(&mut self.forces)?;
        }
        if n != expected {
            let allowed = format!("{expected}, as many as were given");
            return Err(Error::value("the number ni of sinks", n, allowed));
        }
        Ok(&self.forces)
    }
}

/// Rejects values that are not finite and negative masses or eps^2; messages name the source.
fn check_sources(first: usize, new: &NewSources) -> Result<()> {
    if let Some(position) = new.position
        && !all_finite(position.as_flattened())
        && let Some(j) = position.iter().position(|x| !x.iter().all(|x| x.is_finite()))
    {
        let what = format!("the position of source {}", first + j);
        return Err(Error::value(what, DVec3::from_array(position[j]), "finite"));
    }
    if let Some(mass) = new.mass
        && !(all_finite(mass) && mass.iter().fold(true, |all, mass| all & (*mass >= 0.0)))
        && let Some(j) = mass.iter().position(|mass| !(mass.is_finite() && *mass >= 0.0))
    {
        let what = format!("the mass of source {}", first + j);
        return Err(Error::value(what, mass[j], "finite and at least 0"));
    }
    check_softening(new.softening_squared.unwrap_or_default(), first, "source")
}

fn check_softening(squared: &[f64], first: usize, of: &str) -> Result<()> {
    match squared.iter().position(|eps2| !(eps2.is_finite() && *eps2 >= 0.0)) {
        Some(k) => {
            let what = format!("eps^2 of {of} {}", first + k);
            Err(Error::value(what, squared[k], "finite and at least 0"))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
