//! The lesson in a browser: its text, live figures, questions and the editor of kernels, on
//! SwiftShader and without WebGPU.

#[path = "page/browser.rs"]
#[allow(dead_code, reason = "the page's tests use the rest")]
mod browser;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use browser::{Browser, Graphics};
use gravitile_web::{Profile, Server, make_lesson};
use serde_json::Value;

/// Address of the lesson, built once and served while the tests run. GRAVITILE_PAGE names the
/// folder of another build.
fn lesson_url() -> String {
    static ADDRESS: OnceLock<String> = OnceLock::new();
    let address = ADDRESS.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let out = std::env::var_os("GRAVITILE_PAGE").map(PathBuf::from).unwrap_or_else(|| {
            let out = output_path("lesson");
            println!("{}", make_lesson(&root, &out, Profile::Dev, true).unwrap());
            out
        });
        let server = Server::open(&out, 0).unwrap();
        let address = server.address();
        std::thread::spawn(move || server.run());
        format!("http://{address}/lesson.html")
    });
    address.clone()
}

fn output_path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn open(graphics: Graphics) -> Option<Browser> {
    let browser = Browser::open(graphics, [1000, 800]);
    if browser.is_none() {
        eprintln!("skipped: the lesson: no Chromium, or no Xvfb");
        if let Some(path) = std::env::var_os("GRAVITILE_SKIPPED") {
            use std::io::Write;
            let file = std::fs::File::options().append(true).create(true).open(path);
            let _ = file.and_then(|mut file| writeln!(file, "the lesson: no Chromium, or no Xvfb"));
        }
    }
    browser
}

fn open_lesson(graphics: Graphics) -> Option<Browser> {
    let mut browser = open(graphics)?;
    browser.navigate(&lesson_url());
    browser.wait_until("document.getElementById('kernel-check') !== null");
    Some(browser)
}

/// Puts a text into the editor, as typing does.
fn edit(browser: &mut Browser, change: &str) {
    browser.evaluate(&format!(
        "(() => {{ const area = document.getElementById('kernel-text'); area.value = {change}; area.dispatchEvent(new Event('input')); }})()"
    ));
}

fn choose(browser: &mut Browser, name: &str) {
    browser.evaluate(&format!(
        "(() => {{ const choice = document.getElementById('kernel-choice'); choice.value = {name:?}; choice.dispatchEvent(new Event('change')); }})()"
    ));
}

/// Presses Check and waits for the verdict.
fn verdict(browser: &mut Browser) -> String {
    browser.evaluate("document.getElementById('kernel-check').click()");
    let done = "!document.getElementById('kernel-check').disabled && document.getElementById('kernel-verdict').textContent";
    browser.wait_until(done).as_str().unwrap_or_default().to_owned()
}

/// Contrasts below 4.5:1 of any text with its background, and pictures and controls without a name.
const FAULTS: &str = r#"(() => {
  const colour = (text) => text.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const paper = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const found = colour(getComputedStyle(at).backgroundColor);
      if (found.length < 4 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  const faults = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility() || element.closest("svg, textarea")) continue;
    const [a, b] = [light(colour(getComputedStyle(element).color)), light(paper(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) faults.push(`${element.tagName} '${element.textContent.slice(0, 30)}': ${contrast.toFixed(2)}`);
  }
  for (const image of document.querySelectorAll("img")) if (!image.alt) faults.push(`no words for ${image.src}`);
  for (const control of document.querySelectorAll("input, select, textarea, button"))
    if (!(control.labels?.length || control.ariaLabel || control.textContent)) faults.push(`no name: ${control.outerHTML.slice(0, 80)}`);
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  faults.push(...ids.filter((id, i) => ids.indexOf(id) !== i).map((id) => `twice: #${id}`));
  return faults.join("; ");
})()"#;

