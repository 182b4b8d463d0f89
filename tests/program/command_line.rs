//! The command line: output, errors and exit codes.

use crate::program;

use std::path::Path;
use std::process::Output;

use gravitile::snapshot;

fn gravitile(args: &[&str]) -> Output {
    program::program().args(args).output().expect("it should start")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs with expected exit code 0; returns standard output.
fn works(args: &[&str]) -> String {
    let output = gravitile(args);
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// Runs with expected exit code 2 and one line on standard error that contains `words`.
fn refused(args: &[&str], words: &[&str]) {
    let output = gravitile(args);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
    for word in words {
        assert!(error.contains(word), "{args:?} should say '{word}': {error}");
    }
    assert!(!error.contains("panicked") && !error.contains("RUST_BACKTRACE"), "{error}");
    assert_eq!(error.trim_end().lines().count(), 1, "{args:?} should take one line: {error}");
}

fn json(args: &[&str]) -> serde_json::Value {
    serde_json::from_str(&works(args)).expect("it should print JSON")
}

#[test]
fn lists_and_info_as_text_and_json() {
    assert!(works(&["scenes"]).contains("galaxy-collision"));
    assert!(works(&["scenes", "galaxy-collision"]).contains("mass_ratio"));
    assert!(works(&["formats"]).contains("gadget2"));
    assert!(works(&["info"]).contains("auto, for"));
    assert!(json(&["scenes", "--json"]).as_array().unwrap().len() >= 8);
    assert!(json(&["formats", "--json"]).as_array().unwrap().len() >= 5);
    let info = json(&["info", "--json", "-n", "1000"]);
    assert_eq!(info["mpi"], cfg!(feature = "mpi"));
    assert_eq!(info["auto"]["n"], 1000);
    assert!(!info["adapters"].as_array().unwrap().is_empty());
}

#[test]
fn every_command_has_help_text() {
    let help = works(&["--help"]);
    for command in [
        "info", "scenes", "formats", "check", "forces", "run", "resume", "render", "convert",
        "analyse", "shader", "inspect", "tune", "bench", "view",
    ] {
        assert!(help.contains(command));
        assert!(works(&[command, "--help"]).contains("Usage:"));
    }
    assert!(help.contains("Examples:"));
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let out = out.to_str().unwrap();
    let run = |more: &[&str], words: &[&str]| {
        let mut args = vec!["run", "plummer", "--out", out];
        args.extend(more);
        refused(&args, words);
        assert!(!Path::new(out).exists(), "{more:?} should leave nothing behind");
    };
    run(&["-n", "0"], &["n", "0"]);
    run(&["-n", "100", "--eps", "-1"], &["eps is -1", "at least 0"]);
    run(&["-n", "100", "--eps", "NaN"], &["eps is NaN"]);
    run(&["-n", "100", "--dt", "0"], &["dt is 0", "greater than 0"]);
    run(&["-n", "100", "--dt", "-0.1"], &["dt is -0.1"]);
    run(&["-n", "100", "--until", "-1"], &["--until is -1"]);
    run(
        &["-n", "100", "--dt", "0.01", "--until", "1", "--every", "0.3141592"],
        &["--every is 0.3141592", "whole numbers of the same time step", "0.3333333333333333"],
    );
    for every in ["0", "-1", "nan", "inf"] {
        run(&["-n", "100", "--every", every], &["--every is", "finite and greater than 0"]);
    }
    run(
        &["-n", "100", "--engine", "warp"],
        &["no engine named 'warp'", "auto, gpu, cpu, reference"],
    );
    run(&["-n", "100", "--method", "warp"], &["no method named 'warp'", "auto, direct, reference"]);
    run(
        &["-n", "100", "--engine", "gpu", "--method", "reference"],
        &["the method is reference", "auto, direct or tree with the engine gpu"],
    );
    run(
        &["-n", "100", "--engine", "reference", "--method", "direct"],
        &["the method is direct", "auto or reference with the engine reference"],
    );
    run(&["-n", "100", "--integrator", "euler"], &["no integrator named 'euler'", "leapfrog"]);
    run(&["-n", "100", "--adapter", "voodoo"], &["voodoo"]);
    run(&["-n", "100", "--engine", "gpu", "--p", "100000"], &["p is 100000"]);
    run(
        &["-n", "100", "--engine", "gpu", "--p", "1024", "--q", "1024"],
        &["threads per workgroup"],
    );
    run(&["-n", "100", "--set", "colour=3"], &["colour"]);
    for (more, words) in [
        (&["--alpha", "7"][..], &["alpha is 7", "greater than 0 and at most 1"][..]),
        (&["--alpha", "0"], &["alpha is 0", "greater than 0 and at most 1"]),
        (&["--theta", "nan"], &["theta is NaN"]),
        (&["--moments", "3"], &["moments of the tree is 3", "2 (quadrupoles)"]),
        (&["--rebuild", "0"], &["rebuild is 0", "1 (at each step)"]),
        (&["--rebuild", "often"], &["--rebuild", "often", "or auto (in the window)"]),
        (&["--rebuild", "auto"], &["rebuild is auto", "for the window only"]),
        (&["--one-workgroup"], &["--one-workgroup is given", "left out with the method tree"]),
        (&["--p", "64"], &["--p is 64", "left out with the method tree"]),
        (&["--precision", "double"], &["the precision is double", "single with leapfrog"]),
        (&["--integrator", "hermite4"], &["the method is tree", "direct or reference"]),
    ] {
        let tree = ["-n", "100", "--method", "tree", "--engine", "cpu"];
        run(&[&tree[..], more].concat(), words);
    }
    let forces = ["forces", "plummer", "-n", "10", "--method", "tree", "--engine", "cpu"];
    for (more, words) in [
        (
            ["--precision", "double"],
            &["the precision is double", "single with the method tree"][..],
        ),
        (["--neighbours", "0.1"], &["the method is tree", "direct or reference"]),
        (["--rebuild", "4"], &["--rebuild is 4", "left out"]),
    ] {
        refused(&[&forces[..], &more].concat(), words);
    }

    refused(&["run", "nebula", "--out", out], &["nebula", "galaxy-collision"]);
    refused(&["run", "no/such/file.bin", "--out", out], &["no/such/file.bin", "no such file"]);
    refused(&["convert", "no-such.csv", out], &["no-such.csv"]);
    refused(&["shader", "sorcery"], &["no kernel named 'sorcery'", "all-pairs"]);
    refused(&["shader", "all-pairs", "--r", "99"], &["r is 99", "between 1 and 16"]);
    refused(&["resume", folder.path().to_str().unwrap()], &["holds no run"]);
    refused(&["forces", "plummer", "-n", "10", "--eps", "-2"], &["eps is -2"]);
    for gravity in ["nan", "inf", "-inf"] {
        for command in [&["forces", "plummer"][..], &["run", "plummer", "--out", out]] {
            let words = ["the gravitational constant is ", "must be finite"];
            let gravity = format!("--gravity={gravity}");
            refused(&[command, &["-n", "10", &gravity]].concat(), &words);
        }
    }
}

#[test]
fn uncreatable_output_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "in the way").unwrap();
    let below = file.join("run");
    refused(&["run", "plummer", "-n", "10", "--out", below.to_str().unwrap()], &["cannot create"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "in the way");
}

#[test]
fn snapshot_with_bad_numbers_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.csv");
    let name = path.to_str().unwrap();
    std::fs::write(&path, "id,m,x,y,z,vx,vy,vz\n1,1,0,0,0,0,0,0\n2,1,NaN,0,0,0,0,0\n").unwrap();
    refused(&["forces", name, "--eps", "0.1"], &["bad.csv"]);
    std::fs::write(&path, "id,m,x,y,z,vx,vy,vz\n1,-1,0,0,0,0,0,0\n").unwrap();
    refused(&["forces", name, "--eps", "0.1"], &["bad.csv", "line 2", "at least 0"]);
    std::fs::write(&path, "id,m,x,y,z,vx,vy,vz\n1,1,0,0,0,0,0,0\n").unwrap();
    refused(&["forces", name, "-n", "5"], &["-n is 5", "snapshot"]);
}

