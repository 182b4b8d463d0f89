//! A style resolved for one set of bodies: colours, sizes and light of every component.
//!
//! Made once per film, from its first bodies, so that nothing jumps from picture to picture.
//!
//! Sizes: the sprite radius of a component, in world units, is its median radius times `0.45
//! n^(-1/3)`, about half the distance between neighbours, at most 0.07 of the median radius. A
//! picture bounds it, so that more than a few hundred bodies are points. Light:
//! all visible bodies share a total that is the same for every n, so that 100 bodies and a million
//! expose alike. Roles differ only by their weight.

use std::f64::consts::PI;

use glam::DVec3;

use super::ages::{Ages, ages};
use super::camera::Camera;
use super::following::Following;
use super::framing::quantile;
use super::image::PictureSize;
use super::look_uniform::{ComponentLook, LookUniform};
use super::medium::Plan;
use super::palette::component_colour;
use super::scale::Scale;
use super::streaks::STREAK_PART;
use super::streaks::share::own_length;
use super::style::{ColourBy, Style};
use super::survey::{Part, Survey, median_radius, percentiles};
use crate::bodies::{Bodies, Role};
use crate::error::Result;
use crate::frame::power_below;
use crate::units::Units;

/// With fewer bodies in a disk, colours do not show where they were born.
const LEAST_DISK: usize = 200;

/// Quantiles of the gas by its density relative to its surroundings, at which it begins to glow and
/// at which it glows most.
const GAS_SHINES: [f64; 2] = [0.8, 0.99];

/// The ends of a scale of surface densities, relative to the least and the largest mean within a
/// component's median radius.
const DIMMEST: f64 = 3e-3;
const DENSEST: f64 = 10.0;

/// A [`Style`] resolved for one set of bodies.
#[derive(Clone, Debug)]
pub struct Look {
    /// The style it was made from, as far as it is drawn.
    pub style: Style,
    /// The style it was made from.
    pub requested: Style,
    /// What the sprite passes read.
    pub uniform: Box<LookUniform>,
    /// Number of bodies drawn.
    pub drawn: usize,
    /// Their light, in units of a star's.
    pub light: f64,
    /// Median distance of the drawn bodies from their centre, in world units.
    pub median_radius: f64,
    /// One per body if colours depend on it ([`Look::shows_ages`]), else `None`.
    pub ages: Option<Ages>,
    /// Densities and dust, if colours depend on them.
    pub medium: Option<Plan>,
    /// The mean velocity of all bodies, which is subtracted in colours by speed.
    pub drift: DVec3,
    /// Sprite radius and mean mass of each component in f64; `uniform` holds them in the units of a
    /// scale.
    pub sizes: Vec<[f64; 2]>,
    /// Mass per area of intensity 1 in a map: all drawn mass within a disk of the median radius.
    pub surface: f64,
    /// The range of surface densities that suits the bodies.
    pub surface_range: [f64; 2],
    /// The units in which lines of maps have round numbers.
    pub units: Units,
    /// Lower end of the colour scale.
    pub least_value: f64,
    /// Upper end of the colour scale.
    pub most_value: f64,
    /// One in this many bodies is drawn, see [`Look::thinned`]; 1 or 0 draws all.
    pub every: u32,
    /// The adaptation of the colour scale.
    pub following: Following,
}

/// Light and sprite radius of one body of a role, relative to a star's: a haze needs wider sprites
/// to look smooth.
fn light_and_size(role: Role) -> (f64, f64) {
    match role {
        Role::Star | Role::Disk => (1.0, 1.0),
        Role::Bulge => (0.9, 1.0),
        Role::Gas => (0.5, 1.8),
        Role::Halo => (0.35, 3.5),
    }
}

/// The ends of a scale of surface densities, from that of each component within its median radius:
/// disks and their tails are fainter than that, nuclei denser.
fn surface_range<'a>(parts: impl Iterator<Item = &'a Part>, scene_radius: f64) -> [f64; 2] {
    let inner = |part: &Part| {
        let radius = if part.radius > 0.0 { part.radius } else { scene_radius };
        0.5 * part.count as f64 * part.mean_mass / (PI * radius * radius)
    };
    let (mut least, mut most) = (f64::INFINITY, 0f64);
    for density in parts.map(inner).filter(|density| *density > 0.0 && density.is_finite()) {
        (least, most) = (least.min(density), most.max(density));
    }
    if most > 0.0 { [DIMMEST * least, DENSEST * most] } else { [1e-3, 1e3] }
}

