//! Files of more than one piece, which several threads write and read.

use std::collections::BTreeMap;

use glam::DVec3;
use gravitile::bodies::Bodies;
use gravitile::snapshot::{self, Column, Snapshot, WriteOptions};

/// Positions take two pieces of 8 MiB and a bit, and no count is a multiple of anything.
const N: usize = 700_001;

fn large() -> Snapshot {
    let mut bodies = Bodies::with_capacity(N);
    for i in 0..N {
        let x = i as f64;
        let position = DVec3::new(x, -x, 1.0 / (1.0 + x));
        bodies.push(0.5 + x, position, position * 0.25, 0);
    }
    bodies.id.reverse();
    let mut snapshot = Snapshot::new(bodies, 1.5);
    let eps = (0..N).map(|i| i as f32 * 0.5).collect();
    snapshot.extra = BTreeMap::from([("eps".to_owned(), Column::F32(eps))]);
    snapshot
}

/// The fields of a file by its description: name, type and width, data. All checksums must hold.
fn fields(bytes: &[u8]) -> Vec<(String, [u8; 2], &[u8])> {
    let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(u64_at(16), bytes.len());
    assert_eq!(u32_at(28), crc32fast::hash(&bytes[..28]));
    let mut found = Vec::new();
    let mut at = 32;
    while at < bytes.len() {
        let name_length = usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
        let length = u64_at(at + 16);
        let name = String::from_utf8(bytes[at + 24..at + 24 + name_length].to_vec()).unwrap();
        let data = at + (24 + name_length).next_multiple_of(8);
        let end = data + length.next_multiple_of(8);
        assert_eq!(u32_at(end), crc32fast::hash(&bytes[at..end]), "{name}");
        found.push((name, [bytes[at + 2], bytes[at + 3]], &bytes[data..data + length]));
        at = end + 8;
    }
    found
}

#[test]
fn written_files_follow_the_description_and_do_not_depend_on_threads() {
    let snapshot = large();
    let (bytes, losses) = snapshot.to_bytes("a.gvt", &WriteOptions::default()).unwrap();
    assert!(losses.is_empty());
    let fields = fields(&bytes);
    let field = |wanted: &str| fields.iter().find(|(name, ..)| name == wanted).unwrap();
    let numbers = |name: &str| -> Vec<f64> {
        let (_, kind, data) = field(name);
        assert_eq!(kind[0], 4);
        data.chunks_exact(8).map(|x| f64::from_le_bytes(x.try_into().unwrap())).collect()
    };
    let vectors = |vectors: &[DVec3]| vectors.iter().flat_map(|v| v.to_array()).collect::<Vec<_>>();
    assert!(numbers("mass") == snapshot.bodies.mass);
    assert!(numbers("position") == vectors(&snapshot.bodies.position));
    assert!(numbers("velocity") == vectors(&snapshot.bodies.velocity));
    assert_eq!(field("position").1, [4, 3]);
    assert_eq!(field("component").2.len(), N);
    let (_, kind, eps) = field("extra/eps");
    assert_eq!((kind[0], eps.len(), &eps[4..8]), (6, 4 * N, &0.5f32.to_le_bytes()[..]));

    let folder = tempfile::tempdir().unwrap();
    for threads in [1, 2, 7] {
        let path = folder.path().join(format!("{threads}.gvt"));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| snapshot::write(&path, &snapshot, &WriteOptions::default())).unwrap();
        assert!(std::fs::read(&path).unwrap() == bytes, "{threads} threads");
        assert!(pool.install(|| snapshot::read(&path)).unwrap() == snapshot, "{threads} threads");
    }
}

#[test]
fn damage_in_any_piece_and_missing_ends_are_noticed() {
    let (bytes, _) = large().to_bytes("a.gvt", &WriteOptions::default()).unwrap();
    for at in (1 << 20..bytes.len() - 8).step_by(bytes.len() / 7) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        let error = Snapshot::from_bytes(&damaged, "a.gvt").unwrap_err().to_string();
        assert!(error.contains("is damaged: the checksum"), "{error}");
    }
    // An interrupted write ends anywhere, also between two fields.
    for length in [40, 1 << 20, bytes.len() / 2, bytes.len() - 8, bytes.len() - 1] {
        let error = Snapshot::from_bytes(&bytes[..length], "a.gvt").unwrap_err().to_string();
        assert!(error.contains("but was written with"), "{error}");
    }
}
