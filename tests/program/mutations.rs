//! Fuzzing with thousands of mutated files of every kind, each determined by its number: no panic,
//! no hang, no allocation by unverified counts, and only one-line errors; accepted files yield
//! valid data.
//!
//! `GRAVITILE_MUTANTS` is the number of mutants of each kind (default 2,000; `script/test --long`
//! uses 50,000). `GRAVITILE_MUTANT=77` tries only mutant 77.

use crate::common::kinds;

mod mutator;
mod parts;
mod programs;
mod runs;
mod scenes;
mod watch;

use glam::DVec3;
use gravitile::bodies::Bodies;
use gravitile::error::Error;
use gravitile::snapshot::{
    Column, FORMATS, Format, ReadOptions, Snapshot, SnapshotChoice, WriteOptions,
};
use gravitile::units::Units;

use kinds::{of_each_kind, with_columns};
use mutator::{Random, mutant, mutant_in_place, repair_gvt, repair_hdf5};
use watch::{Mutant, check_line, try_all};

fn written_as(format: &str) -> WriteOptions {
    WriteOptions { format: Some(format.into()), ..WriteOptions::default() }
}

/// Bodies of each kind, with everything that a snapshot can have except column types.
fn rich(n: usize) -> Snapshot {
    with_columns(of_each_kind(n))
}

/// [`rich`] with columns of all types.
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

/// Bodies without anything else.
fn plain() -> Snapshot {
    let mut bodies = Bodies::with_capacity(6);
    for k in 0..6 {
        bodies.push(1.0, DVec3::splat(f64::from(k)), DVec3::Y, 0);
    }
    Snapshot::new(bodies, 0.0)
}

/// Valid files of a format: several snapshots with every combination of its modifiers.
fn valid_files(format: &Format) -> Vec<Vec<u8>> {
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
        "nemo" => files.extend([
            include_bytes!("../library/snapshots/nemo/one-be.nemo").to_vec(),
            include_bytes!("../library/snapshots/nemo/series.nemo").to_vec(),
            include_bytes!("../library/snapshots/nemo/unsio.nemo").to_vec(),
        ]),
        "csv" => files.extend([
            b"1,0,0,0,0,0,0\n1,1,0,0,0,1,0\n".to_vec(),
            b"\"m\",x,y,z,vx,vy,vz,component,\"q,r\"\n1,0,0,0,0,0,0,\"disk\",\n".to_vec(),
        ]),
        "gadget-hdf5" => {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/program/hdf5/");
            let names = ["gadget4", "swift", "gizmo", "plain", "big_endian", "lzf", "latest"];
            files.extend(names.map(|name| {
                std::fs::read(format!("{folder}{name}.hdf5")).expect("it should be there")
            }));
        }
        _ => {}
    }
    files.sort();
    files.dedup();
    files
}

/// Reads a file as the program does and judges the outcome. True if it is accepted.
fn read(bytes: &[u8], format: &'static Format, options: &ReadOptions) -> Result<bool, String> {
    for format in FORMATS {
        let _ = (format.recognise)(&bytes[..bytes.len().min(64 << 10)], bytes.len() as u64);
    }
    let name = format!("some.{}", format.extensions[0]);
    judge(Snapshot::from_bytes_with(bytes, &name, options), format.name, |text| {
        text.starts_with(&name)
    })
}

/// Judges the outcome of a read: an error must name the file; a snapshot must be valid and survive
/// being rewritten.
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
            // Values beyond f32 are reported errors in f32 formats.
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
    let format = FORMATS.iter().find(|format| format.name == name).expect("it should be listed");
    let files = valid_files(format);
    println!("{name}: from {} files", files.len());
    try_all(name, |index| {
        let mut random = Random::new(name, index);
        let (original, other) = (random.of(&files).clone(), random.of(&files).clone());
        let mut bytes = match name == "gadget-hdf5" && random.below(4) > 0 {
            true => mutant_in_place(&original, &mut random),
            false => mutant(&original, &other, &mut random),
        };
        if random.below(4) > 0 {
            match name {
                "gravitile" => repair_gvt(&mut bytes),
                "gadget-hdf5" => repair_hdf5(&mut bytes),
                _ => {}
            }
        }
        let options = ReadOptions {
            format: (random.below(4) == 0).then(|| name.to_owned()),
            renumber: random.below(4) == 0,
            snapshot: match random.below(4) {
                0 if format.series.is_some() => Some(SnapshotChoice::Last),
                _ => None,
            },
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
fn gadget_hdf5() {
    try_format("gadget-hdf5");
}

#[test]
fn nemo() {
    try_format("nemo");
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
fn every_format_has_a_mutation_test() {
    let names: Vec<_> = FORMATS.iter().map(|format| format.name).collect();
    assert_eq!(
        names,
        ["gravitile", "tipsy", "gadget1", "gadget2", "gadget-hdf5", "nemo", "text", "csv"]
    );
}

#[test]
fn valid_files_are_accepted_and_mutants_are_deterministic() {
    for format in FORMATS {
        for file in valid_files(format) {
            let options = ReadOptions { renumber: true, ..ReadOptions::default() };
            assert_eq!(read(&file, format, &options), Ok(true), "{}", format.name);
        }
        let file = &valid_files(format)[0];
        let damaged = |index| mutant(file, file, &mut Random::new(format.name, index));
        assert!((0..50).all(|index| damaged(index) == damaged(index)));
        assert!((0..50).filter(|index| damaged(*index) != *file).count() > 40);
    }
}

#[test]
fn repaired_checksums_restore_the_file() {
    let format = &FORMATS[0];
    for file in valid_files(format) {
        let mut damaged = file.clone();
        // One damage in the header and one in the data of a field.
        damaged[28] ^= 1;
        let last = damaged.len() - 7;
        damaged[last] ^= 1;
        assert!(Snapshot::from_bytes(&damaged, "a").is_err());
        repair_gvt(&mut damaged);
        assert_eq!(damaged, file);
    }
}

#[test]
fn memory_line_and_panic_checks_detect_faults() {
    assert!(watch::peak(|| drop(std::hint::black_box(vec![1_u8; 1 << 20]))) >= 1 << 20);
    assert!(watch::peak(|| ()) < 1 << 10);
    for bad in ["a\nb", "\x1b[2J", "a\u{202e}b", "", &"x".repeat(401)] {
        assert!(check_line(bad).is_err());
    }
    assert!(check_line("good").is_ok());
    let is_detected = |trial: fn(&[u8]) -> Result<bool, String>| {
        let all = move || {
            try_all("judged", |_| Mutant { bytes: vec![1], trial: Box::new(trial) });
        };
        std::panic::catch_unwind(all).is_err()
    };
    assert!(is_detected(|_| panic!("on purpose")));
    assert!(is_detected(|_| Err("on purpose".into())));
    assert!(is_detected(|_| {
        std::hint::black_box(vec![1_u8; 100 << 20]);
        Ok(false)
    }));
}