impl Look {
    /// Resolves `style` for `bodies` (any number, even none). `acceleration` (one per body) is
    /// needed only for the range of [`ColourBy::Acceleration`]; without it the scale is 1e-3 to 1e3
    /// until it is known. Ages are computed from `bodies` as well: in the middle of a run set the
    /// original ones with [`Look::with_ages`].
    ///
    /// # Errors
    ///
    /// A style out of range.
    pub fn new(style: &Style, bodies: &Bodies, acceleration: Option<&[DVec3]>) -> Result<Self> {
        style.validate()?;
        Self::surveyed(style, bodies, acceleration, &Survey::of(bodies))
    }

    /// [`Look::new`] for bodies surveyed before, perhaps with their ages: for changes of style.
    pub fn surveyed(
        style: &Style,
        bodies: &Bodies,
        acceleration: Option<&[DVec3]>,
        survey: &Survey,
    ) -> Result<Self> {
        style.validate()?;
        let requested = style.clone();
        let style = &requested.effective();
        let parts = &survey.parts;
        let parts_drawn = || parts.iter().filter(|p| style.draws(p.role));
        let count: usize = parts_drawn().map(|p| p.count).sum();
        let mass: f64 = parts_drawn().map(|p| p.count as f64 * p.mean_mass).sum();
        // Maps draw mass: the mean mass of a body, weighted by mass.
        let mean_light = match mass > 0.0 {
            true => {
                parts_drawn().map(|p| p.count as f64 * p.mean_mass * p.mean_mass).sum::<f64>()
                    / mass
            }
            false => 1.0,
        };
        let weight_of = |part: &Part| match style.colour_by.is_map() {
            true => part.mean_mass / mean_light,
            false => light_and_size(part.role).0,
        };
        let light: f64 = parts_drawn().map(|p| p.count as f64 * weight_of(p)).sum();
        let points: Vec<DVec3> = parts_drawn().flat_map(|p| p.share(count)).collect();
        let scene_radius = median_radius(&points);
        // The fraction of a body's light that its sprite keeps; the rest goes to its streak.
        let own_part = if style.streak_time > 0.0 { 1.0 - STREAK_PART } else { 1.0 };
        let medium = survey.medium(style);
        // The radius of a map's kernel where the density of bodies is one unit.
        let kernel = medium.filter(|_| style.colour_by.is_map()).map(|plan| plan.kernel_radius());
        let mut uniform: Box<LookUniform> = bytemuck::zeroed_box();
        uniform.variety = style.variety as f32;
        uniform.depth_cue = style.depth_cue as f32;
        uniform.scale = style.palette.table();
        let mut sizes = vec![[0.0; 2]; parts.len()];
        let mut nth_of_role = [0; Role::ALL.len()];
        for (index, part) in parts.iter().enumerate() {
            let nth = nth_of_role[part.role as usize];
            nth_of_role[part.role as usize] += 1;
            if part.count == 0 {
                continue;
            }
            // Coincident bodies have no size of their own: take the scene's.
            let own = if part.radius > 0.0 { part.radius } else { scene_radius };
            let closeness = (0.45 / libm::cbrt(part.count as f64)).min(0.07);
            // A component may be several clumps far apart: then neighbour spacing sets the size,
            // not the extent.
            let apart = if part.spacing > 0.0 { 0.4 * part.spacing } else { f64::INFINITY };
            let (weight, (_, size)) = (weight_of(part), light_and_size(part.role));
            let radius = kernel.unwrap_or((own * closeness).min(apart) * size) * style.sprite_size;
            let ratio = scene_radius / radius;
            // The profile (1 - u^2)^4 holds a fifth of an even disk's light.
            let white_peak = match style.draws(part.role) {
                true if light > 0.0 => 5.0 * ratio * ratio * weight * own_part / light,
                _ => 0.0,
            };
            sizes[index] = [radius, part.mean_mass];
            uniform.components[index] = ComponentLook {
                peak: component_colour(part.role, nth).map(|c| c * white_peak as f32),
                radius_in_world: radius as f32,
                white_peak: white_peak as f32,
                inverse_mean_mass: Scale::PLAIN.inverse_mass(part.mean_mass) as f32,
                by_birth: f32::from(
                    style.colour_by == ColourBy::Component
                        && part.role == Role::Disk
                        && part.count >= LEAST_DISK,
                ),
                is_gas: f32::from(part.role == Role::Gas),
            };
        }
        uniform.colour_by = style.colour_by as u32;
        let mut look = Self {
            style: style.clone(),
            requested: requested.clone(),
            uniform,
            drawn: count,
            light,
            median_radius: scene_radius,
            ages: None,
            medium,
            drift: survey.drift,
            sizes,
            surface: (mass / (PI * scene_radius * scene_radius)).max(f64::MIN_POSITIVE),
            surface_range: surface_range(parts_drawn(), scene_radius),
            units: Units::default(),
            least_value: 1.0,
            most_value: 2.0,
            every: 1,
            following: Following::default(),
        };
        look.prepare_medium(bodies);
        if look.shows_ages() {
            look.ages = Some(survey.ages.clone().unwrap_or_else(|| ages(bodies, None)));
        }
        look.begin_values(bodies, acceleration);
        Ok(look)
    }

