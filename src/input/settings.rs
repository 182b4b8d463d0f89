//! From requests to the settings of a simulation: anything not requested is taken from the input,
//! or chosen to suit it.

use super::Input;
use crate::error::{Error, Result};
use crate::forces::tree::TreeConfig;
use crate::forces::{Method, Precision};
use crate::integrate::blocks::{BlockSettings, power_of_two_below};
use crate::integrate::{self, Integrator};
use crate::settings::{
    BlockRequest, DeviceCount, EngineRequest, MethodRequest, StepLength, StepRequest, TreeRequest,
};
use crate::sim::{EngineKind, Settings};

impl MethodRequest {
    /// Engine and method by name. `cpu` with the method `reference` is the engine `reference`,
    /// which has no other method.
    ///
    /// # Errors
    ///
    /// An unknown engine or method; a method that the engine lacks.
    pub fn chosen(&self) -> Result<(EngineKind, Option<Method>)> {
        let engine = EngineKind::from_name(&self.engine)?;
        let requested = Method::from_name(&self.method)?;
        let (kind, method) = engine.by(requested)?;
        // The engine implies this method; leaving it unset allows another engine to be chosen
        // later.
        Ok((kind, requested.filter(|_| method != Method::Reference)))
    }
}

impl EngineRequest {
    /// Engine, adapters and kernel for a simulation; everything else has its default.
    ///
    /// # Errors
    ///
    /// Those of [`MethodRequest::chosen`] and [`TreeConfig::of`]; options of the tree with another
    /// method, or the shape of an all-pairs kernel with the tree.
    pub fn settings(&self) -> Result<Settings> {
        let (engine, method) = self.by.chosen()?;
        let (adapter, kernel) = (self.adapter.clone(), self.kernel);
        let tree = TreeConfig::of(&self.tree)?;
        if method != Some(Method::Tree) && self.tree != TreeRequest::default() {
            let allowed = "tree if an opening rule or another option of the tree is given";
            return Err(Error::value("the method", Method::name_of(method), allowed));
        }
        if method == Some(Method::Tree)
            && let Some((option, value)) = kernel.first_fixed()
        {
            let allowed = "left out with the method tree: it shapes the all-pairs kernel";
            return Err(Error::value(option, value, allowed));
        }
        // Only the GPU engine shares bodies among several adapters.
        let engine = match engine {
            EngineKind::Auto if adapter.names.len() > 1 => EngineKind::Gpu,
            engine => engine,
        };
        let named = DeviceCount::of_names(adapter.names.len());
        let devices = self.devices.unwrap_or(named);
        let domains = self.domains.unwrap_or_default();
        Ok(Settings {
            engine,
            method,
            adapter,
            devices,
            domains,
            kernel,
            tree,
            ..Settings::default()
        })
    }
}

impl StepRequest {
    /// The settings for an input, checked before any long computation. The input then suits them.
    ///
    /// # Errors
    ///
    /// An unknown name, a number out of range.
    pub fn settings(&self, input: &mut Input, engine: &EngineRequest) -> Result<Settings> {
        let base = engine.settings()?;
        input.suit(self.eps, base.method);
        self.over(input, base)
    }

    /// The settings for an input, with engine, adapters and kernel from `base`. Call
    /// [`Input::suit`] first if the request or `base` differs from the default.
    ///
    /// # Errors
    ///
    /// Those of [`StepRequest::settings`].
    pub fn over(&self, input: &Input, base: Settings) -> Result<Settings> {
        let hints = &input.integrator;
        let name = self.integrator.as_ref().or(hints.integrator.as_ref());
        let integrator = name.map_or(Ok(integrate::DEFAULT), |name| integrate::find(name))?;
        self.blocks.fits(integrator)?;
        let mut blocks = self.blocks.clone();
        // A scene's settings are for the integrator that it names and do not apply to another one;
        // those of a snapshot follow from its bodies.
        let is_own = hints.integrator.as_deref() == Some(integrator.name);
        let suits_all = input.view.is_none() && integrator.has_block_steps();
        if self.integrator.is_none() || is_own || suits_all {
            let hinted = hints.blocks.clone();
            let checked = hinted.fits(integrator).and_then(|()| hinted.tier());
            checked.map_err(|error| Error::Outside(format!("in the scene's [run], {error}")))?;
            blocks = blocks.or(hinted);
        }
        let fixed = self.dt.and_then(StepLength::fixed);
        let settings = Settings {
            softening: self.eps.unwrap_or(input.run.softening),
            dt: fixed.unwrap_or(input.run.dt),
            auto_dt: self.dt.and_then(StepLength::accuracy),
            start: input.snapshot.time,
            steps_before: 0,
            gravitational_constant: input.snapshot.units.gravitational_constant,
            field: input.field.clone(),
            integrator,
            blocks: blocks.settings(fixed.unwrap_or(4.0 * input.run.dt)),
            precision: blocks.tier()?,
            ..base
        };
        settings.validate()?;
        Ok(settings)
    }

