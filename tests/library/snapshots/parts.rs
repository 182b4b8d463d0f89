//! Snapshots in several files: opened by any of them or by their common name; inconsistent sets are
//! refused.

use std::fs;
use std::path::{Path, PathBuf};

use gravitile::snapshot::{
    Column, ReadOptions, Snapshot, SnapshotSource, WriteOptions, exists, read, read_with, targets,
    write,
};

use super::kinds::of_each_kind;
use super::{largest_allocation, spec};

/// Bodies with columns for all bodies, for gas only, and of integers.
fn many(n: usize) -> Snapshot {
    let mut snapshot = of_each_kind(n);
    let gas = |k: usize| if k.is_multiple_of(6) { k as f32 } else { f32::NAN };
    snapshot.extra.insert("U".into(), (0..n).map(gas).collect());
    snapshot.extra.insert("POT".into(), (0..n).map(|k| -(k as f32)).collect());
    snapshot.extra.insert("PART".into(), (0..n).map(|k| u64::MAX - k as u64).collect());
    for axis in ["x", "y", "z"] {
        snapshot.extra.insert(format!("ACCE.{axis}"), (0..n).map(|k| k as f64 * 0.1).collect());
    }
    snapshot
}

/// The snapshot as text, without notes (which contain file names). Unlike `==`, NaN equals NaN.
fn as_text(snapshot: &Snapshot) -> String {
    format!("{:?}", Snapshot { notes: Vec::new(), ..snapshot.clone() })
}

fn in_files(format: &str, files: usize) -> WriteOptions {
    WriteOptions { files: Some(files), ..spec(format) }
}

/// Writes the snapshot into `folder` and returns the common name of its files.
fn write_parts(folder: &Path, snapshot: &Snapshot, format: &str, files: usize) -> PathBuf {
    let base = folder.join("snap_000");
    write(&base, snapshot, &in_files(format, files)).unwrap();
    base
}

fn part(base: &Path, k: usize) -> PathBuf {
    PathBuf::from(format!("{}.{k}", base.display()))
}

/// Asserts that reading fails with one line that contains all `words`.
fn assert_refused<'a>(source: impl Into<SnapshotSource<'a>>, words: &[&str]) {
    let text = read(source).unwrap_err().to_string();
    assert!(words.iter().all(|word| text.contains(word)) && !text.contains('\n'), "{text}");
}

#[test]
fn several_files_read_like_one() {
    for format in ["gadget1", "gadget1-be-f64-id64", "gadget2", "gadget2-be", "gadget2-f64"] {
        for (n, files) in [(40, 2), (40, 3), (41, 7), (9, 9), (200, 1)] {
            let snapshot = many(n);
            let folder = tempfile::tempdir().unwrap();
            let alone = folder.path().join("alone.gadget");
            let lost = write(&alone, &snapshot, &spec(format)).unwrap();
            let alone = read(&alone).unwrap();
            let base = folder.path().join("snap_000");
            let lost_here = write(&base, &snapshot, &in_files(format, files)).unwrap();
            assert_eq!(lost_here, lost, "{format}, {files}");
            let back = read(&base).unwrap();
            // Compared as text, as NaN != NaN.
            assert_eq!(as_text(&back), as_text(&alone), "{format}, {files}");
            assert_eq!(back.bodies, alone.bodies);
        }
    }
}

