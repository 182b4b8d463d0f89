//! External fields by the command line: runs, restarts, forces, snapshots that carry their field,
//! and energies in files.

use crate::program;

use std::path::Path;

use glam::DVec3;
use gravitile::field::Field;

const FIELD: [&str; 4] =
    ["--field", "nfw:mass=40,scale=3,x=1", "--field", "miyamoto-nagai:mass=5,scale=2,height=0.2"];

fn run(folder: &Path, args: &[&str]) -> (bool, String, String) {
    let output = program::program().args(args).current_dir(folder).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout), text(&output.stderr))
}

fn succeeds(folder: &Path, args: &[&str]) -> String {
    let (succeeded, out, error) = run(folder, args);
    assert!(succeeded, "{args:?}: {error}");
    out
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Runs, takes the later half of its files away as a kill would, and resumes.
#[test]
fn resumed_runs_in_field_have_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let run =
        ["run", "plummer", "-n", "700", "--dt", "0.0078125", "--until", "0.5", "--every", "0.125"];
    for (name, engine) in [
        ("cpu", &["--engine", "cpu"][..]),
        ("tree", &["--engine", "cpu", "--method", "tree"]),
        ("gpu", &["--engine", "gpu"]),
        ("gpu-tree", &["--engine", "gpu", "--method", "tree"]),
        ("hermite", &["--engine", "cpu", "--integrator", "hermite6"]),
    ] {
        let n = if name == "hermite" { &["-n", "100"][..] } else { &[] };
        let args = [&run[..1], &run[1..2], if n.is_empty() { &run[2..4] } else { n }, &run[4..]];
        let args = [&args.concat()[..], engine, &FIELD, &["--out", name]].concat();
        let report = succeeds(folder.path(), &args);
        assert!(
            report.contains("in the external field nfw:mass=40,scale=3,x=1 miyamoto"),
            "{report}"
        );
        let out = folder.path().join(name);
        let plan = std::fs::read_to_string(out.join("run.toml")).unwrap();
        assert!(plan.contains("\"nfw:mass=40,scale=3,x=1\""), "{plan}");
        let log = std::fs::read_to_string(out.join("energy.csv")).unwrap();
        let column = |name: &str| {
            let at = log.lines().next().unwrap().split(',').position(|column| column == name);
            let at = at.unwrap_or_else(|| panic!("{name}: {log}"));
            let of = |row: &str| row.split(',').nth(at).unwrap().parse::<f64>().unwrap();
            log.lines().skip(1).map(of).collect::<Vec<_>>()
        };
        let all = ["kinetic", "potential", "field_potential", "bulk_kinetic", "total"].map(column);
        for row in 0..all[0].len() {
            let sum: f64 = all[..4].iter().map(|column| column[row]).sum();
            assert!((sum - all[4][row]).abs() < 1e-12, "{name}: {log}");
        }
        let error = *column("energy_error").last().unwrap();
        assert!(error.abs() < 1e-4 && all[3].last().unwrap() > &1e-3, "{name}: {log}");
        let last = out.join("step_0000000064.gvt");
        let whole = (read(&last), log.clone());
        for step in ["step_0000000048.gvt", "step_0000000064.gvt"] {
            std::fs::remove_file(out.join(step)).unwrap();
        }
        succeeds(folder.path(), &["resume", name]);
        let resumed = (read(&last), std::fs::read_to_string(out.join("energy.csv")).unwrap());
        assert!(resumed.0 == whole.0, "{name}: the last snapshot differs");
        assert!(resumed.1 == whole.1, "{name}: {} for {}", resumed.1, whole.1);
    }
}

