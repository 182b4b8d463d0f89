//! Tests of the kernel: whether its forces are correct on this adapter, and whether another shape
//! is faster.

use egui::Ui;

use super::Action;
use super::theme::{DIM, WARN, bodies, number, offer, progress, section};
use gravitile::forces::direct::gpu::{KernelConfig, KernelRequest};
use gravitile::live::Command;
use gravitile::measure::{CaseResult, Finding};
use gravitile::tune::Tuned;

/// The state of a test.
#[derive(Default)]
pub enum TrialForm {
    /// Not started.
    #[default]
    Idle,
    /// In progress.
    Going {
        /// The part that is done, from 0 to 1.
        part: f64,
        /// What is being tested.
        doing: String,
    },
    /// Done.
    Done {
        /// The lines of the result, and whether each is a warning.
        lines: Vec<(String, bool)>,
        /// The fastest shape found.
        fastest: Option<KernelConfig>,
    },
}

impl TrialForm {
    /// The result of a race.
    pub fn of_race(tuned: &Tuned) -> Self {
        let Tuned { n, default, outcome, method, doubt, quantum_secs, .. } = tuned;
        let Some(best) = outcome.best() else {
            let problem = "no shape could be timed here".to_owned();
            return Self::Done { lines: vec![(problem, true)], fastest: None };
        };
        let pairs = (gravitile::tune::timed(*n) as f64).powi(2);
        let rate = number(pairs / best.secs() / 1e9);
        let gain = outcome.of(default).map_or(1.0, |ranked| ranked.secs() / best.secs());
        let resolution = match *quantum_secs {
            Some(secs) if secs < 1e-6 => format!(", resolution {:.0} ns", secs * 1e9),
            Some(secs) => format!(", resolution {:.1} us", secs * 1e6),
            None => String::new(),
        };
        let tried = outcome.ranking.len();
        let mut lines = vec![
            format!("fastest of {tried} for {}: {}", bodies(*n), best.config),
            format!("{rate} G interactions/s in whole steps, {gain:.2} times the default kernel's"),
            format!("timed by {}{resolution}", method.name()),
        ];
        if outcome.untried > 0 {
            lines.push(format!("there was no time for {} more shapes", outcome.untried));
        }
        let mut lines: Vec<(String, bool)> = lines.into_iter().map(|line| (line, false)).collect();
        let refused = outcome.refused.iter();
        let refused = refused.map(|(shape, why)| (format!("{shape} was left out: {why}"), true));
        lines.extend(refused.chain(doubt.clone().map(|doubt| (doubt, true))));
        Self::Done { lines, fastest: Some(best.config) }
    }

    /// The result of a check, and what the threads of a kernel of the user's own touch.
    pub fn of_check(rows: &[CaseResult], findings: &[Finding]) -> Self {
        let passed = rows.iter().filter(|row| row.passed()).count();
        let worst = rows.iter().map(|row| row.acceleration.rms).fold(0.0, f64::max);
        let agree =
            format!("{passed} of {} cases agree with f64, to {worst:.0e} (rms)", rows.len());
        let mut lines = vec![(agree, passed < rows.len())];
        for row in rows.iter().filter(|row| !row.passed()) {
            let case = &row.case;
            let what = format!(
                "{} sinks, {} sources, softening {}: rms error {:.1e}, within its bounds: {}, the same in pieces: {}",
                case.sinks,
                case.sources,
                case.softening,
                row.acceleration.rms,
                row.in_bounds,
                row.same_in_pieces
            );
            lines.push((what, true));
        }
        lines.extend(findings.iter().map(|found| (found.words.clone(), !found.is_fine)));
        Self::Done { lines, fastest: None }
    }

    pub(super) fn show(&self, ui: &mut Ui, actions: &mut Vec<Action>) {
        if !section(ui, "Test the kernel") {
            return;
        }
        if let Self::Going { part, doing } = self {
            if progress(ui, *part, doing, "Stop the test") {
                actions.push(Action::StopMeasuring);
            }
            return;
        }
        ui.horizontal_wrapped(|ui| {
            let about = "Compares this kernel with f64: numbers of bodies around its tile size, with potentials, \
                         whole and in pieces. The simulation waits meanwhile";
            offer(ui.button("Check this kernel"), about, actions, Action::CheckKernel);
            let about = "Times whole steps of this many bodies with other shapes, for some twenty seconds, and \
                         remembers the fastest for later visits: what 'gravitile tune' does";
            offer(ui.button("Find the fastest"), about, actions, Action::TuneKernel);
        });
        let Self::Done { lines, fastest } = self else { return };
        for (line, is_bad) in lines {
            ui.colored_label(if *is_bad { WARN } else { DIM }, line);
        }
        if let Some(fastest) = fastest
            && ui.button("Use the fastest").clicked()
        {
            actions.push(Action::Live(Command::Kernel(KernelRequest::from(*fastest))));
        }
    }
}

