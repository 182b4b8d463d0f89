//! Snapshots of an expanding universe or of a periodic box. They are treated as isolated bodies
//! only on request.

use std::path::Path;

use crate::error::{Error, Result};
use crate::math::sum_vec;
use crate::messages;
use crate::snapshot::Snapshot;
use crate::units::{Measure, Quantity};

/// 100 km/s/Mpc in 1/s.
const HUBBLE: f64 = 1e5 / 3.085_677_581_49e22;

/// Attributes of a cosmological or periodic snapshot.
const ATTRIBUTES: [&str; 5] =
    ["redshift", "box_size", "omega_0", "omega_lambda", "hubble_parameter"];

/// Rejects bodies of an expanding universe or a periodic box unless `as_isolated` is set. Comoving
/// coordinates then become physical ones at that redshift: r = a x, v = sqrt(a) u + H(a) r, for
/// GADGET's u = sqrt(a) dx/dt. The centre of the expansion is the mean position; another one would
/// add the same velocity to all bodies.
pub(super) fn check(snapshot: &mut Snapshot, path: &Path, as_isolated: bool) -> Result<()> {
    let number =
        |key: &str| snapshot.number(key).filter(|value| value.is_finite()).unwrap_or_default();
    let (matter, side) = (number("omega_0"), number("box_size"));
    let scale_factor = snapshot.scale_factor();
    let is_comoving = scale_factor.is_some();
    let inside = |x: f64| (0.0..=side).contains(&x);
    let is_periodic =
        side > 0.0 && snapshot.bodies.position.iter().all(|x| x.to_array().into_iter().all(inside));
    let name = messages::path(path, messages::PIECE);
    let what = match (is_comoving, is_periodic) {
        (true, true) => format!("a periodic box of side {side} in an expanding universe"),
        (true, false) => "bodies in an expanding universe".to_owned(),
        (false, true) => format!("a box of side {side}, as periodic ones are"),
        (false, false) => {
            if matter > 0.0 {
                let note = "names densities of a universe, but its time is not the scale factor at its redshift: it is not taken for comoving";
                snapshot.notes.push(format!("{name}: {note}"));
            }
            if side > 0.0 {
                let note = format!(
                    "{name}: names a box of side {side}, but has bodies outside it: it is not taken for periodic"
                );
                snapshot.notes.push(note);
            }
            return Ok(());
        }
    };
    if !as_isolated {
        return Err(Error::file(
            path,
            format!(
                "holds {what}, but forces here are those of isolated bodies in empty space: --isolated takes them \
                 as such, in physical coordinates"
            ),
        ));
    }
    let mut note =
        format!("{name}: holds {what}, whose bodies are taken as isolated ones in empty space");
    if let Some(a) = scale_factor {
        let (lambda, hubble) = (number("omega_lambda"), number("hubble_parameter"));
        let expansion = matter / (a * a * a) + (1.0 - matter - lambda) / (a * a) + lambda;
        let unit = Measure::of(&snapshot.units.time).si(Quantity::Time);
        let Some(unit) = unit.filter(|_| hubble > 0.0 && expansion > 0.0) else {
            let problem = "does not give the rate of expansion: its redshift, densities, Hubble parameter or unit of \
                           time are not known";
            return Err(Error::file(path, problem));
        };
        let rate = hubble * HUBBLE * unit * expansion.sqrt();
        let bodies = &mut snapshot.bodies;
        let n = bodies.len() as f64;
        let centre = sum_vec(bodies.position.iter().copied()) / n;
        let root = a.sqrt();
        for (x, v) in bodies.position.iter_mut().zip(&mut bodies.velocity) {
            *v = *v * root + (*x - centre) * (a * rate);
            *x *= a;
        }
        snapshot.time = 0.0;
        note += &format!(
            "; comoving coordinates have become physical ones at a = {a:.6} with velocities of the expansion, and \
             time begins at 0"
        );
    }
    snapshot.attributes.retain(|key, _| !ATTRIBUTES.contains(&key.as_str()));
    snapshot.notes.push(note);
    Ok(())
}
