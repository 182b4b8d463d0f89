//! Starts ranks by `mpirun`, as users do.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::skip;

/// `mpirun` with `count` ranks of the program, in `folder`; `None` if mpirun is not installed.
pub fn ranks(folder: &Path, count: usize) -> Option<Command> {
    let version = Command::new("mpirun").arg("--version").output();
    let Ok(version) = version else {
        skip::skipped("ranks of MPI", "there is no mpirun");
        return None;
    };
    let mut command = Command::new("mpirun");
    if String::from_utf8_lossy(&version.stdout).contains("Open MPI") {
        // More ranks than cores are allowed, and root, as in a container.
        command.args(["--allow-run-as-root", "--oversubscribe"]);
    }
    command.args(["-n", &count.to_string(), env!("CARGO_BIN_EXE_gravitile")]);
    command.current_dir(folder).env("GRAVITILE_CACHE_DIR", "").env("RAYON_NUM_THREADS", "1");
    Some(command)
}

/// [`ranks`] that execute a shell script, in which `$rank` is the rank and `$gravitile` the
/// program.
pub fn mpirun_shell(folder: &Path, count: usize, script: &str) -> Option<Command> {
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

/// Ranks that run in the background; terminated on drop.
pub struct Launched(Option<Child>);

impl Launched {
    pub fn new(command: &mut Command) -> Self {
        Self(Some(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()))
    }

    pub fn id(&self) -> i32 {
        self.0.as_ref().unwrap().id() as i32
    }

    /// Waits until the file exists, 60 s at most.
    pub fn wait_for_file(self, file: &Path) -> Self {
        let start = Instant::now();
        while !file.exists() {
            assert!(start.elapsed() < Duration::from_secs(60), "{} should come", file.display());
            std::thread::sleep(Duration::from_millis(5));
        }
        self
    }

    /// Waits for the end and returns the output. Panics after `within`.
    pub fn wait_for_exit(mut self, within: Duration) -> Output {
        let (id, child) = (self.id(), self.0.take().unwrap());
        let waiting = std::thread::spawn(move || child.wait_with_output().unwrap());
        let start = Instant::now();
        while !waiting.is_finished() {
            if start.elapsed() > within {
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

/// Whether the output reports that this rank process, and no other, is gone. MPICH's launcher may
/// end the other ranks before they can report it, and may name another process: its own report
/// counts, too.
pub fn reports_dead_rank(text: &str, process: i32) -> bool {
    let mpich_reports = text.contains("BAD TERMINATION");
    let is_named = text.contains(&format!("(process {process} "));
    mpich_reports || (is_named && text.matches("is gone: the run ends").count() == 1)
}

/// The process ids of the ranks: children of the launcher (Open MPI) or its grandchildren (MPICH).
pub fn rank_processes(launcher: &Launched) -> Vec<i32> {
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
