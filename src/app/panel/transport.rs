//! The bar below the picture: restart, pause, single steps, bookmarks, and a time line of stored
//! states to go back to, with the moments that the scene marks.

use egui::{
    Align2, Color32, CornerRadius, FontId, Id, LayerId, Order, Pos2, Rect, Role, Sense, Shape,
    Stroke, StrokeKind, TextureHandle, Ui, Vec2, WidgetInfo, vec2,
};

use super::light::NOTE;
use super::theme::{BRIGHT, DIM, LINES, offer, quantity};
use super::{Action, Facts};
use gravitile::live::Command;

/// Memory that stored states may take, in bytes.
pub const PAST_BYTES: usize = 256 << 20;

/// Restart, pause, step, bookmark. A page's font has few pictograms.
const SIGNS: [&str; 4] = match cfg!(target_arch = "wasm32") {
    false => ["⏮", "⏸", "⏭", "⚑"],
    true => ["|◀", "▮▮", "▶|", "◆"],
};

const HEIGHT: f32 = 18.0;
/// A bar shorter than this is not shown.
const LEAST: f32 = 60.0;
/// Widths of the areas that a bookmark and a marked moment can be clicked in.
const BOOKMARK_WIDTH: f32 = 10.0;
const MOMENT_WIDTH: f32 = 16.0;
/// Size in points of a bookmark's picture above the bar.
const NOTE_PICTURE: Vec2 = vec2(128.0, 72.0);
/// Room for the button *Continue* and the distance before it.
const CONTINUE: f32 = 84.0;

pub(super) fn show(ui: &mut Ui, facts: &Facts, width: f32, actions: &mut Vec<Action>) {
    ui.horizontal(|ui| {
        let left = ui.cursor().min.x;
        let live = |command: Command| Action::Live(command);
        let [beginning, pause, step, bookmark] = SIGNS;
        let restart = Action::Restart { reset_numbers: true };
        let about = "Restart from the beginning (r)";
        offer(ui.small_button(beginning), about, actions, restart.clone());
        let (sign, about) =
            if facts.keeper.paused { ("▶", "Resume (space)") } else { (pause, "Pause (space)") };
        offer(ui.small_button(sign), about, actions, live(Command::Pause(!facts.keeper.paused)));
        if ui.small_button(step).on_hover_text("One step (s)").clicked() {
            actions.push(live(Command::Pause(true)));
            actions.push(live(Command::Step(1)));
        }
        let about = "Bookmark this state, to come back to (m)";
        offer(ui.small_button(bookmark), about, actions, Action::Bookmark);
        if facts.is_at_end {
            let about = "From the beginning (r)";
            offer(ui.small_button("Play again"), about, actions, restart);
            // In a narrow window the play button does the same.
            let has_room = width - (ui.cursor().min.x - left) >= CONTINUE;
            let about = "Beyond the end (space)";
            if has_room && ui.small_button("Continue").on_hover_text(about).clicked() {
                actions.push(live(Command::Pause(false)));
            }
        }
        let room = width - (ui.cursor().min.x - left) - 16.0;
        if room >= LEAST {
            bar(ui, facts, room, actions);
        }
    });
}

