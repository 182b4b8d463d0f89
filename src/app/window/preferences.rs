//! Preferences stored for the next start: the window's size, the panel, the view.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use toml::Value;

use crate::folders;
use crate::panel::{Tab, ViewChoice};
use gravitile::files;
use gravitile::render::captions::Captions;
use gravitile::render::{Palette, Style};

/// The settings in `gravitile/window.toml` in the user's configuration folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Preferences {
    /// In logical pixels.
    pub window_size: [f64; 2],
    pub panel_open: bool,
    pub tab: Tab,
    /// Whether the welcome sheet has been shown.
    pub welcomed: bool,
    /// egui's zoom factor.
    pub text_size: f32,
    /// Whether the panel is light, with high contrast.
    pub light: bool,
    /// Whether the user has switched the directed camera on; moving the camera by hand does not
    /// change it.
    pub directs: bool,
    /// The choices about the picture by name: [`NUMBERS`], [`SWITCHES`], palette, captions. What
    /// the colours mean is not stored: each scene has its own colouring.
    #[serde(flatten)]
    view: toml::Table,
    /// The scene's own glow and the user's, while it replaces that one.
    #[serde(skip)]
    scene_glow: Option<[f64; 2]>,
}

/// A field of the choices about the picture.
type ViewField<T> = fn(&mut ViewChoice) -> &mut T;

const NUMBERS: [(&str, ViewField<f64>); 8] = [
    ("sprite_size", |view| &mut view.style.sprite_size),
    ("bloom", |view| &mut view.style.bloom),
    ("trail_secs", |view| &mut view.style.trail_secs),
    ("local_exposure", |view| &mut view.style.local_exposure),
    ("vignette", |view| &mut view.style.vignette),
    ("sky", |view| &mut view.style.sky),
    ("gas", |view| &mut view.style.gas),
    ("dust", |view| &mut view.style.dust),
];

const SWITCHES: [(&str, ViewField<bool>); 6] = [
    ("show_halo", |view| &mut view.style.show_halo),
    ("physical", |view| &mut view.physical),
    ("axes", |view| &mut view.axes),
    ("scale_bar", |view| &mut view.scale_bar),
    ("legend", |view| &mut view.legend),
    ("spares", |view| &mut view.spares),
];
const PALETTE: &str = "palette";
/// The value of `--captions`.
const CAPTIONS: &str = "captions";

impl Default for Preferences {
    fn default() -> Self {
        Self {
            window_size: [1280.0, 720.0],
            // A native window begins without the panel.
            panel_open: cfg!(target_arch = "wasm32"),
            tab: Tab::Scene,
            welcomed: false,
            text_size: 1.0,
            light: false,
            directs: false,
            view: toml::Table::new(),
            scene_glow: None,
        }
    }
}

fn path() -> Option<PathBuf> {
    Some(folders::configuration()?.join("window.toml"))
}

impl Preferences {
    /// The stored settings, with defaults for anything missing or invalid.
    pub fn load() -> Self {
        let Some(path) = path() else { return Self::default() };
        let Ok(text) = files::read_text(&path) else { return Self::default() };
        match toml::from_str::<Self>(&text) {
            Ok(mut preferences) => {
                // Neither too small to be visible nor larger than any screen.
                preferences.window_size =
                    preferences.window_size.map(|side| side.clamp(320.0, 16_384.0));
                if !(0.4..=5.0).contains(&preferences.text_size) {
                    preferences.text_size = 1.0;
                }
                preferences
            }
            Err(error) => {
                log::warn!("{} is not understood and will be replaced: {error}", path.display());
                Self::default()
            }
        }
    }

    /// Saves the settings. A failure is only logged, since the window is about to close.
    pub fn save(&self) {
        let saved = path().ok_or("there is no folder for it".to_owned()).and_then(|path| {
            let text = toml::to_string(self).map_err(|error| error.to_string())?;
            if let Some(folder) = path.parent() {
                files::make_folder(folder).map_err(|error| error.to_string())?;
            }
            files::replace(&path, text.as_bytes()).map_err(|error| error.to_string())
        });
        if let Err(problem) = saved {
            log::warn!("the window's size and view are not remembered: {problem}");
        }
    }

