//! Snapshots of the project's own format in several files with an index.

use std::fs;
use std::path::{Path, PathBuf};

use gravitile::snapshot::{
    ReadOptions, Snapshot, SnapshotSource, WriteOptions, exists, read, read_with, targets, write,
};

use super::kinds::{of_each_kind, with_columns};
use super::spec;

/// Bodies of each kind with columns of every type.
fn many(n: usize) -> Snapshot {
    let mut snapshot = with_columns(of_each_kind(n));
    snapshot.attributes.insert("step".into(), "12".into());
    snapshot
}

fn in_files(files: usize) -> WriteOptions {
    WriteOptions { files: Some(files), ..WriteOptions::default() }
}

/// Writes 30 bodies in four files; returns the name of the index.
fn in_four(folder: &Path) -> PathBuf {
    let index = folder.join("snap.gvt");
    write(&index, &many(30), &in_files(4)).unwrap();
    index
}

fn part(index: &Path, k: usize) -> PathBuf {
    index.with_file_name(format!("snap.{k}.gvt"))
}

/// Everything but the notes, as text: unlike `==`, NaN equals NaN.
fn as_text(snapshot: &Snapshot) -> String {
    format!("{:?}", Snapshot { notes: Vec::new(), ..snapshot.clone() })
}

/// Asserts that reading fails with one line that contains all `words`.
fn assert_refused<'a>(source: impl Into<SnapshotSource<'a>>, words: &[&str]) {
    let text = read(source).unwrap_err().to_string();
    assert!(words.iter().all(|word| text.contains(word)) && !text.contains('\n'), "{text}");
}

#[test]
fn any_number_of_files_has_the_bits_of_one() {
    for (n, files) in [(30, 2), (31, 4), (9, 9), (200, 1), (997, 3)] {
        let folder = tempfile::tempdir().unwrap();
        let [alone, index] = ["alone.gvt", "snap.gvt"].map(|name| folder.path().join(name));
        write(&alone, &many(n), &WriteOptions::default()).unwrap();
        let losses = write(&index, &many(n), &in_files(files)).unwrap();
        assert!(losses.is_empty(), "{losses}");
        let made = targets(&index, &in_files(files)).unwrap();
        assert_eq!(made.len(), if files == 1 { 1 } else { files + 1 });
        assert!(made.iter().all(|path| path.is_file()));
        assert_eq!(as_text(&read(&index).unwrap()), as_text(&read(&alone).unwrap()), "{files}");
    }
    let refused = write("unwritten.gvt", &many(3), &in_files(4)).unwrap_err().to_string();
    assert!(refused.contains("the number of files is 4, but must be 1 to 3"), "{refused}");
}

#[test]
fn any_file_the_index_or_a_list_of_them_opens_the_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let index = in_four(folder.path());
    let whole = as_text(&many(30));
    for path in [index.clone(), part(&index, 0), part(&index, 3), index.with_extension("")] {
        // Without its extension a name is that of the files.
        assert!(exists(&path));
        assert_eq!(as_text(&read(&path).unwrap()), whole, "{}", path.display());
    }
    let names = ["snap.2.gvt", "snap.0.gvt", "snap.gvt", "snap.3.gvt", "snap.1.gvt"];
    let bytes = names.map(|name| (name, fs::read(folder.path().join(name)).unwrap()));
    let given = |count: usize| {
        bytes[..count].iter().map(|(name, bytes)| SnapshotSource::bytes(name, bytes))
    };
    assert_eq!(as_text(&read(SnapshotSource::parts(given(5))).unwrap()), whole);
    assert_refused(
        SnapshotSource::parts(given(4)),
        &["snap.gvt: is the index of a snapshot in 4 files, but snap.1.gvt was not given"],
    );
    assert_refused(SnapshotSource::parts(given(2)), &["their index snap.gvt was not given"]);
    let (name, alone) = &bytes[2];
    assert_refused(SnapshotSource::bytes(name, alone), &["but snap.0.gvt was not given"]);
    let other = in_four(&tempfile::tempdir().unwrap().keep());
    let more = given(5).chain([SnapshotSource::path(&other)]);
    assert_refused(SnapshotSource::parts(more), &["in 4 files, but 5 were given with it"]);
    fs::remove_dir_all(other.parent().unwrap()).unwrap();
}

#[test]
fn single_file_is_read_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let index = in_four(folder.path());
    let only = |k| ReadOptions { part: Some(k), ..ReadOptions::default() };
    let ids = |k| read_with(&index, &only(k)).unwrap().bodies.id;
    let all: Vec<u64> = (0..4).flat_map(ids).collect();
    assert_eq!(all, many(30).bodies.id);
    fs::remove_file(part(&index, 1)).unwrap();
    assert_eq!(ids(2), all[15..22]);
    let text = read_with(&index, &only(4)).unwrap_err().to_string();
    assert!(text.contains("number of the file to read is 4, but must be 0 to 3"), "{text}");
}

