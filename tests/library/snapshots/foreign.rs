//! Files of other codes, composed byte by byte.

use glam::DVec3;
use gravitile::snapshot::{Column, ColumnType, Snapshot, SnapshotSource};
use gravitile::units::Units;

/// Appends numbers in either byte order.
struct Bytes(Vec<u8>, bool);

impl Bytes {
    fn f32(&mut self, values: &[f32]) -> &mut Self {
        values.iter().for_each(|v| self.put(v.to_le_bytes()));
        self
    }
    fn f64(&mut self, values: &[f64]) -> &mut Self {
        values.iter().for_each(|v| self.put(v.to_le_bytes()));
        self
    }
    fn i32(&mut self, values: &[i32]) -> &mut Self {
        values.iter().for_each(|v| self.put(v.to_le_bytes()));
        self
    }
    fn put<const N: usize>(&mut self, mut bytes: [u8; N]) {
        if self.1 {
            bytes.reverse();
        }
        self.0.extend(bytes);
    }
}

fn read(bytes: &[u8]) -> Snapshot {
    Snapshot::from_bytes(bytes, "file").unwrap()
}

#[test]
fn tipsy_in_both_orders_and_with_both_headers() {
    for (big, long) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut file = Bytes(Vec::new(), big);
        file.f64(&[1.25]).i32(&[3, 3, 1, 1, 1]);
        if long {
            file.i32(&[32758]);
        }
        file.f32(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]).f32(&[0.1, 0.2, 0.3, 0.4, -1.0]);
        file.f32(&[8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0]).f32(&[0.5, -2.0]);
        file.f32(&[15.0, 16.0, 17.0, 18.0, 19.0, 20.0, 21.0]).f32(&[0.6, 0.7, 0.8, -3.0]);
        let snapshot = read(&file.0);
        assert_eq!(snapshot.time, 1.25);
        assert_eq!(snapshot.bodies.mass, [1.0, 8.0, 15.0]);
        assert_eq!(snapshot.bodies.position[1], DVec3::new(9.0, 10.0, 11.0));
        assert_eq!(snapshot.bodies.velocity[2], DVec3::new(19.0, 20.0, 21.0));
        assert_eq!(snapshot.bodies.id, [0, 1, 2]);
        let names: Vec<_> = snapshot.bodies.components.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["gas", "halo", "stars"]);
        let columns: Vec<_> = snapshot.extra.keys().map(String::as_str).collect();
        assert_eq!(columns, ["eps", "hsmooth", "metals", "phi", "rho", "temp", "tform"]);
        assert_eq!(snapshot.extra["phi"], Column::from(vec![-1.0_f32, -2.0, -3.0]));
        let metals = snapshot.extra["metals"].to_f64();
        assert!(metals[1].is_nan() && [metals[0], metals[2]] == [0.4_f32, 0.6].map(f64::from));
    }
}

#[test]
fn tipsy_with_ids_in_the_potential_field() {
    let mut file = Bytes(Vec::new(), false);
    file.f64(&[0.0]).i32(&[3, 3, 0, 1, 2, 32758]);
    file.f32(&[1.0; 7]).f32(&[0.5]).i32(&[200_000_007]);
    file.f32(&[2.0; 7]).f32(&[0.0, 0.0, 0.25]).i32(&[100_000_001]);
    file.f32(&[3.0; 7]).f32(&[0.0, 0.0, 0.25]).i32(&[0]);
    let snapshot = read(&file.0);
    assert_eq!(snapshot.bodies.id, [200_000_007, 100_000_001, 0]);
    let names: Vec<_> = snapshot
        .bodies
        .component
        .iter()
        .map(|&c| snapshot.bodies.components[c as usize].name.as_str())
        .collect();
    assert_eq!(names, ["halo", "bulge", "disk"]);
    assert_eq!(snapshot.extra.keys().collect::<Vec<_>>(), ["eps"]);
}

/// Appends a Fortran record with its length markers.
fn record(file: &mut Bytes, fill: impl FnOnce(&mut Bytes)) {
    let mut data = Bytes(Vec::new(), file.1);
    fill(&mut data);
    let length = data.0.len() as i32;
    file.i32(&[length]);
    file.0.extend(data.0);
    file.i32(&[length]);
}

