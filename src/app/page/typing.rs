//! Text that does not come from keys on the canvas: pasted text, and that of a phone, whose keyboard only opens for an
//! element of the page. That element's text is compared with what it was: whatever a keyboard corrects or completes
//! reaches egui as characters deleted and typed.

use std::cell::RefCell;

use egui::{Event as EguiEvent, Key, Modifiers};
use wasm_bindgen::JsCast;
use web_sys::{ClipboardEvent, Event, HtmlInputElement, KeyboardEvent};

use super::listen::{on, on_first};
use super::{browser, document, element};
use crate::app::window::machine::tell;

/// The element that a phone types into.
const TYPING: &str = "typing";
/// Its first text, so that there is something to delete.
const FILLING: &str = "                                ";

thread_local! {
    static HELD: RefCell<String> = RefCell::new(FILLING.to_owned());
}

fn hear(event: EguiEvent) {
    tell(Box::new(move |frames| frames.hear(event)));
}

fn press(key: Key) {
    for pressed in [true, false] {
        hear(EguiEvent::Key {
            key,
            physical_key: None,
            pressed,
            repeat: false,
            modifiers: Modifiers::NONE,
        });
    }
}

fn field() -> Option<HtmlInputElement> {
    element(TYPING)?.dyn_into().ok()
}

/// Begins to listen.
pub fn set_up() {
    let (Some(document), Some(field)) = (document(), field()) else { return };
    // winit takes every key on the canvas from the browser, which then neither pastes nor moves on to the next control.
    on_first(&document, "keydown", |event: KeyboardEvent| {
        let key = event.key();
        let is_paste = (event.ctrl_key() || event.meta_key()) && key.eq_ignore_ascii_case("v");
        if is_paste || key == "Tab" {
            event.stop_propagation();
        }
    });
    on(&document, "paste", |event: ClipboardEvent| {
        let text = event.clipboard_data().and_then(|data| data.get_data("text").ok());
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            event.prevent_default();
            hear(EguiEvent::Paste(text));
        }
    });
    on(&field, "input", |event: Event| {
        let Some(field) = event.target().and_then(|t| t.dyn_into::<HtmlInputElement>().ok()) else {
            return;
        };
        let now = field.value();
        let before = HELD.replace(now.clone());
        let (gone, come) = change(&before, &now);
        (0..gone).for_each(|_| press(Key::Backspace));
        if !come.is_empty() {
            hear(EguiEvent::Text(come));
        }
    });
    on(&field, "keydown", |event: KeyboardEvent| {
        if event.key() == "Enter" {
            press(Key::Enter);
        }
    });
}

/// How many characters at the end of `before` are gone in `now`, and the new ones.
fn change(before: &str, now: &str) -> (usize, String) {
    let same = before.chars().zip(now.chars()).take_while(|(a, b)| a == b).count();
    (before.chars().count() - same, now.chars().skip(same).collect())
}

/// Opens or closes the on-screen keyboard, as egui has a field to type into or not.
pub fn type_into(wanted: bool) {
    let (Some(document), Some(field)) = (document(), field()) else { return };
    let is_open = document.active_element().is_some_and(|active| active.id() == TYPING);
    if wanted && !is_open && is_touched() {
        field.set_value(FILLING);
        HELD.set(FILLING.to_owned());
        let _ = field.focus();
    } else if !wanted && is_open {
        let _ = field.blur();
    }
}

/// Whether the pointer is a finger.
pub fn is_touched() -> bool {
    let query = browser().and_then(|browser| browser.match_media("(pointer: coarse)").ok()?);
    query.is_some_and(|query| query.matches())
}
