//! The tree's cells and the interactions of a body, drawn over the picture.

use std::sync::Arc;

use crate::panel::tree::{ACCEPTED, EXPANDED, GROUP, ONE_BY_ONE, TreeForm, shown_cells};
use gravitile::forces::tree::{GroupWalk, TreeView};
use gravitile::live::Inspected;
use gravitile::render::{Diagram, DrawnBox, Mark, Scale};

/// Colour of the ring around the body whose card is shown.
const RING: egui::Color32 = egui::Color32::from_rgb(240, 240, 240);
const RING_PX: f32 = 11.0;

/// The diagram over the picture, and what it was made from.
#[derive(Default)]
pub struct Overlay {
    diagram: Option<Arc<Diagram>>,
    of: Option<DiagramInputs>,
}

/// What a diagram was made from.
struct DiagramInputs {
    view: Option<Arc<TreeView>>,
    /// The body whose card is shown.
    ringed: Option<usize>,
    walk: Option<Arc<GroupWalk>>,
    depth: Option<u32>,
}

impl DiagramInputs {
    /// What to draw now; `None` if there is nothing to draw.
    fn of(form: &TreeForm, ringed: Option<usize>, inspected: &Inspected) -> Option<Self> {
        let view = inspected.tree.as_ref().map(|inspected| Arc::clone(&inspected.view));
        let walk = inspected
            .walk
            .as_ref()
            .filter(|_| form.lists)
            .map(|inspected| Arc::clone(&inspected.walk));
        let depth = (form.boxes && view.is_some()).then_some(form.depth);
        let walk = walk.filter(|_| view.is_some());
        let is_something = walk.is_some() || depth.is_some() || ringed.is_some();
        is_something.then_some(Self { view, ringed, walk, depth })
    }

    fn is(&self, other: &Self) -> bool {
        let view = |source: &Self| source.view.as_ref().map(Arc::as_ptr);
        let walk = |source: &Self| source.walk.as_ref().map(Arc::as_ptr);
        view(self) == view(other)
            && walk(self) == walk(other)
            && (self.depth, self.ringed) == (other.depth, other.ringed)
    }

    fn diagram(&self) -> Diagram {
        let Self { view, ringed, walk, depth } = self;
        let mut diagram = Diagram::default();
        if let &Some(body) = ringed {
            let (body, colour) = (body as u32, RING.to_array());
            diagram.marks.push(Mark { body, colour, ring_px: RING_PX, pad: 0 });
        }
        let Some(view) = view else { return diagram };
        diagram.scale = Some(Scale::from(view.frame()));
        if let Some(depth) = *depth {
            // Fainter if the interaction lists are shown as well.
            let part = if walk.is_some() { 0.35 } else { 1.0 };
            let cells = view.boxes(0..shown_cells(view.levels(), depth));
            diagram.boxes.extend(
                cells.map(|cell| drawn(cell.lower, cell.upper, by_depth(cell.level, depth), part)),
            );
        }
        let Some(walk) = walk else { return diagram };
        // Hundreds of boxes in one place would hide their contents.
        let part = 0.6
            * (150.0 / (walk.cells.len() + walk.far.len()).max(1) as f32).sqrt().clamp(0.3, 1.0);
        for (cells, colour) in [(&walk.far, EXPANDED), (&walk.cells, ACCEPTED)] {
            for &number in cells {
                let cell = view.cell_box(number as usize);
                diagram.boxes.push(drawn(cell.lower, cell.upper, colour, part));
            }
        }
        let [lower, upper] = view.group_box(walk);
        diagram.boxes.push(drawn(lower, upper, GROUP, 1.0));
        let mark = |colour: egui::Color32| {
            move |&body: &u32| Mark { body, colour: colour.to_array(), ring_px: 0.0, pad: 0 }
        };
        diagram.marks.extend(walk.bodies.iter().map(mark(ONE_BY_ONE)));
        diagram.marks.extend(walk.members.iter().map(mark(GROUP)));
        diagram
    }
}

impl Overlay {
    /// The current diagram, if there is one.
    pub fn diagram(&self) -> Option<&Arc<Diagram>> {
        self.diagram.as_ref()
    }

    /// Updates the diagram for the results of inspecting the forces so far.
    pub fn refresh(
        &mut self,
        form: &TreeForm,
        ringed: Option<usize>,
        inspected: Option<&Inspected>,
    ) {
        let Some(now) = inspected.and_then(|inspected| DiagramInputs::of(form, ringed, inspected))
        else {
            *self = Self::default();
            return;
        };
        if !self.of.as_ref().is_some_and(|before| before.is(&now)) {
            self.diagram = Some(Arc::new(now.diagram()));
            self.of = Some(now);
        }
    }
}

fn drawn(lower: [f32; 3], upper: [f32; 3], colour: egui::Color32, alpha: f32) -> DrawnBox {
    let [red, green, blue, opacity] = colour.to_srgba_unmultiplied();
    let opacity = (f32::from(opacity) * alpha) as u8;
    DrawnBox { lower, colour: [red, green, blue, opacity], upper, pad: 0 }
}

/// From violet for the root to yellow-green for the deepest level shown (after viridis), which
/// colour-blind people can distinguish on a dark sky. The deepest level is the most opaque:
/// together with the leaves above it, it holds each body once.
fn by_depth(level: u32, deepest: u32) -> egui::Color32 {
    const STOPS: [[f32; 3]; 4] =
        [[160.0, 120.0, 235.0], [85.0, 150.0, 225.0], [55.0, 195.0, 155.0], [180.0, 230.0, 90.0]];
    let along = level as f32 / deepest.max(1) as f32 * (STOPS.len() - 1) as f32;
    let stop = (along as usize).min(STOPS.len() - 2);
    let mix = |k: usize| {
        let (a, b) = (STOPS[stop][k], STOPS[stop + 1][k]);
        (a + (b - a) * (along - stop as f32)) as u8
    };
    let alpha = 0.6 * 0.72f32.powi(deepest.saturating_sub(level) as i32);
    let opacity = (255.0 * alpha.max(0.15)) as u8;
    egui::Color32::from_rgba_unmultiplied(mix(0), mix(1), mix(2), opacity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_distinct_colours_and_the_deepest_is_the_most_opaque() {
        for deepest in [0, 1, 4, 20] {
            let colours: Vec<_> = (0..=deepest).map(|level| by_depth(level, deepest)).collect();
            for pair in colours.windows(2) {
                assert_ne!(pair[0], pair[1]);
                assert!(pair[0].a() <= pair[1].a() && pair[0].a() > 30);
            }
        }
        let drawn = drawn([0.0; 3], [1.0; 3], ACCEPTED, 0.5);
        assert_eq!(drawn.colour, [86, 180, 233, 127]);
    }
}
