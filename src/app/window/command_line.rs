//! The command line and the link that reproduce the window's current state.

use std::path::PathBuf;

use crate::panel::ViewChoice;
use gravitile::bodies::Component;
use gravitile::error::{Error, Result};
use gravitile::forces::Method;
use gravitile::messages;
use gravitile::render::{Camera, ColourBy, Exposure, Follow};
use gravitile::scene::{RunHints, Scene};
use gravitile::settings::{
    CommandLine, Comparison, Coordinates, DeviceCount, EngineRequest, InputRequest, KernelRequest,
    LookRequest, MethodRequest, StepRequest, Throw, ThrowRequest, TreeRequest, ValueRange,
    ViewRequest, link,
};
use gravitile::sim::Settings;

/// Options given at the start that cannot be read from the current state.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    pub paused: bool,
    pub embed: bool,
    pub shaders: Option<PathBuf>,
    pub renderer: String,
}

impl From<&ViewRequest> for Start {
    fn from(request: &ViewRequest) -> Self {
        let renderer = request.look.renderer.clone();
        let ViewRequest { paused, embed, .. } = *request;
        Self { paused, embed, shaders: request.shaders.clone(), renderer }
    }
}

/// The window's current state.
pub struct CurrentState<'a> {
    pub input: &'a InputRequest,
    pub components: &'a [Component],
    /// Defaults that suit the bodies.
    pub hints: &'a RunHints,
    /// Whether the scene names an integrator of its own.
    pub names_integrator: bool,
    /// The external field of the bodies at the beginning, as text.
    pub field: Option<&'a str>,
    /// The current settings of the simulation.
    pub settings: &'a Settings,
    /// Engine and adapter as requested.
    pub requested: &'a Settings,
    pub view: &'a ViewChoice,
    pub camera: &'a Camera,
    /// What the camera follows by default.
    pub default_follow: Follow,
    pub start: &'a Start,
    /// What is thrown in during the run.
    pub throws: &'a [Throw],
    /// The second run next to it.
    pub compare: Option<&'a Comparison>,
    /// Time of the run, and whether it is paused.
    pub now: (f64, bool),
}