    /// Sets the units in which lines of maps have round numbers.
    #[must_use]
    pub fn in_units(self, units: &Units) -> Self {
        Self { units: units.clone(), ..self }
    }

    /// Whether colours depend on the bodies' ages.
    pub fn shows_ages(&self) -> bool {
        self.style.colour_by == ColourBy::Age
            || self.uniform.components.iter().any(|component| component.by_birth > 0.0)
    }

    /// Finds what sprites need to know of the medium, and the range of densities over which gas
    /// brightens, from the first bodies of the film.
    fn prepare_medium(&mut self, bodies: &Bodies) {
        let Some(plan) = &self.medium else { return };
        let shows_gas = self.style.gas > 0.0 && self.style.colour_by == ColourBy::Component;
        let knows_densities = plan.counts_all || shows_gas;
        self.uniform.medium = u32::from(knows_densities) | u32::from(plan.has_dust()) << 1;
        if !shows_gas {
            return;
        }
        let mut densities = plan.sampled(bodies, &self.uniform, true);
        if densities.is_empty() {
            return;
        }
        let [from, to] = GAS_SHINES.map(|part| quantile(&mut densities, part));
        // At less strength gas begins to glow at a higher density.
        let octaves = (to - from).max(1.0) / self.style.gas;
        self.uniform.gas_from = from as f32;
        self.uniform.gas_factor = (1.0 / octaves) as f32;
    }

    /// Whether the colour scale has ends that adapt to the bodies.
    pub fn follows_values(&self) -> bool {
        use ColourBy::{Acceleration, Density, Speed, Velocity};
        let follows = matches!(self.style.colour_by, Speed | Acceleration | Density | Velocity);
        follows && self.style.value_range.is_none()
    }

    /// Sets the colour scale: the one chosen by the user, or one that fits the bodies.
    fn begin_values(&mut self, bodies: &Bodies, acceleration: Option<&[DVec3]>) {
        if let Some(range) = self.style.value_range {
            self.span(range);
        } else if self.follows_values() {
            let (following, range) = Following::begin(self.values_of(bodies, acceleration));
            self.following = following;
            self.span(range);
        } else if self.style.colour_by.is_map() {
            self.span(self.surface_range);
        }
    }

    /// Finds the colour scale that fits the bodies now, for [`Look::approach_values`]; takes some
    /// milliseconds. The first scale of bodies that were all at rest applies at once. A scale set
    /// by hand is not changed.
    pub fn aim_values(&mut self, bodies: &Bodies, acceleration: Option<&[DVec3]>) {
        if !self.follows_values() {
            return;
        }
        let Some(found) = self.values_of(bodies, acceleration) else { return };
        if let Some(range) = self.following.aim(found) {
            self.span(range);
        }
    }

    /// Moves the colour scale towards the target found by [`Look::aim_values`], `elapsed_secs` of
    /// film later; returns whether it changed.
    pub fn approach_values(&mut self, elapsed_secs: f64) -> bool {
        let now = [self.least_value, self.most_value];
        let next = self.following.approach(now, elapsed_secs);
        if let Some(range) = next {
            self.span(range);
        }
        next.is_some_and(|next| next != now)
    }