#[test]
fn first_figure_is_measured_and_broken_kernel_is_refused() {
    let Some(mut browser) = open_lesson(Graphics::WebGpu) else { return };
    let device = "(async () => !!(navigator.gpu && await navigator.gpu.requestAdapter()))()";
    if browser.evaluate(device) != true {
        return;
    }
    browser.evaluate("document.getElementById('live-ladder').scrollIntoView()");
    browser.wait_until("document.querySelector('#live-ladder svg polyline.c0') !== null");
    browser.wait_until("document.getElementById('live-ladder').dataset.state === 'done'");
    let rows = browser.evaluate("document.querySelectorAll('#live-ladder tbody tr').length");
    assert!(rows.as_u64().is_some_and(|rows| rows >= 7), "{rows}");
    browser.screenshot(&output_path("lesson-ladder.png"));
    edit(&mut browser, "area.value.replace('let towards', 'lett towards')");
    let error = browser.wait_until("document.querySelector('.errors button')?.textContent");
    assert!(error.as_str().is_some_and(|text| text.contains("line 36, column")), "{error}");
    assert_eq!(browser.evaluate(FAULTS), "");
    assert!(
        !browser.console.iter().any(|line| line.contains("exception")),
        "{:#?}",
        browser.console
    );
}

#[test]
#[ignore = "script/test --long"]
fn no_unmended_kernel_passes_and_every_mended_one_does() {
    let Some(mut browser) = open_lesson(Graphics::WebGpu) else { return };
    let mended = [
        (
            "mend-barrier",
            "area.value.replace('total += sum;', 'total += sum; workgroupBarrier();')",
        ),
        (
            "mend-tail",
            "area.value.replace('tile[local.x] = sources[j];', 'var source = vec4<f32>(0.0); if j < end { source = sources[j]; } tile[local.x] = source;')",
        ),
        ("mend-banks", "area.value.replace('(k + 8u * local.x) % P', 'k')"),
        ("mend-order", "area.value.replace('(local.x % 8u) * (P / 8u) + local.x / 8u', 'local.x')"),
    ];
    for (name, change) in mended {
        choose(&mut browser, name);
        let broken = verdict(&mut browser);
        assert!(broken.starts_with("Not yet."), "{name}: {broken}");
        let answer = "[...document.querySelectorAll('#kernel-editor details')].at(-1)";
        assert_eq!(browser.evaluate(&format!("{answer}.hidden")), true, "before the hint");
        browser.evaluate("document.querySelector('#kernel-editor details').open = true");
        browser.wait_until(&format!("!{answer}.hidden && {answer}.textContent.length > 80"));
        edit(&mut browser, change);
        let right = verdict(&mut browser);
        assert!(right.starts_with("Right:") && right.contains("interactions/s"), "{name}: {right}");
    }
    browser.evaluate("document.getElementById('kernel-editor').scrollIntoView()");
    browser.screenshot(&output_path("lesson-editor.png"));
    browser.evaluate("document.getElementById('kernel-verdict').scrollIntoView({ block: 'end' })");
    browser.screenshot(&output_path("lesson-verdict.png"));
    // Kept in the browser.
    browser.reload();
    browser.wait_until("document.getElementById('kernel-check') !== null");
    choose(&mut browser, "mend-banks");
    let text = browser.evaluate("document.getElementById('kernel-text').value");
    assert!(text.as_str().is_some_and(|text| text.contains("tile[k]")), "{text}");
}

#[test]
#[ignore = "script/test --long"]
fn endless_huge_and_wild_kernels_are_survived() {
    let Some(mut browser) = open_lesson(Graphics::WebGpu) else { return };
    for (change, words) in [
        ("area.value.replace('k += 1u', 'k += 0u')", "does not end"),
        ("area.value.replace('let place = ', 'let place = 100000u + ')", "beyond the end"),
        ("'x'.repeat(1 << 21)", "longer than"),
        ("'fn main('", "expected"),
    ] {
        let original = "document.getElementById('kernel-plain').content.textContent";
        edit(&mut browser, original);
        edit(&mut browser, change);
        let found = verdict(&mut browser);
        assert!(found.starts_with("Not yet.") && found.contains(words), "{words}: {found}");
    }
    edit(&mut browser, "document.getElementById('kernel-plain').content.textContent");
    assert!(verdict(&mut browser).starts_with("Right:"));
}