impl CurrentState<'_> {
    /// `gravitile view ...`: the same bodies and settings from the beginning, in this view.
    pub fn command_line(&self) -> CommandLine {
        CommandLine::of(["gravitile", "view"]).with(&self.request())
    }

    /// The fragment of a link that shows the same in a browser, from the current time on, paused if
    /// the window is.
    ///
    /// # Errors
    ///
    /// The bodies come from a file, which no link can contain.
    pub fn link(&self) -> Result<String> {
        let mut request = self.request();
        if !Scene::names().any(|name| name == request.input.input) {
            let name = messages::piece(&request.input.input);
            let problem = format!("a link holds a scene by its name, but not the file {name}");
            return Err(Error::Outside(problem));
        }
        // Paths and adapters are only valid on this computer.
        (request.shaders, request.engine.adapter) = (None, Default::default());
        request.engine.devices = None;
        let (time, paused) = self.now;
        request.t = Some(time).filter(|time| *time != 0.0);
        // A paused link first runs to this time.
        request.paused = paused;
        Ok(link::fragment(&request))
    }

    fn request(&self) -> ViewRequest {
        let Camera { target, distance, .. } = *self.camera;
        let target = target.to_array().map(|x| near(x, distance));
        let Start { paused, embed, shaders, renderer: _ } = self.start.clone();
        let mut input = self.input.clone();
        if self.has_other_field() {
            input.field.clone_from(&self.settings.field.0);
        }
        ViewRequest {
            input,
            steps: self.steps(),
            look: self.look(),
            target: Some(Coordinates(target)),
            is_default: false,
            paused,
            t: None,
            thrown: ThrowRequest { throw: self.throws.to_vec() },
            compare: self.compare.cloned(),
            embed,
            shaders,
            engine: self.engine(),
        }
    }

    /// Whether the external field was changed in the window.
    fn has_other_field(&self) -> bool {
        self.settings.field.to_string() != self.field.unwrap_or_default()
    }

    fn steps(&self) -> StepRequest {
        let mut steps = StepRequest::from(self.settings);
        // An explicit --dt would also change the longest individual step. Another field may have
        // another default step.
        let is_exact = self.has_other_field() && !self.settings.integrator.has_block_steps();
        steps.dt = steps.dt.filter(|dt| is_exact || dt.fixed() != Some(self.hints.dt));
        if self.settings.integrator == Settings::default().integrator && !self.names_integrator {
            steps.integrator = None;
        }
        steps
    }

    fn engine(&self) -> EngineRequest {
        let KernelRequest { checked, .. } = self.settings.kernel;
        // A tree that auto chose is named explicitly if its settings were changed.
        let is_tuned = self.settings.method == Some(Method::Tree)
            && self.settings.tree != Settings::default().tree;
        let method = self.requested.method.or(is_tuned.then_some(Method::Tree));
        EngineRequest {
            by: MethodRequest {
                engine: self.requested.engine.name().to_owned(),
                method: Method::name_of(method).to_owned(),
            },
            adapter: self.requested.adapter.spelled(),
            devices: Some(self.requested.devices).filter(|count| {
                *count != DeviceCount::of_names(self.requested.adapter.names.len())
            }),
            kernel: match method {
                // With --method tree the options of the all-pairs kernel are errors.
                Some(Method::Tree) => KernelRequest { checked, ..KernelRequest::default() },
                _ => self.settings.kernel,
            },
            tree: match method {
                Some(Method::Tree) => self.settings.tree.request(),
                _ => TreeRequest::default(),
            },
        }
    }

    fn look(&self) -> LookRequest {
        let (style, camera) = (&self.view.style, self.camera);
        let colour = ColourBy::ALL.iter().find(|(by, _)| *by == style.colour_by);
        let extent = camera.distance * (0.5 * camera.fov_rad).tan();
        LookRequest {
            colour: colour.map(|(_, name)| (*name).to_owned()),
            palette: style.palette.name.to_owned(),
            halo: style.show_halo,
            extent: Some(short(extent)),
            inclination: Some(short(90.0 - camera.elevation_rad.to_degrees())),
            azimuth: Some(short(camera.azimuth_rad.to_degrees())),
            orbit: Some(short(self.view.orbit_degrees_per_sec)),
            follow: (self.view.follow != self.default_follow)
                .then(|| self.view.follow.name(self.components)),
            stops: short(style.stops),
            fixed_exposure: style.exposure == Exposure::Auto { adapt_secs: f64::INFINITY },
            sprite_size: short(style.sprite_size),
            bloom: Some(short(style.bloom)),
            local_exposure: short(style.local_exposure),
            variety: short(style.variety),
            vignette: short(style.vignette),
            sky: short(style.sky),
            depth_cue: short(style.depth_cue),
            gas: short(style.gas),
            dust: short(style.dust),
            no_dither: !style.dither,
            no_paths: !style.paths,
            colour_range: style.value_range.map(|range| ValueRange(range.map(short))),
            trails: short(style.trail_secs),
            streaks: short(style.streak_time),
            transparent: style.transparent,
            deep: style.deep,
            renderer: self.start.renderer.clone(),
        }
    }
}

/// Rounded to four significant digits.
fn short(value: f64) -> f64 {
    // Turns -0 into 0.
    messages::rounded(value, 4) + 0.0
}

/// A coordinate, rounded to what is visible in a picture taken from `distance`.
fn near(x: f64, distance: f64) -> f64 {
    let digits = (4.0 - distance.log10().floor()).clamp(-300.0, 300.0) as i32;
    let rounded: f64 = if digits >= 0 {
        format!("{x:.*}", digits as usize).parse().unwrap_or(x)
    } else {
        (x / 10f64.powi(-digits)).round() * 10f64.powi(-digits)
    };
    rounded + 0.0
}

#[cfg(test)]
mod tests {
    use clap::{Args, FromArgMatches};

    use super::*;
    use gravitile::render::{CameraMotion, PictureSize};

    fn command() -> clap::Command {
        ViewRequest::augment_args(clap::Command::new("view"))
    }

    /// The window's state after a command line, without the bodies.
    #[derive(Debug, PartialEq)]
    struct State {
        input: InputRequest,
        components: Vec<Component>,
        hints: RunHints,
        names_integrator: bool,
        field: Option<String>,
        settings: Settings,
        view: ViewChoice,
        camera: Camera,
        start: Start,
        throws: Vec<Throw>,
        compare: Option<Comparison>,
    }

