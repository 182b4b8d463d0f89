//! Drives Chromium through the Chrome DevTools Protocol.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket, client};

/// The graphics that the browser is started with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Graphics {
    /// WebGPU on SwiftShader, on a virtual display, so that screenshots show the canvas.
    WebGpu,
    /// Headless, without WebGPU.
    NoWebGpu,
}

const BASE_OPTIONS: &[&str] = &[
    "--no-sandbox",
    "--no-first-run",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--remote-debugging-port=0",
    "--remote-allow-origins=*",
    "--hide-scrollbars",
];
const WEBGPU_OPTIONS: &[&str] = &["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"];
/// Without a GPU, other options that display a WebGPU canvas lose the device or show white.
const CANVAS_OPTIONS: &[&str] = &[
    "--enable-features=Vulkan",
    "--use-vulkan=swiftshader",
    "--use-angle=vulkan",
    "--disable-vulkan-surface",
];

/// A running browser with one page.
pub struct Browser {
    child: Child,
    display: Option<Child>,
    socket: WebSocket<TcpStream>,
    session: String,
    last_id: u64,
    /// Lines that the page has written to its console.
    pub console: Vec<String>,
    /// Time of each of these lines, in milliseconds since 1970.
    console_times: Vec<f64>,
    /// Trace events received so far, and whether the trace is complete.
    traced: (Vec<Value>, bool),
    _profile: tempfile::TempDir,
}

/// Upper limit of every wait; a lost device or a crashed page shows up as this timeout.
const TIMEOUT: Duration = Duration::from_secs(180);

impl Browser {
    /// Starts the browser. `None` without Chromium, or if WebGPU is requested and Xvfb is missing.
    pub fn open(graphics: Graphics, size: [u32; 2]) -> Option<Self> {
        match graphics {
            Graphics::WebGpu => {
                Self::with_options(&[WEBGPU_OPTIONS, CANVAS_OPTIONS].concat(), true, size)
            }
            Graphics::NoWebGpu => Self::with_options(&["--headless=new"], false, size),
        }
    }

