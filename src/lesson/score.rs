//! Scores to compare in a class: a score as a short text for a link and a QR code, and pasted ones
//! as curves and a table. Nothing is sent anywhere.

use gravitile::error::{Error, Result};
use gravitile::measure::plot::{Curve, CurvePoint, Plot, PlotAxis, number};
use gravitile::measure::{SCORE_SIZES, Score};
use qrcodegen::{QrCode, QrCodeEcc};
use serde_json::{Value, json};

/// The most scores that are compared, and the longest name of a device.
const MOST: usize = 30;
const LONGEST_NAME: usize = 60;
/// The largest rate that is believed, in 10^9 interactions per second: ten times that of any device
/// so far.
const LARGEST: f64 = 1e5;

/// What a score's link has after this mark.
const MARK: &str = "#score=";

fn in_words(score: &Score) -> String {
    let [device, _, few, some, many] = score.cells();
    let value = match score.value() {
        Some(value) => format!("Score {}", number(value)),
        None => "No score, since a size is missing".to_owned(),
    };
    format!(
        "{value}: {few}, {some} and {many} x 10⁹ interactions/s with 1,024, 16,384 and 262,144 bodies, on {device}."
    )
}

/// `NVIDIA_H200~310~1871~2174~2026-11-22`: characters that every program leaves in a link.
fn text(score: &Score) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || ".-".contains(c) { c } else { '_' };
    let device: String = score.device.chars().take(LONGEST_NAME).map(plain).collect();
    let rate = |rate: Option<f64>| rate.map_or(String::new(), |rate| number(rate).replace(',', ""));
    let [few, some, many] = score.rates.map(rate);
    let date = score.date.split(' ').next().unwrap_or_default();
    format!("{device}~{few}~{some}~{many}~{date}")
}

/// From a link, what follows its mark, or the line that `gravitile bench --figure score` prints.
fn parse(line: &str) -> Result<Score> {
    let line = line.trim();
    let known = line
        .split_once(" bodies at ")
        .and_then(|(_, rest)| rest.split_once(" G interactions/s on "));
    let (device, rates, date) = if let Some((rates, rest)) = known {
        // Thousands have a comma without a space after it.
        let rates: Vec<String> = rates.split(", ").map(|rate| rate.replace(',', "")).collect();
        let (device, date) = rest.rsplit_once(", ").unwrap_or((rest, ""));
        let device = device.rsplit_once(" (").map_or(device, |(device, _)| device);
        (device.to_owned(), rates, date.split(' ').next().unwrap_or_default().to_owned())
    } else {
        let text = line.rsplit_once(MARK).map_or(line, |(_, text)| text);
        let parts: Vec<&str> = text.split('~').collect();
        let [device, few, some, many, date] = parts[..] else {
            return Err(wrong(
                line,
                "is no score: paste a link to one, or the line that 'gravitile bench --figure score' prints",
            ));
        };
        (device.replace('_', " "), [few, some, many].map(str::to_owned).to_vec(), date.to_owned())
    };
    let rates: [String; 3] = rates.try_into().map_err(|_| wrong(line, "has not three rates"))?;
    let rate = |text: &String| match text.as_str() {
        "" | "–" => Ok(None),
        text => match text.parse::<f64>() {
            Ok(rate) if rate > 0.0 && rate < LARGEST => Ok(Some(rate)),
            _ => Err(wrong(line, &format!("has a rate that is not above 0 and below {LARGEST}"))),
        },
    };
    let device = device.split_whitespace().collect::<Vec<_>>().join(" ");
    if device.is_empty()
        || device.chars().count() > LONGEST_NAME
        || device.chars().any(char::is_control)
    {
        return Err(wrong(line, &format!("names no device in 1 to {LONGEST_NAME} characters")));
    }
    let is_day = date.len() == 10 && date.chars().all(|c| c.is_ascii_digit() || c == '-');
    let date = if is_day { date } else { String::new() };
    let rates = [rate(&rates[0])?, rate(&rates[1])?, rate(&rates[2])?];
    Ok(Score { device, rates, date, ..Score::default() })
}

fn wrong(line: &str, what: &str) -> Error {
    let begin: String = line.chars().filter(|c| !c.is_control()).take(40).collect();
    Error::Outside(format!("'{begin}' {what}"))
}

/// What the page shows of a measured score: in words, its text for a link, and what was remarked,
/// as JSON.
pub fn measured(score: &Score) -> Value {
    json!({ "words": in_words(score), "text": text(score), "remarks": score.remarks })
}

/// A text as a QR code, an SVG picture of black squares on white.
///
/// # Errors
///
/// A text too long for a code, of more than 2,000 bytes or so.
pub fn qr(text: &str) -> Result<String> {
    // What scanners need around it.
    const QUIET: i32 = 4;
    // A square's side. Other than whole pixels would leave gaps between squares, which scanners
    // stumble over.
    const PIXELS: i32 = 5;
    let code = QrCode::encode_text(text, QrCodeEcc::Medium)
        .map_err(|error| Error::Outside(format!("no QR code holds this link: {error}")))?;
    let size = code.size();
    let mut squares = String::new();
    for (x, y) in (0..size).flat_map(|y| (0..size).map(move |x| (x, y))) {
        if code.get_module(x, y) {
            squares += &format!("M{},{}h1v1h-1z", x + QUIET, y + QUIET);
        }
    }
    let whole = size + 2 * QUIET;
    let side = PIXELS * whole;
    Ok(format!(
        "<svg role=\"img\" aria-label=\"QR code of the link to this score\" width=\"{side}\" height=\"{side}\" viewBox=\"0 0 {whole} {whole}\" \
         shape-rendering=\"crispEdges\" xmlns=\"http://www.w3.org/2000/svg\"><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\
         <path fill=\"#000\" d=\"{squares}\"/></svg>"
    ))
}

