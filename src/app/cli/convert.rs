//! `gravitile convert`: from one snapshot format to another.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;

use super::options::fresh;
use super::{Ended, print};
use crate::record::refuse_names_of_runs;
use crate::snapshot::{self, ReadOptions, WriteOptions};

/// Convert a snapshot to another format, and say what that cannot hold
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gravitile convert galaxy.bin galaxy.csv
  gravitile convert run/step_0000001000.gvt out.gadget --to gadget2
  gravitile convert old.tipsy new.tipsy --to tipsy-be")]
pub struct Args {
    /// The snapshot to read
    input: PathBuf,
    /// The file to write; its extension says the format unless --to does
    output: PathBuf,
    /// Format to write, see 'gravitile formats'
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
    /// Replace what is there
    #[arg(long)]
    force: bool,
    /// Format to read, where the content leaves doubt
    #[arg(long, value_name = "FORMAT")]
    from: Option<String>,
    /// Number the bodies from 0, whatever ids the input has: negative ones, say, or none
    #[arg(long)]
    renumber: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn main(args: &Args) -> Result<Ended> {
    fresh(&args.output, args.force)?;
    refuse_names_of_runs(&args.output)?;
    let reading = ReadOptions { format: args.from.clone(), renumber: args.renumber };
    let snapshot = snapshot::read_with(&args.input, &reading)?;
    let options = WriteOptions { format: args.to.clone(), ..WriteOptions::default() };
    let losses = snapshot::write(&args.output, &snapshot, &options)?;
    let n = snapshot.bodies.len();
    if args.json {
        let lost: Vec<&str> = losses.iter().collect();
        print::json(&json!({
            "n": n, "time": snapshot.time, "out": args.output.display().to_string(), "losses": lost,
        }))?;
    } else {
        let mut text = format!("wrote {n} bodies to {}\n", args.output.display());
        for loss in losses.iter() {
            text += &format!("  lost: {loss}\n");
        }
        print::text(&text)?;
    }
    Ok(Ended::Done)
}