#[test]
fn written_forces_agree_with_f64() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("acc.csv");
    for engine in ["gpu", "cpu", "reference"] {
        let out = path.to_str().unwrap();
        let args =
            ["forces", "plummer", "--force", "-n", "500", "--eps", "0.05", "--engine", engine];
        let answer = json(&[&args[..], &["--out", out, "--compare", "--json"]].concat());
        assert!(answer["acceleration_rms_error"].as_f64().unwrap() < 2e-6);
        let table = std::fs::read_to_string(&path).unwrap();
        assert_eq!(table.lines().next(), Some("id,ax,ay,az,potential"));
        assert_eq!(table.lines().count(), 501);
    }
    // `--method reference` on the CPU runs the engine of that name.
    let words = ["forces", "plummer", "-n", "50", "--eps", "0.05", "--json", "--method"];
    for engine in ["cpu", "auto", "reference"] {
        let answer = json(&[&words[..], &["reference", "--engine", engine]].concat());
        assert_eq!(answer["engine"], "reference", "{engine}");
    }
}

#[test]
fn coincident_bodies_give_finite_forces() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pair.csv");
    std::fs::write(
        &path,
        "id,m,x,y,z,vx,vy,vz\n1,1,1,2,3,0,0,0\n2,1,1,2,3,0,0,0\n3,1,4,5,6,0,0,0\n",
    )
    .unwrap();
    let out = folder.path().join("acc.csv");
    for engine in ["gpu", "cpu", "reference"] {
        works(&[
            "forces",
            path.to_str().unwrap(),
            "--force",
            "--eps",
            "0",
            "--engine",
            engine,
            "--out",
            out.to_str().unwrap(),
        ]);
        let table = std::fs::read_to_string(&out).unwrap();
        assert!(!table.contains("NaN") && !table.contains("inf"), "{engine}: {table}");
    }
}

