//! `gravitile formats`: the snapshot formats.

use anyhow::Result;
use serde_json::json;

use super::{Ended, print};
use gravitile::measure::grouped;
use gravitile::snapshot::{FORMATS, Format};

/// List the snapshot formats, one line each
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print one JSON array
    #[arg(long)]
    json: bool,
}

pub fn main(args: &Args) -> Result<Ended> {
    if args.json {
        let list: Vec<_> = FORMATS
            .iter()
            .map(|format| {
                json!({
                    "name": format.name,
                    "summary": format.summary,
                    "holds": format.holds,
                    "extensions": format.extensions,
                    "modifiers": format.modifiers.iter().map(|m| m.suffix).collect::<Vec<_>>(),
                    "written": format.write.is_some(),
                    "several_in_a_file": format.series.is_some(),
                    "in_several_files": format.files.is_some(),
                })
            })
            .collect();
        print::json(&json!(list))?;
        return Ok(Ended::Done);
    }
    let row = |format: &Format| {
        let extensions = format.extensions.iter().map(|e| format!(".{e}")).collect::<Vec<_>>();
        vec![format.name.into(), extensions.join(" "), format.summary.into()]
    };
    let rows = FORMATS.iter().map(row);
    let mut text = print::with_header(&["format", "extensions", "what it is"], rows);
    let several = FORMATS.iter().filter(|format| format.files.is_some());
    let several = several.map(|format| format.name).collect::<Vec<_>>().join(", ");
    text += &format!(
        "\nA snapshot in several files ({several}) can be named by any of them, snap_000.3, by their common\nname, snap_000, or by a folder with no other snapshot in it; 'convert --files' writes one.\n"
    );
    let series = FORMATS.iter().filter(|format| format.series.is_some());
    let series = series.map(|format| format.name).collect::<Vec<_>>().join(", ");
    text += &format!(
        "\nOf several snapshots in one file ({series}) the first is read; --snapshot 3, --snapshot t=2.5 and\n--snapshot last choose another.\n"
    );
    text += "\nFor writing, suffixes can be added to a format's name, as in tipsy-be-id:\n";
    let modifiers = grouped(FORMATS.iter().flat_map(|format| {
        format.modifiers.iter().map(|modifier| ((modifier.suffix, modifier.summary), format.name))
    }));
    let rows = modifiers.iter().map(|((suffix, summary), names)| {
        vec![format!("  -{suffix}"), names.join(", "), (*summary).to_owned()]
    });
    text += &print::table(&rows.collect::<Vec<_>>());
    print::text(&text)?;
    Ok(Ended::Done)
}
