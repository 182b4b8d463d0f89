//! Queries that are answered in the background: the driver's report on a kernel, and the adapter's
//! ceilings.

#[cfg(not(target_arch = "wasm32"))]
use gravitile::error::Error;
use gravitile::error::Result;
use gravitile::forces::direct::gpu::KernelVariant;
use gravitile::gpu::AdapterInfo;
#[cfg(not(target_arch = "wasm32"))]
use gravitile::gpu::{AdapterRequest, Gpu};
use gravitile::inspect::CompilerReport;
#[cfg(not(target_arch = "wasm32"))]
use gravitile::inspect::Inspector;
use gravitile::live::Background;
use gravitile::measure::Ceilings;
#[cfg(not(target_arch = "wasm32"))]
use gravitile::measure::{Ceiling, Effort};

/// A query, and its result once it is known.
pub enum Query<T> {
    /// Not started.
    Idle,
    /// In progress.
    #[cfg_attr(target_arch = "wasm32", expect(dead_code, reason = "a page starts no query"))]
    Pending(Background<T>),
    /// The result, or why there is none.
    Done(Result<T, String>),
}

impl<T: Send + 'static> Query<T> {
    #[cfg(not(target_arch = "wasm32"))]
    fn start<F>(question: impl FnOnce() -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<T>> + 'static,
    {
        match Background::start("the question", question) {
            Ok(query) => Self::Pending(query),
            Err(error) => Self::Done(Err(error.to_string())),
        }
    }

    /// Stores the result if it has arrived; true if it arrived just now.
    pub fn poll(&mut self) -> bool {
        let Self::Pending(query) = self else { return false };
        let Some(result) = query.take() else { return false };
        *self = Self::Done(result.map_err(|error| error.to_string()));
        true
    }
}

/// The driver's report on a kernel.
#[cfg(not(target_arch = "wasm32"))]
pub fn driver(adapter: &AdapterInfo, variant: KernelVariant) -> Query<CompilerReport> {
    let adapter = adapter.clone();
    Query::start(move || async move { Inspector::present(&adapter)?.report(&variant) })
}

/// A browser gives a page no access to the driver.
#[cfg(target_arch = "wasm32")]
pub fn driver(_: &AdapterInfo, _: KernelVariant) -> Query<CompilerReport> {
    Query::Done(Err("a browser does not let a page ask the driver".to_owned()))
}

/// The ceilings of an adapter, on a device of their own. Anything else running on it lowers them.
#[cfg(not(target_arch = "wasm32"))]
pub fn ceilings(adapter: &AdapterInfo) -> Query<Ceilings> {
    let adapter = adapter.clone();
    Query::start(move || async move {
        let identity = adapter.identity();
        let gpu = Gpu::open(&AdapterRequest::known(identity.clone())).await?;
        if !identity.is(&gpu.adapter.identity()) {
            let problem = format!("opening it gave {} instead", gpu.adapter.identity());
            return Err(Error::Adapter { adapter: adapter.name, problem });
        }
        let found = Ceilings::measure(&gpu, Effort::Quick, &mut |_: Ceiling| true).await?;
        Ok(Ceilings::on(&gpu, &found))
    })
}

/// Measured in the lesson's page, whose worker waits for the device.
#[cfg(target_arch = "wasm32")]
pub fn ceilings(_: &AdapterInfo) -> Query<Ceilings> {
    Query::Done(Err(
        "they are measured in the lesson (lesson.html), and by 'gravitile bench'".to_owned()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result_of<T: Send + 'static>(mut query: Query<T>) -> Result<T, String> {
        for _ in 0..20_000 {
            if query.poll() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        match query {
            Query::Done(result) => result,
            _ => Err("no answer".to_owned()),
        }
    }

    #[test]
    fn query_yields_its_value_error_or_panic_once() {
        assert_eq!(result_of(Query::start(|| async { Ok(7) })), Ok(7));
        let refused = Query::<u32>::start(|| async { Err(Error::value("x", 1, "2")) });
        assert!(result_of(refused).unwrap_err().contains('x'));
        let dead = Query::<u32>::start(|| async { panic!("on purpose") });
        assert!(result_of(dead).unwrap_err().contains("stopped unexpectedly"));
        assert!(!Query::<u32>::Idle.poll());
    }
}
