//! Messages to the user: one line of printable characters, whatever files and arguments contain,
//! and no output of libraries.

use crate::program;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use gravitile::messages::{LINE, shows};

fn program() -> Command {
    let mut command = program::program();
    command.env_remove("RUST_LOG").env_remove("XDG_RUNTIME_DIR");
    command
}

fn gravitile(arguments: &[&str]) -> Output {
    program().args(arguments).output().expect("it should start")
}

/// The output as text. Asserts that each line is printable and at most [`LINE`] characters long.
fn printable_text(bytes: &[u8]) -> String {
    let text = String::from_utf8(bytes.to_vec()).expect("it should be UTF-8");
    for line in text.lines() {
        assert!(line.chars().all(shows), "{line:?}");
        assert!(line.chars().count() <= LINE, "{} characters: {line}", line.chars().count());
    }
    text
}

/// Expects exit code 2 and one printable line on standard error that contains all `words`; returns
/// it.
fn assert_refused(arguments: &[&str], words: &[&str]) -> String {
    let output = gravitile(arguments);
    let error = printable_text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.starts_with("gravitile: ") && error.ends_with('\n'), "{error}");
    for word in words {
        assert!(error.contains(word), "should say '{word}': {error}");
    }
    error
}

/// Expects exit code 0 and nothing but notes about assumptions on standard error; returns standard
/// output.
fn assert_succeeds(arguments: &[&str]) -> String {
    let output = gravitile(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", printable_text(&output.stderr));
    let notes = printable_text(&output.stderr);
    let is_note = |line: &str| line.contains("assumed") || line.contains("taken as");
    assert!(notes.lines().all(is_note), "{arguments:?}: {notes}");
    printable_text(&output.stdout)
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn with(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), content).unwrap();
        self.text(name)
    }
}

const NAMES: &str = "m,x,y,z,vx,vy,vz";
const ROWS: &str = "1,0,0,0,0,0,0\n1,1,0,0,0,1,0\n";

#[test]
fn unclosed_quote_is_reported_in_one_line() {
    let folder = Folder::new();
    let rows = "0.1,1,2,3,4,5,6\n".repeat(100_000);
    let csv = folder.with("a.csv", format!("m,x,\"y,z,vx,vy,vz\n{rows}"));
    assert_refused(
        &["convert", &csv, &folder.text("b.gvt")],
        &["a.csv: line 1", "closing", "missing"],
    );
    let text = folder.with("a.txt", format!("m x \"y z vx vy vz\n{}", rows.replace(',', " ")));
    assert_refused(
        &["convert", &text, &folder.text("b.gvt")],
        &["a.txt: line 1", "z vx vy vz are missing"],
    );
    assert!(!folder.path("b.gvt").exists());
}

#[test]
fn long_fields_are_shortened_to_both_ends() {
    let folder = Folder::new();
    let long = format!("begin{}end", "x".repeat(5000));
    for (name, content) in [
        ("field.csv", format!("{NAMES}\n1,{long},0,0,0,0,0\n")),
        ("name.csv", format!("{NAMES},{long},{long}\n{ROWS}")),
        ("meta.csv", format!("#: time = {long}\n{NAMES}\n{ROWS}")),
    ] {
        let path = folder.with(name, content);
        assert_refused(
            &["convert", &path, &folder.text("b.gvt")],
            &[name, "line ", "'begin", "end'"],
        );
    }
    let scene = folder.with("a.toml", format!("generator = \"{long}\"\n"));
    assert_refused(&["forces", &scene], &["line 1", "'begin", "end'", "known are"]);
    let scene = folder.with("a.toml", format!("generator = \"plummer\"\n{long} = 1\n"));
    assert_refused(&["forces", &scene], &["line 2", "unknown field"]);
    assert_refused(&["forces", "plummer", "--engine", &long], &["'begin", "end'", "known are"]);
    assert_refused(&["forces", &long], &["'begin", "end'", "known are"]);
    assert_refused(&["forces", "plummer", &format!("--{long}")], &["unexpected argument '--begin"]);
}

