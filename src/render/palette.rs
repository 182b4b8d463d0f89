//! Colours: of components, and colour scales for a number between 0 and 1.
//!
//! Scales are given by a few stops in OKLab (Ottosson 2020), where equal steps look equal, and are
//! interpolated there. All but `frost` grow steadily lighter, so that they are ordered without
//! colour vision; `frost` runs along the blue-yellow axis, which remains visible to red-green
//! colour-blind eyes. `viridis`, `inferno` (Smith & van der Walt 2015) and `cividis` (Nunez et al.
//! 2018) begin lighter than in plots, because dark light is invisible. All colours here are
//! *linear* RGB with sRGB primaries.

use crate::bodies::Role;
use crate::error::{Error, Result};

/// Number of table entries that a scale is sampled into for the sprite passes.
pub const SCALE_STEPS: usize = 32;

/// The colour of a disk's middle, where the oldest stars are: gold.
pub const OLD: [f32; 3] = [1.18, 0.88, 0.54];

/// Thin gas.
pub const THIN_GAS: [f32; 3] = [0.30, 0.20, 0.18];
/// Gas that begins to form stars: the pink of H alpha.
pub const GLOWING_GAS: [f32; 3] = [54.0, 6.60, 19.0];
/// Gas that has formed stars.
pub const NEW_STARS: [f32; 3] = [28.0, 46.0, 92.0];
/// How strongly dust absorbs red, green and blue.
pub const REDDENING: [f32; 3] = [0.72, 1.0, 1.36];

/// In maps of velocities the range of a pixel's mean, relative to that of the palette: values
/// beyond the palette's ends enter the mean unclipped up to this.
pub const MEAN_SPAN: f32 = 4.0;

/// A colour scale for a number between 0 and 1.
#[derive(Debug, PartialEq)]
pub struct Palette {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line about its look and its use.
    pub about: &'static str,
    /// Evenly spaced stops: OKLab lightness (0 to 1), chroma (0 to 0.4), hue in degrees.
    stops: &'static [[f32; 3]],
}

/// All scales; one line each.
pub const PALETTES: &[Palette] = &[
    Palette {
        name: "frost",
        about: "deep blue, ice, white, gold: two-sided, safe for red-green colour-blind eyes",
        stops: &[
            [0.48, 0.20, 264.0],
            [0.68, 0.14, 250.0],
            [0.86, 0.06, 235.0],
            [0.95, 0.03, 95.0],
            [0.87, 0.12, 85.0],
            [0.76, 0.17, 62.0],
        ],
    },
    Palette {
        name: "ember",
        about: "dark red, orange, pale yellow: one-sided, ever lighter",
        stops: &[
            [0.36, 0.14, 24.0],
            [0.52, 0.19, 32.0],
            [0.67, 0.19, 48.0],
            [0.82, 0.15, 78.0],
            [0.96, 0.06, 100.0],
        ],
    },
    Palette {
        name: "aurora",
        about: "violet, teal, pale green: one-sided, ever lighter",
        stops: &[
            [0.42, 0.19, 296.0],
            [0.55, 0.15, 262.0],
            [0.69, 0.12, 210.0],
            [0.83, 0.14, 165.0],
            [0.95, 0.13, 118.0],
        ],
    },
    Palette {
        name: "viridis",
        about: "violet, blue, green, yellow: one-sided, ever lighter, as in many plots",
        stops: &[
            [0.42, 0.16, 318.0],
            [0.55, 0.12, 266.0],
            [0.67, 0.105, 190.0],
            [0.80, 0.17, 144.0],
            [0.93, 0.18, 102.0],
        ],
    },
    Palette {
        name: "cividis",
        about: "blue, grey, yellow: one-sided, ever lighter, looks alike to red-green colour-blind eyes",
        stops: &[
            [0.42, 0.12, 256.0],
            [0.55, 0.07, 262.0],
            [0.68, 0.012, 91.0],
            [0.80, 0.09, 97.0],
            [0.93, 0.17, 102.0],
        ],
    },
    Palette {
        name: "inferno",
        about: "violet, red, orange, pale yellow: one-sided, ever lighter",
        stops: &[
            [0.38, 0.15, 298.0],
            [0.48, 0.17, 333.0],
            [0.59, 0.19, 12.0],
            [0.71, 0.18, 44.0],
            [0.84, 0.16, 79.0],
            [0.97, 0.10, 108.0],
        ],
    },
    Palette { name: "grey", about: "white light only", stops: &[[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]] },
];

