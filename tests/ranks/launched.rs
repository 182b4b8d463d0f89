//! Ranks that a test starts, as users do.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::skip;

/// `mpirun` with this number of ranks of the program, in `folder`; `None` where there is no mpirun.
pub fn ranks(folder: &Path, count: usize) -> Option<Command> {
    let version = Command::new("mpirun").arg("--version").output();
    let Ok(version) = version else {
        skip::skipped("ranks of MPI", "there is no mpirun");
        return None;
    };
    let mut command = Command::new("mpirun");
    if String::from_utf8_lossy(&version.stdout).contains("Open MPI") {
        // More ranks than cores, as whoever owns a container.
        command.args(["--allow-run-as-root", "--oversubscribe"]);
    }
    command.args(["-n", &count.to_string(), env!("CARGO_BIN_EXE_gravitile")]);
    command.current_dir(folder).env("GRAVITILE_CACHE_DIR", "").env("RAYON_NUM_THREADS", "1");
    Some(command)
}

/// [`ranks`] of a shell, where `$rank` is each one's number and `$gravitile` the program.
pub fn ranks_by_shell(folder: &Path, count: usize, script: &str) -> Option<Command> {
    let command = ranks(folder, count)?;
    let args: Vec<_> = command.get_args().map(|arg| arg.to_owned()).collect();
    let (program, launcher) = args.split_last().unwrap();
    let mut shell = Command::new("mpirun");
    let script = format!("rank=${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}; {script}");
    shell.args(launcher).args(["sh", "-c", &script]).current_dir(folder);
    shell.env("GRAVITILE_CACHE_DIR", "").env("RAYON_NUM_THREADS", "1").env("gravitile", program);
    Some(shell)
}

pub fn texts(output: &Output) -> [String; 2] {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

/// Ranks that run beside the test. They end with it, however it ends.
pub struct Launched(Option<Child>);

impl Launched {
    pub fn new(command: &mut Command) -> Self {
        Self(Some(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()))
    }

    pub fn id(&self) -> i32 {
        self.0.as_ref().unwrap().id() as i32
    }

    /// Once this file is there.
    pub fn having_written(self, file: &Path) -> Self {
        let begun = Instant::now();
        while !file.exists() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{} should come", file.display());
            std::thread::sleep(Duration::from_millis(5));
        }
        self
    }

    /// Its end, and what was said.
    pub fn ended(mut self, within: Duration) -> Output {
        let (id, child) = (self.id(), self.0.take().unwrap());
        let waiting = std::thread::spawn(move || child.wait_with_output().unwrap());
        let begun = Instant::now();
        while !waiting.is_finished() {
            if begun.elapsed() > within {
                // SAFETY: ends a process of this test's own, which ends its ranks.
                unsafe { libc::kill(id, libc::SIGTERM) };
                panic!("it should have ended within {within:?}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        waiting.join().unwrap()
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            // SAFETY: as above.
            unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
            let _ = child.wait();
        }
    }
}

/// Whether the rank of that process, and no other, is reported to be gone, or MPICH's launcher reports that one is: it ends
/// the others before they can, and may name another process.
pub fn is_named_as_gone(said: &str, process: i32) -> bool {
    let is_silent = said.contains("BAD TERMINATION");
    let is_named = said.contains(&format!("(process {process} "));
    is_silent || (is_named && said.matches("is gone: the run ends").count() == 1)
}

/// The processes of the ranks below `launcher`: its children (Open MPI), or those of one between (MPICH).
pub fn processes(launcher: &Launched) -> Vec<i32> {
    let listed = Command::new("ps").args(["-eo", "pid,ppid,comm"]).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let all: Vec<(i32, i32, &str)> = listed
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let [pid, parent] = [words.next()?, words.next()?].map(|word| word.parse().ok());
            Some((pid?, parent?, words.next()?))
        })
        .collect();
    let parent_of = |pid: i32| all.iter().find(|one| one.0 == pid).map(|one| one.1);
    let is_below =
        |parent: i32| parent == launcher.id() || parent_of(parent) == Some(launcher.id());
    let ranks = all.iter().filter(|(_, parent, name)| *name == "gravitile" && is_below(*parent));
    let mut found: Vec<i32> = ranks.map(|one| one.0).collect();
    found.sort();
    found
}
