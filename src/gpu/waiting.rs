//! Polling and waiting.
//!
//! If the driver reports during a wait that the device was lost, wgpu (30) panics; here that
//! becomes an error. A page waits for nothing, and yields to its event loop instead.

use crate::error;

/// Polls the device.
///
/// # Errors
/// The message of the failure, natively also of a panic in wgpu.
pub fn poll(device: &wgpu::Device, poll_type: wgpu::PollType) -> Result<wgpu::PollStatus, String> {
    caught(|| device.poll(poll_type).map_err(|error| error.to_string())).and_then(|polled| polled)
}

#[cfg(not(target_arch = "wasm32"))]
thread_local! {
    /// Whether this thread is in a call whose panics are caught and not printed.
    static IS_CAUGHT: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Runs `work`, which calls a library that panics if the device is lost.
///
/// # Errors
/// The last line of the panic's message, which is not printed. A page does not unwind.
#[cfg(target_arch = "wasm32")]
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    Ok(work())
}

/// Runs `work`, which calls a library that panics if the device is lost.
///
/// # Errors
/// The last line of the panic's message, which is not printed. A page does not unwind.
#[cfg(not(target_arch = "wasm32"))]
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
    static SILENCED: std::sync::Once = std::sync::Once::new();
    SILENCED.call_once(|| {
        let default_hook = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_CAUGHT.get() {
                default_hook(panic);
            }
        }));
    });
    let before = IS_CAUGHT.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    IS_CAUGHT.set(before);
    outcome.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or_default();
        text.lines().last().unwrap_or("no answer").trim().to_owned()
    })
}

/// Runs an asynchronous device operation to its end, blocking the thread.
///
/// # Errors
/// Those of `work`; in a browser, where blocking is impossible, that it was not ready at once.
pub fn blocking<T>(work: impl Future<Output = error::Result<T>>) -> error::Result<T> {
    #[cfg(not(target_arch = "wasm32"))]
    return pollster::block_on(work);
    #[cfg(target_arch = "wasm32")]
    match std::pin::pin!(work).poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
        std::task::Poll::Ready(done) => done,
        std::task::Poll::Pending => {
            Err(error::Error::Device("a browser does not wait for a device".to_owned()))
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_line_of_panic_becomes_error() {
        assert_eq!(caught(|| 7), Ok(7));
        let cause = "Parent device is lost";
        let problem = caught(|| -> u8 { panic!("Error in poll\n\nCaused by:\n  {cause}") });
        assert_eq!(problem, Err(cause.to_owned()));
        assert!(!IS_CAUGHT.get());
    }
}
