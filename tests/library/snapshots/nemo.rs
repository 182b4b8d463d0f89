//! NEMO files: bytes by an independent program (`nemo/make.py`) and by unsio, several snapshots in
//! a file, and what is refused.

use glam::DVec3;
use gravitile::error::Error;
use gravitile::snapshot::{Column, ReadOptions, Series, Snapshot, SnapshotChoice, SnapshotSource};

use super::{six, spec};

const LITTLE: &[u8] = include_bytes!("nemo/one-le.nemo");
const BIG: &[u8] = include_bytes!("nemo/one-be.nemo");
const SERIES: &[u8] = include_bytes!("nemo/series.nemo");
const UNSIO: &[u8] = include_bytes!("nemo/unsio.nemo");

fn read(bytes: &[u8]) -> Snapshot {
    Snapshot::from_bytes(bytes, "a.dat").unwrap()
}

fn choose(bytes: &[u8], choice: &str) -> Result<Snapshot, Error> {
    let snapshot = Some(choice.parse::<SnapshotChoice>().unwrap());
    Snapshot::from_bytes_with(bytes, "a", &ReadOptions { snapshot, ..ReadOptions::default() })
}

/// The bodies that `make.py` writes at time `t`.
fn assert_bodies(snapshot: &Snapshot, n: usize, t: f64) {
    assert_eq!((snapshot.time, snapshot.bodies.len()), (t, n));
    for k in 0..n {
        let i = k as f64;
        assert_eq!(snapshot.bodies.mass[k], (i + 1.0) / 8.0);
        assert_eq!(snapshot.bodies.position[k], DVec3::new(i + t, -i / 2.0, t + 0.25));
        assert_eq!(snapshot.bodies.velocity[k], DVec3::new(0.5 * i, 1.0 + t, -0.75));
    }
}

#[test]
fn files_of_other_programs_are_read_in_both_orders() {
    for bytes in [LITTLE, BIG] {
        let snapshot = read(bytes);
        assert_bodies(&snapshot, 4, 0.375);
        assert_eq!(snapshot.bodies.id, [7, 3, 2_147_483_647, 0]);
        assert_eq!(snapshot.attributes["headline"], "four bodies");
        assert_eq!(snapshot.attributes["history"], "mkplummer out.nemo 4\ngyrfalcON in=out.nemo");
        assert_eq!(snapshot.extra["phi"], Column::from(vec![-1.0, -2.0, -3.0, -4.0]));
        assert_eq!(snapshot.extra["ACCE.y"], Column::from(vec![0.5_f32, 1.5, 2.5, 3.5]));
        assert_eq!(snapshot.extra["rho"], Column::from(vec![1.0, 2.0, 4.0, 8.0]));
        assert_eq!(snapshot.extra.len(), 7);
        assert!(snapshot.notes.is_empty(), "{:?}", snapshot.notes);
    }
    let snapshot = read(UNSIO);
    assert_bodies(&snapshot, 5, 1.5);
    assert_eq!(snapshot.bodies.id, [10, 11, 12, 13, 14]);
}

#[test]
fn written_bytes_are_those_of_the_other_program() {
    for (bytes, format) in [(LITTLE, "nemo"), (BIG, "nemo-be")] {
        let (again, losses) = read(bytes).to_bytes("a", &spec(format)).unwrap();
        assert!(again == bytes && losses.is_empty(), "{format}: {losses}");
    }
}

#[test]
fn snapshot_is_chosen_by_number_or_time() {
    // The third set holds diagnostics only and is not counted.
    let first = read(SERIES);
    assert_bodies(&first, 3, 0.0);
    let notes = first.notes.join("\n");
    assert!(notes.contains("of its 3 snapshots the first is read, t = 0; --snapshot"), "{notes}");
    assert!(notes.contains("items that are not read: Level"), "{notes}");
    for (choice, t) in [
        ("0", 0.0),
        ("1", 0.5),
        ("2", 1.5),
        ("last", 1.5),
        ("t=0.5", 0.5),
        ("t=0.2", 0.0),
        ("t=1.50000001", 1.5),
    ] {
        let chosen = choose(SERIES, choice).unwrap();
        // Masses are in the first only.
        assert_bodies(&chosen, 3, t);
        assert_eq!(chosen.notes.iter().any(|n| n.contains("has no masses")), t > 0.0);
    }
    for (choice, words) in [
        ("3", "is 3, but must be from 0 to 2"),
        ("18446744073709551615", "from 0 to 2"),
        ("t=1.6", "is t=1.6, but must be a time from 0 to 1.5"),
        ("t=-1", "a time from 0 to 1.5"),
    ] {
        let text = choose(SERIES, choice).unwrap_err().to_string();
        assert!(text.contains(words), "{text}");
    }
    let mut series =
        Series::open(SnapshotSource::bytes("a", SERIES), &ReadOptions::default()).unwrap();
    let times: Vec<_> = (0..series.len()).map(|k| series.read(k).unwrap().time).collect();
    assert_eq!(times, [0.0, 0.5, 1.5]);
    assert!(matches!(series.read(3), Err(Error::Value { .. })));
}