/// Accelerations and potentials of `forces` are those without a field and the field's own.
#[test]
fn forces_include_the_field() {
    let folder = tempfile::tempdir().unwrap();
    let plain = ["forces", "plummer", "-n", "60", "--engine", "cpu", "--jerk", "--out"];
    succeeds(folder.path(), &[&plain[..], &["plain.csv"]].concat());
    let out = succeeds(folder.path(), &[&plain[..], &["field.csv", "--compare"], &FIELD].concat());
    assert!(out.contains("in the field nfw + miyamoto-nagai"), "{out}");
    let table = |name: &str| -> Vec<Vec<f64>> {
        let text = std::fs::read_to_string(folder.path().join(name)).unwrap();
        let row = |row: &str| row.split(',').map(|cell| cell.parse().unwrap()).collect();
        text.lines().skip(1).map(row).collect()
    };
    let field: Field = [FIELD[1], FIELD[3]].join(" ").parse().unwrap();
    let energy: f64 = out
        .lines()
        .find_map(|line| line.strip_prefix("potential energy "))
        .unwrap()
        .parse()
        .unwrap();
    let bodies = {
        let mut scene = gravitile::scene::Scene::builtin("plummer").unwrap();
        scene.set_n(60).unwrap();
        scene.build().unwrap()
    };
    let tables = (table("plain.csv"), table("field.csv"));
    let each = bodies.position.iter().zip(&bodies.mass).zip(&tables.0);
    let exact: f64 = each.map(|((x, m), plain)| m * (0.5 * plain[4] + field.potential(*x))).sum();
    assert!((energy / exact - 1.0).abs() < 1e-12, "{energy} for {exact}");
    for (i, (plain, found)) in tables.0.iter().zip(tables.1).enumerate() {
        let (at, moving) = (bodies.position[i], bodies.velocity[i]);
        let [a, j, _] = field.derivatives(at, moving, DVec3::ZERO);
        let added = [&a.to_array()[..], &[field.potential(at)], &j.to_array()].concat();
        for (k, added) in added.iter().enumerate() {
            let error = (found[k + 1] - plain[k + 1] - added).abs();
            assert!(error < 1e-12 * (1.0 + added.abs()), "body {i}, column {k}: {error:e}");
        }
    }
}

/// A snapshot of a run in a field is still in it when it is run again, also in other units, and so
/// is a scene; --field replaces what they have.
#[test]
fn snapshots_carry_their_field() {
    let folder = tempfile::tempdir().unwrap();
    let scene = "generator = \"plummer\"\n[parameters]\nn = 40\n[run]\nsoftening = 0.05\ndt = 0.01\n\
                 [[field]]\npotential = \"plummer\"\nmass = 8\nscale = 2\ncentre = [0, 0, 1]\n\
                 [units]\nlength = \"pc\"\nmass = \"1e4 Msun\"\ntime = \"0.1491 Myr\"\n";
    std::fs::write(folder.path().join("in-halo.toml"), scene).unwrap();
    let field_of = |args: &[&str]| -> String {
        let text = succeeds(folder.path(), &[args, &["--json", "--engine", "cpu"]].concat());
        let json: serde_json::Value = serde_json::from_str(text.trim()).unwrap();
        assert!(json["field_potential"].as_f64().unwrap() < 0.0, "{json}");
        json["field"][0].as_str().unwrap().to_owned()
    };
    let text = "plummer:mass=8,scale=2,z=1";
    assert_eq!(field_of(&["run", "in-halo.toml", "--until", "0.1", "--out", "first"]), text);
    let last = "first/step_0000000010.gvt";
    assert_eq!(field_of(&["run", last, "--until", "0.2", "--out", "second"]), text);
    let other = "point:mass=3,softening=0.5";
    let replaced = ["run", last, "--until", "0.2", "--field", other, "--out", "third"];
    assert_eq!(field_of(&replaced), other);
    let (succeeded, _, error) = run(
        folder.path(),
        &["run", "plummer", "-n", "10", "--field", "plummer:mass=1", "--out", "no"],
    );
    assert!(
        !succeeded && error.contains("'scale' of the potential 'plummer' is missing"),
        "{error}"
    );
    assert!(!folder.path().join("no").exists());
}
