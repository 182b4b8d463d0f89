//! What all kinds of `gravitile check` find, and how it is printed.

use anyhow::Result;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Ended, print};

/// A case that was compared with f64.
pub struct Verdict {
    pub passed: bool,
    /// The case and its errors, printed if it did not pass.
    pub words: String,
    /// Its row for `--json`, without `passed`.
    pub json: Value,
}

/// Cases that were compared with f64: lines for the terminal, and rows for `--json`.
#[derive(Default, Serialize, Deserialize)]
pub struct Results {
    pub text: String,
    pub failed: usize,
    pub rows: Vec<Value>,
}

impl Results {
    /// These cases; `text` summarises them, and a line is added for each that did not pass.
    pub fn of(mut text: String, verdicts: impl Iterator<Item = Verdict>) -> Self {
        let (mut failed, mut rows) = (0, Vec::new());
        for Verdict { passed, words, mut json } in verdicts {
            if !passed {
                failed += 1;
                text += &format!("FAILED {words}\n");
            }
            json["passed"] = passed.into();
            rows.push(json);
        }
        Self { text, failed, rows }
    }

    /// Prints them; `key` is that of the rows in the JSON object, which starts with `own`.
    pub fn print(self, as_json: bool, key: &str, mut own: Value) -> Result<Ended> {
        let (all, passed) = (self.rows.len(), self.failed == 0);
        if as_json {
            own["passed"] = passed.into();
            own[key] = self.rows.into();
            print::json(&own)?;
        } else {
            let agree = all - self.failed;
            print::text(&format!("{}{agree} of {all} cases agree with f64\n", self.text))?;
        }
        Ok(if passed { Ended::Done } else { Ended::Failed })
    }
}
