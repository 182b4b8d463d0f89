//! The machine on which a run was measured: everything that affects the numbers, as far as it can
//! be read.
//!
//! Facts have names ([`FACTS`]), so that anyone who submits a result can inspect each and leave it
//! out. They contain no name of a user, a host or a folder.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use super::names::{cpu_device, plain};
use super::record::{Record, RecordKind};
use crate::gpu::{AdapterInfo, Gpu};

/// The figure to which records of machines belong; it is not drawn.
pub(super) const MACHINE: &str = "machine";

/// The facts about a machine; `None` for anything that cannot be read or was left out.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Machine {
    /// The operating system and its version.
    pub system: Option<String>,
    /// The processor and its number of threads.
    pub processor: Option<String>,
    /// The adapter's PCI vendor and device: `10de:2335`.
    pub pci: Option<String>,
    /// The adapter's address on the bus.
    pub place: Option<String>,
    /// wgpu's version.
    pub wgpu: Option<String>,
    /// Threads per subgroup, minimum and maximum: `32`, `32 to 64`.
    pub subgroups: Option<String>,
    /// Compute units (NVIDIA: multiprocessors).
    pub units: Option<u32>,
    /// Limits of a workgroup and a buffer.
    pub limits: Option<String>,
    /// Clocks, power, temperature and supply before the first figure.
    pub before: Option<MachineState>,
    /// The same right after the last figure: under load.
    pub after: Option<MachineState>,
    /// A remark by the user.
    pub remark: Option<String>,
}

/// A fact: its name, how to read it, and how to leave it out.
type MachineFact = (&'static str, fn(&Machine) -> Option<String>, fn(&mut Machine));

/// All facts, in the order in which they are shown.
const FACTS: [MachineFact; 13] = [
    ("system", |m| m.system.clone(), |m| m.system = None),
    ("processor", |m| m.processor.clone(), |m| m.processor = None),
    ("pci", |m| m.pci.clone(), |m| m.pci = None),
    ("place", |m| m.place.clone(), |m| m.place = None),
    ("wgpu", |m| m.wgpu.clone(), |m| m.wgpu = None),
    ("subgroups", |m| m.subgroups.clone(), |m| m.subgroups = None),
    ("units", |m| m.units.map(|units| units.to_string()), |m| m.units = None),
    ("limits", |m| m.limits.clone(), |m| m.limits = None),
    (
        "clocks",
        |m| both(m, MachineState::clocks),
        |m| each(m, |s| (s.clock_mhz, s.memory_mhz) = (None, None)),
    ),
    (
        "power",
        |m| both(m, MachineState::power),
        |m| each(m, |s| (s.watts, s.most_watts) = (None, None)),
    ),
    ("temperature", |m| both(m, MachineState::temperature), |m| each(m, |s| s.celsius = None)),
    ("supply", |m| both(m, |s| s.supply.clone()), |m| each(m, |s| s.supply = None)),
    ("remark", |m| m.remark.clone(), |m| m.remark = None),
];

fn both(machine: &Machine, value: fn(&MachineState) -> Option<String>) -> Option<String> {
    let of = |state: &Option<MachineState>| state.as_ref().and_then(value);
    match (of(&machine.before), of(&machine.after)) {
        (Some(before), Some(after)) if before != after => Some(format!("{before}, then {after}")),
        (before, after) => after.or(before),
    }
}

fn each(machine: &mut Machine, change: fn(&mut MachineState)) {
    for state in [&mut machine.before, &mut machine.after].into_iter().flatten() {
        change(state);
    }
}

impl Machine {
    /// Names of all facts.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FACTS.iter().map(|(name, _, _)| *name)
    }

    /// Reads the facts of this machine, with the adapter in use.
    pub fn read(gpu: Option<&Gpu>) -> Self {
        let cpu = cpu_device();
        let mut machine = Self {
            system: Some(system()),
            processor: Some(plain(&format!("{}, {}", cpu.name, cpu.driver))),
            before: Some(MachineState::read(gpu.map(|gpu| &gpu.adapter))),
            ..Self::default()
        };
        if let Some(gpu) = gpu {
            let info = gpu.wgpu_adapter.get_info();
            let (least, most) = (info.subgroup_min_size, info.subgroup_max_size);
            let limits = &gpu.limits;
            // Browsers do not report it.
            machine.pci = (gpu.adapter.pci != (0, 0)).then(|| pci(&gpu.adapter));
            machine.place = gpu.adapter.place.clone().map(|place| plain(&place));
            machine.wgpu = option_env!("GRAVITILE_WGPU").map(str::to_owned);
            machine.subgroups =
                Some(if least == most { least.to_string() } else { format!("{least} to {most}") });
            machine.units = limits.units;
            machine.limits = Some(format!(
                "{} threads and {} bytes in a workgroup, {} MiB in a buffer",
                limits.threads_per_workgroup,
                limits.workgroup_memory,
                limits.storage_buffer >> 20
            ));
        }
        machine
    }

    /// The record of the machine, from one without measurements.
    pub(super) fn record(&self, blank: Record) -> Record {
        let method = "asked of the system".to_owned();
        Record { kind: RecordKind::Machine, method, machine: Some(Box::new(self.clone())), ..blank }
    }

    /// The known facts: name and value.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        FACTS.iter().filter_map(|(name, value, _)| Some((*name, value(self)?))).collect()
    }

    /// Removes a fact; returns false if there is none with this name.
    pub fn leave_out(&mut self, name: &str) -> bool {
        let known = FACTS.iter().find(|(known, _, _)| *known == name);
        if let Some((_, _, leave_out)) = known {
            leave_out(self);
        }
        known.is_some()
    }

    /// The first problem of a machine from a foreign file, if any.
    pub(super) fn fault(&self) -> Option<String> {
        let texts = self.facts().into_iter();
        let bad = |text: &str| text.chars().count() > 700 || text.chars().any(char::is_control);
        let wrong = texts.into_iter().find(|(_, text)| bad(text));
        wrong.map(|(name, _)| format!("machine.{name} is too long or has control characters"))
    }
}

