//! The ceilings that the model uses, measured when first needed.

use std::sync::Arc;

use crate::gpu::{DeviceClass, Gpu};
use crate::measure::{Ceiling, CeilingSamples, Ceilings, Effort};

/// The ceilings of one device, measured when first needed and cached.
pub struct KnownCeilings {
    gpu: Arc<Gpu>,
    found: Option<Result<Ceilings, String>>,
}

impl KnownCeilings {
    /// No measurement yet.
    pub fn new(gpu: &Arc<Gpu>) -> Self {
        Self { gpu: Arc::clone(gpu), found: None }
    }

    /// The ceilings; if they are not known yet, they are measured in little more than `secs`
    /// seconds. `None` if that was too short, `go_on` returned false, or the device failed; there
    /// is no retry.
    pub fn within(&mut self, secs: f64, go_on: &mut dyn FnMut() -> bool) -> Option<Ceilings> {
        let found = self.found.get_or_insert_with(|| measure(&self.gpu, secs, go_on));
        found.as_ref().ok().copied()
    }

    /// Why the ceilings could not be measured.
    pub fn problem(&self) -> Option<&str> {
        self.found.as_ref()?.as_ref().err().map(String::as_str)
    }
}

fn measure(gpu: &Arc<Gpu>, secs: f64, go_on: &mut dyn FnMut() -> bool) -> Result<Ceilings, String> {
    let software = gpu.adapter.class == DeviceClass::Software;
    // Short samples are enough for a factor of two, but a GPU must also leave its idle clocks
    // first.
    let effort = if software { Effort::Quick } else { Effort::Full };
    let begun = web_time::Instant::now();
    let mut before = |_| begun.elapsed().as_secs_f64() < secs && go_on();
    let samples: Vec<CeilingSamples> =
        Ceilings::measure(gpu, effort, &mut before).map_err(|error| error.to_string())?;
    if samples.len() < Ceiling::ALL.len() {
        return Err(format!("measuring this adapter's ceilings takes more than {secs:.1} s"));
    }
    Ok(Ceilings::on(gpu, &samples))
}
