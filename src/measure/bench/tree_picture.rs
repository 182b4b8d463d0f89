//! The cells of a tree and what acts on one body, projected along the z axis, as a picture: the
//! diagram of the window's tab Tree, for pages.

use glam::DVec3;

use super::plot::svg::{Svg, WIDTH};
use crate::forces::tree::{GroupWalk, TreeView};

/// The most boxes that are drawn, level by level.
const MOST_BOXES: usize = 4000;
/// The part of the bodies that the picture shows; a few are far outside.
const SHOWN: f64 = 0.95;
/// Colours of what acts, as in the window: cells as a whole, cells by an expansion, bodies one by
/// one, and the group.
const WHOLE: &str = "c0";
const EXPANDED: &str = "c2";
const ONE_BY_ONE: &str = "c1";
const GROUP: &str = "c4";

/// Bodies with their tree, and where a picture of `width` pixels, as wide as high, shows them.
#[derive(Debug)]
pub struct TreePicture {
    view: TreeView,
    /// x and y in the tree's frame.
    places: Vec<[f32; 2]>,
    centre: [f32; 2],
    /// Half of the picture's width in the frame.
    half: f32,
}

impl TreePicture {
    /// The tree over bodies at `position`, as in [`TreeView::new`].
    pub fn new(position: &[DVec3], gravitating_mass: &[f64], softening: f64) -> Self {
        let view = TreeView::new(position, gravitating_mass, softening);
        let places: Vec<[f32; 2]> = position
            .iter()
            .map(|position| {
                let [x, y, _] = view.frame().position(*position);
                [x, y]
            })
            .collect();
        let middle = |axis: usize| {
            let mut along: Vec<f32> = places.iter().map(|place| place[axis]).collect();
            along.sort_by(f32::total_cmp);
            along.get(along.len() / 2).copied().unwrap_or(0.0)
        };
        let centre = [middle(0), middle(1)];
        let mut far: Vec<f32> = places
            .iter()
            .map(|place| (0..2).map(|axis| (place[axis] - centre[axis]).abs()).fold(0.0, f32::max))
            .collect();
        far.sort_by(f32::total_cmp);
        let last = ((far.len() as f64 * SHOWN) as usize).min(far.len().saturating_sub(1));
        let half = far.get(last).copied().filter(|half| *half > 0.0).unwrap_or(1.0) * 1.05;
        Self { view, places, centre, half }
    }

    /// The tree.
    pub fn view(&self) -> &TreeView {
        &self.view
    }

    /// The deepest level.
    pub fn depth(&self) -> usize {
        self.view.levels().len().saturating_sub(2)
    }