/// Pasted scores, one a line, as curves over N, `width` pixels wide, and a table with the best
/// first, and what is wrong with lines that are none, as JSON.
pub fn compare(text: &str, width: f64) -> String {
    let mut problems = Vec::new();
    let mut scores: Vec<Score> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if scores.len() == MOST || problems.len() == MOST {
            problems.push(format!("only the first {MOST} scores are compared"));
            break;
        }
        match parse(line) {
            // A line that is pasted twice counts once.
            Ok(score) if scores.contains(&score) => {}
            Ok(score) => scores.push(score),
            Err(error) => problems.push(error.to_string()),
        }
    }
    scores.sort_by(|a, b| {
        let key = |score: &Score| (score.value(), score.rates[1], score.rates[0]);
        key(b).partial_cmp(&key(a)).unwrap_or(std::cmp::Ordering::Equal)
    });
    let curve = |(k, score): (usize, &Score)| {
        let point = |(n, rate): (&usize, &Option<f64>)| Some(CurvePoint::at(*n as f64, (*rate)?));
        let points = SCORE_SIZES.iter().zip(&score.rates).filter_map(point).collect();
        Curve::measured(format!("{} {}", k + 1, score.device), points, k)
    };
    let curves: Vec<Curve> = scores.iter().enumerate().map(curve).collect();
    let y = PlotAxis::decades("rate of whole steps, 10⁹ interactions/s");
    let plot = Plot::lines("Scores compared", PlotAxis::powers("number of bodies N"), y, curves);
    let head = ["", "device", "score", "1,024", "16,384", "262,144", "date"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(scores.iter().enumerate().map(|(k, score)| {
        let [device, value, few, some, many] = score.cells();
        [(k + 1).to_string(), device, value, few, some, many, score.date.clone()]
    }));
    let plots = if scores.is_empty() { Vec::new() } else { vec![plot.svg_of_width(width)] };
    json!({ "plots": plots, "rows": rows, "problems": problems }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "gravitile 0.1.0 abc: 1,080 (21,600 GFLOP/s at 20 per interaction), steps of 1,024, 16,384, 262,144 bodies \
                        at 310, 1,871, 2,174 G interactions/s on NVIDIA H200 (NVIDIA 580.159.04), 2026-11-22 19:09:00";

    #[test]
    fn score_survives_its_link_and_the_programs_line_is_read() {
        let of_line = parse(LINE).unwrap();
        assert_eq!(of_line.rates, [Some(310.0), Some(1871.0), Some(2174.0)]);
        assert_eq!(text(&of_line), "NVIDIA_H200~310~1871~2174~2026-11-22");
        let link = format!("https://example.org/lesson.html{MARK}{}", text(&of_line));
        assert_eq!(parse(&link).unwrap(), of_line);
        let blank = Score { rates: [Some(0.123), None, None], ..of_line };
        assert_eq!(parse(&text(&blank)).unwrap(), blank);
        let odd = Score { device: "Größe <b> & ~#(2)".to_owned(), ..blank };
        assert_eq!(parse(&text(&odd)).unwrap().device, "Gr e b 2");
    }

    #[test]
    fn program_prints_what_is_read() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/results/nvidia-h200.jsonl");
        let records = gravitile::measure::read_json_lines(path.as_ref()).unwrap();
        for score in Score::all(&records) {
            let of_line = parse(&score.line()).unwrap();
            let shown = measured(&score);
            assert_eq!(parse(shown["text"].as_str().unwrap()).unwrap(), of_line);
            let near = (of_line.value().unwrap() / score.value().unwrap() - 1.0).abs() < 0.01;
            assert!(near && of_line.device == score.device, "{of_line:?}");
            assert!(shown["words"].as_str().unwrap().starts_with("Score 1,0"), "{shown}");
        }
    }

    #[test]
    fn pasted_scores_are_sorted_and_others_named() {
        let lines = format!(
            "{LINE}\n\nSlow~1~2~~2026-11-23\nnonsense\n{LINE}\nMiddle~10~20~30~\nBad~1~-2~3~\nBad~1~inf~3~"
        );
        let shown: Value = serde_json::from_str(&compare(&lines, 760.0)).unwrap();
        let devices: Vec<&str> = shown["rows"]
            .as_array()
            .unwrap()
            .iter()
            .skip(1)
            .map(|row| row[1].as_str().unwrap())
            .collect();
        assert_eq!(devices, ["NVIDIA H200", "Middle", "Slow"]);
        assert_eq!(shown["problems"].as_array().unwrap().len(), 3, "{}", shown["problems"]);
        assert_eq!(shown["plots"].as_array().unwrap().len(), 1);
        let many: String = (0..40).map(|k| format!("GPU {k}~1~2~3~\n")).collect();
        let shown: Value = serde_json::from_str(&compare(&many, 760.0)).unwrap();
        assert_eq!(shown["rows"].as_array().unwrap().len(), 1 + MOST);
        assert!(shown["problems"][0].as_str().unwrap().contains("first 30"));
        let none: Value = serde_json::from_str(&compare("", 760.0)).unwrap();
        assert!(none["plots"].as_array().unwrap().is_empty());
    }

    #[test]
    fn link_fits_a_code_that_phones_read() {
        let code = qr(&format!(
            "https://example.org/gravitile/lesson.html{MARK}NVIDIA_H200~310~1871~2174~2026-11-22"
        ))
        .unwrap();
        let side: f64 = code
            .split("viewBox=\"0 0 ")
            .nth(1)
            .unwrap()
            .split(' ')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        // At 300 pixels a square has at least 5.
        assert!(side <= 60.0, "{side}");
        assert!(qr(&"x".repeat(4000)).is_err());
    }
}
