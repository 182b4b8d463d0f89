//! `gravitile analyse`: tables over time, profiles, rings and pictures from the command line, and
//! the choice among the snapshots of a file.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Output;

use glam::DVec3;
use gravitile::bodies::{Bodies, Component, Role};
use gravitile::snapshot::{Snapshot, WriteOptions, write};
use gravitile::units::Units;

use crate::program;

fn gravitile(args: &[&str]) -> Output {
    program::program().args(args).output().expect("it should start")
}

fn works(args: &[&str]) -> String {
    let output = gravitile(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refused(args: &[&str], words: &str) {
    let output = gravitile(args);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
    assert!(error.contains(words) && error.trim_end().lines().count() == 1, "{args:?}: {error}");
}

/// The rows of a table by column name, and its comments.
fn table(text: &str) -> (Vec<BTreeMap<String, String>>, String) {
    let comments: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).collect();
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields.len(), names.len(), "{line}");
        names.iter().zip(fields).map(|(name, field)| ((*name).into(), field.into())).collect()
    };
    (lines.map(row).collect(), comments.join("\n"))
}

fn number(row: &BTreeMap<String, String>, name: &str) -> f64 {
    row[name].parse().unwrap_or_else(|_| panic!("{name} in {row:?}"))
}

/// A halo of 40 bodies on a spiral and a disk of 20 in circles, in kpc, of total mass 6.
fn galaxy() -> Snapshot {
    let mut bodies = Bodies::with_capacity(60);
    bodies.components =
        vec![Component::new("halo, dark", Role::Halo), Component::new("disk", Role::Disk)];
    for k in 0..40 {
        let (r, angle) = (0.1 + f64::from(k) * 0.1, f64::from(k) * 2.4);
        let place = DVec3::new(angle.cos(), angle.sin(), (f64::from(k) * 0.7).sin()) * r;
        bodies.push(0.1, place, DVec3::ZERO, 0);
    }
    for k in 0..20 {
        let angle = f64::from(k) * std::f64::consts::TAU / 20.0;
        let outwards = DVec3::new(angle.cos(), angle.sin(), 0.0);
        bodies.push(0.1, outwards * 2.0, DVec3::Z.cross(outwards) * 0.5, 1);
    }
    let units = Units { length: "kpc".into(), mass: "Msun".into(), ..Units::default() };
    Snapshot { units, ..Snapshot::new(bodies, 2.5) }
}

#[test]
fn table_has_a_row_per_component_and_units_in_its_header() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    write(at("a.gvt"), &galaxy(), &WriteOptions::default()).unwrap();
    let path = at("a.gvt");
    let (rows, comments) = table(
        &works(&["analyse", &path, "--fractions", "0.25,1"]).replace("\"halo, dark\"", "halo"),
    );
    assert!(comments.contains("#: unit.length = kpc\n#: unit.mass = Msun\n"), "{comments}");
    let components: Vec<_> = rows.iter().map(|row| row["component"].as_str()).collect();
    assert_eq!(components, ["all", "halo", "disk"]);
    assert!(rows.iter().all(|row| row["time"] == "2.5" && row["snapshot"] == path));
    assert!((number(&rows[0], "mass") - 6.0).abs() < 1e-12);
    assert_eq!(number(&rows[2], "bodies"), 20.0);
    // The ring's bodies are 2 from its centre and turn with 0.5.
    for (name, right) in [
        ("r_half", 2.0),
        ("r_0.25", 2.0),
        ("r_1", 2.0),
        ("sigma_r", 0.0),
        ("sigma_t", 0.125_f64.sqrt()),
        ("segregation", 1.0),
    ] {
        assert!((number(&rows[2], name) - right).abs() < 1e-12, "{name}: {rows:?}");
    }
    // sigma_r is 0 but for rounding.
    assert!(number(&rows[2], "beta") < -1e20);
    // Mass 6 within 4 binds bodies at rest and at a speed of 0.5.
    assert!((number(&rows[0], "bound_mass") - 6.0).abs() < 1e-12);
    assert!(!works(&["analyse", &path, "--no-bound"]).contains("bound_mass"));

    // As JSON, into a file, and never over one.
    let out = at("out.csv");
    let json: serde_json::Value = serde_json::from_str(&works(&[
        "analyse", &path, "--json", "--rings", "--bins", "4", "--range", "1,2.2", "--out", &out,
    ]))
    .unwrap();
    let disk = &json["snapshots"][0]["components"][2];
    assert_eq!(
        (disk["component"].as_str(), disk["rings"][3]["bodies"].as_f64()),
        (Some("disk"), Some(20.0))
    );
    assert!((disk["rings"][3]["v_phi"].as_f64().unwrap() - 0.5).abs() < 1e-12, "{disk}");
    assert!(json["units"]["length"] == "kpc" && json["engine"].is_string());
    let (rows, _) = table(&fs::read_to_string(&out).unwrap());
    assert_eq!(rows.len(), 4);
    // 20 bodies of 0.1 between 1.65 and 2.2.
    let area = std::f64::consts::PI * (2.2 * 2.2 - 1.65 * 1.65);
    assert!((number(&rows[3], "surface_density") * area - 2.0).abs() < 1e-9);
    refused(&["analyse", &path, "--out", &out], "--force");
}

