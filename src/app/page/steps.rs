//! Steps only, without a window or a picture: called by `web/tool/benches/steps.rs`, to compare a
//! page with the native program.

use wasm_bindgen::prelude::*;

use super::{log, parse_link};
use gravitile::error::Result;
use gravitile::gpu::name_adapter;
use gravitile::sim::Simulation;

/// Takes `count` steps of the bodies of a link, and returns a description of the engine. `adapter`
/// is the browser's description of the graphics adapter.
///
/// # Errors
///
/// Those of the link, of its bodies and of the device, as a text.
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
    let request = parse_link(link).await?;
    let input = request.input.load(request.steps.eps)?;
    let settings = request.steps.settings(&input, &request.engine)?;
    let mut sim = Simulation::open(input.snapshot.bodies, settings).await?;
    let done = sim.advance(u64::from(count), &mut |_| true).await?;
    // Waits for the device to complete the steps.
    let moment = sim.fetch().await?;
    let bodies = moment.bodies.len();
    Ok(format!("{done} steps of {bodies} bodies on {}", sim.describe_engine()))
}