/// `10de:2335`.
fn pci(adapter: &AdapterInfo) -> String {
    format!("{:04x}:{:04x}", adapter.pci.0, adapter.pci.1)
}

/// The operating system's own name.
fn system() -> String {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let release = read("/etc/os-release");
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let kernel = read("/proc/sys/kernel/osrelease");
    let words = match (name, kernel.trim()) {
        (Some(name), kernel) => format!("{}, Linux {kernel}", name.trim_matches('"')),
        (None, "") => std::env::consts::OS.to_owned(),
        (None, kernel) => format!("Linux {kernel}"),
    };
    plain(&format!("{words}, {}", std::env::consts::ARCH))
}

// The varying state of a machine: clocks, power, temperature, and whether it runs on battery.

/// The state at one time; `None` for anything the system does not report.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MachineState {
    /// Clock of the adapter's compute units, in MHz.
    pub clock_mhz: Option<f64>,
    /// Clock of its memory.
    pub memory_mhz: Option<f64>,
    /// Power drawn, in watts.
    pub watts: Option<f64>,
    /// Power limit, in watts.
    pub most_watts: Option<f64>,
    /// Its temperature in degrees Celsius.
    pub celsius: Option<f64>,
    /// `mains`, or `battery`.
    pub supply: Option<String>,
}

impl MachineState {
    /// The present state of this machine and one of its adapters.
    pub fn read(adapter: Option<&AdapterInfo>) -> Self {
        let place = adapter.and_then(|adapter| adapter.place.as_deref());
        let nvidia = adapter.is_some_and(|adapter| adapter.pci.0 == 0x10de);
        let mut state = match place {
            Some(place) if nvidia => query_nvidia_smi(place).unwrap_or_default(),
            Some(place) => sensors(&Path::new("/sys/bus/pci/devices").join(place)),
            None => Self::default(),
        };
        state.supply = supply(Path::new("/sys/class/power_supply"));
        state
    }

    /// The clocks for display.
    pub fn clocks(&self) -> Option<String> {
        let memory = self.memory_mhz.map(|mhz| format!(", memory {mhz:.0} MHz"));
        self.clock_mhz.map(|mhz| format!("{mhz:.0} MHz{}", memory.unwrap_or_default()))
    }

    /// Power drawn and its limit, for display.
    pub fn power(&self) -> Option<String> {
        let most = self.most_watts.map(|watts| format!(" of {watts:.0}"));
        self.watts.map(|watts| format!("{watts:.0}{} W", most.unwrap_or_default()))
    }

    /// The temperature for display.
    pub fn temperature(&self) -> Option<String> {
        self.celsius.map(|celsius| format!("{celsius:.0} °C"))
    }
}

/// Queries nvidia-smi, if it is installed.
fn query_nvidia_smi(place: &str) -> Option<MachineState> {
    let query = "--query-gpu=clocks.sm,clocks.mem,power.draw,power.limit,temperature.gpu";
    let output = Command::new("nvidia-smi")
        .args([query, "--format=csv,noheader,nounits", "-i", place])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then(|| of_line(&String::from_utf8_lossy(&output.stdout)))
}

/// Parses `1980, 3201, 512.3, 700.00, 41`; unknown values are `[N/A]`.
fn of_line(line: &str) -> MachineState {
    let mut numbers = line.trim().split(',').map(|field| known(field.trim().parse().ok()));
    let mut next = || numbers.next().flatten();
    MachineState {
        clock_mhz: next(),
        memory_mhz: next(),
        watts: next(),
        most_watts: next(),
        celsius: next(),
        supply: None,
    }
}

