//! The tab Kernel: the engine, and the shape of its all-pairs kernel.

use egui::{Button, Ui};

use super::kernel_editor::{self, KernelEditor};
use super::learn::heat::{P, Q};
use super::theme::{DIM, SMALL, WARN, bytes, label, offer, pick, row, section, table, unless};
use super::{Action, Facts, devices, wgsl};
use gravitile::forces::Method;
use gravitile::forces::direct::gpu::{Dispatch, KernelConfig, KernelRequest};
use gravitile::gpu::Checks;
use gravitile::live::Command;
use gravitile::sim::EngineKind;

/// The state of the tab between frames.
#[derive(Default)]
pub struct KernelForm {
    show_text: bool,
    text: wgsl::Highlighted,
    editor: KernelEditor,
}

/// Height in points of engine, reason and note, which they rarely exceed.
const ENGINE_HEIGHT: f32 = 96.0;

/// The engines, each with a description.
const ENGINES: [(EngineKind, &str, &str); 4] = [
    (EngineKind::Auto, "auto", "gpu for 512 bodies or more if there is a graphics card, else cpu"),
    (EngineKind::Gpu, "gpu", "The WGSL kernel below, on the graphics adapter, f32"),
    (EngineKind::Cpu, "cpu", "SIMD on all processor cores, state in f64, pairs in f32"),
    (EngineKind::Reference, "reference", "Scalar f64 on all cores: slow and accurate"),
];

impl KernelForm {
    /// Called where the tab is not shown.
    pub(super) fn leave(&mut self, actions: &mut Vec<Action>) {
        self.editor.leave(actions);
    }

    pub(super) fn show(&mut self, ui: &mut Ui, facts: &Facts, actions: &mut Vec<Action>) {
        if section(ui, "Engine") {
            ui.horizontal_wrapped(|ui| {
                actions.extend(pick(ui, &facts.engine, ENGINES).map(Action::Engine));
            });
            let chosen = methods(ui, facts.method, &facts.engine.selectable_methods());
            actions.extend(chosen.map(Action::Method));
            // The same height for every engine, so that nothing below jumps away from under the
            // pointer.
            ui.scope(|ui| {
            ui.set_min_height(ENGINE_HEIGHT);
            ui.label(facts.engine_text);
            if facts.engine_reason != "asked for" {
                ui.colored_label(DIM, format!("because {}", facts.engine_reason));
            }
            if !facts.runs_all_pairs() {
                let note = "The kernel below runs with the engine gpu and the method direct. You can set its \
                            shape already.";
                ui.colored_label(DIM, note);
            }
        });
        }
        devices::show(ui, facts, actions);
        let Some(config) = facts.config else {
            ui.colored_label(WARN, "This adapter cannot run a kernel of this shape.");
            return;
        };
        let mut requested = config;
        self.shape(ui, facts, &mut requested);
        if requested != config {
            actions.push(Action::Live(Command::Kernel(KernelRequest::from(KernelConfig {
                own: false,
                ..requested
            }))));
        }
        ui.horizontal(|ui| {
            let about = "The program chooses for this device and number of bodies";
            let automatic = Action::Live(Command::Kernel(KernelRequest::default()));
            offer(ui.button("Choose automatically"), about, actions, automatic);
            let about = "The text of the kernel as it runs now";
            ui.toggle_value(&mut self.show_text, "Show the WGSL").on_hover_text(about);
        });
        self.facts_of(ui, facts, config);
        if self.show_text || facts.kernel_file.is_some() {
            self.text(ui, facts, actions);
        }
    }

