//! Two runs side by side, in the left and right half of the picture, drawn from one camera.

use super::session::Session;
use super::state::WindowState;
use gravitile::error::{Error, Result};
use gravitile::forces::Budget;
use gravitile::live::{Command, Live};
use gravitile::settings::Comparison;
use gravitile::sim::EngineKind;

/// Width in pixels of the gap between the pictures.
const GAP_PX: f64 = 2.0;

impl Session {
    /// Applies a command to the run; what changes the steps also to the second one, once both are
    /// at one time.
    pub fn apply(&mut self, command: Command) -> Result<()> {
        use Command::{Dt, Kernel, Recompile, Reverse, Softening};
        let is_of_both = matches!(command, Dt(_) | Kernel(_) | Recompile | Reverse | Softening(_));
        match &mut self.second {
            Some(second) if is_of_both && second.is_apart(&self.live) => {
                second.waiting.push(command);
                Ok(())
            }
            Some(second) if is_of_both => second.apply(&mut self.live, command),
            _ => self.live.apply(command),
        }
    }

    /// Sets how far the first run may go: to its own limit and that of a film, and not far ahead of
    /// the second.
    pub fn go_until(&mut self, film: Option<f64>) {
        let limit = film.into_iter().chain(self.limit()).reduce(f64::min);
        let limit = match &mut self.second {
            Some(second) => Some(second.hold(&mut self.live, limit)),
            None => limit,
        };
        self.live.go_until(limit);
    }

    /// The budget of each run, if both step on the device that draws.
    pub fn budget(&self, whole: Budget) -> Budget {
        let on_device = |live: &Live| live.choice().kind == EngineKind::Gpu;
        match &self.second {
            Some(second) if on_device(&self.live) && on_device(&second.live) => {
                Budget { submission_secs: 0.5 * whole.submission_secs, ..whole }
            }
            _ => whole,
        }
    }

    /// Whether either run moves.
    pub fn is_moving(&self) -> bool {
        self.live.is_moving() || self.second.as_ref().is_some_and(|s| s.live.is_moving())
    }

    /// Whether either run has results pending.
    pub fn is_waiting(&self) -> bool {
        self.live.is_waiting() || self.second.as_ref().is_some_and(|s| s.live.is_waiting())
    }

    /// Stops, while another session is made from its state.
    pub fn rest(&mut self) {
        self.live.rest();
        self.second.iter_mut().for_each(|second| second.live.rest());
    }

    /// Resumes after [`Session::rest`].
    pub fn go_on(&mut self) {
        self.live.go_on();
        self.second.iter_mut().for_each(|second| second.live.go_on());
    }
}

impl WindowState {
    /// Begins a second run from the state of the first, or ends it.
    ///
    /// # Errors
    ///
    /// A film is being recorded; those of [`Comparison::over`].
    pub(super) fn compare(&mut self, differs: Option<Comparison>) -> Result<()> {
        let Some(now) = self.simulated.settings() else { return Ok(()) };
        if let Some(differs) = &differs {
            if self.output.recording.is_some() {
                let problem = "films show one run: end the film before a second one begins";
                return Err(Error::Outside(problem.to_owned()));
            }
            differs.over(&now)?;
        }
        self.simulated.requested.compare = differs;
        self.request_change(now);
        Ok(())
    }

    /// Takes in what the second run has done, and carries out commands that wait for both.
    pub(super) fn poll_second(&mut self) {
        let Some(session) = &mut self.simulated.session else { return };
        let Some(second) = &mut session.second else { return };
        let mut outcome = second.poll(session.initial.bodies.len());
        if outcome.is_err() && !self.output.screen.gpu.is_lost() {
            session.second = None;
            session.live.follow(None);
            self.simulated.requested.compare = None;
        } else if !second.is_apart(&session.live) {
            for command in std::mem::take(&mut second.waiting) {
                let applied = second.apply(&mut session.live, command);
                outcome = outcome.and(applied);
            }
        }
        self.output.report(outcome);
    }

    /// The width in pixels of each of the two pictures, and where the second begins; `None` if
    /// there is one.
    pub(super) fn halves_px(&self) -> Option<[f64; 2]> {
        self.simulated.session.as_ref()?.second.as_ref()?;
        let width = f64::from(self.output.screen.picture_size().width());
        let half = (0.5 * (width - self.panel_px()[0] - GAP_PX)).floor().max(1.0);
        Some([half, half + GAP_PX])
    }
}
