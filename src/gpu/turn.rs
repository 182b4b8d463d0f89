//! The thread of a page has an event loop, which waits for whatever runs on it.

/// Lets the browser do what has come meanwhile: to be awaited between two pieces of long work. A native program has threads, and
/// goes on at once.
pub async fn let_browser_turn() {
    #[cfg(all(target_arch = "wasm32", feature = "panel"))]
    {
        // A message to oneself comes behind all that waits; timers would be held up in a page that nobody sees.
        let Ok(channel) = web_sys::MessageChannel::new() else { return };
        let come = js_sys::Promise::new(&mut |done, _| channel.port1().set_onmessage(Some(&done)));
        if channel.port2().post_message(&wasm_bindgen::JsValue::NULL).is_ok() {
            let _ = wasm_bindgen_futures::JsFuture::from(come).await;
        }
        channel.port1().close();
    }
}
