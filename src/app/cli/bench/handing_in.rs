//! `--submit`: shows what the records say about the machine, and writes them without the facts that
//! the user leaves out.

use std::path::Path;

use anyhow::Result;

use crate::cli::{Ended, print};
use gravitile::error::Error;
use gravitile::files;
use gravitile::measure::{Kind, Machine, Record, Score, to_json_lines};

/// Shows what the records say about the machine, and writes them without the facts named in
/// `without`.
pub fn write(records: &[Record], to: &Path, without: &[String]) -> Result<Ended> {
    let mut records = records.to_vec();
    for name in without {
        if !Machine::names().any(|known| known == name) {
            let known = Machine::names().collect::<Vec<_>>().join(", ");
            return Err(Error::Unknown { kind: "fact", name: name.clone(), known }.into());
        }
    }
    let mut rows = vec![["fact", "value", ""].map(str::to_owned).to_vec()];
    for record in &mut records {
        let Some(machine) = &mut record.machine else { continue };
        for (name, value) in machine.facts() {
            let is_out = without.iter().any(|out| out == name);
            let word = if is_out { "left out" } else { "" };
            let row = [name, &value, word].map(str::to_owned).to_vec();
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        for name in without {
            machine.leave_out(name);
        }
    }
    let mut devices: Vec<String> = Vec::new();
    for record in &records {
        let device = &record.device;
        let line = format!("{} ({}, {})", device.name, device.backend, device.driver);
        if record.kind != Kind::Machine && !devices.contains(&line) {
            devices.push(line);
        }
    }
    print::text(&print::table(&rows))?;
    print::text(&format!(
        "in each record: device and driver ({}), gravitile's version and commit, date and time\n",
        devices.join("; ")
    ))?;
    files::replace(to, to_json_lines(&records).as_bytes())?;
    for score in Score::all(&records) {
        print::text(&format!("{}\n", score.line()))?;
    }
    print::text(&format!(
        "wrote {}; benches/results/README.md says where to send it\n",
        to.display()
    ))?;
    Ok(Ended::Done)
}
