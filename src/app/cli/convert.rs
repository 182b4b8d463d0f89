//! `gravitile convert`: from one snapshot format to another, or from a scene to a snapshot.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;

use super::options::check_output;
use super::{Ended, print};
use gravitile::record::refuse_names_of_runs;
use gravitile::settings::{Assignment, InputRequest, count};
use gravitile::snapshot::{self, ReadOptions, Snapshot, SnapshotChoice, WriteOptions};

/// Convert a snapshot to another format, or write the bodies of a scene, and report what the format
/// cannot hold
#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  gravitile convert galaxy.bin galaxy.csv
  gravitile convert run/step_0000001000.gvt out.gadget --to gadget2
  gravitile convert old.tipsy new.tipsy --to tipsy-be
  gravitile convert snap_000 whole.gvt          (reads snap_000.0, snap_000.1, ...)
  gravitile convert whole.gvt snap --to gadget2 --files 8
  gravitile convert snap_000.0.hdf5 whole.hdf5
  gravitile convert run.nemo end.gvt --snapshot last
  gravitile convert plummer -n 100k cluster.hdf5"
)]
pub struct Args {
    /// Snapshot to read; for one in several files, any of them, their name without the number, or
    /// their folder. Or a scene, by name or file
    input: PathBuf,
    /// File to write; its extension sets the format unless --to is given
    output: PathBuf,
    /// Format to write (see 'gravitile formats')
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
    /// Spread the bodies over this many files, OUTPUT.0, OUTPUT.1, ... (GADGET, HDF5 and .gvt)
    #[arg(long, value_name = "COUNT")]
    files: Option<usize>,
    /// Replace the output if it exists
    #[arg(long)]
    force: bool,
    /// Format of the input, if its content leaves doubt
    #[arg(long, value_name = "FORMAT")]
    from: Option<String>,
    /// Which snapshot of an input that holds several: its number from 0, t=TIME for the nearest, or
    /// last [default: the first]
    #[arg(long, value_name = "N|t=TIME|last")]
    snapshot: Option<SnapshotChoice>,
    /// Number the bodies from 0, ignoring the input's ids, which may be negative or missing
    #[arg(long)]
    renumber: bool,
    /// Number of bodies in a scene, such as 20000, 20k or 1.5M
    #[arg(short, value_name = "N", value_parser = count)]
    n: Option<usize>,
    /// Seed for a scene's random numbers
    #[arg(long)]
    seed: Option<u64>,
    /// Set one of the scene's parameters (see 'gravitile scenes NAME'); may be given more than once
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<Assignment>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Args {
    fn read(&self) -> gravitile::error::Result<Snapshot> {
        let request = InputRequest {
            n: self.n,
            seed: self.seed,
            set: self.set.clone(),
            renumber: self.renumber,
            snapshot: self.snapshot,
            ..InputRequest::named(self.input.to_string_lossy())
        };
        // A path that is no UTF-8 names a file.
        let may_be_scene = self.from.is_none() && self.input.to_str().is_some();
        if may_be_scene && request.scene()?.is_some() {
            return Ok(request.load(None)?.snapshot);
        }
        request.refuse_changes_of_scenes()?;
        let reading = ReadOptions {
            format: self.from.clone(),
            renumber: self.renumber,
            snapshot: self.snapshot,
            ..ReadOptions::default()
        };
        snapshot::read_with(&self.input, &reading)
    }
}

pub fn main(args: &Args) -> Result<Ended> {
    let options =
        WriteOptions { format: args.to.clone(), files: args.files, ..WriteOptions::default() };
    let targets = snapshot::targets(&args.output, &options)?;
    for target in &targets {
        check_output(target, args.force)?;
        refuse_names_of_runs(target)?;
    }
    let snapshot = args.read()?;
    print::notes(&snapshot.notes);
    let before = snapshot::listed_files(&args.output);
    let losses = snapshot::write(&args.output, &snapshot, &options)?;
    let now = snapshot::listed_files(&args.output);
    // Of an index that --force has replaced. Readers refuse those that cannot be removed.
    let surplus = before.into_iter().filter(|file| !now.contains(file));
    surplus.for_each(|file| drop(std::fs::remove_file(file)));
    let n = snapshot.bodies.len();
    if args.json {
        let lost: Vec<&str> = losses.iter().collect();
        print::json(&json!({
            "n": n, "time": snapshot.time, "units": snapshot.units, "out": args.output.display().to_string(), "notes": snapshot.notes, "losses": lost,
        }))?;
    } else {
        let files = match targets.as_slice() {
            [files @ .., index] if targets.len() > 1 && index == &args.output => {
                format!("{} files and their index {}", files.len(), index.display())
            }
            [first, .., last] => {
                format!("{} files, {} to {}", targets.len(), first.display(), last.display())
            }
            _ => args.output.display().to_string(),
        };
        let mut text = format!("wrote {} to {files}\n", crate::bodies(n));
        for loss in losses.iter() {
            text += &format!("  lost: {loss}\n");
        }
        print::text(&text)?;
    }
    Ok(Ended::Done)
}
