//! No import cycles between the files of a module: each file can be read, and moved, together with
//! only those below it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{code, sources};

/// Files and folders of a module by name, with the others that each names.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// A file of a module: the components of its path below the module's folder, without `.rs`; its
/// code.
type File = (Vec<String>, String);

/// The first path component after `::`; for a group in braces, that of each member.
fn heads(rest: &str) -> Vec<String> {
    let head = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let Some(group) = rest.strip_prefix('{') else { return vec![head(rest)] };
    let (mut depth, mut begins, mut found) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                found.push(head(&group[begins..at]));
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(head(&group[begins..at]));
                begins = at + 1;
            }
            _ => {}
        }
    }
    found
}

/// What the module's `mod.rs` re-exports from its files: name and file.
fn exports(front: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for statement in front.split(';') {
        let Some(at) = statement.find("use ") else { continue };
        let mut words = statement[at + 4..]
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| !word.is_empty() && *word != "self");
        if let Some(file) = words.next() {
            found.extend(words.map(|word| (word.to_owned(), file.to_owned())));
        }
    }
    found
}

/// Names that `text` uses from `module`, which is `above` levels of `super` away.
fn taken(text: &str, module: &str, above: usize) -> Vec<String> {
    // The program and the C library are crates, whose paths begin at their own folders.
    let own = match module.split_once('/') {
        None if module == "capi" => "crate::".to_owned(),
        Some(("app", folder)) => format!("crate::{folder}::"),
        _ => format!("crate::{}::", module.replace('/', "::")),
    };
    let up = "super::".repeat(above);
    let from_above = text.match_indices(&up).filter(|(at, _)| !text[..*at].ends_with("super::"));
    let from_root = text.match_indices(&own);
    let rest = |(at, path): (usize, &str)| heads(&text[at + path.len()..]);
    from_above.chain(from_root).flat_map(rest).collect()
}

/// Which file of a module uses which.
fn uses(module: &str, files: &[File]) -> Uses {
    let front = files.iter().find(|(path, _)| *path == ["mod"]).map(|(_, text)| exports(text));
    let front = front.unwrap_or_default();
    let mut uses: Uses = files
        .iter()
        .filter(|(path, _)| *path != ["mod"])
        .map(|(path, _)| (path[0].clone(), BTreeSet::new()))
        .collect();
    for (path, text) in files.iter().filter(|(path, _)| *path != ["mod"]) {
        let above = path.iter().filter(|part| *part != "mod").count();
        for name in taken(text, module, above) {
            let file = if uses.contains_key(&name) { Some(&name) } else { front.get(&name) };
            if let Some(file) = file.filter(|file| **file != path[0] && uses.contains_key(*file)) {
                uses.get_mut(&path[0]).unwrap().insert(file.clone());
            }
        }
    }
    uses
}

/// A cycle of uses, if one exists: the first file is repeated at the end.
fn cycle(uses: &Uses) -> Option<Vec<String>> {
    fn visit(at: &str, uses: &Uses, trail: &mut Vec<String>, done: &mut BTreeSet<String>) -> bool {
        if let Some(begin) = trail.iter().position(|name| name == at) {
            trail.drain(..begin);
            trail.push(at.to_owned());
            return true;
        }
        if !done.insert(at.to_owned()) {
            return false;
        }
        trail.push(at.to_owned());
        let found = uses[at].iter().any(|next| visit(next, uses, trail, done));
        if !found {
            trail.pop();
        }
        found
    }
    let mut done = BTreeSet::new();
    uses.keys().find_map(|name| {
        let mut trail = Vec::new();
        visit(name, uses, &mut trail, &mut done).then_some(trail)
    })
}

/// All modules that are folders: those of `src`, and those of the program in `src/app`.
fn modules() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let name = |path: &Path| {
        let folder = path.strip_prefix(&root).ok()?.parent()?.to_str()?.to_owned();
        let depth = if folder.starts_with("app/") { 2 } else { 1 };
        Some(folder.split('/').take(depth).collect::<Vec<_>>().join("/"))
    };
    let found = sources().into_iter().filter_map(|(_, path, _)| name(&path));
    found.filter(|name| !name.is_empty() && name != "app").collect()
}

/// The files of a module, without tests.
fn files(module: &str) -> Vec<File> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(module);
    let part = |part: &std::path::Component| {
        part.as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned()
    };
    sources()
        .into_iter()
        .filter_map(|(_, path, text)| {
            let below = path.strip_prefix(&folder).ok()?;
            let below = if below == Path::new("lib.rs") { Path::new("mod.rs") } else { below };
            let parts: Vec<String> = below.components().map(|c| part(&c)).collect();
            (parts.last().unwrap() != "tests").then(|| (parts, code(&text)))
        })
        .collect()
}

#[test]
fn module_files_have_no_import_cycle() {
    let modules = modules();
    assert!(modules.contains("render") && modules.contains("app/window"), "{modules:?}");
    let mut found = 0;
    for module in &modules {
        let uses = uses(module, &files(module));
        found += uses.values().map(BTreeSet::len).sum::<usize>();
        assert_eq!(cycle(&uses), None, "in src/{module}");
    }
    assert!(found > 400, "only {found} uses were found");
}

#[test]
fn cycle_detection_finds_cycles() {
    let file = |path: &str, text: &str| -> File {
        (path.split('/').map(str::to_owned).collect(), text.to_owned())
    };
    let module = |of_c: &str| {
        let files = [
            file("mod", "pub mod a;\npub use a::{First, Other as Second};\npub use c::Third;"),
            file("a", "use super::b::{Inner, deep::{Far, c}};\nuse crate::gpu::c;"),
            file("b/mod", "mod deep;\nuse super::{Third, c::More};"),
            file("b/deep", "use super::super::c;\nuse super::a;"),
            file("c", of_c),
        ];
        uses("render", &files)
    };
    let clean = module("use crate::gpu;");
    let of = |name: &str| clean[name].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!((of("a"), of("b"), of("c")), (vec!["b"], vec!["c"], vec![]));
    assert_eq!(cycle(&clean), None);
    for of_c in ["use super::Second;", "let x = super::a::made();", "use crate::render::{First};"] {
        assert_eq!(cycle(&module(of_c)).unwrap(), ["a", "b", "c", "a"], "{of_c}");
    }
    let own = module("use super::b::deep::X;");
    assert_eq!(cycle(&own).unwrap().len(), 3, "{own:?}");
}
