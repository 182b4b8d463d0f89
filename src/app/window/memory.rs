//! Settings stored for the next start: the window's size, the panel, the view.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::folders;
use crate::panel::{Tab, ViewChoice};
use gravitile::files;
use gravitile::render::captions::Captions;
use gravitile::render::{Palette, Style};

/// The settings in `gravitile/window.toml` in the user's configuration folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// In logical pixels.
    pub window_size: [f64; 2],
    pub panel_open: bool,
    pub tab: Tab,
    /// Whether the welcome sheet has been shown.
    pub welcomed: bool,
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
    /// egui's zoom factor.
    pub text_size: f32,
    physical: bool,
    axes: bool,
    scale_bar: bool,
    legend: bool,
    /// The value of `--captions`.
    captions: String,
    spares: bool,
    /// Whether the user has switched the directed camera on; moving the camera by hand does not
    /// change it.
    pub directs: bool,
    /// The scene's own glow, if it replaces the stored one.
    #[serde(skip)]
    scene_glow: Option<f64>,
}

impl Default for Memory {
    fn default() -> Self {
        let mut memory = Self {
            window_size: [1280.0, 720.0],
            // A native window begins without the panel.
            panel_open: cfg!(target_arch = "wasm32"),
            tab: Tab::Scene,
            welcomed: false,
            palette: String::new(),
            show_halo: false,
            sprite_size: 1.0,
            bloom: 1.0,
            trail_secs: 0.0,
            local_exposure: 0.0,
            vignette: 0.0,
            sky: 0.0,
            gas: 0.0,
            dust: 0.0,
            text_size: 1.0,
            physical: true,
            axes: false,
            scale_bar: true,
            legend: true,
            captions: String::new(),
            spares: true,
            directs: false,
            scene_glow: None,
        };
        memory.take_view(&ViewChoice::default());
        memory
    }
}

fn path() -> Option<PathBuf> {
    Some(folders::configuration()?.join("window.toml"))
}

impl Memory {
    /// The stored settings, with defaults for anything missing or invalid.
    pub fn load() -> Self {
        let Some(path) = path() else { return Self::default() };
        let Ok(text) = files::read_text(&path) else { return Self::default() };
        match toml::from_str::<Self>(&text) {
            Ok(mut memory) => {
                // Neither too small to be visible nor larger than any screen.
                memory.window_size = memory.window_size.map(|side| side.clamp(320.0, 16_384.0));
                if !(0.4..=5.0).contains(&memory.text_size) {
                    memory.text_size = 1.0;
                }
                memory
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
        // What the colours mean is not stored: each scene has its own colouring.
        self.palette = view.style.palette.name.to_owned();
        self.show_halo = view.style.show_halo;
        self.sprite_size = view.style.sprite_size;
        if self.scene_glow != Some(view.style.bloom) {
            self.bloom = view.style.bloom;
        }
        self.trail_secs = view.style.trail_secs;
        self.local_exposure = view.style.local_exposure;
        self.vignette = view.style.vignette;
        self.sky = view.style.sky;
        (self.gas, self.dust) = (view.style.gas, view.style.dust);
        (self.axes, self.scale_bar, self.legend) = (view.axes, view.scale_bar, view.legend);
        self.physical = view.physical;
        self.captions = view.captions.names();
        self.spares = view.spares;
    }

    /// Uses a scene's own glow; stores the user's for later.
    pub fn set_scene_glow(&mut self, style: &mut Style, glow: f64) {
        self.restore_glow(style);
        self.bloom = style.bloom;
        (style.bloom, self.scene_glow) = (glow, Some(glow));
    }

    /// Restores the user's glow after a scene with its own, unless the user has changed it since.
    pub fn restore_glow(&mut self, style: &mut Style) {
        if self.scene_glow.take() == Some(style.bloom) {
            style.bloom = self.bloom;
        }
    }

    /// Applies the stored settings to `view`, as far as they are valid.
    pub fn apply_to(&self, view: &mut ViewChoice) {
        let before = view.style.clone();
        let style = &mut view.style;
        style.palette = Palette::from_name(&self.palette).unwrap_or(style.palette);
        style.show_halo = self.show_halo;
        style.sprite_size = self.sprite_size;
        style.bloom = self.bloom;
        style.trail_secs = self.trail_secs;
        style.local_exposure = self.local_exposure;
        style.vignette = self.vignette;
        style.sky = self.sky;
        (style.gas, style.dust) = (self.gas, self.dust);
        if style.validate().is_err() {
            *style = before;
        }
        (view.axes, view.scale_bar, view.legend) = (self.axes, self.scale_bar, self.legend);
        view.physical = self.physical;
        view.captions = Captions::from_names(&self.captions).unwrap_or_default();
        view.spares = self.spares;
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
        let mut memory = Memory::default();
        memory.take_view(&view);
        let text = toml::to_string(&memory).unwrap();
        let back: Memory = toml::from_str(&text).unwrap();
        let mut given = ViewChoice::default();
        back.apply_to(&mut given);
        assert_eq!(given, view);
        // A scene's colouring is not stored.
        view.style.colour_by = gravitile::render::ColourBy::Speed;
        memory.take_view(&view);
        memory.apply_to(&mut given);
        assert_eq!(given.style.colour_by, ViewChoice::default().style.colour_by);

        // Neither is a scene's own glow.
        let mut memory = Memory::default();
        memory.set_scene_glow(&mut view.style, 0.7);
        memory.set_scene_glow(&mut view.style, 0.6);
        memory.take_view(&view);
        assert_eq!((view.style.bloom, memory.bloom), (0.6, 1.0));
        memory.restore_glow(&mut view.style);
        assert_eq!(view.style.bloom, 1.0);
        memory.set_scene_glow(&mut view.style, 0.7);
        view.style.bloom = 0.2;
        memory.restore_glow(&mut view.style);
        memory.take_view(&view);
        assert_eq!((view.style.bloom, memory.bloom), (0.2, 0.2));

        let odd = "sprite_size = nan\ncolour_by = \"taste\"\ntrail_secs = inf\nnew_thing = 3\n";
        let odd: Memory = toml::from_str(odd).unwrap();
        let mut given = ViewChoice::default();
        odd.apply_to(&mut given);
        assert_eq!(given, ViewChoice::default());
    }
}