#[test]
fn typing_errors_get_the_name_that_was_meant() {
    let folder = Folder::new();
    for (text, words) in [
        ("[run]\nsofening = 1", ["line 3", "`sofening` (did you mean 'softening'?), expected"]),
        ("[units]\nlength = \"kpcs\"", ["line 3", "no unit named 'kpcs' (did you mean 'kpc'?)"]),
        ("[units]\nmass = \"1e10 Msunn\"", ["line 3", "'Msunn' (did you mean 'Msun'?)"]),
        ("[[field]]\npotential = \"nwf\"", ["line 3", "'nwf' (did you mean 'nfw'?)"]),
        ("[[field]]\npotential = \"nfw\"\nscle = 1", ["line 2", "'scle' (did you mean 'scale'?)"]),
    ] {
        let scene = folder.with("a.toml", format!("generator = \"plummer\"\n{text}\n"));
        assert_refused(&["forces", &scene], &words);
    }
    // A unit that is like none has its own name.
    let own = folder.with("a.toml", "generator = \"plummer\"\n[units]\nlength = \"fathom\"\n");
    let output = gravitile(&["forces", &own, "-n", "10"]);
    assert!(output.status.success(), "{}", printable_text(&output.stderr));
    assert_refused(&["forces", "plummer", "--field", "nfw:scle=1"], &["did you mean 'scale'?"]);
    let to = ["convert", "plummer", &folder.text("a"), "--to", "tispy-be"];
    assert_refused(&to, &["named 'tispy' (did you mean 'tipsy'?)"]);
}

#[test]
fn a_dash_is_no_output_and_help_names_no_option_without_effect() {
    for arguments in [
        &["forces", "plummer", "-n", "9", "--out", "-"][..],
        &["convert", "plummer", "-", "--to", "csv"],
        &["render", "plummer", "--out", "-"],
        &["run", "plummer", "--out", "-"],
        &["shader", "all-pairs", "--out", "-"],
        &["analyse", "a.gvt", "--out", "-"],
        &["bench", "--no-gpu", "--out", "-"],
    ] {
        assert_refused(arguments, &["-: must be the name of a file"]);
    }
    for command in ["forces", "analyse"] {
        let help = printable_text(&gravitile(&[command, "--help"]).stdout);
        assert!(!help.contains("--devices"), "{help}");
    }
    let shared = ["forces", "plummer", "-n", "9", "--devices", "2"];
    assert_refused(&shared, &["--devices is 2, but must be 1 here"]);
}

#[test]
fn terminal_control_characters_are_escaped() {
    let folder = Folder::new();
    // Clears the screen; sets the title; right-to-left override; zero-width space; C1 control.
    let controls = "\x1b[2J\x1b]0;t\x07\u{202e}di\u{200b}sk\u{9b}";
    let escaped = "\\u{1b}[2J";
    let path = folder.with("a.csv", format!("{NAMES}\n1,{controls},0,0,0,0,0\n"));
    assert_refused(
        &["convert", "--from", "csv", &path, &folder.text("b.gvt")],
        &[escaped, "\\u{202e}"],
    );
    assert_refused(
        &["convert", "--from", "csv", &folder.text(controls), "b.gvt"],
        &[escaped, "cannot read"],
    );
    assert_refused(&["forces", "plummer", "--adapter", controls, "--engine", "gpu"], &[escaped]);
    // In unknown options clap itself drops escape sequences.
    assert_refused(&["forces", "plummer", &format!("--{controls}")], &["'--", "\\u{202e}"]);
    assert_refused(&["forces", controls], &[escaped]);
    assert_refused(&["forces", "plummer", "-n", controls], &["\\u{202e}"]);
    // In the output of a successful command.
    let table = format!(
        "#: attribute.a{controls} = 1\n#: component.{controls} = disk\nm,x,y,z,vx,vy,vz,q{controls}\n\
         1,0,0,0,0,0,0,1\n1,1,0,0,0,1,0,1\n"
    );
    let path = folder.with("b.csv", table);
    let stdout = assert_succeeds(&["convert", "--from", "csv", &path, &folder.text("b.tipsy")]);
    assert!(stdout.contains("attributes cannot be held: a\\u{1b}[2J"), "{stdout}");
    assert!(stdout.contains("columns cannot be held: q\\u{1b}[2J"), "{stdout}");
    let stdout =
        assert_succeeds(&["convert", "--json", "--from", "csv", &path, &folder.text("c.tipsy")]);
    let parsed: serde_json::Value = serde_json::from_str(&stdout).expect("it should be JSON");
    assert!(parsed["losses"].to_string().contains("u{1b}"), "{stdout}");
}

