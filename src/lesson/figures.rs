//! Figures: their pictures, numbers and sentences, from records.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use gravitile::error::{Error, Result};
use gravitile::forces::direct::gpu::{KernelConfig, KernelRequest};
use gravitile::gpu::Gpu;
use gravitile::measure::figures::{self, Figure};
use gravitile::measure::plot::{Plot, number, short};
use gravitile::measure::slow_motion::{Cut, SlowMotion, state, svg};
use gravitile::measure::{
    BenchSizes, Ceilings, FigurePlan, Machine, RUNGS, Record, RecordKind, RecordedDevice, Run,
    Score, parse_json_lines, steps_of_score, sweep_ceilings, sweep_kernels,
};
use gravitile::tuned::KnownResults;
use serde_json::{Value, json};

use super::score;

/// The figure of the arithmetic model beside what was measured.
const MODEL: &str = "model";
/// The figures of kernels that it compares.
const MODELLED: [&str; 3] = ["n", "p", "q"];

/// The most seconds of a step of the score: a size whose steps take longer has no rate.
const LONGEST_STEP: f64 = 2.0;

/// A device, and what was measured on it so far.
pub struct MeasuredDevice {
    gpu: Arc<Gpu>,
    records: RefCell<Vec<Record>>,
    ceilings: Cell<Option<Ceilings>>,
}

impl MeasuredDevice {
    /// Nothing yet.
    pub fn new(gpu: Arc<Gpu>) -> Self {
        Self { gpu, records: RefCell::default(), ceilings: Cell::new(None) }
    }

    /// The device.
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// Measures a figure, whose plots are `width` pixels wide; `partly` receives what is known
    /// after each point, as JSON.
    ///
    /// # Errors
    ///
    /// An unknown figure; the device failed.
    pub async fn measure(
        &self,
        name: &str,
        width: f64,
        partly: &mut dyn FnMut(String),
    ) -> Result<String> {
        let mut update = |done: f64| {
            if let Ok(mut shown) = shown(name, &self.records.borrow(), width) {
                shown["done"] = done.into();
                partly(shown.to_string());
            }
        };
        if name == MODEL {
            self.predict(&mut update).await?;
        } else {
            self.sweep(name, &mut update).await?;
        }
        Ok(shown(name, &self.records.borrow(), width)?.to_string())
    }

    /// Measures the score, in steps of at most `LONGEST_STEP` seconds; `partly` receives the
    /// fraction that is done, as JSON.
    ///
    /// # Errors
    ///
    /// The device failed.
    pub async fn score(&self, partly: &mut dyn FnMut(String)) -> Result<String> {
        let mut going = |done: f64, doing: &str| {
            partly(json!({ "done": done, "doing": doing }).to_string());
            true
        };
        let place = (RecordedDevice::of(&self.gpu.adapter), Machine::read(Some(&self.gpu)));
        let (run, known) = (Run::begin(None), KnownResults::default());
        let records =
            steps_of_score(&self.gpu, &run, place, &known, LONGEST_STEP, &mut going).await?;
        let score = Score::all(&records).pop();
        let score = score.ok_or_else(|| Error::Outside("no step was measured".to_owned()))?;
        Ok(score::measured(&score).to_string())
    }

    /// Measures the kernels of a figure; earlier records of it are dropped.
    async fn sweep(&self, name: &str, update: &mut dyn FnMut(f64)) -> Result<()> {
        let figure = named(name)?;
        let sizes = BenchSizes::for_page(&self.gpu);
        let plan =
            FigurePlan { gpu: Some(&self.gpu), sizes: &sizes, added: KernelRequest::default() };
        self.records.borrow_mut().retain(|record| record.figure != name);
        let mut taken = |record, done: f64| {
            self.records.borrow_mut().push(record);
            update(done);
            true
        };
        let ceilings = self.ceilings.get();
        let run = Run::begin(None);
        sweep_kernels(&self.gpu, &run, &figure, &plan, ceilings.as_ref(), &mut taken).await
    }

    /// Measures the ceilings and those figures of the model that were not measured yet.
    async fn predict(&self, update: &mut dyn FnMut(f64)) -> Result<()> {
        let steps = MODELLED.len() as f64 + 1.0;
        let mut part = |done: f64| update(done / steps);
        let (ceilings, found) = sweep_ceilings(&self.gpu, &Run::begin(None), &mut part).await?;
        self.ceilings.set(Some(ceilings));
        let mut records = self.records.take();
        records.retain(|record| record.kind != RecordKind::Ceiling);
        records.iter_mut().for_each(|record| record.predict(Some(&ceilings)));
        records.extend(found);
        self.records.replace(records);
        for (begun, name) in MODELLED.iter().enumerate() {
            let is_known = self.records.borrow().iter().any(|record| record.figure == *name);
            if !is_known {
                self.sweep(name, &mut |done| update((begun as f64 + 1.0 + done) / steps)).await?;
            }
        }
        Ok(())
    }
}

fn named(name: &str) -> Result<Figure> {
    Ok(figures::named(name)?.remove(0))
}

