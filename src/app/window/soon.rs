//! Results of futures on the window's thread: natively `Deferred::of` blocks until they are ready,
//! in a browser they come some frames later.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

/// A value that is ready or pending.
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