/// Bodies 7 and 9 are so close that their force overflows f64, or f32.
#[test]
fn non_finite_forces_are_refused_naming_the_id() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("pair.csv"), folder.path().join("acc.csv"));
    let (path, out) = (path.to_str().unwrap(), out.to_str().unwrap());
    let near = |away: &str| {
        let rows = format!("5,1,1,0,0,0,1,0\n7,1,0,0,0,1,0,0\n9,1,{away},0,0,0,0,1\n");
        std::fs::write(path, format!("id,m,x,y,z,vx,vy,vz\n{rows}")).unwrap();
    };
    let expect_refusal = |more: &[&str], what: &str| {
        let args = ["forces", path, "--eps", "0", "--out", out];
        let words = ["body 1 (id 7)", what, "not finite", "softening"];
        refused(&[&args[..], more].concat(), &words);
        assert!(!Path::new(out).exists(), "{more:?}");
    };
    near("1e-120");
    expect_refusal(&["--engine", "reference"], "acceleration");
    for engine in ["reference", "cpu"] {
        expect_refusal(&["--engine", engine, "--jerk", "--snap"], "acceleration");
    }
    near("3e-18");
    for tier in ["single", "double-single"] {
        expect_refusal(&["--engine", "gpu", "--jerk", "--precision", tier], "acceleration");
    }
    near("1e-9");
    works(&["forces", path, "--eps", "0", "--engine", "gpu", "--snap", "--out", out]);
}

#[test]
fn shaders_are_printed_in_four_languages() {
    let folder = tempfile::tempdir().unwrap();
    assert!(works(&["shader", "all-pairs", "--p", "64", "--r", "2"]).contains("const R: u32 = 2u"));
    for (extension, sign) in [("wgsl", "@compute"), ("msl", "kernel void"), ("hlsl", "numthreads")]
    {
        let path = folder.path().join(format!("k.{extension}"));
        works(&["shader", "untiled", "--out", path.to_str().unwrap()]);
        assert!(std::fs::read_to_string(&path).unwrap().contains(sign), "{extension}");
    }
    let path = folder.path().join("k.spv");
    works(&["shader", "leapfrog", "--out", path.to_str().unwrap()]);
    assert_eq!(std::fs::read(&path).unwrap()[..4], 0x0723_0203u32.to_le_bytes());
}

#[test]
fn convert_writes_the_bodies_of_a_scene() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    works(&["convert", "plummer", &at("a.gvt"), "-n", "50", "--seed", "3"]);
    let run = ["run", "plummer", "-n", "50", "--seed", "3", "--until", "0.01", "--dt", "0.01"];
    works(&[&run[..], &["--out", &at("run")]].concat());
    let read = |name: &str| snapshot::read(&*at(name)).unwrap();
    let (converted, of_run) = (read("a.gvt"), read("run/step_0000000000.gvt"));
    assert!(converted.bodies == of_run.bodies && converted.units == of_run.units);
    refused(&["convert", &at("a.gvt"), &at("b.csv"), "-n", "9"], &["-n", "changes a scene"]);
    refused(&["convert", "plumer", &at("b.csv")], &["plumer", "galaxy-collision"]);
    refused(&["convert", "plummer", &at("b.csv"), "--renumber"], &["--renumber"]);
    assert!(!folder.path().join("b.csv").exists());
}

#[test]
fn convert_reports_lost_data() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    works(&["run", "plummer", "-n", "50", "--until", "0.02", "--dt", "0.01", "--out", &at("run")]);
    let snapshot = at("run/step_0000000002.gvt");
    let answer = json(&["convert", &snapshot, &at("b.tipsy"), "--json"]);
    assert_eq!(answer["n"], 50);
    assert!(!answer["losses"].as_array().unwrap().is_empty());
    works(&["convert", &snapshot, &at("b.csv")]);
    works(&["convert", &at("b.csv"), &at("c.gvt")]);
    refused(&["convert", &snapshot, &at("b.jpeg")], &["b.jpeg"]);
}

