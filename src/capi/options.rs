//! User options that need no change to the program: environment variables, or a file
//! `gravitile.toml` in the working directory. Variables take precedence over the file.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use super::guard::report;
use gravitile::error::{Error, Result};
use gravitile::forces::direct::SeveralTiers;
use gravitile::forces::direct::gpu::tiers::FittedShapes;
use gravitile::forces::tree::TreeConfig;
use gravitile::forces::{self, ForceEngine, Method, Order, Placement, Precision, Tools};
use gravitile::gpu::{AdapterRequest, DeviceClass, Gpu};
use gravitile::settings::TreeRequest;
use gravitile::sim::{EngineKind, direct_engine};
use gravitile::tuned::{KnownResults, TunedStore};

/// The name of the options file.
const FILE: &str = "gravitile.toml";

/// The keys of the file; the variables are named `GRAVITILE_` and the key in capitals.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FileOptions {
    engine: Option<String>,
    method: Option<String>,
    precision: Option<String>,
    adapter: Option<String>,
    devices: Option<i64>,
    pipelines: Option<i64>,
    g5_potential: Option<String>,
    alpha: Option<f64>,
    theta: Option<f64>,
}

/// The chosen options.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The engine; `auto` takes a hardware GPU if there is one, otherwise the CPU.
    pub engine: EngineKind,
    /// The method.
    pub method: Method,
    /// The precision tier. Default: double-single on a GPU; on the CPU double, or single for
    /// accelerations alone.
    pub precision: Option<Precision>,
    /// The tier requested by the program. The user's takes precedence; a higher one satisfies the
    /// request; a tree has only one.
    pub requested: Option<Precision>,
    /// The adapter.
    pub adapter: AdapterRequest,
    /// The number of devices; by default the number that the program requests.
    pub devices: Option<u32>,
    /// The return value of `g6_npipes`, if chosen by the user.
    pub pipelines: Option<i32>,
    /// Whether `g5_get_force` returns positive potentials as GRAPE-5 and Phantom-GRAPE do (the
    /// default), instead of negative ones as Sapporo2 does.
    pub g5_potential_is_positive: bool,
    /// Tree parameters if the method is a tree, which only the `g5_*` functions accept.
    pub tree: TreeConfig,
}

