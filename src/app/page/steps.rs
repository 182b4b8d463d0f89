//! Steps only, without a window or a picture: what `web/tool/benches/steps.rs` asks a page for, to compare it with the
//! native program.

use wasm_bindgen::prelude::*;

use super::{asked, log};
use crate::error::Result;
use crate::gpu::name_adapter;
use crate::sim::Simulation;

/// Makes `count` steps of the bodies that a link asks for, and returns on what and how they were made. `adapter` is the
/// browser's description of the graphics adapter.
///
/// Errors: those of the link, of its bodies and of the device, as a text.
#[wasm_bindgen]
pub async fn steps(
    adapter: String,
    link: String,
    count: u32,
) -> std::result::Result<String, JsValue> {
    log::set_up();
    name_adapter(&adapter);
    make(&link, count).await.map_err(|problem| JsValue::from(problem.to_string()))
}

async fn make(link: &str, count: u32) -> Result<String> {
    let request = asked(link).await?;
    let input = request.input.load(request.steps.eps)?;
    let settings = request.steps.settings(&input, &request.engine)?;
    let mut sim = Simulation::open(input.snapshot.bodies, settings).await?;
    let done = sim.advance(u64::from(count), &mut |_| true).await?;
    // The steps are complete when the bodies are there.
    let moment = sim.fetch().await?;
    let bodies = moment.bodies.len();
    Ok(format!("{done} steps of {bodies} bodies on {}", sim.describe_engine()))
}
