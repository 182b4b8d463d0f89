//! Scene files with files of their own, named from anywhere.
#![cfg(feature = "cli")]

#[path = "common/program.rs"]
mod program;

use std::path::Path;

const TABLE: &str = "id,m,x,y,z,vx,vy,vz\n1,1,0,0,0,0,0,0\n2,1,1,0,0,0,1,0\n3,1,0,2,0,0,0,1\n";

fn succeeds(folder: &Path, args: &[&str]) -> String {
    let mut command = program::program();
    let output = command.args(args).current_dir(folder).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?} in {}: {error}", folder.display());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_part_s_file_is_looked_for_beside_the_scene_file() {
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
        let said = succeeds(from, &[&["forces", name], &engine[..]].concat());
        assert!(said.starts_with("9 bodies"), "{said}");
        let run = ["run", name, "--until", "0.1", "--dt", "0.05", "--out", &at("run")];
        succeeds(from, &[&run, &engine[..]].concat());
        let picture = at("picture.png");
        let film = ["render", name, "--renderer", "cpu", "--size", "32x32", "--out", &picture];
        succeeds(from, &[&film, &engine[..]].concat());
    }
}
