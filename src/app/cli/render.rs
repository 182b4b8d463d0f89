//! `gravitile render`: a film without a window.

use std::path::Path;

use anyhow::Result;
use serde_json::json;
use web_time::Instant;

use super::blocks::{step_in_words, varying_json, warning_in_words};
use super::options::check_output;
use super::{Ended, interrupt, print, run};
use crate::lookup;
use gravitile::diagnostics::relative_change;
use gravitile::error::Error;
use gravitile::film::{Renderer, Shot, shoot, still};
use gravitile::input::Input;
use gravitile::record::EnergyWarning;
use gravitile::render::captions::Captions;
use gravitile::render::directing::directs;
use gravitile::render::paths::FADES_WITHIN;
use gravitile::render::writing::Caption;
use gravitile::render::{Film, FilmOptions};
use gravitile::scene::{Moment, keyframes};
use gravitile::settings::FilmRequest;
use gravitile::sim::{LONGEST, Settings, Simulation, even_steps, run_steps};
use gravitile::snapshot::Snapshot;

/// Simulate and render a film: film.webp, film.mp4, film.apng, picture.png or a folder of pictures
#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  gravitile render galaxy-collision --out film.webp
  gravitile render galaxy-collision -n 60k --frames 600 --size 1920x1080 --out film.mp4
  gravitile render galaxy.bin --frames 1 --out picture.png
  gravitile render minor-merger --colour speed --orbit 5 --follow centre --out frames/"
)]
pub struct Args {
    #[command(flatten)]
    film: FilmRequest,
    /// Print one JSON object at the end
    // Without this, clap would list it under the heading of the previous group.
    #[arg(long, help_heading = None)]
    json: bool,
}

pub fn main(args: &Args) -> Result<Ended> {
    let as_json = args.json;
    let args = &args.film;
    args.steps.check()?;
    args.engine.by.chosen()?;
    let renderer = Renderer::from_name(&args.look.renderer)?;
    let mut style = args.look.style()?;
    let format = gravitile::render::film::format_of(&args.out)?;
    let single = format.single;
    if (style.transparent || style.deep) && !format.is_png() {
        let option = if style.transparent { "--transparent" } else { "--deep" };
        let allowed = "picture.png or frames/";
        return Err(
            Error::value(format!("the output with {option}"), args.out.display(), allowed).into()
        );
    }
    let is_one = single || args.moment.is_some();
    let frames = args.frames.unwrap_or(if is_one { 1 } else { 300 });
    if frames == 0 || (single && frames > 1) {
        let allowed = if single {
            "1 for a .png file; frames/, film.webp, film.apng and film.mp4 can hold more"
        } else {
            "at least 1"
        };
        return Err(Error::value("--frames", frames, allowed).into());
    }
    check_output(&args.out, args.force)?;
    let captions = Captions::from_names(&args.captions)?;
    let title = match args.input.scene()? {
        Some(scene) => scene.title,
        None => args.input.input.clone(),
    };
    let mut input = args.input.load(args.steps.eps)?;
    args.look.suit(&mut style, input.view.as_ref());
    let mut settings = args.steps.settings(&mut input, &args.engine)?;
    input.throw_in(&args.thrown.throw, settings.softening)?;
    print::notes(&input.snapshot.notes);
    let start = settings.start;
    let moment = args.moment.map(|number| marked(&input, number)).transpose()?;
    let end = args.until.or(moment.as_ref().map(|moment| moment.camera.time));
    let until = end.unwrap_or(start + input.run.until);
    if !(until.is_finite() && until >= start) {
        let allowed = format!("at least the time of the first picture, {start}");
        return Err(Error::value("--until", until, allowed).into());
    }
    // Pictures are evenly spaced in time and the last one is at --until, so dt is shortened to fit.
    if settings.auto_dt.is_some() {
        settings.dt *= LONGEST;
    }
    let requested_dt = settings.dt;
    let interval = match frames {
        1 if end.is_none() => 0.0,
        1 => until - start,
        frames => (until - start) / (frames - 1) as f64,
    };
    let even = even_steps(interval, None, settings.dt).filter(|_| interval > 0.0);
    if let Some(even) = even {
        settings.dt = even.dt;
        run_steps(start, until, even.dt)?;
        settings.validate()?;
    }
    let (steps_before, steps_per_frame) = match even.map_or(0, |even| even.steps) {
        steps if frames == 1 => (steps, 1),
        steps => (0, steps.max(1)),
    };
    let mut motion = args.look.motion(
        &input.snapshot.bodies,
        input.view.as_ref(),
        &style,
        args.size,
        until - start,
    )?;
    if let Some(camera) = &args.camera {
        motion.directs = directs(camera)?;
        motion.path.clear();
    }
    if let Some(moment) = moment {
        motion.path = vec![moment.camera];
    }
    if let Some(path) = &args.path {
        let text = std::fs::read_to_string(path).map_err(|e| Error::io("read", path, e))?;
        motion.path = keyframes(&text, path)?;
    }
    let options = FilmOptions { size: args.size, frames_per_sec: args.fps };
    let film = Film::open(&args.out, options)?;
    let caption = Caption {
        captions,
        title,
        units: input.snapshot.units.clone(),
        interval: if frames > 1 { steps_per_frame as f64 * settings.dt } else { 0.0 },
    };
    let shot = Shot {
        frames,
        frames_per_sec: args.fps,
        steps_before,
        steps_per_frame,
        size: args.size,
        motion,
        style,
        renderer,
        caption,
        paths_fade_in: FADES_WITHIN * input.run.until,
    };
    if shot.is_still() {
        return paint(&input.snapshot, &settings, &shot, film, (&args.out, as_json));
    }
    let waiting = print::waiting("first forces");
    let choice = lookup::choose(input.snapshot.bodies.len(), &mut settings)?;
    run::note_unused_adapter(&choice, &settings);
    let mut sim =
        Simulation::builder(input.snapshot.bodies.clone(), settings).choice(choice).build()?;
    drop(waiting);
    let dt = sim.settings().dt;
    let mut choices: Vec<String> = input.chosen.iter().cloned().collect();
    if dt != requested_dt && sim.varying().is_none() {
        choices.push(format!(
            "steps of {dt} instead of {requested_dt}, a whole number of them to each picture"
        ));
    }
    if !as_json {
        let pictures = match shot.frames {
            1 => format!("1 picture after {steps_before} steps"),
            frames if sim.varying().is_some() => format!("{frames} pictures"),
            frames => format!("{frames} pictures with {steps_per_frame} steps between two"),
        };
        print::text(&format!(
            "{}, {pictures}, dt {}, engine {} ({})\n",
            crate::bodies(sim.len()),
            step_in_words(sim.settings()),
            sim.choice().kind.name(),
            sim.describe_engine()
        ))?;
        for choice in &choices {
            print::text(&format!("{choice}\n"))?;
        }
    }
    let notes: Vec<&String> = input.snapshot.notes.iter().chain(&choices).collect();
    let energy = sim.diagnostics()?.energy();
    interrupt::save_on_signal();
    let begun = Instant::now();
    let bar = print::bar(frames, "pictures");
    let filmed = shoot(&mut sim, &shot, film, &mut |filmed| {
        bar.set_position(filmed);
        !interrupt::requested()
    })?;
    bar.finish_and_clear();
    let wall_secs = begun.elapsed().as_secs_f64();
    // After an interruption, diagnostics end with an error at once.
    let found = sim.diagnostics().ok();
    let error = found.as_ref().map(|found| relative_change(found.energy(), energy));
    let is_off = found.is_some_and(|found| found.energy_is_off(energy));
    let warning = error.filter(|_| is_off).map(|error| {
        let warning = EnergyWarning::Large { time: sim.time(), error };
        warning_in_words(&warning, sim.settings())
    });
    if let Some(warning) = &warning {
        print::note(warning);
    }
    if as_json {
        print::json(&json!({
            "out": args.out.display().to_string(),
            "n": sim.len(),
            "dt": sim.settings().dt,
            "varying_step": sim.varying().map(varying_json),
            "energy_error": error,
            "notes": notes,
            "warnings": warning.as_slice(),
            "frames": filmed,
            "steps": sim.steps(),
            "time": sim.time(),
            "interactions": sim.interactions(),
            "wall_secs": wall_secs,
            "engine": sim.choice().kind.name(),
            "method": sim.choice().method.name(),
            "configuration": sim.describe_engine(),
        }))?;
    } else {
        let pictures = if filmed == 1 { "picture" } else { "pictures" };
        print::text(&format!(
            "wrote {} ({filmed} {pictures}, t = {:.6}, {wall_secs:.1} s)\n",
            args.out.display(),
            sim.time()
        ))?;
    }
    Ok(if filmed == frames { Ended::Done } else { Ended::Interrupted })
}

