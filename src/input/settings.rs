//! From requests to the settings of a simulation: anything not requested is taken from the input,
//! or chosen to suit it.

use super::Input;
use crate::error::{Error, Result};
use crate::forces::Method;
use crate::forces::tree::TreeConfig;
use crate::integrate;
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
        Ok(Settings { engine, method, adapter, devices, kernel, tree, ..Settings::default() })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::AdapterRequest;
    use crate::scene::Scene;
    use crate::settings::InputRequest;

    /// A library user's settings for a scene are those of the command line.
    #[test]
    fn settings_of_a_scene_are_those_of_its_input() {
        for name in Scene::names() {
            let mut scene = Scene::builtin(name).unwrap();
            let n = scene.n().filter(|n| *n > 3).map(|_| 500);
            n.into_iter().for_each(|n| scene.set_n(n).unwrap());
            let request = InputRequest { input: name.to_owned(), n, ..InputRequest::default() };
            let mut input = request.load(None).unwrap();
            let engine = EngineRequest::default();
            let settings = StepRequest::default().settings(&mut input, &engine).unwrap();
            let of = Settings::of(&scene).unwrap();
            assert_eq!(of.integrator.name, settings.integrator.name, "{name}");
            assert_eq!((of.softening, of.dt), (settings.softening, settings.dt), "{name}");
            assert_eq!((of.blocks, of.precision), (settings.blocks, settings.precision), "{name}");
            assert_eq!(of.field, settings.field, "{name}");
        }
    }

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
