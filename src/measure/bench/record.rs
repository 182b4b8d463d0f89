//! One line of a result file: a set of samples with everything needed to trust it.
//!
//! A result file is JSON lines, one [`Record`] each, in the order of measurement. It does not
//! contain the name of a user, a host or a folder.

use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use super::facts::{CompiledFacts, DevicesFacts, DirectFacts, RunFacts, TreeFacts};
use super::machine::Machine;
use super::names::plain;
use crate::forces::direct::gpu::KernelConfig;
use crate::gpu::AdapterInfo;
use crate::measure::{Ceiling, CeilingSamples, Ceilings, Steadiness, Stopwatch, Summary, predict};
use crate::messages;

/// Version of the file format. Files of version 1, without machines and times of day, can be read
/// too.
pub const FORMAT: u32 = 2;
/// The oldest version that can be read.
pub(super) const OLDEST: u32 = 1;

/// The device that was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedDevice {
    /// Its name according to the driver or the processor.
    pub name: String,
    /// `discrete GPU`, ..., `software`, or `CPU`.
    pub kind: String,
    /// `vulkan`, `metal`, `dx12`; or `cpu`.
    pub backend: String,
    /// The driver and its version; for a CPU, the instruction set in use and the number of threads.
    pub driver: String,
}

impl RecordedDevice {
    /// The entry for a graphics adapter.
    pub fn of(adapter: &AdapterInfo) -> Self {
        Self {
            name: adapter.name.clone(),
            kind: adapter.class.name().to_owned(),
            backend: adapter.backend.clone(),
            driver: adapter.driver.clone(),
        }
    }

    /// Whether it is the CPU engine.
    pub fn is_cpu(&self) -> bool {
        self.backend == "cpu"
    }
}

/// The kind of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RecordKind {
    /// Times of force evaluations.
    #[default]
    Forces,
    /// Times of whole steps, force and leapfrog.
    Steps,
    /// Times of a kernel that measures one ceiling.
    Ceiling,
    /// Times of forces with derivatives.
    Derivatives,
    /// A run on individual steps.
    Run,
    /// Errors of a tree with the time of its forces, or times of whole steps with it.
    Tree,
    /// Times of whole steps of bodies shared by several devices.
    Devices,
    /// Times of transfers to or from the device.
    Transfer,
    /// What the driver's compiler reports about a kernel; no times.
    Compiled,
    /// The machine on which the run was measured; no times.
    Machine,
    /// Nothing was measured; `remark` says why.
    Skipped,
}

/// A set of samples, with everything needed to trust it: one line of a result file.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// [`FORMAT`].
    pub format: u32,
    /// gravitile's version.
    pub version: String,
    /// The commit it was built from, or `unknown`.
    pub commit: String,
    /// The day, in UTC: 2026-11-20.
    pub date: String,
    /// When the run began, in UTC: 15:04:05. With the date it distinguishes runs of one machine.
    pub begun: Option<String>,
    /// The device that was measured.
    pub device: RecordedDevice,
    /// The figure it belongs to.
    pub figure: String,
    /// The curve it belongs to.
    pub series: String,
    /// Its value on the figure's x axis.
    pub x: f64,
    /// What the record contains.
    pub kind: RecordKind,
    /// Number of sinks, or of bodies in a run; 0 for a ceiling.
    pub sinks: u64,
    /// Number of sources; 0 for a ceiling.
    pub sources: u64,
    /// The kernel; none for the CPU and for ceilings.
    pub kernel: Option<KernelConfig>,
    /// [`Ceiling::key`], for a ceiling.
    pub ceiling: Option<String>,
    /// The driver's compiler report on the kernel, if it was requested.
    pub compiled: Option<CompiledFacts>,
    /// Which forces, if they have derivatives.
    pub direct: Option<DirectFacts>,
    /// Which run, and its result.
    pub run: Option<RunFacts>,
    /// Which tree, and its errors.
    pub tree: Option<TreeFacts>,
    /// The machine, in the record that describes it.
    pub machine: Option<Box<Machine>>,
    /// How many devices shared the bodies, and the cost of sharing.
    pub devices: Option<DevicesFacts>,
    /// The work of one sample: interactions, or the ceiling's unit.
    pub work: f64,
    /// Seconds per evaluation or step, in the order they were taken; the first one after warming up
    /// is discarded.
    pub samples: Vec<f64>,
    /// Evaluations or steps that each sample is the mean of.
    pub repeats: u32,
    /// How the times were taken.
    pub method: String,
    /// Rms relative error of the accelerations against f64, for a sample of the sinks.
    pub rms_error: Option<f64>,
    /// Interactions per second predicted by the model.
    pub predicted_per_sec: Option<f64>,
    /// The limiting resource according to the model.
    pub limit: Option<String>,
    /// A remark: noise, drift, why it was skipped; for steps, how it compares.
    pub remark: Option<String>,
}

