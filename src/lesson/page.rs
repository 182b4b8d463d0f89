//! What the worker calls.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use gravitile::error::Error;
use gravitile::gpu::{AdapterRequest, DeviceClass, Gpu};
use serde_json::json;
use wasm_bindgen::prelude::*;

use super::figures::{self, LessonShape, MeasuredDevice};
use super::{KernelResources, LessonCluster};

thread_local! {
    static DEVICE: RefCell<Option<Rc<MeasuredDevice>>> = const { RefCell::new(None) };
    static CLUSTER: LessonCluster = LessonCluster::default();
}

fn problem(error: Error) -> JsValue {
    js_sys::Error::new(&error.to_string()).into()
}

fn device() -> Result<Rc<MeasuredDevice>, JsValue> {
    let device = DEVICE.with_borrow(Clone::clone);
    device.ok_or_else(|| js_sys::Error::new("no device is open").into())
}

/// Opens the device; `adapter` is the browser's name for it, empty if there is none.
#[wasm_bindgen]
pub async fn open(adapter: String) -> Result<String, JsValue> {
    std::panic::set_hook(Box::new(|panic| {
        wasm_bindgen::throw_str(&format!("an error in gravitile: {panic}"));
    }));
    if adapter.is_empty() {
        return Err(js_sys::Error::new("this browser has no WebGPU").into());
    }
    gravitile::gpu::name_adapter(&adapter);
    let gpu = Gpu::open(&AdapterRequest::default()).await.map_err(problem)?;
    let software = gpu.adapter.class == DeviceClass::Software;
    let answer = json!({ "device": gpu.adapter.name, "software": software });
    DEVICE.set(Some(Rc::new(MeasuredDevice::new(gpu))));
    Ok(answer.to_string())
}

/// Measures a figure, whose plots are `width` pixels wide; `update` receives what is known so far.
#[wasm_bindgen]
pub async fn measure(
    figure: String,
    width: f64,
    update: js_sys::Function,
) -> Result<String, JsValue> {
    device()?.measure(&figure, width, &mut updating(update)).await.map_err(problem)
}

fn updating(update: js_sys::Function) -> impl FnMut(String) {
    move |shown: String| {
        let _ = update.call1(&JsValue::NULL, &shown.into());
    }
}

/// Measures the score; `update` receives how much is done.
#[wasm_bindgen]
pub async fn score(update: js_sys::Function) -> Result<String, JsValue> {
    device()?.score(&mut updating(update)).await.map_err(problem)
}

/// A text as a QR code.
#[wasm_bindgen]
pub fn qr(text: &str) -> Result<String, JsValue> {
    let svg = super::qr(text).map_err(problem)?;
    Ok(json!(svg).to_string())
}

/// Pasted scores beside each other.
#[wasm_bindgen]
pub fn compare(text: &str, width: f64) -> String {
    super::compare(text, width)
}

/// The tree's cells down to a level.
#[wasm_bindgen]
pub fn tree_cells(depth: usize, width: f64) -> Result<String, JsValue> {
    CLUSTER.with(|cluster| cluster.cells(depth, width)).map_err(problem)
}

/// What acts on the group of a body.
#[wasm_bindgen]
pub fn tree_lists(rank: usize, alpha: f64, width: f64) -> Result<String, JsValue> {
    CLUSTER.with(|cluster| cluster.lists(rank, alpha, width)).map_err(problem)
}

/// The body at a place of the tree's picture.
#[wasm_bindgen]
pub fn tree_body_at(width: f64, x: f64, y: f64) -> Result<String, JsValue> {
    let rank = CLUSTER.with(|cluster| cluster.body_at(width, (x, y))).map_err(problem)?;
    Ok(rank.to_string())
}

/// Measures a figure of the tree: `tree-error` on the processor, `tree-time` there and on the
/// device, if one is open.
#[wasm_bindgen]
pub async fn tree_figure(
    figure: String,
    width: f64,
    update: js_sys::Function,
) -> Result<String, JsValue> {
    let mut partly = updating(update);
    let gpu = DEVICE.with_borrow(|device| device.as_ref().map(|device| Arc::clone(device.gpu())));
    let found = match figure.as_str() {
        "tree-error" => super::errors(width, &mut partly).await,
        _ => super::times(gpu.as_ref(), width, &mut partly).await,
    };
    found.map_err(problem)
}

/// A figure of recorded measurements.
#[wasm_bindgen]
pub fn recorded(figure: &str, lines: &str, width: f64) -> Result<String, JsValue> {
    figures::recorded(figure, lines, width).map_err(problem)
}

/// A kernel in slow motion.
#[wasm_bindgen]
#[allow(clippy::too_many_arguments, reason = "numbers from a script")]
pub fn slow_motion(
    p: u32,
    q: u32,
    r: u32,
    u: u32,
    s: u32,
    untiled: bool,
    count: usize,
    secs: f64,
    width: f64,
) -> Result<String, JsValue> {
    let shape = LessonShape { numbers: [p, q, r, u, s], untiled };
    figures::slow_motion(shape, count, secs, width).map_err(problem)
}

/// The processors of the occupancy calculator.
#[wasm_bindgen]
pub fn processors() -> String {
    super::processors()
}

/// What fits on a multiprocessor.
#[wasm_bindgen]
pub fn occupancy(
    processor: usize,
    subgroup: u32,
    p: u32,
    q: u32,
    r: u32,
    registers: u32,
    memory: u32,
) -> Result<String, JsValue> {
    let kernel = KernelResources { shape: [p, q, r], registers, memory };
    super::occupancy(processor, subgroup, kernel).map_err(problem)
}

/// The errors of a kernel's text.
#[wasm_bindgen]
pub fn diagnose(text: &str) -> String {
    super::diagnose(text)
}

/// A kernel's first result.
#[wasm_bindgen]
pub async fn attempt(text: String) -> Result<String, JsValue> {
    super::attempt(device()?.gpu(), &text).await.map_err(problem)
}

/// Checks a kernel and measures its rate.
#[wasm_bindgen]
pub async fn judge(text: String) -> Result<String, JsValue> {
    super::judge(device()?.gpu(), &text).await.map_err(problem)
}
