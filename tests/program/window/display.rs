//! A virtual display, the tools that drive it, and screenshots of it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

/// An Xvfb server, killed on drop.
pub struct Display {
    server: Child,
    /// The value of `DISPLAY`, such as `:7`.
    pub name: String,
}

/// The tools that these tests need and that are not installed, if any.
fn missing() -> Option<String> {
    let tools = [("Xvfb", "-help"), ("xdotool", "version"), ("import", "-version")];
    let is_missing = |(tool, arg): &(&str, &str)| {
        let null = || Stdio::null();
        Command::new(tool).arg(arg).stdout(null()).stderr(null()).status().is_err()
    };
    let missing: Vec<&str> =
        tools.iter().filter(|t| is_missing(t)).map(|(tool, _)| *tool).collect();
    (!missing.is_empty()).then(|| missing.join(", "))
}

/// Whether the tools for these tests are installed. If not, reports the test as skipped, or panics
/// with GRAVITILE_WINDOW_TESTS=1.
pub fn can_run_window_tests() -> bool {
    let Some(missing) = missing() else { return true };
    let required = std::env::var_os("GRAVITILE_WINDOW_TESTS").is_some_and(|value| value == "1");
    assert!(!required, "not installed: {missing}; script/common.sh names the packages");
    super::skip::skipped("a story of the window", &format!("not installed: {missing}"));
    false
}

impl Display {
    pub fn open() -> Self {
        // The server picks a free display number and prints it once it is ready.
        let mut server = Command::new("Xvfb")
            .args(["-displayfd", "1", "-screen", "0", "1000x700x24", "-nolisten", "tcp"])
            // Without this it resets when its last client leaves, and refuses clients meanwhile.
            .arg("-noreset")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Xvfb should start");
        let mut number = String::new();
        let stdout = server.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut number).expect("Xvfb should tell its number");
        let number = number.trim();
        assert!(!number.is_empty(), "Xvfb ended without telling its number");
        Self { server, name: format!(":{number}") }
    }

    /// Runs xdotool and returns its trimmed output, or an error message.
    pub fn xdotool(&self, args: &[&str]) -> Result<String, String> {
        let output = self.tool("xdotool", args);
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let problem = || format!("{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        if output.status.success() { Ok(text) } else { Err(problem()) }
    }

    /// A screenshot of the whole display.
    pub fn picture(&self) -> Picture {
        let output = self.tool("import", &["-window", "root", "-depth", "8", "png:-"]);
        Picture::decode(&output.stdout)
    }

    fn tool(&self, tool: &str, args: &[&str]) -> Output {
        let command = &mut Command::new(tool);
        command.args(args).env("DISPLAY", &self.name).output().expect("the tool should start")
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// A rectangle of a picture: left, top, right, bottom in pixels.
pub type Region = [usize; 4];

/// A decoded PNG image.
pub struct Picture {
    pub width: usize,
    rgb: Vec<[u8; 3]>,
}

impl Picture {
    pub fn decode(bytes: &[u8]) -> Self {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
        let mut reader = decoder.read_info().expect("a PNG file");
        let mut data = vec![0; reader.output_buffer_size().expect("a size")];
        let info = reader.next_frame(&mut data).expect("a whole PNG file");
        let samples = info.color_type.samples();
        let rgb = data[..info.buffer_size()].chunks_exact(samples).map(|pixel| match samples {
            1 | 2 => [pixel[0]; 3],
            _ => [pixel[0], pixel[1], pixel[2]],
        });
        Self { width: info.width as usize, rgb: rgb.collect() }
    }

    fn pixels(&self, [left, top, right, bottom]: Region) -> impl Iterator<Item = [u8; 3]> + '_ {
        (top..bottom).flat_map(move |y| (left..right).map(move |x| self.rgb[y * self.width + x]))
    }

    /// Number of pixels in the region that are clearly not black.
    pub fn count_bright(&self, region: Region) -> usize {
        self.pixels(region).filter(|pixel| pixel.iter().any(|value| *value > 70)).count()
    }

    /// Whether the region has any pixel that is not black, the colour of the empty display.
    pub fn is_drawn(&self, region: Region) -> bool {
        self.pixels(region).any(|pixel| pixel != [0; 3])
    }

    /// Number of pixels in the region that differ from those `right` columns further right.
    pub fn differs_from_shifted(&self, [left, top, right, bottom]: Region, shift: usize) -> usize {
        let shifted = [left + shift, top, right + shift, bottom];
        let pairs = self.pixels([left, top, right, bottom]).zip(self.pixels(shifted));
        pairs.filter(|(a, b)| a != b).count()
    }

    /// The first pixel of that colour in the region, in row order.
    pub fn first(&self, region: Region, colour: [u8; 3]) -> Option<egui::Pos2> {
        let at = self.pixels(region).position(|pixel| pixel == colour)?;
        let width = region[2] - region[0];
        Some(egui::pos2((region[0] + at % width) as f32, (region[1] + at / width) as f32))
    }

    /// Number of pixels in the region that clearly differ.
    pub fn count_changed(&self, other: &Self, region: Region) -> usize {
        let pairs = self.pixels(region).zip(other.pixels(region));
        pairs.filter(|(a, b)| (0..3).any(|k| a[k].abs_diff(b[k]) > 24)).count()
    }
}
