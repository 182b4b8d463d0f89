//! The editor: errors of a kernel's text as one types, and the verdict on it: compared with f64 on
//! the device, with loops that end, and by the addresses that its threads touch.

use std::sync::Arc;

use gravitile::error::{Error, Result};
use gravitile::forces::direct::gpu::{KernelConfig, own};
use gravitile::gpu::{Fault, Gpu, bounded};
use gravitile::measure::plot::{number, short};
use gravitile::measure::{KernelTimer, Timer, accesses, cases_of, check_case};
use serde_json::{Value, json};

/// What the text is called in messages.
const NAME: &str = "kernel";

/// Bodies of the rate, and samples.
const BODIES: usize = 4096;
const SAMPLES: usize = 3;

/// The chapter's kernel, for comparison.
const CHAPTER: KernelConfig = KernelConfig { u: 4, ..KernelConfig::tiled(256) };

/// The errors of a text with line and column, or its shape in words, as JSON.
pub fn diagnose(text: &str) -> String {
    let faults: Vec<Value> = own::fault_of(text)
        .map(|Fault { line, column, message }| json!({ "line": line, "column": column, "message": message }))
        .into_iter()
        .collect();
    let words = match own::shape_of(NAME, text) {
        Ok(config) => format!("It compiles: {} threads a workgroup, {config}.", config.threads()),
        Err(_) => String::new(),
    };
    json!({ "errors": faults, "words": words }).to_string()
}

/// The verdict on a kernel: findings, whether all are as they should be, and the rate of one that
/// is right, as JSON.
///
/// # Errors
///
/// The device failed.
pub async fn judge(gpu: &Arc<Gpu>, text: &str) -> Result<String> {
    let mut findings: Vec<(bool, String)> = Vec::new();
    match accesses(NAME, text) {
        Ok(found) => {
            findings.extend(found.findings().into_iter().map(|one| (one.is_fine, one.words)));
        }
        Err(error) => findings.push((false, error.to_string())),
    }
    match compared(gpu, text).await {
        Ok(compared) => findings.splice(0..0, [compared]).for_each(drop),
        Err(error @ (Error::Device(_) | Error::Stopped)) => return Err(error),
        Err(error) => findings.splice(0..0, [(false, error.to_string())]).for_each(drop),
    }
    let passed = findings.iter().all(|(fine, _)| *fine);
    let is_right = findings.first().is_some_and(|(fine, _)| *fine);
    // A right kernel ends, so its text is timed unchanged.
    let rate = if is_right { Some(rates(gpu, text).await?) } else { None };
    let findings: Vec<Value> =
        findings.into_iter().map(|(ok, words)| json!({ "ok": ok, "words": words })).collect();
    Ok(json!({ "passed": passed, "findings": findings, "rate": rate }).to_string())
}

/// A first result of a kernel that compiles, in words: its errors and rate with `BODIES` bodies.
/// Not run if the threads that are followed do not end.
///
/// # Errors
///
/// The device failed.
pub async fn attempt(gpu: &Arc<Gpu>, text: &str) -> Result<String> {
    let words = match attempted(gpu, text).await {
        Err(error @ (Error::Device(_) | Error::Stopped)) => return Err(error),
        Err(error) => error.to_string(),
        Ok(words) => words,
    };
    Ok(json!({ "words": words }).to_string())
}

async fn attempted(gpu: &Arc<Gpu>, text: &str) -> Result<String> {
    if let Some(why) = accesses(NAME, text)?.endless {
        return Ok(why);
    }
    let config = own::load_text(NAME, &bounded(NAME, text)?)?;
    let mut timer = KernelTimer::new(gpu, BODIES, BODIES)?;
    timer.prepare(&config).await?;
    let known = timer.prepared(&config).map(|(_, secs, error)| {
        let rate = number((BODIES * BODIES) as f64 / secs / 1e9);
        format!(
            "Right with {} bodies, at about {rate} x 10⁹ interactions/s (errors of {:.0e}, against f64).",
            short(BODIES as f64),
            error.rms
        )
    });
    Ok(known.unwrap_or_default())
}

/// The sums against f64, at all sizes around a tile, by the text whose loops end.
async fn compared(gpu: &Arc<Gpu>, text: &str) -> Result<(bool, String)> {
    let config = own::load_text(NAME, &bounded(NAME, text)?)?;
    let cases = cases_of(gpu, config)?;
    let count = cases.len();
    let mut worst = 0.0f64;
    for case in cases {
        let row = check_case(gpu, case).await?;
        worst = worst.max(row.acceleration.worst);
        if !row.passed() {
            let (sinks, sources) = (case.sinks, case.sources);
            let why = match (row.in_bounds, row.same_in_pieces) {
                (false, _) => "it writes beyond the last sink".to_owned(),
                (_, false) => "its bits differ when the work is cut into pieces".to_owned(),
                _ => format!("its error is {:.1e}, against f64", row.acceleration.rms),
            };
            return Ok((false, format!("wrong with {sinks} sinks and {sources} sources: {why}")));
        }
    }
    Ok((true, format!("right at all {count} sizes: the largest error is {worst:.1e}, against f64")))
}

/// Its rate, that of the chapter's kernel, and that of the kernel that the program chooses.
async fn rates(gpu: &Arc<Gpu>, text: &str) -> Result<String> {
    let own = own::load_text(NAME, text)?;
    let default =
        gravitile::forces::direct::gpu::KernelRequest::default().resolve(gpu, BODIES, BODIES)?;
    let mut timer = KernelTimer::new(gpu, BODIES, BODIES)?;
    let mut rates = Vec::new();
    for config in [own, CHAPTER, default] {
        timer.sample(&config).await?;
        let mut best = f64::INFINITY;
        for _ in 0..SAMPLES {
            best = best.min(timer.sample(&config).await?);
        }
        rates.push(number((BODIES * BODIES) as f64 / best / 1e9));
    }
    let [mine, chapter, best] = [&rates[0], &rates[1], &rates[2]];
    Ok(format!(
        "With {BODIES} bodies it makes {mine} x 10⁹ interactions/s, the chapter's kernel {chapter}, gravitile's default {best}."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_line_and_column_and_a_kernel_its_shape() {
        let plain = include_str!("../../docs/lesson/plain.wgsl");
        let answer = |text: &str| -> Value { serde_json::from_str(&diagnose(text)).unwrap() };
        let fine = answer(plain);
        assert_eq!(fine["errors"].as_array().unwrap().len(), 0);
        assert!(fine["words"].as_str().unwrap().contains("64 threads"), "{fine}");
        let wrong = answer(&plain.replace("let towards", "lett towards"));
        let line = plain.lines().position(|line| line.contains("let towards")).unwrap() + 1;
        assert_eq!(wrong["errors"][0]["line"], line, "{wrong}");
        let unfit = answer("fn f() {}");
        assert!(unfit["errors"][0]["message"].as_str().unwrap().contains("const P"), "{unfit}");
    }
}