#[test]
fn argument_errors_take_one_line() {
    assert_refused(&["run", "plummer"], &["not provided: --out <DIR>", "gravitile run --help"]);
    assert_refused(&["forcse"], &["'forcse'", "'forces'", "gravitile --help"]);
    assert_refused(&["run", "plummer", "--ou", "a"], &["'--ou'", "'--out'"]);
    assert_refused(&["render", "plummer", "--size", "big"], &["'big'", "WIDTHxHEIGHT"]);
    assert_refused(&["bench", "--figure", "nothing"], &["nothing"]);
    assert_refused(&["forces", "plummer", "a", "b"], &["unexpected argument 'a'"]);
    // Help and version are printed as usual.
    assert!(assert_succeeds(&["run", "--help"]).lines().count() > 20);
    assert!(assert_succeeds(&["--version"]).starts_with("gravitile "));
}

#[test]
fn system_error_reason_appears_once() {
    let folder = Folder::new();
    let file = folder.with("file", "x");
    let engine = ["--engine", "reference", "--until", "1"];
    let mut run = vec!["run", "two-body", "--out", &file];
    run.extend(engine);
    let error = assert_refused(&run, &["cannot create the folder"]);
    assert_eq!(error.matches("os error").count(), 1, "{error}");
    let missing = ["convert", &folder.text("none.csv"), "b.csv", "--from", "csv"];
    let error = assert_refused(&missing, &["cannot read"]);
    assert_eq!(error.matches("No such file").count(), 1, "{error}");
}

#[test]
fn long_paths_and_numbers_are_shortened_in_the_middle() {
    let folder = Folder::new();
    let deep = folder.path(&"deep/".repeat(150));
    assert_refused(
        &["forces", &deep.join("last.csv").display().to_string()],
        &["last.csv: there is no"],
    );
    let error = assert_refused(&["forces", "two-body", "--eps=-1e300"], &["-1e300"]);
    assert!(error.len() < 120, "{error}");
    let path = folder.with("a.csv", format!("{NAMES}\n1,1e300,0,0,0,0,0\n1,0,0,0,0,0,0\n"));
    assert_refused(&["convert", &path, &folder.text("b.tipsy")], &["1e300"]);
}

/// With XDG_RUNTIME_DIR unset, and set to something that is no folder.
#[test]
fn libraries_on_the_way_to_the_drivers_are_silent() {
    let silent = |command: &mut Command| {
        let output = command.output().expect("it should start");
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{}",
            printable_text(&output.stderr)
        );
    };
    for place in [None, Some(""), Some("nowhere"), Some("/does/not/exist")] {
        let set = |command: &mut Command| match place {
            Some(place) => drop(command.env("XDG_RUNTIME_DIR", place)),
            None => drop(command.env_remove("XDG_RUNTIME_DIR")),
        };
        let mut info = program();
        set(&mut info);
        silent(info.arg("info"));
        // The library in a program without logging setup: this test executable.
        let mut library = Command::new(std::env::current_exe().unwrap());
        set(&mut library);
        silent(library.args(["--exact", "opens_the_device", "--ignored", "--nocapture"]));
    }
}

#[test]
#[ignore = "part of libraries_on_the_way_to_the_drivers_are_silent"]
fn opens_the_device() {
    let request = gravitile::gpu::AdapterRequest::default();
    assert!(!pollster::block_on(gravitile::gpu::adapters()).is_empty());
    gravitile::gpu::Gpu::open_blocking(&request).unwrap();
}

