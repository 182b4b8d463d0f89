//! The `[view]` of a scene file, and files that hold keyframes only.

use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use super::hints::{CameraHint, Colouring, Keyframe, Moment, ViewHints};
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
    #[serde(default)]
    moment: Vec<KeyframeText>,
}

/// A keyframe, or a moment, which has a title.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyframeText {
    title: Option<Spanned<String>>,
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
            moments: Vec::new(),
        };
        view.keyframes = self.keyframes(&text.keyframe, &view)?;
        view.moments = self.moments(&text.moment, &view)?;
        Ok(view)
    }

    /// Reads moments. Values missing in one are those of `view`.
    fn moments(&self, texts: &[KeyframeText], view: &ViewHints) -> Result<Vec<Moment>> {
        let mut moments: Vec<Moment> = Vec::with_capacity(texts.len());
        for text in texts {
            let problem = "a 'moment' must have a 'title'";
            let title = text.title.as_ref().map(|title| title.get_ref().trim().to_owned());
            let title = title.filter(|title| !title.is_empty());
            let title = title.ok_or_else(|| self.error(text.time.span(), problem))?;
            let after = moments.last().map_or(f64::NEG_INFINITY, |last| last.camera.time);
            moments.push(Moment { title, camera: self.keyframe(text, after, &start(view))? });
        }
        Ok(moments)
    }

    /// Reads keyframes. Values missing in the first are those of `view`, values missing later are
    /// those of the one before.
    fn keyframes(&self, texts: &[KeyframeText], view: &ViewHints) -> Result<Vec<Keyframe>> {
        let mut last = start(view);
        let mut keyframes = Vec::with_capacity(texts.len());
        for text in texts {
            if let Some(title) = &text.title {
                return Err(self.error(title.span(), "only a 'moment' has a 'title'"));
            }
            last = self.keyframe(text, last.time, &last)?;
            keyframes.push(last);
        }
        Ok(keyframes)
    }

    /// Reads one keyframe after the time `after`, with missing values from `base`.
    fn keyframe(&self, text: &KeyframeText, after: f64, base: &Keyframe) -> Result<Keyframe> {
        let time = *text.time.get_ref();
        if !(time.is_finite() && time > after) {
            let allowed = "a finite number above that of the one before";
            return Err(self.error(text.time.span(), Error::value("'time'", time, allowed)));
        }
        let target = match &text.target {
            Some(_) => self.vector("target", &text.target)?.to_array(),
            None => base.target,
        };
        let any = |key, value, default| self.number(key, value, default, Allowed::Any);
        Ok(Keyframe {
            time,
            extent: self.number("extent", &text.extent, base.extent, Allowed::Positive)?,
            inclination: any("inclination", &text.inclination, base.inclination)?,
            azimuth: any("azimuth", &text.azimuth, base.azimuth)?,
            target,
        })
    }
}

/// The camera of `view`, before all times.
fn start(view: &ViewHints) -> Keyframe {
    Keyframe {
        time: f64::NEG_INFINITY,
        extent: view.extent,
        inclination: view.inclination,
        azimuth: view.azimuth,
        target: [0.0; 3],
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
    let fail = |error: toml::de::Error| Error::toml(path, text, &error);
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
        // Moments are no keyframes, and stay.
        // After the scene's own.
        let moment = "\n[[view.moment]]\ntitle = \"now\"\ntime = 99.0\n";
        let with_moment = with_keyframes(&(text.to_owned() + moment), &path, file).unwrap();
        let scene = super::super::Scene::from_toml(&with_moment, file).unwrap();
        assert_eq!((scene.view.keyframes.len(), scene.view.moments.len()), (2, 2));
    }

    #[test]
    fn moments_have_titles_and_the_camera_of_the_view_unless_set() {
        let read = |moments: &str| {
            let view = "generator = \"plummer\"\n[view]\nextent = 5\nazimuth = 30\n";
            super::super::Scene::from_toml(&(view.to_owned() + moments), Path::new("mine.toml"))
        };
        let first = "[[view.moment]]\ntitle = \"near\"\ntime = 2\nextent = 3\n";
        let later = "[[view.moment]]\ntitle = \"far\"\ntime = 4\n";
        let moments = read(&(first.to_owned() + later)).unwrap().view.moments;
        assert_eq!((moments[0].title.as_str(), moments[1].title.as_str()), ("near", "far"));
        let cameras: Vec<[f64; 3]> =
            moments.iter().map(|m| [m.camera.time, m.camera.extent, m.camera.azimuth]).collect();
        assert_eq!(cameras, [[2.0, 3.0, 30.0], [4.0, 5.0, 30.0]]);
        for (wrong, words) in [
            (later.to_owned() + first, "line 10"),
            ("[[view.moment]]\ntime = 4\n".to_owned(), "'title'"),
            ("[[view.keyframe]]\ntitle = \"far\"\ntime = 4\n".to_owned(), "'moment'"),
        ] {
            let error = read(&wrong).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
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
