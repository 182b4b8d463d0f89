//! Accessibility: mirrors every control as an invisible element of the page, since a canvas has no
//! content for screen readers and is not in the page's tab order. egui reports its controls through
//! AccessKit as it does natively; user actions on an element are sent back to egui, and a ring
//! marks the control whose element has the focus.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write;

use egui::accesskit::{
    Action, ActionData, ActionRequest, Node, NodeId, Rect, Role, Toggled, TreeId, TreeUpdate,
};
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Document, Element, Event, HtmlElement, HtmlInputElement};

use super::listen::on;
use super::{browser, document, element};
use crate::window::machine::{PageEvent, enqueue};
use gravitile::gpu::let_browser_turn;

/// The parent of the elements.
const MIRROR: &str = "mirror";
/// Marks the control whose element has the focus.
const RING: &str = "ring";
/// Milliseconds between updates: numbers change with every frame, faster than they can be read.
const PAUSE_MS: f64 = 400.0;

thread_local! {
    static SHOWN: RefCell<MirroredControls> = RefCell::default();
}

#[derive(Default)]
struct MirroredControls {
    controls: Vec<Control>,
    at_ms: f64,
    listens: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Control {
    id: u64,
    kind: ControlKind,
    name: String,
    /// With its unit, as the control shows it.
    value: String,
    /// Its explanation.
    about: String,
    /// The number in the bodies' units, and its step.
    number: Option<[f64; 2]>,
    /// Whether it is pressed or chosen; `None` if that does not apply.
    is_on: Option<bool>,
    is_disabled: bool,
    /// In pixels of the canvas; ignored by the comparison of controls.
    bounds: IgnoredBounds,
}

/// A rectangle that equals any other.
#[derive(Clone, Copy, Debug, Default)]
struct IgnoredBounds(Option<Rect>);

impl PartialEq for IgnoredBounds {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ControlKind {
    Button,
    Number,
    /// A number without a field.
    Slider,
    Text,
    Words,
}

/// Shows the controls that egui reports.
pub fn mirror(update: &TreeUpdate) {
    let now = browser().and_then(|browser| browser.performance()).map_or(0.0, |clock| clock.now());
    let is_due = SHOWN.with_borrow(|shown| now - shown.at_ms > PAUSE_MS || shown.at_ms > now);
    let (true, Some(document), Some(place)) = (is_due, document(), element(MIRROR)) else { return };
    let next = controls(update);
    SHOWN.with_borrow_mut(|shown| {
        shown.at_ms = now;
        if !shown.listens {
            on(&place, "click", |event: Event| on_user_event(&event, Interaction::Pressed));
            on(&place, "change", |event: Event| on_user_event(&event, Interaction::Changed));
            on(&place, "focusin", |event: Event| {
                on_user_event(&event, Interaction::Entered);
                mark();
            });
            on(&place, "focusout", |_: Event| super::hide(RING));
            shown.listens = true;
        }
        let ids =
            |controls: &[Control]| controls.iter().map(|c| (c.id, c.kind)).collect::<Vec<_>>();
        let is_new = ids(&shown.controls) != ids(&next);
        let before = std::mem::replace(&mut shown.controls, next.clone());
        spawn_local(show(document, place, next, (!is_new).then_some(before)));
    });
}

/// In a separate task of the event loop: creates all elements, or changes those that differ from
/// `before`.
async fn show(document: Document, place: Element, now: Vec<Control>, before: Option<Vec<Control>>) {
    let_browser_turn().await;
    match before {
        Some(before) => {
            let changed = before.iter().zip(&now).filter(|(old, new)| old != new);
            changed.for_each(|(_, new)| fill(new));
        }
        None => build(&document, &place, &now),
    }
    mark();
    // Forces the layout now, and not in the next frame.
    place.scroll_width();
}

/// The controls in their order.
fn controls(update: &TreeUpdate) -> Vec<Control> {
    let nodes: HashMap<NodeId, &Node> = update.nodes.iter().map(|(id, node)| (*id, node)).collect();
    let mut found = Vec::new();
    let Some(tree) = &update.tree else { return found };
    // Pixels per point.
    let scale =
        nodes.get(&tree.root).and_then(|root| root.transform()).map_or(1.0, |t| t.as_coeffs()[0]);
    let mut todo = vec![tree.root];
    while let Some(id) = todo.pop() {
        let Some(node) = nodes.get(&id) else { continue };
        todo.extend(node.children().iter().rev());
        let Some(mut control) = control(id, node, &nodes, scale) else { continue };
        // A field without a name gets that of the label to its left, else its explanation.
        if let (true, Some(before)) = (control.name.is_empty(), found.last())
            && before.may_name(&control)
        {
            control.name.clone_from(&before.name);
        }
        // A slider is followed by a field for the same number, which also has its unit.
        if control.kind == ControlKind::Number
            && let Some(before) = found.pop_if(|before: &mut Control| before.is_slider_of(&control))
            && control.name.is_empty()
        {
            found.push(Control { name: before.name, about: before.about, ..control });
            continue;
        }
        if !control.name.contains(char::is_alphanumeric) && !control.about.is_empty() {
            control.name = std::mem::take(&mut control.about);
        }
        found.push(control);
    }
    found
}

impl Control {
    /// Whether it is a label or a check box to the left of `field` in the same row.
    fn may_name(&self, field: &Self) -> bool {
        let is_label = self.kind == ControlKind::Words
            || self.kind == ControlKind::Button && self.is_on.is_some();
        let is_left_of = |(label, field): (Rect, Rect)| {
            label.x0 < field.x0 && label.y0 < field.y1 && field.y0 < label.y1
        };
        is_label && self.bounds.0.zip(field.bounds.0).is_some_and(is_left_of)
    }

