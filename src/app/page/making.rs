//! Loads bodies in a worker, a browser thread with the same program: a scene's tables, or a file of
//! a million bodies, would stall the page. Without a worker the page's own thread loads them.

use std::cell::RefCell;
use std::collections::BTreeMap;

use futures_channel::oneshot::{Sender, channel};
use js_sys::{Array, Object, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;
use web_sys::{Event, MessageEvent, Worker, WorkerOptions, WorkerType};

use super::listen::on;
use super::log;
use gravitile::error::{Error, Result};
use gravitile::files;
use gravitile::input::Input;
use gravitile::settings::InputRequest;

/// The worker's script.
const SCRIPT: &str = "worker.js";

/// The answer to a request: what [`Input::unpack`] reads, or the error.
type Answer = std::result::Result<Vec<u8>, String>;

/// The error if the worker ends without an answer, as it does when memory runs out.
const CRASHED: &str = "these bodies could not be made: they need more memory than the 4 GB of a page, or this is an \
    error in gravitile (the browser's console has more)";

#[derive(Default)]
struct Making {
    worker: Option<Worker>,
    next_number: u32,
    /// Pending requests by number.
    waiting: BTreeMap<u32, Sender<Answer>>,
}

thread_local! {
    static MAKING: RefCell<Making> = RefCell::default();
}

/// Starts the worker, which gets the page's compiled program.
pub fn set_up() {
    let options = WorkerOptions::new();
    options.set_type(WorkerType::Module);
    let Ok(worker) = Worker::new_with_options(SCRIPT, &options) else { return };
    let program = object(&[("program", wasm_bindgen::module())]);
    if worker.post_message(&program).is_err() {
        return;
    }
    on(&worker, "message", |event: MessageEvent| take(&event.data()));
    // The script is missing, or this browser does not support it.
    on(&worker, "error", |_: Event| {
        ::log::warn!("there is no worker: the page makes bodies itself");
        // Drops the senders, so that pending requests fail.
        MAKING.take();
    });
    MAKING.with_borrow_mut(|making| making.worker = Some(worker));
}

fn object(fields: &[(&str, JsValue)]) -> Object {
    let object = Object::new();
    for (name, value) in fields {
        // Never fails for a new object.
        let _ = Reflect::set(&object, &(*name).into(), value);
    }
    object
}

/// Handles a message of the worker.
fn take(message: &JsValue) {
    let get = |name: &str| Reflect::get(message, &name.into()).unwrap_or(JsValue::UNDEFINED);
    let Some(number) = get("number").as_f64() else { return };
    let answer = match (get("bytes").dyn_into::<Uint8Array>(), get("refused").as_string()) {
        (Ok(bytes), _) => Ok(bytes.to_vec()),
        (_, Some(problem)) => Err(problem),
        (_, None) => {
            cancel(CRASHED);
            set_up();
            return;
        }
    };
    let requester = MAKING.with_borrow_mut(|making| making.waiting.remove(&(number as u32)));
    // Fails only if the request was dropped.
    requester.map(|requester| requester.send(answer));
}

/// Cancels pending requests, if there are any: ends the worker and starts another.
pub fn restart() {
    if MAKING.with_borrow(|making| !making.waiting.is_empty()) {
        cancel("cancelled");
        set_up();
    }
}

/// Ends the worker; all pending requests fail with the error `why`.
fn cancel(why: &str) {
    let Making { worker, waiting, next_number } = MAKING.take();
    MAKING.with_borrow_mut(|making| making.next_number = next_number);
    if let Some(worker) = worker {
        worker.terminate();
    }
    for sender in waiting.into_values() {
        let _ = sender.send(Err(why.to_owned()));
    }
}

/// Creates or reads the bodies of `request` in the worker.
///
/// # Errors
///
/// Those of [`InputRequest::load`].
pub async fn load(request: &InputRequest, softening: Option<f64>) -> Result<Input> {
    // Errors of the scene are returned at once, without the worker.
    let scene = request.scene()?;
    // A scene file may need other files.
    let is_built_in = scene.is_some() && !request.input.contains('.');
    let lying = if is_built_in { Vec::new() } else { files::lying() };
    let names: Array = lying.iter().map(|(name, _)| JsValue::from(name.as_str())).collect();
    let bytes: Array = lying.iter().map(|(_, bytes)| Uint8Array::from(&bytes[..])).collect();
    let answer = MAKING.with_borrow_mut(|making| {
        let worker = making.worker.as_ref()?;
        let message = object(&[
            ("number", making.next_number.into()),
            ("request", serde_json::to_string(request).ok()?.into()),
            ("softening", softening.map_or(JsValue::UNDEFINED, JsValue::from)),
            ("names", names.into()),
            ("files", bytes.into()),
        ]);
        worker.post_message(&message).ok()?;
        let (sender, answer) = channel();
        making.waiting.insert(making.next_number, sender);
        making.next_number += 1;
        Some(answer)
    });
    let answer = match answer {
        Some(answer) => answer.await.ok(),
        None => None,
    };
    match answer {
        Some(Ok(bytes)) => Input::unpack(request, &bytes),
        Some(Err(problem)) => Err(Error::Outside(problem)),
        // There is no worker: the page loads the bodies itself.
        None => request.load(softening),
    }
}

/// In the worker: loads a request in JSON, with files by their names, and returns what
/// [`Input::unpack`] reads.
///
/// # Errors
///
/// Those of [`InputRequest::load`], as a text.
#[wasm_bindgen]
pub fn make(
    request: &str,
    softening: Option<f64>,
    names: Vec<String>,
    files: Vec<Uint8Array>,
) -> std::result::Result<Vec<u8>, JsValue> {
    log::set_up();
    std::panic::set_hook(Box::new(|panic| ::log::error!("in the worker: {panic}")));
    for (name, bytes) in names.into_iter().zip(files) {
        files::lay_down(name, bytes.to_vec());
    }
    let made = serde_json::from_str::<InputRequest>(request)
        .map_err(|problem| Error::Outside(problem.to_string()))
        .and_then(|request| request.load(softening)?.pack());
    made.map_err(|problem| JsValue::from(problem.to_string()))
}