    /// [`Look::aim_values`] and then [`Look::approach_values`].
    pub fn follow_values(
        &mut self,
        bodies: &Bodies,
        acceleration: Option<&[DVec3]>,
        elapsed_secs: f64,
    ) {
        self.aim_values(bodies, acceleration);
        self.approach_values(elapsed_secs);
    }

    /// 2nd and 98th percentile of the quantity that colours show, over the drawn bodies; `None` if
    /// they show none, or if all values are 0.
    fn values_of(&self, bodies: &Bodies, acceleration: Option<&[DVec3]>) -> Option<[f64; 2]> {
        let is_drawn = |&i: &usize| {
            let component = bodies.component.get(i).copied().unwrap_or_default();
            self.uniform.components[usize::from(component)].white_peak > 0.0
        };
        let of = |vectors: &[DVec3], drift: DVec3| {
            let stride = vectors.len().div_ceil(16_384).max(1);
            let sampled = (0..vectors.len()).step_by(stride).filter(is_drawn);
            percentiles(sampled.map(|i| (vectors[i] - drift).length()))
        };
        match self.style.colour_by {
            ColourBy::Speed => of(&bodies.velocity, self.drift),
            ColourBy::Velocity => {
                let found = of(&bodies.velocity, self.drift);
                Some(found.map_or([-1.0, 1.0], |[_, most]| [-most, most]))
            }
            ColourBy::Acceleration => of(acceleration.unwrap_or_default(), DVec3::ZERO),
            ColourBy::Density => {
                let plan = self.medium.as_ref()?;
                let octaves = plan.sampled(bodies, &self.uniform, false);
                percentiles(octaves.into_iter().map(|y| libm::exp2(y) * plan.unit()))
            }
            _ => None,
        }
    }

    /// Sets both ends of the colour scale.
    fn span(&mut self, [least, most]: [f64; 2]) {
        (self.least_value, self.most_value) = (least, most);
        [self.uniform.scale_from, self.uniform.scale_factor] = self.scale_in(&Scale::PLAIN);
    }

    /// The start of the colour scale and 1 / its length, in the sprite passes' numbers: of
    /// logarithms to base 2, or of velocities.
    fn scale_in(&self, scale: &Scale) -> [f32; 2] {
        let (unit, ends) = (self.value_unit(scale), [self.least_value, self.most_value]);
        let [from, to] = match self.style.colour_by {
            ColourBy::Velocity => ends.map(|end| end / unit),
            _ => ends.map(|end| libm::log2(end) - libm::log2(unit)),
        };
        let least = if self.style.colour_by == ColourBy::Velocity { 1e-30 } else { 1e-3 };
        [from as f32, (1.0 / (to - from).max(least)) as f32]
    }

    /// The uniforms of the sprite passes for points in that scale.
    pub fn uniform_in(&self, scale: &Scale) -> Box<LookUniform> {
        let mut uniform = self.uniform.clone();
        if *scale == Scale::PLAIN {
            return uniform;
        }
        for (component, &[radius, mean_mass]) in uniform.components.iter_mut().zip(&self.sizes) {
            component.radius_in_world = (radius / scale.length) as f32;
            component.inverse_mean_mass = scale.inverse_mass(mean_mass) as f32;
        }
        [uniform.scale_from, uniform.scale_factor] = self.scale_in(scale);
        uniform
    }

    /// One unit of the quantity that colours show, in the sprite passes' numbers.
    fn value_unit(&self, scale: &Scale) -> f64 {
        match (self.style.colour_by, &self.medium) {
            (ColourBy::Density, Some(plan)) => plan.unit(),
            _ => scale.value(self.style.colour_by),
        }
    }

    /// A scale for points on the host, suited to what `camera` sees.
    pub(super) fn scale(&self, camera: &Camera) -> Scale {
        let length = power_below(camera.distance);
        let value = match self.style.colour_by {
            ColourBy::Velocity => power_below(self.most_value - self.least_value),
            _ => power_below(self.least_value),
        };
        // Velocities and accelerations not shown by colour are for streaks.
        let time = self.style.streak_time;
        let own = |by: ColourBy, streaks: f64| match self.style.colour_by == by || time <= 0.0 {
            true => value,
            false => power_below(streaks),
        };
        Scale {
            origin: camera.target,
            length,
            mass: power_below(
                self.sizes.iter().map(|[_, mean_mass]| *mean_mass).fold(0.0, f64::max),
            ),
            gravity: 1.0,
            speed: own(ColourBy::Speed, length / time),
            acceleration: own(ColourBy::Acceleration, length / time / time),
        }
    }

