//! HDF5 snapshots: files of h5py in the layouts of other codes give the numbers that h5py reads
//! (`hdf5/make.py`), and what is written comes back.

use std::fs;
use std::path::{Path, PathBuf};

use glam::DVec3;
use gravitile::bodies::{Component, Role};
use gravitile::snapshot::{
    Column, ReadOptions, Snapshot, SnapshotSource, WriteOptions, read, read_with, write,
};
use gravitile::units::Units;

use crate::common::kinds::{of_each_kind, with_columns};
use crate::program;

/// A file made by h5py.
fn made(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/program/hdf5").join(name)
}

/// id, mass, position, velocity and type of each body according to h5py.
fn expected(name: &str) -> Vec<(u64, [f64; 7], usize)> {
    let mut table = csv::Reader::from_path(made(&format!("{name}.csv"))).unwrap();
    let row = |row: csv::StringRecord| {
        let number = |k: usize| row[k].parse::<f64>().unwrap();
        (row[0].parse().unwrap(), [1, 2, 3, 4, 5, 6, 7].map(number), row[8].parse().unwrap())
    };
    table.records().map(|record| row(record.unwrap())).collect()
}

fn rows(snapshot: &Snapshot) -> Vec<(u64, [f64; 7])> {
    let bodies = &snapshot.bodies;
    (0..bodies.len())
        .map(|i| {
            let (x, v) = (bodies.position[i], bodies.velocity[i]);
            (bodies.id[i], [bodies.mass[i], x.x, x.y, x.z, v.x, v.y, v.z])
        })
        .collect()
}

/// Components by type, of GADGET's layouts and of SWIFT.
const NAMES: [[&str; 7]; 2] = [
    ["gas", "halo", "disk", "bulge", "stars", "boundary", "neutrinos"],
    ["gas", "halo", "background", "sinks", "stars", "black holes", "neutrinos"],
];

#[test]
fn files_of_other_codes_give_what_h5py_reads() {
    for name in ["gadget4", "swift", "gizmo", "plain", "big_endian", "lzf", "latest", "parts"] {
        let path =
            made(&if name == "parts" { "parts.1.hdf5".into() } else { format!("{name}.hdf5") });
        let snapshot = read(&path).unwrap();
        let wanted = expected(name);
        assert!(wanted.len() >= 24);
        let numbers: Vec<_> = wanted.iter().map(|(id, numbers, _)| (*id, *numbers)).collect();
        assert_eq!(rows(&snapshot), numbers, "{name}");
        let names = NAMES[usize::from(name == "swift")];
        for (component, (.., kind)) in snapshot.bodies.component.iter().zip(&wanted) {
            let found = &snapshot.bodies.components[*component as usize].name;
            assert_eq!(found, names[*kind], "{name}");
        }
        assert_eq!(snapshot.time, 0.25);
        let units = &snapshot.units;
        assert_eq!(units.length, "kpc", "{name}");
        assert_eq!(units.mass, "1e10 Msun", "{name}");
        assert_eq!(units.time, "0.977792222 Gyr", "{name}");
        assert!((units.gravitational_constant / 43007.1 - 1.0).abs() < 1e-3, "{name}: {units}");
        let assumed = snapshot.notes.iter().any(|note| note.contains("does not state its units"));
        assert_eq!(assumed, name == "plain", "{:?}", snapshot.notes);
    }
}

#[test]
fn bytes_and_files_read_alike() {
    let text =
        |snapshot: &Snapshot| format!("{:?}", Snapshot { notes: vec![], ..snapshot.clone() });
    for name in ["gadget4.hdf5", "lzf.hdf5", "swift.hdf5"] {
        let bytes = fs::read(made(name)).unwrap();
        let here = Snapshot::from_bytes(&bytes, name).unwrap();
        assert_eq!(text(&here), text(&read(made(name)).unwrap()));
    }
    let names = [2, 0, 1].map(|k| format!("parts.{k}.hdf5"));
    let bytes = names.each_ref().map(|name| fs::read(made(name)).unwrap());
    let parts = names.iter().zip(&bytes).map(|(name, bytes)| SnapshotSource::bytes(name, bytes));
    let here = read(SnapshotSource::parts(parts)).unwrap();
    assert_eq!(text(&here), text(&read(made("parts.hdf5")).unwrap()));
    assert_eq!(text(&here), text(&read(made("parts")).unwrap()));
    let only = ReadOptions { part: Some(2), ..ReadOptions::default() };
    assert_eq!(read_with(made("parts.0.hdf5"), &only).unwrap().bodies.len(), 36);
}

