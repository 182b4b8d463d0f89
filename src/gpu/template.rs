//! Shader text, assembled from the files of `shaders/` for one variant.
//!
//! The files are WGSL with two additions: a line that begins with `//%` is a statement of the
//! template engine (include, if, for), and `{{ name }}` is a value. WGSL has no unroll hint, so
//! unrolling is done by such a `for`. An undefined name is an error with file and line.
//!
//! A test without a GPU validates every variant that the program can request, and translates it for
//! Vulkan, Metal and DirectX. `shaders/README.md` has what authors of shaders need to know.

use std::sync::{OnceLock, RwLock};

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior, Value};

use crate::error::{Error, Result};

/// Path below `shaders/` and text of every shader file.
pub const FILES: &[(&str, &str)] = &[
    ("blocks/correct.wgsl", include_str!("../../shaders/blocks/correct.wgsl")),
    ("blocks/criterion.wgsl", include_str!("../../shaders/blocks/criterion.wgsl")),
    ("blocks/hermite4.wgsl", include_str!("../../shaders/blocks/hermite4.wgsl")),
    ("blocks/hermite6.wgsl", include_str!("../../shaders/blocks/hermite6.wgsl")),
    ("blocks/params.wgsl", include_str!("../../shaders/blocks/params.wgsl")),
    ("blocks/plan.wgsl", include_str!("../../shaders/blocks/plan.wgsl")),
    ("blocks/predict.wgsl", include_str!("../../shaders/blocks/predict.wgsl")),
    ("blocks/time.wgsl", include_str!("../../shaders/blocks/time.wgsl")),
    ("blocks/track.wgsl", include_str!("../../shaders/blocks/track.wgsl")),
    ("blocks/share.wgsl", include_str!("../../shaders/blocks/share.wgsl")),
    ("blocks/turn.wgsl", include_str!("../../shaders/blocks/turn.wgsl")),
    ("body.wgsl", include_str!("../../shaders/body.wgsl")),
    ("diagnostics/inside.wgsl", include_str!("../../shaders/diagnostics/inside.wgsl")),
    ("diagnostics/params.wgsl", include_str!("../../shaders/diagnostics/params.wgsl")),
    ("diagnostics/radii.wgsl", include_str!("../../shaders/diagnostics/radii.wgsl")),
    ("diagnostics/select.wgsl", include_str!("../../shaders/diagnostics/select.wgsl")),
    ("diagnostics/settle.wgsl", include_str!("../../shaders/diagnostics/settle.wgsl")),
    ("diagnostics/sphere.wgsl", include_str!("../../shaders/diagnostics/sphere.wgsl")),
    ("diagnostics/totals.wgsl", include_str!("../../shaders/diagnostics/totals.wgsl")),
    ("diagnostics/visit.wgsl", include_str!("../../shaders/diagnostics/visit.wgsl")),
    ("direct/arithmetic.wgsl", include_str!("../../shaders/direct/arithmetic.wgsl")),
    ("direct/bindings.wgsl", include_str!("../../shaders/direct/bindings.wgsl")),
    ("direct/forces.wgsl", include_str!("../../shaders/direct/forces.wgsl")),
    ("direct/pairs.wgsl", include_str!("../../shaders/direct/pairs.wgsl")),
    ("direct/params.wgsl", include_str!("../../shaders/direct/params.wgsl")),
    ("direct/predict.wgsl", include_str!("../../shaders/direct/predict.wgsl")),
    ("direct/scatter.wgsl", include_str!("../../shaders/direct/scatter.wgsl")),
    ("direct/self_test.wgsl", include_str!("../../shaders/direct/self_test.wgsl")),
    ("direct/sum.wgsl", include_str!("../../shaders/direct/sum.wgsl")),
    ("direct/taylor.wgsl", include_str!("../../shaders/direct/taylor.wgsl")),
    ("direct/wide.wgsl", include_str!("../../shaders/direct/wide.wgsl")),
    ("force/all_pairs.wgsl", include_str!("../../shaders/force/all_pairs.wgsl")),
    ("force/begin.wgsl", include_str!("../../shaders/force/begin.wgsl")),
    ("force/bindings.wgsl", include_str!("../../shaders/force/bindings.wgsl")),
    ("force/end.wgsl", include_str!("../../shaders/force/end.wgsl")),
    ("force/pack.wgsl", include_str!("../../shaders/force/pack.wgsl")),
    ("force/untiled.wgsl", include_str!("../../shaders/force/untiled.wgsl")),
    ("integrate/drift.wgsl", include_str!("../../shaders/integrate/drift.wgsl")),
    ("integrate/one_workgroup.wgsl", include_str!("../../shaders/integrate/one_workgroup.wgsl")),
    ("integrate/leapfrog.wgsl", include_str!("../../shaders/integrate/leapfrog.wgsl")),
    ("interaction/gravity.wgsl", include_str!("../../shaders/interaction/gravity.wgsl")),
    ("interaction/hermite.wgsl", include_str!("../../shaders/interaction/hermite.wgsl")),
    ("interaction/refined.wgsl", include_str!("../../shaders/interaction/refined.wgsl")),
    ("measure/cached.wgsl", include_str!("../../shaders/measure/cached.wgsl")),
    ("measure/ceiling.wgsl", include_str!("../../shaders/measure/ceiling.wgsl")),
    ("measure/fma.wgsl", include_str!("../../shaders/measure/fma.wgsl")),
    ("measure/pair.wgsl", include_str!("../../shaders/measure/pair.wgsl")),
    ("measure/rsqrt.wgsl", include_str!("../../shaders/measure/rsqrt.wgsl")),
    ("measure/storage.wgsl", include_str!("../../shaders/measure/storage.wgsl")),
    ("measure/tile.wgsl", include_str!("../../shaders/measure/tile.wgsl")),
    ("render/body_sprite.wgsl", include_str!("../../shaders/render/body_sprite.wgsl")),
    ("render/diagram.wgsl", include_str!("../../shaders/render/diagram.wgsl")),
    ("render/exposure.wgsl", include_str!("../../shaders/render/exposure.wgsl")),
    ("render/exposure_state.wgsl", include_str!("../../shaders/render/exposure_state.wgsl")),
    ("render/glow.wgsl", include_str!("../../shaders/render/glow.wgsl")),
    ("render/sky.wgsl", include_str!("../../shaders/render/sky.wgsl")),
    ("render/smoothing.wgsl", include_str!("../../shaders/render/smoothing.wgsl")),
    ("render/medium.wgsl", include_str!("../../shaders/render/medium.wgsl")),
    ("render/splat.wgsl", include_str!("../../shaders/render/splat.wgsl")),
    ("render/streak.wgsl", include_str!("../../shaders/render/streak.wgsl")),
    ("render/streak_path.wgsl", include_str!("../../shaders/render/streak_path.wgsl")),
    ("render/streak_splat.wgsl", include_str!("../../shaders/render/streak_splat.wgsl")),
    ("render/sums.wgsl", include_str!("../../shaders/render/sums.wgsl")),
    ("render/sprite.wgsl", include_str!("../../shaders/render/sprite.wgsl")),
    ("render/tone_map.wgsl", include_str!("../../shaders/render/tone_map.wgsl")),
    ("render/trail.wgsl", include_str!("../../shaders/render/trail.wgsl")),
    ("render/view.wgsl", include_str!("../../shaders/render/view.wgsl")),
    ("scan/bindings.wgsl", include_str!("../../shaders/scan/bindings.wgsl")),
    ("scan/params.wgsl", include_str!("../../shaders/scan/params.wgsl")),
    ("scan/reduce.wgsl", include_str!("../../shaders/scan/reduce.wgsl")),
    ("scan/scan.wgsl", include_str!("../../shaders/scan/scan.wgsl")),
    ("scan/threads.wgsl", include_str!("../../shaders/scan/threads.wgsl")),
    ("sort/count.wgsl", include_str!("../../shaders/sort/count.wgsl")),
    ("sort/digits.wgsl", include_str!("../../shaders/sort/digits.wgsl")),
    ("sort/keys.wgsl", include_str!("../../shaders/sort/keys.wgsl")),
    ("sort/params.wgsl", include_str!("../../shaders/sort/params.wgsl")),
    ("sort/scatter.wgsl", include_str!("../../shaders/sort/scatter.wgsl")),
    ("tree/balance.wgsl", include_str!("../../shaders/tree/balance.wgsl")),
    ("tree/cell.wgsl", include_str!("../../shaders/tree/cell.wgsl")),
    ("tree/centre.wgsl", include_str!("../../shaders/tree/centre.wgsl")),
    ("tree/choose.wgsl", include_str!("../../shaders/tree/choose.wgsl")),
    ("tree/clear.wgsl", include_str!("../../shaders/tree/clear.wgsl")),
    ("tree/common.wgsl", include_str!("../../shaders/tree/common.wgsl")),
    ("tree/count.wgsl", include_str!("../../shaders/tree/count.wgsl")),
    ("tree/digits.wgsl", include_str!("../../shaders/tree/digits.wgsl")),
    ("tree/edge.wgsl", include_str!("../../shaders/tree/edge.wgsl")),
    ("tree/gather.wgsl", include_str!("../../shaders/tree/gather.wgsl")),
    ("tree/put.wgsl", include_str!("../../shaders/tree/put.wgsl")),
    ("tree/groups.wgsl", include_str!("../../shaders/tree/groups.wgsl")),
    ("tree/hilbert.wgsl", include_str!("../../shaders/tree/hilbert.wgsl")),
    ("tree/inner.wgsl", include_str!("../../shaders/tree/inner.wgsl")),
    ("tree/keys.wgsl", include_str!("../../shaders/tree/keys.wgsl")),
    ("tree/lanes/memory.wgsl", include_str!("../../shaders/tree/lanes/memory.wgsl")),
    ("tree/lanes/subgroups.wgsl", include_str!("../../shaders/tree/lanes/subgroups.wgsl")),
    ("tree/leaves.wgsl", include_str!("../../shaders/tree/leaves.wgsl")),
    ("tree/link.wgsl", include_str!("../../shaders/tree/link.wgsl")),
    ("tree/medians.wgsl", include_str!("../../shaders/tree/medians.wgsl")),
    (
        "tree/opening/acceleration.wgsl",
        include_str!("../../shaders/tree/opening/acceleration.wgsl"),
    ),
    ("tree/opening/bonsai.wgsl", include_str!("../../shaders/tree/opening/bonsai.wgsl")),
    ("tree/opening/octgrav.wgsl", include_str!("../../shaders/tree/opening/octgrav.wgsl")),
    ("tree/opening/radius.wgsl", include_str!("../../shaders/tree/opening/radius.wgsl")),
    ("tree/params.wgsl", include_str!("../../shaders/tree/params.wgsl")),
    ("tree/pull.wgsl", include_str!("../../shaders/tree/pull.wgsl")),
    ("tree/rank.wgsl", include_str!("../../shaders/tree/rank.wgsl")),
    ("tree/record.wgsl", include_str!("../../shaders/tree/record.wgsl")),
    ("tree/scattered.wgsl", include_str!("../../shaders/tree/scattered.wgsl")),
    ("tree/sinks.wgsl", include_str!("../../shaders/tree/sinks.wgsl")),
    ("tree/spread.wgsl", include_str!("../../shaders/tree/spread.wgsl")),
    ("tree/strength.wgsl", include_str!("../../shaders/tree/strength.wgsl")),
    ("tree/walk.wgsl", include_str!("../../shaders/tree/walk.wgsl")),
    ("tree/write.wgsl", include_str!("../../shaders/tree/write.wgsl")),
];

