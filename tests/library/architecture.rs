//! Dependency rules between the modules ("rooms") of ARCHITECTURE.md, checked by reading the
//! sources.

mod circles;

use std::path::{Path, PathBuf};

/// Modules by level, lowest first. A module may use others of its own level only if [`NEIGHBOURS`]
/// lists the pair.
const LEVELS: &[&[&str]] = &[
    &["messages"],
    &["math", "error", "files", "memory", "stop", "exchange", "bodies", "units", "diagnostics"],
    &["analysis", "field", "frame", "settings"],
    &["scene", "snapshot", "gpu"],
    &["forces"],
    &["integrate", "inspect", "tuned"],
    &["sim", "measure"],
    &["input", "record", "render", "tune"],
    &["film", "live"],
];

/// The public API; other modules are private or `#[doc(hidden)]`.
const PUBLIC: &[&str] = &[
    "analysis",
    "bodies",
    "diagnostics",
    "error",
    "field",
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

/// Permitted uses within a level.
const NEIGHBOURS: &[(&str, &str)] = &[
    ("bodies", "error"),
    ("bodies", "math"),
    ("files", "error"),
    ("math", "error"),
    ("memory", "error"),
    ("stop", "error"),
    ("exchange", "error"),
    ("exchange", "math"),
    ("exchange", "stop"),
    ("diagnostics", "bodies"),
    ("diagnostics", "error"),
    ("diagnostics", "math"),
    // Requests name potentials.
    ("settings", "field"),
    // Benchmarks of whole steps run a simulation.
    ("measure", "sim"),
];

/// Words that must not occur in a module: APIs that it must not depend on.
const FOREIGN: &[(&str, &[&str])] = &[
    ("math", &["wgpu", "std::fs", "Instant"]),
    ("bodies", &["wgpu", "std::fs", "Instant"]),
    ("analysis", &["wgpu", "std::fs", "Instant"]),
    ("diagnostics", &["wgpu", "std::fs", "Instant"]),
    ("field", &["wgpu", "std::fs", "Instant"]),
    ("frame", &["wgpu", "std::fs", "Instant"]),
    ("scene", &["wgpu", "std::fs", "Instant"]),
    ("snapshot", &["wgpu", "Instant"]),
    ("record", &["wgpu"]),
    // Folders and environment variables of the user are read by `app` and passed in.
    ("forces", &["env::", "etcetera"]),
    ("integrate", &["env::", "etcetera"]),
    ("sim", &["env::", "etcetera"]),
    ("tuned", &["env::", "etcetera"]),
    ("film", &["env::", "etcetera"]),
    ("live", &["env::", "etcetera"]),
];

/// Only `app` and `main` print, exit or use anyhow.
const ONLY_APP: &[&str] = &["println!", "eprintln!", "process::exit", "anyhow"];

/// Calls that only `gpu/` may make.
const ONLY_KIT: &[&str] = &[
    ".create_bind_group(",
    ".create_bind_group_layout(",
    ".create_compute_pipeline(",
    ".create_render_pipeline(",
];

/// Modules whose structs are command line options.
const CLAP: &[&str] = &["app", "settings"];

fn sources() -> Vec<(String, PathBuf, String)> {
    fn visit(folder: &Path, into: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                visit(&path, into);
            } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("build.rs") {
                into.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    visit(&root, &mut files);
    files.sort();
    let module = |path: &Path| {
        let first = path.strip_prefix(&root).unwrap().components().next().unwrap();
        first.as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned()
    };
    files
        .into_iter()
        .map(|path| (module(&path), path.clone(), std::fs::read_to_string(&path).unwrap()))
        .collect()
}

/// A file's code before its test module, without comments.
fn code(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len());
    text[..end]
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

fn level(module: &str) -> Option<usize> {
    LEVELS.iter().position(|modules| modules.contains(&module))
}

/// Modules that a file names after `crate::`, including those in braces.
fn used(code: &str) -> Vec<String> {
    let mut modules = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let group =
            rest.strip_prefix('{').map_or(rest, |inner| inner.split('}').next().unwrap_or(""));
        let names = if rest.starts_with('{') { group.split(',').collect() } else { vec![rest] };
        for name in names {
            let end = name.trim().find(|c: char| !c.is_alphanumeric() && c != '_');
            let name = name.trim();
            modules.push(name[..end.unwrap_or(name.len())].to_owned());
        }
    }
    modules
}

#[test]
fn modules_depend_on_lower_levels_only() {
    let mut wrong = Vec::new();
    for (module, path, text) in sources() {
        // Crates of their own, whose dependencies Cargo checks.
        if ["app", "capi", "lesson"].contains(&module.as_str()) {
            continue;
        }
        let Some(own) = level(&module) else {
            assert!(module == "lib", "the module '{module}' has no level");
            continue;
        };
        for other in used(&code(&text)) {
            let Some(theirs) = level(&other) else { continue };
            let neighbour = NEIGHBOURS.contains(&(module.as_str(), other.as_str()));
            if other != module && !neighbour && theirs >= own {
                wrong.push(format!("{} uses {other}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn public_modules_are_the_listed_ones() {
    let lib = sources().into_iter().find(|(module, ..)| module == "lib").unwrap().2;
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
fn modules_contain_no_forbidden_words() {
    let mut wrong = Vec::new();
    for (module, path, text) in sources() {
        let code = code(&text);
        for (of, words) in FOREIGN {
            for word in words.iter().filter(|word| *of == module && code.contains(**word)) {
                wrong.push(format!("{} contains {word}", path.display()));
            }
        }
        if module != "app" {
            for word in ONLY_APP.iter().filter(|word| code.contains(**word)) {
                wrong.push(format!("{} contains {word}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Bindings and pipelines are described, created and bound by the helpers of `gpu/` alone.
#[test]
fn only_gpu_module_creates_bindings_and_pipelines() {
    let mut wrong = Vec::new();
    for (module, path, text) in sources() {
        let code = code(&text);
        for word in ONLY_KIT.iter().filter(|word| module != "gpu" && code.contains(**word)) {
            wrong.push(format!("{} contains {word}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Other programs fill in the same settings without clap; the window and its panel do not use the
/// command line.
#[test]
fn command_line_is_used_by_its_own_modules_only() {
    let mut wrong = Vec::new();
    for (module, path, text) in sources() {
        let code = code(&text);
        if !CLAP.contains(&module.as_str()) && code.contains("clap::") {
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

/// `cli/print.rs` escapes line breaks and control characters; direct printing would bypass it.
#[test]
fn program_prints_through_one_file() {
    let mut wrong = Vec::new();
    for (module, path, text) in sources() {
        let code = code(&text);
        for word in ["print!(", "println!(", "stderr()", "stdout()"] {
            if module == "app" && !path.ends_with("cli/print.rs") && code.contains(word) {
                wrong.push(format!("{} contains {word}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn source_reader_finds_imports() {
    let text =
        "use crate::forces::direct::CpuSingle;\nuse crate::{gpu, sim::Clock};\n// crate::app\n";
    assert_eq!(used(&code(text)), ["forces", "gpu", "sim"]);
    assert!(sources().len() > 50);
}
