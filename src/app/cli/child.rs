//! Runs work in a separate process where a driver may crash or take all memory.

use std::ffi::OsString;
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

/// Why a child process has no result.
#[derive(Clone, Debug, PartialEq)]
pub enum Died {
    /// A signal ended it, described in words.
    Crashed(String),
    /// It took more memory than it was allowed, in bytes.
    TookMemory(u64),
}

impl std::fmt::Display for Died {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Crashed(how) => write!(f, "the driver crashed the process that used it: {how}"),
            Self::TookMemory(most) => {
                write!(f, "the driver takes more than {} GiB of memory for it", most >> 30)
            }
        }
    }
}

/// Runs this program with `arguments` and returns what it prints. Its memory may grow to `most`
/// bytes (checked only on Linux, where the system reports it).
///
/// # Errors
/// The child's own error message; the program cannot be started again.
pub fn run(arguments: &[OsString], most: Option<u64>) -> Result<Result<String, Died>> {
    let program = std::env::current_exe().context("cannot find the program's own executable")?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(target_os = "linux")]
    end_with_parent(&mut command);
    let mut child = command.spawn().context("cannot start the program once more")?;
    let (out, err) = (reader(child.stdout.take()), reader(child.stderr.take()));
    let (status, over) = wait(&mut child, most)?;
    let text = |reader: JoinHandle<Vec<u8>>| {
        String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned()
    };
    let (out, err) = (text(out), text(err));
    if over {
        return Ok(Err(Died::TookMemory(most.unwrap_or_default())));
    }
    if let Some(how) = signal(status) {
        return Ok(Err(Died::Crashed(how)));
    }
    // The program's own exit codes: 1 is a check that did not pass.
    match status.code() {
        Some(0 | 1) => Ok(Ok(out)),
        _ => {
            let message = err.lines().rev().find_map(|line| line.strip_prefix("gravitile: "));
            Err(anyhow!(
                "{}",
                message.unwrap_or("the program failed when it was started once more")
            ))
        }
    }
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

/// Waits for the child; true if it was ended for using too much memory.
fn wait(child: &mut Child, most: Option<u64>) -> Result<(ExitStatus, bool)> {
    let Some(most) = most else { return Ok((child.wait()?, false)) };
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((status, false));
        }
        if resident(child.id()).is_some_and(|bytes| bytes > most) {
            child.kill()?;
            return Ok((child.wait()?, true));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Bytes of memory that a process holds.
fn resident(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<String> {
    use std::os::unix::process::ExitStatusExt;
    let number = status.signal()?;
    let name = match number {
        libc::SIGFPE => "a division by zero (SIGFPE)",
        libc::SIGSEGV => "an invalid memory access (SIGSEGV)",
        libc::SIGABRT => "it aborted (SIGABRT)",
        libc::SIGILL => "an instruction that this processor lacks (SIGILL)",
        libc::SIGBUS => "an invalid memory access (SIGBUS)",
        libc::SIGKILL => "killed, perhaps for lack of memory (SIGKILL)",
        _ => return Some(format!("signal {number}")),
    };
    Some(name.to_owned())
}

#[cfg(not(unix))]
fn signal(status: ExitStatus) -> Option<String> {
    // On Windows the exit code of a crashed process is the exception's number.
    let code = status.code()? as u32;
    (code >= 0xc000_0000).then(|| format!("exception {code:#x}"))
}

/// Makes the kernel kill the child when the program that started it ends.
#[cfg(target_os = "linux")]
fn end_with_parent(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    let request_signal = || {
        // SAFETY: one system call, which is allowed between fork and exec.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        Ok(())
    };
    // SAFETY: `request_signal` allocates nothing and takes no lock.
    unsafe { command.pre_exec(request_signal) };
}

/// The program's own arguments, followed by `more`.
pub fn arguments_with(more: &[&str]) -> Vec<OsString> {
    std::env::args_os().skip(1).chain(more.iter().map(OsString::from)).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn shell(script: &str, most: Option<u64>) -> (ExitStatus, bool) {
        let mut child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        wait(&mut child, most).unwrap()
    }

    #[test]
    fn exit_code_signal_and_memory_limit_are_distinguished() {
        assert_eq!(signal(shell("exit 1", None).0), None);
        assert!(signal(shell("kill -FPE $$", None).0).unwrap().contains("SIGFPE"));
        assert!(!shell("true", Some(1 << 40)).1);
        // A shell holds more than a page.
        let (status, over) = shell("sleep 20", Some(4096));
        assert!(over && signal(status).unwrap().contains("SIGKILL"));
        assert!(resident(std::process::id()).unwrap() > 1 << 20);
        assert_eq!(resident(u32::MAX), None);
    }
}