#[test]
fn multi_file_snapshots_work_in_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    works(&["run", "plummer", "-n", "50", "--until", "0.02", "--dt", "0.01", "--out", &at("run")]);
    let first = at("run/step_0000000000.gvt");
    let output =
        works(&["convert", &first, &at("snap"), "--to", "gadget2-f64-raw", "--files", "3"]);
    assert!(output.contains("3 files, ") && output.contains("snap.2\n"), "{output}");
    let files = ["convert", &first, &at("snap"), "--to", "gadget2", "--files", "3"];
    refused(&files, &["snap.0: is there already"]);
    refused(&["convert", &first, &at("t"), "--to", "tipsy", "--files", "3"], &["gadget1, gadget2"]);
    refused(&["convert", &first, &at("g.g2"), "--files", "51"], &["must be 1 to 50"]);

    // From within the folder, by the common name and by that of one file.
    let around = format!("../{}/snap", folder.path().file_name().unwrap().to_str().unwrap());
    for name in ["snap", "./snap.1", &around] {
        let output = program::program()
            .args(["convert", name, "back.gvt", "--force"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let [back, first] =
            [&at("back.gvt"), &first].map(|path| snapshot::read(path).unwrap().bodies);
        assert_eq!((back.id, back.mass), (first.id, first.mass), "{name}");
        assert_eq!((back.position, back.velocity), (first.position, first.velocity), "{name}");
    }
    let out = at("again");
    let run = ["run", &at("snap"), "--until", "0.02", "--dt", "0.01", "--eps", "0.1", "--gravity"];
    let answer = json(&[&run[..], &["1", "--engine", "cpu", "--json", "--out", &out]].concat());
    assert_eq!(answer["n"], 50);
    let picture = at("a.png");
    works(&["render", &at("snap.2"), "--out", &picture, "--size", "64x64"]);
    assert!(std::fs::metadata(&picture).unwrap().len() > 0);
    // Every command names the missing file.
    std::fs::remove_file(at("snap.1")).unwrap();
    for name in ["snap", "snap.0", "snap.2"] {
        refused(
            &["convert", &at(name), &at("c.gvt")],
            &["one of the 3 files", "snap.1 is not there"],
        );
        refused(&["forces", &at(name)], &["one of the 3 files", "snap.1 is not there"]);
    }
    assert!(works(&["formats"]).contains("snap_000.3"));
    let formats = json(&["formats", "--json"]);
    let several = |format: &&serde_json::Value| format["in_several_files"] == true;
    assert_eq!(formats.as_array().unwrap().iter().filter(several).count(), 4);

    // The project's own format has an index.
    let (own, part) = (at("own.gvt"), at("own.2.gvt"));
    let output = works(&["convert", &first, &own, "--files", "3"]);
    assert!(
        output.contains("3 files and their index ") && output.contains("own.gvt\n"),
        "{output}"
    );
    refused(&["convert", &first, &own, "--files", "3"], &["own.0.gvt: is there already"]);
    for name in [&own, &part] {
        works(&["render", name, "--out", &at("own.png"), "--size", "64x64", "--force"]);
        assert_eq!(snapshot::read(name).unwrap(), snapshot::read(&first).unwrap());
    }
    std::fs::remove_file(at("own.1.gvt")).unwrap();
    for name in [&own, &part] {
        let words = ["own.gvt: is the index of a snapshot in 3 files", "own.1.gvt is not there"];
        refused(&["convert", name, &at("d.gvt")], &words);
        refused(&["forces", name], &words);
    }

    // All names that a shell finds for many*.gvt: one snapshot.
    let many = [".gvt", ".0.gvt", ".1.gvt", ".2.gvt"].map(|end| at(&format!("many{end}")));
    works(&["convert", &first, &many[0], "--files", "3"]);
    let named: Vec<&str> = many.iter().map(String::as_str).collect();
    let alone = works(&["analyse", "--json", &many[0]]);
    assert_eq!(works(&[&["analyse", "--json"], &named[..]].concat()), alone);
    // What the index no longer lists is removed.
    let is_there = || many.each_ref().map(|file| Path::new(file).exists());
    works(&["convert", &first, &many[0], "--files", "2", "--force"]);
    assert_eq!(is_there(), [true, true, true, false]);
    works(&["convert", &first, &many[0], "--force"]);
    assert_eq!(is_there(), [true, false, false, false]);
}

#[test]
fn run_json_output_has_expected_fields() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let out = out.to_str().unwrap();
    let args = ["run", "plummer", "-n", "300", "--dt", "0.01", "--until", "1", "--every", "0.5"];
    let answer = json(&[&args[..], &["--out", out, "--json"]].concat());
    assert_eq!((&answer["n"], &answer["steps"]), (&300.into(), &100.into()));
    assert!(answer["energy_error"].as_f64().unwrap().abs() < 1e-2);
    assert_eq!(answer["interactions"], 101 * 300 * 300);
    for key in [
        "time",
        "energy_initial",
        "energy_final",
        "wall_secs",
        "engine",
        "method",
        "adapter",
        "configuration",
    ] {
        assert!(answer.get(key).is_some(), "{key}");
    }
    let log = std::fs::read_to_string(Path::new(out).join("energy.csv")).unwrap();
    assert_eq!(log.lines().count(), 4, "{log}");
    // A second run in the same folder would overwrite the first.
    refused(&[&args[..], &["--out", out]].concat(), &["holds a run already", "resume"]);
}

#[test]
fn json_mode_prints_errors_as_objects() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let out = out.to_str().unwrap();
    for (args, kind, words) in [
        (&["run", "nebula", "--out", out, "--json"][..], "unknown", "nebula"),
        (&["run", "plummer", "--eps", "-1", "--out", out, "--json"], "value", "eps is -1"),
        (&["resume", folder.path().to_str().unwrap(), "--json"], "file", "holds no run"),
        (&["run", "plummer", "--frames", "3", "--json"], "usage", "--frames"),
    ] {
        let output = gravitile(args);
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            (&found["error"]["kind"], &found["error"]["exit_code"]),
            (&kind.into(), &2.into())
        );
        let message = found["error"]["message"].as_str().unwrap();
        assert!(message.contains(words), "{message}");
        assert_eq!(text(&output.stderr), format!("gravitile: {message}\n"));
    }
    assert!(gravitile(&["run", "nebula", "--out", out]).stdout.is_empty());
}

