//! How the panel looks.

pub(super) use crate::bodies;
use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::rc::Rc;

use egui::{
    Color32, CornerRadius, DragValue, Frame, Grid, Layout, Margin, Pos2, ProgressBar, Response,
    Shape, Slider, SliderClamping, Stroke, TextStyle, Widget, WidgetInfo, WidgetText, emath,
};

use gravitile::units::Measure;

/// Sizes of text, in points: of the panel, and of what explains a control.
const TEXT: f32 = 14.0;
pub const SMALL: f32 = 12.0;
/// Widths in points of the columns of names, of sliders, and of fields with numbers and units.
const LABEL: f32 = 116.0;
const SLIDER: f32 = 76.0;
const VALUE: f32 = 84.0;
/// The least width of a column of a table with short entries.
pub const NARROW: f32 = 40.0;
/// Less important text.
pub const DIM: Color32 = Color32::from_gray(165);
/// Emphasised text.
pub const BRIGHT: Color32 = Color32::from_gray(235);
/// Warnings and errors.
pub const WARN: Color32 = Color32::from_rgb(255, 178, 102);
/// Colours of lines in plots, told apart by colour-blind eyes too (Okabe and Ito 2008).
pub const LINES: [Color32; 6] = [
    Color32::from_rgb(86, 180, 233),
    Color32::from_rgb(230, 159, 0),
    Color32::from_rgb(0, 158, 115),
    Color32::from_rgb(240, 228, 66),
    Color32::from_rgb(204, 121, 167),
    Color32::from_rgb(213, 94, 0),
];

/// The panel's frame, without a fill: the window does not draw the picture under it, which on a
/// software adapter saves a third of a frame.
pub fn frame() -> Frame {
    Frame::new().inner_margin(Margin::same(10))
}

/// The background of a panel below the picture.
pub const SHEET: Color32 = Color32::from_rgb(14, 16, 22);

/// A line of text on the picture.
pub fn caption() -> Frame {
    Frame::new()
        .fill(Color32::from_rgba_unmultiplied(0, 0, 0, 130))
        .corner_radius(CornerRadius::same(3))
        .inner_margin(Margin::symmetric(4, 1))
}

/// A note over the picture.
pub fn note() -> Frame {
    Frame::new()
        .fill(Color32::from_rgba_unmultiplied(16, 18, 26, 220))
        .corner_radius(CornerRadius::same(5))
        .inner_margin(Margin::symmetric(10, 6))
        .stroke(Stroke::new(1.0, Color32::from_gray(60)))
}

/// An opaque sheet over the picture.
pub fn sheet() -> Frame {
    note().fill(Color32::from_rgb(16, 18, 26)).inner_margin(Margin::symmetric(14, 10))
}

/// Sets the look of all widgets.
pub fn style(context: &egui::Context) {
    // A button held down through a few slow frames of a busy machine still counts as clicked.
    context.options_mut(|options| options.input_options.max_click_duration = f64::INFINITY);
    context.set_theme(egui::Theme::Dark);
    context.all_styles_mut(|style| {
        style.visuals.override_text_color = Some(Color32::from_gray(215));
        style.visuals.selection.bg_fill = Color32::from_rgb(46, 84, 140);
        // A border distinguishes fields and lists from text.
        let edge = Stroke::new(1.0, Color32::from_gray(78));
        style.visuals.widgets.inactive.bg_stroke = edge;
        style.visuals.text_edit_bg_color = Some(Color32::from_gray(10));
        for (kind, size) in [
            (TextStyle::Body, TEXT),
            (TextStyle::Button, TEXT),
            (TextStyle::Monospace, TEXT - 1.0),
            (TextStyle::Small, SMALL),
        ] {
            style.text_styles.entry(kind).and_modify(|font| font.size = size);
        }
        style.spacing.slider_width = SLIDER;
        // Fields of numbers have one width, whatever the number.
        style.spacing.interact_size.x = VALUE;
        style.spacing.item_spacing = egui::vec2(8.0, 5.0);
        style.interaction.selectable_labels = true;
    });
}

