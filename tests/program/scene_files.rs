//! Scene files that refer to snapshot files, units, and notes on assumptions.

use crate::program;

use std::path::{Path, PathBuf};

use glam::DVec3;
use gravitile::settings::InputRequest;
use gravitile::snapshot::{self, Snapshot, WriteOptions};
use gravitile::units::Units;

const TABLE: &str = "id,m,x,y,z,vx,vy,vz\n1,1,0,0,0,0,0,0\n2,1,1,0,0,0,1,0\n3,1,0,2,0,0,0,1\n";

fn assert_succeeds(folder: &Path, args: &[&str]) -> String {
    let mut command = program::program();
    let output = command.args(args).current_dir(folder).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?} in {}: {error}", folder.display());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn file_paths_are_relative_to_the_scene_file() {
    let folder = tempfile::tempdir().unwrap();
    let scenes = folder.path().join("sc");
    std::fs::create_dir_all(scenes.join("deep")).unwrap();
    std::fs::write(scenes.join("ok.csv"), TABLE).unwrap();
    std::fs::write(scenes.join("deep/far.csv"), TABLE).unwrap();
    let absolute = toml::Value::from(scenes.join("ok.csv").to_str().unwrap()).to_string();
    let text = format!(
        "[[part]]\nfile = \"ok.csv\"\n[[part]]\nfile = \"deep/far.csv\"\nposition = [9, 0, 0]\n\
         [[part]]\nfile = {absolute}\nposition = [0, 9, 0]\n"
    );
    std::fs::write(scenes.join("ok.toml"), text).unwrap();
    let absolute = scenes.join("ok.toml");
    let absolute = absolute.to_str().unwrap();
    for (i, (from, name)) in [
        (folder.path(), "sc/ok.toml"),
        (&scenes, "ok.toml"),
        (&scenes, "./ok.toml"),
        (&scenes.join("deep"), "../ok.toml"),
        (Path::new("/"), absolute),
    ]
    .into_iter()
    .enumerate()
    {
        let out = folder.path().join(i.to_string());
        let at = |name: &str| out.join(name).to_str().unwrap().to_owned();
        std::fs::create_dir(&out).unwrap();
        let engine = ["--engine", "cpu", "--eps", "0.1"];
        let stdout = assert_succeeds(from, &[&["forces", name], &engine[..]].concat());
        assert!(stdout.starts_with("9 bodies"), "{stdout}");
        let run = ["run", name, "--until", "0.1", "--dt", "0.05", "--out", &at("run")];
        assert_succeeds(from, &[&run, &engine[..]].concat());
        let picture = at("picture.png");
        let film = ["render", name, "--renderer", "cpu", "--size", "32x32", "--out", &picture];
        assert_succeeds(from, &[&film, &engine[..]].concat());
    }
}

/// Writes a file into the folder and returns its path.
fn write_file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn is_close(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-6
}

