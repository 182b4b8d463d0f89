//! Drives a browser: Chromium, through its own protocol.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket, client};

/// What a browser is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// WebGPU on SwiftShader, and pictures that can be looked at: on a display without a screen.
    Pictures,
    /// No WebGPU.
    Without,
}

const EVERYWHERE: &[&str] = &[
    "--no-sandbox",
    "--no-first-run",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--remote-debugging-port=0",
    "--remote-allow-origins=*",
    "--hide-scrollbars",
];
const WEBGPU: &[&str] = &["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"];
/// Other ways to show a WebGPU canvas without a GPU lose the device, or show white.
const SHOWN: &[&str] = &[
    "--enable-features=Vulkan",
    "--use-vulkan=swiftshader",
    "--use-angle=vulkan",
    "--disable-vulkan-surface",
];

/// A browser with one page.
pub struct Browser {
    child: Child,
    display: Option<Child>,
    socket: WebSocket<TcpStream>,
    session: String,
    count: u64,
    /// What the page has written to its console.
    pub console: Vec<String>,
    /// When, in milliseconds since 1970.
    written: Vec<f64>,
    /// What was traced of its threads, and whether that is all.
    traced: (Vec<Value>, bool),
    _profile: tempfile::TempDir,
}

/// The longest that anything is awaited: a lost device or a dead page shows as this.
const PATIENCE: Duration = Duration::from_secs(180);

impl Browser {
    /// None without a browser, or for pictures without a display.
    pub fn open(sight: Sight, size: [u32; 2]) -> Option<Self> {
        match sight {
            Sight::Pictures => Self::with(&[WEBGPU, SHOWN].concat(), true, size),
            Sight::Without => Self::with(&["--headless=new"], false, size),
        }
    }

