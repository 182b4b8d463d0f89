//! The record of the machine.

use super::super::machine::{MACHINE, Machine, State};
use super::super::record::{Device, Kind};
use super::Session;

impl Session<'_> {
    /// Reads the machine's state: before the first figure, and after each, while the device is
    /// still warm. There is one record of it, kept up to date.
    pub fn look_at_machine(&mut self) {
        let gpu = self.gpu.clone();
        let adapter = gpu.as_ref().map(|gpu| &gpu.adapter);
        let machine = match self.machine.take() {
            None => Machine { remark: self.remark.clone(), ..Machine::read(gpu.as_deref()) },
            Some(machine) => Machine { after: Some(State::read(adapter)), ..machine },
        };
        let mut record = self.blank(MACHINE, MACHINE);
        record.kind = Kind::Machine;
        record.method = "asked of the system".to_owned();
        if let Some(adapter) = adapter {
            record.device = Device::of(adapter);
        }
        record.machine = Some(Box::new(machine.clone()));
        self.machine = Some(machine);
        match self.records.iter_mut().find(|known| known.kind == Kind::Machine) {
            Some(known) => *known = record,
            None => self.records.push(record),
        }
    }
}
