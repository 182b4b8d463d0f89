//! Draws captions on finished pictures, on the host: for films, stills and anything else that is an
//! [`Image`].

use super::camera::Camera;
use super::captions::Captions;
use super::image::Image;
use super::legend::{ColourBar, bar_colour, colour_bar, component_colours};
use super::lettering::{Lettering, line, rectangle};
use super::look::Look;
use super::overlay::ScaleBar;
use crate::bodies::Component;
use crate::units::{Measure, Units};

/// Largest number of lines of a title, in a narrow picture.
const TITLE_LINES: usize = 3;

/// Content of the captions of a simulation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Caption {
    /// Which captions to draw.
    pub captions: Captions,
    /// The title; nothing is drawn if it is empty.
    pub title: String,
    /// The units of numbers.
    pub units: Units,
    /// The simulated time between pictures, or 0: enough digits are shown to tell them apart.
    pub interval: f64,
}

impl Caption {
    /// Draws the captions on a picture of bodies with these components, by `camera` with `look`, at
    /// a time of the simulation.
    pub fn draw(
        &self,
        image: &mut Image,
        (camera, look, components): (&Camera, &Look, &[Component]),
        time: f64,
    ) {
        let size = image.size();
        let side = f64::from(size.shorter_side());
        let letters = Lettering::new((0.026 * side).max(9.0));
        let edge = (0.03 * side).max(6.0);
        let row = 1.35 * letters.size_px();
        let room = f64::from(size.width()) - 2.0 * edge;
        let mut y = edge;
        if self.captions.title {
            let large = Lettering::new(1.35 * letters.size_px());
            for title in large.lines(&self.title, room, TITLE_LINES) {
                large.write(image, [edge, y], &title);
                y += 1.35 * row;
            }
        }
        if self.captions.time {
            let label = time_label(time, self.interval, &self.units);
            letters.write(image, [edge, y], &letters.shortened(&label, room));
            y += row;
        }
        let mut bottom = f64::from(size.height()) - edge;
        let right = f64::from(size.width()) - edge;
        // Left end of the legend; above the scale bar if there is no room next to it.
        let bar_px = (12.0 * letters.size_px()).min(room);
        let gap = 0.6 * letters.size_px();
        let width = |label: &str| (letters.width(label) + gap) / bar_px;
        let colours = colour_bar(look, &self.units, width);
        let entries: Vec<_> = match (self.captions.colours, &colours) {
            (true, None) => component_colours(look, components),
            _ => Vec::new(),
        };
        let names = Names::new(&letters, entries, room);
        let named_px = |bar: &ColourBar| bar_px.max(letters.width(&bar.name).min(room));
        let colours_px = colours.as_ref().map_or(names.width_px, named_px);
        if self.captions.scale {
            let bar =
                ScaleBar::new(camera, size, &self.units.length, 0.22 * f64::from(size.width()));
            let thick = (side / 360.0).max(1.0);
            line(image, [edge, bottom - thick], bar.length_px, thick);
            for end in [0.0, bar.length_px - thick] {
                rectangle(
                    image,
                    [edge + end, bottom - 4.0 * thick, thick, 4.0 * thick],
                    [235; 3],
                    0.9,
                );
            }
            letters.write(image, [edge, bottom - 5.0 * thick - row], &bar.label);
            let written = bar.length_px.max(letters.width(&bar.label)) + letters.size_px();
            if edge + written > right - colours_px {
                bottom -= 5.0 * thick + 1.35 * row;
            }
        }
        match (self.captions.colours, colours) {
            (true, Some(mut colours)) if bottom - 3.35 * letters.size_px() >= y => {
                colours.name = letters.shortened(&colours.name, room);
                bar(image, &letters, [right, bottom, bar_px], look, &colours);
            }
            (true, None) => names.write(image, &letters, [right, bottom], y),
            _ => {}
        }
    }
}

/// The label of a time, with enough digits to tell times apart that differ by `interval`; of a
/// single picture, whose interval is 0, with three significant digits.
pub fn time_label(time: f64, interval: f64, units: &Units) -> String {
    let Measure { factor, name } = Measure::of(&units.time);
    let step = match interval != 0.0 {
        true => (interval * factor).abs(),
        false => 0.01 * (time * factor).abs(),
    };
    let digits =
        if step > 0.0 { (-libm::floor(libm::log10(step))).clamp(0.0, 6.0) as usize } else { 0 };
    let number = format!("{:.digits$}", time * factor + 0.0);
    if name.is_empty() { format!("t = {number}") } else { format!("t = {number} {name}") }
}

fn bar(
    image: &mut Image,
    letters: &Lettering,
    [right, bottom, width]: [f64; 3],
    look: &Look,
    ColourBar { name, ticks, labels }: &ColourBar,
) {
    let size = letters.size_px();
    let left = right - width;
    let top = bottom - 2.0 * size;
    for column in 0..width as usize {
        let colour = bar_colour(look, column as f32 / width as f32);
        rectangle(image, [left + column as f64, top, 1.0, 0.55 * size], colour, 0.95);
    }
    let thick = (size / 14.0).max(1.0);
    for part in ticks {
        let place = [left + part * (width - thick), top, thick, 0.55 * size];
        rectangle(image, place, [10; 3], 0.7);
    }
    letters.write(image, [right - letters.width(name), top - 1.35 * size], name);
    for (part, label) in labels {
        let x = left + part * (width - letters.width(label));
        letters.write(image, [x, bottom - 1.25 * size], label);
    }
}

/// Dots and a name for each entry.
struct Names {
    entries: Vec<(String, Vec<[u8; 3]>)>,
    /// Width of the widest name.
    names_px: f64,
    /// That width with the dots before it.
    width_px: f64,
}

