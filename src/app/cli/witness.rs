//! A process beside the ranks of a machine that says which of them was killed, where nobody else can: the launcher of MPICH,
//! and those made from it, kill all others as soon as one is gone, and may name another one.
//!
//! It is split off before MPI begins, since memory that a network card reads must not be shared with a child later. It sleeps
//! until something happens, and ends with the ranks.

use std::io::{PipeReader, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};

use super::print;

/// The way to it; -1 where there is none.
static WAY: AtomicI32 = AtomicI32::new(-1);

/// Makes it, if this process's launcher is of that kind and the system has what it needs. To be called first of all, by the
/// only thread that there is.
pub fn begin() {
    if std::env::var_os("PMI_RANK").is_none() || open_process(std::process::id()).is_none() {
        return;
    }
    let Ok((told, way)) = std::io::pipe() else { return };
    // SAFETY: without other threads the new process may do whatever this one may.
    match unsafe { libc::fork() } {
        0 => {
            drop(way);
            stand_by(told)
        }
        child if child > 0 => {
            // SAFETY: waits for a child of this process's own, which ends at once.
            unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
            WAY.store(way.into_raw_fd(), Ordering::SeqCst);
        }
        _ => {}
    }
}

/// Whether there is one beside this process.
pub fn is_there() -> bool {
    WAY.load(Ordering::SeqCst) >= 0
}

/// Tells it which processes to watch, and what to say if one of them is the first to go.
pub fn watch(processes: &[(u32, String)]) {
    let way = WAY.load(Ordering::SeqCst);
    if way < 0 {
        return;
    }
    let lines: String = processes.iter().map(|(id, words)| format!("{id} {words}\n")).collect();
    // SAFETY: the descriptor stays open as long as this process.
    let mut way = std::mem::ManuallyDrop::new(unsafe { std::fs::File::from_raw_fd(way) });
    let told = [&(lines.len() as u32).to_ne_bytes()[..], lines.as_bytes()].concat();
    if let Err(error) = way.write_all(&told) {
        log::warn!("nobody will say which rank was killed: {error}");
    }
}

/// Tells it that what happens from now on is no news. May be called by a handler of signals.
pub fn end() {
    let way = WAY.load(Ordering::SeqCst);
    if way >= 0 {
        // SAFETY: writes a byte that lives meanwhile; where nobody reads it any more, that is an error and no signal.
        unsafe { libc::write(way, c".".as_ptr().cast(), 1) };
    }
}

/// What the new process does.
fn stand_by(told: PipeReader) -> ! {
    // SAFETY: in a session of its own it is not ended with the rank, and as nobody's child nobody has to wait for it.
    unsafe {
        libc::setsid();
        if libc::fork() != 0 {
            libc::_exit(0);
        }
    }
    close_all_but([libc::STDERR_FILENO, told.as_raw_fd()]);
    if let Some(words) = first_gone(told) {
        print::from_any_rank(&words);
    }
    // SAFETY: ends the process, without what the rank would have done at its end.
    unsafe { libc::_exit(0) }
}

/// Closes what was the rank's: launchers take a rank to live as long as its connections do.
fn close_all_but(kept: [i32; 2]) {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return };
    let names = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let open: Vec<i32> = names.filter(|descriptor| !kept.contains(descriptor)).collect();
    for descriptor in open {
        // SAFETY: nothing of this process uses it.
        unsafe { libc::close(descriptor) };
    }
}

/// Waits until a process that [`watch`] has named is gone; what is to be said of the first one. `None` if [`end`] came before,
/// or nothing was to be watched.
fn first_gone(mut told: PipeReader) -> Option<String> {
    let mut length = [0; 4];
    told.read_exact(&mut length).ok()?;
    let mut lines = vec![0; u32::from_ne_bytes(length) as usize];
    told.read_exact(&mut lines).ok()?;
    let lines = String::from_utf8(lines).ok()?;
    let processes: Vec<(u32, &str)> = lines
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(id, words)| Some((id.parse().ok()?, words)))
        .collect();
    // Tells of events in the order in which they came: however late this process has its turn, the first one is the first.
    // SAFETY: makes a descriptor that is this function's own.
    let events = unsafe { libc::epoll_create1(0) };
    let await_one = |descriptor: i32, of: u64| {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: of };
        // SAFETY: both are open, and the event lives meanwhile.
        unsafe { libc::epoll_ctl(events, libc::EPOLL_CTL_ADD, descriptor, &mut event) }
    };
    let mut open = Vec::with_capacity(processes.len());
    for (k, (id, words)) in processes.iter().enumerate() {
        let Some(process) = open_process(*id) else { return Some((*words).to_owned()) };
        await_one(process.as_raw_fd(), k as u64);
        open.push(process);
    }
    await_one(told.as_raw_fd(), u64::MAX);
    loop {
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: there is room for the one event that is asked for.
        match unsafe { libc::epoll_wait(events, &mut event, 1, -1) } {
            1 => {}
            _ if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {
                continue;
            }
            _ => return None,
        }
        match processes.get(event.u64 as usize) {
            Some((_, words)) => return Some((*words).to_owned()),
            None if matches!(told.read(&mut [0]), Ok(1)) => return None,
            // The rank that would have said so is gone: its own event is about to come.
            // SAFETY: takes out what was put in.
            None => unsafe {
                let none = std::ptr::null_mut();
                libc::epoll_ctl(events, libc::EPOLL_CTL_DEL, told.as_raw_fd(), none);
            },
        }
    }
}

/// A descriptor that can be read from once the process is gone; `None` if it is, or where the system has no such thing.
fn open_process(id: u32) -> Option<OwnedFd> {
    // SAFETY: asks for a descriptor, which nobody else has.
    unsafe {
        let descriptor = libc::syscall(libc::SYS_pidfd_open, id as libc::pid_t, 0);
        (descriptor >= 0).then(|| OwnedFd::from_raw_fd(descriptor as i32))
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};
    use std::time::Duration;

    use super::*;

    fn sleeper() -> Child {
        Command::new("sleep").arg("60").spawn().unwrap()
    }

    /// What [`first_gone`] says of processes after `happens`, which it is not given its turn before.
    fn said(
        children: &mut [Child],
        ends: &[u8],
        happens: impl FnOnce(&mut [Child]),
    ) -> Option<String> {
        let (told, mut way) = std::io::pipe().unwrap();
        let lines: String = children
            .iter()
            .enumerate()
            .map(|(k, child)| format!("{} rank {k}\n", child.id()))
            .collect();
        way.write_all(&(lines.len() as u32).to_ne_bytes()).unwrap();
        way.write_all(lines.as_bytes()).unwrap();
        let waiting = std::thread::spawn(move || first_gone(told));
        std::thread::sleep(Duration::from_millis(100));
        way.write_all(ends).unwrap();
        drop(way);
        happens(children);
        let said = waiting.join().unwrap();
        for child in children {
            let _ = child.kill();
            child.wait().unwrap();
        }
        said
    }

    #[test]
    fn the_first_that_is_gone_is_named_unless_it_is_over() {
        let children = || [sleeper(), sleeper(), sleeper()];
        let killed =
            |children: &mut [Child]| [1, 2, 0].iter().for_each(|k| children[*k].kill().unwrap());
        assert_eq!(said(&mut children(), b"", killed).as_deref(), Some("rank 1"));
        assert_eq!(said(&mut children(), b".", |_| ()), None);
        // Gone before it was looked at.
        let mut gone = children();
        gone[2].kill().unwrap();
        gone[2].wait().unwrap();
        assert_eq!(said(&mut gone, b"", |_| ()).as_deref(), Some("rank 2"));
    }
}