fn bar(ui: &mut Ui, facts: &Facts, width: f32, actions: &mut Vec<Action>) {
    let (rect, response) = ui.allocate_exact_size(vec2(width, HEIGHT), Sense::click_and_drag());
    let now = facts.status.time;
    let times = facts.past.iter().map(|stored| stored.state.time).chain([now]);
    let first = times.clone().fold(f64::INFINITY, f64::min);
    let moments = facts.moments.iter().map(|moment| moment.camera.time);
    let end = times.chain(moments).fold(first + facts.hints.until.max(0.0), f64::max);
    let span = (end - first).max(f64::MIN_POSITIVE);
    let place = |time: f64| rect.left() + ((time - first) / span) as f32 * rect.width();
    let painter = ui.painter();
    let middle = rect.center().y;
    let line = |from: f32, to: f32| Rect::from_x_y_ranges(from..=to, middle - 2.0..=middle + 2.0);
    let corner = CornerRadius::same(2);
    painter.rect_filled(line(rect.left(), rect.right()), corner, Color32::from_gray(55));
    let reached = facts.past.last().map_or(now, |last| last.state.time.max(now));
    painter.rect_filled(line(rect.left(), place(reached)), corner, Color32::from_gray(95));
    painter.rect_filled(line(rect.left(), place(now)), corner, LINES[0]);
    painter.circle(Pos2::new(place(now), middle), 5.0, BRIGHT, Stroke::NONE);
    let mut is_over_mark = false;
    // A mark on the bar: whether it is chosen, by the pointer or the focus, and whether it is
    // clicked.
    let mut mark = |ui: &Ui, kind: (&str, usize), (at, width): (Pos2, f32), title: &str| {
        let area = Rect::from_center_size(at, vec2(width, HEIGHT));
        let mark = ui.interact(area, ui.scope_id().with(kind), Sense::click());
        mark.widget_info(|| WidgetInfo::labeled(Role::Button, true, title));
        is_over_mark |= mark.hovered();
        (mark.hovered() || mark.has_focus(), mark.clicked())
    };
    for (k, past) in facts.past.iter().enumerate() {
        let Some(bookmark) = &past.bookmark else { continue };
        let at = Pos2::new(place(past.state.time), middle);
        let (is_chosen, is_clicked) =
            mark(ui, ("bookmark", k), (at, BOOKMARK_WIDTH), bookmark.title());
        let (radius, fill) = if is_chosen { (5.0, BRIGHT) } else { (3.5, LINES[1]) };
        ui.painter().circle(at, radius, fill, Stroke::NONE);
        if is_chosen {
            let time = quantity(past.state.time, &facts.units.time);
            let text = format!("{} · t = {time}", bookmark.title());
            note(ui, text, bookmark.picture.as_ref(), (at.x, rect));
        }
        if is_clicked {
            actions.push(Action::GoTo(k));
        }
    }
    for (k, moment) in facts.moments.iter().enumerate() {
        let at = Pos2::new(place(moment.camera.time), middle);
        let (is_chosen, is_clicked) = mark(ui, ("moment", k), (at, MOMENT_WIDTH), &moment.title);
        let (reach, fill) = if is_chosen { (6.5, BRIGHT) } else { (5.0, LINES[2]) };
        let corners = [vec2(0.0, -reach), vec2(reach, 0.0), vec2(0.0, reach), vec2(-reach, 0.0)];
        let diamond = corners.map(|corner| at + corner).to_vec();
        ui.painter().add(Shape::convex_polygon(diamond, fill, Stroke::new(1.0, Color32::BLACK)));
        if is_chosen {
            let time = quantity(moment.camera.time, &facts.units.time);
            note(ui, format!("{} · t = {time}", moment.title), None, (at.x, rect));
        }
        if is_clicked {
            actions.push(Action::GoToMoment(k));
        }
    }
    if is_over_mark {
        return;
    }
    let painter = ui.painter();
    let Some(pointer) = response.interact_pointer_pos().or(response.hover_pos()) else { return };
    let at_pointer = first + f64::from((pointer.x - rect.left()) / rect.width()) * span;
    let nearest = (0..facts.past.len()).min_by(|&a, &b| {
        let away = |at: usize| (facts.past[at].state.time - at_pointer).abs();
        away(a).total_cmp(&away(b))
    });
    let Some(nearest) = nearest else { return };
    if response.dragged() || response.hovered() {
        let time = facts.past[nearest].state.time;
        let at = Pos2::new(place(time), middle);
        painter.circle(at, 5.0, Color32::TRANSPARENT, Stroke::new(1.5, BRIGHT));
        let direction = if time > now { "on" } else { "back" };
        let count = match facts.past.len() {
            1 => "1 state".to_owned(),
            count => format!("{count} states"),
        };
        let text = format!(
            "{direction} to t = {} · {count} kept, in at most {} MB",
            quantity(time, &facts.units.time),
            PAST_BYTES >> 20,
        );
        note(ui, text, None, (at.x, rect));
    }
    // Restoring a state takes a moment: it is done once the pointer is released.
    if response.clicked() || response.drag_stopped() {
        actions.push(Action::GoTo(nearest));
    }
}

/// Text above the bar, about its place `x`, with a bookmark's picture above it.
fn note(ui: &Ui, text: String, picture: Option<&TextureHandle>, (x, bar): (f32, Rect)) {
    let room = ui.ctx().content_rect().shrink(4.0);
    // Over messages and the film's sign, which are above the bar.
    let painter = ui.ctx().layer_painter(LayerId::new(Order::Tooltip, Id::unique(NOTE)));
    let galley = painter.layout(text, FontId::proportional(12.0), DIM, room.width() - 8.0);
    let of_picture = picture.map_or(Vec2::ZERO, |_| NOTE_PICTURE + vec2(8.0, 4.0));
    let size = (galley.size() + vec2(8.0, 4.0)).max(vec2(of_picture.x, 0.0));
    let size = size + vec2(0.0, of_picture.y);
    let left = (x - 0.5 * size.x).min(bar.right() - size.x).max(bar.left().min(room.left()));
    let note = Rect::from_min_size(Pos2::new(left, bar.top() - size.y), size);
    let dark = Color32::from_black_alpha(235);
    painter.rect(note, CornerRadius::same(2), dark, Stroke::NONE, StrokeKind::Inside);
    let lines = note.with_min_y(note.min.y + of_picture.y);
    let inside = Align2::CENTER_CENTER.align_size_within_rect(galley.size(), lines);
    painter.galley(inside.min, galley, DIM);
    if let Some(picture) = picture {
        let at = Pos2::new(note.center().x - 0.5 * NOTE_PICTURE.x, note.min.y + 4.0);
        let whole = Rect::from_min_max(Pos2::ZERO, Pos2::new(1.0, 1.0));
        let place = Rect::from_min_size(at, NOTE_PICTURE);
        painter.image(picture.id(), place, whole, Color32::WHITE);
    }
}