#[test]
fn render_writes_films_and_does_not_overwrite() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let film = at("film.apng");
    let make = ["render", "disk-galaxy", "-n", "500", "--until", "1", "--size", "160x90"];
    for engine in ["cpu", "gpu"] {
        let more = ["--frames", "3", "--engine", engine, "--out", &film, "--force", "--json"];
        let answer = json(&[&make[..], &more].concat());
        assert_eq!((&answer["frames"], &answer["time"]), (&3.into(), &1.0.into()));
        let bytes = std::fs::read(&film).unwrap();
        assert!(bytes.starts_with(b"\x89PNG") && bytes.windows(4).any(|w| w == b"acTL"));
    }
    refused(
        &[&make[..], &["--frames", "3", "--out", &film]].concat(),
        &["is there already", "--force"],
    );
    let deep = at("deep.apng");
    refused(
        &[&make[..], &["--deep", "--frames", "3", "--out", &deep]].concat(),
        &["--deep", "picture.png or frames/"],
    );
    // A single picture shows the initial state, or that of the requested time, with either
    // renderer.
    for renderer in ["cpu", "gpu"] {
        let (now, later) = (at(&format!("{renderer}.png")), at(&format!("{renderer}-1.png")));
        let paint = |picture: &str, more: &[&str]| {
            let args = ["render", "disk-galaxy", "-n", "500", "--size", "160x90", "--json"];
            json(&[&args[..], more, &["--renderer", renderer, "--out", picture]].concat())
        };
        assert_eq!(paint(&now, &[])["time"], 0.0);
        let answer = paint(&later, &["--until", "1", "--engine", "cpu"]);
        assert_eq!((&answer["time"], &answer["frames"]), (&1.0.into(), &1.into()));
        assert!(answer["steps"].as_u64().unwrap() > 0);
        assert!(answer["energy_error"].as_f64().unwrap().abs() < 0.05);
        assert!(answer["warnings"].as_array().unwrap().is_empty());
        let [now, later] = [now, later].map(|path| std::fs::read(path).unwrap());
        assert!(now.len() > 1000 && later.len() > 1000 && now != later);
    }
    works(&[&make[..], &["--frames", "2", "--colour", "speed", "--out", &at("frames/")]].concat());
    assert!(folder.path().join("frames/frame_000001.png").exists());

    refused(&[&make[..], &["--frames", "0", "--out", &at("x.png")]].concat(), &["--frames is 0"]);
    refused(
        &[&make[..], &["--colour", "taste", "--out", &at("x.png")]].concat(),
        &["component, speed"],
    );
    refused(
        &[&make[..], &["--follow", "nobody", "--out", &at("x.png")]].concat(),
        &["nobody", "disk"],
    );
    refused(&[&make[..], &["--out", &at("x.jpeg")]].concat(), &["film.mp4", "film.apng"]);
    refused(&[&make[..], &["--out", &at("no/such/x.png")]].concat(), &["no folder"]);
}

/// A single picture has the bits of a film's first frame, and computes forces only for colours that
/// show them.
#[test]
fn picture_computes_forces_only_if_colours_need_them() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (picture, frames) = (at("picture.png"), at("frames/"));
    let n = 700;
    let make = ["render", "galaxy-collision", "-n", "700", "--size", "160x90", "--force", "--json"];
    for (more, forces) in [
        (&["--engine", "cpu"][..], 0),
        (&["--engine", "gpu"], 0),
        (&["--engine", "gpu", "--renderer", "cpu", "--follow", "centre"], 0),
        (&["--engine", "reference", "--renderer", "gpu", "--colour", "age", "--halo"], 0),
        (&["--engine", "gpu", "--gravity", "43007.1", "--colour", "speed"], 0),
        (&["--engine", "gpu", "--integrator", "hermite4", "--dt", "0.01"], 0),
        (&["--engine", "cpu", "--colour", "acceleration"], n * n),
        (&["--engine", "gpu", "--colour", "acceleration"], n * n),
    ] {
        let one = json(&[&make[..], more, &["--frames", "1", "--out", &picture]].concat());
        assert_eq!(one["interactions"], forces, "{more:?}");
        let two = ["--frames", "2", "--until", "0.01", "--out", &frames];
        json(&[&make[..], more, &two].concat());
        let bytes = |path: &Path| std::fs::read(path).unwrap();
        let first = bytes(&folder.path().join("frames/frame_000000.png"));
        assert!(
            bytes(Path::new(&picture)) == first,
            "{more:?}: another picture than a film's first"
        );
    }
    // Settings that a simulation would refuse are refused without one.
    let picture = [&make[..7], &["--frames", "1", "--out", &picture]].concat();
    for (more, words) in [
        (&["--engine", "gpu", "--precision", "double"][..], "single with leapfrog"),
        (&["--engine", "reference", "--precision", "single"], "precision"),
        (&["--engine", "gpu", "--p", "3", "--q", "400"], "3"),
        (&["--engine", "gpu", "--adapter", "no such adapter"], "no such adapter"),
        (&["--adapter", "no such adapter"], "no such adapter"),
    ] {
        refused(&[&picture[..], more].concat(), &[words]);
    }
}