#[test]
#[ignore = "script/test --long"]
fn every_live_figure_is_measured_and_slow_motion_follows_its_sliders() {
    let Some(mut browser) = open_lesson(Graphics::WebGpu) else { return };
    for name in ["n", "unroll", "p", "q", "shapes", "model", "tree-time"] {
        browser.evaluate(&format!("document.getElementById('live-{name}').scrollIntoView()"));
        browser.wait_until(&format!(
            "document.getElementById('live-{name}').dataset.state === 'done'"
        ));
        let state = browser
            .evaluate(&format!("document.querySelector('#live-{name} [role=status]').textContent"));
        assert!(
            state.as_str().is_some_and(|text| text.starts_with("Measured in")),
            "{name}: {state}"
        );
        browser.screenshot(&output_path(&format!("lesson-{name}.png")));
    }
    // Predictions are judged by what was measured, once it is.
    for figure in ["p", "q"] {
        let form = format!("document.querySelector('.question[data-figure={figure}]')");
        browser.evaluate(&format!(
            "(() => {{ const form = {form}; form.querySelector('input').checked = true; form.requestSubmit(); }})()"
        ));
        let words = browser.evaluate(&format!("{form}.querySelector('output').textContent"));
        let words = words.as_str().unwrap();
        assert!(words.contains("on this device") && words.contains("interactions/s"), "{words}");
        assert!(!words.contains("not measured"), "{words}");
    }
    // On the device and on the processor.
    let curves = browser.evaluate("document.querySelectorAll('#live-tree-time th').length");
    assert_eq!(curves, 5, "N, and the tree and all pairs in both places");
    browser.evaluate("document.getElementById('live-slow-motion').scrollIntoView()");
    browser.wait_until("document.querySelector('#live-slow-motion svg') !== null");
    browser.evaluate(
        "(() => { const input = document.querySelectorAll('#live-slow-motion input')[2]; input.value = 2; \
         input.dispatchEvent(new Event('input')); })()",
    );
    browser.wait_until(
        "document.querySelector('#live-slow-motion').textContent.includes('with 4 sinks each')",
    );
    browser.screenshot(&output_path("lesson-slow-motion.png"));
}

/// Moves a slider.
fn slide(browser: &mut Browser, of: &str, number: usize, value: &str) {
    browser.evaluate(&format!(
        "(() => {{ const input = document.querySelectorAll('#{of} input[type=range]')[{number}]; input.value = {value}; \
         input.dispatchEvent(new Event('input')); }})()"
    ));
}

#[test]
#[ignore = "script/test --long"]
fn occupancy_changes_with_registers_and_gpu() {
    let Some(mut browser) = open_lesson(Graphics::NoWebGpu) else { return };
    browser.evaluate("document.getElementById('live-occupancy').scrollIntoView()");
    let has = |words: &str| {
        format!("document.getElementById('live-occupancy').textContent.includes({words:?})")
    };
    browser.wait_until(&has("64 of its 64 slots"));
    // By the keyboard, too.
    browser.evaluate("document.querySelectorAll('#live-occupancy input')[3].focus()");
    browser.press_key("ArrowRight", 39);
    browser.wait_until(&has("registers of a thread: 17"));
    slide(&mut browser, "live-occupancy", 3, "128");
    browser.wait_until(&has("Registers are the limit"));
    // A tile of 8 x 256 sources is 32 KiB.
    slide(&mut browser, "live-occupancy", 1, "3");
    browser.wait_until(&has("32,768"));
    browser.evaluate(
        "(() => { const choice = document.getElementById('occupancy-processor'); \
         choice.value = [...choice.options].findIndex((option) => option.text.includes('8800')); \
         choice.dispatchEvent(new Event('change')); })()",
    );
    browser.wait_until(&has("at most 512 threads"));
    slide(&mut browser, "live-occupancy", 1, "0");
    slide(&mut browser, "live-occupancy", 3, "10");
    browser.wait_until(&has("3 workgroups of 256 threads at once on a multiprocessor"));
    browser.screenshot(&output_path("lesson-occupancy.png"));
}

