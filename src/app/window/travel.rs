//! Going to a stored state of the run, and back.

use std::sync::Arc;

use super::frame::Frames;
use super::load::Loading;
use super::simulated::Purpose;
use gravitile::error::Result;
use gravitile::live::Command;
use gravitile::sim::Moment;

impl Frames {
    /// Goes to a stored state, by its index in the time bar, once the current state has been read
    /// back and stored, to return to. The run is paused there, so that a slip of the pointer can be
    /// undone.
    pub(super) fn request_past_state(&mut self, at: usize) -> Result<()> {
        let Some(to) = self.simulated.past.moment(at).map(Arc::clone) else { return Ok(()) };
        let Some(session) = &mut self.simulated.session else { return Ok(()) };
        let paused = session.live.keeper().paused;
        session.live.apply(Command::Pause(true))?;
        self.simulated.request_moment(Purpose::GoTo(to, paused))
    }

    /// Shows a state of this run, from which it continues when resumed.
    pub(super) fn go_to_moment(&mut self, moment: &Arc<Moment>) -> Result<()> {
        let Some(session) = &mut self.simulated.session else { return Ok(()) };
        let settings = session.live.settings().clone();
        let mut change = Loading::change(&self.output.screen.gpu, session, moment, settings)?;
        let direction = if moment.time < session.live.status().time { "back" } else { "on" };
        change.what =
            format!("going {direction} to {}", session.time(moment.time, &self.viewer.choice));
        session.live.rest();
        self.simulated.loading = Some(change);
        self.viewer.paths.clear();
        self.viewer.watch(|i| moment.bodies.position[i], &moment.bodies);
        Ok(())
    }
}
