//! Text input other than keys on the canvas: pasted text, and text from a phone's keyboard, which
//! only opens for an element of the page. Each change of that element's text, such as a correction
//! or completion by the keyboard, is sent to egui as deleted and typed characters.

use std::cell::RefCell;

use egui::{Event as EguiEvent, Key, Modifiers};
use wasm_bindgen::JsCast;
use web_sys::{ClipboardEvent, Event, HtmlInputElement, KeyboardEvent};

use super::listen::{add, on};
use super::{browser, document, element};
use crate::window::machine::{PageEvent, enqueue};

/// The element that a phone types into.
const TYPING: &str = "typing";
/// Its initial text, so that there are characters to delete.
const FILLING: &str = "                                ";

thread_local! {
    static HELD: RefCell<String> = RefCell::new(FILLING.to_owned());
}

fn send(event: EguiEvent) {
    enqueue(PageEvent::Input(event));
}

fn press(key: Key) {
    for pressed in [true, false] {
        send(EguiEvent::Key {
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

/// Adds the listeners.
pub fn set_up() {
    let (Some(document), Some(field)) = (document(), field()) else { return };
    // winit prevents the browser's default action of every key on the canvas, also of pasting and
    // of moving the focus.
    add(&document, "keydown", true, |event: KeyboardEvent| {
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
            send(EguiEvent::Paste(text));
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
            send(EguiEvent::Text(come));
        }
    });
    on(&field, "keydown", |event: KeyboardEvent| {
        if event.key() == "Enter" {
            press(Key::Enter);
        }
    });
}

/// The number of characters to delete at the end of `before`, and those to append, to get `now`.
fn change(before: &str, now: &str) -> (usize, String) {
    let same = before.chars().zip(now.chars()).take_while(|(a, b)| a == b).count();
    (before.chars().count() - same, now.chars().skip(same).collect())
}

/// Opens or closes the on-screen keyboard. `requested`: whether egui has a focused text field.
pub fn type_into(requested: bool) {
    let (Some(document), Some(field)) = (document(), field()) else { return };
    let is_open = document.active_element().is_some_and(|active| active.id() == TYPING);
    if requested && !is_open && is_touched() {
        field.set_value(FILLING);
        HELD.set(FILLING.to_owned());
        let _ = field.focus();
    } else if !requested && is_open {
        let _ = field.blur();
    }
}

/// Whether the primary pointer is a finger.
pub fn is_touched() -> bool {
    let query = browser().and_then(|browser| browser.match_media("(pointer: coarse)").ok()?);
    query.is_some_and(|query| query.matches())
}
