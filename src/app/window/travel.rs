//! Going to a kept state, and coming back from it.

use std::sync::Arc;

use super::frame::Frames;
use super::load::Loading;
use super::simulated::Waiting;
use crate::error::Result;
use crate::live::Command;
use crate::sim::Moment;

impl Frames {
    /// Goes to a kept state, by its index in the bar, once the current state has come: that is kept as well, to come back
    /// to. The run is paused there, so that a slip costs nothing.
    pub(super) fn ask_for_past(&mut self, at: usize) -> Result<()> {
        let Some(to) = self.simulated.past.moment(at).map(Arc::clone) else { return Ok(()) };
        let Some(session) = &mut self.simulated.session else { return Ok(()) };
        let paused = session.live.keeper().paused;
        session.live.apply(Command::Pause(true))?;
        self.simulated.ask_moment(Waiting::GoTo(to, paused))
    }

    /// Shows a state of this run, from which it goes on when resumed.
    pub(super) fn go_to_moment(&mut self, moment: &Arc<Moment>) -> Result<()> {
        let Some(session) = &mut self.simulated.session else { return Ok(()) };
        let settings = session.live.settings().clone();
        let mut change = Loading::change(&self.output.screen.gpu, session, moment, settings)?;
        let way = if moment.time < session.live.status().time { "back" } else { "on" };
        change.what = format!("going {way} to {}", session.time(moment.time, &self.viewer.choice));
        session.live.rest();
        self.simulated.loading = Some(change);
        self.viewer.paths.clear();
        self.viewer.watch(|i| moment.bodies.position[i], &moment.bodies);
        Ok(())
    }
}