/// Two gas, one halo and two star bodies; the halo's mass is in the table, the others in the block.
fn gadget(big: bool, format: i32, double: bool) -> Vec<u8> {
    let mut file = Bytes(Vec::new(), big);
    let block = |file: &mut Bytes, name: &[u8; 4], fill: &dyn Fn(&mut Bytes)| {
        if format == 2 {
            record(file, |data| {
                data.0.extend(name);
                data.i32(&[0]);
            });
        }
        record(file, fill);
    };
    let numbers = |data: &mut Bytes, values: &[f64]| {
        if double {
            data.f64(values);
        } else {
            data.f32(&values.iter().map(|&v| v as f32).collect::<Vec<_>>());
        }
    };
    block(&mut file, b"HEAD", &|data| {
        data.i32(&[2, 1, 0, 0, 2, 0]).f64(&[0.0, 0.125, 0.0, 0.0, 0.0, 0.0]).f64(&[0.5, 1.0]);
        data.i32(&[1, 0, 2, 1, 0, 0, 2, 0, 0, 1]).f64(&[100.0, 0.3, 0.7, 0.7]);
        data.0.resize(256, 0);
    });
    let fifteen: Vec<f64> = (0..15).map(f64::from).collect();
    block(&mut file, b"POS ", &|data| numbers(data, &fifteen));
    block(&mut file, b"VEL ", &|data| numbers(data, &fifteen));
    block(&mut file, b"ID  ", &|data| {
        if double {
            data.f64(&[9, 8, 7, 6, 5].map(f64::from_bits));
        } else {
            data.i32(&[9, 8, 7, 6, 5]);
        }
    });
    block(&mut file, b"MASS", &|data| numbers(data, &[1.0, 2.0, 3.0, 4.0]));
    block(&mut file, b"U   ", &|data| numbers(data, &[0.5, 0.75]));
    block(&mut file, b"WHAT", &|data| numbers(data, &[1.0, 2.0, 3.0, 4.0, 5.0]));
    block(&mut file, b"ODD ", &|data| {
        data.0.extend([1; 7]);
    });
    file.0
}

/// Three gas and two halo bodies in two files of format 1, as the user guide of GADGET-2 describes
/// them: the header's words 31 and 24 to 29 are the number of files and the bodies in all of them.
#[test]
fn gadget_in_two_files() {
    let file = |counts: [i32; 2], first: f32| {
        let mut file = Bytes(Vec::new(), false);
        record(&mut file, |data| {
            data.i32(&[counts[0], counts[1], 0, 0, 0, 0]).f64(&[2.0, 0.5, 0.0, 0.0, 0.0, 0.0]);
            data.f64(&[0.5, 0.0]).i32(&[0, 0]).i32(&[3, 2, 0, 0, 0, 0]).i32(&[0, 2]);
            data.0.resize(256, 0);
        });
        let n = (counts[0] + counts[1]) as usize;
        let numbers = |count: usize| (0..count).map(|k| first + k as f32).collect::<Vec<_>>();
        for count in [3 * n, 3 * n] {
            record(&mut file, |data| {
                data.f32(&numbers(count));
            });
        }
        record(&mut file, |data| {
            let ids = numbers(n);
            data.i32(&ids.iter().map(|id| *id as i32).collect::<Vec<_>>());
        });
        record(&mut file, |data| {
            data.f32(&numbers(counts[0] as usize));
        });
        file.0
    };
    let files = [("snap_000.1", file([1, 1], 100.0)), ("snap_000.0", file([2, 1], 0.0))];
    let parts = files.iter().map(|(name, bytes)| SnapshotSource::bytes(name, bytes));
    let snapshot = gravitile::snapshot::read(SnapshotSource::parts(parts)).unwrap();
    let bodies = &snapshot.bodies;
    // Type after type, and in each file after file.
    assert_eq!(bodies.id, [0, 1, 100, 2, 101]);
    assert_eq!(bodies.mass, [2.0, 2.0, 2.0, 0.5, 0.5]);
    assert_eq!(bodies.position[2], DVec3::new(100.0, 101.0, 102.0));
    assert_eq!(bodies.velocity[3], DVec3::new(6.0, 7.0, 8.0));
    assert_eq!(snapshot.extra["U"].to_f64()[..3], [0.0, 1.0, 100.0]);
    assert_eq!(snapshot.time, 0.5);
}

