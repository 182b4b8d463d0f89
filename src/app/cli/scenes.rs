//! `gravitile scenes`: the built-in scenes, or one of them in full.

use anyhow::Result;
use serde_json::json;

use super::{Ended, print};
use gravitile::scene::Scene;

/// List the built-in scenes, one line each; with a name, show its parameters
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gravitile scenes
  gravitile scenes galaxy-collision
  gravitile scenes galaxy-collision --toml > mine.toml     a scene file to edit")]
pub struct Args {
    /// Scene to show in full
    name: Option<String>,
    /// Print the scene's file, as a starting point for your own
    #[arg(long, requires = "name", conflicts_with = "json")]
    toml: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn main(args: &Args) -> Result<Ended> {
    match &args.name {
        Some(name) if args.toml => print::verbatim(Scene::builtin_text(name)?)?,
        Some(name) => one(name, args.json)?,
        None => all(args.json)?,
    }
    Ok(Ended::Done)
}

fn all(as_json: bool) -> Result<()> {
    let mut list = Vec::new();
    let mut rows = Vec::new();
    for name in Scene::names() {
        let scene = Scene::builtin(name)?;
        let n = scene.n();
        // The first sentence says what the scene is.
        let about = scene.about.split_whitespace().collect::<Vec<_>>().join(" ");
        let end = [". ", ": ", "; "].iter().filter_map(|mark| about.find(mark)).min();
        let first = about[..end.unwrap_or(about.len())].trim_end_matches('.');
        rows.push(vec![name.into(), n.map_or("".into(), |n| n.to_string()), first.into()]);
        list.push(json!({ "name": name, "title": scene.title, "about": about, "n": n }));
    }
    match as_json {
        true => print::json(&json!(list)),
        false => print::text(&print::with_header(&["scene", "bodies", "what it is"], rows)),
    }
}

/// The moments of a scene, with their cameras.
fn moments(scene: &Scene) -> Vec<serde_json::Value> {
    let all = scene.view.moments.iter().map(|moment| {
        let camera = &moment.camera;
        json!({
            "title": moment.title, "time": camera.time, "extent": camera.extent,
            "inclination": camera.inclination, "azimuth": camera.azimuth, "target": camera.target,
        })
    });
    all.collect()
}

fn one(name: &str, as_json: bool) -> Result<()> {
    let scene = Scene::builtin(name)?;
    let parameters = scene.parameters();
    if as_json {
        let list: Vec<_> = parameters
            .iter()
            .map(|(name, parameter, value)| {
                json!({ "name": name, "value": value, "allowed": parameter.allowed(), "help": parameter.help })
            })
            .collect();
        return print::json(&json!({
            "name": scene.name, "title": scene.title, "about": scene.about.trim(), "n": scene.n(),
            "seed": scene.seed, "softening": scene.run.softening, "dt": scene.run.dt,
            "until": scene.run.until, "moments": moments(&scene), "parameters": list,
        }));
    }
    let mut text = format!("{}\n\n{}\n\n", scene.title, scene.about.trim());
    let run = &scene.run;
    text += &format!(
        "eps {}   dt {}   until {}   seed {}\n\n",
        run.softening, run.dt, run.until, scene.seed
    );
    for (k, moment) in scene.view.moments.iter().enumerate() {
        let (title, time) = (&moment.title, moment.camera.time);
        text += &format!("moment {}   {title}: t = {time}, render --moment {}\n\n", k + 1, k + 1);
    }
    let rows = parameters.into_iter().map(|(name, parameter, value)| {
        vec![name, value.to_string(), parameter.allowed(), parameter.help.into()]
    });
    text += &print::with_header(&["--set", "value", "allowed", ""], rows);
    print::text(&text)
}
