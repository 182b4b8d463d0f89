//! Platform-specific code of the window, native or in a browser's page: event loop, file dialog,
//! films.

#[cfg(not(target_arch = "wasm32"))]
mod native;
#[cfg(not(target_arch = "wasm32"))]
mod picker;
#[cfg(target_arch = "wasm32")]
mod web;

use std::cell::RefCell;
use std::rc::Rc;

#[cfg(not(target_arch = "wasm32"))]
pub use native::*;
#[cfg(target_arch = "wasm32")]
pub use web::*;

/// An event sent to the event loop by other threads, or by the page.
#[derive(Clone, Copy, Debug)]
pub enum UserEvent {
    /// Ends the program.
    #[cfg_attr(
        target_arch = "wasm32",
        expect(dead_code, reason = "a page is closed by its browser")
    )]
    Quit,
    /// Requests a frame, which handles the page's events.
    #[cfg(target_arch = "wasm32")]
    Wake,
}

/// The result of a future on the window's thread: natively [`Deferred::of`] blocks until it is
/// ready, in a browser it comes some frames later.
pub struct Deferred<T>(Rc<RefCell<Option<T>>>);

impl<T: 'static> Deferred<T> {
    /// The result of `future`.
    pub fn of(future: impl Future<Output = T> + 'static) -> Self {
        let slot = Rc::default();
        let deferred = Self(Rc::clone(&slot));
        let filling = async move {
            let value = future.await;
            *slot.borrow_mut() = Some(value);
        };
        #[cfg(not(target_arch = "wasm32"))]
        pollster::block_on(filling);
        #[cfg(target_arch = "wasm32")]
        wasm_bindgen_futures::spawn_local(filling);
        deferred
    }

    /// The value, once.
    pub fn take(&self) -> Option<T> {
        self.0.borrow_mut().take()
    }
}
