//! Options of integrators with individual steps, and what a run tells of its steps.

use clap::Args;
use serde_json::json;

use crate::direct::{Order, Precision};
use crate::error::Error;
use crate::integrate::Integrator;
use crate::integrate::blocks::{BlockSettings, BlockSteps, Passage, power_of_two_below};
use crate::record::Jump;
use crate::scene::IntegratorHints;

/// How individual steps are chosen, and how precisely forces are computed.
#[derive(Args, Clone, Debug, Default, PartialEq)]
#[command(next_help_heading = "Accuracy of hermite4 and hermite6")]
pub struct BlockOptions {
    /// Aarseth's accuracy parameter: steps go with its root [default: 0.01]
    #[arg(long, value_name = "ETA")]
    pub eta: Option<f64>,
    /// The accuracy parameter of the sixth-order criterion, with which hermite6 averages the other;
    /// steps go with it [default: 0.1]
    #[arg(long, value_name = "ETA")]
    pub eta6: Option<f64>,
    /// The longest step of a body, a power of two; bodies are synchronised at its multiples, or every
    /// --dt if that is given
    #[arg(long, value_name = "DT")]
    pub dt_max: Option<f64>,
    /// How precisely forces are computed: single, double-single or double; not every engine has each
    #[arg(long, value_name = "TIER")]
    pub precision: Option<String>,
    /// Predict and correct bodies on the host in f64, also where the GPU could keep them
    #[arg(long)]
    pub host_blocks: bool,
}

impl BlockOptions {
    /// The longest step is that asked for, else a power of two of at most `suitable`: what fits into
    /// `--dt`, or four of the leapfrog steps that suit the input. The accuracy parameter decides anyway
    /// where less is needed.
    pub fn settings(&self, suitable: f64) -> BlockSettings {
        let usual = BlockSettings::default();
        let at_most = Some(power_of_two_below(suitable)).filter(|dt| *dt > 0.0);
        BlockSettings {
            eta: self.eta.unwrap_or(usual.eta),
            eta6: self.eta6.unwrap_or(usual.eta6),
            dt_max: self.dt_max.or(at_most).unwrap_or(usual.dt_max),
            on_host: self.host_blocks,
        }
    }

    /// Refuses options that mean nothing to `integrator`.
    pub fn fits(&self, integrator: &Integrator) -> Result<(), Error> {
        let name = integrator.name;
        let all = [("--eta", self.eta), ("--eta6", self.eta6), ("--dt-max", self.dt_max)];
        if !integrator.has_block_steps()
            && let Some((option, value)) = all.iter().find_map(|(o, v)| Some((*o, (*v)?)))
        {
            let allowed = format!("left out: {name} has one step for all bodies, --dt");
            return Err(Error::value(option, value, allowed));
        }
        if let (Some(eta6), true) = (self.eta6, integrator.order == 4) {
            let allowed = format!("left out: {name} has only --eta");
            return Err(Error::value("--eta6", eta6, allowed));
        }
        Ok(())
    }

    /// These, and where one is missing, that of `others`.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            eta: self.eta.or(others.eta),
            eta6: self.eta6.or(others.eta6),
            dt_max: self.dt_max.or(others.dt_max),
            precision: self.precision.or(others.precision),
            host_blocks: self.host_blocks || others.host_blocks,
        }
    }

    /// The tier by name.
    pub fn tier(&self) -> Result<Option<Precision>, Error> {
        self.precision.as_deref().map(Precision::from_name).transpose()
    }
}

impl From<&IntegratorHints> for BlockOptions {
    fn from(hints: &IntegratorHints) -> Self {
        let IntegratorHints { eta, eta6, dt_max, precision, .. } = hints.clone();
        Self { eta, eta6, dt_max, precision, host_blocks: false }
    }
}

/// What a run tells of its individual steps.
pub fn blocks_in_words(steps: &BlockSteps) -> String {
    let (stats, levels) = (steps.stats(), steps.steps_by_level());
    let least = steps.settings().dt_max / (levels.len().max(1) as f64 - 1.0).exp2();
    let mut text = format!(
        "{} block steps of {:.1} bodies on average; steps now from {least:.3e} to {:.3e} at most\n",
        stats.blocks,
        stats.mean_active(),
        steps.settings().dt_max
    );
    let (share, times) = stats.noise();
    if share > TOLD {
        let accuracy = steps.settings();
        let eta6 = match steps.order() {
            Order::Snap => format!(" (eta6 below {:.0e})", accuracy.eta6 * times),
            _ => String::new(),
        };
        text += &format!(
            "noise of the forces made {:.0} % of the steps longer than asked for, {times:.1} times on average: an eta below about {:.0e}{eta6} is not honoured here; '--precision double' or '--engine cpu' honours it\n",
            100.0 * share,
            accuracy.eta * times * times,
        );
    }
    text
}

/// What is said of a jump of the energy, in one line.
pub fn jump_in_words(jump: &Jump) -> String {
    let ((before, from), (after, to)) = (jump.before, jump.after);
    let text = format!(
        "from t = {before} to {after} the energy changed by {:.1e}, from {from} to {to}",
        jump.change
    );
    match jump.passage {
        Some(Passage { time, id, other, distance }) => format!(
            "{text}; the closest passage was that of bodies {id} and {other} (ids) at t = {time:.6}, {distance:.1e} apart"
        ),
        None => text,
    }
}

/// Fewer steps than this part that noise made longer are not worth a word.
const TOLD: f64 = 0.01;

/// The same for scripts; `steps_by_level` has the number of bodies with a step of dt-max / 2^k at k.
pub fn blocks_json(steps: &BlockSteps) -> serde_json::Value {
    let (stats, accuracy) = (steps.stats(), steps.settings());
    json!({
        "eta": accuracy.eta,
        "eta6": accuracy.eta6,
        "dt_max": accuracy.dt_max,
        "blocks": stats.blocks,
        "body_steps": stats.body_steps,
        "mean_active": stats.mean_active(),
        "lengthened_by_noise": stats.lengthened,
        "steps_by_level": steps.steps_by_level(),
    })
}
