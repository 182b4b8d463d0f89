//! The score of this adapter, measured as by `gravitile bench`, next to submitted scores.

use egui::{Grid, RichText, Ui};

use super::Action;
use super::theme::{BRIGHT, DIM, NARROW, WARN, offer, progress, section};
use gravitile::measure::{Record, SUBMITTED_SCORES, Score, to_json_lines};

/// The state of the measurement.
#[derive(Default)]
pub enum ScoreForm {
    /// Not started.
    #[default]
    Idle,
    /// In progress.
    Measuring {
        /// The part that is done, from 0 to 1.
        part: f64,
        /// What is being measured.
        doing: String,
    },
    /// Done.
    Measured {
        /// The records, to be copied.
        lines: String,
        /// The score.
        score: Box<Score>,
        /// The largest rms error of its kernels against f64.
        rms_error: Option<f64>,
    },
}

impl ScoreForm {
    /// The score of these records.
    pub fn of(records: &[Record]) -> Self {
        match Score::all(records).pop() {
            Some(score) => Self::Measured {
                lines: to_json_lines(records),
                score: Box::new(score),
                rms_error: records.iter().filter_map(|r| r.rms_error).reduce(f64::max),
            },
            None => Self::Idle,
        }
    }

    pub(super) fn show(&self, ui: &mut Ui, actions: &mut Vec<Action>) {
        if !section(ui, "Score") {
            return;
        }
        let about = "Rates of whole steps with 1,024, 16,384 and 262,144 bodies in 10^9 interactions per second, \
                     and their geometric mean: what 'gravitile bench --figure score' measures";
        match self {
            Self::Idle => {
                let about = format!("{about}. The simulation waits for a minute or less");
                offer(ui.button("Measure the score"), about, actions, Action::MeasureScore);
            }
            Self::Measuring { part, doing } => {
                if progress(ui, *part, doing, "Stop measuring") {
                    actions.push(Action::StopMeasuring);
                }
            }
            Self::Measured { lines, score, rms_error } => {
                ui.horizontal(|ui| {
                    let what = "The records as JSON lines, as the program writes them";
                    if ui.button("Copy the result").on_hover_text(what).clicked() {
                        actions.push(Action::CopyText(lines.clone()));
                    }
                    offer(ui.button("Measure again"), about, actions, Action::MeasureScore);
                });
                if let Some(error) = rms_error {
                    let text = format!("forces are accurate to {error:.0e} (rms, against f64)");
                    ui.colored_label(DIM, text);
                }
                for remark in &score.remarks {
                    ui.colored_label(WARN, remark);
                }
                table(ui, score);
            }
        }
    }
}

/// Shows this score above the submitted ones.
fn table(ui: &mut Ui, own: &Score) {
    Grid::new("scores").num_columns(5).min_col_width(NARROW).striped(true).show(ui, |ui| {
        for name in ["", "score", "1,024", "16,384", "262,144"] {
            ui.colored_label(DIM, name);
        }
        ui.end_row();
        let [device, cells @ ..] = own.cells();
        let row = std::iter::once("here".to_owned()).chain(cells);
        for cell in row {
            ui.label(RichText::new(cell).color(BRIGHT)).on_hover_text(&device);
        }
        ui.end_row();
        for row in submitted(SUBMITTED_SCORES) {
            for cell in row {
                ui.label(cell);
            }
            ui.end_row();
        }
    });
}

/// Device, score and the three rates of each row of the table.
fn submitted(text: &str) -> Vec<[&str; 5]> {
    let table = text.split("<!-- quote: scores -->").nth(1).unwrap_or_default();
    let table = table.split("<!-- /quote -->").next().unwrap_or_default();
    // The first line names the columns.
    table.lines().filter_map(cells).skip(1).collect()
}

fn cells(line: &str) -> Option<[&str; 5]> {
    let cells: Vec<&str> = line.strip_prefix("| ")?.split(" | ").collect();
    let [device, _, score, few, some, many, ..] = cells[..] else { return None };
    Some([device, score, few, some, many])
}

#[cfg(test)]
mod tests {
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;

    use super::*;

    #[test]
    fn submitted_scores_are_read_from_the_table() {
        let rows = submitted(SUBMITTED_SCORES);
        let h200 = rows.iter().find(|row| row[0] == "NVIDIA H200").expect("it is in the table");
        let rates: Vec<f64> =
            h200.iter().skip(1).map(|c| c.replace(',', "").parse().unwrap()).collect();
        let mean = (rates[1] * rates[2] * rates[3]).cbrt();
        assert!((mean / rates[0] - 1.0).abs() < 0.01, "{rates:?}");
        assert!(submitted("no table").is_empty());
    }

    #[test]
    fn score_can_be_started_stopped_and_copied() {
        let click = |form: ScoreForm, name: &str| {
            let show = move |ui: &mut Ui, actions: &mut Vec<Action>| form.show(ui, actions);
            let mut harness = Harness::new_ui_state(show, Vec::new());
            harness.get_by_label(name).click();
            harness.run();
            harness.state().clone()
        };
        assert_eq!(click(ScoreForm::Idle, "Measure the score"), [Action::MeasureScore]);
        let measuring = ScoreForm::Measuring { part: 0.3, doing: "16384 bodies".to_owned() };
        assert_eq!(click(measuring, "Stop measuring"), [Action::StopMeasuring]);
        let results =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/results/nvidia-h200.jsonl");
        let mut records = gravitile::measure::read_json_lines(results.as_ref()).unwrap();
        records.retain(|record| record.figure == "score");
        let records = records;
        let lines = to_json_lines(&records);
        let copied = click(ScoreForm::of(&records), "Copy the result");
        assert_eq!(copied, [Action::CopyText(lines)]);
        assert!(matches!(ScoreForm::of(&[]), ScoreForm::Idle));
    }
}