impl Palette {
    /// The scale of that name.
    pub fn from_name(name: &str) -> Result<&'static Self> {
        let names = || PALETTES.iter().map(|palette| palette.name);
        let found = PALETTES.iter().find(|palette| palette.name == name);
        found.ok_or_else(|| Error::unknown("palette", name, names()))
    }

    /// The colour at `part` (clamped to 0 to 1; NaN counts as 0).
    #[allow(clippy::manual_clamp)] // clamp() would let a NaN pass.
    pub fn at(&self, part: f32) -> [f32; 3] {
        let along = part.max(0.0).min(1.0) * (self.stops.len() - 1) as f32;
        let first = (along as usize).min(self.stops.len() - 2);
        let [from, to] = [self.stops[first], self.stops[first + 1]].map(lab_of);
        let weight = along - first as f32;
        linear_rgb_of([0, 1, 2].map(|k| from[k] + (to[k] - from[k]) * weight))
    }

    /// The scale as a table of [`SCALE_STEPS`] evenly spaced colours.
    pub fn table(&self) -> [[f32; 4]; SCALE_STEPS] {
        std::array::from_fn(|i| {
            let [r, g, b] = self.at(i as f32 / (SCALE_STEPS - 1) as f32);
            [r, g, b, 1.0]
        })
    }
}

/// OKLCh (hue in degrees) to OKLab.
fn lab_of([lightness, chroma, hue_degrees]: [f32; 3]) -> [f32; 3] {
    let (sin, cos) = libm::sincosf(hue_degrees.to_radians());
    [lightness, chroma * cos, chroma * sin]
}

/// OKLab to linear RGB, clipped to the sRGB gamut.
fn linear_rgb_of([l, a, b]: [f32; 3]) -> [f32; 3] {
    let long = l + 0.396_337_78 * a + 0.215_803_76 * b;
    let medium = l - 0.105_561_346 * a - 0.063_854_17 * b;
    let short = l - 0.089_484_18 * a - 1.291_485_5 * b;
    let [long, medium, short] = [long, medium, short].map(|cone| cone * cone * cone);
    [
        4.076_741_7 * long - 3.307_711_6 * medium + 0.230_969_94 * short,
        -1.268_438 * long + 2.609_757_4 * medium - 0.341_319_4 * short,
        -0.004_196_086 * long - 0.703_418_6 * medium + 1.707_614_7 * short,
    ]
    .map(|channel| channel.max(0.0))
}