#[test]
fn any_file_or_the_common_name_opens_the_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let base = write_parts(folder.path(), &many(30), "gadget2", 4);
    assert!(exists(&base) && exists(part(&base, 3)) && !exists(part(&base, 4)));
    let whole = as_text(&read(&base).unwrap());
    for k in 0..4 {
        assert_eq!(as_text(&read(part(&base, k)).unwrap()), whole);
    }
    assert_eq!(
        targets(&base, &in_files("gadget2", 4)).unwrap(),
        [0, 1, 2, 3].map(|k| part(&base, k))
    );
    // A folder of that name does not hide the files.
    fs::create_dir(&base).unwrap();
    assert_eq!(as_text(&read(&base).unwrap()), whole);
    // Files in memory, in any order, and from several folders.
    let bytes: Vec<_> = [2, 0, 3, 1].map(|k| (k, fs::read(part(&base, k)).unwrap())).into();
    let names: Vec<_> = bytes.iter().map(|(k, _)| format!("dropped.{k}")).collect();
    let parts =
        names.iter().zip(&bytes).map(|(name, (_, bytes))| SnapshotSource::bytes(name, bytes));
    assert_eq!(as_text(&read(SnapshotSource::parts(parts)).unwrap()), whole);
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::rename(part(&base, 2), other.join("elsewhere.2")).unwrap();
    let places = [other.join("elsewhere.2"), part(&base, 0), part(&base, 1), part(&base, 3)];
    assert_eq!(
        as_text(&read(SnapshotSource::parts(places.map(SnapshotSource::from))).unwrap()),
        whole
    );
}

#[test]
fn a_name_of_two_snapshots_is_refused_or_the_other_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let base = write_parts(folder.path(), &many(30), "gadget2", 4);
    let own = folder.path().join("snap_000.gvt");
    write(&own, &many(12), &in_files("gravitile", 2)).unwrap();
    assert_refused(&base, &["snap_000.0 or that of ", "snap_000.0.gvt: name one"]);
    assert!(read(&own).unwrap().notes.is_empty(), "{:?}", read(&own).unwrap().notes);
    write(&base, &many(9), &spec("tipsy")).unwrap();
    let found = read(&base).unwrap();
    assert_eq!(found.bodies.len(), 9);
    let note = "snap_000: this file is read, not the snapshot of ";
    assert!(found.notes.iter().any(|text| text.contains(note)), "{:?}", found.notes);
}

#[test]
fn folder_with_one_snapshot_opens_it() {
    let folder = tempfile::tempdir().unwrap();
    let base = write_parts(folder.path(), &many(30), "gadget2", 4);
    let whole = as_text(&read(&base).unwrap());
    fs::write(folder.path().join("parameters-usedvalues"), "TimeMax 1").unwrap();
    assert!(exists(folder.path()));
    assert_eq!(as_text(&read(folder.path()).unwrap()), whole);
    // A snapshot next to the folder whose name matches the folder's takes precedence.
    let other = PathBuf::from(format!("{}.0", folder.path().display()));
    write(&other, &many(12), &spec("gadget2")).unwrap();
    assert_refused(folder.path(), &["is a folder", ".0 is a whole snapshot of its own"]);
    fs::remove_file(other).unwrap();
    write_parts(folder.path(), &many(30), "gadget2", 4);
    fs::copy(part(&base, 0), folder.path().join("snap_001.0")).unwrap();
    let both = ["with more than one snapshot", "snap_000.0 and ", "snap_001.0 among them"];
    assert_refused(folder.path(), &both);
    for name in ["snap_000.0", "snap_001.0"] {
        fs::remove_file(folder.path().join(name)).unwrap();
    }
    assert_refused(folder.path(), &["is a folder without a first file as snap_000.0"]);
    write(folder.path().join("time.0"), &many(6), &spec("gadget1")).unwrap();
    assert_refused(folder.path(), &["is a folder", "time.0 is a whole snapshot of its own"]);
}

#[test]
fn file_numbers_may_have_leading_zeros() {
    let folder = tempfile::tempdir().unwrap();
    let base = write_parts(folder.path(), &many(30), "gadget2", 12);
    let whole = as_text(&read(&base).unwrap());
    let padded = |k: usize| PathBuf::from(format!("{}.{k:02}", base.display()));
    for k in 0..10 {
        fs::rename(part(&base, k), padded(k)).unwrap();
    }
    assert!(exists(&base));
    for path in [base.clone(), padded(0), padded(3), padded(11), folder.path().into()] {
        assert_eq!(as_text(&read(&path).unwrap()), whole, "{}", path.display());
    }
    let places = (0..12).rev().map(|k| SnapshotSource::path(padded(k)));
    assert_eq!(as_text(&read(SnapshotSource::parts(places)).unwrap()), whole);
    let only = ReadOptions { part: Some(11), ..ReadOptions::default() };
    assert_eq!(
        read_with(&base, &only).unwrap().bodies,
        read_with(padded(4), &only).unwrap().bodies
    );
    fs::remove_file(padded(7)).unwrap();
    assert_refused(&base, &["snap_000.00: is one of the 12 files", "snap_000.07 is not there"]);
}

