//! `film.mp4`: H.264 video encoded by an ffmpeg on the PATH, fed with raw pictures through a pipe.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::JoinHandle;

use super::partial::Partial;
use super::{FilmOptions, FilmWriter, OpenFilm};
use crate::error::{Error, Result};
use crate::render::image::Image;

struct Mp4 {
    child: Child,
    pipe: Option<ChildStdin>,
    messages: Option<JoinHandle<String>>,
}

pub(super) fn open(target: &Path, options: &FilmOptions) -> Result<OpenFilm> {
    open_with("ffmpeg", target, options)
}

/// [`open`] with `program` in place of ffmpeg.
fn open_with(program: &str, target: &Path, options: &FilmOptions) -> Result<OpenFilm> {
    // Fails early if the target cannot be written to; ffmpeg overwrites the empty file.
    let (partial, _) = Partial::create_file(target)?;
    let size = options.size;
    let mut command = Command::new(program);
    command
        .args(["-hide_banner", "-loglevel", "error", "-y"])
        .args(["-f", "rawvideo", "-pix_fmt", "rgba"])
        .args(["-video_size", &format!("{}x{}", size.width(), size.height())])
        .args(["-framerate", &options.frames_per_sec.to_string(), "-i", "pipe:0"])
        // yuv420p, which every player knows, needs even sides; colours as BT.709 video.
        .args(["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2,scale=out_color_matrix=bt709:out_range=tv"])
        .args(["-c:v", "libx264", "-preset", "medium", "-crf", "18", "-pix_fmt", "yuv420p"])
        .args(["-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"])
        .args(["-movflags", "+faststart", "-f", "mp4"])
        .arg(&partial.path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    #[cfg(unix)]
    {
        // Its own process group, so that Ctrl-C reaches only this program, which decides whether to
        // finish the film.
        use std::os::unix::process::CommandExt;
        command.process_group(0);
    }
    let mut child = command.spawn().map_err(|e| {
        let reason = match e.kind() {
            std::io::ErrorKind::NotFound => "is not on the PATH".into(),
            _ => format!("cannot be started: {e}"),
        };
        Error::Outside(format!(
            "{}: video needs the program {program}, which {reason}; film.webp and a folder (frames/) \
             need no other program",
            target.display()
        ))
    })?;
    let pipe = child.stdin.take();
    let messages = child.stderr.take().map(|mut stderr| {
        // Drain stderr while ffmpeg runs: a full pipe would block it.
        std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.read_to_end(&mut text);
            String::from_utf8_lossy(&text).trim().to_owned()
        })
    });
    Ok(OpenFilm::new(partial, Mp4 { child, pipe, messages }))
}

impl Mp4 {
    /// Closes the input, waits for the program to exit, and reports its failure.
    fn wait(&mut self, target: &Path) -> Result<()> {
        drop(self.pipe.take());
        let status = self.child.wait();
        let words = self.messages.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        let target = target.display();
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => {
                let words = if words.is_empty() { "it gave no reason" } else { &words };
                Err(Error::Outside(format!("{target}: ffmpeg failed ({status}): {words}")))
            }
            Err(e) => Err(Error::Outside(format!("{target}: waiting for ffmpeg failed: {e}"))),
        }
    }
}

impl FilmWriter for Mp4 {
    fn write(&mut self, frame: &Image, partial: &Partial) -> Result<()> {
        let written = self.pipe.as_mut().map(|pipe| pipe.write_all(frame.rgba()));
        match written {
            Some(Ok(())) => Ok(()),
            // Broken pipe: ffmpeg has exited and left a message on stderr.
            Some(Err(e)) => {
                self.wait(&partial.target)?;
                Err(partial.failed("write", e))
            }
            None => Err(Error::Outside("ffmpeg has ended already".into())),
        }
    }

    fn finish(mut self: Box<Self>, partial: &mut Partial) -> Result<()> {
        self.wait(&partial.target)?;
        partial.complete()
    }
}

impl Drop for Mp4 {
    fn drop(&mut self) {
        if self.pipe.is_some() {
            // Not finished: discard the partial output.
            let _ = self.child.kill();
            let _ = self.wait(Path::new("film.mp4"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::image::PictureSize;

    fn options() -> FilmOptions {
        FilmOptions { size: PictureSize::new(32, 18).unwrap(), frames_per_sec: 25 }
    }

    fn files_in(folder: &Path) -> usize {
        std::fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn missing_ffmpeg_error_lists_alternatives() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("film.mp4");
        let error = open_with("no-such-ffmpeg", &target, &options()).err().unwrap().to_string();
        assert!(error.contains("not on the PATH") && error.contains("film.webp"), "{error}");
        assert_eq!(files_in(folder.path()), 0);
    }

    #[cfg(unix)]
    #[test]
    fn failing_ffmpeg_is_quoted_and_leaves_no_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let tools = tempfile::tempdir().unwrap();
        let program = tools.path().join("ffmpeg");
        std::fs::write(&program, "#!/bin/sh\necho 'no encoder today' >&2\nexit 3\n").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let target = folder.path().join("film.mp4");
        let mut writer = open_with(program.to_str().unwrap(), &target, &options()).unwrap();
        let frame = Image::new(options().size);
        let error = (0..1000)
            .find_map(|_| writer.write(&frame).err())
            .or_else(|| writer.finish().err())
            .unwrap()
            .to_string();
        assert!(error.contains("no encoder today"), "{error}");
    }
}