    fn shape(&mut self, ui: &mut Ui, facts: &Facts, requested: &mut KernelConfig) {
        if !section(ui, "Kernel") {
            return;
        }
        let about = "With tiles, threads fetch sources into workgroup memory together and reuse them. Without, \
                     every thread reads every source itself and relies on the caches";
        let mut tiled = !requested.untiled;
        if ui.checkbox(&mut tiled, "tiled").on_hover_text(about).changed() {
            let u = if tiled { divisor(requested.u, requested.p) } else { requested.u };
            *requested = KernelConfig {
                untiled: !tiled,
                uniform: false,
                broadcast: false,
                q: 1,
                u,
                dispatch: Dispatch::Auto,
                ..*requested
            };
        }
        let about = "All bodies in one workgroup's memory, many steps per dispatch: for a few hundred bodies, \
                     where launching a dispatch costs more than its work";
        let was_one = requested.dispatch == Dispatch::OneWorkgroup;
        let mut one = was_one;
        let small =
            KernelConfig::in_one_workgroup(facts.gpu, facts.count, &KernelRequest::default());
        let checkbox = egui::Checkbox::new(&mut one, "steps in one workgroup");
        let refusal = small.as_ref().err().filter(|_| !was_one);
        if unless(ui, refusal, checkbox, about).changed() {
            *requested = match small {
                Ok(small) if one => small,
                _ => KernelConfig::for_device(facts.gpu.adapter.class, facts.count, facts.count),
            };
        }
        // p, q, r, u and s are those of the ordinary kernel, not of steps in one workgroup.
        let base = KernelConfig { dispatch: Dispatch::Auto, ..*requested };
        let fit = |config: KernelConfig| KernelConfig {
            u: if config.untiled { config.u } else { divisor(config.u, config.p) },
            ..config
        };
        choices(
            ui,
            facts,
            requested,
            ["p", "threads along the sinks, sources per tile"],
            &P,
            "Threads along the sinks of a workgroup: a tile is p x q sources",
            |p| fit(KernelConfig { p, ..base }),
        );
        choices(
            ui,
            facts,
            requested,
            ["q", "threads that share a sink"],
            &Q,
            "Threads that share one sink, each taking part of the sources: more threads when bodies are few",
            |q| KernelConfig { q, ..base },
        );
        choices(
            ui,
            facts,
            requested,
            ["r", "sinks per thread"],
            R,
            "Sinks per thread, kept in registers: each source read serves r of them",
            |r| KernelConfig { r, ..base },
        );
        choices(
            ui,
            facts,
            requested,
            ["u", "interactions unrolled"],
            U,
            "Interactions unrolled per iteration of the inner loop: less loop overhead, more registers",
            |u| KernelConfig { u, ..base },
        );
        choices(
            ui,
            facts,
            requested,
            ["s", "slices of the sources"],
            S,
            "Slices of the sources, each with its own workgroups: fills the device when sinks are few",
            |s| KernelConfig { s, ..base },
        );
        let mut checked = requested.checks == Checks::On;
        let about = "Keeps the bounds checks that browsers require, to see what they cost";
        if ui.checkbox(&mut checked, "run-time checks").on_hover_text(about).changed() {
            requested.checks = if checked { Checks::On } else { Checks::Off };
        }
    }

    fn facts_of(&self, ui: &mut Ui, facts: &Facts, config: KernelConfig) {
        let limits = &facts.gpu.limits;
        if !section(ui, "What that means") {
            return;
        }
        table("kernel facts").show(ui, |ui| {
            let n = facts.count as u64;
            let groups = n.div_ceil(u64::from(config.sinks_per_workgroup())) * u64::from(config.s);
            let about = "Threads per workgroup, and how many the adapter allows";
            let threads = format!("{} of {}", config.threads(), limits.threads_per_workgroup);
            row(ui, "threads", about, threads);
            let about = "Workgroup memory for the tiles held at once, and how much the adapter has";
            let memory =
                format!("{} of {} bytes", config.workgroup_memory(), limits.workgroup_memory);
            row(ui, "tile", about, memory);
            let about = "Workgroups per force evaluation: a large device needs hundreds";
            row(ui, "workgroups", about, groups.to_string());
            let about =
                "Sources read from device memory per force evaluation: N^2 / (p r) tiled, N^2 / r untiled";
            let reuse = if config.untiled { config.r } else { config.p * config.r };
            let reads = n as f64 * n as f64 / f64::from(reuse) * 16.0;
            row(ui, "memory traffic", about, format!("{} per step", bytes(reads)));
        });
    }

