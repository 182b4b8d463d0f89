//! A display in memory, the tools on it, and pictures of it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

/// An X server without a screen; it ends with this value.
pub struct Display {
    server: Child,
    /// `:7`, say.
    pub name: String,
}

/// Which tools are missing for these tests, if any.
fn missing() -> Option<String> {
    let tools = [("Xvfb", "-help"), ("xdotool", "version"), ("import", "-version")];
    let is_missing = |(tool, ask): &(&str, &str)| {
        let quiet = || Stdio::null();
        Command::new(tool).arg(ask).stdout(quiet()).stderr(quiet()).status().is_err()
    };
    let missing: Vec<&str> =
        tools.iter().filter(|t| is_missing(t)).map(|(tool, _)| *tool).collect();
    (!missing.is_empty()).then(|| missing.join(", "))
}

/// Whether the tests can run here. If not, says so, or fails if they must.
pub fn is_there() -> bool {
    let Some(missing) = missing() else { return true };
    let must = std::env::var_os("GRAVITILE_WINDOW_TESTS").is_some_and(|value| value == "1");
    assert!(!must, "not installed: {missing}; script/common.sh names the packages");
    super::skip::skipped("a story of the window", &format!("not installed: {missing}"));
    false
}

impl Display {
    pub fn open() -> Self {
        // The server finds a free number itself, and prints it once it is ready.
        let mut server = Command::new("Xvfb")
            .args(["-displayfd", "1", "-screen", "0", "1000x700x24", "-nolisten", "tcp"])
            // Otherwise it restarts whenever its last client leaves, and refuses clients meanwhile.
            .arg("-noreset")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Xvfb should start");
        let mut number = String::new();
        let told = server.stdout.take().expect("it is piped");
        BufReader::new(told).read_line(&mut number).expect("Xvfb should tell its number");
        let number = number.trim();
        assert!(!number.is_empty(), "Xvfb ended without telling its number");
        Self { server, name: format!(":{number}") }
    }

    /// Runs xdotool with these arguments; returns what it printed.
    pub fn xdotool(&self, args: &[&str]) -> Result<String, String> {
        let output = self.tool("xdotool", args);
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let problem = || format!("{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        if output.status.success() { Ok(text) } else { Err(problem()) }
    }

    /// Everything that the display shows.
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

/// A part of a picture: left, top, right, bottom in pixels.
pub type Part = [usize; 4];

/// A picture of the display.
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

    fn pixels(&self, [left, top, right, bottom]: Part) -> impl Iterator<Item = [u8; 3]> + '_ {
        (top..bottom).flat_map(move |y| (left..right).map(move |x| self.rgb[y * self.width + x]))
    }

    /// How many pixels of a part are clearly not black.
    pub fn bright(&self, part: Part) -> usize {
        self.pixels(part).filter(|pixel| pixel.iter().any(|value| *value > 70)).count()
    }

    /// Whether anything was drawn there: an empty display is black.
    pub fn is_drawn(&self, part: Part) -> bool {
        self.pixels(part).any(|pixel| pixel != [0; 3])
    }

    /// The first pixel of that colour in a part, from the left in its first row.
    pub fn first(&self, part: Part, colour: [u8; 3]) -> Option<egui::Pos2> {
        let at = self.pixels(part).position(|pixel| pixel == colour)?;
        let width = part[2] - part[0];
        Some(egui::pos2((part[0] + at % width) as f32, (part[1] + at / width) as f32))
    }

    /// How many pixels of a part clearly differ.
    pub fn changes(&self, other: &Self, part: Part) -> usize {
        let pairs = self.pixels(part).zip(other.pixels(part));
        pairs.filter(|(a, b)| (0..3).any(|k| a[k].abs_diff(b[k]) > 24)).count()
    }
}
