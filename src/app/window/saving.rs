//! Saving what the window shows: snapshots, pictures, films, the camera's path, the command line.

use std::path::Path;
use std::sync::Arc;

use egui::{ColorImage, TextureOptions};

use super::command_line::CurrentState;
use super::machine::{self, check_name};
use super::output::DrawnFor;
use super::pictures::{OnTop, Recording, absolute, free_name, picture};
use super::simulated::Purpose;
use super::state::WindowState;
use crate::panel::Bookmark;
use gravitile::error::{Error, Result};
use gravitile::files;
use gravitile::render::{Camera, DevicePoints, Image, Look, PictureSize};
use gravitile::scene::{Keyframe, Scene, path_text, with_keyframes};
use gravitile::settings::InputRequest;
use gravitile::sim::State;
use gravitile::snapshot::{self, WriteOptions};

impl WindowState {
    /// Bodies, camera and look of the window, for pictures and films.
    fn scene_to_draw(&self) -> Option<(DevicePoints<'_>, Camera, &Look)> {
        let session = self.simulated.session.as_ref()?;
        Some((session.live.points(), self.viewer.steering.camera(), self.viewer.look.as_ref()?))
    }

    /// Saves the current state once it has been read back.
    pub(super) fn request_snapshot(&mut self, path: &Path) -> Result<()> {
        // A wrong extension is reported before the bodies are read back.
        snapshot::by_extension(path)?;
        check_name(path)?;
        self.request_state(Purpose::Save(free_name(path)));
        Ok(())
    }

    pub(super) fn save_snapshot(&mut self, path: &Path, state: &Arc<State>) -> Result<()> {
        let Some(session) = &self.simulated.session else { return Ok(()) };
        let losses = snapshot::write(path, &session.snapshot(state), &WriteOptions::default())?;
        let mut text = format!("saved {}", absolute(path));
        for loss in losses.iter() {
            text += &format!("; {loss}");
        }
        self.output.notify(text);
        Ok(())
    }

    /// Draws a picture of this size, and saves it when it is complete.
    pub(super) fn save_picture(&mut self, path: &Path, [width, height]: [u32; 2]) -> Result<()> {
        let path = free_name(path);
        let size = PictureSize::new(width, height)?;
        let Some(session) = &self.simulated.session else { return Ok(()) };
        if session.second.is_some() {
            let problem = "saved pictures show one run: end the second one first (v)";
            return Err(Error::Outside(problem.to_owned()));
        }
        let Some((points, camera, look)) = self.scene_to_draw() else { return Ok(()) };
        let over = self.viewer.diagram.diagram();
        let on_top = self.viewer.on_top(session, 0.0);
        let gpu = &self.output.screen.gpu;
        let state = (points, session.live.status().time);
        let image = picture(gpu, state, (&camera, look), (over, on_top), size)?;
        self.output.drawn.push((image, DrawnFor::File(path)));
        self.save_drawn()
    }

    /// Draws a small picture for the bookmark of the state at `time`, which has just been reached.
    pub(super) fn draw_bookmark(&mut self, time: f64) -> Result<()> {
        let [width, height] = Bookmark::PICTURE;
        let size = PictureSize::new(width, height)?;
        let Some((points, camera, look)) = self.scene_to_draw() else { return Ok(()) };
        let over = (None, Box::new(|_: &mut Image, _| ()) as OnTop);
        let gpu = &self.output.screen.gpu;
        let image = picture(gpu, (points, time), (&camera, look), over, size)?;
        self.output.drawn.push((image, DrawnFor::Bookmark(time)));
        self.save_drawn()
    }

    /// Saves the pictures that have been completed.
    pub(super) fn save_drawn(&mut self) -> Result<()> {
        for (image, purpose) in std::mem::take(&mut self.output.drawn) {
            match (image.take(), purpose) {
                (Some(image), DrawnFor::File(path)) => {
                    let image = image?;
                    files::replace_with(&path, |out| Ok(image.write_png(out)?))?;
                    self.output.notify(format!("saved {}", absolute(&path)));
                }
                (Some(image), DrawnFor::Bookmark(time)) => {
                    let size = Bookmark::PICTURE.map(|side| side as usize);
                    let image = ColorImage::from_rgba_unmultiplied(size, image?.rgba());
                    let (name, options) = (format!("bookmark {time}"), TextureOptions::LINEAR);
                    let texture = self.input.context.load_texture(name, image, options);
                    self.simulated.past.set_picture(time, texture);
                    self.refresh.disturb();
                }
                (None, purpose) => self.output.drawn.push((image, purpose)),
            }
        }
        Ok(())
    }

    /// Starts a film of this size, or as large as the free part of the window.
    pub(super) fn record(&mut self, path: &Path, size: Option<[u32; 2]>) -> Result<()> {
        let Some(session) = &self.simulated.session else { return Ok(()) };
        if session.second.is_some() {
            let problem = "films show one run: end the second one first (v)";
            return Err(Error::Outside(problem.to_owned()));
        }
        let path = free_name(path);
        let size = match size {
            Some([width, height]) => PictureSize::new(width, height)?,
            None => self.free_size(),
        };
        let keeper = session.live.keeper();
        let speed = keeper.units_per_sec * keeper.factor;
        let gpu = &self.output.screen.gpu;
        self.output.recording = Some(Recording::begin(gpu, &path, size, speed)?);
        Ok(())
    }

    /// Ends the film.
    pub(super) fn stop_recording(&mut self) -> Result<()> {
        if let Some(recording) = self.output.recording.take() {
            let path = recording.end()?;
            self.output.notify(format!("saved {}", absolute(&path)));
        }
        Ok(())
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
        let (text, what) = match scene_text(&session.initial.input, keys, &path)? {
            Some(text) => (text, "the scene with the camera's path"),
            None => (path_text(keys), "the camera's path, for render --path"),
        };
        files::replace(&path, text.as_bytes())?;
        self.output.notify(format!("saved {what}: {}", absolute(&path)));
        Ok(())
    }

    /// Copies the command line that reproduces this view.
    pub(super) fn copy_command_line(&mut self) {
        if let Some(line) = self.with_shown(|shown| shown.command_line().line()) {
            self.copy(line);
        }
    }

    /// Copies the link that reproduces this view.
    pub(super) fn copy_link(&mut self) -> Result<()> {
        if let Some(fragment) = self.with_shown(|shown| shown.link()) {
            self.copy(machine::link(&fragment?));
        }
        Ok(())
    }

    fn copy(&mut self, text: String) {
        self.output.notify(format!("copied: {text}"));
        self.input.context.copy_text(text);
    }

    /// Calls `read` with everything that the window shows; `None` without bodies.
    fn with_shown<T>(&self, read: impl FnOnce(&CurrentState<'_>) -> T) -> Option<T> {
        let session = self.simulated.session.as_ref()?;
        let initial = &session.initial;
        Some(read(&CurrentState {
            input: &initial.input,
            components: &initial.bodies.components,
            hints: &initial.hints,
            names_integrator: initial.names_integrator,
            field: initial.template.attributes.get("field").map(String::as_str),
            settings: session.live.settings(),
            requested: &self.simulated.requested.settings,
            view: &self.viewer.choice,
            camera: &self.viewer.steering.camera(),
            default_follow: session.default_follow(),
            start: &self.start,
            throws: &initial.throws,
            compare: session.second.as_ref().map(|second| &second.differs),
            now: (session.live.status().time, session.live.keeper().paused),
        }))
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
    use gravitile::render::directing::keyframe;

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