    /// Indices of the bodies in the order of their distance from the middle of the picture.
    pub fn from_middle(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.places.len()).collect();
        let squared = |i: &usize| {
            (0..2).map(|axis| (self.places[*i][axis] - self.centre[axis]).powi(2)).sum::<f32>()
        };
        order.sort_by(|a, b| squared(a).total_cmp(&squared(b)));
        order
    }

    fn at(&self, [x, y]: [f32; 2], width: f64) -> (f64, f64) {
        let along = |value: f32, centre: f32| f64::from((value - centre) / self.half);
        let (x, y) = (along(x, self.centre[0]), along(y, self.centre[1]));
        ((1.0 + x) * width / 2.0, (1.0 - y) * width / 2.0)
    }

    /// The body that a picture of this width shows nearest to a place on it; `None` without bodies.
    pub fn body_at(&self, width: f64, place: (f64, f64)) -> Option<usize> {
        let squared = |i: &usize| {
            let (x, y) = self.at(self.places[*i], width);
            (x - place.0).powi(2) + (y - place.1).powi(2)
        };
        (0..self.places.len()).min_by(|a, b| squared(a).total_cmp(&squared(b)))
    }

    /// The picture, with the cells down to a level if it is given, what acts in a walk if there is
    /// one, and this label.
    pub fn svg(
        &self,
        depth: Option<usize>,
        walk: Option<&GroupWalk>,
        width: f64,
        label: &str,
    ) -> String {
        let width = width.clamp(200.0, WIDTH);
        let mut svg = Svg::untitled(width, label);
        let place = |body: u32| self.at(self.places[body as usize], width);
        let mut outline = |class: &str, lower: [f32; 3], upper: [f32; 3]| {
            let (left, bottom) = self.at([lower[0], lower[1]], width);
            let (right, top) = self.at([upper[0], upper[1]], width);
            svg.line(
                class,
                [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)],
            );
        };
        if let Some(depth) = depth {
            let levels = self.view.levels();
            let end = levels.get(depth + 1).or(levels.last()).copied().unwrap_or(0) as usize;
            for cell in self.view.boxes(0..end.min(MOST_BOXES)) {
                let is_deepest = cell.level as usize == depth;
                let faint = if is_deepest && walk.is_none() { "" } else { " faint" };
                outline(&format!("c3{faint}"), cell.lower, cell.upper);
            }
        }
        if let Some(walk) = walk {
            for (cells, class) in [(&walk.far, EXPANDED), (&walk.cells, WHOLE)] {
                for &number in cells {
                    let cell = self.view.cell_box(number as usize);
                    outline(class, cell.lower, cell.upper);
                }
            }
            let [lower, upper] = self.view.group_box(walk);
            outline(&format!("{GROUP} thick"), lower, upper);
        }
        svg.dots("c7", (0..self.places.len()).map(|body| place(body as u32)), 2.0);
        if let Some(walk) = walk {
            svg.dots(ONE_BY_ONE, walk.bodies.iter().map(|body| place(*body)), 3.0);
            svg.dots(GROUP, walk.members.iter().map(|body| place(*body)), 5.0);
        }
        svg.finish(width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forces::tree::TreeConfig;

    #[test]
    fn each_level_adds_its_boxes_and_a_click_finds_its_body() {
        let position: Vec<DVec3> = (0..4096)
            .map(|i| DVec3::new(f64::from(i % 64), f64::from(i / 64), f64::from(i % 7)))
            .collect();
        let picture = TreePicture::new(&position, &vec![1.0; 4096], 0.1);
        let levels = picture.view().levels();
        let boxes = |depth| picture.svg(Some(depth), None, 400.0, "x").matches("c3").count();
        // The style names the colour four times, for light and dark pages.
        let named = picture.svg(None, None, 400.0, "x").matches("c3").count();
        for depth in 0..=picture.depth() {
            assert_eq!(boxes(depth) - named, levels[depth + 1] as usize, "level {depth}");
        }
        for body in [0, 2000, 2080] {
            let at = picture.at(picture.places[body], 400.0);
            assert_eq!(picture.body_at(400.0, at), Some(body));
        }
        let middle = picture.from_middle()[0];
        assert!((position[middle].truncate() - glam::DVec2::splat(31.5)).length() < 1.5);
        let walk = picture.view().walk(middle, &TreeConfig::default(), &[]).unwrap();
        let drawn = picture.svg(None, Some(&walk), 400.0, "what acts");
        assert!(drawn.contains("aria-label=\"what acts\""));
        let dots = drawn.split("<path class=\"c1\"").nth(1).unwrap().split("/>").next().unwrap();
        assert_eq!(dots.matches('M').count(), walk.bodies.len());
    }

    #[test]
    fn no_bodies_and_bodies_in_one_place_are_drawn() {
        for n in [0, 1, 100] {
            let picture = TreePicture::new(&vec![DVec3::ZERO; n], &vec![1.0; n], 0.1);
            assert!(picture.svg(Some(3), None, 400.0, "x").contains("</svg>"));
            assert_eq!(picture.body_at(400.0, (1.0, 1.0)).is_some(), n > 0);
        }
    }
}
