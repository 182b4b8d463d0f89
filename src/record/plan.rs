//! The settings of a run: the content of `run.toml`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::field::Field;
use crate::forces::direct::gpu::tiers::Fitted;
use crate::forces::direct::gpu::{KernelConfig, KernelRequest};
use crate::forces::tree::TreeConfig;
use crate::forces::{Method, Precision};
use crate::frame::Frame;
use crate::integrate;
use crate::integrate::blocks::BlockSettings;
use crate::settings::{
    AdapterIdentity, AdapterName, AdapterRequest, DeviceCount, FileCount, Throw, one_or_several,
};
use crate::sim::{EngineKind, Settings, Simulation};
use crate::units::Units;

/// Everything that determines the bits of a run in addition to its first snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The version of the program that began the run.
    pub gravitile: String,
    /// Where the bodies came from, as given by the user; informational.
    pub input: String,
    /// What was thrown in at the start; informational, since the first snapshot has its bodies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub throw: Vec<Throw>,
    /// Number of bodies, with those.
    pub n: usize,
    /// Plummer softening length.
    pub softening: f64,
    /// Time step; the longest one with `auto_dt`.
    pub dt: f64,
    /// The accuracy of a step that varies, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_dt: Option<f64>,
    /// Time of step 0.
    pub start: f64,
    /// Steps of the whole run.
    pub steps: u64,
    /// Steps from one snapshot to the next.
    pub steps_per_snapshot: u64,
    /// Files of each snapshot; no bit of the bodies depends on it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub files: FileCount,
    /// G, a factor on all masses that attract.
    pub gravitational_constant: f64,
    /// External potentials, as `--field` takes them.
    #[serde(default, skip_serializing_if = "Field::is_empty")]
    pub field: Field,
    /// Name of the integrator.
    pub integrator: String,
    /// Name of the engine, never `auto`.
    pub engine: String,
    /// Name of the method, never `auto`. Missing in runs of versions without that choice, which use
    /// the engine's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The precision of forces, if it was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<String>,
    /// Whether the adapter is restricted to WebGPU's baseline.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub baseline: bool,
    /// The graphics adapters, if the engine is the GPU: one, or a list; in older files just a name.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "one_or_several")]
    pub adapter: Vec<AdapterIdentity>,
    /// Number of devices that share the bodies: that of the adapters above, unless the file has
    /// been edited.
    #[serde(default, skip_serializing_if = "DeviceCount::is_one")]
    pub devices: DeviceCount,
    /// In files of earlier versions; no bit depends on it.
    #[serde(default, skip_serializing)]
    domains: Option<String>,
    /// Whether an engine on the host splits its sinks into ranges, as on the ranks of MPI.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spread: bool,
    /// Shape of the kernel, if the engine is the GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelConfig>,
    /// How the tree is walked, for the method `tree`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeConfig>,
    /// How individual steps are chosen, if the integrator has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlockSettings>,
    /// Tuned shapes of the kernels with derivatives at the start of the run. Missing in older runs,
    /// which use the rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shapes: Vec<Fitted>,
    /// The frame in which a device stores the bodies in f32. Missing in older runs, which keep
    /// using unscaled numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<Frame>,
    /// Names of the units of length, mass and time, as far as they are known; informational.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub units: BTreeMap<String, String>,
}

impl Plan {
    /// The plan of a new simulation, for `steps` steps.
    pub fn of(sim: &Simulation, input: String, steps: u64, steps_per_snapshot: u64) -> Self {
        let (requested, gpu) = (sim.settings(), sim.choice().gpu.as_ref());
        let devices = sim.choice().devices();
        let known: Vec<_> = devices.map(|gpu| AdapterName::Known(gpu.adapter.identity())).collect();
        let came_to = Settings {
            engine: sim.choice().kind,
            method: Some(sim.choice().method),
            devices: DeviceCount::of_names(known.len()),
            spread: requested.spread && !sim.is_on_devices(),
            adapter: AdapterRequest {
                names: known,
                baseline: gpu.is_some() && requested.adapter.baseline,
            },
            blocks: sim.blocks().map_or(requested.blocks, |steps| *steps.settings()),
            frame: requested.frame.filter(|_| sim.is_on_devices()),
            ..requested.clone()
        };
        let plan = Self::of_settings(came_to, sim.kernel_config());
        Self { input, n: sim.len(), steps, steps_per_snapshot, ..plan }
    }

