//! Colours, exposure, camera.

use egui::{ComboBox, DragValue, Slider, SliderClamping, Ui};

use super::theme::{InUnit, label, named, offer, reset_after, resets, section, unless};
use super::{Action, Facts, Viewpoint};
use gravitile::bodies::Role;
use gravitile::render::captions::Captions;
use gravitile::render::legend::colour_unit;
use gravitile::render::paths::Paths;
use gravitile::render::{ColourBy, Exposure, Follow, PALETTES, Palette, Style, round_below};
use gravitile::scene::Keyframe;
use gravitile::units::{Measure, Units};

/// All choices about the picture, apart from the camera's place.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewChoice {
    /// Colours, sizes, exposure, glow.
    pub style: Style,
    /// Thin axes through the point looked at.
    pub axes: bool,
    /// A scale bar of a round length.
    pub scale_bar: bool,
    /// The legend of colours.
    pub legend: bool,
    /// Whether numbers have the scene's physical units, such as kpc and Myr; else they are as in
    /// files, with G = 1.
    pub physical: bool,
    /// What is written on saved pictures and films.
    pub captions: Captions,
    /// How fast the camera orbits, in degrees per second.
    pub orbit_degrees_per_sec: f64,
    /// What the camera keeps in the middle.
    pub follow: Follow,
    /// The camera's path: places by ascending time.
    pub path: Vec<Keyframe>,
    /// Whether the camera follows the path.
    pub plays: bool,
    /// Whether the camera directs: keeps the bodies' light in the picture, as close as possible.
    pub directs: bool,
    /// Whether effects too slow for the adapter are left out of the window's picture.
    pub spares: bool,
}

impl Default for ViewChoice {
    fn default() -> Self {
        Self {
            style: Style::default(),
            axes: false,
            scale_bar: true,
            legend: true,
            physical: true,
            captions: Captions::default(),
            orbit_degrees_per_sec: 0.0,
            follow: Follow::Nothing,
            path: Vec::new(),
            plays: false,
            directs: false,
            spares: true,
        }
    }
}

/// Numbers as in files.
static PLAIN: Units = Units {
    length: String::new(),
    mass: String::new(),
    time: String::new(),
    gravitational_constant: 1.0,
};

impl ViewChoice {
    /// The units in which numbers of bodies with these `units` are shown.
    pub fn units<'a>(&self, units: &'a Units) -> &'a Units {
        if self.physical { units } else { &PLAIN }
    }
}