impl Record {
    /// Stores the samples, with the digits that a clock resolves.
    pub(super) fn set_samples(&mut self, secs: &[f64]) {
        self.samples = secs.iter().map(|secs| rounded(*secs)).collect();
    }

    /// Stores samples by a stopwatch, with a remark if its clock or the machine was not steady.
    pub(super) fn set_timed(&mut self, watch: &Stopwatch, secs: &[f64]) {
        self.method = watch.method().name().to_owned();
        self.remark = watch.doubt().map(plain).or_else(|| Steadiness::of(secs).remark());
        self.set_samples(secs);
    }

    /// The same at these numbers of sinks and sources: the work is all pairs of them.
    #[must_use]
    pub(super) fn sized(self, sinks: usize, sources: usize) -> Self {
        let (x, work) = (sinks as f64, sinks as f64 * sources as f64);
        Self { x, work, sinks: sinks as u64, sources: sources as u64, ..self }
    }

    /// Stores the model's prediction for its kernel, if it has one.
    pub fn predict(&mut self, ceilings: Option<&Ceilings>) {
        let (Some(ceilings), Some(kernel)) = (ceilings, &self.kernel) else { return };
        let (sinks, sources) = (self.sinks as usize, self.sources as usize);
        let predicted = predict(ceilings, kernel, sinks, sources);
        self.predicted_per_sec = predicted.as_ref().map(|p| rounded(p.rate(sinks, sources)));
        self.limit = predicted.map(|p| p.limit.name().to_owned());
    }

    /// The samples of a ceiling, from a record without measurements.
    #[must_use]
    pub(super) fn of_ceiling(self, samples: &CeilingSamples) -> Self {
        let mut record = Self {
            kind: RecordKind::Ceiling,
            series: samples.ceiling.title().to_owned(),
            ceiling: Some(samples.ceiling.key().to_owned()),
            work: samples.work,
            method: samples.method.name().to_owned(),
            remark: Steadiness::of(&samples.secs).remark(),
            ..self
        };
        record.set_samples(&samples.secs);
        record
    }

    /// The same, skipped for this reason.
    #[must_use]
    pub(super) fn skipped(self, reason: &str) -> Self {
        Self { kind: RecordKind::Skipped, remark: Some(plain(reason)), ..self }
    }

    /// The statistics of its samples; `None` if it was skipped.
    pub fn summary(&self) -> Option<Summary> {
        Summary::of(&self.samples)
    }

    /// Work per second from the median: interactions, or the ceiling's unit.
    pub fn per_sec(&self) -> Option<f64> {
        self.summary().map(|summary| self.work / summary.median)
    }

    /// The run it belongs to: the date, and the time if known.
    pub fn run_key(&self) -> (&str, &str) {
        (&self.date, self.begun.as_deref().unwrap_or(""))
    }

    /// The same, for display.
    pub(super) fn run_in_words(&self) -> String {
        let (day, time) = self.run_key();
        format!("{day} {time}").trim_end().to_owned()
    }

    /// gravitile's version and commit.
    pub(super) fn built_from(&self) -> String {
        format!("{} {}", self.version, self.commit)
    }

    /// Its ceiling, if it is one.
    pub fn ceiling(&self) -> Option<Ceiling> {
        self.ceiling.as_deref().and_then(Ceiling::from_key)
    }

    /// Describes the kernel: `p=64 q=1 ...`, or the engine.
    pub fn kernel_in_words(&self) -> String {
        if let Some(direct) = &self.direct {
            return format!("{}, {}", direct.tier(), direct.order);
        }
        if let Some(run) = &self.run {
            return format!("{}, eps = {}, to t = {}", self.series, run.softening, run.until);
        }
        if let Some(tree) = &self.tree {
            return format!("{} tree, {}", tree.engine, tree.rule_in_words());
        }
        match self.kernel {
            Some(kernel) => kernel.to_string(),
            None if self.kind == RecordKind::Ceiling => String::new(),
            None if matches!(self.kind, RecordKind::Devices | RecordKind::Transfer) => {
                self.series.clone()
            }
            None => "cpu engine".to_owned(),
        }
    }

