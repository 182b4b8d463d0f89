//! What a snapshot of a run holds besides bodies, so that the run can be resumed from it.

use std::collections::BTreeMap;

use crate::bodies::Bodies;
use crate::forces::{last, rebuilds};
use crate::frame;
use crate::integrate::blocks::{PREFIX, Restart};
use crate::sim::Settings;
use crate::snapshot::{LONGEST_DT, Snapshot};

/// Attribute of a snapshot: the closest passage before it, for its row in the log if that is
/// missing.
pub(super) const PASSAGE: &str = "blocks.passage";

/// Attribute of a snapshot that an interruption left between two regular ones.
pub(super) const INTERRUPTED: &str = "interrupted";

/// Attribute of a snapshot: the total energy at the start of its run.
pub(super) const ENERGY_INITIAL: &str = "energy_initial";

/// The total energy at the start of the run that a snapshot belongs to.
pub fn energy_initial(snapshot: &Snapshot) -> Option<f64> {
    snapshot.number(ENERGY_INITIAL)
}

/// Attribute of a snapshot: the accuracy of a step that varies.
pub(super) const AUTO_DT: &str = "auto_dt";

/// Sets the attributes of the step of a run with these settings. A step that varies leaves out
/// `dt`, which is the default of a new run from one of its snapshots.
pub fn set_step(attributes: &mut BTreeMap<String, String>, settings: &Settings) {
    ["dt", LONGEST_DT, AUTO_DT].iter().for_each(|name| drop(attributes.remove(*name)));
    let dt = settings.dt.to_string();
    match settings.auto_dt {
        None => attributes.insert("dt".to_owned(), dt),
        Some(accuracy) => {
            attributes.insert(AUTO_DT.to_owned(), accuracy.to_string());
            attributes.insert(LONGEST_DT.to_owned(), dt)
        }
    };
}

/// Prefixes of the columns of restart data.
const COLUMNS: [&str; 4] = [PREFIX, frame::PREFIX, last::PREFIX, rebuilds::PREFIX];

/// What [`super::run`] repeats in every snapshot of a run: `snapshot` without its bodies and restart data.
#[must_use]
pub fn template(snapshot: &Snapshot) -> Snapshot {
    let components = snapshot.bodies.components.clone();
    let is_repeated = |name: &str| !COLUMNS.iter().any(|prefix| name.starts_with(prefix));
    let repeated = snapshot.extra.iter().filter(|(name, _)| is_repeated(name));
    Snapshot {
        bodies: Bodies { components, ..Bodies::default() },
        time: snapshot.time,
        units: snapshot.units.clone(),
        attributes: snapshot.attributes.clone(),
        extra: repeated.map(|(name, column)| (name.clone(), column.clone())).collect(),
        notes: snapshot.notes.clone(),
    }
}

/// Adds restart data to `snapshot`, replacing that of an earlier state.
pub fn set_restart(snapshot: &mut Snapshot, restart: Restart) {
    let is_old = |name: &str| COLUMNS.iter().any(|prefix| name.starts_with(prefix));
    snapshot.extra.retain(|name, _| !is_old(name));
    let is_old =
        |name: &str| name.starts_with(PREFIX) || [INTERRUPTED, ENERGY_INITIAL].contains(&name);
    snapshot.attributes.retain(|name, _| !is_old(name));
    let columns = restart.columns.into_iter();
    snapshot.extra.extend(columns.map(|(name, column)| (name, column.into())));
    snapshot.attributes.extend(restart.facts);
}

/// The data added by [`set_restart`]; `None` if there is none.
pub fn restart_of(snapshot: &Snapshot) -> Option<Restart> {
    Restart::find(&snapshot.reals(&COLUMNS), &snapshot.attributes)
}