impl Names {
    /// Names at most `room_px` wide.
    fn new(letters: &Lettering, entries: Vec<(String, Vec<[u8; 3]>)>, room_px: f64) -> Self {
        let size = letters.size_px();
        let most = entries.iter().map(|(_, colours)| colours.len()).max().unwrap_or(0);
        let dots_px = (0.4 + 0.7 * most as f64) * size;
        let short = |(name, colours): (String, _)| {
            (letters.shortened(&name, (room_px - dots_px).max(0.0)), colours)
        };
        let entries: Vec<_> = entries.into_iter().map(short).collect();
        let names_px = entries.iter().map(|(name, _)| letters.width(name)).fold(0.0, f64::max);
        Self { entries, names_px, width_px: names_px + dots_px }
    }

    /// Writes names aligned at their left, with the dots before them; only those that fit below
    /// `top`.
    fn write(&self, image: &mut Image, letters: &Lettering, [right, bottom]: [f64; 2], top: f64) {
        let size = letters.size_px();
        let left = right - self.names_px;
        let height = 1.35 * size;
        let count = self.entries.len().min(((bottom - top) / height).max(0.0) as usize);
        for (row, (name, colours)) in self.entries[..count].iter().rev().enumerate() {
            let y = bottom - (row + 1) as f64 * height;
            letters.write(image, [left, y], name);
            for (k, &colour) in colours.iter().rev().enumerate() {
                let x = left - (1.1 + 0.7 * k as f64) * size;
                let place = [x, y + 0.35 * size, 0.6 * size, 0.6 * size];
                rectangle(image, place, colour, 0.95);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bodies::{Bodies, Role};
    use crate::render::{ColourBy, PictureSize, Style};
    use glam::DVec3;

    fn bodies() -> Bodies {
        let mut bodies = Bodies::default();
        bodies.components.push(Component::new("disk", Role::Disk));
        for i in 0..50 {
            let x = DVec3::new(f64::from(i % 7), f64::from(i % 5), 0.1);
            bodies.push(1.0, x, x + DVec3::splat(0.1), 0);
        }
        bodies
    }

    #[test]
    fn time_and_speed_labels_have_units_and_enough_digits() {
        let units =
            Units { length: "3.5 kpc".into(), time: "13.05 Myr".into(), ..Units::default() };
        assert_eq!(time_label(11.0, 0.1675, &units), "t = 144 Myr");
        assert_eq!(time_label(1.0, 0.0012, &Units::default()), "t = 1.000");
        // A single picture: three significant digits, and none after 0.
        assert_eq!(time_label(0.0, 0.0, &units), "t = 0 Myr");
        assert_eq!(time_label(11.0, 0.0, &units), "t = 144 Myr");
        assert_eq!(time_label(0.25, 0.0, &units), "t = 3.26 Myr");
    }

    #[test]
    fn captions_appear_in_their_corners_at_any_picture_size() {
        let bodies = bodies();
        for colour_by in [ColourBy::Component, ColourBy::Speed, ColourBy::Age] {
            let look = Look::new(&Style { colour_by, ..Style::default() }, &bodies, None).unwrap();
            let camera = Camera::default();
            for (width, height) in [(1280, 720), (300, 200), (40, 30), (1, 1)] {
                let size = PictureSize::new(width, height).unwrap();
                let lit_by = |names: &str| {
                    let captions = Captions::from_names(names).unwrap();
                    let caption =
                        Caption { captions, title: "A title".into(), ..Caption::default() };
                    let mut image = Image::new(size);
                    caption.draw(&mut image, (&camera, &look, &bodies.components), 1.5);
                    let mut lit = [0; 4];
                    for (i, pixel) in image.rgba().chunks(4).enumerate() {
                        let (x, y) = (i as u32 % width, i as u32 / width);
                        let corner = usize::from(2 * x >= width) + 2 * usize::from(2 * y >= height);
                        lit[corner] += u32::from(pixel[..3].iter().any(|&c| c > 100));
                    }
                    lit
                };
                assert_eq!(lit_by("none"), [0; 4]);
                if width < 300 {
                    lit_by("all");
                    continue;
                }
                for (names, corner) in [("title", 0), ("time", 0), ("scale", 2), ("colours", 3)] {
                    let lit = lit_by(names);
                    assert!(lit[corner] > 8, "{names} at {width}x{height}: {lit:?}");
                }
            }
        }
    }

    #[test]
    fn long_titles_and_names_fit_narrow_pictures() {
        let mut bodies = bodies();
        bodies.components[0].name = "stars of the galaxy that came from far away".to_owned();
        let look = Look::new(&Style::default(), &bodies, None).unwrap();
        let title = "Two galaxies that meet on a parabola and never part again".to_owned();
        for (width, height) in [(320, 240), (200, 400), (120, 90)] {
            let size = PictureSize::new(width, height).unwrap();
            let captions = Captions::from_names("all").unwrap();
            let caption = Caption { captions, title: title.clone(), ..Caption::default() };
            let mut image = Image::new(size);
            caption.draw(&mut image, (&Camera::default(), &look, &bodies.components), 1.5);
            let is_edge = |x: u32, y: u32| x.min(y).min(width - 1 - x).min(height - 1 - y) < 4;
            for (i, pixel) in image.rgba().chunks(4).enumerate() {
                let (x, y) = (i as u32 % width, i as u32 / width);
                let lit = pixel[..3].iter().any(|&c| c > 60);
                assert!(!(lit && is_edge(x, y)), "{x}, {y} of {width} x {height}");
            }
        }
    }
}
