//! Option handling shared by several subcommands.

use std::path::Path;

use super::print;
use gravitile::error::Error;
use gravitile::forces::{EngineKind, Method};
use gravitile::input::Input;
use gravitile::settings::{InputRequest, MethodRequest};

/// Generates or reads bodies, and prints what was assumed about them.
///
/// # Errors
/// Those of [`InputRequest::load`].
pub fn load(request: &InputRequest, softening: Option<f64>) -> Result<Input, Error> {
    let input = request.load(softening)?;
    input.snapshot.notes.iter().for_each(|note| print::note(note));
    Ok(input)
}

/// Refuses to overwrite an existing file unless forced.
pub fn check_overwrite(path: &Path, force: bool) -> Result<(), Error> {
    if force || !path.exists() {
        return Ok(());
    }
    Err(Error::file(path, "is there already; give another name, or --force to replace it"))
}

/// The engines and methods that a command can measure.
pub struct Measured<'a> {
    /// `auto` first.
    pub engines: &'a [EngineKind],
    pub methods: &'a [Method],
    /// Why no others, for the error message.
    pub what: &'a str,
}

impl Measured<'_> {
    /// The requested engine.
    ///
    /// # Errors
    /// An unknown engine or method; one that the command does not measure, with the reason.
    pub fn engine(&self, request: &MethodRequest) -> Result<EngineKind, Error> {
        let Self { engines, methods, what } = self;
        let refuse = |of: &str, name: &str, allowed: Vec<&str>| {
            Err(Error::value(
                of,
                name,
                format!("{}: {what}", gravitile::messages::any_of(&allowed)),
            ))
        };
        let engine = EngineKind::from_name(&request.engine)?;
        if !engines.contains(&engine) {
            let allowed = engines.iter().map(|engine| engine.name()).collect();
            return refuse("the engine", engine.name(), allowed);
        }
        match Method::from_name(&request.method)? {
            Some(method) if !methods.contains(&method) => {
                let names = methods.iter().map(|method| method.name());
                let auto = std::iter::once(Method::name_of(None));
                refuse("the method", method.name(), auto.chain(names).collect())
            }
            _ => Ok(engine),
        }
    }
}
