//! Progress bars on standard error, if it is a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar of `length` steps; shown only on a terminal.
pub fn bar(length: u64, what: &str) -> ProgressBar {
    if super::print::is_silent() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(length);
    let style = "{prefix:>10} [{bar:30}] {pos}/{len} {msg} {elapsed} (left {eta})";
    let style = ProgressStyle::with_template(style).expect("the template should be valid");
    bar.set_style(style.progress_chars("=> "));
    bar.set_prefix(what.to_owned());
    bar
}

/// A spinner for work of unknown length; removed when dropped.
pub fn waiting(what: &'static str) -> Waiting {
    if super::print::is_silent() {
        return Waiting(ProgressBar::hidden());
    }
    let spinner = ProgressBar::new_spinner().with_message(what);
    let style = ProgressStyle::with_template("{msg:>10} {spinner} {elapsed}");
    spinner.set_style(style.expect("the template should be valid"));
    spinner.enable_steady_tick(std::time::Duration::from_millis(250));
    Waiting(spinner)
}

/// See [`waiting`].
pub struct Waiting(ProgressBar);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