    /// The first problem of the record, if any; for reading foreign files.
    pub(super) fn fault(&self) -> Option<String> {
        const LONGEST: usize = 300;
        const MOST_SAMPLES: usize = 100_000;
        let texts = [
            ("version", Some(&self.version)),
            ("commit", Some(&self.commit)),
            ("date", Some(&self.date)),
            ("begun", self.begun.as_ref()),
            ("device.name", Some(&self.device.name)),
            ("device.kind", Some(&self.device.kind)),
            ("device.backend", Some(&self.device.backend)),
            ("device.driver", Some(&self.device.driver)),
            ("figure", Some(&self.figure)),
            ("series", Some(&self.series)),
            ("ceiling", self.ceiling.as_ref()),
            ("method", Some(&self.method)),
            ("limit", self.limit.as_ref()),
            ("remark", self.remark.as_ref()),
        ];
        for (name, text) in texts {
            let Some(text) = text else { continue };
            if text.chars().count() > LONGEST {
                return Some(format!("'{name}' is longer than {LONGEST} characters"));
            }
            if text.chars().any(char::is_control) {
                return Some(format!("'{name}' has a control character"));
            }
        }
        if !(OLDEST..=FORMAT).contains(&self.format) {
            let words = format!("it is of format {}, but this program reads {FORMAT}", self.format);
            return Some(words);
        }
        if self.samples.len() > MOST_SAMPLES {
            return Some(format!("it has more than {MOST_SAMPLES} samples"));
        }
        let time = |x: &f64| x.is_finite() && *x > 0.0 && *x < 1e9;
        let number = |x: &f64| x.is_finite() && *x >= 0.0 && *x < 1e30;
        let numbers = [Some(self.work), Some(self.x), self.rms_error, self.predicted_per_sec];
        let is_timed =
            !matches!(self.kind, RecordKind::Skipped | RecordKind::Compiled | RecordKind::Machine);
        let is_missing = match self.kind {
            RecordKind::Derivatives => self.direct.is_none(),
            RecordKind::Run => self.run.as_ref().is_none_or(|run| run.outcome.is_none()),
            RecordKind::Tree => self.tree.is_none(),
            RecordKind::Devices => self.devices.is_none(),
            _ => false,
        };
        if self.kind == RecordKind::Ceiling && self.ceiling().is_none() {
            let known = Ceiling::ALL.map(Ceiling::key).join(", ");
            return Some(format!("its ceiling is not one of {known}"));
        }
        first_fault(&[
            (
                !self.samples.iter().all(time),
                "a sample is not a time: each must be above 0 and below 1e9 s",
            ),
            (
                !numbers.iter().flatten().all(number),
                "a number is negative, not finite or above 1e30",
            ),
            (
                is_timed && (self.samples.is_empty() || self.work == 0.0),
                "it has no samples, but does not say that it was skipped",
            ),
            (
                self.kind == RecordKind::Compiled && self.compiled.is_none(),
                "it is of a compiler, but holds none of its numbers",
            ),
            (
                (self.kind == RecordKind::Machine) != self.machine.is_some(),
                "it is of a machine and does not say which, or names one and is of another kind",
            ),
            (
                is_missing,
                "it is of forces with derivatives, a run or a tree, and does not say which",
            ),
        ])
        .or_else(|| self.machine.as_ref()?.fault())
        .or_else(|| self.compiled.as_ref()?.fault())
        .or_else(|| self.direct.as_ref()?.fault())
        .or_else(|| self.run.as_ref()?.fault())
        .or_else(|| self.tree.as_ref()?.fault())
    }
}

/// The first of these problems that is present.
pub(super) fn first_fault(problems: &[(bool, &str)]) -> Option<String> {
    problems.iter().find(|(is_present, _)| *is_present).map(|(_, words)| (*words).to_owned())
}

/// A number rounded to seven significant digits, all that a clock resolves; written and read back
/// it is the same.
pub(super) fn rounded(value: f64) -> f64 {
    messages::rounded(value, 7)
}

// A run of measurements: the fields common to all its records, and its start time.

/// The fields common to all records of one run.
#[derive(Clone, Debug)]
pub struct Run {
    commit: String,
    date: String,
    begun: String,
}