/// Files parsed before a page's browser gets a turn.
const AT_ONCE: usize = 8;

static TEMPLATES: OnceLock<RwLock<Environment<'static>>> = OnceLock::new();

fn templates() -> &'static RwLock<Environment<'static>> {
    TEMPLATES.get_or_init(|| {
        let texts = FILES.iter().map(|(name, text)| (*name, (*text).to_owned()));
        let parsed = with(empty(), texts);
        RwLock::new(parsed.expect("a test parses every shader file"))
    })
}

/// Parses all files in advance, a few at a time, since nothing else in a page runs meanwhile.
///
/// # Errors
/// None for texts that pass the tests.
pub async fn prepare() -> Result<()> {
    if TEMPLATES.get().is_some() {
        return Ok(());
    }
    let mut parsed = empty();
    for files in FILES.chunks(AT_ONCE) {
        parsed = with(parsed, files.iter().map(|(name, text)| (*name, (*text).to_owned())))?;
        super::let_browser_turn().await;
    }
    // If another thread was faster, it has the same texts.
    let _ = TEMPLATES.set(RwLock::new(parsed));
    Ok(())
}

fn empty() -> Environment<'static> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().line_statement_prefix("//%").build();
    environment.set_syntax(syntax.expect("the syntax should be valid"));
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    // The only function of the template engine that shaders need; a page has no others.
    environment.add_function("range", |count: u32| (0..count).collect::<Vec<u32>>());
    environment
}