#[test]
fn other_datasets_become_columns() {
    let snapshot = read(made("gadget4.hdf5")).unwrap();
    let Column::F32(potential) = &snapshot.extra["POT"] else { panic!("{:?}", snapshot.extra) };
    assert!(potential[..24].iter().all(|phi| phi.is_nan()));
    assert!(potential[24..].iter().all(|phi| (-2.0..-1.0).contains(phi)));
    assert!(["ACCE.x", "ACCE.y", "ACCE.z"].iter().all(|name| snapshot.extra.contains_key(*name)));
    let snapshot = read(made("gizmo.hdf5")).unwrap();
    // Integers that only the gas has are f64, with NaN for the others.
    let Column::F64(generation) = &snapshot.extra["ParticleIDGenerationNumber"] else { panic!() };
    assert!((0..24).all(|i| generation[i] == i as f64) && generation[24].is_nan());
    assert_eq!(snapshot.extra.keys().filter(|name| name.starts_with("Z.")).count(), 11);
    assert!(snapshot.extra.contains_key("U"));
}

/// Asserts that reading fails with one line that contains all `words`.
fn assert_refused<'a>(source: impl Into<SnapshotSource<'a>>, words: &[&str]) {
    let text = read(source).unwrap_err().to_string();
    assert!(words.iter().all(|word| text.contains(word)) && !text.contains('\n'), "{text}");
}

#[test]
fn what_cannot_be_read_is_refused_with_what_helps() {
    assert_refused(made("zstd.hdf5"), &["PartType1/", "Zstandard", "h5repack -f GZIP=4 IN OUT"]);
    assert_refused(made("virtual.hdf5"), &["PartType1", "virtual dataset", "other files"]);
    let folder = tempfile::tempdir().unwrap();
    for name in ["parts.0.hdf5", "parts.2.hdf5"] {
        fs::copy(made(name), folder.path().join(name)).unwrap();
    }
    let words = ["one of the 3 files", "parts.1.hdf5 is not there"];
    assert_refused(folder.path().join("parts.0.hdf5"), &words);
    fs::copy(made("gadget4.hdf5"), folder.path().join("parts.1.hdf5")).unwrap();
    let words = ["says the number of files is 1", "different snapshots"];
    assert_refused(folder.path().join("parts.0.hdf5"), &words);
}

/// The bytes of a file in which `old`, which occurs once or more, is replaced.
fn patched(name: &str, old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut bytes = fs::read(made(name)).unwrap();
    let found: Vec<_> =
        (0..bytes.len() - old.len()).filter(|&at| bytes[at..].starts_with(old)).collect();
    assert!(!found.is_empty(), "{name}");
    for at in found {
        bytes[at..at + new.len()].copy_from_slice(new);
    }
    bytes
}

#[test]
fn counts_that_disagree_with_datasets_are_refused() {
    let counts = |counts: [u64; 6]| counts.map(u64::to_le_bytes).concat();
    let with = |new: [u64; 6]| patched("gadget4.hdf5", &counts([0, 24, 0, 0, 24, 0]), &counts(new));
    let refused = |new, words: &[&str]| {
        let text = Snapshot::from_bytes(&with(new), "a").unwrap_err().to_string();
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    };
    refused([0, 25, 0, 0, 24, 0], &["PartType1/Coordinates", "[24, 3]", "25 bodies of type 1"]);
    refused([0, 24, 0, 0, 1 << 63, 0], &["PartType4/Coordinates", "9223372036854775808 bodies"]);
    refused([0, 24, 0, 0, 0, 0], &["PartType4/Coordinates", "0 bodies of type 4"]);
    refused([7, 24, 0, 0, 24, 0], &["no group PartType0", "7 bodies of type 0 (gas)"]);
    let masses = [0.0, 0.125, 0.0].map(f64::to_le_bytes).concat();
    let without = patched("gadget4.hdf5", &masses, &[0; 24]);
    let text = Snapshot::from_bytes(&without, "a").unwrap_err().to_string();
    assert!(text.contains("no PartType1/Masses") && text.contains("MassTable"), "{text}");
    let nan = patched("gadget4.hdf5", &0.25_f64.to_le_bytes(), &f64::NAN.to_le_bytes());
    let text = Snapshot::from_bytes(&nan, "a").unwrap_err().to_string();
    assert!(text.contains("the time is NaN"), "{text}");
}

