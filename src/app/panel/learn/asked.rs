//! Questions that take a while, answered on threads of their own: what the driver says of a kernel, and
//! what the adapter can do at most.

use std::sync::mpsc::{Receiver, TryRecvError, channel};

use crate::error::{Error, Result};
use crate::forces::direct::gpu::KernelVariant;
use crate::gpu::{AdapterInfo, AdapterRequest, Gpu};
use crate::inspect::{Inspector, Report};
use crate::measure::{Ceiling, Ceilings, Effort};

/// A question and its answer, once it is there.
pub enum Asked<T> {
    /// Nobody has asked.
    Nothing,
    /// Under way.
    Waiting(Receiver<Result<T>>),
    /// Answered, or refused in words.
    Answer(Result<T, String>),
}

impl<T: Send + 'static> Asked<T> {
    /// Asks on a thread.
    fn ask(question: impl FnOnce() -> Result<T> + Send + 'static) -> Self {
        let (sender, receiver) = channel();
        let ask = move || {
            // Nobody waits any more where the window has been closed.
            let _ = sender.send(question());
        };
        match std::thread::Builder::new().name("question".to_owned()).spawn(ask) {
            Ok(_) => Self::Waiting(receiver),
            Err(error) => Self::Answer(Err(format!("no thread to ask on: {error}"))),
        }
    }

    /// Takes an answer that has come; true when it came just now.
    pub fn poll(&mut self) -> bool {
        let Self::Waiting(receiver) = self else { return false };
        let answer = match receiver.try_recv() {
            Ok(answer) => answer.map_err(|error| error.to_string()),
            Err(TryRecvError::Empty) => return false,
            Err(TryRecvError::Disconnected) => Err("the thread that asked has died".to_owned()),
        };
        *self = Self::Answer(answer);
        true
    }
}

/// What the driver says of a kernel.
pub fn driver(adapter: &AdapterInfo, variant: KernelVariant) -> Asked<Report> {
    let adapter = adapter.clone();
    Asked::ask(move || Inspector::present(&adapter)?.report(&variant))
}

/// The ceilings of an adapter, on a device of their own. What else runs on it makes them lower.
pub fn ceilings(adapter: &AdapterInfo) -> Asked<Ceilings> {
    let adapter = adapter.clone();
    Asked::ask(move || {
        let identity = adapter.identity();
        let gpu = Gpu::open_blocking(&AdapterRequest::known(identity.clone()))?;
        if !identity.is(&gpu.adapter.identity()) {
            let problem = format!("measured would be {}", gpu.adapter.identity());
            return Err(Error::Adapter { adapter: adapter.name, problem });
        }
        let found = Ceilings::measure(&gpu, Effort::Quick, &mut |_: Ceiling| true)?;
        Ok(Ceilings::on(&gpu, &found))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer_of<T: Send + 'static>(mut asked: Asked<T>) -> Result<T, String> {
        for _ in 0..20_000 {
            if asked.poll() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        match asked {
            Asked::Answer(answer) => answer,
            _ => Err("no answer".to_owned()),
        }
    }

    #[test]
    fn answers_come_once_and_so_do_refusals_and_deaths() {
        assert_eq!(answer_of(Asked::ask(|| Ok(7))), Ok(7));
        let refused = Asked::<u32>::ask(|| Err(Error::value("x", 1, "2")));
        assert!(answer_of(refused).unwrap_err().contains('x'));
        let dead = Asked::<u32>::ask(|| panic!("on purpose"));
        assert!(answer_of(dead).unwrap_err().contains("died"));
        assert!(!Asked::<u32>::Nothing.poll());
    }
}
