//! Thousands of damaged files of every kind that is read, each from its number alone: no panic, no hang, no
//! memory for promises, no error that is not a line; and what is accepted is sound.
//!
//! `GRAVITILE_MUTANTS=50000` tries so many of each kind (2,000 if left out; `script/test --long` tries
//! 50,000); `GRAVITILE_MUTANT=77` only that one.

#[path = "common/kinds.rs"]
mod kinds;
#[path = "mutations/mutator.rs"]
mod mutator;
#[path = "mutations/parts.rs"]
mod parts;
#[path = "common/program.rs"]
mod program;
#[path = "mutations/programs.rs"]
mod programs;
#[path = "mutations/runs.rs"]
mod runs;
#[path = "mutations/scenes.rs"]
mod scenes;
#[path = "mutations/watch.rs"]
mod watch;

use glam::DVec3;
use gravitile::bodies::Bodies;
use gravitile::error::Error;
use gravitile::snapshot::{Column, Format, ReadOptions, Snapshot, WriteOptions, formats};
use gravitile::units::Units;

use kinds::{of_each_kind, with_columns};
use mutator::{Random, mend_gvt, mutant};
use watch::{Mutant, check_line, try_all};

fn written_as(format: &str) -> WriteOptions {
    WriteOptions { format: Some(format.into()), ..WriteOptions::default() }
}

/// Bodies of each kind, with all that a snapshot can have but types of columns.
fn rich(n: usize) -> Snapshot {
    with_columns(of_each_kind(n))
}

/// With columns of all types, too.
fn typed(n: usize) -> Snapshot {
    let mut snapshot = rich(n);
    let up = || 0..n as u64;
    for (name, column) in [
        ("single", up().map(|k| k as f32 * 0.1).collect::<Column>()),
        ("PART", up().map(|k| u64::MAX - k).collect()),
        ("TAGS", up().map(|k| k as u32).collect()),
        ("sign", up().map(|k| -(k as i64)).collect()),
    ] {
        snapshot.extra.insert(name.into(), column);
    }
    snapshot
}

/// Bodies and nothing else.
fn plain() -> Snapshot {
    let mut bodies = Bodies::with_capacity(6);
    for k in 0..6 {
        bodies.push(1.0, DVec3::splat(f64::from(k)), DVec3::Y, 0);
    }
    Snapshot::new(bodies, 0.0)
}

/// Files of a format in each of its variants: every set of its modifiers, over several snapshots.
fn whole_files(format: &Format) -> Vec<Vec<u8>> {
    let mut units = rich(12);
    units.units = Units { length: "kpc".into(), mass: "Msun".into(), ..Units::gadget() };
    let mut files = Vec::new();
    for set in 0..1_u32 << format.modifiers.len() {
        let mut name = format.name.to_owned();
        for (k, modifier) in format.modifiers.iter().enumerate() {
            if set >> k & 1 == 1 {
                name += &format!("-{}", modifier.suffix);
            }
        }
        for snapshot in [&plain(), &rich(7), &typed(7), &units] {
            files.extend(snapshot.to_bytes("a", &written_as(&name)).ok().map(|(bytes, _)| bytes));
        }
    }
    match format.name {
        "text" => files.extend([
            b"# by hand\n1 0 0 0 0 0 0\n1 1 0 0 0 1 0\n".to_vec(),
            b"7 1 0 0 0 0 0 0\n8 1 1e0 1d0 0 0 1 0\n".to_vec(),
            b"id m x y z vx vy vz \"a b\"\n-1 1 0 0 0 0 0 0 nan\n".to_vec(),
            b"#: column.w = u64\nm x y z vx vy vz w\n1 0 0 0 0 0 0 18446744073709551615\n".to_vec(),
        ]),
        "csv" => files.extend([
            b"1,0,0,0,0,0,0\n1,1,0,0,0,1,0\n".to_vec(),
            b"\"m\",x,y,z,vx,vy,vz,component,\"q,r\"\n1,0,0,0,0,0,0,\"disk\",\n".to_vec(),
        ]),
        _ => {}
    }
    files.sort();
    files.dedup();
    files
}

/// Reads one, as the program does, and judges what comes of it. True if it is accepted.
fn read(bytes: &[u8], format: &'static Format, options: &ReadOptions) -> Result<bool, String> {
    for format in formats() {
        let _ = (format.recognise)(&bytes[..bytes.len().min(64 << 10)], bytes.len() as u64);
    }
    let name = format!("some.{}", format.extensions[0]);
    judge(Snapshot::from_bytes_with(bytes, &name, options), format.name, |text| {
        text.starts_with(&name)
    })
}