/// A heading inside a tab.
pub fn heading(ui: &mut egui::Ui, text: &str) {
    ui.add_space(6.0);
    ui.label(egui::RichText::new(text).strong().color(BRIGHT));
}

/// The heading of a section, which folds and unfolds it; returns whether it is unfolded.
#[must_use]
pub fn section(ui: &mut egui::Ui, title: &str) -> bool {
    ui.add_space(6.0);
    let id = egui::Id::unique(("section", title));
    let mut is_open = ui.data(|data| data.get_temp(id)).unwrap_or(true);
    let height = ui.text_style_height(&TextStyle::Body);
    let size = egui::vec2(ui.available_width(), height + 2.0);
    let (rect, response) = ui.allocate_exact_size(size, egui::Sense::click());
    let about = if is_open { "Fold this section" } else { "Unfold this section" };
    let response = response.on_hover_text(about);
    response
        .widget_info(|| WidgetInfo::selected(egui::Role::DisclosureTriangle, true, is_open, title));
    if response.clicked() {
        is_open = !is_open;
        ui.data_mut(|data| data.insert_temp(id, is_open));
    }
    let is_chosen = response.hovered() || response.has_focus();
    let colour = if is_chosen { BRIGHT } else { DIM };
    // Points down while unfolded.
    let sign = Pos2::new(rect.left() + 5.0, rect.center().y);
    let corners = match is_open {
        true => [[-4.0, -2.5], [4.0, -2.5], [0.0, 3.0]],
        false => [[-2.5, -4.0], [3.0, 0.0], [-2.5, 4.0]],
    };
    let corners = corners.map(|[x, y]| sign + egui::vec2(x, y)).to_vec();
    ui.painter().add(Shape::convex_polygon(corners, colour, Stroke::NONE));
    let text = egui::RichText::new(title).strong().color(BRIGHT);
    let text = WidgetText::from(text).into_galley(ui, None, rect.width(), TextStyle::Body);
    let at = Pos2::new(rect.left() + 16.0, rect.center().y - 0.5 * text.size().y);
    ui.painter().galley(at, text, BRIGHT);
    is_open
}

/// A table of names and values, which stand in the same columns as the controls of other sections.
pub fn table(name: impl std::hash::Hash + std::fmt::Debug) -> Grid {
    Grid::new(name).num_columns(2).min_col_width(LABEL)
}

/// A name before a control, in the column of names.
pub fn label(ui: &mut egui::Ui, name: &str) -> Response {
    let height = ui.spacing().interact_size.y;
    let layout = Layout::left_to_right(egui::Align::Center);
    let label = ui.allocate_ui_with_layout(egui::vec2(LABEL, height), layout, |ui| {
        ui.set_min_width(LABEL);
        ui.add(egui::Label::new(egui::RichText::new(name).color(DIM)).truncate())
    });
    label.inner
}

/// A row with a name, and a control of this name behind it.
pub fn named(
    ui: &mut egui::Ui,
    name: &str,
    control: impl FnOnce(&mut egui::Ui) -> Response,
) -> Response {
    ui.horizontal(|ui| {
        let label = label(ui, name);
        control(ui).labelled_by(label.id)
    })
    .inner
}

/// A row of a two-column grid: a name with its explanation, and a value.
pub fn row(ui: &mut egui::Ui, name: &str, about: &str, value: impl Into<egui::WidgetText>) {
    ui.label(egui::RichText::new(name).color(DIM)).on_hover_text(about);
    ui.label(value);
    ui.end_row();
}

/// Requests `action` when the button is clicked; `about` is its hint.
pub fn offer<A>(button: Response, about: impl Into<WidgetText>, actions: &mut Vec<A>, action: A) {
    if button.on_hover_text(about).clicked() {
        actions.push(action);
    }
}

/// A control that is disabled if there is a `refusal`, which is then its hint; else that is
/// `about`.
pub fn unless(
    ui: &mut egui::Ui,
    refusal: Option<impl ToString>,
    control: impl Widget,
    about: impl Into<WidgetText>,
) -> Response {
    let response = ui.add_enabled(refusal.is_none(), control);
    match refusal {
        Some(reason) => response.on_disabled_hover_text(reason.to_string()),
        None => response.on_hover_text(about),
    }
}