/// The colour of the `nth` (from 0) component of a role: first galaxy bluish, second golden.
pub fn component_colour(role: Role, nth: usize) -> [f32; 3] {
    const DISKS: [[f32; 3]; 4] =
        [[0.38, 0.66, 1.38], [1.36, 0.83, 0.29], [0.50, 1.00, 0.86], [1.35, 0.34, 0.44]];
    const BULGES: [[f32; 3]; 4] =
        [[1.16, 1.00, 0.74], [1.34, 0.58, 0.36], [1.05, 1.00, 0.66], [1.28, 0.76, 0.56]];
    const STARS: [[f32; 3]; 4] =
        [[0.92, 0.96, 1.12], [1.28, 0.84, 0.42], [0.52, 0.78, 1.30], [1.30, 0.30, 0.30]];
    match role {
        Role::Disk => DISKS[nth % DISKS.len()],
        Role::Bulge => BULGES[nth % BULGES.len()],
        Role::Star => STARS[nth % STARS.len()],
        Role::Halo => [0.66, 0.44, 1.30],
        Role::Gas => [0.42, 1.02, 1.06],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OKLab of a linear colour.
    fn oklab([r, g, b]: [f32; 3]) -> [f32; 3] {
        let long = (0.412_221_46 * r + 0.536_332_55 * g + 0.051_445_995 * b).cbrt();
        let medium = (0.211_903_5 * r + 0.680_699_5 * g + 0.107_396_96 * b).cbrt();
        let short = (0.088_302_46 * r + 0.281_718_85 * g + 0.629_978_7 * b).cbrt();
        [
            0.210_454_26 * long + 0.793_617_8 * medium - 0.004_072_047 * short,
            1.977_998_5 * long - 2.428_592_2 * medium + 0.450_593_7 * short,
            0.025_904_037 * long + 0.782_771_77 * medium - 0.808_675_77 * short,
        ]
    }

    /// Lightness and blue-yellow axis: the differences visible to red-green colour-blind eyes.
    fn colour_blind_axes(colour: [f32; 3]) -> (f32, f32) {
        let [lightness, _, yellow] = oklab(colour);
        (lightness, yellow)
    }

    /// What a linear colour looks like to eyes without a kind of cones: the matrices for severity 1
    /// of Machado, Oliveira & Fernandes 2009, IEEE TVCG 15, 1291.
    const WITHOUT_GREEN: [[f32; 3]; 3] = [
        [0.367_322, 0.860_646, -0.227_968],
        [0.280_085, 0.672_501, 0.047_413],
        [-0.011_82, 0.042_94, 0.968_881],
    ];
    const WITHOUT_RED: [[f32; 3]; 3] = [
        [0.152_286, 1.052_583, -0.204_868],
        [0.114_503, 0.786_281, 0.099_216],
        [-0.003_882, -0.048_116, 1.051_998],
    ];

    /// Distance in OKLab of two colours at their brightest, as such eyes see them.
    fn apart(a: [f32; 3], b: [f32; 3], eyes: &[[f32; 3]; 3]) -> f32 {
        let seen = |colour: [f32; 3]| {
            let most = colour.into_iter().fold(0.0, f32::max);
            let cone = |row: &[f32; 3]| {
                let light: f32 = row.iter().zip(colour).map(|(k, c)| k * c / most).sum();
                light.max(0.0)
            };
            oklab([cone(&eyes[0]), cone(&eyes[1]), cone(&eyes[2])])
        };
        let squares = seen(a).into_iter().zip(seen(b)).map(|(a, b)| (a - b) * (a - b));
        squares.sum::<f32>().sqrt()
    }

    #[test]
    fn four_disks_and_four_groups_of_stars_differ_for_colour_blind_eyes() {
        for role in [Role::Disk, Role::Star] {
            for (a, b) in (0..4).flat_map(|a| (0..a).map(move |b| (a, b))) {
                let colours = [a, b].map(|nth| component_colour(role, nth));
                for eyes in [&WITHOUT_GREEN, &WITHOUT_RED] {
                    let apart = apart(colours[0], colours[1], eyes);
                    // Five times what is just noticed, 0.02.
                    assert!(apart > 0.1, "{role:?} {a} and {b}: {apart}");
                }
            }
        }
        // Rose and mint, which these eyes confuse.
        assert!(apart([1.2, 0.62, 0.74], [0.5, 1.0, 0.86], &WITHOUT_GREEN) < 0.1);
    }

    #[test]
    fn components_of_two_galaxies_are_told_apart() {
        let roles = [(Role::Disk, 2), (Role::Bulge, 2), (Role::Halo, 1), (Role::Gas, 1)];
        let colours: Vec<_> = roles
            .iter()
            .flat_map(|(role, count)| (0..*count).map(|nth| (*role, nth)))
            .map(|(role, nth)| {
                let colour = component_colour(role, nth);
                let most = colour.into_iter().fold(0.0, f32::max);
                (role, nth, oklab(colour.map(|channel| channel / most)))
            })
            .collect();
        for (k, (role, nth, one)) in colours.iter().enumerate() {
            for (other_role, other, two) in &colours[..k] {
                let squares = one.iter().zip(two).map(|(a, b)| (a - b) * (a - b));
                let distance = squares.sum::<f32>().sqrt();
                // The scales of plots differ by 0.02 where a difference is just noticed.
                assert!(distance > 0.08, "{role:?} {nth}, {other_role:?} {other}: {distance}");
            }
        }
    }

    #[test]
    fn scales_are_ordered_without_red_and_green() {
        for palette in PALETTES.iter().filter(|palette| palette.name != "grey") {
            let (name, by_lightness) = (palette.name, palette.name != "frost");
            let order: Vec<f32> = (0..=12)
                .map(|i| colour_blind_axes(palette.at(i as f32 / 12.0)))
                .map(|(lightness, yellow)| if by_lightness { lightness } else { yellow })
                .collect();
            assert!(order.windows(2).all(|w| w[1] > w[0]), "{name}: {order:?}");
        }
    }

    #[test]
    fn the_two_galaxies_differ_along_blue_and_yellow() {
        let first = colour_blind_axes(component_colour(Role::Disk, 0)).1;
        let second = colour_blind_axes(component_colour(Role::Disk, 1)).1;
        assert!(second - first > 0.12, "{first} {second}");
    }

    #[test]
    fn palette_handles_nan_and_unknown_names() {
        let palette = Palette::from_name("frost").unwrap();
        assert_eq!(palette.at(f32::NAN), palette.at(0.0));
        assert_eq!(palette.at(9.0), palette.at(1.0));
        assert!(Palette::from_name("mud").unwrap_err().to_string().contains("frost, ember"));
    }
}
