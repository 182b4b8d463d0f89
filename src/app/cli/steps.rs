//! How time goes on: softening, step, integrator and its accuracy.

use clap::Args;

use super::blocks::BlockOptions;
use super::input::Input;
use super::options::EngineOptions;
use crate::error::Error;
use crate::integrate::find;
use crate::sim::Settings;

/// How time goes on.
#[derive(Clone, Debug, Default, Args)]
pub struct StepOptions {
    /// Plummer softening length
    #[arg(long, value_name = "E")]
    pub eps: Option<f64>,
    /// Time step
    #[arg(long, value_name = "DT")]
    pub dt: Option<f64>,
    /// How positions and velocities go on: leapfrog, hermite4, hermite6 [default: what the scene says, or
    /// leapfrog]
    #[arg(long, value_name = "NAME")]
    pub integrator: Option<String>,
    /// The individual steps.
    #[command(flatten)]
    pub blocks: BlockOptions,
}

impl StepOptions {
    /// The settings for an input, checked before any long work.
    pub fn settings(&self, input: &Input, engine: &EngineOptions) -> Result<Settings, Error> {
        let (adapter, kernel) = (engine.adapter.wish(), engine.kernel.wish());
        self.over(
            input,
            Settings { engine: engine.kind()?, adapter, kernel, ..Settings::default() },
        )
    }

    /// The same with engine, adapter and kernel of `base`. What is not given is what the input says, or
    /// what suits it.
    pub fn over(&self, input: &Input, base: Settings) -> Result<Settings, Error> {
        let hints = &input.integrator;
        let name = self.integrator.as_ref().or(hints.integrator.as_ref());
        let name = name.cloned().unwrap_or_else(|| Settings::default().integrator);
        let integrator = find(&name)?;
        self.blocks.fits(integrator)?;
        let mut blocks = self.blocks.clone();
        // What a scene says of its own integrator is of no use to another one.
        if self.integrator.is_none() || hints.integrator.as_ref() == Some(&name) {
            let hinted = BlockOptions::from(hints);
            let told = hinted.fits(integrator).and_then(|()| hinted.tier());
            told.map_err(|error| Error::Outside(format!("in the scene's [run], {error}")))?;
            blocks = blocks.or(hinted);
        }
        let settings = Settings {
            softening: self.eps.unwrap_or(input.run.softening),
            dt: self.dt.unwrap_or(input.run.dt),
            start: input.snapshot.time,
            steps_before: 0,
            gravitational_constant: input.snapshot.units.gravitational_constant,
            integrator: name,
            blocks: blocks.settings(self.dt.unwrap_or(4.0 * input.run.dt)),
            precision: blocks.tier()?,
            ..base
        };
        settings.validate()?;
        Ok(settings)
    }

    /// Refuses what can be refused before the bodies are made.
    pub fn check(&self) -> Result<(), Error> {
        let usual = Settings::default();
        if let Some(name) = &self.integrator {
            self.blocks.fits(find(name)?)?;
        }
        self.blocks.tier()?;
        let blocks = self.blocks.settings(1.0);
        blocks.validate()?;
        let (softening, dt) = (self.eps.unwrap_or(0.0), self.dt.unwrap_or(1.0));
        Settings { softening, dt, ..usual }.validate()
    }
}

impl From<&Settings> for StepOptions {
    /// The options that lead to these settings.
    fn from(settings: &Settings) -> Self {
        let mut blocks = BlockOptions {
            precision: settings.precision.map(|precision| precision.name().to_owned()),
            ..BlockOptions::default()
        };
        if let Ok(integrator) = find(&settings.integrator)
            && integrator.has_block_steps()
        {
            let accuracy = settings.blocks;
            blocks.eta = Some(accuracy.eta);
            blocks.eta6 = (integrator.order > 4).then_some(accuracy.eta6);
            blocks.dt_max = Some(accuracy.dt_max);
            blocks.host_blocks = accuracy.on_host;
        }
        Self {
            eps: Some(settings.softening),
            dt: Some(settings.dt),
            integrator: Some(settings.integrator.clone()),
            blocks,
        }
    }
}