#[test]
fn parts_in_different_units_are_converted_to_common_units() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let table =
        |units: &str, names: &str| format!("{units}\n{names}\n2,1,0,0,0,3,0\n5,-1,0,0,0,0,0\n");
    let names = "m,x,y,z,vx,vy,vz";
    write_file(
        at,
        "pc.csv",
        &table("#: unit.length = pc\n#: unit.mass = Msun\n#: unit.velocity = km/s", names),
    );
    // The same unit of velocity: G m is the same number times 1e-3.
    write_file(
        at,
        "kpc.csv",
        &table("#: unit.length = kpc\n#: unit.mass = Msun\n#: unit.velocity = km/s", names),
    );
    write_file(at, "bare.csv", &table("", names));
    let load = |text: &str| InputRequest::named(write_file(at, "a.toml", text)).load(None);
    let part = |name: &str| format!("[[part]]\nfile = \"{name}.csv\"\n");
    let two = load(&(part("pc") + &part("kpc"))).unwrap().snapshot;
    let (bodies, units) = (&two.bodies, &two.units);
    assert_eq!((units.length.as_str(), units.gravitational_constant), ("pc", 1.0));
    let apart = |i: usize| bodies.position[i].x - bodies.position[i + 1].x;
    assert!(is_close(apart(0), 2.0) && is_close(apart(2), 2000.0), "{:?}", bodies.position);
    assert!(is_close(bodies.velocity[2].y, bodies.velocity[0].y), "{:?}", bodies.velocity);
    assert!((bodies.mass[0] / (2.0 * 4.30091e-3) - 1.0).abs() < 1e-4, "{:?}", bodies.mass);
    assert!(is_close(bodies.mass[2], bodies.mass[0]), "{:?}", bodies.mass);
    let notes = two.notes.join("\n");
    assert!(
        notes.contains("no [units]") && notes.contains("kpc.csv: converted from kpc"),
        "{notes}"
    );
    // The scene's own units take precedence.
    let own = load(
        &(part("pc") + &part("kpc") + "[units]\nlength = \"kpc\"\ntime = \"0.977792222 Gyr\"\n"),
    );
    let own = own.unwrap().snapshot;
    assert!(
        is_close(own.bodies.position[2].x - own.bodies.position[3].x, 2.0),
        "{:?}",
        own.bodies.position
    );
    let bare = load(&(part("pc") + &part("bare"))).unwrap().snapshot;
    assert!(
        is_close(bare.bodies.mass[2], 2.0)
            && bare.notes.join("").contains("bare.csv: its units (G = 1) do not")
    );
    let wrong = load(&(part("pc") + "[units]\nlength = \"pc\"\nmass = \"Msun\"\ntime = \"Myr\"\n"));
    let text = wrong.err().unwrap().to_string();
    assert!(text.contains("line 4") && text.contains("14.9096 Myr"), "{text}");
    let many: String = (0..20_000).map(|_| part("pc")).collect();
    let text = load(&many).err().unwrap().to_string();
    assert!(text.contains("20000") && text.contains("at most 256"), "{text}");
}

#[test]
fn cosmological_snapshot_requires_the_isolated_option() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let table = PathBuf::from(write_file(folder.path(), "a.csv", TABLE));
    let bodies = snapshot::read(table).unwrap().bodies;
    let mut made = Snapshot::new(bodies, 0.5);
    made.units = Units::gadget();
    for (key, value) in [("redshift", 1.0), ("omega_0", 1.0), ("hubble_parameter", 1.0)] {
        made.attributes.insert(key.to_owned(), value.to_string());
    }
    snapshot::write(path("a.g2"), &made, &WriteOptions::default()).unwrap();
    let request = InputRequest::named(path("a.g2").to_str().unwrap());
    let text = request.load(None).err().unwrap().to_string();
    assert!(text.contains("expanding universe") && text.contains("--isolated"), "{text}");
    let isolated = InputRequest { isolated: true, ..request };
    let loaded_snapshot = isolated.load(None).unwrap().snapshot;
    // Einstein and de Sitter at a = 1/2: H = 100 km/s/Mpc 2^1.5. The mean position is (1/3, 2/3,
    // 0).
    assert_eq!((loaded_snapshot.time, loaded_snapshot.bodies.position[1].x), (0.0, 0.5));
    let expansion = 0.1 * 8f64.sqrt() * 0.5 * (1.0 - 1.0 / 3.0);
    assert!(
        (loaded_snapshot.bodies.velocity[1].x / expansion - 1.0).abs() < 1e-6,
        "{:?}",
        loaded_snapshot.bodies.velocity
    );
    let peculiar = loaded_snapshot.bodies.velocity[1].y + 0.1 * 8f64.sqrt() * 0.5 * 2.0 / 3.0;
    assert!((peculiar / 0.5f64.sqrt() - 1.0).abs() < 1e-6, "{peculiar}");
    assert!(loaded_snapshot.notes.join("").contains("a = 0.5"), "{:?}", loaded_snapshot.notes);
    // In a scene the notes name the file, too.
    let scene = write_file(folder.path(), "a.toml", "[[part]]\nfile = \"a.g2\"\n");
    let scene = InputRequest { isolated: true, ..InputRequest::named(&scene) };
    let notes = scene.load(None).unwrap().snapshot.notes;
    assert!(
        notes.iter().all(|note| note.contains("a.g2: ") || note.contains("no [units]")),
        "{notes:?}"
    );
    assert!(!loaded_snapshot.attributes.contains_key("omega_0"));

    // A box size without cosmology counts only if the box contains all bodies.
    for (side, is_refused) in [(10.0, true), (1.5, false)] {
        let mut boxed = made.clone();
        boxed.attributes = [("box_size".to_owned(), f64::to_string(&side))].into();
        snapshot::write(path("b.g2"), &boxed, &WriteOptions::default()).unwrap();
        let loaded = InputRequest::named(path("b.g2").to_str().unwrap()).load(None);
        assert_eq!(loaded.is_err(), is_refused, "{side}");
        if let Ok(loaded) = loaded {
            assert!(loaded.snapshot.notes.join("").contains("outside it"));
        }
    }
}

