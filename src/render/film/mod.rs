//! Films: sequences of pictures, written in the format that the target's name asks for.
//!
//! A film is written beside its target under a hidden temporary name and takes the target's name
//! when complete. A [`Film`] dropped before [`Film::finish`] leaves nothing behind, and an earlier
//! target stays as it was.
//!
//! Pictures are compressed on a thread of their own while the simulation goes on.

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

use super::image::{Image, PictureSize};
use crate::error::{Error, Result};

/// What every writer needs to know beforehand.
#[derive(Clone, Copy, Debug)]
pub struct FilmOptions {
    /// Size of every picture.
    pub size: PictureSize,
    /// Pictures per second, 1 to 240.
    pub frames_per_sec: u32,
}

/// Writes one film.
pub trait FilmWriter: Send {
    /// Adds a picture, of the size the film was opened with.
    fn write(&mut self, frame: &Image) -> Result<()>;

    /// Completes the film and gives it its name. Dropping a writer instead removes what it wrote.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// A kind of film.
pub struct FilmFormat {
    /// What its targets' names look like.
    pub pattern: &'static str,
    /// What it is good for, in one line.
    pub about: &'static str,
    /// Whether it holds one picture only.
    pub single: bool,
    /// Whether a target of that name is of this kind.
    is_target: fn(&Path) -> bool,
    open: fn(&Path, &FilmOptions) -> Result<Box<dyn FilmWriter>>,
}

/// All kinds, one entry each.
pub const FILM_FORMATS: &[FilmFormat] = &[
    #[cfg(feature = "webp")]
    FilmFormat {
        pattern: "film.webp",
        about: "animated WebP, small, plays in browsers; needs nothing else",
        single: false,
        is_target: |target| has_suffix(target, "webp"),
        open: webp::open,
    },
    FilmFormat {
        pattern: "film.mp4",
        about: "H.264 video, small and plays anywhere; needs ffmpeg on the PATH",
        single: false,
        is_target: |target| has_suffix(target, "mp4"),
        open: mp4::open,
    },
    FilmFormat {
        pattern: "film.apng",
        about: "animated PNG, lossless and so 20 times as large, plays in browsers",
        single: false,
        is_target: |target| has_suffix(target, "apng"),
        open: apng::open,
    },
    FilmFormat {
        pattern: "picture.png",
        about: "one picture",
        single: true,
        is_target: |target| has_suffix(target, "png"),
        open: still::open,
    },
    FilmFormat {
        pattern: "frames/",
        about: "a folder of numbered PNG pictures",
        single: false,
        is_target: |target| target.extension().is_none(),
        open: png_sequence::open,
    },
];

fn has_suffix(target: &Path, suffix: &str) -> bool {
    target.extension().is_some_and(|have| have.eq_ignore_ascii_case(suffix))
}

/// The kind of film that a target's name asks for. An unknown suffix is an error that lists all
/// kinds.
pub fn format_of(target: &Path) -> Result<&'static FilmFormat> {
    // A name that ends in a separator is a folder, even with dots in it.
    let is_folder = target.to_string_lossy().ends_with(std::path::is_separator);
    let mut formats = FILM_FORMATS.iter();
    let found =
        if is_folder { formats.next_back() } else { formats.find(|f| (f.is_target)(target)) };
    found.ok_or_else(|| Error::Unknown {
        kind: "film format",
        name: target.display().to_string(),
        known: FILM_FORMATS.iter().map(|f| f.pattern).collect::<Vec<_>>().join(", "),
    })
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
    /// Opens a film at `target`, of the kind that its name asks for.
    ///
    /// Errors: an unknown suffix, pictures per second outside 1 to 240, a folder that does not
    /// exist or cannot be written to, no ffmpeg for a video.
    pub fn open(target: &Path, options: FilmOptions) -> Result<Self> {
        if !(1..=240).contains(&options.frames_per_sec) {
            let rate = options.frames_per_sec;
            return Err(Error::value("the number of pictures per second", rate, "1 to 240"));
        }
        let writer = (format_of(target)?.open)(target, &options)?;
        let (sender, receiver) = sync_channel(WAITING);
        let worker = std::thread::Builder::new()
            .name("film".into())
            .spawn(move || work(writer, &receiver))
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

fn work(mut writer: Box<dyn FilmWriter>, messages: &Receiver<Message>) -> Result<()> {
    loop {
        match messages.recv() {
            Ok(Message::Frame(frame)) => writer.write(&frame)?,
            Ok(Message::Finish) => return writer.finish(),
            // Dropped without finish: so is the writer, which tidies up.
            Err(_) => return Ok(()),
        }
    }
}

/// The error for a film without pictures.
fn no_frames(target: &Path) -> Error {
    Error::value(format!("the number of pictures for {}", target.display()), 0, "at least 1")
}
