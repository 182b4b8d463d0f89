//! An external field on a device: its numbers in the bodies' frame, for `shaders/force/field.wgsl`.

use minijinja::{Value, context};

use crate::error::{Error, Result};
use crate::field::{Field, Potential};
use crate::frame::Frame;

/// The potentials of a field for the text of a shader, as constants.
#[derive(Clone, Debug)]
pub struct DeviceField {
    potentials: Value,
    is_empty: bool,
}

/// Numbers whose squares and quotients fit f32, in the frame's units.
const LIMITS: [f64; 2] = [1e-15, 1e15];

impl DeviceField {
    /// No field.
    pub fn none() -> Self {
        Self { potentials: Value::from(Vec::<Value>::new()), is_empty: true }
    }

    /// `field`, with gravitating masses, in `frame`.
    ///
    /// # Errors
    /// A frame that moves; a number that does not fit f32 in the frame's units.
    pub fn new(field: &Field, frame: &Frame) -> Result<Self> {
        if field.is_empty() {
            return Ok(Self::none());
        }
        if frame.velocity != [0.0; 3] {
            let what = "the velocity of the frame";
            return Err(Error::value(what, format!("{:?}", frame.velocity), "0 with a field"));
        }
        let constants = field.0.iter().map(|one| constants(one, frame));
        let constants = constants.collect::<Result<Vec<_>>>()?;
        Ok(Self { potentials: Value::from(constants), is_empty: false })
    }

    /// Whether there is no field.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// The value `potentials` of templates.
    pub fn potentials(&self) -> Value {
        self.potentials.clone()
    }
}

/// A potential in WGSL: its law, its centre and its parameters.
fn constants(one: &Potential, frame: &Frame) -> Result<Value> {
    let Frame { origin, length, time, mass, .. } = *frame;
    let inside = one.shifted(origin.map(|x| -x)).rescaled([length, time, mass].map(f64::recip));
    let kind = one.law().kind();
    let [least, most] = LIMITS;
    let given = one.values().iter().zip(inside.values());
    for (parameter, (value, inside)) in kind.parameters.iter().zip(given) {
        if *inside != 0.0 && !(least..=most).contains(&inside.abs()) {
            let what = format!("'{}' of the potential '{}'", parameter.name, kind.name);
            let unit = value / inside;
            let allowed = format!(
                "{:.1e} to {:.1e} relative to these bodies in f32 (--engine cpu adds the field in f64)",
                least * unit,
                most * unit
            );
            return Err(Error::value(what, value, allowed));
        }
    }
    if let Some(far) = inside.centre().iter().find(|x| x.abs() > most) {
        let what = format!("the centre of the potential '{}'", kind.name);
        let allowed = format!("within {:.1e} of these bodies in f32", most * length);
        return Err(Error::value(what, format!("{:.3e} away", far * length), allowed));
    }
    let list = |values: &[f64]| -> String {
        let texts: Vec<_> = values.iter().map(|x| format!("{:e}f", *x as f32)).collect();
        texts.join(", ")
    };
    let law = kind.name.replace('-', "_");
    let (centre, values) = (list(&inside.centre()), list(inside.values()));
    Ok(context! { law, centre, values })
}