#[test]
fn derivatives_and_neighbours_are_written_as_columns() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (table, lists) = (at("acc.csv"), at("acc.neighbours.csv"));
    let args = ["forces", "plummer", "-n", "100", "--eps", "0", "--jerk", "--snap"];
    let more = ["--neighbours", "0.3", "--compare", "--out", &table, "--json"];
    let answer = json(&[&args[..], &more].concat());
    for derivative in ["acceleration", "jerk", "snap", "potential"] {
        let error = answer[format!("{derivative}_worst_error")].as_f64().unwrap();
        assert!(error < 1e-11, "{derivative}: {error}");
    }
    assert_eq!((&answer["precision"], &answer["lists_cut_short"]), (&"double".into(), &0.into()));
    let text = std::fs::read_to_string(&table).unwrap();
    let mut rows = text.lines();
    assert_eq!(
        rows.next().unwrap(),
        "id,ax,ay,az,potential,jx,jy,jz,sx,sy,sz,nearest_id,nearest_distance,n_neighbours"
    );
    let counts: usize =
        rows.map(|row| row.rsplit(',').next().unwrap().parse::<usize>().unwrap()).sum();
    let lists = std::fs::read_to_string(&lists).unwrap();
    assert_eq!(
        (lists.lines().next().unwrap(), lists.lines().count()),
        ("id,neighbour_id", counts + 1)
    );
    refused(&[&args[..], &more].concat(), &["acc.csv", "is there already", "--force"]);
    std::fs::remove_file(&table).unwrap();
    refused(&[&args[..], &more].concat(), &["acc.neighbours.csv", "is there already"]);
    let cut = works(&[&args[..], &more[..2], &["--capacity", "2"]].concat());
    assert!(cut.contains("have more than 2 neighbours"), "{cut}");
    let jerk = at("jerk.csv");
    works(&["forces", "plummer", "-n", "10", "--jerk", "--out", &jerk]);
    let text = std::fs::read_to_string(&jerk).unwrap();
    assert!(text.starts_with("id,ax,ay,az,potential,jx,jy,jz\n") && text.lines().count() == 11);

    refused(&[&args[..], &["--neighbours", "-1"]].concat(), &["--neighbours is -1", "at least 0"]);
    let gpu = works(&[&args[..], &["--engine", "gpu", "--compare"]].concat());
    assert!(gpu.contains("double-single") && gpu.contains("against f64: snap"), "{gpu}");
    refused(&[&args[..], &["--precision", "single"]].concat(), &["precision is single", "double"]);
    refused(&[&args[..], &["--precision", "half"]].concat(), &["'half'", "double-single"]);
}

#[test]
fn block_step_integrators_run_and_report_errors() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let run = ["run", "plummer", "-n", "100", "--integrator", "hermite6", "--dt-max", "0.0625"];
    let more = ["--until", "0.5", "--every", "0.125", "--eps", "0.01", "--json", "--out"];
    let answer = json(&[&run[..], &more, &[&at("run")]].concat());
    assert_eq!((&answer["steps"], &answer["time"]), (&8.into(), &0.5.into()));
    assert!(answer["energy_error"].as_f64().unwrap().abs() < 1e-8, "{answer}");
    let blocks = &answer["blocks"];
    assert!(blocks["blocks"].as_u64().unwrap() >= 8 && blocks["dt_max"] == 0.0625, "{blocks}");
    let plan = std::fs::read_to_string(folder.path().join("run/run.toml")).unwrap();
    assert!(plan.contains("integrator = \"hermite6\"") && plan.contains("eta6 = 0.1"), "{plan}");
    // A snapshot of a run with individual steps can start a run of any other kind.
    let snapshot = at("run/step_0000000008.gvt");
    let leapfrog = ["run", &snapshot, "--until", "0.52", "--dt", "0.01", "--out", &at("next")];
    works(&leapfrog);

    let bad = at("bad");
    let refuse = |more: &[&str], words: &[&str]| {
        let run = ["run", "plummer", "-n", "100", "--integrator", "hermite4", "--out", &bad];
        refused(&[&run[..], more].concat(), words);
        assert!(!Path::new(&bad).exists(), "{more:?} should leave nothing behind");
    };
    refuse(&["--eta", "0"], &["eta is 0", "greater than 0"]);
    refuse(&["--eta", "-0.1"], &["eta is -0.1"]);
    refuse(&["--eta6", "0.1"], &["--eta6 is 0.1", "hermite4 has only --eta"]);
    refuse(&["--dt-max", "0.1"], &["dt-max is 0.1", "power of two", "0.0625"]);
    refuse(&["--precision", "single"], &["precision is single"]);
    refuse(&["--precision", "double-single"], &["precision is double-single"]);
    refused(
        &["run", "plummer", "--eta", "0.1", "--out", &bad],
        &["--eta is 0.1", "leapfrog has one step for all bodies"],
    );

    // Two bodies meet head-on: the run stops with an explanation, and the last state is written.
    let pair = at("pair.csv");
    std::fs::write(&pair, "id,mass,x,y,z,vx,vy,vz\n5,1,1,0,0,0,0,0\n9,1,-1,0,0,0,0,0\n").unwrap();
    let run = ["run", &pair, "--integrator", "hermite4", "--eps", "0", "--until", "4"];
    refused(
        &[&run[..], &["--dt-max", "0.25", "--every", "1", "--out", &at("pair")]].concat(),
        &["(id 5)", "at t = 2.2", "nearest body is 1 (id 9)", "stopped.gvt"],
    );
    assert!(works(&["convert", &at("pair/stopped.gvt"), &at("stopped.csv")]).contains("2"));
    assert!(folder.path().join("pair/step_0000000008.gvt").exists());
    std::fs::write(&pair, "id,mass,x,y,z,vx,vy,vz\n5,1,1,0,0,0,0,0\n9,1,1,0,0,1,0,0\n").unwrap();
    refused(
        &[&run[..], &["--out", &bad]].concat(),
        &["(id 9)", "same place as body 0 (id 5)", "softening"],
    );
    assert!(!Path::new(&bad).exists());
}

