//! The `[view]` of a scene file, and files that hold keyframes only.

use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use super::hints::{CameraHint, Colouring, Keyframe, ViewHints};
use super::origin::{Allowed, Origin};
use crate::error::{Error, Result};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ViewText {
    extent: Option<Spanned<f64>>,
    inclination: Option<Spanned<f64>>,
    azimuth: Option<Spanned<f64>>,
    orbit_speed: Option<Spanned<f64>>,
    colouring: Option<Colouring>,
    glow: Option<Spanned<f64>>,
    camera: Option<CameraHint>,
    #[serde(default)]
    keyframe: Vec<KeyframeText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyframeText {
    time: Spanned<f64>,
    extent: Option<Spanned<f64>>,
    inclination: Option<Spanned<f64>>,
    azimuth: Option<Spanned<f64>>,
    target: Option<Spanned<[f64; 3]>>,
}

/// A file of keyframes in the form they have in the `[view]` of a scene.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PathText {
    #[serde(default)]
    keyframe: Vec<KeyframeText>,
}

/// Only the keyframes of a whole scene file are used.
#[derive(Deserialize)]
struct PathView {
    #[serde(default)]
    keyframe: Vec<KeyframeText>,
}

impl Origin<'_> {
    /// Reads the hints of a `[view]`.
    pub(super) fn view(&self, text: &ViewText) -> Result<ViewHints> {
        let defaults = ViewHints::default();
        let any = |key, value, default| self.number(key, value, default, Allowed::Any);
        let mut view = ViewHints {
            extent: self.number("extent", &text.extent, defaults.extent, Allowed::Positive)?,
            inclination: any("inclination", &text.inclination, defaults.inclination)?,
            azimuth: any("azimuth", &text.azimuth, defaults.azimuth)?,
            orbit_speed: any("orbit_speed", &text.orbit_speed, defaults.orbit_speed)?,
            colouring: text.colouring.unwrap_or_default(),
            glow: self.optional("glow", &text.glow, Allowed::Strength)?,
            camera: text.camera.unwrap_or_default(),
            keyframes: Vec::new(),
        };
        view.keyframes = self.keyframes(&text.keyframe, &view)?;
        Ok(view)
    }

    /// Reads keyframes: values missing in the first are those of `view`, values missing later are
    /// those of the one before.
    fn keyframes(&self, texts: &[KeyframeText], view: &ViewHints) -> Result<Vec<Keyframe>> {
        let mut last = Keyframe {
            time: f64::NEG_INFINITY,
            extent: view.extent,
            inclination: view.inclination,
            azimuth: view.azimuth,
            target: [0.0; 3],
        };
        let any = |key, value, default| self.number(key, value, default, Allowed::Any);
        let mut keyframes = Vec::with_capacity(texts.len());
        for text in texts {
            let time = *text.time.get_ref();
            if !(time.is_finite() && time > last.time) {
                let allowed = "a finite number above that of the keyframe before";
                let problem = Error::value("'time'", time, allowed);
                return Err(self.error(text.time.span(), problem));
            }
            let target = match &text.target {
                Some(_) => self.vector("target", &text.target)?.to_array(),
                None => last.target,
            };
            last = Keyframe {
                time,
                extent: self.number("extent", &text.extent, last.extent, Allowed::Positive)?,
                inclination: any("inclination", &text.inclination, last.inclination)?,
                azimuth: any("azimuth", &text.azimuth, last.azimuth)?,
                target,
            };
            keyframes.push(last);
        }
        Ok(keyframes)
    }
}

/// Reads keyframes from the text of a file with `[[keyframe]]`s, or of a scene file with
/// `[[view.keyframe]]`s. `path` is named in errors.
///
/// # Errors
///
/// Unknown keys; times that do not increase; numbers out of range; no keyframe.
pub fn keyframes(text: &str, path: &Path) -> Result<Vec<Keyframe>> {
    let origin = Origin { text, path };
    let fail = |error: toml::de::Error| {
        let problem = error.message().to_owned();
        origin.error(error.span().unwrap_or(0..0), problem)
    };
    let is_scene = toml::from_str::<toml::Table>(text).map_err(fail)?.contains_key("view");
    let texts = if is_scene {
        #[derive(Deserialize)]
        struct SceneView {
            view: PathView,
        }
        toml::from_str::<SceneView>(text).map_err(fail)?.view.keyframe
    } else {
        toml::from_str::<PathText>(text).map_err(fail)?.keyframe
    };
    if texts.is_empty() {
        return Err(Error::file(path, "there is no [[keyframe]] with a time"));
    }
    origin.keyframes(&texts, &ViewHints::default())
}