/// Shows choices side by side, each with its name and hint; returns another one than `now` when it
/// is clicked.
pub fn pick<'a, T: PartialEq>(
    ui: &mut egui::Ui,
    now: &T,
    choices: impl IntoIterator<Item = (T, &'a str, &'a str)>,
) -> Option<T> {
    let mut picked = None;
    for (choice, name, about) in choices {
        let current = choice == *now;
        if ui.selectable_label(current, name).on_hover_text(about).clicked() && !current {
            picked = Some(choice);
        }
    }
    picked
}

/// A name, its control, and the button that resets its number.
pub fn reset_after(
    ui: &mut egui::Ui,
    name: &str,
    (value, default): (&mut f64, f64),
    control: impl FnOnce(&mut egui::Ui, &mut f64) -> Response,
) {
    ui.horizontal(|ui| {
        let label = label(ui, name);
        control(ui, value).labelled_by(label.id);
        if resets(ui, *value == default) {
            *value = default;
        }
    });
}

/// A slider for a softening length, up to a hundred times the suitable one.
pub fn softening_slider<'a>(value: &'a mut f64, suitable: f64, unit: &str) -> Slider<'a> {
    let top = if suitable > 0.0 { suitable * 100.0 } else { 1.0 };
    Slider::new(value, 0.0..=top)
        .logarithmic(true)
        .smallest_positive(top * 1e-4)
        .clamping(SliderClamping::Edits)
        .in_unit(unit)
}

/// A bar of a measurement that is done in part, from 0 to 1, and a button that stops it. True when
/// that is clicked.
pub fn progress(ui: &mut egui::Ui, part: f64, doing: &str, stop: &str) -> bool {
    ui.add(ProgressBar::new(part as f32).text(doing).desired_width(220.0));
    ui.button(stop).clicked()
}

/// A small button that resets the control before it to its default; invisible while it has that
/// value. True when clicked.
pub fn resets(ui: &mut egui::Ui, is_default: bool) -> bool {
    let button = egui::Button::new("↺").small().frame(false);
    let about = "Reset to default";
    ui.add_visible(!is_default, button).on_hover_text(about).clicked() && !is_default
}

/// A slider that changes `value` once it is released or a number has been typed, followed by the
/// button that resets it; `held` is what the slider shows until then.
pub fn released_or_reset(
    ui: &mut egui::Ui,
    held: &mut Option<f64>,
    (value, default): (&mut f64, f64),
    [name, about]: [&str; 2],
    slider: impl FnOnce(&mut f64) -> egui::Slider<'_>,
) {
    ui.horizontal(|ui| {
        let mut shown = held.unwrap_or(*value);
        let label = label(ui, name);
        let response = ui.add(slider(&mut shown)).on_hover_text(about).labelled_by(label.id);
        if response.changed() {
            *held = Some(shown);
        }
        if !response.dragged() && !ui.ctx().text_edit_focused() {
            *value = held.take().unwrap_or(*value);
        }
        if resets(ui, *value == default && held.is_none()) {
            *held = None;
            *value = default;
        }
    });
}

/// A control whose number, in the bodies' units, is shown and typed in another unit.
pub trait InUnit: Sized {
    /// Sets what is written after the number.
    fn with_suffix(self, suffix: String) -> Self;

    /// The control for a number in this unit, as in [`quantity`].
    fn in_unit(self, unit: &str) -> Self {
        self.in_measure(&Measure::of(unit))
    }

    /// Like [`InUnit::in_unit`], for a unit whose name may be empty although it is not 1.
    fn in_measure(self, unit: &Measure) -> Self {
        self.in_measure_by(unit, |value| value, |number| number)
    }

    /// Like [`InUnit::in_measure`], for a control whose value is a function of the number, such as
    /// its logarithm.
    fn in_measure_by(
        self,
        unit: &Measure,
        number_of: fn(f64) -> f64,
        value_of: fn(f64) -> f64,
    ) -> Self;