#[test]
fn expanding_universes_are_refused_or_become_physical() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["comoving", "swift_comoving"] {
        let path = made(&format!("{name}.hdf5"));
        let path = path.to_str().unwrap();
        let forces = |more: &[&str]| {
            let mut command = program::program();
            command.args(["forces", path, "--engine", "cpu", "--eps", "1"]).args(more);
            let output = command.current_dir(&folder).output().unwrap();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (output.status.success(), text(&output.stderr))
        };
        let (succeeded, text) = forces(&[]);
        assert!(!succeeded && text.contains("expanding universe"), "{text}");
        let (succeeded, text) = forces(&["--isolated"]);
        assert!(succeeded && text.contains("physical ones at a = 0.5"), "{text}");
        let snapshot = read(path).unwrap();
        assert_eq!((snapshot.time, snapshot.number("redshift")), (0.5, Some(1.0)));
        assert_eq!(snapshot.number("omega_0"), Some(0.3));
        // SWIFT's velocities are a dx/dt, GADGET's and the snapshot's sqrt(a) dx/dt.
        let is_swift = name == "swift_comoving";
        let factor = if is_swift { 1.0 / 0.5_f64.sqrt() } else { 1.0 };
        for ((_, found), (_, wanted, _)) in rows(&snapshot).iter().zip(expected(name)) {
            assert_eq!(found[..4], wanted[..4]);
            let wanted = [4, 5, 6].map(|k| wanted[k] * factor);
            assert_eq!(found[4..], wanted);
        }
        // GADGET's units are divided by h = 0.7.
        assert_eq!(snapshot.units.length, if is_swift { "kpc" } else { "1.42857143 kpc" });
        // Writing keeps what is read.
        let raw =
            WriteOptions { format: Some("gadget-hdf5-raw".into()), ..WriteOptions::default() };
        let (bytes, losses) = snapshot.to_bytes("b.hdf5", &raw).unwrap();
        let back = Snapshot::from_bytes(&bytes, "b").unwrap();
        assert_eq!((back.time, &back.units), (snapshot.time, &snapshot.units));
        assert_eq!(back.attributes, snapshot.attributes);
        // SWIFT's types are written as others, in another order.
        assert!(is_swift || (losses.is_empty() && back == snapshot), "{losses}");
    }
}

/// Everything that a snapshot can have.
fn rich() -> Snapshot {
    let mut snapshot = with_columns(of_each_kind(40));
    let n = snapshot.bodies.len() as u64;
    snapshot.bodies.id[3] = u64::MAX;
    snapshot.bodies.position[5] = DVec3::new(1.0 / 3.0, 1e300, -0.0);
    snapshot.bodies.components.push(Component::new("Größe 2\u{1b}", Role::Disk));
    snapshot.bodies.component[2] = 6;
    snapshot.units = Units { length: "3 cubits".into(), ..Units::default() };
    snapshot.attributes.insert("long".into(), "x".repeat(50_000));
    snapshot.attributes.insert("empty".into(), String::new());
    for (name, column) in [
        ("single", (0..n).map(|k| k as f32 * 0.1).collect::<Column>()),
        ("PART", (0..n).map(|k| u64::MAX - k).collect()),
        ("TAGS", (0..n).map(|k| k as u32).collect()),
        ("sign", (0..n).map(|k| -(k as i64)).collect()),
        ("ACCE.y", (0..n).map(|k| k as f64 * 5.0).collect()),
        ("ACCE.z", (0..n).map(|k| k as f64 * 6.0).collect()),
        ("odd.x", (0..n).map(|k| k as f64).collect()),
    ] {
        snapshot.extra.insert(name.into(), column);
    }
    snapshot
}

