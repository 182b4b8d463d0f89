//! Films: sequences of pictures, written in the format of the target's suffix.
//!
//! A film is written next to its target under a hidden temporary name and takes the target's name
//! when complete. A [`Film`] dropped before [`Film::finish`] leaves nothing behind, and an earlier
//! target stays as it was.
//!
//! Pictures are compressed on a thread of their own while the simulation continues.

mod apng;
mod mp4;
mod partial;
mod png_sequence;
mod still;
#[cfg(feature = "webp")]
mod webp;

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use partial::Partial;

use super::image::{Image, PictureSize};
use crate::error::{Error, Result};
pub use crate::settings::FilmOptions;

/// Writes the content of one film.
trait FilmWriter: Send {
    /// Adds a picture, of the size the film was opened with.
    fn write(&mut self, frame: &Image, partial: &Partial) -> Result<()>;

    /// Completes the film, which has at least one picture, and gives it its name.
    fn finish(self: Box<Self>, partial: &mut Partial) -> Result<()>;
}

/// A film being written; dropping it removes what was written.
struct OpenFilm {
    // Declared before `partial`: files must be closed before they are removed.
    writer: Box<dyn FilmWriter>,
    partial: Partial,
}

impl OpenFilm {
    fn new(partial: Partial, writer: impl FilmWriter + 'static) -> Self {
        Self { writer: Box::new(writer), partial }
    }

    fn write(&mut self, frame: &Image) -> Result<()> {
        self.writer.write(frame, &self.partial)?;
        self.partial.count += 1;
        Ok(())
    }

    fn finish(self) -> Result<()> {
        if self.partial.count == 0 {
            let what = format!("the number of pictures for {}", self.partial.target.display());
            return Err(Error::value(what, 0, "at least 1"));
        }
        let Self { writer, mut partial } = self;
        writer.finish(&mut partial)
    }
}

/// A kind of film.
pub struct FilmFormat {
    /// What its targets' names look like.
    pub pattern: &'static str,
    /// What it is good for, in one line.
    pub about: &'static str,
    /// Whether it holds one picture only.
    pub single: bool,
    /// The suffix of its targets' names, in any case; `None` for a folder.
    suffix: Option<&'static str>,
    open: fn(&Path, &FilmOptions) -> Result<OpenFilm>,
}

impl FilmFormat {
    /// Whether its pictures are PNG files, which may be transparent or have 16 bits a channel.
    pub fn is_png(&self) -> bool {
        matches!(self.suffix, None | Some("png"))
    }
}

/// All kinds, one entry each.
pub const FILM_FORMATS: &[FilmFormat] = &[
    #[cfg(feature = "webp")]
    FilmFormat {
        pattern: "film.webp",
        about: "animated WebP, small, plays in browsers; needs nothing else",
        single: false,
        suffix: Some("webp"),
        open: webp::open,
    },
    FilmFormat {
        pattern: "film.mp4",
        about: "H.264 video, small and plays anywhere; needs ffmpeg on the PATH",
        single: false,
        suffix: Some("mp4"),
        open: mp4::open,
    },
    FilmFormat {
        pattern: "film.apng",
        about: "animated PNG, lossless and so 20 times as large, plays in browsers",
        single: false,
        suffix: Some("apng"),
        open: apng::open,
    },
    FilmFormat {
        pattern: "picture.png",
        about: "one picture",
        single: true,
        suffix: Some("png"),
        open: still::open,
    },
    FilmFormat {
        pattern: "frames/",
        about: "a folder of numbered PNG pictures",
        single: false,
        suffix: None,
        open: png_sequence::open,
    },
];

/// The kind of film that a target's name means. An unknown suffix is an error that lists all
/// kinds.
pub fn format_of(target: &Path) -> Result<&'static FilmFormat> {
    // A name that ends in a separator is a folder, even with dots in it.
    let is_folder = target.to_string_lossy().ends_with(std::path::is_separator);
    let suffix = target.extension().filter(|_| !is_folder);
    let is_meant = |format: &&FilmFormat| match (format.suffix, suffix) {
        (Some(known), Some(suffix)) => suffix.eq_ignore_ascii_case(known),
        (known, suffix) => known.is_none() && suffix.is_none(),
    };
    let known = || FILM_FORMATS.iter().map(|format| format.pattern);
    let found = FILM_FORMATS.iter().find(is_meant);
    found.ok_or_else(|| Error::unknown("film format", &target.display().to_string(), known()))
}

/// A film being made. Must be finished; dropping it removes what was written.
pub struct Film {
    size: PictureSize,
    frames: Option<SyncSender<Message>>,
    worker: Option<JoinHandle<Result<()>>>,
}

enum Message {
    Frame(Image),
    Finish,
}

/// At most this many pictures wait for the writer, so that memory stays bounded.
const WAITING: usize = 3;

impl Film {
    /// Opens a film at `target`, of the kind that its name means.
    ///
    /// # Errors
    /// An unknown suffix, pictures per second outside 1 to 240, a folder that does not
    /// exist or cannot be written to, no ffmpeg for a video.
    pub fn open(target: &Path, options: FilmOptions) -> Result<Self> {
        if !(1..=240).contains(&options.frames_per_sec) {
            let rate = options.frames_per_sec;
            return Err(Error::value("the number of pictures per second", rate, "1 to 240"));
        }
        let film = (format_of(target)?.open)(target, &options)?;
        let (sender, receiver) = sync_channel(WAITING);
        let worker = std::thread::Builder::new()
            .name("film".into())
            .spawn(move || work(film, &receiver))
            .map_err(|e| Error::Outside(format!("cannot start the film's thread: {e}")))?;
        Ok(Self { size: options.size, frames: Some(sender), worker: Some(worker) })
    }

    /// Adds a picture; waits if the writer is several behind. An error with an earlier picture may
    /// come up here, and ends the film.
    pub fn write(&mut self, frame: Image) -> Result<()> {
        let (have, size) = (frame.size(), self.size);
        if have != size {
            return Err(Error::value(
                "the picture's size",
                format!("{}x{}", have.width(), have.height()),
                format!("{}x{} like the film's", size.width(), size.height()),
            ));
        }
        self.send(Message::Frame(frame))
    }

    /// Waits until all is written and gives the film its name.
    pub fn finish(mut self) -> Result<()> {
        self.send(Message::Finish)?;
        self.join()
    }

    fn send(&mut self, message: Message) -> Result<()> {
        if self.frames.as_ref().is_some_and(|frames| frames.send(message).is_ok()) {
            return Ok(());
        }
        // The writer has stopped early: its error says why.
        self.join()?;
        Err(Error::Outside("the film was ended by an earlier error".into()))
    }

    fn join(&mut self) -> Result<()> {
        self.frames = None;
        match self.worker.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(Error::Outside("the film's thread crashed".into())),
        }
    }
}

impl Drop for Film {
    fn drop(&mut self) {
        // Waits, so that nothing half-written is left when this returns.
        let _ = self.join();
    }
}

fn work(mut film: OpenFilm, messages: &Receiver<Message>) -> Result<()> {
    loop {
        match messages.recv() {
            Ok(Message::Frame(frame)) => film.write(&frame)?,
            Ok(Message::Finish) => return film.finish(),
            // Dropped without finish: so is the open film, which removes its file.
            Err(_) => return Ok(()),
        }
    }
}
