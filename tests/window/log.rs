//! What the program reports to have seen and done, line by line (`src/app/window/seen.rs`).

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

/// What makes the program report it.
pub const FILTER: &str = "error,wgpu_hal=off,wgpu_core=off,naga=off,gravitile::seen=trace";
const PREFIX: &str = "gravitile: ";

/// Reads a file that grows.
pub struct Log {
    file: File,
    rest: Vec<u8>,
    lines: Vec<String>,
    grown: Instant,
}

impl Log {
    pub fn of(path: &Path) -> Self {
        let file = File::open(path).expect("it was made before");
        Self { file, rest: Vec::new(), lines: Vec::new(), grown: Instant::now() }
    }

    /// All lines so far.
    pub fn lines(&mut self) -> &[String] {
        let read = self.file.read_to_end(&mut self.rest).expect("it can be read");
        if read > 0 {
            self.grown = Instant::now();
        }
        // An incomplete line waits for its rest.
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            self.lines.push(line.trim_end().trim_start_matches(PREFIX).to_owned());
        }
        &self.lines
    }

    /// Time since the last line.
    pub fn silence(&mut self) -> Duration {
        self.lines();
        self.grown.elapsed()
    }
}

/// Whether a line reports a complete frame.
pub fn is_frame(line: &str) -> bool {
    line.starts_with("frame ")
}

/// Whether a line reports that no frame follows until something happens.
pub fn is_rest(line: &str) -> bool {
    line == "rests"
}

/// How many frames the lines report.
pub fn frames(lines: &[String]) -> usize {
    lines.iter().filter(|line| is_frame(line)).count()
}