pub fn show(ui: &mut Ui, facts: &Facts, view: &mut ViewChoice, actions: &mut Vec<Action>) {
    let style = &mut view.style;
    let coloured_by = style.colour_by;
    let defaults = Style::default();
    if section(ui, "Colour") {
        ui.horizontal_wrapped(|ui| {
        for (by, name) in ColourBy::ALL {
            let about = match by {
                ColourBy::Age => {
                    "Young to old by the snapshot's formation times; without them, by where a body began in its component: the middle counts as oldest"
                        .to_owned()
                }
                by if by.is_map() => format!("A map of the {name} along the line of sight"),
                _ => format!("Colours bodies by their {name} (c for the next)"),
            };
            ui.selectable_value(&mut style.colour_by, by, name).on_hover_text(about);
        }
    });
        if style.colour_by != coloured_by {
            // The range of one quantity does not apply to another.
            style.value_range = None;
        }
        let uses_palette = style.colour_by != ColourBy::Component;
        ui.horizontal(|ui| {
            ui.add_enabled_ui(uses_palette, |ui| palettes(ui, &mut style.palette));
            let default = Style::default().palette;
            if resets(ui, style.palette == default || !uses_palette) {
                style.palette = default;
            }
        });
        if !matches!(style.colour_by, ColourBy::Component | ColourBy::Age | ColourBy::Velocity) {
            let unit = colour_unit(style.colour_by, facts.units);
            range(ui, facts.colour_range, &mut style.value_range, &unit);
        }
        if facts.components.iter().any(|component| component.role == Role::Halo) {
            ui.checkbox(&mut style.show_halo, "dark matter")
                .on_hover_text("Bodies of the halo attract, but are only drawn if this is on (h)");
        }
        if facts.components.iter().any(|component| component.role == Role::Gas) {
            reset_after(ui, "glow of gas", (&mut style.gas, defaults.gas), |ui, gas| {
                ui.add(Slider::new(gas, 0.0..=1.0).exact())
                    .on_hover_text("How strongly dense gas glows pink and blue; 0: one colour")
            });
            reset_after(ui, "dust", (&mut style.dust, defaults.dust), |ui, dust| {
                ui.add(Slider::new(dust, 0.0..=1.0).exact())
                    .on_hover_text("How much dust in the gas dims and reddens what is behind it")
            });
        }
    }

    if section(ui, "Light") {
        reset_after(ui, "size", (&mut style.sprite_size, defaults.sprite_size), |ui, size| {
            ui.add(Slider::new(size, 0.1..=10.0).logarithmic(true).exact()).on_hover_text(
                "Size of the sprites; their total light stays the same (p and shift+p)",
            )
        });
        reset_after(ui, "stops", (&mut style.stops, defaults.stops), |ui, stops| {
            let signed = |stops: f64, _| format!("{stops:+.1}");
            ui.add(Slider::new(stops, -6.0..=6.0).written(signed, |text| text.trim().parse().ok()))
                .on_hover_text("Brightens or darkens the exposure, in powers of two ([ and ])")
        });
        let mut auto =
            matches!(style.exposure, Exposure::Auto { adapt_secs } if adapt_secs.is_finite());
        let about = "Adapts slowly to the picture, as an eye does. Off: stays as it is now";
        if ui.checkbox(&mut auto, "automatic exposure").on_hover_text(about).changed() {
            let default = Style::default().exposure;
            style.exposure =
                if auto { default } else { Exposure::Auto { adapt_secs: f64::INFINITY } };
        }
        let mut glows = style.bloom > 0.0;
        let about = "Bright places shine, and detail too fine to see becomes a haze";
        if ui.checkbox(&mut glows, "glow").on_hover_text(about).changed() {
            style.bloom = if glows { Style::default().bloom } else { 0.0 };
        }
        if glows {
            reset_after(ui, "strength", (&mut style.bloom, defaults.bloom), |ui, bloom| {
                ui.add(Slider::new(bloom, 0.05..=1.0).exact()).on_hover_text(about)
            });
        }
        let about = "Light fades instead of vanishing; seconds until a third is left";
        let refused = facts.compared.is_some().then_some("Two runs side by side have no trails");
        reset_after(ui, "trails", (&mut style.trail_secs, defaults.trail_secs), |ui, secs| {
            unless(ui, refused, Slider::new(secs, 0.0..=10.0).exact().suffix(" s"), about)
        });
        let about =
            "Light drawn out in space along the paths of bodies, over this much simulated time";
        let longest = longest_streak(facts.hints.until);
        reset_after(ui, "streaks", (&mut style.streak_time, defaults.streak_time), |ui, time| {
            let slider = Slider::new(time, 0.0..=longest).clamping(SliderClamping::Never);
            ui.add(slider.in_unit_if_any(&facts.units.time)).on_hover_text(about)
        });
        if Paths::suit(facts.count) {
            ui.checkbox(&mut style.paths, "path lines")
                .on_hover_text("Thin lines in space along the paths of bodies");
        }
        let about = "Effects too slow for this adapter are dropped one by one, and come back when there is time. \
                 Off: everything is drawn, however slowly. Films and saved pictures always have everything";
        let now = facts.left_out.map_or(String::new(), |left_out| format!("\nNow {left_out}"));
        ui.checkbox(&mut view.spares, "leave out what is too slow here")
            .on_hover_text(format!("{about}{now}"));
        let style = &mut view.style;
        let about = "Resets size, light, glow, trails and streaks; colours stay";
        if ui.button("Reset all light").on_hover_text(about).clicked() {
            let Style { colour_by, palette, value_range, show_halo, .. } = *style;
            *style = Style { colour_by, palette, value_range, show_halo, ..defaults };
        }
    }

    if !section(ui, "Camera") {
        return;
    }
    ui.horizontal_wrapped(|ui| {
        for (place, name, about) in Viewpoint::ALL {
            offer(ui.button(name), about, actions, Action::Camera(place));
        }
    });
    let name_of = |follow: Follow| match follow {
        Follow::CentreOfMass => "centre of mass".to_owned(),
        Follow::Body(index) => format!("body {index}"),
        other => other.name(facts.components),
    };
    named(ui, "follow", |ui| {
        let list = ComboBox::from_id_salt("follow").selected_text(name_of(view.follow));
        let list = list.show_ui(ui, |ui| {
            let fixed = [Follow::Nothing, Follow::CentreOfMass];
            let parts = (0..facts.components.len()).map(|k| Follow::Component(k as u8));
            for follow in fixed.into_iter().chain(parts) {
                ui.selectable_value(&mut view.follow, follow, name_of(follow));
            }
        });
        let about = "What the camera keeps in the middle. Double-click a body to follow it";
        list.response.on_hover_text(about)
    });
    let about = "Keeps the light in the picture: moves in where it gathers, back where it spreads. Moving the \
                 camera by hand ends this until other bodies are loaded (d)";
    ui.checkbox(&mut view.directs, "directed camera").on_hover_text(about);
    reset_after(ui, "orbit", (&mut view.orbit_degrees_per_sec, 0.0), |ui, orbit| {
        ui.add(Slider::new(orbit, -30.0..=30.0).exact().suffix("°/s"))
            .on_hover_text("Turns the camera slowly around what it looks at")
    });
    ui.horizontal(|ui| {
        ui.checkbox(&mut view.axes, "axes").on_hover_text("x red, y green, z blue");
        ui.checkbox(&mut view.scale_bar, "scale bar")
            .on_hover_text("A round length, true at the depth that the camera looks at");
        ui.checkbox(&mut view.legend, "legend").on_hover_text("What colours mean");
    });
    units(ui, facts, &mut view.physical);
    if Captions::ARE_WRITTEN {
        captions(ui, &mut view.captions);
    }
}