    fn text(&mut self, ui: &mut Ui, facts: &Facts, actions: &mut Vec<Action>) {
        let Some(text) = facts.wgsl else {
            ui.colored_label(
                DIM,
                "This kernel does not run now: it needs the engine gpu and the method direct.",
            );
            return;
        };
        ui.separator();
        ui.horizontal_wrapped(|ui| {
            ui.label(format!("{} lines", text.lines().count()));
            if ui.button("Copy").on_hover_text("Copy the whole text to the clipboard").clicked() {
                actions.push(Action::CopyText(text.to_owned()));
            }
            // A page has no files: there the lesson has an editor.
            if cfg!(not(target_arch = "wasm32")) && facts.kernel_file.is_none() {
                kernel_editor::begin(ui, actions);
            }
        });
        if let Some(file) = facts.kernel_file {
            return self.editor.show(ui, file, text, actions);
        }
        // The wheel scrolls the tab, not the text, which is shown at full height.
        let source = egui::scroll_area::ScrollSource { mouse_wheel: false, ..Default::default() };
        egui::ScrollArea::horizontal().scroll_source(source).show(ui, |ui| {
            let job = self.text.of(text);
            ui.add(egui::Label::new(job).extend());
        });
    }
}

/// The choice of methods; returns a method other than `now` when clicked. A single method is not
/// shown.
fn methods(ui: &mut Ui, now: Method, has: &[Method]) -> Option<Method> {
    if has.len() < 2 {
        return None;
    }
    let known = Method::ALL.iter().copied().filter(|(method, ..)| has.contains(method));
    ui.horizontal_wrapped(|ui| {
        label(ui, "method").on_hover_text("How forces are computed");
        pick(ui, &now, known)
    })
    .inner
}

const R: &[u32] = &[1, 2, 4, 8, 16];
const U: &[u32] = &[1, 2, 4, 8, 16, 32];
const S: &[u32] = &[1, 2, 4, 8, 16, 32, 64];

/// The largest unrolling up to `u` that divides `p`.
fn divisor(u: u32, p: u32) -> u32 {
    (1..=u.min(p)).rev().find(|u| p.is_multiple_of(*u)).unwrap_or(1)
}

/// A row of numbers to choose from; those that the adapter cannot run are grey and say why.
fn choices(
    ui: &mut Ui,
    facts: &Facts,
    requested: &mut KernelConfig,
    [name, means]: [&str; 2],
    values: &[u32],
    about: &str,
    make: impl Fn(u32) -> KernelConfig,
) {
    ui.spacing_mut().item_spacing.y = 2.0;
    ui.label(egui::RichText::new(means).size(SMALL).color(DIM)).on_hover_text(about);
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 2.0;
        ui.monospace(name).on_hover_text(about);
        for &value in values {
            let config = make(value);
            let selected = config == *requested;
            let refusal = config.validate(Some(facts.gpu)).err();
            let button =
                Button::new(value.to_string()).selected(selected).min_size([28.0, 0.0].into());
            let response = unless(ui, refusal, button, about);
            if response.accessible_name(format!("{name} = {value}")).clicked() {
                *requested = config;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;

    use super::*;

    #[test]
    fn methods_are_shown_if_there_are_several() {
        let both = [Method::Direct, Method::Reference];
        let show = |ui: &mut Ui, chosen: &mut Option<Method>| {
            *chosen = chosen.or(methods(ui, Method::Direct, &both));
        };
        let mut harness = Harness::new_ui_state(show, None);
        for (name, expected) in [("direct", None), ("reference", Some(Method::Reference))] {
            harness.get_by_label(name).click();
            harness.run();
            assert_eq!(*harness.state(), expected, "{name}");
        }
        let alone = |ui: &mut Ui| assert_eq!(methods(ui, Method::Direct, &both[..1]), None);
        assert!(Harness::new_ui(alone).query_by_label("direct").is_none());
    }
}
