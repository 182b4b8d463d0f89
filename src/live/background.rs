//! Background tasks: on a thread of their own or, in a browser, on the event loop.
//!
//! Kernels for another shape or softening are compiled in the background. Until they are ready no
//! step begins, but frames are drawn. Scenes, snapshots and other engines are also prepared there,
//! and replace the current simulation when they are ready (`app/window/loading.rs`).

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use crate::error::{Error, Result};

/// Runs the future that `work` returns in the background. `work` is called on the thread that polls
/// the future, so the future need not be `Send`.
///
/// # Errors
///
/// The thread cannot be spawned.
pub(super) fn run_in_background<F>(
    name: &str,
    work: impl FnOnce() -> F + Send + 'static,
) -> Result<()>
where
    F: Future<Output = ()> + 'static,
{
    #[cfg(not(target_arch = "wasm32"))]
    {
        let thread = std::thread::Builder::new().name(name.to_owned());
        let spawned = thread.spawn(move || {
            #[cfg(feature = "priority")]
            super::priority::lower_own_priority();
            pollster::block_on(work());
        });
        spawned.map(drop).map_err(|error| Error::Device(format!("no thread for {name}: {error}")))
    }
    #[cfg(target_arch = "wasm32")]
    {
        let _ = name;
        wasm_bindgen_futures::spawn_local(work());
        Ok(())
    }
}

/// A value that a background task computes. Dropping it cancels the task.
pub struct Background<T> {
    name: &'static str,
    made: Receiver<Result<T>>,
    /// Set when the result is not needed any more: engines called by the task stop early.
    cancelled: Arc<AtomicBool>,
}

impl<T> Drop for Background<T> {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

impl<T: Send + 'static> Background<T> {
    /// Starts the task.
    ///
    /// # Errors
    ///
    /// The thread cannot be spawned.
    pub fn start<F>(name: &'static str, work: impl FnOnce() -> F + Send + 'static) -> Result<Self>
    where
        F: Future<Output = Result<T>> + 'static,
    {
        let (sender, made) = channel();
        let cancelled = Arc::<AtomicBool>::default();
        let own = Arc::clone(&cancelled);
        run_in_background(name, move || {
            let making = work();
            async move {
                // The flag is per thread, and in a browser all tasks share one thread.
                if cfg!(not(target_arch = "wasm32")) {
                    crate::stop::heed(&own);
                }
                // Fails only if the receiver has been dropped.
                let _ = sender.send(making.await);
            }
        })?;
        Ok(Self { name, made, cancelled })
    }

    /// The result, once; `None` until it is ready.
    pub fn take(&self) -> Option<Result<T>> {
        match self.made.try_recv() {
            Ok(made) => Some(made),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                let problem =
                    format!("{} stopped unexpectedly; this is an error in gravitile", self.name);
                Some(Err(Error::Outside(problem)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait_for(task: &Background<u32>) -> Result<u32> {
        loop {
            if let Some(made) = task.take() {
                return made;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn dropping_the_handle_cancels_the_task() {
        let (sender, receiver) = channel();
        let made = Background::start("a number", move || async move {
            let begun = crate::wall_clock::Instant::now();
            while crate::stop::check().is_ok() && begun.elapsed().as_secs() < 20 {
                std::thread::yield_now();
            }
            sender.send(crate::stop::is_wanted()).map_err(|_| Error::Stopped)
        });
        drop(made.unwrap());
        assert!(receiver.recv().unwrap());
    }

    #[test]
    fn result_is_taken_once_and_a_panic_is_an_error() {
        let (go, begin) = channel();
        let made = Background::start("a number", move || async move {
            begin.recv().map_err(|_| Error::Stopped)?;
            Ok(7)
        });
        let made = made.unwrap();
        assert!(made.take().is_none(), "it waits for the word");
        go.send(()).unwrap();
        assert_eq!(wait_for(&made).unwrap(), 7);
        let broken: Background<u32> =
            Background::start("a number", || async { panic!("on purpose") }).unwrap();
        assert!(wait_for(&broken).unwrap_err().to_string().contains("a number stopped"));
    }
}