/// The snapshot with bodies in the order of ids.
fn by_id(snapshot: &Snapshot) -> Vec<String> {
    let bodies = &snapshot.bodies;
    let mut order: Vec<usize> = (0..bodies.len()).collect();
    order.sort_by_key(|&i| bodies.id[i]);
    let body = |i: usize| {
        let component = &bodies.components[bodies.component[i] as usize];
        let extra: Vec<_> =
            snapshot.extra.iter().map(|(name, c)| (name, c.kind(), c.value(i).to_bits())).collect();
        let numbers = (bodies.mass[i], bodies.position[i], bodies.velocity[i]);
        format!("{} {numbers:?} {component:?} {extra:?}", bodies.id[i])
    };
    let attributes = format!("{:?}", snapshot.attributes);
    let head = [format!("{} {:?} {attributes}", snapshot.time, snapshot.units)];
    head.into_iter().chain(order.into_iter().map(body)).collect()
}

#[test]
fn what_is_written_comes_back() {
    let mut snapshot = rich();
    // tipsy's name of a column becomes GADGET's.
    let phi = snapshot.extra.remove("phi").unwrap();
    snapshot.extra.insert("POT".into(), phi);
    let folder = tempfile::tempdir().unwrap();
    for files in [1, 3, 40] {
        let path = folder.path().join(format!("{files}.hdf5"));
        let options = WriteOptions { files: Some(files), ..WriteOptions::default() };
        let losses = write(&path, &snapshot, &options).unwrap();
        let losses: Vec<_> = losses.iter().collect();
        assert!(
            losses.len() == 1 && losses[0].contains("SmoothingLength: 0 is written"),
            "{losses:?}"
        );
        assert_eq!(by_id(&read(&path).unwrap()), by_id(&snapshot), "{files} files");
        if files > 1 {
            assert!(folder.path().join(format!("{files}.{}.hdf5", files - 1)).exists());
        }
    }
}

#[test]
fn numbers_that_f32_holds_are_written_in_f32() {
    let mut snapshot = of_each_kind(600);
    let length = |snapshot: &Snapshot, format: &str| {
        let options = WriteOptions { format: Some(format.into()), ..WriteOptions::default() };
        let (bytes, losses) = snapshot.to_bytes("a", &options).unwrap();
        (bytes.len(), losses.to_string())
    };
    let (short, _) = length(&snapshot, "gadget-hdf5");
    let (long, _) = length(&snapshot, "gadget-hdf5-f64");
    assert!(long > short);
    snapshot.bodies.position[7].x = 0.1;
    let (_, losses) = length(&snapshot, "gadget-hdf5-f32");
    assert!(losses.contains("positions narrowed from f64 to f32"), "{losses}");
    let (_, losses) = length(&snapshot, "gadget-hdf5");
    assert!(!losses.contains("narrowed"), "{losses}");
}

#[test]
fn one_body_is_written_and_read() {
    let snapshot = of_each_kind(1);
    let (bytes, _) = snapshot.to_bytes("a.hdf5", &WriteOptions::default()).unwrap();
    assert_eq!(Snapshot::from_bytes(&bytes, "a").unwrap().bodies, snapshot.bodies);
}

#[test]
fn a_file_that_is_cut_off_is_never_read() {
    let (bytes, _) = rich().to_bytes("a.hdf5", &WriteOptions::default()).unwrap();
    assert!(Snapshot::from_bytes(&bytes, "a").is_ok());
    let ends = (1..600).chain((600..bytes.len()).step_by(61)).chain(bytes.len() - 70..bytes.len());
    for end in ends {
        let text = Snapshot::from_bytes(&bytes[..end], "a.hdf5").unwrap_err().to_string();
        assert!(text.starts_with("a.hdf5: "), "{end}: {text}");
    }
}