/// A scene's integrator is used unless the command line overrides it.
#[test]
fn scene_selects_its_integrator() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let scene = |name: &str, lines: &str| {
        let text = format!("generator = \"plummer\"\n[parameters]\nn = 64\n[run]\n{lines}\n");
        std::fs::write(at(name), text).unwrap();
        at(name)
    };
    let six = "integrator = \"hermite6\"\neta6 = 0.05\ndt_max = 0.03125\nprecision = \"double\"";
    let good = scene("good.toml", six);
    works(&["run", &good, "--until", "0.0625", "--out", &at("a")]);
    let plan = std::fs::read_to_string(folder.path().join("a/run.toml")).unwrap();
    for words in ["\"hermite6\"", "eta6 = 0.05", "dt_max = 0.03125", "precision = \"double\""] {
        assert!(plan.contains(words), "{words}: {plan}");
    }
    works(&["run", &good, "--integrator", "leapfrog", "--until", "0.01", "--out", &at("b")]);
    let plan = std::fs::read_to_string(folder.path().join("b/run.toml")).unwrap();
    assert!(plan.contains("\"leapfrog\"") && !plan.contains("double"), "{plan}");

    for (lines, words) in [
        ("integrator = \"euler\"", &["euler", "hermite4"][..]),
        ("eta = 0.1", &["[run]", "--eta is 0.1", "leapfrog has one step"]),
        ("integrator = \"hermite4\"\neta = -1.0", &["line 6", "'eta'", "above 0"]),
        ("integrator = \"hermite4\"\ndt_max = 0.1", &["dt-max is 0.1", "power of two"]),
        ("integrator = \"hermite4\"\nprecision = \"half\"", &["'half'", "double-single"]),
    ] {
        let bad = scene("bad.toml", lines);
        refused(&["run", &bad, "--until", "0.01", "--out", &at("c")], words);
        assert!(!folder.path().join("c").exists(), "{lines}");
    }
}

/// Two bodies have a close encounter on steps that are far too long: the run reports the time, the
/// energy error and the closest pair, and logs the passages. A strict run reports nothing.
#[test]
fn energy_jump_is_reported_when_it_happens() {
    let folder = tempfile::tempdir().unwrap();
    let run = |eta: &str| {
        let out = folder.path().join(eta);
        let out = out.to_str().unwrap();
        let args = "run two-body --set eccentricity=0.99 --eps 0 --integrator hermite4 --until 4";
        let more = ["--every", "0.5", "--eta", eta, "--out", out];
        let output = gravitile(&args.split(' ').chain(more).collect::<Vec<_>>());
        assert!(output.status.success(), "{}", text(&output.stderr));
        (text(&output.stderr), std::fs::read_to_string(Path::new(out).join("energy.csv")).unwrap())
    };
    let (stderr, log) = run("0.3");
    let jump = stderr.lines().find(|line| line.contains("from t = 3 to 3.5 the energy changed by"));
    let jump = jump.unwrap_or_else(|| panic!("it should tell: {stderr}"));
    assert!(jump.contains("bodies 0 and 1 (ids) at t = 3.14"), "{jump}");
    let header: Vec<&str> = log.lines().next().unwrap().split(',').collect();
    let column = |name: &str| header.iter().position(|column| *column == name).unwrap();
    let row = log.lines().find(|row| row.split(',').nth(1) == Some("3.5")).unwrap();
    let field = |name: &str| row.split(',').nth(column(name)).unwrap();
    assert_eq!((field("passage_id"), field("passage_other")), ("0", "1"));
    let number = |name: &str| field(name).parse::<f64>().unwrap();
    assert!((3.0..3.5).contains(&number("passage_time")), "{row}");
    // The pericentre is at 0.01.
    assert!((0.005..0.02).contains(&number("passage_distance")), "{row}");

    let (stderr, _) = run("0.0003");
    assert!(!stderr.contains("the energy changed"), "{stderr}");
}

