//! A page in a browser.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::render::{Image, PictureSize};

/// In a page there are no runs.
pub fn check_name(_: &Path) -> Result<()> {
    Ok(())
}

/// What a page asks its browser for: a file. The browser shows a dialog of its own, and what is picked comes as dropped
/// files do.
#[derive(Default)]
pub struct Picker;

impl Picker {
    /// Opens the browser's dialog.
    pub fn open(&mut self) {
        crate::app::page::ask_for_file();
    }

    /// The browser's dialog lies over the page by itself.
    pub fn is_open(&self) -> bool {
        false
    }

    /// Nothing is to be drawn.
    pub fn show(&mut self, _: &egui::Context) {}

    /// Files come as if they were dropped.
    pub fn picked(&mut self) -> Option<PathBuf> {
        None
    }
}

/// The size and the rate of a film.
pub struct FilmOptions {
    pub size: PictureSize,
    pub frames_per_sec: u32,
}

/// There are no films in a page.
pub struct Film;

impl Film {
    pub fn open(_: &Path, _: FilmOptions) -> Result<Self> {
        let problem = "a page records no films; 'gravitile render' does, from the command line that is copied here";
        Err(Error::Outside(problem.to_owned()))
    }

    pub fn write(&mut self, _: Image) -> Result<()> {
        Ok(())
    }

    pub fn finish(self) -> Result<()> {
        Ok(())
    }
}