#[cfg(test)]
mod tests {
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;

    use super::*;
    use gravitile::measure::{ErrorStats, KernelCase, TimingMethod};
    use gravitile::tune::{RaceOutcome, Ranked};

    const DEFAULT: KernelConfig = KernelConfig::tiled(64);
    const FASTER: KernelConfig = KernelConfig { r: 4, ..DEFAULT };

    fn click(form: TrialForm, name: &str) -> Vec<Action> {
        let show = move |ui: &mut Ui, actions: &mut Vec<Action>| form.show(ui, actions);
        let mut harness = Harness::new_ui_state(show, Vec::new());
        harness.get_by_label(name).click();
        harness.run();
        harness.state().clone()
    }

    fn race() -> Tuned {
        let ranked = |config, secs| Ranked { config, samples: vec![secs] };
        let ranking = vec![ranked(FASTER, 1e-3), ranked(DEFAULT, 2e-3)];
        Tuned {
            n: 1000,
            default: DEFAULT,
            outcome: RaceOutcome { ranking, finished: 2, untried: 3, ..RaceOutcome::default() },
            for_various_masses: None,
            method: TimingMethod::GpuTimestamps,
            doubt: None,
            quantum_secs: Some(1e-4),
        }
    }

    #[test]
    fn race_result_names_the_clock_and_the_fastest_shape_can_be_used() {
        let form = TrialForm::of_race(&race());
        let TrialForm::Done { lines, .. } = &form else { panic!("it is done") };
        let text: Vec<&str> = lines.iter().map(|(line, _)| line.as_str()).collect();
        let text = text.join("\n");
        for part in
            ["fastest of 2 for 1000 bodies", "2.00 times", "resolution 100.0 us", "3 more shapes"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        let taken = Action::Live(Command::Kernel(KernelRequest::from(FASTER)));
        assert_eq!(click(form, "Use the fastest"), [taken]);
        let fine = TrialForm::of_race(&Tuned { quantum_secs: Some(1e-8), ..race() });
        let TrialForm::Done { lines, .. } = fine else { panic!("it is done") };
        assert!(lines.iter().any(|(line, _)| line.ends_with(", resolution 10 ns")), "{lines:?}");
        let none = Tuned { outcome: RaceOutcome::default(), ..race() };
        assert!(matches!(TrialForm::of_race(&none), TrialForm::Done { fastest: None, .. }));
    }

    #[test]
    fn failed_case_of_a_check_is_reported() {
        let case = KernelCase {
            config: DEFAULT,
            potential: false,
            one_mass: false,
            softening: 0.05,
            sinks: 63,
            sources: 65,
        };
        let acceleration = ErrorStats { worst: 1e-6, rms: 1e-7 };
        let right = CaseResult {
            case,
            acceleration,
            potential: None,
            in_bounds: true,
            same_in_pieces: true,
        };
        let wrong = CaseResult { in_bounds: false, ..right };
        let TrialForm::Done { lines, .. } = TrialForm::of_check(&[right, wrong], &[]) else {
            panic!("it is done")
        };
        assert!(lines[0].0.starts_with("1 of 2") && lines[0].1, "{lines:?}");
        assert!(lines.len() == 2 && lines[1].0.contains("63 sinks, 65 sources"), "{lines:?}");
        let TrialForm::Done { lines, .. } = TrialForm::of_check(&[right], &[]) else {
            panic!("it is done")
        };
        assert!(lines.len() == 1 && !lines[0].1, "{lines:?}");
    }

    #[test]
    fn tests_can_be_started_and_stopped() {
        assert_eq!(click(TrialForm::Idle, "Check this kernel"), [Action::CheckKernel]);
        assert_eq!(click(TrialForm::Idle, "Find the fastest"), [Action::TuneKernel]);
        let going = TrialForm::Going { part: 0.2, doing: "racing".to_owned() };
        assert_eq!(click(going, "Stop the test"), [Action::StopMeasuring]);
    }
}