#[test]
#[ignore = "script/test --long"]
fn tree_shows_levels_and_what_acts_on_a_clicked_body() {
    let Some(mut browser) = open_lesson(Graphics::NoWebGpu) else { return };
    browser.evaluate("document.getElementById('live-tree').scrollIntoView()");
    let boxes = "document.querySelectorAll('#tree-picture polyline.c3').length";
    browser.wait_until(&format!("{boxes} > 50"));
    slide(&mut browser, "live-tree", 0, "1");
    browser.wait_until(&format!("{boxes} === 9"));
    slide(&mut browser, "live-tree", 0, "4");
    browser.wait_until(&format!("{boxes} > 100"));
    browser.screenshot(&output_path("lesson-tree.png"));
    browser.evaluate(
        "(() => { const box = document.querySelector('#tree-picture svg').getBoundingClientRect(); \
         document.getElementById('tree-picture').dispatchEvent(new MouseEvent('click', \
         { clientX: box.left + 0.6 * box.width, clientY: box.top + 0.45 * box.height })); })()",
    );
    browser.wait_until(
        "document.getElementById('live-tree').textContent.includes('interactions for each body')",
    );
    browser.screenshot(&output_path("lesson-tree-lists.png"));
    for name in ["tree-error", "tree-time"] {
        browser.evaluate(&format!("document.getElementById('live-{name}').scrollIntoView()"));
        browser.wait_until(&format!(
            "document.getElementById('live-{name}').dataset.state === 'done'"
        ));
        let points = browser
            .evaluate(&format!("document.querySelectorAll('#live-{name} svg circle').length"));
        assert!(points.as_u64().is_some_and(|points| points > 10), "{name}: {points}");
        browser.screenshot(&output_path(&format!("lesson-{name}.png")));
    }
}

#[test]
#[ignore = "script/test --long"]
fn score_has_a_code_and_is_compared_with_pasted_ones() {
    let Some(mut browser) = open_lesson(Graphics::WebGpu) else { return };
    browser.evaluate("location.hash = '#score=GeForce_8800~1~9.5~10~2007-08-01'");
    browser.wait_until("document.querySelectorAll('#score-place tbody tr').length === 1");
    browser.evaluate("document.getElementById('score-measure').click()");
    browser.wait_until("document.querySelector('#score-code svg') !== null");
    browser.wait_until("document.querySelectorAll('#score-place tbody tr').length === 2");
    let link = browser.evaluate("document.getElementById('score-link').href");
    assert!(link.as_str().is_some_and(|link| link.contains("/lesson.html#score=")), "{link}");
    // A class of forty: thirty are compared.
    browser.evaluate(
        "(() => { const area = document.getElementById('score-others'); \
         area.value += Array.from({ length: 40 }, (_, k) => `GPU-${k}~${k + 1}~${9 * k + 9}~${20 * k + 20}~`).join('\\n') + '\\n<b>'; \
         area.dispatchEvent(new Event('input')); })()",
    );
    browser.wait_until("document.querySelectorAll('#score-place tbody tr').length === 30");
    browser.evaluate("document.getElementById('scores').scrollIntoView()");
    browser.screenshot(&output_path("lesson-score.png"));
    browser.evaluate("document.getElementById('score-code').scrollIntoView()");
    browser.screenshot(&output_path("lesson-score-code.png"));
    browser.evaluate("document.querySelector('#score-place .pictures').scrollIntoView()");
    browser.screenshot(&output_path("lesson-score-compared.png"));
    assert_eq!(browser.evaluate(FAULTS), "");
}