#[test]
fn gadget_in_both_orders_formats_and_precisions() {
    for (big, format, double) in
        [(false, 1, false), (true, 1, true), (false, 2, false), (true, 2, false), (false, 2, true)]
    {
        let snapshot = read(&gadget(big, format, double));
        let bodies = &snapshot.bodies;
        assert_eq!(snapshot.time, 0.5);
        // The header has Omega_0 = 0.3 and h = 0.7, so lengths are in kpc/h; rewriting keeps the
        // numbers.
        let Units { length, gravitational_constant, .. } = &snapshot.units;
        assert_eq!((length.as_str(), *gravitational_constant), ("1.42857143 kpc", 43007.1));
        let (rewritten, losses) = super::through(&snapshot, "gadget2");
        assert_eq!(
            (rewritten.units, rewritten.bodies.position),
            (snapshot.units.clone(), bodies.position.clone())
        );
        assert!(!losses.iter().any(|text| text.contains("units")), "{losses}");
        assert!(snapshot.notes[0].contains("file: does not state its units: 1.42857143 kpc"));
        assert_eq!(bodies.mass, [1.0, 2.0, 0.125, 3.0, 4.0]);
        assert_eq!(bodies.position[2], DVec3::new(6.0, 7.0, 8.0));
        assert_eq!(bodies.velocity[4], DVec3::new(12.0, 13.0, 14.0));
        assert_eq!(bodies.id, [9, 8, 7, 6, 5]);
        assert_eq!(bodies.component, [0, 0, 1, 2, 2]);
        let names: Vec<_> = bodies.components.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["gas", "halo", "stars"]);
        assert_eq!(snapshot.attributes["redshift"], "1.0");
        assert_eq!(snapshot.attributes["hubble_parameter"], "0.7");
        assert_eq!(snapshot.attributes["gadget.flag_sfr"], "1");
        let energies = snapshot.extra["U"].to_f64();
        assert!(energies[..2] == [0.5, 0.75] && energies[2].is_nan());
        let kind = if double { ColumnType::F64 } else { ColumnType::F32 };
        assert_eq!(snapshot.extra["U"].kind(), kind);
        let unknown = if format == 2 { "WHAT" } else { "X001" };
        assert_eq!(snapshot.extra[unknown].to_f64(), [1.0, 2.0, 3.0, 4.0, 5.0].as_slice());
        assert!(snapshot.attributes["gadget.skipped"].contains("(7 bytes at byte"));
        assert_eq!(snapshot.attributes.contains_key("layout.gadget.ids"), double);
    }
}

#[test]
fn broken_markers_and_missing_blocks_are_named() {
    let mut file = gadget(false, 1, false);
    file[260] = 1;
    let text = Snapshot::from_bytes(&file, "a.gadget1").unwrap_err().to_string();
    assert!(
        text.contains("the length at byte 0 is 256, but the one after it at byte 260 is 257"),
        "{text}"
    );
    let file = gadget(false, 2, false);
    let at = file.windows(4).position(|name| name == b"MASS").unwrap();
    let text = Snapshot::from_bytes(&file[..at - 4], "a").unwrap_err().to_string();
    assert!(text.contains("no block MASS") && text.contains("gas, stars"), "{text}");
    let text = Snapshot::from_bytes(&file[..at + 2], "a").unwrap_err().to_string();
    assert!(text.contains("ends too early"), "{text}");
}

#[test]
fn hand_written_tables_are_read() {
    let plain =
        read(b"# id m x y z vx vy vz\n7 1 2 3 4 5 6 7\n\n8.0e+00 1.D0 0 0 0 0 0 0 # last\n");
    assert_eq!(plain.bodies.id, [7, 8]);
    assert_eq!(plain.bodies.position[0], DVec3::new(2.0, 3.0, 4.0));
    assert_eq!(plain.bodies.mass, [1.0, 1.0]);
    let seven = read(b"1\t2\t3\t4\t5\t6\t7\r\n1 0 0 0 0 0 0\r\n");
    assert_eq!(seven.bodies.id, [0, 1]);
    assert_eq!(seven.bodies.velocity[0], DVec3::new(5.0, 6.0, 7.0));
    let csv = read(b"\xef\xbb\xbfVZ, VY, VX, Z, Y, X, Mass, Component, temp\n7,6,5,4,3,2,1,halo,\n0,0,0,0,0,0,1, disk ,8.5\n");
    assert_eq!(csv.bodies.position[0], DVec3::new(2.0, 3.0, 4.0));
    assert_eq!(csv.bodies.components[0].role, gravitile::bodies::Role::Halo);
    assert_eq!(csv.bodies.components[1].name, "disk");
    assert!(!csv.extra["temp"].has_value(0) && csv.extra["temp"].value(1) == 8.5);
    let quoted = read(b"m x y z vx vy vz component\n1 0 0 0 0 0 0 \"disk of galaxy 1\"\n");
    assert_eq!(quoted.bodies.components[0].name, "disk of galaxy 1");
}
