//! How many devices compute, and what each of them does.

use std::ops::Range;

use egui::{Button, Ui};

use super::theme::{DIM, section};
use super::{Action, DeviceSharing, Facts};
use gravitile::settings::DeviceCount;
use gravitile::sim::{DevicePart, Share};

/// At most this many counts are offered: more than any machine of today has.
const MOST: usize = 16;

/// Shows the choice if there are several devices.
pub(super) fn show(ui: &mut Ui, facts: &Facts, actions: &mut Vec<Action>) {
    let DeviceSharing { adapters, parts, measured, only_one } = &facts.shared;
    if adapters.len() < 2 {
        return;
    }
    if !section(ui, "Devices") {
        return;
    }
    let requested = facts.settings.devices;
    let now = parts.len().max(1);
    ui.horizontal_wrapped(|ui| {
        let mut choice = |ui: &mut Ui, text: String, about: String, count: DeviceCount, is_now| {
            let may = only_one.is_none() || count.is_one();
            let response = ui.add_enabled(may, Button::selectable(is_now, text));
            if response.on_hover_text(about).clicked() && !is_now {
                actions.push(Action::Devices(count));
            }
        };
        for count in 1..=adapters.len().min(MOST) {
            let text = if count == 1 { "1 device".to_owned() } else { format!("{count} devices") };
            let is_now = requested != DeviceCount::Auto && count == now;
            let about = adapters[..count].join("\n");
            choice(ui, text, about, DeviceCount::of_names(count), is_now);
        }
        let about =
            "Times steps on one device and on all of its kind, and uses all if that is faster";
        let is_now = requested == DeviceCount::Auto;
        choice(ui, "fastest".to_owned(), about.to_owned(), DeviceCount::Auto, is_now);
    });
    if let Some(why) = only_one {
        ui.colored_label(DIM, format!("one device {why}"));
    }
    if let Some(found) = measured.filter(|found| !facts.engine_reason.contains(found)) {
        ui.colored_label(DIM, format!("as measured: {found}"));
    }
    for (at, part) in parts.iter().enumerate() {
        ui.label(format!("{}: {}", at + 1, part.device));
        ui.colored_label(DIM, describe_share(part, facts.count)).on_hover_text(
            "The rest of the time goes into exchanging results with the others and waiting for them",
        );
    }
}

/// Describes a device's share of the work for `n` bodies.
fn describe_share(part: &DevicePart, n: usize) -> String {
    let numbers = |range: &Range<usize>| format!("bodies {} to {}", range.start, range.end - 1);
    let percent = |range: &Range<usize>| 100.0 * range.len() as f64 / n.max(1) as f64;
    let mut text = match &part.share {
        Share::Bodies(range) if range.is_empty() => "no bodies".to_owned(),
        Share::Bodies(range) => format!("moves {}, {:.0} %", numbers(range), percent(range)),
        Share::Domain(bodies) => format!("has {bodies} bodies"),
        _ => "computes its part of each large block".to_owned(),
    };
    if let Some(exchanging) = part.exchanging {
        text += &format!(", computes {:.0} % of the time", 100.0 * (1.0 - exchanging));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_of_a_device_is_described_in_one_line() {
        let of = |share, exchanging| {
            describe_share(&DevicePart { device: "A".to_owned(), share, exchanging }, 400)
        };
        assert_eq!(of(Share::Bodies(0..100), None), "moves bodies 0 to 99, 25 %");
        let domain = of(Share::Domain(300), Some(0.125));
        assert_eq!(domain, "has 300 bodies, computes 88 % of the time");
        assert_eq!(of(Share::Bodies(400..400), None), "no bodies");
    }
}