#[test]
#[ignore = "script/test --long"]
fn teachers_page_is_plain_and_fits_a_phone() {
    let Some(mut browser) = open(Graphics::NoWebGpu) else { return };
    browser.navigate(&lesson_url().replace("lesson.html", "teacher.html"));
    browser.wait_until("document.querySelector('table') !== null");
    assert_eq!(browser.evaluate(FAULTS), "");
    browser.screenshot(&output_path("lesson-teacher.png"));
    browser.resize([390, 780], 1.0, true);
    let wider = browser.evaluate("document.documentElement.scrollWidth - innerWidth");
    assert!(wider.as_i64().is_some_and(|wider| wider <= 0), "{wider} pixels too wide");
}

/// The task with the most processor time of the thread that made the mark `kernel-edit`: its ms,
/// and what took longest in it.
fn longest_task(events: &[Value]) -> (f64, String) {
    let number = |event: &Value, name: &str| event[name].as_f64().unwrap_or(0.0);
    let mark = events.iter().find(|event| event["name"] == "kernel-edit");
    let mark = mark.expect("the page marks an edit");
    let is_of_page = |event: &&Value| ["pid", "tid"].iter().all(|key| event[key] == mark[key]);
    let is_task = |event: &&Value| {
        is_of_page(event) && event["name"].as_str().is_some_and(|name| name.ends_with("RunTask"))
    };
    // A late reading of the processor's clock can exceed the duration.
    let millis = |event: &Value| number(event, "tdur").min(number(event, "dur")) / 1e3;
    let tasks: Vec<&Value> = events.iter().filter(is_task).collect();
    assert!(tasks.len() > 100, "{} tasks were noted", tasks.len());
    let longest = tasks.into_iter().max_by(|a, b| millis(a).total_cmp(&millis(b)));
    let longest = longest.expect("there are tasks");
    let [begin, dur] = ["ts", "dur"].map(|name| number(longest, name));
    let is_within = |event: &&Value| {
        let at = number(event, "ts");
        is_of_page(event) && !is_task(event) && at >= begin && at < begin + dur
    };
    let mut parts: Vec<&Value> = events.iter().filter(is_within).collect();
    parts.sort_by(|a, b| millis(b).total_cmp(&millis(a)));
    let words = parts.iter().take(6).map(|part| format!("{} {:.0}", part["name"], millis(part)));
    (millis(longest), words.collect::<Vec<_>>().join(", "))
}

/// Prints the page's longest task and the time from an edit to the first result with 4,096 bodies;
/// asserts no times.
#[test]
#[ignore = "script/test --long"]
fn times_of_the_page_are_printed() {
    let Some(mut browser) = open(Graphics::WebGpu) else { return };
    browser.start_trace(&["toplevel", "blink.user_timing", "devtools.timeline"]);
    browser.navigate(&lesson_url());
    browser.wait_until("document.getElementById('kernel-check') !== null");
    browser.wait_until("document.getElementById('device').textContent.startsWith('This device')");
    browser.evaluate("document.getElementById('kernel-editor').scrollIntoView()");
    verdict(&mut browser);
    let first = "(() => { const mark = (name) => performance.getEntriesByName(name).at(-1)?.startTime; \
                 return mark('kernel-first-result') > mark('kernel-edit') && Math.round(mark('kernel-first-result') - mark('kernel-edit')); })()";
    edit(
        &mut browser,
        "area.value.replace('inverse * inverse * inverse', 'inverse * (inverse * inverse)')",
    );
    let edited = browser.wait_until(first);
    let words = browser.evaluate("document.getElementById('kernel-state').textContent");
    assert!(words.as_str().is_some_and(|words| words.contains("Right with 4,096")), "{words}");
    for name in ["slow-motion", "occupancy", "tree", "ladder"] {
        browser.evaluate(&format!("document.getElementById('live-{name}').scrollIntoView()"));
    }
    browser.wait_until("document.getElementById('live-ladder').dataset.state === 'done'");
    let (longest, parts) = longest_task(&browser.stop_trace());
    println!(
        "longest task of the page: {longest:.0} ms of a core ({parts}); from an edit to the first result: {edited} ms"
    );
}

