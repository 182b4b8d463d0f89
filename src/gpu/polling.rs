//! Letting callbacks run, and waiting, on a device that may be lost meanwhile: where the driver says so in answer to a
//! wait, wgpu (30) panics. Here that is an error like others.

/// Polls the device.
///
/// Errors: what came in place of an answer, in words.
#[cfg(target_arch = "wasm32")]
pub fn poll(device: &wgpu::Device, so_far: wgpu::PollType) -> Result<wgpu::PollStatus, String> {
    device.poll(so_far).map_err(|error| error.to_string())
}

/// Polls the device.
///
/// Errors: what came in place of an answer, in words.
#[cfg(not(target_arch = "wasm32"))]
pub fn poll(device: &wgpu::Device, so_far: wgpu::PollType) -> Result<wgpu::PollStatus, String> {
    match caught(|| device.poll(so_far)) {
        Ok(polled) => polled.map_err(|error| error.to_string()),
        Err(problem) => Err(problem),
    }
}

#[cfg(not(target_arch = "wasm32"))]
thread_local! {
    /// Whether this thread is in a call whose panics are caught.
    static IS_CAUGHT: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// What `work` returns; where it panics the last line of what it says, which nobody else hears of.
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
    fn what_a_panic_says_last_is_the_error() {
        assert_eq!(caught(|| 7), Ok(7));
        let cause = "Parent device is lost";
        let problem = caught(|| -> u8 { panic!("Error in poll\n\nCaused by:\n  {cause}") });
        assert_eq!(problem, Err(cause.to_owned()));
        assert!(!IS_CAUGHT.get());
    }
}
