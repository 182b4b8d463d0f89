//! The occupancy calculator: sliders for registers, workgroup memory and threads, for GPUs of
//! several makers.

use egui::{ComboBox, Slider, Ui};

use super::super::theme::{DIM, named, row, table};
use gravitile::inspect::{CompilerReport, Processor, lanes_idle};

/// The sliders' values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calculator {
    processor: usize,
    subgroup: usize,
    registers: u32,
    memory_kib: u32,
    threads: u32,
}

impl Default for Calculator {
    /// A kernel of 64 registers on a Radeon RX 6800.
    fn default() -> Self {
        let processor = Processor::ALL.iter().position(|known| known.name == "RDNA 2");
        Self {
            processor: processor.unwrap_or(0),
            subgroup: 0,
            registers: 64,
            memory_kib: 4,
            threads: 256,
        }
    }
}

impl Calculator {
    fn processor(&self) -> Processor {
        Processor::ALL[self.processor.min(Processor::ALL.len() - 1)]
    }

    fn subgroup_size(&self) -> u32 {
        let sizes = self.processor().subgroup_sizes;
        sizes[self.subgroup.min(sizes.len() - 1)]
    }

    /// Copies a kernel's numbers from a driver's report, and the processor if it is known.
    fn copy_from(&mut self, report: &CompilerReport, threads: u32) {
        let of_device = Processor::of_device(&report.device);
        let known = |p: &Processor| Processor::ALL.iter().position(|other| other == p);
        if let Some(processor) = of_device.as_ref().and_then(known) {
            self.processor = processor;
            let sizes = self.processor().subgroup_sizes;
            self.subgroup = sizes.iter().position(|s| *s == report.subgroup_size).unwrap_or(0);
        }
        self.registers = report.registers().unwrap_or(self.registers.into()) as u32;
        let bytes = report.workgroup_memory().unwrap_or(u64::from(self.memory_kib) << 10);
        self.memory_kib = bytes.div_ceil(1024) as u32;
        self.threads = threads;
    }

    /// Sliders and results; `running`: the driver's report on the kernel in use, and its number of
    /// threads.
    pub fn show(&mut self, ui: &mut Ui, running: Option<(&CompilerReport, u32)>) {
        ui.horizontal_wrapped(|ui| {
            let list = ComboBox::from_id_salt("processor").selected_text(self.processor().name);
            named(ui, "processor", |ui| {
                let list = list.show_ui(ui, |ui| {
                    for (at, known) in Processor::ALL.iter().enumerate() {
                        ui.selectable_value(&mut self.processor, at, known.name);
                    }
                });
                list.response
            });
            let sizes = self.processor().subgroup_sizes;
            for (at, size) in sizes.iter().enumerate().filter(|_| sizes.len() > 1) {
                let about = "Threads per subgroup: Mesa compiles for 64, games often for 32";
                ui.selectable_value(&mut self.subgroup, at, size.to_string()).on_hover_text(about);
            }
            if let Some((report, threads)) = running {
                let about = "Copies registers, memory and threads of the kernel that runs";
                if ui.button("Copy from kernel").on_hover_text(about).clicked() {
                    self.copy_from(report, threads);
                }
            }
        });
        let most = self.processor().most_registers;
        let registers = Slider::new(&mut self.registers, 1..=most);
        named(ui, "registers", |ui| ui.add(registers).on_hover_text("Of each thread"));
        let memory = Slider::new(&mut self.memory_kib, 0..=64).suffix(" KiB");
        named(ui, "memory", |ui| ui.add(memory).on_hover_text("Of each workgroup"));
        let threads = Slider::new(&mut self.threads, 1..=1024);
        named(ui, "threads", |ui| ui.add(threads).on_hover_text("Of each workgroup"));
        let size = self.subgroup_size();
        let room = self.processor().room(self.registers, self.memory_kib << 10, self.threads, size);
        let Some(room) = room else {
            ui.colored_label(DIM, "Not a single workgroup fits.");
            return;
        };
        table("learn room").show(ui, |ui| {
            let about =
                "Subgroups per SIMD unit, out of its maximum, and what leaves no room for more";
            let subgroups = format!("{} of {} subgroups", room.subgroups, room.slots);
            row(ui, "occupancy", about, subgroups);
            row(ui, "limited by", about, room.limit.name());
            for (limit, subgroups) in room.parts.iter().filter(|(_, subgroups)| *subgroups < 9999) {
                let about = "Subgroups per SIMD unit if this were the only limit";
                row(ui, &format!("for {}", limit.name()), about, format!("{subgroups} subgroups"));
            }
            let about = "Workgroups on the SIMD units that share workgroup memory";
            row(ui, "at once", about, format!("{} workgroups", room.workgroups));
            let about = "Part of the lanes in a workgroup's subgroups that have no thread";
            row(
                ui,
                "lanes idle",
                about,
                format!("{:.0} %", 100.0 * lanes_idle(self.threads, size)),
            );
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_kernel_fits_eight_times_on_rdna2() {
        let calculator = Calculator::default();
        assert_eq!((calculator.processor().name, calculator.subgroup_size()), ("RDNA 2", 64));
        assert_eq!(calculator.processor().room(64, 4096, 256, 64).unwrap().subgroups, 8);
    }
}