fn with(
    mut environment: Environment<'static>,
    texts: impl Iterator<Item = (&'static str, String)>,
) -> Result<Environment<'static>> {
    for (name, text) in texts {
        environment.add_template_owned(name, text).map_err(|error| shader_error(name, &error))?;
    }
    Ok(environment)
}

fn shader_error(name: &str, error: &minijinja::Error) -> Error {
    Error::Shader {
        name: error.name().unwrap_or(name).to_owned(),
        problem: match error.line() {
            Some(line) => format!("line {line}: {error}"),
            None => error.to_string(),
        },
    }
}

/// Replaces the built-in shader texts by those in `folder` (a copy of `shaders/`), for working on
/// them while the program runs. Kernels compiled later use the new texts.
///
/// # Errors
/// A file of [`FILES`] that cannot be read or is not a template; the texts are then unchanged.
pub fn reload(folder: &std::path::Path) -> Result<()> {
    let mut texts = Vec::with_capacity(FILES.len());
    for (name, _) in FILES {
        let path = folder.join(name);
        let text = std::fs::read_to_string(&path).map_err(|e| Error::io("read", &path, e))?;
        texts.push((*name, text));
    }
    let new = with(empty(), texts.into_iter())?;
    *templates().write().unwrap_or_else(|poisoned| poisoned.into_inner()) = new;
    Ok(())
}