    /// The plan of a simulation run with exactly these settings and, on a GPU, this kernel; without
    /// input, number of bodies and steps.
    ///
    /// All settings are destructured here, so that a new one that is not stored does not compile.
    fn of_settings(settings: Settings, kernel: Option<KernelConfig>) -> Self {
        let Settings {
            softening,
            dt,
            auto_dt,
            start,
            // Not stored: the snapshot from which the run resumes has it.
            steps_before: _,
            gravitational_constant,
            field,
            integrator,
            blocks,
            precision,
            engine,
            method,
            adapter: AdapterRequest { names, baseline },
            devices,
            spread,
            // Not stored: the resulting shape is.
            kernel: _,
            tree,
            known: _,
            shapes,
            frame,
        } = settings;
        let identity = |name| match name {
            AdapterName::Known(identity) => identity,
            AdapterName::Matching(name) => AdapterIdentity::of_name(name),
        };
        Self {
            gravitile: env!("CARGO_PKG_VERSION").to_owned(),
            input: String::new(),
            throw: Vec::new(),
            n: 0,
            softening,
            dt,
            auto_dt,
            start,
            steps: 0,
            steps_per_snapshot: 0,
            files: FileCount::ONE,
            gravitational_constant,
            field,
            integrator: integrator.name.to_owned(),
            engine: engine.name().to_owned(),
            method: method.map(|method| method.name().to_owned()),
            precision: precision.map(|precision| precision.name().to_owned()),
            baseline,
            adapter: names.into_iter().map(identity).collect(),
            devices,
            domains: None,
            spread,
            kernel,
            tree: (method == Some(Method::Tree) || tree != TreeConfig::default()).then_some(tree),
            blocks: integrator.has_block_steps().then_some(blocks),
            shapes: shapes.unwrap_or_default(),
            frame,
            units: BTreeMap::new(),
        }
    }

    /// The plan with the names of the units.
    #[must_use]
    pub fn in_units(self, units: &Units) -> Self {
        let named = units.names().into_iter().filter(|(_, name)| !name.is_empty());
        let units = named.map(|(what, name)| (what.to_owned(), name.to_owned())).collect();
        Self { units, ..self }
    }

    /// The settings that resume the plan from the snapshot of this step.
    ///
    /// # Errors
    ///
    /// A name of an engine, method, integrator or precision that does not exist.
    pub fn settings(&self, step: u64) -> Result<Settings> {
        let names = self.adapter.iter().cloned().map(AdapterName::Known).collect();
        let kernel = self.kernel.map(KernelRequest::from);
        let engine = EngineKind::from_name(&self.engine)?;
        let method = match &self.method {
            None => Some(engine.method()),
            Some(name) => Method::from_name(name)?,
        };
        Ok(Settings {
            softening: self.softening,
            dt: self.dt,
            auto_dt: self.auto_dt,
            start: self.start,
            steps_before: step,
            gravitational_constant: self.gravitational_constant,
            field: self.field.clone(),
            integrator: integrate::find(&self.integrator)?,
            blocks: self.blocks.unwrap_or_default(),
            precision: self.precision.as_deref().map(Precision::from_name).transpose()?,
            engine,
            method,
            adapter: AdapterRequest { names, baseline: self.baseline },
            devices: self.devices,
            spread: self.spread,
            kernel: kernel.unwrap_or_default(),
            tree: self.tree.unwrap_or_default(),
            // Not the shapes found by tuning since.
            shapes: Some(self.shapes.clone()),
            frame: Some(self.frame.unwrap_or(Frame::PLAIN)),
            ..Settings::default()
        })
    }

