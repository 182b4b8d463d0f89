//! Column types: preserved where a format has them, reported where not. Files without typed columns
//! are bitwise those of versions before types.

use gravitile::snapshot::{Column, ColumnType, Snapshot};

use super::kinds::with_columns;
use super::{SPECS, six, spec, through};

/// CRC-32 of the file and of the reported losses: of six bodies without columns, and with f64
/// columns, as the version before types wrote them. Those of GADGET date from when zeros were added
/// for missing gas columns.
const BEFORE: [(&str, [u32; 4]); 13] = [
    ("gravitile", [0x21a26b38, 0x0, 0x11fb527, 0x0]),
    ("tipsy", [0x54299f29, 0x98196d9c, 0x80c19f34, 0x36b76812]),
    ("tipsy-be", [0xbcb698a6, 0x98196d9c, 0x4d8e7d27, 0x36b76812]),
    ("tipsy-28", [0x6fee96f6, 0x98196d9c, 0xbb0696eb, 0x36b76812]),
    ("tipsy-28-be", [0xb6db7c86, 0x98196d9c, 0x47e39907, 0x36b76812]),
    ("tipsy-id", [0x2c6670da, 0x37f3774e, 0xd15e2990, 0x1f05fc8f]),
    ("gadget1", [0x5d3c1c51, 0xc42590f9, 0x784e7ee7, 0xd3aef8a]),
    ("gadget1-be", [0x3b179d10, 0xc42590f9, 0x71858261, 0xd3aef8a]),
    ("gadget1-f64-id64", [0xbf75962a, 0xc42590f9, 0x9014073b, 0xd3aef8a]),
    ("gadget2", [0x7a17f630, 0xc42590f9, 0xc7a1b0c, 0x10051fb8]),
    ("gadget2-be-f64", [0xa068fa14, 0xc42590f9, 0xde00c81c, 0xf097c0c6]),
    ("text", [0x74b06b5a, 0x0, 0x885b4170, 0x0]),
    ("csv", [0x74d61219, 0x0, 0xc2b5c2d4, 0x0]),
];

#[test]
fn files_without_column_types_are_unchanged() {
    // NEMO came after types.
    let older: Vec<_> = SPECS.into_iter().filter(|format| !format.starts_with("nemo")).collect();
    assert_eq!(BEFORE.map(|(format, _)| format).to_vec(), older);
    let mut columns = with_columns(six());
    let potential: Vec<f64> = (0..6).map(|k| 0.1 * f64::from(k)).collect();
    columns.extra.insert("POT".into(), potential.into());
    for name in ["U", "RHO"] {
        let Some(Column::F64(values)) = columns.extra.get_mut(name) else { panic!("{name}") };
        values[1..].fill(f64::NAN);
    }
    let found = BEFORE.map(|(format, _)| {
        let crcs = |snapshot: &Snapshot| {
            let (bytes, losses) = snapshot.to_bytes("a", &spec(format)).unwrap();
            [crc32fast::hash(&bytes), crc32fast::hash(losses.to_string().as_bytes())]
        };
        let [[a, b], [c, d]] = [crcs(&six()), crcs(&columns)];
        (format, [a, b, c, d])
    });
    assert!(found == BEFORE, "{found:#x?}");
}

/// Six bodies with a column of each type, named as GADGET allows.
fn typed() -> Snapshot {
    let mut snapshot = six();
    for (name, column) in [
        ("REAL", Column::from(vec![0.1, f64::NAN, 1e300, -0.0, 5e-324, 6.0])),
        ("SING", Column::from(vec![0.1_f32, f32::NAN, f32::MAX, -0.0, 1e-45, 6.0])),
        ("LONG", Column::from(vec![u64::MAX, (1 << 53) + 1, 0, 3, 4, 5])),
        ("INTS", Column::from(vec![u32::MAX, 1, 2, 3, 4, 5])),
        ("SIGN", Column::from(vec![i64::MIN, -1, i64::MAX, 3, 4, 5])),
    ] {
        snapshot.extra.insert(name.into(), column);
    }
    snapshot
}

#[test]
fn column_types_survive_lossless_formats() {
    let snapshot = typed();
    assert_eq!(snapshot.extra.len(), ColumnType::ALL.len());
    for format in ["gravitile", "text", "csv"] {
        let (back, losses) = through(&snapshot, format);
        assert!(losses.is_empty(), "{format}: {losses}");
        // Compared as text, as NaN != NaN.
        assert_eq!(format!("{:?}", back.extra), format!("{:?}", snapshot.extra), "{format}");
    }
}

#[test]
fn native_files_with_column_types_have_version_2() {
    let version = |snapshot: &Snapshot| snapshot.to_bytes("a", &spec("gravitile")).unwrap().0[8];
    assert_eq!(version(&with_columns(six())), 1);
    for (name, column) in typed().extra {
        let mut one = six();
        let expected = if column.kind() == ColumnType::F64 { 1 } else { 2 };
        one.extra.insert(name.clone(), column);
        assert_eq!(version(&one), expected, "{name}");
        // A file of version 1 has no types.
        let mut bytes = one.to_bytes("a", &spec("gravitile")).unwrap().0;
        bytes[8] = 1;
        let crc = crc32fast::hash(&bytes[..28]);
        bytes[28..32].copy_from_slice(&crc.to_le_bytes());
        match Snapshot::from_bytes(&bytes, "a.gvt") {
            Ok(_) => assert_eq!(expected, 1),
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("but type 4 and width 1 were expected"), "{text}");
            }
        }
    }
}

