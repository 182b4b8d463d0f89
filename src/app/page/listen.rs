//! Events that winit does not handle in a browser: files dropped or picked, leaving the page.

use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{DragEvent, Event, EventTarget, FileList, HtmlInputElement};

use super::{CANCEL, PICKER, browser, document, element, take_files};
use crate::app::window::machine::tell;

/// Calls `hear` for each event of that name, for the page's lifetime.
pub fn on<E: JsCast + 'static>(
    target: &EventTarget,
    name: &str,
    mut hear: impl FnMut(E) + 'static,
) {
    let heard = Closure::<dyn FnMut(Event)>::new(move |event: Event| hear(event.unchecked_into()));
    let added = target.add_event_listener_with_callback(name, heard.as_ref().unchecked_ref());
    if added.is_err() {
        log::warn!("the page cannot listen to {name}");
    }
    // It lives as long as the page.
    heard.forget();
}

/// The same, before any other listener.
pub fn on_first<E: JsCast + 'static>(
    target: &EventTarget,
    name: &str,
    mut hear: impl FnMut(E) + 'static,
) {
    let heard = Closure::<dyn FnMut(Event)>::new(move |event: Event| hear(event.unchecked_into()));
    let function = heard.as_ref().unchecked_ref();
    if target.add_event_listener_with_callback_and_bool(name, function, true).is_err() {
        log::warn!("the page cannot listen to {name}");
    }
    heard.forget();
}

/// Begins to listen.
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
            // The same file can be picked again.
            input.set_value("");
        });
    }
    if let Some(cancel) = element(CANCEL) {
        on(&cancel, "click", |_: Event| tell(Box::new(|frames| frames.cancel_loading())));
    }
    // Somebody has entered another link: start again from scratch.
    let address = browser.location();
    on(&browser, "hashchange", move |_: Event| {
        let _ = address.reload();
    });
    // The last chance to save anything.
    let leaving = |_: Event| {
        tell(Box::new(|frames| {
            frames.remember_size();
            frames.remember();
        }))
    };
    on(&document, "visibilitychange", leaving);
    on(&browser, "pagehide", leaving);
}

/// Reads files whole, one after the other.
fn read(list: Option<FileList>) {
    let Some(list) = list else { return };
    spawn_local(async move {
        let mut whole = Vec::new();
        for file in (0..list.length()).filter_map(|k| list.get(k)) {
            let name = file.name();
            match JsFuture::from(file.array_buffer()).await {
                Ok(buffer) => whole.push((name, js_sys::Uint8Array::new(&buffer).to_vec())),
                Err(_) => {
                    let text = format!("{name} cannot be read");
                    tell(Box::new(move |frames| frames.say(text, true)));
                }
            }
        }
        take_files(whole);
    });
}

/// Hands a text to the clipboard.
pub fn copy(text: &str) {
    let Some(browser) = browser() else { return };
    // Pages loaded without encryption have none.
    let navigator: JsValue = browser.navigator().into();
    let clipboard = js_sys::Reflect::get(&navigator, &"clipboard".into());
    if clipboard.is_ok_and(|clipboard| clipboard.is_undefined()) {
        tell(Box::new(|frames| frames.say("this page may not use the clipboard".to_owned(), true)));
        return;
    }
    let writing = JsFuture::from(browser.navigator().clipboard().write_text(text));
    spawn_local(async move {
        if writing.await.is_err() {
            tell(Box::new(|frames| frames.say("the browser refused to copy".to_owned(), true)));
        }
    });
}