    impl State {
        fn of(words: &[String]) -> Self {
            let command = command().no_binary_name(true).allow_negative_numbers(true);
            let matches = command.try_get_matches_from(words);
            let matches = matches.unwrap_or_else(|e| panic!("{words:?}: {e}"));
            let request = ViewRequest::from_arg_matches(&matches).unwrap();
            let mut loaded = request.input.load(request.steps.eps).unwrap();
            let settings = request.steps.settings(&mut loaded, &request.engine).unwrap();
            let (bodies, hints) = (&loaded.snapshot.bodies, loaded.view.as_ref());
            let style = request.look.style().unwrap();
            let size = PictureSize::new(640, 360).unwrap();
            let lasts = loaded.run.until;
            let motion = request.look.motion(bodies, hints, &style, size, lasts).unwrap();
            let CameraMotion { start: mut camera, follow, .. } = motion;
            camera.target =
                request.target.map_or(camera.target, |Coordinates(target)| target.into());
            let start = Start::from(&request);
            let orbit_degrees_per_sec = request.look.orbit.unwrap_or(0.0);
            let view = ViewChoice { style, follow, orbit_degrees_per_sec, ..Default::default() };
            let names_integrator = loaded.integrator.integrator.is_some();
            let components = bodies.components.clone();
            let field = loaded.snapshot.attributes.get("field").cloned();
            let (input, hints) = (request.input, loaded.run);
            let (throws, compare) = (request.thrown.throw, request.compare);
            Self {
                input,
                components,
                hints,
                names_integrator,
                field,
                settings,
                view,
                camera,
                start,
                throws,
                compare,
            }
        }

        fn words(&self) -> Vec<String> {
            let shown = CurrentState {
                input: &self.input,
                components: &self.components,
                hints: &self.hints,
                names_integrator: self.names_integrator,
                field: self.field.as_deref(),
                settings: &self.settings,
                requested: &self.settings,
                view: &self.view,
                camera: &self.camera,
                default_follow: Follow::Nothing,
                start: &self.start,
                throws: &self.throws,
                compare: self.compare.as_ref(),
                now: (0.0, false),
            };
            let link = CurrentState { now: (1.25, true), ..shown }.link();
            if let Ok(link) = link {
                let has = |word| link.split(['#', '?', '&']).any(|part| part == word);
                assert!(has("t=1.25") && has("paused"), "{link}");
            }
            shown.command_line().0
        }

        /// Replaces the camera by that of `other`, if both agree to the digits of a command line.
        fn with_camera_of(mut self, other: &Self) -> Self {
            let numbers = |c: &Camera| {
                let [x, y, z] = c.target.to_array();
                [c.azimuth_rad, c.elevation_rad, c.distance, x, y, z]
            };
            let pairs = numbers(&self.camera).into_iter().zip(numbers(&other.camera));
            let close = pairs.map(|(a, b)| (a - b).abs() <= 2e-3 * (1.0 + b.abs()));
            if close.into_iter().all(|close| close) {
                self.camera = other.camera;
            }
            self
        }
    }

