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

#[path = "../../shaders/mod.rs"]
mod files;

pub use files::FILES;

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
        let error =
            assemble("integrate/leapfrog.wgsl", context! { potentials => false }).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("integrate/leapfrog.wgsl") && text.contains("line 18"), "{text}");
        assert!(assemble("no/such.wgsl", context! {}).is_err());
    }

    #[test]
    fn unrolling_repeats_interaction_text() {
        let values = context! {
            p => 64, q => 1, r => 2, u => 4, guarded => false, loaded => 1, potential => false,
            alone => false, one_mass => false, uniform => false, then_step => false, broadcast => false, vec2 => false
        };
        let text = assemble("force/all_pairs.wgsl", values).unwrap();
        assert_eq!(text.matches("= attract(").count(), 8);
        assert!(!text.contains("//%") && !text.contains("{{"), "{text}");
    }
}