#[test]
fn single_file_is_read_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let base = write_parts(folder.path(), &many(30), "gadget2", 4);
    let only = |k| ReadOptions { part: Some(k), ..ReadOptions::default() };
    let mut ids = Vec::new();
    for k in 0..4 {
        ids.extend(read_with(&base, &only(k)).unwrap().bodies.id);
    }
    let whole = read(&base).unwrap();
    // The files contain consecutive ranges of the order of a single file.
    assert_eq!(ids, whole.bodies.id);
    let parts = (0..4).map(|k| SnapshotSource::path(part(&base, k)));
    let third = read_with(SnapshotSource::parts(parts), &only(2)).unwrap();
    assert_eq!(third.bodies.id, ids[15..22]);
    // The other files need not exist.
    fs::remove_file(part(&base, 3)).unwrap();
    assert_eq!(read_with(&base, &only(2)).unwrap().bodies, third.bodies);
    let bytes = fs::read(part(&base, 2)).unwrap();
    let alone = read_with(SnapshotSource::bytes("a.2", &bytes), &only(2)).unwrap();
    assert_eq!(alone.bodies, third.bodies);
    let text = read_with(&base, &only(4)).unwrap_err().to_string();
    assert!(text.contains("number of the file to read is 4, but must be 0 to 3"), "{text}");
}

#[test]
fn missing_and_unreadable_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let base = write_parts(folder.path(), &many(30), "gadget1", 4);
    let whole = fs::read(part(&base, 2)).unwrap();
    fs::remove_file(part(&base, 2)).unwrap();
    assert_refused(&base, &["snap_000.0: is one of the 4 files", "snap_000.2 is not there"]);
    assert_refused(
        part(&base, 3),
        &["snap_000.3: is one of the 4 files", "snap_000.2 is not there"],
    );
    fs::create_dir(part(&base, 2)).unwrap();
    assert_refused(&base, &["snap_000.2: is a folder"]);
    fs::remove_dir(part(&base, 2)).unwrap();
    fs::write(part(&base, 2), "").unwrap();
    assert_refused(&base, &["snap_000.2: is empty"]);
    fs::write(part(&base, 2), &whole[..whole.len() - 5]).unwrap();
    assert_refused(&base, &["snap_000.2: ends too early"]);
    fs::write(part(&base, 2), &whole).unwrap();
    // With unexpected names the other files are not found.
    let renamed = folder.path().join("snap.gadget");
    fs::copy(part(&base, 1), &renamed).unwrap();
    assert_refused(&renamed, &["snap.gadget: is one of the 4 files", "does not end in its number"]);
    fs::copy(part(&base, 1), part(&base, 4)).unwrap();
    assert_refused(part(&base, 4), &["snap_000.4", "ends in a number beyond them"]);
    assert_refused(
        SnapshotSource::bytes("a.1", &whole),
        &["a.1: is one of the 4 files", "all of them are needed"],
    );
    assert_refused(
        SnapshotSource::parts([0, 1].map(|k| SnapshotSource::path(part(&base, k)))),
        &["snap_000.0: is one of the 4 files", "but 2 were given"],
    );
    assert_refused(
        SnapshotSource::parts([0, 1, 1, 3].map(|k| SnapshotSource::path(part(&base, k)))),
        &["snap_000.1: is file 1 of a snapshot for the second time"],
    );
    assert_refused(SnapshotSource::parts([]), &["number of files of a snapshot is 0"]);
    // A complete snapshot whose name looks like the first of several.
    write(folder.path().join("time.0"), &many(6), &spec("gadget1")).unwrap();
    assert_refused(
        folder.path().join("time"),
        &["time: is not there", "time.0 is a whole snapshot"],
    );
    assert_refused(folder.path().join("none"), &["cannot read", "none"]);
}