#[test]
#[ignore = "script/test --long"]
fn without_webgpu_figures_are_recorded_ones_and_questions_keep_progress() {
    let Some(mut browser) = open_lesson(Graphics::NoWebGpu) else { return };
    let device = browser.wait_until(
        "document.getElementById('device').textContent.includes('No live') && document.getElementById('device').textContent",
    );
    assert!(device.as_str().is_some_and(|text| text.contains("no WebGPU")), "{device}");
    browser.evaluate("document.getElementById('live-n').scrollIntoView()");
    let state = browser.wait_until(
        "document.querySelector('#live-n svg') && document.getElementById('live-n').textContent",
    );
    assert!(state.as_str().is_some_and(|text| text.contains("recorded: NVIDIA H200")), "{state}");
    for (name, what, device) in [
        ("ladder", "register-blocked", "H100"),
        ("shapes", "p x q", "H100"),
        ("model", "by the model", "H200"),
    ] {
        browser.evaluate(&format!("document.getElementById('live-{name}').scrollIntoView()"));
        browser.wait_until(&format!(
            "document.querySelector('#live-{name} .pictures').textContent.includes({what:?}) && \
             document.getElementById('live-{name}').textContent.includes('recorded: NVIDIA {device}')"
        ));
        browser.screenshot(&output_path(&format!("lesson-recorded-{name}.png")));
    }
    browser.evaluate(
        "(() => { const form = document.querySelector('.question'); form.querySelector('[data-right]').checked = true; form.requestSubmit(); })()",
    );
    browser.wait_until("document.getElementById('progress').textContent.startsWith('1 of')");
    browser.reload();
    browser.wait_until("document.getElementById('progress')?.textContent.startsWith('1 of')");
    assert_eq!(browser.evaluate(FAULTS), "");
}

#[test]
#[ignore = "script/test --long"]
fn phone_and_large_text_lose_nothing() {
    let Some(mut browser) = open_lesson(Graphics::WebGpu) else { return };
    for (size, scale, name) in
        [([390, 780], 1.0, "phone"), ([320, 640], 1.0, "narrow"), ([1280, 800], 1.0, "wide")]
    {
        browser.resize(size, scale, size[0] < 600);
        let wider = browser.evaluate("document.documentElement.scrollWidth - innerWidth");
        assert!(wider.as_i64().is_some_and(|wider| wider <= 0), "{name}: {wider} pixels too wide");
        browser.evaluate("document.getElementById('live-slow-motion').scrollIntoView()");
        browser.wait_until("document.querySelector('#live-slow-motion svg') !== null");
        browser.evaluate("document.getElementById('live-ladder').scrollIntoView()");
        browser.wait_until("document.querySelector('#live-ladder svg') !== null");
        let hidden = browser.evaluate(
            "Math.max(...[...document.querySelectorAll('.pictures')].map((place) => place.scrollWidth - place.clientWidth))",
        );
        assert_eq!(hidden, 0, "{name}: a figure scrolls sideways");
        browser.screenshot(&output_path(&format!("lesson-{name}-ladder.png")));
        browser.evaluate("document.querySelector('#live-slow-motion .pictures').scrollIntoView()");
        browser.screenshot(&output_path(&format!("lesson-{name}.png")));
    }
    browser.evaluate("document.documentElement.style.fontSize = '200%'");
    let wider = browser.evaluate("document.documentElement.scrollWidth - innerWidth");
    assert!(
        wider.as_i64().is_some_and(|wider| wider <= 0),
        "text at 200 %: {wider} pixels too wide"
    );
    browser.evaluate("document.getElementById('kernel-editor').scrollIntoView()");
    browser.screenshot(&output_path("lesson-large-text.png"));
}