/// The moment with this number, from 1 on, that the input's scene marks.
fn marked(input: &Input, number: usize) -> Result<Moment, Error> {
    let moments: &[Moment] = input.view.as_ref().map_or(&[], |view| &view.moments);
    let found = number.checked_sub(1).and_then(|at| moments.get(at));
    found.cloned().ok_or_else(|| {
        let allowed = match moments.len() {
            0 => "left out: the input marks no moment".to_owned(),
            count => format!("1 to {count}, as 'gravitile scenes' lists them"),
        };
        Error::value("--moment", number, allowed)
    })
}

/// Draws one picture of the bodies at the start, without computing forces.
fn paint(
    snapshot: &Snapshot,
    settings: &Settings,
    shot: &Shot,
    film: Film,
    (out, as_json): (&Path, bool),
) -> Result<Ended> {
    let begun = Instant::now();
    let waiting = print::waiting("painting");
    let painter = still(&snapshot.bodies, settings, shot, film)?;
    drop(waiting);
    let (n, time, wall_secs) =
        (snapshot.bodies.len(), settings.start, begun.elapsed().as_secs_f64());
    let out = out.display().to_string();
    if as_json {
        print::json(&json!({
            "out": out,
            "n": n,
            "frames": 1,
            "steps": 0,
            "time": time,
            "interactions": 0,
            "notes": snapshot.notes,
            "wall_secs": wall_secs,
            "engine": null,
            "configuration": format!("no forces were needed; drawn on {painter}"),
        }))?;
    } else {
        print::text(&format!(
            "{} as they are, without forces, drawn on {painter}\n\
             wrote {out} (1 picture, t = {time:.6}, {wall_secs:.1} s)\n",
            crate::bodies(n)
        ))?;
    }
    Ok(Ended::Done)
}
