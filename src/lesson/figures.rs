//! Figures: their pictures, numbers and sentences, from records.

use std::sync::Arc;

use gravitile::error::{Error, Result};
use gravitile::forces::direct::gpu::KernelConfig;
use gravitile::forces::direct::gpu::KernelRequest;
use gravitile::gpu::Gpu;
use gravitile::measure::figures::{self, Figure};
use gravitile::measure::plot::{number, short};
use gravitile::measure::slow_motion::{Cut, SlowMotion, svg};
use gravitile::measure::{Kind, Plan, Record, Run, Sizes, parse_json_lines, sweep_kernels};
use serde_json::{Value, json};

/// What the page shows of a figure.
pub struct Shown<'a> {
    figure: &'a Figure,
    records: &'a [Record],
}

impl Shown<'_> {
    /// Its pictures as SVG, its numbers as rows of text under a head, and what is concluded.
    pub fn json(&self) -> Value {
        let plots: Vec<String> =
            self.figure.plots(self.records).iter().map(|plot| plot.svg()).collect();
        let mut rows = vec![["curve", "N", "kernel", "10⁹ interactions/s"].map(str::to_owned)];
        let own = self.records.iter().filter(|record| record.figure == self.figure.name);
        let mut left: Vec<&Record> = Vec::new();
        for record in own {
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
        let sentences = self.figure.conclusions(self.records);
        let method = self.records.iter().find(|record| !record.method.is_empty());
        json!({
            "plots": plots, "rows": rows, "sentences": sentences, "left": left.len(), "why": why,
            "method": method.map(|record| &record.method),
        })
    }
}

fn named(name: &str) -> Result<Figure> {
    Ok(figures::named(name)?.remove(0))
}

/// Measures a figure on the device; `partly` receives what is known after each point, as JSON.
///
/// # Errors
///
/// An unknown figure; the device failed.
pub async fn measure(gpu: &Arc<Gpu>, name: &str, partly: &mut dyn FnMut(String)) -> Result<String> {
    let figure = named(name)?;
    let sizes = Sizes::for_page(gpu);
    let plan = Plan { gpu: Some(gpu), sizes: &sizes, added: KernelRequest::NONE };
    let mut records = Vec::new();
    let mut taken = |record, done: f64| {
        records.push(record);
        let mut shown = Shown { figure: &figure, records: &records }.json();
        shown["done"] = done.into();
        partly(shown.to_string());
        true
    };
    sweep_kernels(gpu, &Run::begin(None), &figure, &plan, &mut taken).await?;
    Ok(Shown { figure: &figure, records: &records }.json().to_string())
}

/// A figure of recorded measurements, which are JSON lines, with the device that was measured.
///
/// # Errors
///
/// An unknown figure; lines that are no records.
pub fn recorded(name: &str, lines: &str) -> Result<String> {
    let figure = named(name)?;
    let records = parse_json_lines("lesson-records.json", lines)?;
    let own = |record: &&Record| record.figure == name && record.kind == Kind::Forces;
    let device = records.iter().filter(own).find(|record| !record.device.is_cpu());
    let mut shown = Shown { figure: &figure, records: &records }.json();
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
pub struct Shape {
    /// p, q, r, u, s.
    pub numbers: [u32; 5],
    /// Without tiles.
    pub untiled: bool,
}

/// A kernel of this shape `secs` after its beginning, for `count` bodies, as a picture and in words.
///
/// # Errors
///
/// A shape that no adapter can run.
pub fn slow_motion(shape: Shape, count: usize, secs: f64) -> Result<String> {
    let [p, q, r, u, s] = shape.numbers;
    let config = KernelConfig { q, r, u, s, untiled: shape.untiled, ..KernelConfig::tiled(p) };
    config.validate(None)?;
    let threads = config.threads();
    if threads > 1024 {
        return Err(Error::value("p x q", threads, "at most 1024".to_owned()));
    }
    let cut = Cut::of(&config, count);
    let phase = SlowMotion::at(secs, cut.shown[2], config.untiled);
    let picture = svg(&config, count, &phase);
    Ok(json!({ "svg": picture, "words": cut.in_words(&config, count) + "." }).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_figure_has_curves_numbers_and_its_device() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/results/nvidia-h200.jsonl");
        let lines = std::fs::read_to_string(path).unwrap();
        let shown: Value = serde_json::from_str(&recorded("n", &lines).unwrap()).unwrap();
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
        let none: Value = serde_json::from_str(&recorded("ladder", &lines).unwrap()).unwrap();
        assert_eq!(none["plots"].as_array().unwrap().len(), 0);
        assert!(recorded("nothing", &lines).is_err());
    }

    #[test]
    fn slow_motion_shows_possible_shapes_and_refuses_others() {
        let shape = |numbers| Shape { numbers, untiled: false };
        let frame: Value =
            serde_json::from_str(&slow_motion(shape([64, 1, 4, 4, 1]), 4096, 0.1).unwrap())
                .unwrap();
        assert!(frame["svg"].as_str().unwrap().contains("load: each of the 64 threads"));
        assert!(
            frame["words"].as_str().unwrap().contains("16 rows of workgroups"),
            "{}",
            frame["words"]
        );
        for wrong in [[0, 1, 1, 1, 1], [64, 64, 1, 1, 1], [64, 1, 0, 1, 1]] {
            assert!(slow_motion(shape(wrong), 4096, 0.0).is_err(), "{wrong:?}");
        }
    }
}