#[test]
fn missing_cut_and_strange_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let index = in_four(folder.path());
    let second = part(&index, 1);
    let whole = fs::read(&second).unwrap();
    fs::remove_file(&second).unwrap();
    let missing = ["snap.gvt: is the index of a snapshot in 4 files", "snap.1.gvt is not there"];
    assert_refused(&index, &missing);
    assert_refused(part(&index, 3), &missing);
    fs::write(&second, &whole[..whole.len() - 8]).unwrap();
    assert_refused(&index, &["snap.1.gvt: has ", "bytes, but was written with"]);
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    fs::write(&second, &damaged).unwrap();
    assert_refused(&index, &["snap.1.gvt: is damaged: the checksum of the field"]);
    fs::write(&second, "").unwrap();
    assert_refused(&index, &["snap.1.gvt: is empty"]);
    fs::copy(part(&index, 2), &second).unwrap();
    assert_refused(
        &index,
        &["snap.1.gvt: is file 2 of 4", "begins at body 15 of 30, but ", "lists file 1 of 4"],
    );
    write(&second, &many(8), &spec("gravitile")).unwrap();
    assert_refused(&index, &["snap.1.gvt: is a snapshot of its own, but ", "as file 1 of 4"]);
    fs::write(&second, &whole).unwrap();
    assert_eq!(as_text(&read(&index).unwrap()), as_text(&many(30)));

    // A snapshot of its own in place of the index, and none.
    write(&index, &many(30), &WriteOptions::default()).unwrap();
    assert_refused(part(&index, 0), &["snap.gvt: is a snapshot of its own, but there are files"]);
    fs::remove_file(&index).unwrap();
    let never = ["one of the 4 files", "index ", "snap.gvt is not there: the snapshot was never"];
    assert_refused(part(&index, 2), &never);
    assert_refused(&index, &never);
}

#[test]
fn files_of_other_snapshots_are_refused() {
    let [folder, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let index = in_four(folder.path());
    let mix = |snapshot: &Snapshot, files: usize, words: &[&str]| {
        let strange = other.path().join("snap.gvt");
        write(&strange, snapshot, &in_files(files)).unwrap();
        let whole = fs::read(part(&index, 1)).unwrap();
        fs::copy(part(&strange, 1), part(&index, 1)).unwrap();
        assert_refused(&index, words);
        fs::write(part(&index, 1), whole).unwrap();
    };
    let with = |change: fn(&mut Snapshot)| {
        let mut snapshot = many(30);
        change(&mut snapshot);
        snapshot
    };
    let later = with(|snapshot| snapshot.time = 0.2);
    mix(&later, 4, &["snap.1.gvt: says the time is 0.2, but ", "snap.gvt says 0.1"]);
    let moved = with(|snapshot| snapshot.bodies.velocity[8].x += 1e-9);
    mix(&moved, 4, &["snap.1.gvt: has the check sum ", "whole, but from another run or step"]);
    let step = with(|snapshot| drop(snapshot.attributes.insert("step".into(), "13".into())));
    mix(&step, 4, &["snap.1.gvt: has the check sum ", "whole, but from another run or step"]);
    mix(&many(30), 3, &["snap.1.gvt: is file 1 of 3", "they belong to different snapshots"]);
    mix(&many(36), 4, &["snap.1.gvt: is file 1 of 4 and begins at body 9 of 36, but "]);
}

/// The file with the data of a field changed and its checksum set, as the format's description has
/// it.
fn patched(bytes: &[u8], name: &str, change: impl Fn(&mut [u64])) -> Vec<u8> {
    let number = |at: usize, bytes: &[u8]| {
        u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize
    };
    let (mut file, mut at) = (bytes.to_vec(), 32);
    loop {
        let name_length = usize::from(u16::from_le_bytes(file[at..at + 2].try_into().unwrap()));
        let length = number(at + 16, &file);
        let data = (at + 24 + name_length).next_multiple_of(8);
        let end = (data + length).next_multiple_of(8);
        if &file[at + 24..at + 24 + name_length] == name.as_bytes() {
            let each = file[data..data + length].chunks(8);
            let mut values: Vec<u64> =
                each.map(|value| u64::from_le_bytes(value.try_into().unwrap())).collect();
            change(&mut values);
            let new: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            file[data..data + length].copy_from_slice(&new);
            let sum = crc32fast::hash(&file[at..end]);
            file[end..end + 4].copy_from_slice(&sum.to_le_bytes());
            return file;
        }
        at = end + 8;
    }
}

/// The index has first body, number of bodies, bytes and check sum of each file: 0, 7, ..; 7, 8,
/// ..; 15, 7, ..; 22, 8, ...
#[test]
fn index_that_does_not_add_up_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let index = in_four(folder.path());
    let whole = fs::read(&index).unwrap();
    assert_eq!(patched(&whole, "files", |_| ()), whole);
    let refused = |field: &str, change: fn(&mut [u64]), words: &[&str]| {
        fs::write(&index, patched(&whole, field, change)).unwrap();
        assert_refused(&index, words);
    };
    refused(
        "files",
        |files| files[4] = 5,
        &[
            "snap.gvt: lists bodies 5 to 6 twice: file 1 should begin at body 7, but it lists bodies 5 to 12",
        ],
    );
    refused("files", |files| files.copy_within(0..4, 8), &["lists bodies 0 to 6 twice: file 2"]);
    refused("files", |files| files[1] = 6, &["lists body 6 in no file: file 1 should begin at"]);
    refused("files", |files| files[13] = 9, &["lists 31 bodies in its files, but 30 in all"]);
    refused("files", |files| files[13] = u64::MAX, &["bodies in its files, but 30 in all"]);
    refused("bodies", |bodies| bodies[0] = 1 << 60, &["lists 30 bodies in its files, but 11529"]);
    refused("files", |files| files[7] ^= 1, &["snap.1.gvt: has the check sum "]);
    refused("files", |files| files[6] += 8, &["snap.1.gvt: has "]);
    let mut damaged = whole.clone();
    damaged[whole.len() - 12] ^= 1;
    fs::write(&index, damaged).unwrap();
    assert_refused(&index, &["snap.gvt: is damaged: the checksum of the field"]);
}