/// What the page shows of a figure: its pictures as SVG, its numbers as rows of text under a head,
/// and what is concluded.
fn shown(name: &str, records: &[Record], width: f64) -> Result<Value> {
    if name == MODEL {
        return shown_model(records, width);
    }
    let figure = named(name)?;
    let mut rows = vec![["curve", "N", "kernel", "10⁹ interactions/s"].map(str::to_owned)];
    let own = records.iter().filter(|record| record.figure == name);
    let mut left: Vec<&Record> = Vec::new();
    for record in own.clone() {
        match record.per_sec() {
            Some(rate) => rows.push([
                record.series.clone(),
                short(record.sinks as f64),
                record.kernel_in_words(),
                number(rate / 1e9),
            ]),
            None => left.push(record),
        }
    }
    let why = left.first().and_then(|record| record.remark.clone());
    let method = own.clone().find(|record| !record.method.is_empty());
    let rungs: Vec<[&str; 2]> = RUNGS.iter().map(|rung| [rung.name, rung.why]).collect();
    Ok(json!({
        "plots": svgs(&figure.plots(records), width), "rows": rows,
        "about": if name == "ladder" { rungs } else { Vec::new() }, "sentences": figure.conclusions(records),
        "left": left.len(), "why": why, "method": method.map(|record| &record.method),
    }))
}

/// The ceilings, and the rates over N, p and q with the model's.
fn shown_model(records: &[Record], width: f64) -> Result<Value> {
    let mut plots = figures::ceilings_plots(records);
    for name in MODELLED {
        // Of p the number of bodies in the middle, of q the rates and not the gains.
        let own = named(name)?.plots(records);
        plots.extend(own.into_iter().nth(usize::from(name == "p")));
    }
    let head = ["curve", "N", "kernel", "measured, 10⁹/s", "model, 10⁹/s", "limit by the model"];
    let mut rows = vec![head.map(str::to_owned)];
    let is_one = |record: &&Record| {
        MODELLED.contains(&record.figure.as_str())
            && record.predicted_per_sec.is_some()
            && record.per_sec().is_some()
    };
    let own: Vec<&Record> = records.iter().filter(is_one).collect();
    rows.extend(own.iter().map(|record| {
        let rate = |rate: Option<f64>| rate.map_or(String::new(), |rate| number(rate / 1e9));
        [
            record.series.clone(),
            short(record.sinks as f64),
            record.kernel_in_words(),
            rate(record.per_sec()),
            rate(record.predicted_per_sec),
            record.limit.clone().unwrap_or_default(),
        ]
    }));
    let method = own.first().map(|record| &record.method);
    let sentences = figures::conclusions_on_model(&own);
    Ok(json!({
        "plots": svgs(&plots, width), "rows": rows, "sentences": sentences, "left": 0, "why": null, "method": method,
    }))
}

fn svgs(plots: &[Plot], width: f64) -> Vec<String> {
    plots.iter().map(|plot| plot.svg_of_width(width)).collect()
}

/// A figure of recorded measurements, which are JSON lines, with the device that was measured.
///
/// # Errors
///
/// An unknown figure; lines that are no records.
pub fn recorded(name: &str, lines: &str, width: f64) -> Result<String> {
    let records = parse_json_lines("lesson-records.json", lines)?;
    let is_own = |record: &&Record| match name {
        MODEL => record.kind == RecordKind::Ceiling,
        _ => record.figure == name && record.kind == RecordKind::Forces,
    };
    let device = records.iter().filter(is_own).find(|record| !record.device.is_cpu());
    let mut shown = shown(name, &records, width)?;
    if device.is_none() {
        shown["plots"] = json!([]);
    }
    let words = |record: &Record| {
        format!("{} ({}), {}", record.device.name, record.device.driver, record.date)
    };
    shown["device"] = device.map(words).into();
    Ok(shown.to_string())
}

/// The shape of a kernel in slow motion.
#[derive(Clone, Copy, Debug)]
pub struct LessonShape {
    /// p, q, r, u, s.
    pub numbers: [u32; 5],
    /// Without tiles.
    pub untiled: bool,
}

