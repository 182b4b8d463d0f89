//! A run of measurements: the fields common to all its records, and its start time.

use super::record::{Device, FORMAT, Record};

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
    pub fn record(&self, device: Device, figure: &str, series: &str) -> Record {
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
    let since = web_time::SystemTime::now().duration_since(web_time::UNIX_EPOCH);
    date(since.map_or(0, |d| d.as_secs() / 86_400))
}

/// The time of day now, in UTC, as 15:04:05.
fn now() -> String {
    let since = web_time::SystemTime::now().duration_since(web_time::UNIX_EPOCH);
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
mod tests {
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
