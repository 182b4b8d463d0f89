//! Events that winit does not handle in a browser: dropped or picked files, leaving the page.

use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{DragEvent, Event, EventTarget, FileList, HtmlInputElement};

use super::{CANCEL, PICKER, browser, document, element, take_files};
use crate::window::machine::{PageEvent, enqueue};

/// Adds a listener for events of this name, for the page's lifetime.
pub fn on<E: JsCast + 'static>(
    target: &EventTarget,
    name: &str,
    listener: impl FnMut(E) + 'static,
) {
    add(target, name, false, listener);
}

/// Like [`on`]; a listener that `captures` is called before the others.
pub fn add<E: JsCast + 'static>(
    target: &EventTarget,
    name: &str,
    captures: bool,
    mut listener: impl FnMut(E) + 'static,
) {
    let closure =
        Closure::<dyn FnMut(Event)>::new(move |event: Event| listener(event.unchecked_into()));
    let function = closure.as_ref().unchecked_ref();
    if target.add_event_listener_with_callback_and_bool(name, function, captures).is_err() {
        log::warn!("the page cannot listen to {name}");
    }
    // The closure lives as long as the page.
    closure.forget();
}

/// Adds the listeners.
pub fn set_up() {
    let (Some(browser), Some(document)) = (browser(), document()) else { return };
    on(&document, "dragover", |event: DragEvent| event.prevent_default());
    on(&document, "drop", |event: DragEvent| {
        event.prevent_default();
        read(event.data_transfer().and_then(|data| data.files()));
    });
    if let Some(picker) = element(PICKER) {
        on(&picker, "change", |event: Event| {
            let input =
                event.target().and_then(|target| target.dyn_into::<HtmlInputElement>().ok());
            let Some(input) = input else { return };
            read(input.files());
            // Allows picking the same file again.
            input.set_value("");
        });
    }
    if let Some(cancel) = element(CANCEL) {
        on(&cancel, "click", |_: Event| enqueue(PageEvent::CancelLoading));
    }
    // Another link in the address bar: reload the page.
    let address = browser.location();
    on(&browser, "hashchange", move |_: Event| {
        let _ = address.reload();
    });
    // The last chance to save anything.
    let leaving = |_: Event| enqueue(PageEvent::Leave);
    on(&document, "visibilitychange", leaving);
    on(&browser, "pagehide", leaving);
}

/// Reads whole files, one after the other.
fn read(list: Option<FileList>) {
    let Some(list) = list else { return };
    spawn_local(async move {
        let mut whole = Vec::new();
        for file in (0..list.length()).filter_map(|k| list.get(k)) {
            let name = file.name();
            match JsFuture::from(file.array_buffer()).await {
                Ok(buffer) => whole.push((name, js_sys::Uint8Array::new(&buffer).to_vec())),
                Err(_) => enqueue(PageEvent::Warning(format!("{name} cannot be read"))),
            }
        }
        take_files(whole);
    });
}

/// Copies a text to the clipboard.
pub fn copy(text: &str) {
    let Some(browser) = browser() else { return };
    // Pages loaded without encryption have no clipboard.
    let navigator: JsValue = browser.navigator().into();
    let clipboard = js_sys::Reflect::get(&navigator, &"clipboard".into());
    if clipboard.is_ok_and(|clipboard| clipboard.is_undefined()) {
        enqueue(PageEvent::Warning("this page may not use the clipboard".to_owned()));
        return;
    }
    let writing = JsFuture::from(browser.navigator().clipboard().write_text(text));
    spawn_local(async move {
        if writing.await.is_err() {
            enqueue(PageEvent::Warning("the browser refused to copy".to_owned()));
        }
    });
}