/// A kernel of this shape `secs` after its beginning, for `count` bodies, as a picture of `width`
/// pixels and in words.
///
/// # Errors
///
/// A shape that no adapter can run.
pub fn slow_motion(shape: LessonShape, count: usize, secs: f64, width: f64) -> Result<String> {
    let [p, q, r, u, s] = shape.numbers;
    let config = KernelConfig { q, r, u, s, untiled: shape.untiled, ..KernelConfig::tiled(p) };
    config.validate(None)?;
    let threads = config.threads();
    if threads > 1024 {
        return Err(Error::value("p x q", threads, "at most 1024".to_owned()));
    }
    let cut = Cut::of(&config, count);
    let phase = SlowMotion::at(secs, cut.shown[2], config.untiled);
    Ok(json!({
        "svg": svg(&config, count, &phase, width), "state": state(&config, &phase),
        "words": cut.in_words(&config, count) + ".",
    })
    .to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_figure_has_curves_numbers_and_its_device() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/results/nvidia-h200.jsonl");
        let lines = std::fs::read_to_string(path).unwrap();
        let shown: Value = serde_json::from_str(&recorded("n", &lines, 760.0).unwrap()).unwrap();
        let picture = shown["plots"][0].as_str().unwrap();
        assert!(
            picture.contains("the chapter&#x27;s kernel")
                || picture.contains("the chapter's kernel"),
            "{picture}"
        );
        assert!(shown["device"].as_str().unwrap().contains("H200"), "{}", shown["device"]);
        let rows = shown["rows"].as_array().unwrap().len() as u64 - 1;
        let all = rows + shown["left"].as_u64().unwrap();
        assert!(rows > 30 && all == lines.matches("\"figure\":\"n\"").count() as u64, "{shown}");
        assert!(recorded("nothing", &lines, 760.0).is_err());
    }

    #[test]
    fn recorded_ladder_has_all_rungs_and_shapes_fit_a_phone() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/results/nvidia-h100.jsonl");
        let lines = std::fs::read_to_string(path).unwrap();
        let shown = |name| -> Value {
            serde_json::from_str(&recorded(name, &lines, 330.0).unwrap()).unwrap()
        };
        for (name, rows) in [("ladder", 7 * 5), ("shapes", 21)] {
            let known = shown(name);
            assert!(known["device"].as_str().unwrap().contains("H100"), "{known}");
            assert_eq!(known["rows"].as_array().unwrap().len(), 1 + rows, "{name}");
            assert!(known["plots"][0].as_str().unwrap().contains("width=\"330\""), "{name}");
        }
        let ladder = shown("ladder");
        let about = ladder["about"].as_array().unwrap();
        assert!(about.len() == 7 && about[2][1].as_str().unwrap().contains("barrier"));
    }

    #[test]
    fn model_is_beside_recorded_rates_with_what_it_leaves_out() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/results/nvidia-h200.jsonl");
        let lines = std::fs::read_to_string(path).unwrap();
        let shown: Value = serde_json::from_str(&recorded(MODEL, &lines, 760.0).unwrap()).unwrap();
        let plots = shown["plots"].as_array().unwrap();
        assert_eq!(plots.len(), 4, "ceilings, and rates over N, p and q");
        let with_model =
            plots.iter().filter(|plot| plot.as_str().unwrap().contains("by the model"));
        assert_eq!(with_model.count(), 3);
        assert!(plots[2].as_str().unwrap().contains("N = 4,096"));
        let predicted = lines.lines().filter(|line| {
            let own = MODELLED.iter().any(|name| line.contains(&format!("\"figure\":\"{name}\"")));
            own && line.contains("\"predicted_per_sec\"")
        });
        assert_eq!(shown["rows"].as_array().unwrap().len(), 1 + predicted.count());
        let sentences = shown["sentences"].to_string();
        assert!(sentences.contains("predictions are within 25 %"), "{sentences}");
        assert!(sentences.contains("for the limit, and"), "{sentences}");
        let other = lines.lines().find(|line| line.contains("\"figure\":\"unroll\"")).unwrap();
        let none: Value = serde_json::from_str(&recorded(MODEL, other, 760.0).unwrap()).unwrap();
        assert!(none["plots"].as_array().unwrap().is_empty() && none["device"].is_null());
    }

    #[test]
    fn slow_motion_shows_possible_shapes_and_refuses_others() {
        let shape = |numbers| LessonShape { numbers, untiled: false };
        let frame: Value =
            serde_json::from_str(&slow_motion(shape([64, 1, 4, 4, 1]), 4096, 0.1, 340.0).unwrap())
                .unwrap();
        assert!(frame["state"].as_str().unwrap().contains("load: each of the 64 threads"));
        let picture = frame["svg"].as_str().unwrap();
        assert!(picture.contains("width=\"340\"") && picture.contains("with 4 sinks each"));
        // Nothing lies beyond its right edge: no rectangle, and no text by its usual width.
        let attribute = |part: &str, name: &str| -> f64 {
            part.split(name).nth(1).unwrap().split('"').nth(1).unwrap().parse().unwrap()
        };
        for part in picture.split("<rect class=\"c").skip(1) {
            assert!(attribute(part, " x=") + attribute(part, " width=") <= 340.0, "{part}");
        }
        for part in picture.split("<text x=").skip(1).filter(|part| part.contains("middle")) {
            let x: f64 = part.split('"').nth(1).unwrap().parse().unwrap();
            let words = part.split('>').nth(1).unwrap().split('<').next().unwrap();
            assert!(x + words.chars().count() as f64 * 6.7 / 2.0 <= 340.0, "{words}");
        }
        assert!(
            frame["words"].as_str().unwrap().contains("16 rows of workgroups"),
            "{}",
            frame["words"]
        );
        for wrong in [[0, 1, 1, 1, 1], [64, 64, 1, 1, 1], [64, 1, 0, 1, 1]] {
            assert!(slow_motion(shape(wrong), 4096, 0.0, 760.0).is_err(), "{wrong:?}");
        }
    }
}
