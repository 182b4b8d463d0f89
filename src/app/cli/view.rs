//! `gravitile view`: the window.

use anyhow::Result;

use super::options::OwnKernel;
use super::{Ended, interrupt};
use crate::window;
use gravitile::settings::ViewRequest;

/// Open a window on a scene or snapshot: watch it, move around in it, change its settings
#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    // The only command that needs no scene.
    mut_arg("input", |input| input.required(false).default_value(window::FIRST_SCENE)),
    after_help = "\
Examples:
  gravitile                                        a galaxy collision
  gravitile view --engine gpu                      the same, computed on the GPU
  gravitile view galaxy-collision -n 100k
  gravitile view galaxy.bin --eps 0.05 --colour speed
  gravitile view plummer -n 4096 --engine gpu --p 64 --q 4
  gravitile view --force-kernel mine.wgsl          a kernel of your own, recompiled when you save it

In the window, ? shows all keys."
)]
pub struct Args {
    #[command(flatten)]
    view: ViewRequest,
    #[command(flatten)]
    own: OwnKernel,
}

impl Args {
    /// What `gravitile` without arguments shows.
    pub fn default_scene() -> Self {
        Self { view: window::first_scene(), own: OwnKernel::default() }
    }
}

pub fn main(mut args: Args) -> Result<Ended> {
    let engine = &mut args.view.engine;
    args.own.apply(&mut engine.by, &mut engine.kernel)?;
    window::open(args.view, interrupt::notify)?;
    Ok(if interrupt::requested() { Ended::Interrupted } else { Ended::Done })
}
