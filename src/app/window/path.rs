//! The camera's path: setting its keyframes, and saving it to a file.

use std::path::Path;

use super::act::absolute;
use super::frame::Frames;
use super::pictures::free_name;
use gravitile::error::{Error, Result};
use gravitile::files;
use gravitile::render::directing::{keyframe, set_keyframe};
use gravitile::scene::{Keyframe, Scene, path_text, with_keyframes};
use gravitile::settings::InputRequest;

impl Frames {
    /// Adds the current camera as a keyframe at the current time.
    pub(super) fn set_place(&mut self) {
        let Some(session) = &self.simulated.session else { return };
        let time = session.live.status().time;
        let time_text = session.time(time, &self.viewer.choice);
        let (size, nearer) = self.led_picture();
        let choice = &mut self.viewer.choice;
        let key = keyframe(&self.viewer.steering.camera().zoomed(1.0 / nearer), time, size);
        // More digits have no visible effect.
        let short = |value: f64| format!("{value:.6e}").parse().unwrap_or(value);
        let [extent, inclination, azimuth] = [key.extent, key.inclination, key.azimuth].map(short);
        set_keyframe(&mut choice.path, Keyframe { extent, inclination, azimuth, ..key });
        let count = choice.path.len();
        self.output
            .show_message(format!("place {count} of the camera's path, at {time_text}"), false);
    }

    /// Saves the scene with the camera's path, or the path alone if there is no scene.
    pub(super) fn save_path(&mut self, path: &Path) -> Result<()> {
        let Some(session) = &self.simulated.session else { return Ok(()) };
        if path.extension().is_none_or(|extension| extension != "toml") {
            let allowed = "a name that ends in .toml";
            return Err(Error::value("the path's file", path.display(), allowed));
        }
        let path = free_name(path);
        let keys = &self.viewer.choice.path;
        let (text, what) = match scene_text(&session.input, keys, &path)? {
            Some(text) => (text, "the scene with the camera's path"),
            None => (path_text(keys), "the camera's path, for render --path"),
        };
        files::replace(&path, text.as_bytes())?;
        self.output.show_message(format!("saved {what}: {}", absolute(&path)), false);
        Ok(())
    }
}

/// The scene file of `input` with these keyframes, to be written to `to`; `None` if `input` is no
/// scene, or a scene file in another folder.
fn scene_text(input: &InputRequest, keys: &[Keyframe], to: &Path) -> Result<Option<String>> {
    let text = if Scene::names().any(|name| name == input.input) {
        Scene::builtin_text(&input.input)?.to_owned()
    } else {
        let from = Path::new(&input.input);
        let folder = |path: &Path| std::path::absolute(path).ok()?.parent().map(Path::to_owned);
        // Paths of parts are relative to the scene file.
        let stays = folder(from) == folder(to);
        let is_scene = from.extension().is_some_and(|extension| extension == "toml");
        if !is_scene || !stays {
            return Ok(None);
        }
        files::read_text(from)?
    };
    with_keyframes(&text, keys, to).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gravitile::render::{Camera, PictureSize};

    #[test]
    fn scene_is_saved_with_its_path_and_snapshot_as_path_alone() {
        let folder = tempfile::tempdir().unwrap();
        let size = PictureSize::new(1280, 720).unwrap();
        let keys = [keyframe(&Camera::default(), 1.5, size)];
        let made = |input: &str, to: &Path| scene_text(&InputRequest::named(input), &keys, to);
        let to = folder.path().join("path.toml");
        let text = made("plummer", &to).unwrap().unwrap();
        assert_eq!(Scene::from_toml(&text, &to).unwrap().view.keyframes, keys);
        // A scene file in the same folder works, one in another folder would not find its parts.
        std::fs::write(&to, text).unwrap();
        let own = to.display().to_string();
        assert!(made(&own, &folder.path().join("other.toml")).unwrap().is_some());
        assert!(made(&own, Path::new("/elsewhere/other.toml")).unwrap().is_none());
        assert!(made("bodies.gvt", &to).unwrap().is_none());
    }
}
