//! The trace log of the window: one line for each frame, input event and action
//! (`src/app/window/trace.rs`).

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

/// `RUST_LOG` value that enables the trace log.
pub const LOG_FILTER: &str = "error,wgpu_hal=off,wgpu_core=off,naga=off,gravitile::seen=trace";
const PREFIX: &str = "gravitile: ";

/// Reads a log file while it grows.
pub struct Log {
    file: File,
    partial: Vec<u8>,
    lines: Vec<String>,
    last_growth: Instant,
}

impl Log {
    pub fn of(path: &Path) -> Self {
        let file = File::open(path).expect("it was made before");
        Self { file, partial: Vec::new(), lines: Vec::new(), last_growth: Instant::now() }
    }

    /// All lines so far.
    pub fn lines(&mut self) -> &[String] {
        let read = self.file.read_to_end(&mut self.partial).expect("it can be read");
        if read > 0 {
            self.last_growth = Instant::now();
        }
        // An incomplete line stays in the buffer.
        while let Some(end) = self.partial.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.partial.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            self.lines.push(line.trim_end().trim_start_matches(PREFIX).to_owned());
        }
        &self.lines
    }

    /// Time since the last line.
    pub fn silence(&mut self) -> Duration {
        self.lines();
        self.last_growth.elapsed()
    }
}

/// Whether the line reports a finished frame.
pub fn is_frame_line(line: &str) -> bool {
    line.starts_with("frame ")
}

/// Whether the line reports that no frame follows until the next event.
pub fn is_idle_line(line: &str) -> bool {
    line == "rests"
}

/// Number of frames that the lines report.
pub fn frames(lines: &[String]) -> usize {
    lines.iter().filter(|line| is_frame_line(line)).count()
}
