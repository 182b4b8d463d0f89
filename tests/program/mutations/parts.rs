//! Mutations of snapshots in several files.

use gravitile::snapshot::{ReadOptions, Snapshot, SnapshotSource, WriteOptions, read_with};

use super::mutator::{Random, mutant};
use super::watch::{Mutant, try_all};
use super::{judge, rich, typed, written_as};

type Files = Vec<(String, Vec<u8>)>;

fn write(snapshot: &Snapshot, format: &str, files: usize) -> Files {
    let options = WriteOptions { files: Some(files), ..written_as(format) };
    let (files, _) = snapshot.to_files("some", &options).expect(format);
    files.into_iter().map(|made| (made.path.to_str().unwrap().to_owned(), made.bytes)).collect()
}

fn read(files: &Files, options: &ReadOptions) -> Result<bool, String> {
    let parts = files.iter().map(|(name, bytes)| SnapshotSource::bytes(name, bytes));
    let read = read_with(SnapshotSource::parts(parts), options);
    judge(read, "gadget2", |text| text.starts_with("some"))
}

#[test]
fn several_files() {
    let mut valid = Vec::new();
    for format in ["gadget1", "gadget2", "gadget2-be-f64-id64", "gravitile"] {
        for files in [2, 3, 7] {
            valid.push(write(&rich(7), format, files));
            valid.push(write(&typed(13), format, files));
        }
    }
    for files in &valid {
        assert_eq!(read(files, &ReadOptions::default()), Ok(true));
    }
    try_all("parts", |index| {
        let mut random = Random::new("parts", index);
        let mut files = random.of(&valid).clone();
        for _ in 0..=random.below(2) {
            let donor = random.of(&valid).clone();
            let other = random.of(&donor).1.clone();
            let which = random.below(files.len());
            files[which].1 = mutant(&files[which].1, &other, &mut random);
        }
        match random.below(20) {
            0 => drop(files.remove(random.below(files.len()))),
            1 => files[0].0 = files[1].0.clone(),
            2 => files.reverse(),
            _ => {}
        }
        let renumber = random.below(4) == 0;
        let options = ReadOptions { renumber, ..ReadOptions::default() };
        let bytes = files.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
        Mutant { bytes, trial: Box::new(move |_| read(&files, &options)) }
    });
}
