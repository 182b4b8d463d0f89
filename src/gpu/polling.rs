//! Polling and waiting on a device that may be lost meanwhile. If the driver reports the loss
//! during a wait, wgpu (30) panics; here that becomes an error.

/// Polls the device.
///
/// # Errors
/// The message of the failure.
#[cfg(target_arch = "wasm32")]
pub fn poll(device: &wgpu::Device, so_far: wgpu::PollType) -> Result<wgpu::PollStatus, String> {
    device.poll(so_far).map_err(|error| error.to_string())
}

/// Polls the device.
///
/// # Errors
/// The message of the failure, or of the panic in wgpu.
#[cfg(not(target_arch = "wasm32"))]
pub fn poll(device: &wgpu::Device, so_far: wgpu::PollType) -> Result<wgpu::PollStatus, String> {
    match caught(|| device.poll(so_far)) {
        Ok(polled) => polled.map_err(|error| error.to_string()),
        Err(problem) => Err(problem),
    }
}

#[cfg(not(target_arch = "wasm32"))]
thread_local! {
    /// Whether this thread is in a call whose panics are caught and not printed.
    static IS_CAUGHT: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Runs `work`; if it panics, returns the last line of the panic message, which is not printed.
#[cfg(not(target_arch = "wasm32"))]
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
    static SILENCED: std::sync::Once = std::sync::Once::new();
    SILENCED.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_CAUGHT.get() {
                usual(panic);
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
