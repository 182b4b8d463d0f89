//! Which shapes of the kernels with derivatives a simulation on individual steps takes: settled once, when it is opened, since
//! another shape is another order of sums.

use super::engine::tier_of;
use super::{Choice, EngineKind, Method, Settings};
use crate::error::Result;
use crate::forces::direct::gpu::tiers::Fitted;

/// Those that tuning has found for `n` bodies, unless the settings say others. Of several ranks the first one's serve for all.
///
/// Errors: a tier that the engine lacks; ranks that cannot be heard.
pub(super) fn settle(settings: &mut Settings, choice: &Choice, n: usize) -> Result<()> {
    if settings.shapes.is_some() || !settings.integrator.has_block_steps() {
        return Ok(());
    }
    let shapes = found(settings, choice, n)?;
    #[cfg(not(target_arch = "wasm32"))]
    let shapes = match &choice.ranks {
        Some(ranks) => agreed(ranks, shapes)?,
        None => shapes,
    };
    settings.shapes = Some(shapes);
    Ok(())
}

/// What tuning has found on the device that was chosen: for this tier and so many sources.
fn found(settings: &Settings, choice: &Choice, n: usize) -> Result<Vec<Fitted>> {
    let takes_shapes = choice.kind == EngineKind::Gpu && choice.method == Method::Direct;
    let Some(gpu) = choice.gpu.as_ref().filter(|_| takes_shapes) else { return Ok(Vec::new()) };
    let (_, precision) = tier_of(choice.kind, settings)?;
    let mut shapes = settings.known.shapes_for(gpu, n);
    shapes.retain(|one| one.precision == precision);
    Ok(shapes)
}

/// Shapes as they are told.
#[cfg(not(target_arch = "wasm32"))]
#[derive(serde::Serialize, serde::Deserialize)]
struct Told {
    shapes: Vec<Fitted>,
}

/// The first rank's: others may have tuned theirs.
#[cfg(not(target_arch = "wasm32"))]
fn agreed(ranks: &crate::exchange::Ranks, shapes: Vec<Fitted>) -> Result<Vec<Fitted>> {
    let text = toml::to_string(&Told { shapes }).expect("shapes should be expressible in TOML");
    let told = ranks.tell(text.as_bytes())?;
    let first = String::from_utf8_lossy(&told[0]);
    toml::from_str(&first).map(|told: Told| told.shapes).map_err(|error| {
        let text = format!("rank 0 told no shapes that are known here: {error}");
        crate::error::Error::Outside(text)
    })
}