#[test]
fn profile_and_pictures_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (first, mut second) = (galaxy(), galaxy());
    second.time = 3.0;
    second.bodies.position.iter_mut().for_each(|x| *x *= 2.0);
    for (name, snapshot) in [("a.gvt", &first), ("b.gvt", &second)] {
        write(at(name), snapshot, &WriteOptions::default()).unwrap();
    }
    let text = works(&[
        "analyse",
        &at("a.gvt"),
        &at("b.gvt"),
        "--profile",
        "--range",
        "0.01,100",
        "--bins",
        "6",
        "--about",
        "disk",
        "--svg",
        &at("pictures"),
    ]);
    let (rows, _) = table(&text.replace("\"halo, dark\"", "halo"));
    assert_eq!(rows.len(), 2 * 3 * 6);
    let bodies: f64 = rows[..6].iter().map(|row| number(row, "bodies")).sum();
    assert_eq!((bodies, number(&rows[5], "mass_within").round()), (60.0, 6.0));
    for name in ["density", "dispersion", "surface_density", "radii"] {
        let svg = fs::read_to_string(at(&format!("pictures/{name}.svg"))).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("kpc"), "{name}");
    }
    refused(&["analyse", &at("a.gvt"), "--svg", &at("pictures")], "--force");
    refused(&["analyse", &at("a.gvt"), "--profile", "--about", "gas"], "one of: halo, dark, disk");
}

#[test]
fn runs_and_series_give_rows_over_time() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run").display().to_string();
    let engine = ["--engine", "reference"];
    let start = ["run", "plummer", "-n", "64", "--dt", "0.25", "--until", "1", "--every", "0.5"];
    works(&[&start[..], &["--eps", "0.1", "--out", &run], &engine].concat());
    let times = |args: &[&str]| -> Vec<f64> {
        let text = works(&[&["analyse"], args, &engine].concat());
        table(&text).0.iter().map(|row| number(row, "time")).collect()
    };
    assert_eq!(times(&[&run]), [0.0, 0.5, 1.0]);
    assert_eq!(times(&[&run, "--snapshot", "last"]), [1.0]);
    assert_eq!(times(&[&run, "--snapshot", "1"]), [0.5]);
    assert_eq!(times(&[&run, "--snapshot", "t=0.45"]), [0.5]);
    refused(&["analyse", &run, "--snapshot", "3"], "must be from 0 to 2");
    refused(&["analyse", &run, "--snapshot", "t=1.5"], "a time from 0 to 1");
    let series = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/library/snapshots/nemo");
    let series = series.join("series.nemo").display().to_string();
    assert_eq!(times(&[&series]), [0.0, 0.5, 1.5]);
    assert_eq!(times(&[&series, "--snapshot", "t=0.5"]), [0.5]);

    let out = folder.path().join("last.csv").display().to_string();
    works(&["convert", &series, &out, "--snapshot", "last"]);
    assert!(fs::read_to_string(&out).unwrap().contains("#: time = 1.5"));
    refused(&["convert", &series, &out, "--force", "--snapshot", "7"], "from 0 to 2");
    refused(&["convert", &series, &out, "--force", "--snapshot", "first"], "t=2.5, or last");
    refused(&["forces", "plummer", "--snapshot", "0"], "left out");
    let forces =
        works(&[&["forces", &series, "--snapshot", "last", "--json"], &engine[..]].concat());
    assert!(forces.contains("number 2 of 0 to 2"), "{forces}");
}

#[test]
fn wrong_requests_are_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let path = at("a.gvt");
    write(&path, &galaxy(), &WriteOptions::default()).unwrap();
    let mut other = galaxy();
    other.units.length = "pc".into();
    write(at("b.gvt"), &other, &WriteOptions::default()).unwrap();
    refused(&["analyse"], "not provided");
    refused(&["analyse", "nothing.gvt"], "no such file");
    refused(&["analyse", &path, &at("b.gvt")], "convert one of them first");
    refused(&["analyse", &path, "--fractions", "0.5,1.5"], "above 0 and at most 1");
    refused(&["analyse", &path, "--fractions", "x"], "fractions");
    refused(&["analyse", &path, "--profile", "--rings"], "cannot be used with");
    refused(&["analyse", &path, "--profile", "--bins", "0"], "1 to 100000");
    refused(&["analyse", &path, "--profile", "--range", "3,1"], "the second the larger");
    refused(&["analyse", &path, "--eps", "-1"], "at least 0");
    // One body and two, with and without mass.
    for (name, text) in [
        ("one.csv", "m,x,y,z,vx,vy,vz\n1,0,0,0,0,0,0\n"),
        ("two.csv", "m,x,y,z,vx,vy,vz\n0,0,0,0,0,0,0\n0,1,0,0,0,0,0\n"),
    ] {
        fs::write(at(name), text).unwrap();
        let (rows, _) = table(&works(&["analyse", &at(name)]));
        assert_eq!((rows.len(), rows[0]["bound_mass"].as_str()), (1, "0"));
    }
    refused(&["analyse", &at("one.csv"), "--profile"], "not all in one point");
}
