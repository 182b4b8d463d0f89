//! `gravitile view`: the window.

use anyhow::Result;

use super::Ended;
use super::input::InputOptions;
use super::look::LookOptions;
use super::options::EngineOptions;
use super::steps::StepOptions;
use crate::app::window::{self, Request};

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
    #[arg(long, value_name = "X,Y,Z", value_parser = point, help_heading = "Camera and looks (what suits the bodies if left out)")]
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

impl Args {
    /// What `gravitile` without arguments shows.
    pub fn default_scene() -> Self {
        use clap::Parser;
        #[derive(Parser)]
        struct Alone {
            #[command(flatten)]
            args: Args,
        }
        Alone::parse_from(["gravitile", window::FIRST_SCENE]).args
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
    let style = args.look.style()?;
    window::open(Request {
        input: args.input,
        steps: args.steps,
        look: args.look,
        style,
        target: args.target,
        paused: args.paused,
        shaders: args.shaders,
        engine: args.engine,
    })?;
    Ok(Ended::Done)
}
