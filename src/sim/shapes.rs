//! The shapes of the kernels with derivatives for a simulation on individual steps. They are fixed
//! when it is opened, because another shape sums in another order.

use super::engine::tier_of;
use super::{Choice, EngineKind, Method, Settings};
use crate::error::Result;
use crate::forces::direct::gpu::tiers::Fitted;

/// Fills in the shapes that tuning has found for `n` bodies, unless the settings name others. With
/// several ranks, all take those of rank 0.
///
/// # Errors
/// A precision that the engine does not have; no message from rank 0.
pub(super) fn settle(settings: &mut Settings, choice: &Choice, n: usize) -> Result<()> {
    if settings.shapes.is_some() || !settings.integrator.has_block_steps() {
        return Ok(());
    }
    let shapes = found(settings, choice, n)?;
    #[cfg(not(target_arch = "wasm32"))]
    let shapes = match &choice.ranks {
        Some(ranks) => shapes_of_rank_0(ranks, shapes)?,
        None => shapes,
    };
    settings.shapes = Some(shapes);
    Ok(())
}

/// The shapes that tuning has found on the chosen device, for this precision and `n` sources.
fn found(settings: &Settings, choice: &Choice, n: usize) -> Result<Vec<Fitted>> {
    let takes_shapes = choice.kind == EngineKind::Gpu && choice.method == Method::Direct;
    let Some(gpu) = choice.gpu.as_ref().filter(|_| takes_shapes) else { return Ok(Vec::new()) };
    let (_, precision) = tier_of(choice.kind, settings)?;
    let mut shapes = settings.known.shapes_for(gpu, n);
    shapes.retain(|one| one.precision == precision);
    Ok(shapes)
}

/// The message in which rank 0 sends its shapes.
#[cfg(not(target_arch = "wasm32"))]
#[derive(serde::Serialize, serde::Deserialize)]
struct ShapesMessage {
    shapes: Vec<Fitted>,
}

/// The shapes of rank 0: other ranks may have tuned differently.
#[cfg(not(target_arch = "wasm32"))]
fn shapes_of_rank_0(ranks: &crate::exchange::Ranks, shapes: Vec<Fitted>) -> Result<Vec<Fitted>> {
    let text =
        toml::to_string(&ShapesMessage { shapes }).expect("shapes should be expressible in TOML");
    let received = ranks.gather_messages(text.as_bytes())?;
    let first = String::from_utf8_lossy(&received[0]);
    toml::from_str(&first).map(|message: ShapesMessage| message.shapes).map_err(|error| {
        let text = format!("rank 0 sent shapes that are not known here: {error}");
        crate::error::Error::Outside(text)
    })
}