    /// One with more command-line options, on a display without a screen if `unseen`; None if it does not start.
    pub fn with(options: &[&str], unseen: bool, size: [u32; 2]) -> Option<Self> {
        let program =
            ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
                Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success())
            })?;
        let profile = tempfile::tempdir().unwrap();
        let mut command = Command::new(program);
        command.args(EVERYWHERE).arg(format!("--user-data-dir={}", profile.path().display()));
        command.arg(format!("--window-size={},{}", size[0], size[1])).args(options);
        let mut display = None;
        if unseen {
            let (child, name) = display_without_a_screen()?;
            command.env("DISPLAY", name);
            display = Some(child);
        }
        command.arg("about:blank").stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = said
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| Some(line.strip_prefix("DevTools listening on ")?.to_owned()));
        // A browser that does not start counts as missing.
        let Some(address) = address else {
            let _ = child.kill();
            let _ = child.wait();
            if let Some(mut display) = display {
                let _ = display.kill();
                let _ = display.wait();
            }
            return None;
        };
        // It goes on writing, and must not block on a full pipe.
        std::thread::spawn(move || said.for_each(drop));
        let host = address.strip_prefix("ws://").unwrap().split('/').next().unwrap();
        let stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (socket, _) = client(&address, stream).unwrap();
        let mut browser = Self {
            child,
            display,
            socket,
            session: String::new(),
            count: 0,
            console: Vec::new(),
            written: Vec::new(),
            traced: (Vec::new(), false),
            _profile: profile,
        };
        let made = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let target = made["targetId"].clone();
        let joined =
            browser.call("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        browser.session = joined["sessionId"].as_str().unwrap().to_owned();
        for part in ["Page", "Runtime"] {
            browser.call(&format!("{part}.enable"), json!({}));
        }
        Some(browser)
    }

    /// One call of the protocol.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        let answer = self.answer(method, parameters);
        assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
        answer["result"].clone()
    }

    fn answer(&mut self, method: &str, parameters: Value) -> Value {
        self.count += 1;
        let mut message = json!({"id": self.count, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.socket.send(Message::text(message.to_string())).unwrap();
        loop {
            let Some(answer) = self.read() else {
                panic!("no answer to {method}; {:?}", self.last())
            };
            if answer["id"] == json!(self.count) {
                return answer;
            }
        }
    }

    fn read(&mut self) -> Option<Value> {
        let Ok(message) = self.socket.read() else { return None };
        let value: Value = serde_json::from_str(message.to_text().ok()?).unwrap_or(Value::Null);
        match value["method"].as_str() {
            Some("Runtime.consoleAPICalled") => {
                let words = value["params"]["args"].as_array().cloned().unwrap_or_default();
                let words = words.iter().map(|word| match &word["value"] {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                });
                self.console.push(words.collect::<Vec<_>>().join(" "));
                self.written.push(value["params"]["timestamp"].as_f64().unwrap_or(f64::NAN));
            }
            Some("Runtime.exceptionThrown") => {
                let text = &value["params"]["exceptionDetails"];
                self.console.push(format!("exception: {text}"));
                self.written.push(value["params"]["timestamp"].as_f64().unwrap_or(f64::NAN));
            }
            Some("Tracing.dataCollected") => {
                let events = value["params"]["value"].as_array();
                self.traced.0.extend(events.cloned().unwrap_or_default());
            }
            Some("Tracing.tracingComplete") => self.traced.1 = true,
            _ => {}
        }
        Some(value)
    }

    /// The last lines of the console.
    pub fn last(&self) -> &[String] {
        &self.console[self.console.len().saturating_sub(12)..]
    }

    /// When the first frame with bodies was complete, in milliseconds since the page was asked for; lines from `from` on count.
    pub fn pictured(&mut self, from: usize) -> f64 {
        let lines = self.console.iter().zip(&self.written).skip(from);
        let first =
            lines.into_iter().find(|(line, _)| line.contains("frame on") && line.contains("step "));
        let first = first.map_or(f64::NAN, |(_, at)| *at);
        first - self.value("performance.timeOrigin").as_f64().unwrap_or(f64::NAN)
    }

    /// Begins to trace the browser's threads, in these categories.
    pub fn trace(&mut self, categories: &[&str]) {
        self.traced = (Vec::new(), false);
        let wanted = json!({"includedCategories": categories});
        let parameters = json!({"transferMode": "ReportEvents", "traceConfig": wanted});
        self.call("Tracing.start", parameters);
    }

    /// What was traced since.
    pub fn traced(&mut self) -> Vec<Value> {
        self.call("Tracing.end", json!({}));
        while !self.traced.1 {
            assert!(self.read().is_some(), "what was noted of the browser's threads does not come");
        }
        std::mem::take(&mut self.traced.0)
    }

    /// Goes to an address.
    pub fn go(&mut self, address: &str) {
        self.call("Page.navigate", json!({"url": address}));
    }

    /// Loads the page again.
    pub fn reload(&mut self) {
        self.call("Page.reload", json!({}));
    }

    /// The value of a JavaScript expression; promises are awaited.
    pub fn value(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true});
        let answer = self.call("Runtime.evaluate", asked);
        assert!(
            answer["exceptionDetails"].is_null(),
            "{expression}: {}",
            answer["exceptionDetails"]
        );
        answer["result"]["value"].clone()
    }

    /// Waits until a JavaScript expression has a value other than null and false, and returns it.
    pub fn until(&mut self, expression: &str) -> Value {
        let begun = Instant::now();
        loop {
            let value = self.value(expression);
            if !matches!(value, Value::Null | Value::Bool(false)) {
                return value;
            }
            assert!(begun.elapsed() < PATIENCE, "never: {expression}; {:#?}", self.last());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until the console has been silent for a while.
    pub fn until_silent(&mut self) {
        let begun = Instant::now();
        loop {
            let before = self.console.len();
            self.value("new Promise(done => setTimeout(done, 700))");
            if self.console.len() == before {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "it never rests; {:#?}", self.last());
        }
    }

    /// Waits for a frame that begins after now, so that earlier input is taken in: the second from here.
    pub fn frame(&mut self) {
        for _ in 0..2 {
            self.line_with(&["frame on"], self.console.len());
        }
    }

    /// Waits until a line of the console holds all these words, and returns it; lines from `from` on count.
    pub fn line_with(&mut self, words: &[&str], from: usize) -> String {
        let has = |line: &str| words.iter().all(|word| line.contains(word));
        self.line(&format!("{words:?}"), from, has)
    }

    /// Waits for a frame after this many steps or more.
    pub fn stepped(&mut self, least: u64, from: usize) -> String {
        self.line(&format!("step {least}"), from, |line| {
            let after = line.split_once("frame on").and_then(|(_, rest)| rest.split_once("step "));
            let step = after.and_then(|(_, rest)| rest.split(' ').next()?.parse::<u64>().ok());
            step.is_some_and(|step| step >= least)
        })
    }

    fn line(&mut self, what: &str, from: usize, has: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let mut found = self.console[from.min(self.console.len())..].iter();
            if let Some(line) = found.find(|line| has(line)) {
                return line.clone();
            }
            assert!(begun.elapsed() < PATIENCE, "no line with {what}; {:#?}", self.last());
            // A page that is being left answers with an error; the next one will not.
            std::thread::sleep(Duration::from_millis(50));
            self.answer("Runtime.evaluate", json!({"expression": "0"}));
        }
    }

    /// The picture of the page as a PNG file.
    pub fn picture(&mut self, to: &Path) {
        let answer = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let bytes = decoded(answer["data"].as_str().unwrap());
        std::fs::write(to, bytes).unwrap();
    }

    /// Shows the page as on a screen of that size; `scale` pixels are one CSS pixel.
    pub fn resize(&mut self, [width, height]: [u32; 2], scale: f64, phone: bool) {
        let screen =
            json!({"width": width, "height": height, "deviceScaleFactor": scale, "mobile": phone});
        self.call("Emulation.setDeviceMetricsOverride", screen);
        self.call("Emulation.setTouchEmulationEnabled", json!({"enabled": phone}));
    }

    /// Runs a script before those of the page.
    pub fn before(&mut self, script: &str) {
        self.call("Page.addScriptToEvaluateOnNewDocument", json!({"source": script}));
    }

    /// Presses and releases a key, by its name and its Windows key code.
    pub fn key(&mut self, name: &str, number: u32) {
        for kind in ["keyDown", "keyUp"] {
            let pressed =
                json!({"type": kind, "key": name, "code": name, "windowsVirtualKeyCode": number});
            self.call("Input.dispatchKeyEvent", pressed);
        }
    }

    /// A finger that goes from place to place, in the page's pixels.
    pub fn touch(&mut self, way: &[[f64; 2]]) {
        for (k, [x, y]) in way.iter().enumerate() {
            let kind = if k == 0 { "touchStart" } else { "touchMove" };
            let at = json!({"type": kind, "touchPoints": [{"x": x, "y": y}]});
            self.call("Input.dispatchTouchEvent", at);
            self.value("new Promise(done => setTimeout(done, 100))");
        }
        self.call("Input.dispatchTouchEvent", json!({"type": "touchEnd", "touchPoints": []}));
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(display) = &mut self.display {
            let _ = display.kill();
            let _ = display.wait();
        }
    }
}

/// Xvfb says itself which number is free.
fn display_without_a_screen() -> Option<(Child, String)> {
    let mut command = Command::new("Xvfb");
    command.args(["-displayfd", "1", "-screen", "0", "2000x1200x24", "-nolisten", "tcp"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let mut number = String::new();
    BufReader::new(child.stdout.take()?).read_line(&mut number).ok()?;
    Some((child, format!(":{}", number.trim())))
}

/// Base64.
fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0u32, 0);
    for c in text.bytes() {
        let six = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => break,
        };
        (bits, count) = (bits << 6 | u32::from(six), count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}
