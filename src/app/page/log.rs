//! Logs to the browser's console: always warnings, and more if the page's address has `?log=trace`.

use log::{Level, LevelFilter, Log, Metadata, Record};
use wasm_bindgen::JsValue;

struct Console;

impl Log for Console {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("gravitile") || metadata.level() <= Level::Warn
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let line = JsValue::from(format!("{}: {}", record.target(), record.args()));
        match record.level() {
            Level::Error => web_sys::console::error_1(&line),
            Level::Warn => web_sys::console::warn_1(&line),
            _ => web_sys::console::log_1(&line),
        }
    }

    fn flush(&self) {}
}

/// Starts logging.
pub fn set_up() {
    static CONSOLE: Console = Console;
    let search = super::browser().and_then(|browser| browser.location().search().ok());
    let level = search
        .as_deref()
        .and_then(|search| search.split_once("log=")?.1.split('&').next()?.parse().ok());
    if log::set_logger(&CONSOLE).is_ok() {
        log::set_max_level(level.unwrap_or(LevelFilter::Warn));
    }
}
