//! `gravitile view`: the window.

use anyhow::Result;

use super::Ended;
use crate::app::window;
use crate::settings::ViewRequest;

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
    view: ViewRequest,
}

impl Args {
    /// What `gravitile` without arguments shows.
    pub fn default_scene() -> Self {
        Self { view: window::first_scene() }
    }
}

pub fn main(args: Args) -> Result<Ended> {
    window::open(args.view)?;
    Ok(Ended::Done)
}