    /// Starts the browser with extra command-line options, on a virtual display if
    /// `virtual_display`. `None` if it does not start.
    pub fn with_options(options: &[&str], virtual_display: bool, size: [u32; 2]) -> Option<Self> {
        let program =
            ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
                Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success())
            })?;
        let profile = tempfile::tempdir().unwrap();
        let mut command = Command::new(program);
        command.args(BASE_OPTIONS).arg(format!("--user-data-dir={}", profile.path().display()));
        command.arg(format!("--window-size={},{}", size[0], size[1])).args(options);
        let mut display = None;
        if virtual_display {
            let (child, name) = start_virtual_display()?;
            command.env("DISPLAY", name);
            display = Some(child);
        }
        command.arg("about:blank").stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = stderr
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
        // Drain stderr, or the browser would block on a full pipe.
        std::thread::spawn(move || stderr.for_each(drop));
        let host = address.strip_prefix("ws://").unwrap().split('/').next().unwrap();
        let stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let (socket, _) = client(&address, stream).unwrap();
        let mut browser = Self {
            child,
            display,
            socket,
            session: String::new(),
            last_id: 0,
            console: Vec::new(),
            console_times: Vec::new(),
            traced: (Vec::new(), false),
            _profile: profile,
        };
        let made = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let target = made["targetId"].clone();
        let joined =
            browser.call("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        browser.session = joined["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Calls a method of the protocol and returns its result.
    ///
    /// # Panics
    /// If the browser answers with an error.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        let answer = self.request(method, parameters);
        assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
        answer["result"].clone()
    }

    fn request(&mut self, method: &str, parameters: Value) -> Value {
        self.last_id += 1;
        let mut message = json!({"id": self.last_id, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.socket.send(Message::text(message.to_string())).unwrap();
        loop {
            let Some(answer) = self.read_message() else {
                panic!("no answer to {method}; {:?}", self.last_lines())
            };
            if answer["id"] == json!(self.last_id) {
                return answer;
            }
        }
    }

    fn read_message(&mut self) -> Option<Value> {
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
                self.console_times.push(value["params"]["timestamp"].as_f64().unwrap_or(f64::NAN));
            }
            Some("Runtime.exceptionThrown") => {
                let text = &value["params"]["exceptionDetails"];
                self.console.push(format!("exception: {text}"));
                self.console_times.push(value["params"]["timestamp"].as_f64().unwrap_or(f64::NAN));
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
    pub fn last_lines(&self) -> &[String] {
        &self.console[self.console.len().saturating_sub(12)..]
    }

    /// Time of the first frame with bodies, in milliseconds since navigation, searching the console
    /// from line `from`.
    pub fn first_picture_ms(&mut self, from: usize) -> f64 {
        let lines = self.console.iter().zip(&self.console_times).skip(from);
        let first =
            lines.into_iter().find(|(line, _)| line.contains("frame on") && line.contains("step "));
        let first = first.map_or(f64::NAN, |(_, at)| *at);
        first - self.evaluate("performance.timeOrigin").as_f64().unwrap_or(f64::NAN)
    }

    /// Starts tracing the browser's threads in these categories.
    pub fn start_trace(&mut self, categories: &[&str]) {
        self.traced = (Vec::new(), false);
        let config = json!({"includedCategories": categories});
        let parameters = json!({"transferMode": "ReportEvents", "traceConfig": config});
        self.call("Tracing.start", parameters);
    }

    /// Stops tracing and returns the events.
    pub fn stop_trace(&mut self) -> Vec<Value> {
        self.call("Tracing.end", json!({}));
        while !self.traced.1 {
            assert!(
                self.read_message().is_some(),
                "what was noted of the browser's threads does not come"
            );
        }
        std::mem::take(&mut self.traced.0)
    }

    /// Navigates to an address.
    pub fn navigate(&mut self, address: &str) {
        self.call("Page.navigate", json!({"url": address}));
    }

    /// Reloads the page.
    pub fn reload(&mut self) {
        self.call("Page.reload", json!({}));
    }

    /// Evaluates a JavaScript expression; promises are awaited.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true});
        let answer = self.call("Runtime.evaluate", parameters);
        assert!(
            answer["exceptionDetails"].is_null(),
            "{expression}: {}",
            answer["exceptionDetails"]
        );
        answer["result"]["value"].clone()
    }

    /// Waits until a JavaScript expression has a value other than null and false, and returns it.
    pub fn wait_until(&mut self, expression: &str) -> Value {
        let begun = Instant::now();
        loop {
            let value = self.evaluate(expression);
            if !matches!(value, Value::Null | Value::Bool(false)) {
                return value;
            }
            assert!(begun.elapsed() < TIMEOUT, "never: {expression}; {:#?}", self.last_lines());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until nothing has been written to the console for 0.7 s.
    pub fn wait_for_quiet_console(&mut self) {
        let begun = Instant::now();
        loop {
            let before = self.console.len();
            self.evaluate("new Promise(done => setTimeout(done, 700))");
            if self.console.len() == before {
                return;
            }
            assert!(begun.elapsed() < TIMEOUT, "it never rests; {:#?}", self.last_lines());
        }
    }

    /// Waits for the second frame from now: the first may have begun before earlier input.
    pub fn wait_for_fresh_frame(&mut self) {
        for _ in 0..2 {
            self.wait_for_line(&["frame on"], self.console.len());
        }
    }

    /// Waits for a console line, from line `from` on, that contains all `words`; returns it.
    pub fn wait_for_line(&mut self, words: &[&str], from: usize) -> String {
        let has = |line: &str| words.iter().all(|word| line.contains(word));
        self.wait_for_matching_line(&format!("{words:?}"), from, has)
    }

    /// Waits for a frame after at least `least` steps; returns its console line.
    pub fn wait_for_step(&mut self, least: u64, from: usize) -> String {
        self.wait_for_matching_line(&format!("step {least}"), from, |line| {
            let after = line.split_once("frame on").and_then(|(_, rest)| rest.split_once("step "));
            let step = after.and_then(|(_, rest)| rest.split(' ').next()?.parse::<u64>().ok());
            step.is_some_and(|step| step >= least)
        })
    }

    fn wait_for_matching_line(
        &mut self,
        what: &str,
        from: usize,
        has: impl Fn(&str) -> bool,
    ) -> String {
        let begun = Instant::now();
        loop {
            let mut found = self.console[from.min(self.console.len())..].iter();
            if let Some(line) = found.find(|line| has(line)) {
                return line.clone();
            }
            assert!(begun.elapsed() < TIMEOUT, "no line with {what}; {:#?}", self.last_lines());
            // During navigation the old page answers with an error, which is ignored.
            std::thread::sleep(Duration::from_millis(50));
            self.request("Runtime.evaluate", json!({"expression": "0"}));
        }
    }

    /// Writes a screenshot of the page as a PNG file.
    pub fn screenshot(&mut self, to: &Path) {
        let answer = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let bytes = decode_base64(answer["data"].as_str().unwrap());
        std::fs::write(to, bytes).unwrap();
    }

    /// Emulates a screen of that size in CSS pixels, with `scale` device pixels per CSS pixel.
    pub fn resize(&mut self, [width, height]: [u32; 2], scale: f64, phone: bool) {
        let screen =
            json!({"width": width, "height": height, "deviceScaleFactor": scale, "mobile": phone});
        self.call("Emulation.setDeviceMetricsOverride", screen);
        self.call("Emulation.setTouchEmulationEnabled", json!({"enabled": phone}));
    }

    /// Adds a script that runs before those of each page loaded from now on.
    pub fn add_init_script(&mut self, script: &str) {
        self.call("Page.addScriptToEvaluateOnNewDocument", json!({"source": script}));
    }

    /// Presses and releases a key, by its name and its Windows key code.
    pub fn press_key(&mut self, name: &str, code: u32) {
        for kind in ["keyDown", "keyUp"] {
            let pressed =
                json!({"type": kind, "key": name, "code": name, "windowsVirtualKeyCode": code});
            self.call("Input.dispatchKeyEvent", pressed);
        }
    }

    /// Drags a finger along a path, in CSS pixels.
    pub fn drag_finger(&mut self, path: &[[f64; 2]]) {
        for (k, [x, y]) in path.iter().enumerate() {
            let kind = if k == 0 { "touchStart" } else { "touchMove" };
            let at = json!({"type": kind, "touchPoints": [{"x": x, "y": y}]});
            self.call("Input.dispatchTouchEvent", at);
            self.evaluate("new Promise(done => setTimeout(done, 100))");
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

/// Starts Xvfb, which chooses a free display number; returns it as `DISPLAY`.
fn start_virtual_display() -> Option<(Child, String)> {
    let mut command = Command::new("Xvfb");
    command.args(["-displayfd", "1", "-screen", "0", "2000x1200x24", "-nolisten", "tcp"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let mut number = String::new();
    BufReader::new(child.stdout.take()?).read_line(&mut number).ok()?;
    Some((child, format!(":{}", number.trim())))
}

/// Decodes Base64.
fn decode_base64(text: &str) -> Vec<u8> {
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
