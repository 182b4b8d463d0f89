//! The command line that shows what the window shows.

use super::load::Session;
use crate::app::cli::StepOptions;
use crate::app::panel::ViewChoice;
use crate::force::KernelWish;
use crate::render::{Camera, ColourBy, Follow, Style};
use crate::sim::{EngineKind, Settings};

/// `gravitile view ...`: the same bodies and numbers from the beginning, seen from here.
pub fn command_line(
    session: &Session,
    engine: EngineKind,
    view: &ViewChoice,
    camera: &Camera,
) -> String {
    let mut words = vec!["gravitile".to_owned(), "view".to_owned(), quoted(&session.input.input)];
    let mut option = |name: &str, value: String| {
        words.push(name.to_owned());
        if !value.is_empty() {
            words.push(quoted(&value));
        }
    };
    let input = &session.input;
    if let Some(n) = input.n {
        option("-n", n.to_string());
    }
    if let Some(seed) = input.seed {
        option("--seed", seed.to_string());
    }
    for (name, value) in &input.set {
        option("--set", format!("{name}={value}"));
    }
    if let Some(gravity) = input.gravity {
        option("--gravity", gravity.to_string());
    }
    let settings = session.live.settings();
    if settings.softening != session.hints.softening {
        option("--eps", settings.softening.to_string());
    }
    if settings.dt != session.hints.dt {
        option("--dt", settings.dt.to_string());
    }
    let steps = StepOptions::from(settings);
    if settings.integrator != Settings::default().integrator || session.names_integrator {
        option("--integrator", settings.integrator.clone());
    }
    for (name, value) in [
        ("--eta", steps.blocks.eta),
        ("--eta6", steps.blocks.eta6),
        ("--dt-max", steps.blocks.dt_max),
    ] {
        if let Some(value) = value {
            option(name, value.to_string());
        }
    }
    if let Some(precision) = steps.blocks.precision {
        option("--precision", precision);
    }
    if engine != EngineKind::Auto {
        option("--engine", engine.name().to_owned());
    }
    kernel(&settings.kernel, &mut option);
    let (style, usual) = (&view.style, Style::default());
    if style.colour_by != usual.colour_by {
        let name = ColourBy::ALL.iter().find(|(by, _)| *by == style.colour_by);
        option("--colour", name.map_or(String::new(), |(_, name)| (*name).to_owned()));
    }
    if style.palette.name != usual.palette.name {
        option("--palette", style.palette.name.to_owned());
    }
    if style.show_halo {
        option("--halo", String::new());
    }
    for (name, value, usual) in [
        ("--stops", style.stops, usual.stops),
        ("--sprite-size", style.sprite_size, usual.sprite_size),
        ("--bloom", style.bloom, usual.bloom),
        ("--trails", style.trail_secs, usual.trail_secs),
    ] {
        if value != usual {
            option(name, short(value));
        }
    }
    if view.follow != Follow::Nothing {
        option("--follow", view.follow.name(&session.bodies.components));
    }
    option("--inclination", short(90.0 - camera.elevation_rad.to_degrees()));
    option("--azimuth", short(camera.azimuth_rad.to_degrees()));
    option("--extent", short(camera.distance * (0.5 * camera.fov_rad).tan()));
    option("--orbit", short(view.orbit_degrees_per_sec));
    let target = camera.target;
    option("--target", format!("{},{},{}", short(target.x), short(target.y), short(target.z)));
    words.join(" ")
}

fn kernel(wish: &KernelWish, option: &mut impl FnMut(&str, String)) {
    let numbers = [
        ("--p", wish.p),
        ("--q", wish.q),
        ("--r", wish.r),
        ("--unroll", wish.u),
        ("--slices", wish.s),
    ];
    for (name, value) in numbers {
        if let Some(value) = value {
            option(name, value.to_string());
        }
    }
    match wish.untiled {
        Some(true) => option("--untiled", String::new()),
        Some(false) => option("--tiled", String::new()),
        None => {}
    }
    if wish.one_workgroup == Some(true) {
        option("--one-workgroup", String::new());
    }
    if wish.checked {
        option("--checked", String::new());
    }
}

/// Four digits are enough for a place, and can be read.
fn short(value: f64) -> String {
    let rounded: f64 = format!("{value:.3e}").parse().unwrap_or(value);
    // No minus in front of a zero.
    format!("{}", rounded + 0.0)
}

/// For a shell: in quotes where it must be.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./,=+:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quoted("a/b-c.tipsy"), "a/b-c.tipsy");
        assert_eq!(quoted("my galaxy"), "'my galaxy'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(short(-0.0), "0");
        assert_eq!(short(12.345678), "12.35");
    }
}
