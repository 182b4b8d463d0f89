//! Preferences stored for the next start: the window's size, the panel, the view.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::app::folders;
use crate::app::panel::{Tab, ViewChoice};
use crate::files;
use crate::render::captions::Captions;
use crate::render::{Palette, Style};

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
    /// Whether the user has switched the directed camera on; moving the camera by hand does not
    /// change it.
    pub directs: bool,
    #[serde(flatten)]
    view: StoredView,
    /// The scene's own glow, if it replaces the stored one.
    #[serde(skip)]
    scene_glow: Option<f64>,
}

/// The stored choices about the picture. What the colours mean is not stored: each scene has its
/// own colouring.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct StoredView {
    palette: String,
    show_halo: bool,
    sprite_size: f64,
    bloom: f64,
    trail_secs: f64,
    local_exposure: f64,
    vignette: f64,
    sky: f64,
    gas: f64,
    dust: f64,
    physical: bool,
    axes: bool,
    scale_bar: bool,
    legend: bool,
    /// The value of `--captions`.
    captions: String,
    spares: bool,
}

impl Default for Preferences {
    fn default() -> Self {
        Self {
            window_size: [1280.0, 720.0],
            // A native window begins without the panel.
            panel_open: cfg!(target_arch = "wasm32"),
            tab: Tab::Scene,
            welcomed: false,
            text_size: 1.0,
            directs: false,
            view: StoredView::default(),
            scene_glow: None,
        }
    }
}

impl Default for StoredView {
    fn default() -> Self {
        Self::from(&ViewChoice::default())
    }
}

impl From<&ViewChoice> for StoredView {
    fn from(view: &ViewChoice) -> Self {
        let style = &view.style;
        Self {
            palette: style.palette.name.to_owned(),
            show_halo: style.show_halo,
            sprite_size: style.sprite_size,
            bloom: style.bloom,
            trail_secs: style.trail_secs,
            local_exposure: style.local_exposure,
            vignette: style.vignette,
            sky: style.sky,
            gas: style.gas,
            dust: style.dust,
            physical: view.physical,
            axes: view.axes,
            scale_bar: view.scale_bar,
            legend: view.legend,
            captions: view.captions.names(),
            spares: view.spares,
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
        let is_scene_glow = self.scene_glow == Some(view.style.bloom);
        let bloom = if is_scene_glow { self.view.bloom } else { view.style.bloom };
        self.view = StoredView { bloom, ..StoredView::from(view) };
    }

    /// Uses a scene's own glow; stores the user's for later.
    pub fn set_scene_glow(&mut self, style: &mut Style, glow: f64) {
        self.restore_glow(style);
        self.view.bloom = style.bloom;
        (style.bloom, self.scene_glow) = (glow, Some(glow));
    }

    /// Restores the user's glow after a scene with its own, unless the user has changed it since.
    pub fn restore_glow(&mut self, style: &mut Style) {
        if self.scene_glow.take() == Some(style.bloom) {
            style.bloom = self.view.bloom;
        }
    }

    /// Applies the stored settings to `view`, as far as they are valid.
    pub fn apply_to(&self, view: &mut ViewChoice) {
        let stored = &self.view;
        let style = Style {
            palette: Palette::from_name(&stored.palette).unwrap_or(view.style.palette),
            show_halo: stored.show_halo,
            sprite_size: stored.sprite_size,
            bloom: stored.bloom,
            trail_secs: stored.trail_secs,
            local_exposure: stored.local_exposure,
            vignette: stored.vignette,
            sky: stored.sky,
            gas: stored.gas,
            dust: stored.dust,
            ..view.style.clone()
        };
        if style.validate().is_ok() {
            view.style = style;
        }
        (view.axes, view.scale_bar, view.legend) = (stored.axes, stored.scale_bar, stored.legend);
        view.physical = stored.physical;
        view.captions = Captions::from_names(&stored.captions).unwrap_or_default();
        view.spares = stored.spares;
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
        view.style.colour_by = crate::render::ColourBy::Speed;
        preferences.take_view(&view);
        preferences.apply_to(&mut given);
        assert_eq!(given.style.colour_by, ViewChoice::default().style.colour_by);

        // Neither is a scene's own glow.
        let mut preferences = Preferences::default();
        preferences.set_scene_glow(&mut view.style, 0.7);
        preferences.set_scene_glow(&mut view.style, 0.6);
        preferences.take_view(&view);
        assert_eq!((view.style.bloom, preferences.view.bloom), (0.6, 1.0));
        preferences.restore_glow(&mut view.style);
        assert_eq!(view.style.bloom, 1.0);
        preferences.set_scene_glow(&mut view.style, 0.7);
        view.style.bloom = 0.2;
        preferences.restore_glow(&mut view.style);
        preferences.take_view(&view);
        assert_eq!((view.style.bloom, preferences.view.bloom), (0.2, 0.2));

        let odd = "sprite_size = nan\ncolour_by = \"taste\"\ntrail_secs = inf\nnew_thing = 3\n";
        let odd: Preferences = toml::from_str(odd).unwrap();
        let mut given = ViewChoice::default();
        odd.apply_to(&mut given);
        assert_eq!(given, ViewChoice::default());
    }
}