impl Options {
    /// Reads the user's options.
    ///
    /// # Errors
    /// A file that cannot be read; a value that is not allowed.
    pub fn of_user() -> Result<Self> {
        let path = Path::new(FILE);
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Error::io("read", path, error)),
        };
        Self::from(&text, |name| std::env::var(name).ok())
    }

    fn from(file: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let path = Path::new(FILE);
        let file_options: FileOptions =
            toml::from_str(file).map_err(|error| Error::file(path, error.message()))?;
        // An empty variable counts as unset.
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let chosen = |name: &str, in_file: Option<String>| match variable(name) {
            Some(value) => (Some(value.trim().to_owned()), name.to_owned()),
            None => (in_file, format!("{} in {FILE}", name["GRAVITILE_".len()..].to_lowercase())),
        };
        let wrong = |what: &str, error: Error| Error::Outside(format!("{what}: {error}"));

        let (engine, what) = chosen("GRAVITILE_ENGINE", file_options.engine);
        let engine = engine.map_or(Ok(EngineKind::Auto), |name| EngineKind::from_name(&name));
        let engine = engine.map_err(|error| wrong(&what, error))?;
        let (method, what) = chosen("GRAVITILE_METHOD", file_options.method);
        let method = method.map_or(Ok(None), |name| Method::from_name(&name));
        let both = method.and_then(|method| engine.by(method));
        let (engine, method) = both.map_err(|error| wrong(&what, error))?;
        let (precision, what) = chosen("GRAVITILE_PRECISION", file_options.precision);
        let precision = precision.map(|name| Precision::from_name(&name)).transpose();
        let precision = precision.map_err(|error| wrong(&what, error))?;
        let (adapter, _) = chosen("GRAVITILE_ADAPTER", file_options.adapter);
        let adapter = AdapterRequest::named(adapter.as_deref().unwrap_or_default());
        let whole = |name: &str, in_file: Option<i64>, most: u32| -> Result<Option<u32>> {
            let (text, what) = chosen(name, in_file.map(|number| number.to_string()));
            let number = |text: String| {
                let number = text.parse().ok().filter(|number| (1..=most).contains(number));
                let allowed = format!("a whole number from 1 to {most}");
                number.ok_or_else(|| Error::value(what, text, allowed))
            };
            text.map(number).transpose()
        };
        let devices = whole("GRAVITILE_DEVICES", file_options.devices, 64)?;
        let pipelines = whole("GRAVITILE_PIPELINES", file_options.pipelines, 1 << 20)?;
        let pipelines = pipelines.map(|number| number as i32);
        let (sign, what) = chosen("GRAVITILE_G5_POTENTIAL", file_options.g5_potential);
        let g5_potential_is_positive = match sign.as_deref() {
            None | Some("positive") => true,
            Some("negative") => false,
            Some(other) => return Err(Error::value(what, other, "negative or positive")),
        };
        let number = |name: &str, in_file: Option<f64>| -> Result<Option<f64>> {
            let (text, what) = chosen(name, in_file.map(|number| number.to_string()));
            let number = |text: String| {
                text.parse().map_err(|_| Error::value(what, text, "a number above 0, at most 1"))
            };
            text.map(number).transpose()
        };
        let alpha = number("GRAVITILE_ALPHA", file_options.alpha)?;
        let theta = number("GRAVITILE_THETA", file_options.theta)?;
        if (alpha.is_some() || theta.is_some()) && method != Method::Tree {
            let allowed = "tree, where the alpha or theta of one is given";
            return Err(Error::value("the method", method.name(), allowed));
        }
        let tree = TreeConfig::of(&TreeRequest { alpha, theta, ..TreeRequest::default() })?;
        Ok(Self {
            engine,
            method,
            precision,
            requested: None,
            adapter,
            devices,
            pipelines,
            g5_potential_is_positive,
            tree,
        })
    }

    /// Makes the engine of that kind. Engines other than trees compute forces of any order.
    fn make(
        &self,
        kind: EngineKind,
        order: Order,
        devices: &[Arc<Gpu>],
        precision: Option<Precision>,
    ) -> Result<Box<dyn ForceEngine>> {
        let gpu = devices.first();
        let shapes = gpu.map(|gpu| tuned_shapes(gpu));
        match self.method {
            Method::Direct if devices.len() > 1 => {
                let precision = precision.unwrap_or(Precision::DoubleSingle);
                let mut engine = SeveralTiers::new(devices, precision)?;
                shapes.iter().for_each(|shapes| engine.use_shapes(shapes));
                Ok(Box::new(engine))
            }
            Method::Tree => {
                let tools = Tools { gpu, tree: self.tree, ..Tools::default() };
                forces::make(kind.placement(), self.method, self.precision, order, &tools)
            }
            // For accelerations alone the CPU also has f32, its default then.
            method if kind.placement() == Placement::Cpu && order == Order::Acceleration => {
                forces::make(kind.placement(), method, precision, order, &Tools::default())
            }
            method => direct_engine(kind, method, gpu, shapes.as_ref(), precision),
        }
    }

    /// Makes the chosen engine for forces up to `order`; `open` opens the devices, the first one
    /// and others of its kind.
    ///
    /// # Errors
    /// No such adapter; a tier that the engine lacks or the device does not compute correctly; a
    /// tree for derivatives.
    pub fn engine(
        &self,
        order: Order,
        open: &mut dyn FnMut(&AdapterRequest) -> Result<Vec<Arc<Gpu>>>,
    ) -> Result<Box<dyn ForceEngine>> {
        let precision = self.precision.or(self.requested);
        match self.engine {
            EngineKind::Auto => self.automatic(order, open),
            EngineKind::Gpu => {
                let devices = open(&self.adapter)?;
                self.make(EngineKind::Gpu, order, &devices, precision)
            }
            EngineKind::Cpu if self.precision.is_none() => {
                self.make(EngineKind::Cpu, order, &[], Self::on_cpu(order, precision))
            }
            kind => self.make(kind, order, &[], self.precision),
        }
    }

    /// The CPU's lowest tier that is at least as precise as `precision`; `None` with derivatives,
    /// which it computes only in f64.
    fn on_cpu(order: Order, precision: Option<Precision>) -> Option<Precision> {
        match precision {
            Some(Precision::Single) if order == Order::Acceleration => precision,
            Some(_) if order == Order::Acceleration => Some(Precision::Double),
            _ => None,
        }
    }

    fn automatic(
        &self,
        order: Order,
        open: &mut dyn FnMut(&AdapterRequest) -> Result<Vec<Arc<Gpu>>>,
    ) -> Result<Box<dyn ForceEngine>> {
        let precision = self.precision.or(self.requested);
        let cpu = || self.make(EngineKind::Cpu, order, &[], Self::on_cpu(order, precision));
        // f64 is slow in the shaders of most GPUs: users have to select it explicitly.
        if precision == Some(Precision::Double) {
            return cpu();
        }
        let named = self.adapter.is_certain();
        let devices = match open(&self.adapter) {
            Ok(devices) => devices,
            // A named adapter must exist; otherwise a failure falls back to the CPU.
            Err(error) if named => return Err(error),
            Err(_) => return cpu(),
        };
        let is_software = |gpu: &Arc<Gpu>| gpu.adapter.class == DeviceClass::Software;
        if devices.first().is_none_or(is_software) && !named {
            return cpu();
        }
        match self.make(EngineKind::Gpu, order, &devices, precision) {
            Err(_) if !named && self.precision.is_none() => cpu(),
            engine => engine,
        }
    }
}

