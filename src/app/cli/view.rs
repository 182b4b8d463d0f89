//! `gravitile view`: the window.

use anyhow::Result;

use super::Ended;
use super::input::InputOptions;
use super::look::LookOptions;
use super::options::EngineOptions;
use super::steps::StepOptions;
use crate::app::window::{self, Request};
use crate::error::Error;

/// Open a window on a scene or snapshot: watch it, touch it, tune it
#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  gravitile                                        a galaxy collision
  gravitile view galaxy-collision -n 100k
  gravitile view galaxy.bin --eps 0.05 --colour speed
  gravitile view plummer -n 4096 --engine gpu --p 64 --q 4

In the window, ? shows all keys."
)]
pub struct Args {
    #[command(flatten)]
    input: InputOptions,
    #[command(flatten)]
    steps: StepOptions,
    #[command(flatten)]
    look: LookOptions,
    /// The point in the middle of the picture
    #[arg(long, value_name = "X,Y,Z", value_parser = point, allow_hyphen_values = true, help_heading = "Camera and looks (what suits the bodies if left out)")]
    target: Option<glam::DVec3>,
    /// Begin paused
    #[arg(long)]
    paused: bool,
    /// For work on the shaders: take their texts from a copy of shaders/, again whenever one changes
    #[arg(long, value_name = "DIR")]
    shaders: Option<std::path::PathBuf>,
    #[command(flatten)]
    engine: EngineOptions,
}

/// The arguments without the program around them.
#[derive(clap::Parser)]
#[command(allow_negative_numbers = true)]
struct Alone {
    #[command(flatten)]
    args: Args,
}

impl Args {
    /// What `gravitile` without arguments shows.
    pub fn default_scene() -> Self {
        <Alone as clap::Parser>::parse_from(["gravitile", window::FIRST_SCENE]).args
    }

    /// What the words after `gravitile view` say.
    #[cfg(test)]
    pub fn from_words(words: &[String]) -> Result<Self, clap::Error> {
        let program = std::iter::once("gravitile".to_owned());
        <Alone as clap::Parser>::try_parse_from(program.chain(words.iter().cloned()))
            .map(|alone| alone.args)
    }

    /// The names of all options in the code.
    #[cfg(test)]
    pub fn option_ids() -> impl Iterator<Item = String> {
        let command = <Alone as clap::CommandFactory>::command();
        command.get_arguments().map(|arg| arg.get_id().to_string()).collect::<Vec<_>>().into_iter()
    }

    /// What is to be opened.
    ///
    /// Errors: looks out of range or unknown.
    pub fn request(self) -> Result<Request, Error> {
        let style = self.look.style()?;
        let Self { input, steps, look, target, paused, shaders, engine } = self;
        Ok(Request { input, steps, look, style, target, paused, shaders, engine })
    }
}

fn point(text: &str) -> Result<glam::DVec3, String> {
    let numbers: Vec<f64> = text.split(',').filter_map(|part| part.trim().parse().ok()).collect();
    match <[f64; 3]>::try_from(numbers) {
        Ok(point) if text.split(',').count() == 3 && point.iter().all(|x| x.is_finite()) => {
            Ok(point.into())
        }
        _ => Err("three numbers were expected, like 1.5,0,-2".to_owned()),
    }
}

pub fn main(args: Args) -> Result<Ended> {
    args.steps.check()?;
    args.engine.kind()?;
    // What cannot be opened is said before a window appears.
    args.input.scene()?;
    window::open(args.request()?)?;
    Ok(Ended::Done)
}