    /// Time at which the run ends.
    pub fn until(&self) -> f64 {
        self.start + self.steps as f64 * self.dt
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::forces::Order;
    use crate::forces::direct::gpu::tiers::TierShape;

    /// Settings that a plan stores completely.
    fn settings() -> Settings {
        let identity = AdapterIdentity {
            backend: Some("vulkan".to_owned()),
            vendor: Some(0x10de),
            device: Some(7),
            place: Some("0000:01:00.0".to_owned()),
            ..AdapterIdentity::of_name("A100")
        };
        Settings {
            field: "plummer:mass=3,scale=2".parse().unwrap(),
            integrator: integrate::find("hermite6").unwrap(),
            precision: Some(Precision::Single),
            engine: EngineKind::Gpu,
            method: Some(Method::Direct),
            adapter: AdapterRequest::known(identity),
            kernel: KernelConfig::tiled(64).into(),
            shapes: Some(vec![fitted()]),
            frame: Some(Frame::PLAIN),
            ..Settings::default()
        }
    }

    fn fitted() -> Fitted {
        Fitted {
            precision: Precision::Double,
            order: Order::Jerk,
            sinks: 16,
            sources: 1024,
            shape: TierShape { p: 16, q: 8, r: 1, u: 16, l: 1, slices: 7 },
        }
    }

    /// The settings after a round trip through a file.
    fn resumed(settings: &Settings) -> Settings {
        let kernel = settings.kernel.fill(KernelConfig::tiled(64));
        let plan = Plan::of_settings(settings.clone(), Some(kernel));
        let input = "plummer".to_owned();
        let throw = vec!["galaxy:t=-2,mass=0.2,size=0.5,n=300,vy=0.1".parse().unwrap()];
        let plan = Plan { input, throw, n: 10, steps: 100, steps_per_snapshot: 10, ..plan };
        let file = toml::to_string(&plan).unwrap();
        let read: Plan = toml::from_str(&file).unwrap_or_else(|e| panic!("{e}\n{file}"));
        assert_eq!(read, plan);
        read.settings(settings.steps_before).unwrap()
    }

    /// The paths of the plain values in `value`.
    fn leaves(value: &Value, path: &str, into: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                fields
                    .iter()
                    .for_each(|(name, value)| leaves(value, &format!("{path}/{name}"), into));
            }
            Value::Array(values) => {
                (0..)
                    .zip(values)
                    .for_each(|(i, value)| leaves(value, &format!("{path}/{i}"), into));
            }
            _ => into.push(path.to_owned()),
        }
    }

    /// Settings that differ in one value.
    fn changed(path: &str) -> Vec<Settings> {
        let samples = [
            Value::from(3),
            Value::from(0.375),
            Value::from(true),
            Value::from(false),
            Value::from("cpu"),
            Value::from("reference"),
            Value::from("hermite4"),
            Value::from("double-single"),
            Value::from("monopole"),
            Value::from("snap"),
            Value::from("2"),
            Value::from("on"),
            Value::from("tidal:xx=0.5"),
        ];
        let with = |sample: Value| {
            let mut all = serde_json::to_value(settings()).unwrap();
            *all.pointer_mut(path).unwrap() = sample;
            // A kernel either has tiles or not.
            let kernel = &mut all["kernel"];
            match path {
                "/kernel/untiled" => kernel["tiled"] = Value::from(kernel["untiled"] != true),
                "/kernel/uniform" => kernel["tiled"] = Value::from(kernel["uniform"] != true),
                "/kernel/broadcast" => kernel["tiled"] = Value::from(kernel["broadcast"] != true),
                "/kernel/tiled" => kernel["untiled"] = Value::from(kernel["tiled"] != true),
                _ => {}
            }
            serde_json::from_value::<Settings>(all).ok()
        };
        samples.into_iter().filter_map(with).filter(|other| *other != settings()).collect()
    }

    #[test]
    fn all_settings_round_trip_through_run_toml() {
        assert_eq!(resumed(&settings()), settings());
        let mut paths = Vec::new();
        leaves(&serde_json::to_value(settings()).unwrap(), "", &mut paths);
        assert!(paths.len() > 30, "{paths:?}");
        for path in paths {
            let tried = changed(&path);
            assert!(!tried.is_empty(), "no sample is anything to {path}");
            for other in tried {
                assert_eq!(resumed(&other), other, "{path}");
            }
        }
    }

    #[test]
    fn plan_without_method_resumes_with_engine_default() {
        for kind in [EngineKind::Gpu, EngineKind::Cpu, EngineKind::Reference] {
            let begun = Settings { engine: kind, method: None, ..settings() };
            assert_eq!(resumed(&begun), Settings { method: Some(kind.method()), ..begun.clone() });
        }
    }

    #[test]
    fn domains_of_earlier_versions_are_read() {
        let plan = Plan { input: "plummer".to_owned(), ..Plan::of_settings(settings(), None) };
        let file = toml::to_string(&plan).unwrap();
        let earlier: Plan = toml::from_str(&format!("domains = \"on\"\n{file}")).unwrap();
        assert_eq!(toml::to_string(&earlier).unwrap(), file);
        assert!(toml::from_str::<Plan>(&format!("domain = \"on\"\n{file}")).is_err());
    }

    #[test]
    fn single_adapter_is_written_as_table_and_name_lists_are_read() {
        let mut settings = settings();
        settings.adapter.names.push(AdapterName::Known(AdapterIdentity::of_name("B")));
        assert_eq!(resumed(&settings), settings);
        #[derive(Serialize, Deserialize)]
        struct File {
            #[serde(with = "one_or_several")]
            adapter: Vec<AdapterIdentity>,
        }
        let one = File { adapter: vec![AdapterIdentity::of_name("B")] };
        assert_eq!(toml::to_string(&one).unwrap(), "[adapter]\nname = \"B\"\n");
        let read = |text: &str| toml::from_str::<File>(text).map(|file| file.adapter);
        assert_eq!(read("adapter = \"B\"").unwrap(), one.adapter);
        assert_eq!(read("adapter = [\"A\", { name = \"B\" }]").unwrap().len(), 2);
        assert!(read("adapter = 5").is_err());
    }
}