impl Run {
    /// A run that begins now, of a program built from this commit, if it is known.
    pub fn begin(commit: Option<&str>) -> Self {
        Self { commit: commit.unwrap_or("unknown").to_owned(), date: today(), begun: now() }
    }

    /// A record of `device` in a figure's series, without measurements yet.
    pub fn record(&self, device: RecordedDevice, figure: &str, series: &str) -> Record {
        Record {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: self.commit.clone(),
            date: self.date.clone(),
            begun: Some(self.begun.clone()),
            device,
            figure: figure.to_owned(),
            series: series.to_owned(),
            repeats: 1,
            ..Record::default()
        }
    }
}

/// Today, in UTC, as 2026-11-20.
fn today() -> String {
    let since = crate::wall_clock::SystemTime::now().duration_since(crate::wall_clock::UNIX_EPOCH);
    date(since.map_or(0, |d| d.as_secs() / 86_400))
}

/// The time of day now, in UTC, as 15:04:05.
fn now() -> String {
    let since = crate::wall_clock::SystemTime::now().duration_since(crate::wall_clock::UNIX_EPOCH);
    let secs = since.map_or(0, |d| d.as_secs() % 86_400);
    format!("{:02}:{:02}:{:02}", secs / 3600, secs / 60 % 60, secs % 60)
}

/// The date of a number of days after 1970-01-01 (the algorithm of H. Hinnant, "chrono-compatible
/// low-level date algorithms").
fn date(days: u64) -> String {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let in_year = day - (365 * year + year / 4 - year / 100);
    let shifted = (5 * in_year + 2) / 153;
    let (day, month) = (in_year - (153 * shifted + 2) / 5 + 1, (shifted + 2) % 12 + 1);
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A record as made by a session.
    pub fn example() -> Record {
        Record {
            format: FORMAT,
            version: "0.1.0".to_owned(),
            commit: "abc1234".to_owned(),
            date: "2026-11-20".to_owned(),
            begun: None,
            machine: None,
            device: RecordedDevice {
                name: "Made-up GPU".to_owned(),
                kind: "discrete GPU".to_owned(),
                backend: "vulkan".to_owned(),
                driver: "driver 1.2".to_owned(),
            },
            figure: "n".to_owned(),
            series: "default kernel".to_owned(),
            x: 4096.0,
            kind: RecordKind::Forces,
            sinks: 4096,
            sources: 4096,
            kernel: Some(KernelConfig { u: 4, s: 2, ..KernelConfig::tiled(256) }),
            ceiling: None,
            compiled: None,
            direct: None,
            run: None,
            tree: None,
            devices: None,
            work: 4096.0 * 4096.0,
            samples: vec![1e-3, 1.1e-3, 1.2e-3],
            repeats: 2,
            method: "GPU timestamps".to_owned(),
            rms_error: Some(2e-7),
            predicted_per_sec: Some(2e10),
            limit: Some("arithmetic".to_owned()),
            remark: None,
        }
    }

    #[test]
    fn each_fault_is_reported() {
        assert_eq!(example().fault(), None);
        let check = |change: &dyn Fn(&mut Record), words: &str| {
            let mut record = example();
            change(&mut record);
            let fault = record.fault().unwrap_or_default();
            assert!(fault.contains(words), "'{fault}' should say '{words}'");
        };
        check(&|r| r.format = 3, "format 3");
        check(&|r| r.kind = RecordKind::Machine, "machine");
        check(&|r| r.samples[1] = -1.0, "not a time");
        check(&|r| r.samples.clear(), "no samples");
        check(&|r| r.device.name = "x".repeat(301), "device.name");
        check(&|r| r.series = "a\u{1b}[2J".to_owned(), "control");
        check(&|r| r.work = f64::INFINITY, "finite");
        check(&|r| r.kind = RecordKind::Ceiling, "ceiling");
        check(&|r| r.kind = RecordKind::Compiled, "compiler");
    }

    #[test]
    fn the_rate_is_work_over_the_median() {
        assert!((example().per_sec().unwrap() - 4096.0 * 4096.0 / 1.1e-3).abs() < 1.0);
        assert_eq!(example().kernel_in_words(), "p=256 q=1 r=1 u=4 s=2");
    }
}

#[cfg(test)]
mod run_tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(20_777), "2026-11-20");
        assert!(today().as_str() > "2024-01-01");
        assert!(now().len() == 8 && now().as_str() < "24");
    }
}