/// The text of a file with these keyframes, as [`keyframes`] reads it.
pub fn path_text(path: &[Keyframe]) -> String {
    let blocks: Vec<String> = path
        .iter()
        .map(|key| key.to_string().replace("[[view.keyframe]]", "[[keyframe]]"))
        .collect();
    blocks.join("\n")
}

/// The text of a scene file with its keyframes replaced by these; everything else is unchanged.
///
/// # Errors
///
/// An invalid scene; existing keyframes in another notation than `[[view.keyframe]]`.
pub fn with_keyframes(text: &str, path: &[Keyframe], file: &Path) -> Result<String> {
    let mut others = String::with_capacity(text.len());
    let mut is_keyframe = false;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with('[') {
            is_keyframe = line.trim_start().starts_with("[[view.keyframe]]");
        }
        if !is_keyframe {
            others.push_str(line);
        }
    }
    let mut made = others.trim_end().to_owned();
    made.push('\n');
    for key in path {
        made.push('\n');
        made.push_str(&key.to_string());
    }
    // Errors in the scene itself come first.
    super::Scene::from_toml(text, file)?;
    let has = super::Scene::from_toml(&made, file).map(|scene| scene.view.keyframes);
    if !has.is_ok_and(|keyframes| keyframes == path) {
        let problem = "its keyframes are not written as [[view.keyframe]]: they cannot be replaced";
        return Err(Error::file(file, problem));
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keyframes_round_trip_and_replace_existing_ones() {
        let key = |time: f64, azimuth: f64| Keyframe {
            time,
            extent: 4.5,
            inclination: 30.25,
            azimuth,
            target: [0.1, -2.0, 1e-3],
        };
        let path = [key(0.0, 350.0), key(2.5, 380.0)];
        let file = Path::new("path.toml");
        assert_eq!(keyframes(&path_text(&path), file).unwrap(), path);
        let text = super::super::Scene::builtin_text("figure-eight").unwrap();
        let once = with_keyframes(text, &path, file).unwrap();
        assert!(once.starts_with(text.trim_end()), "what was there stays");
        let again = with_keyframes(&once, &path[1..], file).unwrap();
        let scene = super::super::Scene::from_toml(&again, file).unwrap();
        assert_eq!(scene.view.keyframes, path[1..]);
        assert_eq!(with_keyframes(&again, &[], file).unwrap().trim_end(), text.trim_end());
        let odd = "title = \"x\"\ngenerator = \"plummer\"\n[view]\nkeyframe = [{ time = 1 }]\n";
        let error = with_keyframes(odd, &path, file).unwrap_err().to_string();
        assert!(error.contains("keyframe"), "{error}");
    }

    #[test]
    fn keyframes_inherit_values_and_errors_name_the_line() {
        let read = |text: &str| keyframes(text, Path::new("path.toml"));
        let found = read(
            "[[keyframe]]\ntime = 0\nextent = 4\nazimuth = 330\n[[keyframe]]\ntime = 5\ntarget = [1, 0, 2]\n",
        );
        let found = found.unwrap();
        assert_eq!(
            (found[1].extent, found[1].azimuth, found[1].target),
            (4.0, 330.0, [1.0, 0.0, 2.0])
        );
        let scene =
            read("title = \"x\"\n[view]\nextent = 2\n[[view.keyframe]]\ntime = 1\n").unwrap();
        assert_eq!((scene.len(), scene[0].time), (1, 1.0));
        for (wrong, words) in [
            ("", "keyframe"),
            ("[[keyframe]]\ntime = 1\n[[keyframe]]\ntime = 1\n", "line 4"),
            ("[[keyframe]]\ntime = 1\nextent = 0\n", "line 3"),
            ("[[keyframe]]\ntime = 1\nazimut = 0\n", "azimut"),
            ("[[keyframe]]\nextent = 1\n", "time"),
        ] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
