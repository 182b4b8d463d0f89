//! Damaged files: a one-line error, no panic, and no allocation by unverified counts.

use gravitile::bodies::{Component, Role};
use gravitile::error::Error;
use gravitile::snapshot::{FORMATS, ReadOptions, Snapshot};
use proptest::prelude::*;

use super::{SPECS, largest_allocation, six, spec};

fn sample(format: &str) -> Vec<u8> {
    six().to_bytes("a", &spec(format)).expect(format).0
}

/// The error message; asserts that it is one line that starts with the file's name.
fn error(bytes: &[u8]) -> String {
    let error = Snapshot::from_bytes(bytes, "some.snap").expect_err("a defect should be found");
    assert!(matches!(error, Error::File { .. }), "{error}");
    let text = error.to_string();
    assert!(text.starts_with("some.snap: ") && !text.contains('\n'), "{text}");
    text
}

fn read_as(bytes: &[u8], format: &str) -> Result<Snapshot, Error> {
    let options = ReadOptions { format: Some(format.into()), ..ReadOptions::default() };
    Snapshot::from_bytes_with(bytes, "some.snap", &options)
}

/// Reads the bytes with every reader and bounds the allocations.
fn all_readers(bytes: &[u8]) {
    let most = largest_allocation(|| {
        for format in FORMATS {
            let _ = (format.recognise)(bytes, bytes.len() as u64);
            if let Ok(snapshot) = read_as(bytes, format.name) {
                snapshot.validate().expect("readers should return valid snapshots only");
            }
        }
    });
    // The csv reader has a buffer of 8 KiB, and messages quote lines; all else is proportional to
    // the file.
    let limit = 64 * bytes.len() + (64 << 10);
    assert!(most <= limit, "{} bytes of file made an allocation of {most}", bytes.len());
}

#[test]
fn allocation_recorder_sees_allocations() {
    assert!(largest_allocation(|| drop(std::hint::black_box(vec![1_u8; 1 << 20]))) >= 1 << 20);
    assert!(largest_allocation(|| ()) < 1 << 20);
}

#[test]
fn truncated_file_is_an_error() {
    for format in SPECS.into_iter().filter(|format| !["text", "csv"].contains(format)) {
        // Without gas, whose last blocks are optional.
        let mut snapshot = six();
        snapshot.bodies.components[0] = Component::new("dark", Role::Halo);
        let whole = snapshot.to_bytes("a", &spec(format)).unwrap().0;
        for length in 1..whole.len() {
            all_readers(&whole[..length]);
            error(&whole[..length]);
        }
        assert!(Snapshot::from_bytes(&whole, "some.snap").is_ok());
        all_readers(&whole);
    }
}

#[test]
fn truncated_table_loses_only_whole_lines() {
    for format in ["text", "csv"] {
        let whole = sample(format);
        for length in 1..whole.len() {
            all_readers(&whole[..length]);
            if let Ok(snapshot) = Snapshot::from_bytes(&whole[..length], "a.snap") {
                assert!((1..=6).contains(&snapshot.bodies.len()));
            }
        }
    }
}

#[test]
fn changed_byte_of_a_native_file_is_detected() {
    let whole = sample("gravitile");
    // The last 4 bytes of each field are padding that no checksum covers.
    let mut unnoticed = 0;
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        all_readers(&changed);
        match Snapshot::from_bytes(&changed, "some.snap") {
            Ok(snapshot) => {
                assert_eq!(snapshot, six());
                unnoticed += 1;
            }
            Err(error) => assert!(!error.to_string().contains('\n')),
        }
    }
    assert_eq!(unnoticed, 4 * 10, "ten fields");
}

#[test]
fn false_counts_are_checked_against_file_size() {
    let mut tipsy = sample("tipsy");
    tipsy[8..12].copy_from_slice(&2_000_000_000_i32.to_le_bytes());
    tipsy[20..24].copy_from_slice(&1_999_999_995_i32.to_le_bytes());
    all_readers(&tipsy);
    assert!(
        error(&tipsy).contains("but a tipsy file of 1 gas, 1999999995 dark and 4 star bodies has")
    );

    tipsy[20..24].copy_from_slice(&(-1_i32).to_le_bytes());
    let problem = read_as(&tipsy, "tipsy").unwrap_err().to_string();
    assert!(problem.contains("-1 dark") && problem.contains("do not add up"), "{problem}");

    let mut gadget = sample("gadget1");
    gadget[8..12].copy_from_slice(&2_000_000_000_i32.to_le_bytes());
    all_readers(&gadget);
    let text = error(&gadget);
    assert!(text.contains("block POS at byte 268 has 72 bytes, but 24000000060"), "{text}");
    gadget[8..12].copy_from_slice(&(-7_i32).to_le_bytes());
    assert!(error(&gadget).contains("-7 bodies of type 1 (halo) at byte 8"));
    let mut gadget = sample("gadget1");
    gadget[128..132].copy_from_slice(&8_i32.to_le_bytes());
    assert!(error(&gadget).contains("one of the 8 files of a snapshot in several"));
}

