//! No file of a room needs another that needs it: each can be read, and moved, with those below it alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{code, sources};

/// Rooms whose files know each other in one direction.
const WITHOUT_CIRCLES: &[&str] = &["render", "snapshot", "capi", "app/cli"];

/// Files and folders of a room by name, and which of the others each names.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// A file of a room: its path below the room's folder, in parts without `.rs`; its code.
type File = (Vec<String>, String);

/// Names at the head of what follows `::`, of each in a group.
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

/// What the room's `mod.rs` exports of its files: name and file.
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

/// Names that `text` takes from `room`, which is `above` levels of `super` away.
fn taken(text: &str, room: &str, above: usize) -> Vec<String> {
    let own = format!("crate::{}::", room.replace('/', "::"));
    let up = "super::".repeat(above);
    let from_above = text.match_indices(&up).filter(|(at, _)| !text[..*at].ends_with("super::"));
    let from_root = text.match_indices(&own);
    let rest = |(at, path): (usize, &str)| heads(&text[at + path.len()..]);
    from_above.chain(from_root).flat_map(rest).collect()
}

/// Which file of a room uses which.
fn uses(room: &str, files: &[File]) -> Uses {
    let front = files.iter().find(|(path, _)| *path == ["mod"]).map(|(_, text)| exports(text));
    let front = front.unwrap_or_default();
    let mut uses: Uses = files
        .iter()
        .filter(|(path, _)| *path != ["mod"])
        .map(|(path, _)| (path[0].clone(), BTreeSet::new()))
        .collect();
    for (path, text) in files.iter().filter(|(path, _)| *path != ["mod"]) {
        let above = path.iter().filter(|part| *part != "mod").count();
        for name in taken(text, room, above) {
            let file = if uses.contains_key(&name) { Some(&name) } else { front.get(&name) };
            if let Some(file) = file.filter(|file| **file != path[0] && uses.contains_key(*file)) {
                uses.get_mut(&path[0]).unwrap().insert(file.clone());
            }
        }
    }
    uses
}

/// A way from a file back to itself, if there is one.
fn circle(uses: &Uses) -> Option<Vec<String>> {
    fn visit(at: &str, uses: &Uses, way: &mut Vec<String>, done: &mut BTreeSet<String>) -> bool {
        if let Some(begin) = way.iter().position(|name| name == at) {
            way.drain(..begin);
            way.push(at.to_owned());
            return true;
        }
        if !done.insert(at.to_owned()) {
            return false;
        }
        way.push(at.to_owned());
        let found = uses[at].iter().any(|next| visit(next, uses, way, done));
        if !found {
            way.pop();
        }
        found
    }
    let mut done = BTreeSet::new();
    uses.keys().find_map(|name| {
        let mut way = Vec::new();
        visit(name, uses, &mut way, &mut done).then_some(way)
    })
}

/// The files of a room, tests left out.
fn files(room: &str) -> Vec<File> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(room);
    let part = |part: &std::path::Component| {
        part.as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned()
    };
    sources()
        .into_iter()
        .filter_map(|(_, path, text)| {
            let below = path.strip_prefix(&folder).ok()?;
            let parts: Vec<String> = below.components().map(|c| part(&c)).collect();
            (parts.last().unwrap() != "tests").then(|| (parts, code(&text)))
        })
        .collect()
}

#[test]
fn files_of_a_room_stand_in_no_circle() {
    for room in WITHOUT_CIRCLES {
        let uses = uses(room, &files(room));
        assert!(uses.values().map(BTreeSet::len).sum::<usize>() > 20, "{room}: {uses:?}");
        assert_eq!(circle(&uses), None, "in src/{room}");
    }
}

#[test]
fn circles_are_seen() {
    let file = |path: &str, text: &str| -> File {
        (path.split('/').map(str::to_owned).collect(), text.to_owned())
    };
    let room = |of_c: &str| {
        let files = [
            file("mod", "pub mod a;\npub use a::{First, Other as Second};\npub use c::Third;"),
            file("a", "use super::b::{Inner, deep::{Far, c}};\nuse crate::gpu::c;"),
            file("b/mod", "mod deep;\nuse super::{Third, c::More};"),
            file("b/deep", "use super::super::c;\nuse super::a;"),
            file("c", of_c),
        ];
        uses("render", &files)
    };
    let clean = room("use crate::gpu;");
    let of = |name: &str| clean[name].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!((of("a"), of("b"), of("c")), (vec!["b"], vec!["c"], vec![]));
    assert_eq!(circle(&clean), None);
    for of_c in ["use super::Second;", "let x = super::a::made();", "use crate::render::{First};"] {
        assert_eq!(circle(&room(of_c)).unwrap(), ["a", "b", "c", "a"], "{of_c}");
    }
    let own = room("use super::b::deep::X;");
    assert_eq!(circle(&own).unwrap().len(), 3, "{own:?}");
}
