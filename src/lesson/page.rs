//! What the worker calls.

use std::cell::RefCell;
use std::rc::Rc;

use gravitile::error::Error;
use gravitile::gpu::{AdapterRequest, DeviceClass, Gpu};
use serde_json::json;
use wasm_bindgen::prelude::*;

use super::Kernel;
use super::figures::{self, Measured, Shape};

thread_local! {
    static DEVICE: RefCell<Option<Rc<Measured>>> = const { RefCell::new(None) };
}

fn problem(error: Error) -> JsValue {
    js_sys::Error::new(&error.to_string()).into()
}

fn device() -> Result<Rc<Measured>, JsValue> {
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
    DEVICE.set(Some(Rc::new(Measured::new(gpu))));
    Ok(answer.to_string())
}

/// Measures a figure; `update` receives what is known so far.
#[wasm_bindgen]
pub async fn measure(figure: String, update: js_sys::Function) -> Result<String, JsValue> {
    let device = device()?;
    let mut partly = |shown: String| {
        let _ = update.call1(&JsValue::NULL, &shown.into());
    };
    device.measure(&figure, &mut partly).await.map_err(problem)
}

/// A figure of recorded measurements.
#[wasm_bindgen]
pub fn recorded(figure: &str, lines: &str) -> Result<String, JsValue> {
    figures::recorded(figure, lines).map_err(problem)
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
    let shape = Shape { numbers: [p, q, r, u, s], untiled };
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
    let kernel = Kernel { shape: [p, q, r], registers, memory };
    super::occupancy(processor, subgroup, kernel).map_err(problem)
}

/// The errors of a kernel's text.
#[wasm_bindgen]
pub fn diagnose(text: &str) -> String {
    super::diagnose(text)
}

/// Checks a kernel and measures its rate.
#[wasm_bindgen]
pub async fn judge(text: String) -> Result<String, JsValue> {
    super::judge(device()?.gpu(), &text).await.map_err(problem)
}