/// Judges what was read: an error that names the file, or a snapshot that is sound.
fn judge(
    read: Result<Snapshot, Error>,
    format: &str,
    names_file: impl Fn(&str) -> bool,
) -> Result<bool, String> {
    let snapshot = match read {
        Ok(snapshot) => snapshot,
        Err(error) => {
            let text = error.to_string();
            check_line(&format!("gravitile: {text}"))?;
            return match error {
                Error::File { .. } if names_file(&text) => Ok(false),
                _ => Err(format!("does not name the file: {text}")),
            };
        }
    };
    snapshot.validate().map_err(|error| format!("was read, but is not valid: {error}"))?;
    for written in ["gravitile", "csv", "text", format] {
        let again = snapshot.to_bytes("again", &written_as(written));
        let (bytes, losses) = match again {
            Ok(again) => again,
            // What only f64 holds has no place in formats of f32, and says so.
            Err(error) if !["gravitile", "csv", "text"].contains(&written) => {
                check_line(&error.to_string())?;
                continue;
            }
            Err(error) => return Err(format!("cannot be written as {written}: {error}")),
        };
        losses.iter().try_for_each(check_line)?;
        let back = Snapshot::from_bytes(&bytes, "again")
            .map_err(|error| format!("written as {written}, it cannot be read: {error}"))?;
        let same =
            |a: &[f64], b: &[f64]| a.iter().map(|x| x.to_bits()).eq(b.iter().map(|x| x.to_bits()));
        let exact = ["gravitile", "csv", "text"].contains(&written);
        if exact
            && !(back.bodies.id == snapshot.bodies.id
                && same(&back.bodies.mass, &snapshot.bodies.mass))
            || back.bodies.len() != snapshot.bodies.len()
        {
            return Err(format!("written as {written}, it comes back another"));
        }
    }
    Ok(true)
}

fn try_format(name: &'static str) {
    let format = formats().iter().find(|format| format.name == name).expect("it should be listed");
    let files = whole_files(format);
    println!("{name}: from {} files", files.len());
    try_all(name, |index| {
        let mut random = Random::new(name, index);
        let (original, other) = (random.of(&files).clone(), random.of(&files).clone());
        let mut bytes = mutant(&original, &other, &mut random);
        if name == "gravitile" && random.below(4) > 0 {
            mend_gvt(&mut bytes);
        }
        let options = ReadOptions {
            format: (random.below(4) == 0).then(|| name.to_owned()),
            renumber: random.below(4) == 0,
            ..ReadOptions::default()
        };
        Mutant { bytes, trial: Box::new(move |bytes| read(bytes, format, &options)) }
    });
}

#[test]
fn gravitile() {
    try_format("gravitile");
}

#[test]
fn tipsy() {
    try_format("tipsy");
}

#[test]
fn gadget1() {
    try_format("gadget1");
}

#[test]
fn gadget2() {
    try_format("gadget2");
}

#[test]
fn text() {
    try_format("text");
}

#[test]
fn csv() {
    try_format("csv");
}

#[test]
fn every_format_is_tried() {
    let names: Vec<_> = formats().iter().map(|format| format.name).collect();
    assert_eq!(names, ["gravitile", "tipsy", "gadget1", "gadget2", "text", "csv"]);
}

#[test]
fn whole_files_are_accepted_and_the_same_number_is_the_same_damage() {
    for format in formats() {
        for file in whole_files(format) {
            let options = ReadOptions { renumber: true, ..ReadOptions::default() };
            assert_eq!(read(&file, format, &options), Ok(true), "{}", format.name);
        }
        let file = &whole_files(format)[0];
        let damaged = |index| mutant(file, file, &mut Random::new(format.name, index));
        assert!((0..50).all(|index| damaged(index) == damaged(index)));
        assert!((0..50).filter(|index| damaged(*index) != *file).count() > 40);
    }
}

#[test]
fn a_mended_file_is_whole_again() {
    let format = &formats()[0];
    for file in whole_files(format) {
        let mut damaged = file.clone();
        // Within the data of a field and in the header.
        damaged[28] ^= 1;
        let last = damaged.len() - 7;
        damaged[last] ^= 1;
        assert!(Snapshot::from_bytes(&damaged, "a").is_err());
        mend_gvt(&mut damaged);
        assert_eq!(damaged, file);
    }
}

#[test]
fn the_judges_see_what_is_wrong() {
    assert!(watch::peak(|| drop(std::hint::black_box(vec![1_u8; 1 << 20]))) >= 1 << 20);
    assert!(watch::peak(|| ()) < 1 << 10);
    for bad in ["a\nb", "\x1b[2J", "a\u{202e}b", "", &"x".repeat(401)] {
        assert!(check_line(bad).is_err());
    }
    assert!(check_line("good").is_ok());
    let judged = |trial: fn(&[u8]) -> Result<bool, String>| {
        let all = move || {
            try_all("judged", |_| Mutant { bytes: vec![1], trial: Box::new(trial) });
        };
        std::panic::catch_unwind(all).is_err()
    };
    assert!(judged(|_| panic!("on purpose")));
    assert!(judged(|_| Err("on purpose".into())));
    assert!(judged(|_| {
        std::hint::black_box(vec![1_u8; 100 << 20]);
        Ok(false)
    }));
}