/// The choice of units, if the bodies have named ones.
fn units(ui: &mut Ui, facts: &Facts, physical: &mut bool) {
    let names = [&facts.own_units.length, &facts.own_units.time].map(|unit| Measure::of(unit).name);
    if names.iter().any(String::is_empty) {
        return;
    }
    ui.horizontal(|ui| {
        label(ui, "numbers in");
        let about = "All numbers in physical units, here and on pictures";
        ui.selectable_value(physical, true, names.join(", ")).on_hover_text(about);
        let about = "All numbers as in files and on the command line";
        ui.selectable_value(physical, false, "scene units").on_hover_text(about);
    });
}

/// Choices of what is written on saved pictures and films.
fn captions(ui: &mut Ui, captions: &mut Captions) {
    ui.horizontal_wrapped(|ui| {
        ui.label("on saved pictures and films");
        let Captions { title, time, scale, colours } = captions;
        let about = [
            "The scene's title",
            "The time in the scene's units",
            "A scale bar of a round length",
            "What colours mean: names, or a bar with numbers",
        ];
        let all = [title, time, scale, colours].into_iter().zip(Captions::ALL).zip(about);
        for ((caption, name), about) in all {
            ui.checkbox(caption, name).on_hover_text(about);
        }
    });
}

/// The upper end of the streaks' slider: a tenth of a run, rounded. Longer ones can be typed.
fn longest_streak(until: f64) -> f64 {
    let (digit, power) = round_below(0.1 * until);
    f64::from(digit) * 10f64.powi(power)
}

/// The list of palettes.
fn palettes(ui: &mut Ui, palette: &mut &'static Palette) {
    let about =
        "Colour scales that colour-blind people can read; for speed, acceleration, age and density";
    named(ui, "palette", |ui| {
        let list = ComboBox::from_id_salt("palette").selected_text(palette.name);
        let list = list.show_ui(ui, |ui| {
            for one in PALETTES {
                ui.selectable_value(palette, one, one.name);
            }
        });
        let why = "Components have colours of their own";
        list.response.on_hover_text(about).on_disabled_hover_text(why)
    });
}

/// An end of the scale: dragging changes it in proportion, since scales span many powers of ten.
fn end<'a>(
    value: &'a mut f64,
    allowed: std::ops::RangeInclusive<f64>,
    unit: &Measure,
) -> DragValue<'a> {
    let speed = 0.01 * *value;
    DragValue::new(value).speed(speed).range(allowed).in_measure(unit)
}

/// The ends of the colour scale: automatic, or set by hand.
fn range(ui: &mut Ui, now: Option<[f64; 2]>, set: &mut Option<[f64; 2]>, unit: &Measure) {
    ui.horizontal(|ui| {
        let mut follows = set.is_none();
        let about = "The colour scale follows the bodies. Off: it stays, or is set here";
        if ui.checkbox(&mut follows, "automatic scale").on_hover_text(about).changed() {
            *set = if follows { None } else { now };
        }
        let Some([least, most]) = set else { return };
        ui.add(end(least, f64::MIN_POSITIVE..=*most * 0.999, unit)).on_hover_text("Smallest value");
        ui.label("to");
        ui.add(end(most, *least * 1.001..=f64::MAX, unit)).on_hover_text("Largest value");
    });
}