#[test]
fn run_reports_units_and_assumptions() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    // The Earth's orbit, with a duplicate id.
    let units = "#: unit.length = AU\n#: unit.mass = Msun\n#: unit.time = yr\n";
    let rows = "3 1 0 0 0 0 0 0\n3 0 1 0 0 0 6.2831853 0\n";
    std::fs::write(at("earth.txt"), format!("{units}{rows}")).unwrap();
    let run = |options: &[&str]| {
        let out = at("out");
        let _ = std::fs::remove_dir_all(&out);
        let input = at("earth.txt");
        let fixed = ["run", &input, "--out", &out, "--engine", "reference", "--eps", "0"];
        let steps = ["--until", "1", "--dt", "0.0009765625", "--every", "0.5"];
        let output =
            program::program().args([&fixed[..], &steps[..], options].concat()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap())
    };
    let [stdout, notes] = run(&[]);
    assert!(
        stdout.contains("dt 0.0009765625, AU, Msun, yr, G = 39.47") && stdout.contains("t = 1 yr"),
        "{stdout}"
    );
    assert!(notes.contains("earth.txt: ids are not unique: 1 of 2"), "{notes}");
    assert!(
        notes.contains("earth.txt: the columns have no names: they are taken as id m x"),
        "{notes}"
    );
    let end = snapshot::read(&at("out/step_0000001024.gvt")).unwrap();
    assert!(
        (end.bodies.position[1] - end.bodies.position[0] - DVec3::X).length() < 1e-3,
        "{:?}",
        end.bodies
    );
    let plan = std::fs::read_to_string(at("out/run.toml")).unwrap();
    assert!(plan.contains("[units]\nlength = \"AU\"\nmass = \"Msun\"\ntime = \"yr\""), "{plan}");
    let log = std::fs::read_to_string(at("out/energy.csv")).unwrap();
    assert!(
        log.lines()
            .next()
            .unwrap()
            .contains(",unit_length,unit_mass,unit_time,gravitational_constant")
    );
    assert!(log.lines().nth(1).unwrap().contains(",\"AU\",\"Msun\",\"yr\",39.47"), "{log}");
    let json: serde_json::Value = serde_json::from_str(&run(&["--json"])[0]).unwrap();
    assert_eq!((&json["units"]["length"], &json["units"]["time"]), (&"AU".into(), &"yr".into()));
    let notes = json["notes"].to_string();
    assert!(notes.contains("ids are not unique") && notes.contains("taken as id m x"), "{notes}");
    assert!(notes.contains("has 100.0 % of the mass"), "{notes}");
    // A gravitational constant that contradicts the units.
    let [stdout, notes] = run(&["--gravity", "1"]);
    assert!(stdout.contains("dt 0.0009765625, G = 1, engine"), "{stdout}");
    assert!(notes.contains("--gravity 1: the units AU, Msun and yr"), "{notes}");
}

#[test]
fn marked_moment_is_drawn_at_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[[part]]\ngenerator = \"plummer\"\nparameters = { n = 60 }\n[view]\nextent = 2.0\n\
                [[view.moment]]\ntitle = \"first\"\ntime = 0.25\n\
                [[view.moment]]\ntitle = \"second\"\ntime = 0.5\nextent = 1.0\n";
    write_file(folder.path(), "marked.toml", text);
    let render = |number: &str, out: &str| {
        let mut command = program::program();
        let args = ["render", "marked.toml", "--moment", number, "--size", "64x36", "--out", out];
        command.args(args).current_dir(folder.path()).output().unwrap()
    };
    for (number, time) in [("1", "t = 0.250000"), ("2", "t = 0.500000")] {
        let output = render(number, &format!("{number}.png"));
        let answer = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(answer.contains("1 picture") && answer.contains(time), "{answer}");
    }
    for number in ["0", "3"] {
        let output = render(number, "none.png");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains("--moment") && error.contains("1 to 2"), "{error}");
        assert!(!folder.path().join("none.png").exists());
    }
}
