//! Work in the background of the frames: on a thread of its own or, in a browser, in turns of the event
//! loop.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use crate::error::{Error, Result};

/// Runs the future that `work` makes in the background. It is made where it runs, so it need not be `Send`.
///
/// Errors: no thread for it.
pub(super) fn run_beside<F>(name: &str, work: impl FnOnce() -> F + Send + 'static) -> Result<()>
where
    F: Future<Output = ()> + 'static,
{
    #[cfg(not(target_arch = "wasm32"))]
    {
        let thread = std::thread::Builder::new().name(name.to_owned());
        let spawned = thread.spawn(move || {
            #[cfg(feature = "window")]
            super::priority::give_way();
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

/// Something being made in the background.
pub(crate) struct Beside<T> {
    name: &'static str,
    made: Receiver<Result<T>>,
    /// Set when nobody wants it any more: engines working on it give up.
    left: Arc<AtomicBool>,
}

impl<T> Drop for Beside<T> {
    fn drop(&mut self) {
        self.left.store(true, Ordering::Relaxed);
    }
}

impl<T: Send + 'static> Beside<T> {
    /// Begins to make it.
    ///
    /// Errors: no thread for it.
    pub fn start<F>(name: &'static str, work: impl FnOnce() -> F + Send + 'static) -> Result<Self>
    where
        F: Future<Output = Result<T>> + 'static,
    {
        let (sender, made) = channel();
        let left = Arc::<AtomicBool>::default();
        let own = Arc::clone(&left);
        run_beside(name, move || {
            let making = work();
            async move {
                // A browser has one thread, which other work shares.
                if cfg!(not(target_arch = "wasm32")) {
                    crate::stop::heed(&own);
                }
                // Maybe nobody wants it any more.
                let _ = sender.send(making.await);
            }
        })?;
        Ok(Self { name, made, left })
    }

    /// What was made, once; `None` until it is ready.
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

    fn waited(beside: &Beside<u32>) -> Result<u32> {
        loop {
            if let Some(made) = beside.take() {
                return made;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_nobody_wants_any_more_is_told_to_stop() {
        let (told, tells) = channel();
        let made = Beside::start("a number", move || async move {
            let begun = web_time::Instant::now();
            while crate::stop::check().is_ok() && begun.elapsed().as_secs() < 20 {
                std::thread::yield_now();
            }
            told.send(crate::stop::is_wanted()).map_err(|_| Error::Stopped)
        });
        drop(made.unwrap());
        assert!(tells.recv().unwrap());
    }

    #[test]
    fn what_is_made_comes_once_and_a_panic_is_told() {
        let (go, begin) = channel();
        let made = Beside::start("a number", move || async move {
            begin.recv().map_err(|_| Error::Stopped)?;
            Ok(7)
        });
        let made = made.unwrap();
        assert!(made.take().is_none(), "it waits for the word");
        go.send(()).unwrap();
        assert_eq!(waited(&made).unwrap(), 7);
        let broken: Beside<u32> =
            Beside::start("a number", || async { panic!("on purpose") }).unwrap();
        assert!(waited(&broken).unwrap_err().to_string().contains("a number stopped"));
    }
}