#[test]
fn files_of_different_snapshots_are_not_combined() {
    let folder = tempfile::tempdir().unwrap();
    let base = write_parts(folder.path(), &many(30), "gadget1", 3);
    let other = tempfile::tempdir().unwrap();
    let mix = |snapshot: &Snapshot, files: usize, words: &[&str]| {
        let strange = write_parts(other.path(), snapshot, "gadget1", files);
        let kept = fs::read(part(&base, 1)).unwrap();
        fs::copy(part(&strange, 1), part(&base, 1)).unwrap();
        assert_refused(&base, words);
        fs::write(part(&base, 1), kept).unwrap();
    };
    let mut later = many(30);
    later.time = 0.2;
    mix(&later, 3, &["snap_000.1: says the time is 0.2, but ", "snap_000.0 says 0.1"]);
    mix(&many(30), 4, &["snap_000.1: says the number of files is 4", "snap_000.0 says 3"]);
    mix(&many(36), 3, &["snap_000.1: says the bodies by type in all files are [6, 6, 6, 6, 6, 6]"]);
    let first = fs::read(part(&base, 0)).unwrap();
    fs::write(part(&base, 1), first).unwrap();
    assert_refused(
        &base,
        &["snap_000.0: says that all 3 files have 5 bodies of type 0 (gas), but they have"],
    );
}

#[test]
fn false_file_count_allocates_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let base = write_parts(folder.path(), &many(30), "gadget1", 2);
    for k in 0..2 {
        let mut bytes = fs::read(part(&base, k)).unwrap();
        bytes[128..132].copy_from_slice(&i32::MAX.to_le_bytes());
        fs::write(part(&base, k), bytes).unwrap();
    }
    let most = largest_allocation(|| {
        assert_refused(&base, &["one of the 2147483647 files", "snap_000.2 is not there"]);
    });
    assert!(most < 1 << 20, "{most}");
}

#[test]
fn files_without_bodies_or_totals_are_accepted() {
    // As written by other codes: the second file has only a header, and no file has the total
    // counts.
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("snap");
    let (mut bytes, _) = many(6).to_bytes("a", &spec("gadget1")).unwrap();
    let mut header = bytes[..264].to_vec();
    for bytes in [&mut bytes, &mut header] {
        bytes[4 + 96..4 + 120].fill(0);
        bytes[4 + 124] = 2;
    }
    header[4..4 + 24].fill(0);
    fs::write(part(&base, 0), bytes).unwrap();
    fs::write(part(&base, 1), header).unwrap();
    let (alone, _) = super::through(&many(6), "gadget1");
    assert_eq!(read(&base).unwrap().bodies, alone.bodies);
}

#[test]
fn invalid_file_counts_are_refused_on_write() {
    let error = |format: &str, files: usize| {
        many(6).to_files("a", &in_files(format, files)).unwrap_err().to_string()
    };
    assert!(error("tipsy", 2).contains("no format that can be in several files named 'tipsy'"));
    assert!(error("tipsy", 2).contains("gadget1, gadget2"));
    assert!(error("gadget2", 0).contains("the number of files is 0, but must be 1 to 65536"));
    assert!(error("gadget2", 7).contains("the number of files is 7, but must be 1 to 6"));
    let bytes = many(6).to_bytes("a", &in_files("gadget2", 2)).unwrap_err().to_string();
    assert!(bytes.contains("the number of files is 2, but must be 1"), "{bytes}");
}

#[test]
fn several_files_are_replaced_atomically() {
    let folder = tempfile::tempdir().unwrap();
    let base = write_parts(folder.path(), &many(30), "gadget1", 3);
    let before: Vec<_> = (0..3).map(|k| fs::read(part(&base, k)).unwrap()).collect();
    let mut broken = many(30);
    // The error occurs in the last file, after the others were written.
    broken.extra.insert("X001".into(), Column::from(vec![1.0_f32; 30]));
    broken.bodies.velocity[29].x = 1e300;
    assert!(write(&base, &broken, &in_files("gadget1", 3)).is_err());
    let after: Vec<_> = (0..3).map(|k| fs::read(part(&base, k)).unwrap()).collect();
    assert_eq!(before, after);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}