#[test]
fn other_formats_have_one_snapshot() {
    let bytes = six().to_bytes("a", &spec("gravitile")).unwrap().0;
    for choice in ["0", "last", "t=0.1"] {
        assert_eq!(choose(&bytes, choice).unwrap(), six());
    }
    for (choice, words) in [("1", "must be 0: there is one"), ("t=3", "must be 0.1, the time of")] {
        let text = choose(&bytes, choice).unwrap_err().to_string();
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn unfinished_snapshot_is_left_out_with_a_note() {
    let ends: Vec<usize> = (1..SERIES.len())
        .filter(|length| read_counted(&SERIES[..*length]).is_ok_and(|found| !found.1))
        .collect();
    // Only after the whole sets of the first, the second and the third, which has no bodies.
    assert_eq!(ends.len(), 3, "{ends:?}");
    for length in ends[0] + 1..SERIES.len() {
        let (count, noted) = read_counted(&SERIES[..length]).unwrap();
        assert_eq!(count, if length < ends[1] { 1 } else { 2 });
        assert_eq!(noted, !ends.contains(&length));
    }
}

/// The number of snapshots, and whether it is noted that the file ends too early.
fn read_counted(bytes: &[u8]) -> Result<(usize, bool), Error> {
    let mut series = Series::open(SnapshotSource::bytes("a", bytes), &ReadOptions::default())?;
    let notes = series.read(0)?.notes;
    Ok((series.len(), notes.iter().any(|note| note.contains("ends too early"))))
}

#[test]
fn wrong_content_is_refused_in_one_line() {
    let replaced = |from: &[u8], to: &[u8]| {
        let at = LITTLE.windows(from.len()).position(|bytes| bytes == from).unwrap();
        let mut bytes = LITTLE.to_vec();
        bytes[at..at + from.len()].copy_from_slice(to);
        Snapshot::from_bytes(&bytes, "a").unwrap_err().to_string()
    };
    let number = |value: i32| value.to_le_bytes();
    let with = |name: &[u8], value: i32| [name, &number(value)].concat();
    for (from, to, words) in [
        (with(b"Nobj\0", 4), with(b"Nobj\0", 5), "is d[4][2][3], but [5][2][3] was expected"),
        (with(b"Nobj\0", 4), with(b"Nobj\0", -4), "'Nobj' at byte "),
        (with(b"Mass\0", 4), with(b"Mass\0", -4), "-4 as dimension 1"),
        (with(b"Mass\0", 4), with(b"Mass\0", i32::MAX), "ends too early"),
        (with(b"CoordSystem\0", 66306), with(b"CoordSystem\0", 66050), "only 66306 is read"),
        (with(b"PhaseSpace\0", 4), with(b"phaseSpace\0", 4), "without a snapshot"),
        (b"Mass\0".to_vec(), b"mass\0".to_vec(), "has no item 'Mass'"),
        (b"d\0PhaseSpace".to_vec(), b"l\0PhaseSpace".to_vec(), "is l[4][2][3], but floating-point"),
    ] {
        let text = replaced(&from, &to);
        assert!(text.starts_with("a: ") && text.contains(words), "{text}");
    }
    // 20 sets in one another, and a name of a thousand letters.
    let deep = b"\x92\x09(\0a\0".repeat(20);
    let long = [&b"\x92\x09(\0"[..], &[b'a'; 1000]].concat();
    let control = b"\x92\x09(\0\x1b[2J\0".to_vec();
    for (bytes, words) in
        [(deep, "more than 16 sets"), (long, "more than 64 bytes"), (control, "not text")]
    {
        let text = Snapshot::from_bytes(&bytes, "a").unwrap_err().to_string();
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn negative_keys_need_renumber() {
    let at = LITTLE.windows(4).position(|bytes| bytes == b"Key\0").unwrap() + 4 + 8;
    let mut bytes = LITTLE.to_vec();
    bytes[at..at + 4].copy_from_slice(&(-7_i32).to_le_bytes());
    let text = Snapshot::from_bytes(&bytes, "a").unwrap_err().to_string();
    assert!(text.contains("is -7 for body 0") && text.contains("--renumber"), "{text}");
    let options = ReadOptions { renumber: true, ..ReadOptions::default() };
    assert_eq!(Snapshot::from_bytes_with(&bytes, "a", &options).unwrap().bodies.id, [0, 1, 2, 3]);
}

#[test]
fn losses_are_reported() {
    let mut snapshot = six();
    snapshot.bodies.id[0] = u64::MAX;
    snapshot.extra.insert("spin".into(), vec![1.0; 6].into());
    snapshot.attributes.insert("dt".into(), "0.01".into());
    let losses = snapshot.to_bytes("a", &spec("nemo")).unwrap().1.to_string();
    for words in ["are merged into 'bodies'", "beyond 63 bits", "held: spin", "held: dt"] {
        assert!(losses.contains(words), "{losses}");
    }
    snapshot.bodies.id[0] = 1 << 40;
    let (bytes, losses) = snapshot.to_bytes("a", &spec("nemo")).unwrap();
    assert!(losses.to_string().contains("written in 64 bits"), "{losses}");
    assert_eq!(read(&bytes).bodies.id, snapshot.bodies.id);
}