#[test]
fn gadget_2_preserves_integers_and_reports_conversions() {
    let mut snapshot = typed();
    snapshot.extra.remove("REAL");
    let (back, losses) = through(&snapshot, "gadget2-be");
    for name in ["LONG", "INTS"] {
        assert_eq!(back.extra[name], snapshot.extra[name], "{name}");
    }
    assert_eq!(format!("{:?}", back.extra["SING"]), format!("{:?}", snapshot.extra["SING"]));
    assert_eq!(back.extra["SIGN"].kind(), ColumnType::F64);
    assert!(losses.iter().any(|text| text.contains("written as f64") && text.contains("SIGN")));
    // Signed integers without negative values are stored as unsigned.
    snapshot.extra.insert("SIGN".into(), vec![1_i64, 2, 3, 4, 5, i64::MAX].into());
    let (back, _) = through(&snapshot, "gadget2");
    assert_eq!(back.extra["SIGN"], Column::from(vec![1_u64, 2, 3, 4, 5, i64::MAX as u64]));
    // Format 1 cannot store types.
    let (back, losses) = through(&snapshot, "gadget1");
    assert!(back.extra.is_empty());
    assert!(losses.iter().any(|text| text.contains("INTS, LONG, SIGN, SING")), "{losses}");
}

#[test]
fn partial_integer_columns_are_exact_or_left_out() {
    let mut snapshot = six();
    snapshot.extra.insert("TALL".into(), vec![(1_u64 << 53) - 1, 1, 2, 3, 4, 5].into());
    snapshot.extra.insert("INTS".into(), vec![u32::MAX, 1, 2, 3, 4, 5].into());
    let (bytes, _) = snapshot.to_bytes("a", &spec("gadget2")).unwrap();
    // Rewrites the blocks as if only the gas had them.
    let only_gas = |bytes: &[u8], name: &[u8; 4], size: usize| {
        let at = bytes.windows(4).position(|window| window == name).unwrap();
        let info = bytes.windows(4).rposition(|window| window == name).unwrap();
        let mut changed = bytes[..at + 12].to_vec();
        changed.extend((size as u32).to_le_bytes());
        changed.extend(&bytes[at + 16..at + 16 + size]);
        changed.extend((size as u32).to_le_bytes());
        changed.extend(&bytes[at + 16 + 6 * size + 4..info + 20]);
        changed.extend([0; 20]);
        changed.extend(&bytes[info + 40..]);
        changed
    };
    let bytes = only_gas(&only_gas(&bytes, b"TALL", 8), b"INTS", 4);
    let back = Snapshot::from_bytes(&bytes, "a").unwrap();
    for (name, value) in [("TALL", ((1_u64 << 53) - 1) as f64), ("INTS", f64::from(u32::MAX))] {
        let Column::F64(values) = &back.extra[name] else { panic!("{name}") };
        assert!(values[0] == value && values[1..].iter().all(|v| v.is_nan()), "{values:?}");
    }
    let rewritten = through(&back, "gadget2").0;
    assert_eq!(rewritten.extra["TALL"].value(0), back.extra["TALL"].value(0));
    // Values that f64 would round are left out and reported.
    let at = bytes.windows(4).position(|window| window == b"TALL").unwrap();
    let mut large = bytes.clone();
    large[at + 16..at + 24].copy_from_slice(&u64::MAX.to_le_bytes());
    let back = Snapshot::from_bytes(&large, "a").unwrap();
    assert!(!back.extra.contains_key("TALL"));
    assert!(back.attributes["gadget.skipped"].starts_with("TALL (8 bytes"));
}

#[test]
fn tipsy_reports_rounding_of_integers() {
    let mut snapshot = six();
    snapshot.extra.insert("metals".into(), vec![(1_u64 << 53) + 1; 6].into());
    let (back, losses) = through(&snapshot, "tipsy");
    assert!(
        losses
            .iter()
            .any(|t| t == "whole numbers are written as f32, which may round them: metals"),
        "{losses}"
    );
    assert_eq!(back.extra["metals"].kind(), ColumnType::F32);
}

#[test]
fn tables_report_values_invalid_for_their_type() {
    let read = |kind: &str, value: &str| {
        let text = format!("#: column.w = {kind}\nm x y z vx vy vz w\n1 0 0 0 0 0 0 {value}\n");
        Snapshot::from_bytes(text.as_bytes(), "a.txt").map(|snapshot| snapshot.extra["w"].clone())
    };
    assert_eq!(read("u64", "18446744073709551615").unwrap(), vec![u64::MAX].into());
    assert_eq!(read("i64", "-7").unwrap(), vec![-7_i64].into());
    assert_eq!(read("u32", "7.0e+00").unwrap(), vec![7_u32].into());
    // Parsing as f64 first would round twice, to a neighbouring f32.
    assert_eq!(read("f32", "1.00000017881393432617187499").unwrap(), vec![1.000_000_1_f32].into());
    for (kind, value, words) in [
        ("u64", "-1", "column 8 (w): '-1', but a whole number from 0"),
        ("u32", "4294967296", "a whole number from 0 to 4294967295"),
        ("i64", "0.5", "a whole number from -9223372036854775808"),
        ("f32", "x", "a number"),
        ("f16", "1", "column.w is 'f16', but a type was expected, one of: f64, f32, u64, u32, i64"),
    ] {
        let text = read(kind, value).unwrap_err().to_string();
        assert!(text.contains(words), "{text}");
    }
}
