//! Yielding to the event loop of a page, which waits for whatever runs on its thread.

/// Lets the browser handle pending events: await it at intervals within long work. A native program
/// has threads and continues at once.
pub async fn let_browser_turn() {
    #[cfg(all(target_arch = "wasm32", feature = "web"))]
    {
        // A message to oneself is queued after everything pending; timers are throttled in a hidden
        // page.
        let Ok(channel) = web_sys::MessageChannel::new() else { return };
        let come = js_sys::Promise::new(&mut |done, _| channel.port1().set_onmessage(Some(&done)));
        if channel.port2().post_message(&wasm_bindgen::JsValue::NULL).is_ok() {
            let _ = wasm_bindgen_futures::JsFuture::from(come).await;
        }
        channel.port1().close();
    }
}