    fn is_slider_of(&self, field: &Self) -> bool {
        let number = |control: &Self| control.number.map(|[number, _]| number);
        self.kind == ControlKind::Slider && number(self) == number(field)
    }
}

fn control(id: NodeId, node: &Node, nodes: &HashMap<NodeId, &Node>, scale: f64) -> Option<Control> {
    let kind = match node.role() {
        Role::Button | Role::CheckBox | Role::RadioButton | Role::ComboBox | Role::Link => {
            ControlKind::Button
        }
        Role::Slider => ControlKind::Slider,
        Role::SpinButton => ControlKind::Number,
        Role::TextInput | Role::MultilineTextInput => ControlKind::Text,
        Role::Label => ControlKind::Words,
        _ => return None,
    };
    let number = node.numeric_value();
    let value = match (node.value(), number) {
        (Some(text), _) => text.to_owned(),
        (None, number) => number.map_or(String::new(), |number| number.to_string()),
    };
    let labels = node.labelled_by().iter().filter_map(|id| nodes.get(id));
    let labels: Vec<&str> = labels.filter_map(|node| label(node).or(node.value())).collect();
    let about = node.description().unwrap_or_default();
    let name = match labels.is_empty() {
        false => labels.join(" "),
        true => label(node).unwrap_or_default().to_owned(),
    };
    // Elements of these kinds have no value besides their text.
    let name = match kind {
        ControlKind::Button | ControlKind::Words if name.is_empty() => value.clone(),
        ControlKind::Button if !value.is_empty() => format!("{name}: {value}"),
        _ => name,
    };
    let is_on = node.toggled().map(|toggled| toggled == Toggled::True).or(node.is_selected());
    (!name.is_empty() || kind != ControlKind::Words).then_some(Control {
        id: id.0,
        kind,
        name,
        value,
        about: about.to_owned(),
        number: number.map(|number| [number, node.numeric_value_step().unwrap_or(0.0)]),
        is_on,
        is_disabled: node.is_disabled(),
        bounds: IgnoredBounds(node.bounds().map(|Rect { x0, y0, x1, y1 }| Rect {
            x0: x0 * scale,
            y0: y0 * scale,
            x1: x1 * scale,
            y1: y1 * scale,
        })),
    })
}

/// A control's own label; for controls without one, egui reports the explanation.
fn label(node: &Node) -> Option<&str> {
    node.label().filter(|label| Some(*label) != node.description()).or(node.placeholder())
}

fn element_of(control: &Control) -> String {
    format!("egui-{}", control.id)
}

fn build(document: &Document, place: &Element, controls: &[Control]) {
    let focused = document.active_element().map(|element| element.id());
    let at = place.query_selector_all(TABBED).ok().map(|all| {
        let id = |k| all.item(k).and_then(|node| node.dyn_into::<Element>().ok()).map(|e| e.id());
        (0..all.length()).position(|k| id(k) == focused).unwrap_or(0) as u32
    });
    let mut html = String::new();
    for control in controls {
        let id = element_of(control);
        let _ = match control.kind {
            ControlKind::Button => write!(html, "<button id={id}></button>"),
            ControlKind::Number | ControlKind::Slider => {
                write!(html, "<input id={id} type=number step=any>")
            }
            ControlKind::Text => write!(html, "<input id={id} type=text>"),
            ControlKind::Words => write!(html, "<span id={id}></span> "),
        };
    }
    place.set_inner_html(&html);
    controls.iter().for_each(fill);
    let Some(focused) = focused.filter(|id| id.starts_with("egui-")) else { return };
    // If the control no longer exists, the focus goes to the one at the same position in the tab
    // order.
    let next = || place.query_selector_all(TABBED).ok()?.item(at?)?.dyn_into().ok();
    if let Some(focused) = element(&focused).or_else(next)
        && let Ok(focused) = focused.dyn_into::<HtmlElement>()
    {
        let _ = focused.focus();
    }
}

/// Elements that the Tab key visits.
const TABBED: &str = "button, input";

fn fill(control: &Control) {
    let Some(element) = element(&element_of(control)) else { return };
    let set = |name: &str, value: &str| match value {
        "" => element.remove_attribute(name),
        value => element.set_attribute(name, value),
    };
    match control.kind {
        ControlKind::Button | ControlKind::Words => element.set_text_content(Some(&control.name)),
        ControlKind::Number | ControlKind::Slider | ControlKind::Text => {
            let _ = set("aria-label", &control.name);
            let value = match control.number {
                Some([number, step]) => {
                    let _ = set("aria-valuetext", &control.value);
                    if step > 0.0 {
                        let _ = set("step", &step.to_string());
                    }
                    number.to_string()
                }
                None => control.value.clone(),
            };
            // Text that is being typed differs from the default value, and is not overwritten.
            if let Some(input) = element.dyn_ref::<HtmlInputElement>()
                && (input.value() == input.default_value() || !is_focused(&element))
            {
                input.set_default_value(&value);
                input.set_value(&value);
            }
        }
    }
    let _ = set("title", &control.about);
    let _ = set("aria-disabled", if control.is_disabled { "true" } else { "" });
    if let Some(is_on) = control.is_on {
        let _ = set("aria-pressed", if is_on { "true" } else { "false" });
    }
}

fn is_focused(element: &Element) -> bool {
    document().and_then(|document| document.active_element()).as_ref() == Some(element)
}

/// Moves the ring to the control whose element has the focus, or hides it.
fn mark() {
    let id = document().and_then(|document| document.active_element()).map(|focused| focused.id());
    let bounds = SHOWN.with_borrow(|shown| {
        let is_focused = |control: &&Control| id.as_ref() == Some(&element_of(control));
        shown.controls.iter().find(is_focused)?.bounds.0
    });
    let (Some(Rect { x0, y0, x1, y1 }), Some(ring)) = (bounds, element(RING)) else {
        return super::hide(RING);
    };
    let scale = browser().map_or(1.0, |browser| browser.device_pixel_ratio());
    let [left, top, width, height] = [x0, y0, x1 - x0, y1 - y0].map(|length| length / scale);
    let style = format!("left:{left}px;top:{top}px;width:{width}px;height:{height}px");
    let _ = ring.set_attribute("style", &style);
    super::show(RING);
}

/// A user's action on an element.
enum Interaction {
    Pressed,
    Changed,
    Entered,
}

fn on_user_event(event: &Event, interaction: Interaction) {
    let Some(element) = event.target().and_then(|target| target.dyn_into::<Element>().ok()) else {
        return;
    };
    let id = element.id().strip_prefix("egui-").and_then(|id| id.parse().ok());
    let input = element.dyn_ref::<HtmlInputElement>();
    let Some(id) = id else { return };
    let send = |action, data| {
        let target_node = NodeId(id);
        let request = ActionRequest { action, target_tree: TreeId::ROOT, target_node, data };
        enqueue(PageEvent::Input(egui::Event::AccessKitActionRequest(request)));
    };
    if let Interaction::Entered = interaction {
        send(Action::ScrollIntoView, None);
    }
    let (action, data) = match (interaction, input) {
        (Interaction::Pressed, None) if !element.has_attribute("aria-disabled") => {
            (Action::Click, None)
        }
        (Interaction::Changed, Some(input))
            if input.type_() == "number" && input.value_as_number().is_nan() =>
        {
            return;
        }
        (Interaction::Entered, Some(input)) if input.type_() == "text" => (Action::Focus, None),
        (Interaction::Changed, Some(input)) => {
            input.set_default_value(&input.value());
            let data = match input.type_() == "number" {
                true => ActionData::NumericValue(input.value_as_number()),
                false => ActionData::Value(input.value().into()),
            };
            (Action::SetValue, Some(data))
        }
        _ => return,
    };
    send(action, data);
}
