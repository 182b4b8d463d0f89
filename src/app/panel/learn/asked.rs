//! Questions that take a while, answered in the background: what the driver says of a kernel, and the adapter's ceilings.

#[cfg(not(target_arch = "wasm32"))]
use crate::error::Error;
use crate::error::Result;
use crate::forces::direct::gpu::KernelVariant;
use crate::gpu::AdapterInfo;
#[cfg(not(target_arch = "wasm32"))]
use crate::gpu::{AdapterRequest, Gpu};
#[cfg(not(target_arch = "wasm32"))]
use crate::inspect::Inspector;
use crate::inspect::Report;
use crate::live::Beside;
use crate::measure::Ceilings;
#[cfg(not(target_arch = "wasm32"))]
use crate::measure::{Ceiling, Effort};

/// A question, and its answer once it is known.
pub enum Asked<T> {
    /// Nobody has asked.
    Nothing,
    /// Under way.
    #[cfg_attr(target_arch = "wasm32", expect(dead_code, reason = "a page asks nobody"))]
    Waiting(Beside<T>),
    /// Answered, or refused in words.
    Answer(Result<T, String>),
}

impl<T: Send + 'static> Asked<T> {
    #[cfg(not(target_arch = "wasm32"))]
    fn ask<F>(question: impl FnOnce() -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<T>> + 'static,
    {
        match Beside::start("the question", question) {
            Ok(asked) => Self::Waiting(asked),
            Err(error) => Self::Answer(Err(error.to_string())),
        }
    }

    /// Takes an answer if it has come; true if it came just now.
    pub fn poll(&mut self) -> bool {
        let Self::Waiting(asked) = self else { return false };
        let Some(answer) = asked.take() else { return false };
        *self = Self::Answer(answer.map_err(|error| error.to_string()));
        true
    }
}

/// What the driver says of a kernel.
#[cfg(not(target_arch = "wasm32"))]
pub fn driver(adapter: &AdapterInfo, variant: KernelVariant) -> Asked<Report> {
    let adapter = adapter.clone();
    Asked::ask(move || async move { Inspector::present(&adapter)?.report(&variant) })
}

/// A browser does not let a page ask the driver.
#[cfg(target_arch = "wasm32")]
pub fn driver(_: &AdapterInfo, _: KernelVariant) -> Asked<Report> {
    Asked::Answer(Err("a browser does not let a page ask the driver".to_owned()))
}

/// The ceilings of an adapter, on a device of their own. Anything else running on it lowers them.
#[cfg(not(target_arch = "wasm32"))]
pub fn ceilings(adapter: &AdapterInfo) -> Asked<Ceilings> {
    let adapter = adapter.clone();
    Asked::ask(move || async move {
        let identity = adapter.identity();
        let gpu = Gpu::open(&AdapterRequest::known(identity.clone())).await?;
        if !identity.is(&gpu.adapter.identity()) {
            let problem = format!("opening it gave {} instead", gpu.adapter.identity());
            return Err(Error::Adapter { adapter: adapter.name, problem });
        }
        let found = Ceilings::measure(&gpu, Effort::Quick, &mut |_: Ceiling| true)?;
        Ok(Ceilings::on(&gpu, &found))
    })
}

/// Measuring has to wait for the device, which a page cannot do.
#[cfg(target_arch = "wasm32")]
pub fn ceilings(_: &AdapterInfo) -> Asked<Ceilings> {
    Asked::Answer(Err("they are measured by 'gravitile bench', not in a browser".to_owned()))
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
        assert_eq!(answer_of(Asked::ask(|| async { Ok(7) })), Ok(7));
        let refused = Asked::<u32>::ask(|| async { Err(Error::value("x", 1, "2")) });
        assert!(answer_of(refused).unwrap_err().contains('x'));
        let dead = Asked::<u32>::ask(|| async { panic!("on purpose") });
        assert!(answer_of(dead).unwrap_err().contains("stopped unexpectedly"));
        assert!(!Asked::<u32>::Nothing.poll());
    }
}