    /// Whether some bodies draw streaks on behalf of others: which ones depends on their numbers.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn shares_streaks(&self) -> bool {
        let (time, own_length) = self.streaks();
        time > 0.0 && own_length.is_finite()
    }

    /// The time span of streaks, and the path length up to which each body draws its own, in world
    /// units.
    pub(super) fn streaks(&self) -> (f64, f64) {
        (self.style.streak_time, own_length(self.median_radius, self.drawn))
    }

    /// The look that draws one in `every` bodies, each as bright as `every` of them, and smooths as
    /// for that number: the same light and the same shapes, coarser. Streaks are drawn by all
    /// bodies or none: with streaks the look is unchanged.
    #[must_use]
    pub fn thinned(mut self, every: u32) -> Self {
        if every < 2 || self.style.streak_time > 0.0 {
            return self;
        }
        // The kernels of maps hold as many of the bodies that are drawn.
        let wider = if self.style.colour_by.is_map() { libm::cbrt(f64::from(every)) } else { 1.0 };
        let brighter = (f64::from(every) / (wider * wider)) as f32;
        for (component, [radius, _]) in self.uniform.components.iter_mut().zip(&mut self.sizes) {
            component.peak = component.peak.map(|channel| channel * brighter);
            component.white_peak *= brighter;
            *radius *= wider;
            component.radius_in_world = *radius as f32;
        }
        self.light /= f64::from(every);
        self.every *= every;
        self
    }

    /// Sets the bodies' ages, computed by [`super::ages::ages`] at the start of the run.
    #[must_use]
    pub fn with_ages(self, ages: Ages) -> Self {
        Self { ages: Some(ages), ..self }
    }

    /// Least and largest radius of a sprite on a picture of that size. The least prevents moving
    /// sprites from flickering between pixels (at 2 px its light varies by 0.3 % with its position
    /// relative to pixel centres, at 1.6 px by 4 %) and makes few stars look like stars. Among very
    /// many bodies single ones are invisible and the cost is that of their pixels: they may be
    /// smaller. More than a few hundred bodies are points, however near: what is smooth is made of
    /// all of them (`glow`).
    ///
    /// The kernels of maps are between 1/160, for lines without the noise of single pixels, and an
    /// eighth of the picture: those of the few bodies far outside would take most of the time, and
    /// are wider only where a map's scale has ended.
    pub fn radius_limits_px(&self, size: PictureSize) -> [f32; 2] {
        let side = size.shorter_side() as f32;
        if self.style.colour_by.is_map() {
            return [side / 160.0, 0.125 * side].map(|radius| radius.max(1.6));
        }
        let drawn = self.drawn.max(1) as f32;
        let few = (5000.0 / drawn).powf(0.25).clamp(1.0, 4.0);
        let many = (100_000.0 / drawn).powf(0.25).clamp(0.6, 1.0);
        let size = self.style.sprite_size as f32;
        let least = (2.0 * size * few * many * (side / 720.0).clamp(1.0 / few, 4.0)).max(1.6);
        let most = 0.08 * size * side * (200.0 / drawn).min(1.0);
        [least, most.max(least)]
    }
}

/// What the sprite passes read for each body, see [`Bodies::tag`].
pub fn tags(bodies: &Bodies) -> Vec<u32> {
    (0..bodies.len()).map(|i| bodies.tag(i)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_preserves_light_and_is_off_with_streaks() {
        let mut bodies = Bodies::with_capacity(1000);
        (0..1000).for_each(|i| bodies.push(1.0, DVec3::splat(f64::from(i)), DVec3::ONE, 0));
        let whole = Look::new(&Style::default(), &bodies, None).unwrap();
        let thin = whole.clone().thinned(5);
        let peak = |look: &Look| look.uniform.components[0].white_peak;
        assert_eq!((thin.every, peak(&thin)), (5, 5.0 * peak(&whole)));
        assert!((thin.light * 5.0 / whole.light - 1.0).abs() < 1e-12);
        assert_eq!(whole.clone().thinned(1).every, 1);
        let streaks = Style { streak_time: 1.0, ..Style::default() };
        assert_eq!(Look::new(&streaks, &bodies, None).unwrap().thinned(5).every, 1);
    }
}