/// The text of `name` (a path below `shaders/`) with `values` filled in.
///
/// # Errors
/// [`Error::Shader`] with file and line, for an unknown file or a value that the text needs and
/// `values` lacks.
pub fn assemble(name: &str, values: Value) -> Result<String> {
    let templates = templates().read().unwrap_or_else(|poisoned| poisoned.into_inner());
    let render = || templates.get_template(name)?.render(values);
    render().map_err(|error| shader_error(name, &error))
}

#[cfg(test)]
mod tests {
    use minijinja::context;

    use super::*;

    #[test]
    fn every_file_parses_as_a_template() {
        for (name, _) in FILES {
            assert!(templates().read().unwrap().get_template(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn unknown_name_error_has_file_and_line() {
        let error = assemble("integrate/leapfrog.wgsl", context! { p => 64 }).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("integrate/leapfrog.wgsl") && text.contains("line 15"), "{text}");
        assert!(assemble("no/such.wgsl", context! {}).is_err());
    }

    #[test]
    fn unrolling_repeats_interaction_text() {
        let values = context! {
            p => 64, q => 1, r => 2, u => 4, guarded => false, loaded => 1, potential => false,
            alone => false, one_mass => false, uniform => false, then_step => false
        };
        let text = assemble("force/all_pairs.wgsl", values).unwrap();
        assert_eq!(text.matches("= attract(").count(), 8);
        assert!(!text.contains("//%") && !text.contains("{{"), "{text}");
    }
}
