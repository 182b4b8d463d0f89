//! Checks a plan against the snapshots of its run: `run.toml` may have been edited.

use std::path::Path;

use super::Plan;
use super::resuming::{AUTO_DT, restart_of};
use crate::error::{Error, Result};
use crate::integrate;
use crate::integrate::blocks::Restart;
use crate::snapshot::{LONGEST_DT, Snapshot};

/// Checks that the snapshot in the file `path`, named after `step`, of `n` bodies, of which it may
/// hold only some, is a state of the plan in the file `plan_path`. Otherwise the resumed run would
/// combine the settings of one run with the bodies of another.
///
/// Fails on the first number that differs.
pub(super) fn check(
    (plan, plan_path): (&Plan, &Path),
    (step, n): (u64, usize),
    (snapshot, path): (&Snapshot, &Path),
) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let differs = |what: &str, planned: String, found: String| {
        let problem = format!(
            "says {what} = {planned}, but {name} was made with {found}; undo the change, or begin another run from that snapshot with 'gravitile run'"
        );
        Err(Error::file(plan_path, problem))
    };
    let attribute = |name: &str| snapshot.attributes.get(name).map(String::as_str);
    let number = |name: &str| snapshot.number(name);
    if number("step").is_some_and(|found| found != step as f64) {
        let found = attribute("step").unwrap_or_default();
        return Err(Error::file(path, format!("holds step {found}, unlike its name")));
    }
    if n != plan.n {
        return differs("n", plan.n.to_string(), n.to_string());
    }
    let dt_max = plan.blocks.map(|blocks| blocks.dt_max);
    for (what, planned, found) in [
        ("softening", plan.softening, number("softening")),
        ("dt", plan.dt, number(if plan.auto_dt.is_some() { LONGEST_DT } else { "dt" })),
        ("auto_dt", plan.auto_dt.unwrap_or_default(), number(AUTO_DT).or(Some(0.0))),
        (
            "gravitational_constant",
            plan.gravitational_constant,
            Some(snapshot.units.gravitational_constant),
        ),
        ("dt_max", dt_max.unwrap_or_default(), dt_max.and(number("blocks.dt_max"))),
    ] {
        if let Some(found) = found.filter(|found| *found != planned) {
            return differs(what, format!("{planned:?}"), format!("{found:?}"));
        }
    }
    // Snapshots of earlier versions lack this attribute.
    if let Some(found) = attribute("integrator").filter(|found| *found != plan.integrator) {
        return differs("integrator", plan.integrator.clone(), found.to_owned());
    }
    let has_steps = restart_of(snapshot).as_ref().is_some_and(Restart::has_steps);
    match integrate::find(&plan.integrator)?.has_block_steps() {
        true if !has_steps => {
            let problem = format!(
                "holds no individual steps, which {} needs to resume; start a new run from it",
                plan.integrator
            );
            return Err(Error::file(path, problem));
        }
        false if has_steps => {
            return differs("integrator", plan.integrator.clone(), "individual steps".to_owned());
        }
        _ => {}
    }
    let time = plan.start + step as f64 * plan.dt;
    if !((snapshot.time - time).abs() <= 1e-6 * plan.dt) {
        let planned = format!("{:?}", plan.start);
        let found = format!(
            "{:?}: it holds t = {:?}",
            snapshot.time - step as f64 * plan.dt,
            snapshot.time
        );
        return differs("start", planned, found);
    }
    if step > plan.steps {
        let problem = format!("says steps = {}, but {name} is of a later step", plan.steps);
        return Err(Error::file(plan_path, problem));
    }
    Ok(())
}
