//! Values that the window's own thread waits for: natively they are there at once, in a browser some frames later.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

/// A value that is there or will come.
pub struct Soon<T>(Rc<RefCell<Option<T>>>);

impl<T: 'static> Soon<T> {
    /// The result of `future`.
    pub fn of(future: impl Future<Output = T> + 'static) -> Self {
        let slot = Rc::default();
        let soon = Self(Rc::clone(&slot));
        let filling = async move {
            let value = future.await;
            *slot.borrow_mut() = Some(value);
        };
        #[cfg(not(target_arch = "wasm32"))]
        pollster::block_on(filling);
        #[cfg(target_arch = "wasm32")]
        wasm_bindgen_futures::spawn_local(filling);
        soon
    }

    /// The value, once.
    pub fn take(&self) -> Option<T> {
        self.0.borrow_mut().take()
    }
}