    /// Checks everything that can be checked before the bodies are generated.
    ///
    /// # Errors
    ///
    /// Those of [`StepRequest::settings`].
    pub fn check(&self) -> Result<()> {
        let mut checked = Settings::default();
        if let Some(name) = &self.integrator {
            checked.integrator = integrate::find(name)?;
            self.blocks.fits(checked.integrator)?;
        }
        self.blocks.tier()?;
        let blocks = self.blocks.settings(1.0);
        blocks.validate()?;
        checked.softening = self.eps.unwrap_or(1.0);
        checked.dt = self.dt.and_then(StepLength::fixed).unwrap_or(1.0);
        checked.auto_dt = self.dt.and_then(StepLength::accuracy);
        checked.validate()
    }
}

impl From<&Settings> for StepRequest {
    /// The request that leads to these settings.
    fn from(settings: &Settings) -> Self {
        let mut blocks = BlockRequest {
            precision: settings.precision.map(|precision| precision.name().to_owned()),
            ..BlockRequest::default()
        };
        let integrator = settings.integrator;
        if integrator.has_block_steps() {
            let accuracy = settings.blocks;
            blocks.eta = Some(accuracy.eta);
            blocks.eta6 = (integrator.order > 4).then_some(accuracy.eta6);
            blocks.dt_max = Some(accuracy.dt_max);
            blocks.host_blocks = accuracy.on_host;
        }
        Self {
            eps: Some(settings.softening),
            dt: Some(settings.auto_dt.map_or(StepLength::Fixed(settings.dt), StepLength::Auto)),
            integrator: Some(integrator.name.to_owned()),
            blocks,
        }
    }
}

impl BlockRequest {
    /// The longest step is the requested one, otherwise a power of two of at most `suitable`: the
    /// largest that divides `--dt`, or four of the leapfrog steps suggested for the input. Where
    /// shorter steps are needed, the accuracy parameter decides in any case.
    pub fn settings(&self, suitable: f64) -> BlockSettings {
        let defaults = BlockSettings::default();
        let at_most = Some(power_of_two_below(suitable)).filter(|dt| *dt > 0.0);
        BlockSettings {
            eta: self.eta.unwrap_or(defaults.eta),
            eta6: self.eta6.unwrap_or(defaults.eta6),
            dt_max: self.dt_max.or(at_most).unwrap_or(defaults.dt_max),
            on_host: self.host_blocks,
        }
    }

    /// Rejects options that have no meaning for `integrator`.
    ///
    /// # Errors
    ///
    /// The first such option.
    pub fn fits(&self, integrator: &Integrator) -> Result<()> {
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

    /// The requested precision.
    ///
    /// # Errors
    ///
    /// An unknown name.
    pub fn tier(&self) -> Result<Option<Precision>> {
        self.precision.as_deref().map(Precision::from_name).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::AdapterRequest;

    #[test]
    fn several_adapters_mean_the_gpu_engine() {
        let engine_on = |names: &str, engine: &str| {
            let by = MethodRequest { engine: engine.to_owned(), ..MethodRequest::default() };
            let adapter = AdapterRequest::named(names);
            EngineRequest { by, adapter, ..EngineRequest::default() }.settings().unwrap().engine
        };
        assert_eq!(engine_on("0,0", "auto"), EngineKind::Gpu);
        assert_eq!(engine_on("0", "auto"), EngineKind::Auto);
        assert_eq!(engine_on("0,0", "cpu"), EngineKind::Cpu);
    }
}
