//! Every control repeated as an invisible element of the page, since a canvas says nothing to a screen reader. egui reports
//! its controls as it does natively; what a user does with an element goes back to egui.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write;

use egui::accesskit::{
    Action, ActionData, ActionRequest, Node, NodeId, Role, Toggled, TreeId, TreeUpdate,
};
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Document, Element, Event, HtmlElement, HtmlInputElement};

use super::listen::on;
use super::{browser, document, element};
use crate::app::window::machine::tell;
use crate::gpu::let_browser_turn;

/// Where the elements are.
const MIRROR: &str = "mirror";
/// Milliseconds between updates: numbers change with every frame, and nobody reads that fast.
const PAUSE_MS: f64 = 400.0;

thread_local! {
    static SHOWN: RefCell<Shown> = RefCell::default();
}

#[derive(Default)]
struct Shown {
    controls: Vec<Control>,
    at_ms: f64,
    listens: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Control {
    id: u64,
    kind: Kind,
    name: String,
    value: String,
    /// Whether it is pressed or chosen; none if that does not apply.
    is_on: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Button,
    Number,
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
            on(&place, "click", |event: Event| heard(&event, Done::Pressed));
            on(&place, "change", |event: Event| heard(&event, Done::Changed));
            on(&place, "focusin", |event: Event| heard(&event, Done::Entered));
            shown.listens = true;
        }
        let ids =
            |controls: &[Control]| controls.iter().map(|c| (c.id, c.kind)).collect::<Vec<_>>();
        let is_new = ids(&shown.controls) != ids(&next);
        let before = std::mem::replace(&mut shown.controls, next.clone());
        spawn_local(show(document, place, next, (!is_new).then_some(before)));
    });
}

/// In a turn of its own, not a frame's: makes all elements, or changes those that differ from `before`.
async fn show(document: Document, place: Element, now: Vec<Control>, before: Option<Vec<Control>>) {
    let_browser_turn().await;
    match before {
        Some(before) => {
            let changed = before.iter().zip(&now).filter(|(old, new)| old != new);
            changed.for_each(|(_, new)| fill(new));
        }
        None => build(&document, &place, &now),
    }
    // Makes the browser lay them out now, not in the next frame's turn.
    place.scroll_width();
}

/// The controls in their order.
fn controls(update: &TreeUpdate) -> Vec<Control> {
    let nodes: HashMap<NodeId, &Node> = update.nodes.iter().map(|(id, node)| (*id, node)).collect();
    let mut found = Vec::new();
    let Some(tree) = &update.tree else { return found };
    let mut todo = vec![tree.root];
    while let Some(id) = todo.pop() {
        let Some(node) = nodes.get(&id) else { continue };
        todo.extend(node.children().iter().rev());
        found.extend(control(id, node));
    }
    found
}

fn control(id: NodeId, node: &Node) -> Option<Control> {
    let kind = match node.role() {
        Role::Button | Role::CheckBox | Role::RadioButton | Role::ComboBox | Role::Link => {
            Kind::Button
        }
        Role::Slider | Role::SpinButton => Kind::Number,
        Role::TextInput | Role::MultilineTextInput => Kind::Text,
        Role::Label => Kind::Words,
        _ => return None,
    };
    let value = match node.numeric_value() {
        Some(number) => number.to_string(),
        None => node.value().unwrap_or_default().to_owned(),
    };
    let name = node.label().map_or_else(|| value.clone(), str::to_owned);
    let is_on = node.toggled().map(|toggled| toggled == Toggled::True).or(node.is_selected());
    (!name.is_empty() || kind != Kind::Words).then_some(Control {
        id: id.0,
        kind,
        name,
        value,
        is_on,
    })
}

fn element_of(control: &Control) -> String {
    format!("egui-{}", control.id)
}

fn build(document: &Document, place: &Element, controls: &[Control]) {
    let focused = document.active_element().map(|element| element.id());
    let mut html = String::new();
    for control in controls {
        let id = element_of(control);
        let _ = match control.kind {
            Kind::Button => write!(html, "<button id={id} tabindex=-1></button>"),
            Kind::Number => write!(html, "<input id={id} type=number step=any tabindex=-1>"),
            Kind::Text => write!(html, "<input id={id} type=text tabindex=-1>"),
            Kind::Words => write!(html, "<span id={id}></span> "),
        };
    }
    place.set_inner_html(&html);
    controls.iter().for_each(fill);
    let focused = focused.filter(|id| id.starts_with("egui-")).and_then(|id| element(&id));
    if let Some(focused) = focused.and_then(|element| element.dyn_into::<HtmlElement>().ok()) {
        let _ = focused.focus();
    }
}

fn fill(control: &Control) {
    let Some(element) = element(&element_of(control)) else { return };
    match control.kind {
        Kind::Button | Kind::Words => element.set_text_content(Some(&control.name)),
        Kind::Number | Kind::Text => {
            let _ = element.set_attribute("aria-label", &control.name);
            if let Some(input) = element.dyn_ref::<HtmlInputElement>() {
                input.set_value(&control.value);
            }
        }
    }
    if let Some(is_on) = control.is_on {
        let _ = element.set_attribute("aria-pressed", if is_on { "true" } else { "false" });
    }
}

/// What a user has done with an element.
enum Done {
    Pressed,
    Changed,
    Entered,
}

fn heard(event: &Event, done: Done) {
    let Some(element) = event.target().and_then(|target| target.dyn_into::<Element>().ok()) else {
        return;
    };
    let id = element.id().strip_prefix("egui-").and_then(|id| id.parse().ok());
    let input = element.dyn_ref::<HtmlInputElement>();
    let (action, data) = match (done, input) {
        (Done::Pressed, None) => (Action::Click, None),
        (Done::Entered, Some(input)) if input.type_() == "text" => (Action::Focus, None),
        (Done::Changed, Some(input)) if input.type_() == "number" => {
            (Action::SetValue, Some(ActionData::NumericValue(input.value_as_number())))
        }
        (Done::Changed, Some(input)) => {
            (Action::SetValue, Some(ActionData::Value(input.value().into())))
        }
        _ => return,
    };
    let Some(id) = id else { return };
    let request =
        ActionRequest { action, target_tree: TreeId::ROOT, target_node: NodeId(id), data };
    tell(Box::new(move |frames| frames.hear(egui::Event::AccessKitActionRequest(request))));
}