#[test]
fn invalid_bodies_are_named() {
    let mut tipsy = sample("tipsy");
    tipsy[36..40].copy_from_slice(&f32::NAN.to_le_bytes());
    assert!(error(&tipsy).contains("body 0 (id 0): its position"));
    tipsy[32..36].copy_from_slice(&(-1.0_f32).to_le_bytes());
    tipsy[36..40].copy_from_slice(&0.0_f32.to_le_bytes());
    assert!(error(&tipsy).contains("its mass is -1"));
    tipsy[0..8].copy_from_slice(&f64::NAN.to_le_bytes());
    tipsy[32..36].copy_from_slice(&1.0_f32.to_le_bytes());
    assert!(error(&tipsy).contains("the time is NaN"));
}

#[test]
fn errors_in_tables_name_line_and_column() {
    let check = |table: &str, words: &str| {
        let text = error(table.as_bytes());
        assert!(text.contains(words), "'{text}' should say '{words}'");
    };
    check(
        "# a\n\n1 1 0 0 0 0 0 0\n2 1 0 zero 0 0 0 0\n",
        "line 4, column 4 (y): 'zero', but a finite number",
    );
    check(
        "m,x,y,z,vx,vy,vz\n1,0,0,0,0,0\n",
        "line 2: 6 columns, but 7 were expected (m x y z vx vy vz)",
    );
    check("1 2 3 4 5 6\n", "line 1: 6 columns without names, but 8 (id m x y z vx vy vz), 7");
    check("x y z vx vy m\n", "but vz is missing");
    check("m x y z vx vy vz x\n", "column 8 names 'x' for the second time");
    check("-1 0 0 0 0 0 0\n", "line 1, column 1 (m): '-1', but a finite number of at least 0");
    check("1 nan 0 0 0 0 0\n", "column 2 (x): 'nan', but a finite number");
    check("0.5 1 0 0 0 0 0 0\n", "column 1 (id): '0.5', but a whole number");
    check("#: time = now\n1 0 0 0 0 0 0\n", "line 1: time is 'now', but a number");
    check("#: component.a = king\n1 0 0 0 0 0 0\n", "one of: star, disk, bulge, halo, gas");
    check("id m x y z vx vy vz\n", "has no line with a body");
    check("name = \"scene\"\n", "line 1");
    let mut many = String::from("m,x,y,z,vx,vy,vz,component\n");
    for k in 0..257 {
        many += &format!("1,0,0,0,0,0,0,c{k}\n");
    }
    check(&many, "line 258, column 8 (component): 'c256', but one of the 256 components");
}

#[test]
fn other_file_types_are_refused() {
    assert!(error(b"\x7fELF\x02\x01\x01\0 and more").contains("begins with the bytes 7f 45 4c 46"));
    assert!(error(b"").contains("is empty"));
    assert!(error(&[0; 5000]).contains("not a snapshot of a known kind"));
    let text = Snapshot::from_bytes(b"PK\x03\x04", "a.gvt").unwrap_err().to_string();
    assert!(text.contains("ends too early") || text.contains("is not a gravitile"), "{text}");
    let future = {
        let mut bytes = sample("gravitile");
        bytes[8] = 4;
        let crc = crc(&bytes[..28]);
        bytes[28..32].copy_from_slice(&crc.to_le_bytes());
        bytes
    };
    assert!(error(&future).contains("version 4, but this program reads versions 1 to 3"));
}

/// A bitwise CRC-32, which also checks that files use zlib's.
fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), |crc, _| step(crc)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn random_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        all_readers(&bytes);
    }

    #[test]
    fn mutated_files_do_no_harm(
        which in 0..SPECS.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        words in prop::collection::vec((0..60_usize, any::<i32>()), 0..3),
        cut in prop::option::of(any::<prop::sample::Index>()),
        tail in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut bytes = sample(SPECS[which]);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        // The first words contain counts and lengths.
        for (word, value) in words {
            bytes[4 * word..4 * word + 4].copy_from_slice(&value.to_le_bytes());
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        bytes.extend(tail);
        all_readers(&bytes);
        if let Err(error) = Snapshot::from_bytes(&bytes, "some.snap") {
            prop_assert!(!error.to_string().contains('\n'), "{}", error);
        }
    }

    #[test]
    fn random_text_does_no_harm(text in "[0-9eE.,+ #:\"\\\\nxyzvmid=\n-]{0,200}") {
        all_readers(text.as_bytes());
    }
}
