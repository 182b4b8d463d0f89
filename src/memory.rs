//! How much memory the process may still take, to refuse what cannot fit before it is begun: a
//! system that overcommits memory kills the process instead of failing an allocation.

use crate::error::{Error, Result};

/// Bytes per body that a scene takes at least while it is generated: 65 of the bodies themselves,
/// and some of its numbers. 4 M bodies of `plummer` peak at 78, of `galaxy-collision`, which is put
/// together from two parts, at 104 (x86-64 Linux).
pub const BODIES: u64 = 75;
/// Bytes per body that a simulation takes at least on the host: the bodies as they are read for a
/// snapshot, forces, and what the snapshot stores of these. `run plummer -n 500k --engine cpu
/// --method tree` peaks at 656 (x86-64 Linux).
pub const SIMULATION: u64 = 160;
/// Bytes per body that its force takes at least, besides the caller's arrays: a copy of position
/// and mass, both again in f32, acceleration and potential.
pub const FORCE: u64 = 32 + 16 + 32;

/// Checks that `n` bodies of `bytes_each` bytes fit into memory.
///
/// # Errors
/// Too many bodies; none if the free memory is unknown.
pub fn check_bodies(n: usize, bytes_each: u64) -> Result<()> {
    match available() {
        Some(free) if (n as u64).saturating_mul(bytes_each) > free => {
            let most = free / bytes_each;
            let allowed = format!(
                "at most {most} here: {:.1} GB of memory are free, and each takes {bytes_each} bytes or more",
                free as f64 * 1e-9
            );
            Err(Error::value("the number of bodies", n, allowed))
        }
        _ => Ok(()),
    }
}

/// Bytes that the process may still take: what the system has, and what limits of address space
/// (`ulimit -v`) and of its control group leave. `None` where that is not known.
pub fn available() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        let read = |path: &str| std::fs::read_to_string(path).ok();
        let system = read("/proc/meminfo").and_then(|text| of_system(&text));
        let limits = read("/proc/self/limits").zip(read("/proc/self/status"));
        let own = limits.and_then(|(limits, status)| of_limits(&limits, &status));
        let group = read("/proc/self/cgroup").and_then(|text| {
            let folder = text.lines().find_map(|line| line.strip_prefix("0::/"))?.to_owned();
            let number = |name: &str| {
                read(&format!("/sys/fs/cgroup/{folder}/{name}"))?.trim().parse::<u64>().ok()
            };
            // A limit of "max" is none.
            Some(number("memory.max")?.saturating_sub(number("memory.current")?))
        });
        [system, own, group].into_iter().flatten().min()
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// The number of kB in a line `name: number kB`, in bytes.
#[cfg(any(test, target_os = "linux"))]
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// What is free or can be freed, from `/proc/meminfo`.
#[cfg(any(test, target_os = "linux"))]
fn of_system(meminfo: &str) -> Option<u64> {
    Some(kilobytes(meminfo, "MemAvailable")? + kilobytes(meminfo, "SwapFree").unwrap_or(0))
}

/// What the limit of address space leaves, from `/proc/self/limits` and `/proc/self/status`.
#[cfg(any(test, target_os = "linux"))]
fn of_limits(limits: &str, status: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let soft = line.split_whitespace().next()?.parse::<u64>().ok()?;
    Some(soft.saturating_sub(kilobytes(status, "VmSize")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_parsed_from_proc() {
        let meminfo =
            "MemTotal:  2000 kB\nMemFree: 1 kB\nMemAvailable:   1000 kB\nSwapFree:  24 kB\n";
        assert_eq!(of_system(meminfo), Some(1024 * 1024));
        let status = "Name:\tgravitile\nVmSize:\t    100 kB\n";
        let limits =
            |soft: &str| format!("Limit  Soft Limit\nMax address space  {soft} unlimited bytes\n");
        assert_eq!(of_limits(&limits("204800"), status), Some(100 * 1024));
        assert_eq!(of_limits(&limits("100"), status), Some(0));
        assert_eq!(of_limits(&limits("unlimited"), status), None);
        assert_eq!(of_system("nothing of it"), None);
    }

    #[test]
    fn a_few_bodies_always_fit() {
        check_bodies(1000, SIMULATION).unwrap();
        if available().is_some() {
            let error = check_bodies(usize::MAX, BODIES).unwrap_err().to_string();
            assert!(error.contains("GB of memory are free"), "{error}");
        }
    }
}