    /// A value other than the default for each option, with the options that it requires.
    fn sample(option: &str) -> Option<&'static [&'static str]> {
        Some(match option {
            "n" => &["-n", "150"],
            "seed" => &["--seed", "7"],
            "set" => &["--set", "mass_ratio=0.5", "--set", "toomre_q=2"],
            "gravity" => &["--gravity", "2.5"],
            "field" => &["--field", "plummer:mass=2,scale=3,x=1", "--field", "tidal:xx=0.5"],
            "eps" => &["--eps", "0.25"],
            "dt" => &["--dt", "0.03"],
            "integrator" => &["--integrator", "hermite6"],
            "eta" => &["--eta", "0.02", "--integrator", "hermite4"],
            "eta6" => &["--eta6", "0.2", "--integrator", "hermite6"],
            "dt_max" => &["--dt-max", "0.03125", "--integrator", "hermite4"],
            "precision" => &["--precision", "double"],
            "host_blocks" => &["--host-blocks", "--integrator", "hermite4"],
            "colour" => &["--colour", "age"],
            "palette" => &["--palette", "viridis"],
            "halo" => &["--halo"],
            "extent" => &["--extent", "3"],
            "inclination" => &["--inclination", "25"],
            "azimuth" => &["--azimuth", "-40"],
            "orbit" => &["--orbit", "-5"],
            "follow" => &["--follow", "centre"],
            "stops" => &["--stops", "-1"],
            "fixed_exposure" => &["--fixed-exposure"],
            "sprite_size" => &["--sprite-size", "2"],
            "bloom" => &["--bloom", "0.5"],
            "local_exposure" => &["--local-exposure", "0.25"],
            "variety" => &["--variety", "0.5"],
            "vignette" => &["--vignette", "0"],
            "sky" => &["--sky", "0"],
            "depth_cue" => &["--depth-cue", "0.5"],
            "gas" => &["--gas", "0.5"],
            "dust" => &["--dust", "0.25"],
            "no_dither" => &["--no-dither"],
            "no_paths" => &["--no-paths"],
            "colour_range" => &["--colour-range", "0.1,3"],
            "trails" => &["--trails", "2"],
            "streaks" => &["--streaks", "0.5"],
            "transparent" => &["--transparent"],
            "deep" => &["--deep"],
            "renderer" => &["--renderer", "cpu"],
            "target" => &["--target", "-1.5,0,2"],
            "throw" => &[
                "--throw",
                "galaxy:t=1.5,mass=0.2,size=0.5,n=300,seed=7,x=-3,vy=0.25,tilt=60,node=-30",
                "--throw",
                "body:t=2,mass=1",
            ],
            "compare" => &["--compare", "softening=0.5"],
            "paused" => &["--paused"],
            "embed" => &["--embed"],
            "shaders" => &["--shaders", "my shaders"],
            "engine" => &["--engine", "reference"],
            "method" => &["--method", "direct"],
            "opening" => &["--opening", "bonsai", "--method", "tree"],
            "alpha" => &["--alpha", "0.01", "--method", "tree"],
            "theta" => &["--theta", "0.5", "--method", "tree"],
            "moments" => &["--moments", "1", "--method", "tree"],
            "far" => &["--far", "off", "--method", "tree"],
            "rebuild" => &["--rebuild", "4", "--method", "tree"],
            "adapter" => &["--adapter", "RTX 4090, 1"],
            "baseline" => &["--baseline"],
            "devices" => &["--devices", "auto"],
            "p" => &["--p", "64"],
            "q" => &["--q", "2"],
            "r" => &["--r", "4"],
            "u" => &["--unroll", "8"],
            "s" => &["--slices", "3"],
            "untiled" => &["--untiled"],
            "uniform" => &["--uniform"],
            "broadcast" => &["--broadcast"],
            "vec2" => &["--vec2", "--r", "2"],
            "tiled" => &["--tiled"],
            "one_workgroup" => &["--one-workgroup"],
            "checked" => &["--checked"],
            _ => return None,
        })
    }

    /// Round trip of every option: arguments to state to command line to the same state.
    #[test]
    fn command_line_reproduces_every_option() {
        let plain = |count: &str| ["galaxy-collision", "-n", count].map(str::to_owned).to_vec();
        let default = State::of(&plain("100"));
        let mut tried = 0;
        let command = command();
        let options = command.get_arguments().map(|arg| arg.get_id().to_string());
        // Three of the options are not for scenes, and only links have a time.
        let others = ["input", "renumber", "snapshot", "isolated", "t"];
        for option in options.filter(|id| !others.contains(&id.as_str())) {
            let more = sample(&option);
            let more = more.unwrap_or_else(|| panic!("what does a copied line do with {option}?"));
            let mut words = plain("100");
            if option == "n" {
                words.truncate(1);
            }
            words.extend(more.iter().map(|word| (*word).to_owned()));
            let state = State::of(&words);
            assert_ne!(state, default, "the sample of {option} changes nothing");
            let line = state.words();
            assert_eq!(line[..2], ["gravitile", "view"]);
            let again = State::of(&line[2..]);
            assert_eq!(again.with_camera_of(&state), state, "{option}: {line:?}");
            tried += 1;
        }
        assert!(tried > 40, "{tried}");
    }

    #[test]
    fn changed_field_is_part_of_the_command_line() {
        let words = ["plummer", "-n", "50", "--field", "nfw:mass=3,scale=2"];
        let mut state = State::of(&words.map(str::to_owned));
        let before = state.words();
        assert!(before.contains(&"nfw:mass=3,scale=2".to_owned()), "{before:?}");
        assert!(!before.contains(&"--dt".to_owned()), "{before:?}");
        // A field with another default step.
        state.settings.field = "nfw:mass=3e4,scale=0.1,x=2".parse().unwrap();
        let again = State::of(&state.words()[2..]);
        // The leapfrog does not use the longest individual step.
        let blocks = again.settings.blocks;
        assert_eq!(again.settings, Settings { blocks, ..state.settings.clone() });
        assert_ne!(again.hints.dt, state.hints.dt);
    }

    #[test]
    fn integrator_is_explicit_if_the_scene_names_another() {
        let mut state = State::of(&["plummer", "-n", "50"].map(str::to_owned));
        assert!(!state.words().contains(&"--integrator".to_owned()));
        state.names_integrator = true;
        assert!(state.words().join(" ").contains("--integrator leapfrog"));
        assert_eq!([short(-0.0), short(12.345678)], [0.0, 12.35]);
        assert_eq!([near(3_000_001.234_567, 2.5), near(-0.0, 1e20)], [3_000_001.234_6, 0.0]);
        assert_eq!(near(3.000_123_4e19, 2e19), 3.0001e19);
        assert!(!short(-0.0).is_sign_negative());
    }
}
