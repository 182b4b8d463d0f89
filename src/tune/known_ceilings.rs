//! The ceilings that the model goes by, measured when they are asked for.

use std::sync::Arc;

use crate::gpu::{DeviceClass, Gpu};
use crate::measure::{Ceiling, CeilingSamples, Ceilings, Effort};

/// The ceilings of one device: measured when they are first asked for, and remembered as long as this
/// lives.
pub struct KnownCeilings {
    gpu: Arc<Gpu>,
    found: Option<Result<Ceilings, String>>,
}

impl KnownCeilings {
    /// Nothing is measured yet.
    pub fn new(gpu: &Arc<Gpu>) -> Self {
        Self { gpu: Arc::clone(gpu), found: None }
    }

    /// The ceilings, measured in `secs` seconds at most and a little, if they are not known yet. `None`
    /// where that was too short, `go_on` said no, or the device failed; it is not tried again.
    pub fn within(&mut self, secs: f64, go_on: &mut dyn FnMut() -> bool) -> Option<Ceilings> {
        let found = self.found.get_or_insert_with(|| measure(&self.gpu, secs, go_on));
        found.as_ref().ok().copied()
    }

    /// Why the ceilings are not known, if they could not be measured.
    pub fn problem(&self) -> Option<&str> {
        self.found.as_ref()?.as_ref().err().map(String::as_str)
    }
}

fn measure(gpu: &Arc<Gpu>, secs: f64, go_on: &mut dyn FnMut() -> bool) -> Result<Ceilings, String> {
    let software = gpu.adapter.class == DeviceClass::Software;
    // For a factor of two short samples do; a GPU has to come out of its sleep as well.
    let effort = if software { Effort::Quick } else { Effort::Full };
    let begun = web_time::Instant::now();
    let mut before = |_| begun.elapsed().as_secs_f64() < secs && go_on();
    let samples: Vec<CeilingSamples> =
        Ceilings::measure(gpu, effort, &mut before).map_err(|error| error.to_string())?;
    if samples.len() < Ceiling::ALL.len() {
        return Err(format!("to measure this adapter's ceilings takes more than {secs:.1} s"));
    }
    Ok(Ceilings::on(gpu, &samples))
}
