//! The rooms of ARCHITECTURE.md: who may know whom, held by reading the sources.

#[path = "architecture/circles.rs"]
mod circles;

use std::path::{Path, PathBuf};

/// Rooms by level, lowest first. A room may use rooms of its own level only where named below.
const LEVELS: &[&[&str]] = &[
    &["messages"],
    &["math", "error", "files", "memory", "stop", "exchange", "bodies", "units", "diagnostics"],
    &["frame", "settings"],
    &["scene", "snapshot", "gpu"],
    &["forces"],
    &["integrate", "inspect", "tuned"],
    &["sim", "measure"],
    &["input", "record", "render", "tune"],
    &["film", "live"],
    &["app", "capi"],
];

/// What the library is; other rooms are hidden from its documentation, or private.
const PUBLIC: &[&str] = &[
    "bodies",
    "diagnostics",
    "error",
    "film",
    "forces",
    "frame",
    "gpu",
    "integrate",
    "measure",
    "record",
    "render",
    "scene",
    "sim",
    "snapshot",
    "stop",
    "units",
];

/// Uses within a level.
const NEIGHBOURS: &[(&str, &str)] = &[
    ("bodies", "error"),
    ("bodies", "math"),
    ("files", "error"),
    ("memory", "error"),
    ("stop", "error"),
    ("exchange", "error"),
    ("exchange", "stop"),
    ("diagnostics", "bodies"),
    ("diagnostics", "error"),
    ("diagnostics", "math"),
    // Whole steps are measured as a simulation takes them.
    ("measure", "sim"),
];

/// Words that rooms must not contain: what they know nothing of.
const FOREIGN: &[(&str, &[&str])] = &[
    ("math", &["wgpu", "std::fs", "Instant"]),
    ("bodies", &["wgpu", "std::fs", "Instant"]),
    ("diagnostics", &["wgpu", "std::fs", "Instant"]),
    ("frame", &["wgpu", "std::fs", "Instant"]),
    ("scene", &["wgpu", "std::fs", "Instant"]),
    ("snapshot", &["wgpu", "Instant"]),
    ("record", &["wgpu"]),
    // What the user has in folders and variables is looked up by the program, and handed in.
    ("forces", &["env::", "etcetera"]),
    ("integrate", &["env::", "etcetera"]),
    ("sim", &["env::", "etcetera"]),
    ("tuned", &["env::", "etcetera"]),
    ("film", &["env::", "etcetera"]),
    ("live", &["env::", "etcetera"]),
];

/// Only the program prints, exits or uses anyhow.
const ONLY_APP: &[&str] = &["println!", "eprintln!", "process::exit", "anyhow"];

/// Only the kit of `gpu/` calls these.
const ONLY_KIT: &[&str] = &[
    ".create_bind_group(",
    ".create_bind_group_layout(",
    ".create_compute_pipeline(",
    ".create_render_pipeline(",
];

/// Rooms whose structs are options of the command line.
const CLAP: &[&str] = &["app", "settings"];

fn sources() -> Vec<(String, PathBuf, String)> {
    fn visit(folder: &Path, into: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                visit(&path, into);
            } else if path.extension().is_some_and(|e| e == "rs") {
                into.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    visit(&root, &mut files);
    files.sort();
    let room = |path: &Path| {
        let first = path.strip_prefix(&root).unwrap().components().next().unwrap();
        first.as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned()
    };
    files
        .into_iter()
        .map(|path| (room(&path), path.clone(), std::fs::read_to_string(&path).unwrap()))
        .collect()
}

/// The part of a file before its tests, without comments.
fn code(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len());
    text[..end]
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

fn level(room: &str) -> Option<usize> {
    LEVELS.iter().position(|rooms| rooms.contains(&room))
}

/// Rooms that a file names after `crate::`, braces included.
fn used(code: &str) -> Vec<String> {
    let mut rooms = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let group =
            rest.strip_prefix('{').map_or(rest, |inner| inner.split('}').next().unwrap_or(""));
        let names = if rest.starts_with('{') { group.split(',').collect() } else { vec![rest] };
        for name in names {
            let end = name.trim().find(|c: char| !c.is_alphanumeric() && c != '_');
            let name = name.trim();
            rooms.push(name[..end.unwrap_or(name.len())].to_owned());
        }
    }
    rooms
}

#[test]
fn arrows_go_down_only() {
    let mut wrong = Vec::new();
    for (room, path, text) in sources() {
        let Some(own) = level(&room) else {
            assert!(room == "lib" || room == "main", "the room '{room}' has no level");
            continue;
        };
        for other in used(&code(&text)) {
            let Some(theirs) = level(&other) else { continue };
            let neighbour = NEIGHBOURS.contains(&(room.as_str(), other.as_str()));
            if other != room && !neighbour && theirs >= own {
                wrong.push(format!("{} uses {other}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_library_is_these_rooms() {
    let lib = sources().into_iter().find(|(room, ..)| room == "lib").unwrap().2;
    let mut shown = Vec::new();
    let mut is_hidden = false;
    for line in lib.lines() {
        is_hidden |= line == "#[doc(hidden)]";
        if let Some(name) = line.strip_prefix("pub mod ") {
            if !is_hidden {
                shown.push(name.trim_end_matches(';'));
            }
            is_hidden = false;
        }
    }
    assert_eq!(shown, PUBLIC);
}

#[test]
fn rooms_do_not_know_what_is_not_theirs() {
    let mut wrong = Vec::new();
    for (room, path, text) in sources() {
        let code = code(&text);
        for (of, words) in FOREIGN {
            for word in words.iter().filter(|word| *of == room && code.contains(**word)) {
                wrong.push(format!("{} contains {word}", path.display()));
            }
        }
        if room != "app" && room != "main" {
            for word in ONLY_APP.iter().filter(|word| code.contains(**word)) {
                wrong.push(format!("{} contains {word}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// One way to describe bindings, to make pipelines and to bind them: the kit of `gpu/`.
#[test]
fn bindings_and_pipelines_are_made_by_one_kit() {
    let mut wrong = Vec::new();
    for (room, path, text) in sources() {
        let code = code(&text);
        for word in ONLY_KIT.iter().filter(|word| room != "gpu" && code.contains(**word)) {
            wrong.push(format!("{} contains {word}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Other programs fill in the same settings, and the window and its panel are no part of the command line.
#[test]
fn the_command_line_is_asked_by_nobody() {
    let mut wrong = Vec::new();
    for (room, path, text) in sources() {
        let code = code(&text);
        if !CLAP.contains(&room.as_str()) && code.contains("clap::") {
            wrong.push(format!("{} contains clap::", path.display()));
        }
        let within = |part| path.parent().is_some_and(|folder| folder.ends_with(part));
        if ["app/window", "app/panel", "app/panel/learn"].into_iter().any(within)
            && code.contains("cli::")
        {
            wrong.push(format!("{} contains cli::", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is printed past it could be many lines, or some that a terminal obeys.
#[test]
fn the_program_prints_through_one_file() {
    let mut wrong = Vec::new();
    for (room, path, text) in sources() {
        let code = code(&text);
        for word in ["print!(", "println!(", "stderr()", "stdout()"] {
            if room == "app" && !path.ends_with("cli/print.rs") && code.contains(word) {
                wrong.push(format!("{} contains {word}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_reader_of_sources_sees_what_it_looks_for() {
    let text =
        "use crate::forces::direct::CpuSingle;\nuse crate::{gpu, sim::Clock};\n// crate::app\n";
    assert_eq!(used(&code(text)), ["forces", "gpu", "sim"]);
    assert!(sources().len() > 50);
}