/// f32 coordinates at distance 1 from the centre have a spacing of 1e-7. Bodies closer than that
/// are counted at the beginning and the end, and only for engines that compute in f32.
#[test]
fn bodies_indistinguishable_in_f32_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("bodies.csv");
    let mut text_of_table = "m,x,y,z,vx,vy,vz\n".to_owned();
    for i in 0..60 {
        let angle = f64::from(i);
        let (x, y) = (5e6 + angle.cos(), -3e6 + angle.sin());
        text_of_table += &format!("0.01,{x},{y},0.1,0,0,0\n");
        if i == 7 {
            text_of_table += &format!("0.01,{},{y},0.1,0,0,0\n", x + 2e-9);
        }
    }
    std::fs::write(&table, text_of_table).unwrap();
    for (engine, expected) in [("gpu", Some(2)), ("cpu", Some(2)), ("reference", None)] {
        let out = folder.path().join(engine);
        let (table, out) = (table.to_str().unwrap(), out.to_str().unwrap());
        let args =
            ["run", table, "--engine", engine, "--eps", "0.1", "--dt", "0.01", "--until", "0.02"];
        let stdout = works(&[&args[..], &["--out", out]].concat());
        let notice =
            expected.map(|count| format!("at the beginning {count} of 61 bodies are closer"));
        match notice {
            Some(notice) => {
                assert!(stdout.contains(&notice) && stdout.contains("at the end 2 of"), "{stdout}")
            }
            None => assert!(!stdout.contains("closer"), "{stdout}"),
        }
    }
}

/// Mesa's compiler crashes for some absent GPUs (22.3.6 for rembrandt and gfx1036). The program
/// must print a result, or a one-line error.
#[test]
fn compiler_crash_does_not_crash_program() {
    if ::gravitile::inspect::driver_manifest().is_none() {
        return;
    }
    for family in ["navi21", "rembrandt", "gfx1036"] {
        let output = gravitile(&["inspect", "--gpu", family, "--r", "1", "--unroll", "1"]);
        let stderr = text(&output.stderr);
        match output.status.code() {
            Some(0) => {
                let answer = text(&output.stdout);
                assert!(
                    answer.contains("subgroups per SIMD") && stderr.is_empty(),
                    "{answer}{stderr}"
                );
            }
            Some(2) => assert!(stderr.contains(family) && stderr.lines().count() == 1, "{stderr}"),
            other => panic!("{family} ended with {other:?}: {stderr}"),
        }
    }
}

#[test]
fn custom_kernel_runs_and_conflicting_options_are_refused() {
    let kernel = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/lesson/plain.wgsl");
    let own = ["--force-kernel", kernel];
    let stdout = works(&[&["check"], &own[..]].concat());
    assert!(stdout.contains("own") && stdout.contains("7 of 7 cases agree"), "{stdout}");
    assert!(stdout.contains("all threads reach every barrier"), "{stdout}");
    let folder = tempfile::tempdir().unwrap();
    let endless = folder.path().join("endless.wgsl");
    let plain = std::fs::read_to_string(kernel).unwrap();
    std::fs::write(&endless, plain.replace("k += 1u", "k += 0u")).unwrap();
    let lesson = |name| format!("{}/../../docs/lesson/{name}.wgsl", env!("CARGO_MANIFEST_DIR"));
    // Of these software adapters compute some as if they were right.
    for (file, code, words) in [
        (lesson("mend-barrier"), 1, "since the last barrier"),
        (lesson("mend-tail"), 1, "beyond the end of 'sources'"),
        (lesson("mend-banks"), 0, "slow: workgroup memory takes turns for its banks"),
    ] {
        let output = gravitile(&["check", "--force-kernel", &file]);
        let answer = text(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{file}: {answer}");
        assert!(answer.contains(words), "{file}: {answer}");
    }
    let endless = endless.to_str().unwrap();
    refused(&["check", "--force-kernel", endless], &["endless.wgsl", "does not end"]);
    let forces = ["forces", "plummer", "-n", "300", "--eps", "0.05", "--compare", "--json"];
    let answer = json(&[&forces[..], &own].concat());
    assert!(answer["acceleration_rms_error"].as_f64().unwrap() < 2e-6, "{answer}");
    refused(&[&forces[..], &own, &["--p", "64"]].concat(), &["--p is 64", "--force-kernel"]);
    refused(&[&forces[..], &own, &["--engine", "cpu"]].concat(), &["--engine", "--force-kernel"]);
    refused(&[&["check", "--method", "tree"], &own[..]].concat(), &["--method", "direct"]);
    refused(&["check", "--force-kernel", "/no/such.wgsl"], &["/no/such.wgsl"]);
    refused(&["check", "--force-kernel", file!()], &["command_line.rs"]);
}

/// Without a display the program gets as far as opening the window.
#[test]
fn view_with_options_needs_no_input() {
    let mut view = program::program();
    let view =
        view.args(["view", "--engine", "gpu"]).env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    let error = text(&view.output().unwrap().stderr);
    assert!(error.contains("no window can be opened here"), "{error}");
    assert!(!error.contains("three commands"), "{error}");
}

#[test]
fn program_without_arguments_and_display_names_three_commands() {
    let mut bare = program::program();
    let output = bare.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").output().unwrap();
    let error = text(&output.stderr);
    for part in ["no window can be opened here", "render", "run", "info", "--help"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert_eq!(output.status.code(), Some(2));
}