    /// Copies the settings of this view.
    pub fn take_view(&mut self, view: &ViewChoice) {
        let mut view = view.clone();
        self.use_users_glow(&mut view.style);
        let mut store = |name: &str, value| drop(self.view.insert(name.to_owned(), value));
        store(PALETTE, view.style.palette.name.into());
        store(CAPTIONS, view.captions.names().into());
        for (name, field) in NUMBERS {
            store(name, (*field(&mut view)).into());
        }
        for (name, field) in SWITCHES {
            store(name, (*field(&mut view)).into());
        }
    }

    /// Uses a scene's own glow; stores the user's for later.
    pub fn set_scene_glow(&mut self, style: &mut Style, glow: f64) {
        self.restore_glow(style);
        self.scene_glow = Some([glow, style.bloom]);
        style.bloom = glow;
    }

    /// Restores the user's glow after a scene with its own, unless the user has changed it since.
    pub fn restore_glow(&mut self, style: &mut Style) {
        self.use_users_glow(style);
        self.scene_glow = None;
    }

    fn use_users_glow(&self, style: &mut Style) {
        if let Some([scene, user]) = self.scene_glow
            && scene == style.bloom
        {
            style.bloom = user;
        }
    }

    /// Applies the stored settings to `view`, as far as they are valid.
    pub fn apply_to(&self, view: &mut ViewChoice) {
        let before = view.style.clone();
        let number = |value: &Value| value.as_float().or(value.as_integer().map(|n| n as f64));
        for (name, field) in NUMBERS {
            let field = field(view);
            *field = self.view.get(name).and_then(number).unwrap_or(*field);
        }
        for (name, field) in SWITCHES {
            let field = field(view);
            *field = self.view.get(name).and_then(Value::as_bool).unwrap_or(*field);
        }
        let text = |name: &str| self.view.get(name).and_then(Value::as_str).unwrap_or_default();
        let palette = Palette::from_name(text(PALETTE));
        view.style.palette = palette.unwrap_or(view.style.palette);
        if view.style.validate().is_err() {
            view.style = before;
        }
        view.captions = Captions::from_names(text(CAPTIONS)).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_settings_are_restored_and_invalid_ones_ignored() {
        let mut view = ViewChoice::default();
        view.style.sprite_size = 2.0;
        view.style.dust = 0.25;
        view.style.sky = 0.0;
        (view.axes, view.legend, view.physical, view.spares) = (true, false, false, false);
        view.captions.time = true;
        let mut preferences = Preferences::default();
        preferences.take_view(&view);
        let text = toml::to_string(&preferences).unwrap();
        let back: Preferences = toml::from_str(&text).unwrap();
        let mut given = ViewChoice::default();
        back.apply_to(&mut given);
        assert_eq!(given, view);
        // A scene's colouring is not stored.
        view.style.colour_by = gravitile::render::ColourBy::Speed;
        preferences.take_view(&view);
        preferences.apply_to(&mut given);
        assert_eq!(given.style.colour_by, ViewChoice::default().style.colour_by);

        // Neither is a scene's own glow.
        let mut preferences = Preferences::default();
        preferences.set_scene_glow(&mut view.style, 0.7);
        preferences.set_scene_glow(&mut view.style, 0.6);
        preferences.take_view(&view);
        assert_eq!((view.style.bloom, &preferences.view["bloom"]), (0.6, &Value::from(1.0)));
        preferences.restore_glow(&mut view.style);
        assert_eq!(view.style.bloom, 1.0);
        preferences.set_scene_glow(&mut view.style, 0.7);
        view.style.bloom = 0.2;
        preferences.restore_glow(&mut view.style);
        preferences.take_view(&view);
        assert_eq!((view.style.bloom, &preferences.view["bloom"]), (0.2, &Value::from(0.2)));

        let odd = "sprite_size = nan\ncolour_by = \"taste\"\ntrail_secs = inf\nnew_thing = 3\n";
        let odd: Preferences = toml::from_str(odd).unwrap();
        let mut given = ViewChoice::default();
        odd.apply_to(&mut given);
        assert_eq!(given, ViewChoice::default());
    }
}