#[test]
fn invalid_ids_are_accepted_with_renumber() {
    let folder = Folder::new();
    let nbabel = folder.with("a.txt", "-1 0.5 0 0 0 0 0 0\n-1 0.5 1 0 0 0 1 0\n");
    let missing = folder.with("b.csv", format!("id,{NAMES}\n,1,0,0,0,0,0,0\n,1,1,0,0,0,1,0\n"));
    let fraction =
        folder.with("c.csv", format!("id,{NAMES}\n0.5,1,0,0,0,0,0,0\nx,1,1,0,0,0,1,0\n"));
    for (input, shown) in [(&nbabel, "'-1'"), (&missing, "''"), (&fraction, "'0.5'")] {
        let out = folder.text("out.csv");
        assert_refused(&["convert", input, &out], &["column 1 (id)", shown, "--renumber"]);
        assert_refused(&["forces", input, "--engine", "reference"], &["--renumber"]);
        assert_succeeds(&["convert", input, &out, "--renumber"]);
        let table = fs::read_to_string(&out).unwrap();
        let ids: Vec<_> = table.lines().filter(|l| !l.starts_with('#')).skip(1).collect();
        assert!(ids.len() == 2 && ids[0].starts_with("0,") && ids[1].starts_with("1,"), "{table}");
        fs::remove_file(&out).unwrap();
    }
    // --renumber works with every command that reads a snapshot.
    let forces = folder.text("f.csv");
    assert_succeeds(&["forces", &nbabel, "--renumber", "--engine", "reference", "--out", &forces]);
    assert!(fs::read_to_string(&forces).unwrap().contains("\n1,"));
    let run = folder.text("run");
    let steps = ["--dt", "0.25", "--until", "0.5", "--engine", "reference"];
    let mut arguments = vec!["run", &nbabel, "--renumber", "--out", &run];
    arguments.extend(steps);
    assert_succeeds(&arguments);
    let picture = folder.text("a.png");
    let mut arguments = vec!["render", &nbabel, "--renumber", "--out", &picture, "--size", "64x64"];
    arguments.extend(["--engine", "reference"]);
    assert_succeeds(&arguments);
    // Scenes always renumber their parts.
    folder.with("s.toml", "[[part]]\nfile = \"a.txt\"\n");
    let scene = fs::canonicalize(folder.path("s.toml")).unwrap();
    let mut inside = program();
    let output = inside
        .current_dir(scene.parent().unwrap())
        .args(["forces", "s.toml", "--engine", "reference"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", printable_text(&output.stderr));
    assert_refused(&["forces", "plummer", "--renumber"], &["--renumber", "left out"]);
}

#[test]
fn renumber_replaces_valid_ids_in_every_format() {
    let folder = Folder::new();
    let ids =
        |path: &str| -> Vec<u64> { gravitile::snapshot::read(Path::new(path)).unwrap().bodies.id };
    let input = folder.with("a.csv", format!("id,{NAMES}\n7,1,0,0,0,0,0,0\n9,1,1,0,0,0,1,0\n"));
    for format in ["gadget1", "gadget2-id64", "gravitile", "csv"] {
        let (kept, new) =
            (folder.text(&format!("{format}.kept")), folder.text(&format!("{format}.new")));
        assert_succeeds(&["convert", &input, &kept, "--to", format]);
        assert_eq!(ids(&kept), [7, 9]);
        assert_succeeds(&["convert", &kept, &new, "--to", format, "--renumber"]);
        assert_eq!(ids(&new), [0, 1]);
    }
    // A GADGET file without ids.
    let mut bytes = fs::read(folder.path("gadget2-id64.kept")).unwrap();
    let at = bytes.windows(4).position(|word| word == b"ID  ").unwrap();
    bytes[at..at + 4].copy_from_slice(b"XX  ");
    let path = folder.with("no-ids.g2", bytes);
    assert_refused(&["convert", &path, &folder.text("b.csv")], &["no block ID", "--renumber"]);
    assert_succeeds(&["convert", &path, &folder.text("b.csv"), "--renumber"]);
}

#[test]
fn hdf5_file_is_named_as_such() {
    let folder = Folder::new();
    let mut hdf5 = b"\x89HDF\r\n\x1a\n".to_vec();
    hdf5.resize(4096, 0);
    let mut later = vec![0; 512];
    later.extend(&hdf5);
    for (name, bytes) in
        [("a.hdf5", &hdf5), ("a.gadget2", &hdf5), ("a.txt", &hdf5), ("b.h5", &later)]
    {
        let path = folder.with(name, bytes);
        let words = ["not readable as HDF5"];
        assert_refused(&["convert", &path, &folder.text("b.gvt")], &words);
        assert_refused(&["forces", &path], &words);
        let from = ["convert", "--from", "gadget2", &path, &folder.text("b.gvt")];
        assert_refused(&from, &["is not a GADGET file"]);
    }
}
