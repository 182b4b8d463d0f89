//! Progress bars on standard error, where it is a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar of `length` steps of something; it appears only where somebody watches.
pub fn bar(length: u64, what: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    let style = "{prefix:>10} [{bar:30}] {pos}/{len} {msg} {elapsed} (left {eta})";
    let style = ProgressStyle::with_template(style).expect("the template should be valid");
    bar.set_style(style.progress_chars("=> "));
    bar.set_prefix(what.to_owned());
    bar
}