/// Kernel shapes for forces with derivatives on `gpu` that `gravitile tune --derivatives` measured,
/// from the program's cache file. A damaged file is reported and ignored.
fn tuned_shapes(gpu: &Gpu) -> FittedShapes {
    use etcetera::BaseStrategy;
    let system = || Some(etcetera::base_strategy::choose_native_strategy().ok()?.cache_dir());
    let Some(store) = TunedStore::of_user(std::env::var_os(TunedStore::FOLDER), system) else {
        return FittedShapes::default();
    };
    let loaded = store.load();
    if let Some(problem) = &loaded.damage {
        report("open", &format!("{problem}: ignored; 'gravitile tune' rewrites it"));
    }
    KnownResults::from(loaded).shapes(gpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_variable(_: &str) -> Option<String> {
        None
    }

    #[test]
    fn variables_take_precedence_over_file() {
        let plain = Options::from("", no_variable).unwrap();
        assert_eq!(
            (plain.engine, plain.precision, plain.pipelines),
            (EngineKind::Auto, None, None)
        );
        let file = "engine = 'cpu'\nprecision = 'double'\npipelines = 256\nadapter = 'Radeon'\n\
                    g5_potential = 'negative'\n";
        let variable = |name: &str| match name {
            "GRAVITILE_ENGINE" => Some("reference".to_owned()),
            "GRAVITILE_ADAPTER" => Some(" ".to_owned()),
            _ => None,
        };
        let options = Options::from(file, variable).unwrap();
        assert_eq!((options.engine, options.pipelines), (EngineKind::Reference, Some(256)));
        assert_eq!(options.precision, Some(Precision::Double));
        assert_eq!(options.adapter, AdapterRequest::named("Radeon"));
        assert!(plain.g5_potential_is_positive && !options.g5_potential_is_positive);
        assert_eq!((plain.method, options.method), (Method::Direct, Method::Reference));
        let cpu = Options::from("engine = 'cpu'\nmethod = 'reference'", no_variable).unwrap();
        assert_eq!((cpu.engine, cpu.method), (EngineKind::Reference, Method::Reference));
    }

    #[test]
    fn errors_name_the_option_and_allowed_values() {
        let of = |name: &'static str, value: &'static str| {
            let variable = move |requested: &str| (requested == name).then(|| value.to_owned());
            Options::from("", variable).unwrap_err().to_string()
        };
        let text = of("GRAVITILE_ENGINE", "cuda");
        assert!(
            text.contains("GRAVITILE_ENGINE") && text.contains("auto, gpu, cpu, reference"),
            "{text}"
        );
        let text = of("GRAVITILE_METHOD", "warp");
        assert!(text.contains("GRAVITILE_METHOD: there is no method named 'warp'"), "{text}");
        let both = Options::from("engine = 'gpu'\nmethod = 'reference'", no_variable);
        let text = both.unwrap_err().to_string();
        assert!(
            text.contains("method in gravitile.toml: ") && text.contains("auto, direct or tree"),
            "{text}"
        );
        let text = of("GRAVITILE_PRECISION", "half");
        assert!(text.contains("single, double-single, double"), "{text}");
        let text = of("GRAVITILE_PIPELINES", "0");
        assert!(text.contains("from 1"), "{text}");
        let text = of("GRAVITILE_G5_POTENTIAL", "up");
        assert!(text.contains("negative or positive"), "{text}");
        let text = Options::from("engnie = 'cpu'", no_variable).unwrap_err().to_string();
        assert!(text.contains("gravitile.toml") && text.contains("engine"), "{text}");
        let text = Options::from("engine = 'cuda'", no_variable).unwrap_err().to_string();
        assert!(text.contains("engine in gravitile.toml") && text.contains("reference"), "{text}");
    }

    #[test]
    fn engine_is_the_requested_one() {
        let mut none = |_: &AdapterRequest| Err(Error::Outside("no adapter here".to_owned()));
        let automatic = Options::from("", no_variable).unwrap();
        assert_eq!(automatic.engine(Order::Jerk, &mut none).unwrap().name(), "cpu");
        let reference = Options::from("method = 'reference'", no_variable).unwrap();
        assert_eq!(reference.engine(Order::Jerk, &mut none).unwrap().name(), "reference");
        let gpu = Options { engine: EngineKind::Gpu, ..automatic.clone() };
        assert!(
            gpu.engine(Order::Jerk, &mut none)
                .err()
                .unwrap()
                .to_string()
                .contains("no adapter here")
        );
        let named = Options { adapter: AdapterRequest::named("x"), ..automatic.clone() };
        assert!(named.engine(Order::Jerk, &mut none).is_err());
        let cpu =
            Options { engine: EngineKind::Cpu, precision: Some(Precision::Single), ..automatic };
        assert!(cpu.engine(Order::Jerk, &mut none).err().unwrap().to_string().contains("double"));
    }

    #[test]
    fn program_gets_at_least_requested_precision_unless_user_chose() {
        use Precision::{Double, DoubleSingle, Single};
        let mut none = |_: &AdapterRequest| Err(Error::Outside("no adapter here".to_owned()));
        let mut found = |file: &str, order: Order, requested: Precision| {
            let mut options = Options::from(file, no_variable).unwrap();
            options.requested = Some(requested);
            options.engine(order, &mut none).unwrap().precision()
        };
        for file in ["", "engine = 'cpu'"] {
            assert_eq!(found(file, Order::Acceleration, Single), Single);
            assert_eq!(found(file, Order::Acceleration, DoubleSingle), Double);
            assert_eq!(found(file, Order::Jerk, DoubleSingle), Double);
        }
        assert_eq!(found("precision = 'single'", Order::Acceleration, Double), Single);
        assert_eq!(found("method = 'tree'", Order::Acceleration, DoubleSingle), Single);
        assert_eq!(found("engine = 'reference'", Order::Acceleration, Single), Double);
    }

    #[test]
    fn tree_supports_accelerations_only() {
        let mut none = |_: &AdapterRequest| Err(Error::Outside("no adapter here".to_owned()));
        let tree = Options::from("method = 'tree'\nalpha = 0.001", no_variable).unwrap();
        let engine = tree.engine(Order::Acceleration, &mut none).unwrap();
        assert!(engine.describe().contains("tree, quadrupoles, acceleration 0.001"));
        let refused = tree.engine(Order::Jerk, &mut none).err().unwrap().to_string();
        assert!(refused.contains("is tree, but must be direct or reference"), "{refused}");
        let double = Options { precision: Some(Precision::Double), ..tree };
        let refused = double.engine(Order::Acceleration, &mut none).err().unwrap().to_string();
        assert!(refused.contains("is double, but must be single"), "{refused}");
        for (file, says) in [
            ("alpha = 0.001", "the method is direct, but must be tree"),
            ("method = 'tree'\ntheta = 2.0", "theta is 2"),
            ("method = 'tree'\ntheta = 0.5\nalpha = 0.1", "must be left out"),
        ] {
            let text = Options::from(file, no_variable).unwrap_err().to_string();
            assert!(text.contains(says), "{text}");
        }
        let wrong = |name: &str| (name == "GRAVITILE_ALPHA").then(|| "small".to_owned());
        let text = Options::from("method = 'tree'", wrong).unwrap_err().to_string();
        assert!(text.contains("GRAVITILE_ALPHA is small") && text.contains("a number"), "{text}");
    }
}
