//! The varying state of a machine: clocks, power, temperature, and whether it runs on battery.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::gpu::AdapterInfo;

/// The state at one time; `None` for anything the system does not report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct State {
    /// Clock of the adapter's compute units, in MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_mhz: Option<f64>,
    /// Clock of its memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mhz: Option<f64>,
    /// Power drawn, in watts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watts: Option<f64>,
    /// Power limit, in watts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_watts: Option<f64>,
    /// Its temperature in degrees Celsius.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub celsius: Option<f64>,
    /// `mains`, or `battery`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supply: Option<String>,
}

impl State {
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
fn query_nvidia_smi(place: &str) -> Option<State> {
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
fn of_line(line: &str) -> State {
    let mut numbers = line.trim().split(',').map(|field| known(field.trim().parse().ok()));
    let mut next = || numbers.next().flatten();
    State {
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
fn sensors(device: &Path) -> State {
    let hwmon: Option<PathBuf> = std::fs::read_dir(device.join("hwmon"))
        .ok()
        .and_then(|found| found.flatten().map(|entry| entry.path()).next());
    let Some(hwmon) = hwmon else { return State::default() };
    let read = |name: &str, unit: f64| {
        let text = std::fs::read_to_string(hwmon.join(name)).ok()?;
        known(text.trim().parse::<f64>().ok().map(|value| value / unit))
    };
    State {
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
mod tests {
    use super::*;

    #[test]
    fn nvidia_smi_line_parses_and_unknown_values_are_omitted() {
        let state = of_line("1980, 3201, 512.30, 700.00, 41\n");
        assert_eq!(state.clocks().unwrap(), "1980 MHz, memory 3201 MHz");
        assert_eq!(state.power().unwrap(), "512 of 700 W");
        assert_eq!(of_line("[N/A], 3201, [N/A], inf, 41").celsius, Some(41.0));
        assert_eq!(of_line("No devices were found"), State::default());
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
        assert_eq!(sensors(&folder.path().join("hwmon")), State::default());
        let power = folder.path().join("power");
        assert_eq!(supply(&power), None);
        write("power/AC/type", "Mains\n");
        assert_eq!(supply(&power).as_deref(), Some("mains"));
        write("power/BAT0/type", "Battery\n");
        write("power/BAT0/status", "Discharging\n");
        assert_eq!(supply(&power).as_deref(), Some("battery"));
    }
}