    /// The control with numbers that `write` makes into text and `read` reads. A text that nobody
    /// has changed stands for the whole number: the focus passes over a control without rounding
    /// it.
    fn written(
        self,
        write: impl Fn(f64, RangeInclusive<usize>) -> String + 'static,
        read: impl Fn(&str) -> Option<f64> + 'static,
    ) -> Self;

    /// The control with numbers as egui writes them, which the focus does not round.
    fn exact(self) -> Self {
        self.written(emath::format_with_decimals_in_range, |text| text.trim().parse().ok())
    }

    /// Like [`InUnit::in_unit`], but numbers without a unit, and angles, are written as egui does.
    fn in_unit_if_any(self, unit: &str) -> Self {
        match unit {
            "" | "°" => self.exact().with_suffix(unit.to_owned()),
            _ => self.in_unit(unit),
        }
    }
}

/// egui's controls have these methods, but no trait for them.
macro_rules! in_unit {
    ($control:ident) => {
        impl InUnit for $control<'_> {
            fn with_suffix(self, suffix: String) -> Self {
                self.suffix(suffix)
            }

            fn in_measure_by(
                self,
                unit: &Measure,
                number_of: fn(f64) -> f64,
                value_of: fn(f64) -> f64,
            ) -> Self {
                let Measure { factor, name } = unit.clone();
                let suffix = if name.is_empty() { String::new() } else { format!(" {name}") };
                let read = move |text: &str| {
                    let digits = text.trim().trim_end_matches(&name).trim();
                    Some(value_of(digits.parse::<f64>().ok()? / factor))
                };
                let write = move |value, _| number(number_of(value) * factor);
                self.written(write, read).suffix(suffix)
            }

            fn written(
                self,
                write: impl Fn(f64, RangeInclusive<usize>) -> String + 'static,
                read: impl Fn(&str) -> Option<f64> + 'static,
            ) -> Self {
                let last = Rc::new(RefCell::new((String::new(), 0.0)));
                let known = Rc::clone(&last);
                self.custom_formatter(move |value, decimals| {
                    let text = write(value, decimals);
                    *last.borrow_mut() = (text.clone(), value);
                    text
                })
                .custom_parser(move |text| match &*known.borrow() {
                    (written, value) if written == text => Some(*value),
                    _ => read(text),
                })
            }
        }
    };
}
in_unit!(Slider);
in_unit!(DragValue);

/// A quantity in the unit that `kpc` or `13.05 Myr` names; a number before the name is what one
/// unit is worth.
pub fn quantity(value: f64, unit: &str) -> String {
    let Measure { factor, name } = Measure::of(unit);
    format!("{} {name}", number(value * factor)).trim_end().to_owned()
}

/// A rate, with a digit after the point if it is small.
pub fn rate(per_sec: f64) -> String {
    if per_sec > 0.0 && per_sec < 9.95 { format!("{per_sec:.1}") } else { format!("{per_sec:.0}") }
}

/// An amount of memory.
pub fn bytes(count: f64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let power = ((count.max(1.0).log10() / 3.0) as usize).min(units.len() - 1);
    let value = count / 1e3f64.powi(power as i32);
    let digits = if power > 0 && value < 10.0 { 1 } else { 0 };
    format!("{value:.digits$} {}", units[power])
}

/// A number with three or four digits, in powers of ten if it is very large or small.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value.is_nan() {
        "none".to_owned()
    } else if value == 0.0 {
        "0".to_owned()
    } else if !(1e-3..1e5).contains(&size) {
        format!("{value:.2e}")
    } else if size >= 100.0 {
        format!("{value:.0}")
    } else if size >= 1.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.4}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_rates_have_few_digits() {
        assert_eq!([12.0, 3.6e7, 1.23e3, 5e15].map(bytes), ["12 B", "36 MB", "1.2 kB", "5000 TB"]);
        assert_eq!([0.0, 0.7, 7.24, 42.4].map(rate), ["0", "0.7", "7.2", "42"]);
    }

    #[test]
    fn one_body_is_no_bodies() {
        assert_eq!([0, 1, 2].map(bodies), ["0 bodies", "1 body", "2 bodies"]);
    }
}