fn known(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite() && value.abs() < 1e9)
}

/// Reads Linux sensors of a device (AMD's and Intel's drivers): hertz, microwatts, millidegrees.
fn sensors(device: &Path) -> MachineState {
    let hwmon: Option<PathBuf> = std::fs::read_dir(device.join("hwmon"))
        .ok()
        .and_then(|found| found.flatten().map(|entry| entry.path()).next());
    let Some(hwmon) = hwmon else { return MachineState::default() };
    let read = |name: &str, unit: f64| {
        let text = std::fs::read_to_string(hwmon.join(name)).ok()?;
        known(text.trim().parse::<f64>().ok().map(|value| value / unit))
    };
    MachineState {
        clock_mhz: read("freq1_input", 1e6),
        memory_mhz: read("freq2_input", 1e6),
        watts: read("power1_average", 1e6).or_else(|| read("power1_input", 1e6)),
        most_watts: read("power1_cap", 1e6),
        celsius: read("temp1_input", 1e3),
        supply: None,
    }
}

/// `battery` if one is being discharged, `mains` otherwise; Linux only.
fn supply(folder: &Path) -> Option<String> {
    let found = std::fs::read_dir(folder).ok()?;
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    let discharges = found.flatten().any(|entry| {
        let is = |file: &str, value: &str| read(entry.path().join(file)).trim() == value;
        is("type", "Battery") && is("status", "Discharging")
    });
    Some(if discharges { "battery" } else { "mains" }.to_owned())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn example() -> Machine {
        let state = MachineState {
            clock_mhz: Some(1980.0),
            celsius: Some(40.0),
            ..MachineState::default()
        };
        Machine {
            system: Some("Linux".to_owned()),
            pci: Some("10de:2335".to_owned()),
            before: Some(MachineState { clock_mhz: Some(345.0), ..state.clone() }),
            after: Some(state),
            ..Machine::default()
        }
    }

    #[test]
    fn every_fact_is_shown_and_can_be_left_out() {
        let mut machine = example();
        let shown = machine.facts();
        assert!(shown.contains(&("clocks", "345 MHz, then 1980 MHz".to_owned())), "{shown:?}");
        assert!(shown.contains(&("temperature", "40 °C".to_owned())), "{shown:?}");
        for name in Machine::names() {
            assert!(machine.leave_out(name), "{name}");
        }
        assert!(machine.facts().is_empty() && !machine.leave_out("user"));
        // Only the facts that were shown remain.
        let left = serde_json::to_string(&machine).unwrap();
        assert_eq!(left, r#"{"before":{},"after":{}}"#);
    }

    #[test]
    fn machine_facts_contain_no_user_or_host_names() {
        let machine = Machine::read(None);
        assert!(machine.system.is_some() && machine.processor.is_some() && machine.pci.is_none());
        assert_eq!(machine.fault(), None);
        let all = serde_json::to_string(&machine).unwrap();
        let host = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
        assert!(host.trim().len() < 6 || !all.contains(host.trim()), "{all}");
    }
}

#[cfg(test)]
mod state_tests {
    use super::*;

    #[test]
    fn nvidia_smi_line_parses_and_unknown_values_are_omitted() {
        let state = of_line("1980, 3201, 512.30, 700.00, 41\n");
        assert_eq!(state.clocks().unwrap(), "1980 MHz, memory 3201 MHz");
        assert_eq!(state.power().unwrap(), "512 of 700 W");
        assert_eq!(of_line("[N/A], 3201, [N/A], inf, 41").celsius, Some(41.0));
        assert_eq!(of_line("No devices were found"), MachineState::default());
    }

    #[test]
    fn sensors_and_batteries_are_read_from_their_files() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("hwmon/hwmon3/freq1_input", "2105000000\n");
        write("hwmon/hwmon3/power1_average", "203000000\n");
        write("hwmon/hwmon3/temp1_input", "61000\n");
        let state = sensors(folder.path());
        assert_eq!((state.clock_mhz, state.watts), (Some(2105.0), Some(203.0)));
        assert_eq!(state.temperature().unwrap(), "61 °C");
        assert_eq!(sensors(&folder.path().join("hwmon")), MachineState::default());
        let power = folder.path().join("power");
        assert_eq!(supply(&power), None);
        write("power/AC/type", "Mains\n");
        assert_eq!(supply(&power).as_deref(), Some("mains"));
        write("power/BAT0/type", "Battery\n");
        write("power/BAT0/status", "Discharging\n");
        assert_eq!(supply(&power).as_deref(), Some("battery"));
    }
}
