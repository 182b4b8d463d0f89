//! What people do with the window.

use egui::accesskit::Role;
use egui_kittest::kittest::Queryable;
use gravitile::app::panel::Tab;
use gravitile::scene::Scene;
use gravitile::snapshot::{self, Snapshot, WriteOptions};

use super::display::is_there;
use super::person::{Person, SIZE, SKY, command, place};
use super::world::World;

#[test]
fn watched_paused_tuned_saved_and_left() {
    if !is_there() {
        return;
    }
    let person = Person::opens(&["view", "plummer", "-n", "500", "--engine", "cpu"], Tab::File);
    assert_eq!(person.title(), "gravitile: plummer");
    person.waits_until_sky(true);
    let before = person.saves();
    assert_eq!(before.bodies.len(), 500);

    person.presses("space", "Named(Space)");
    person.waits_until_sky(false);
    let paused = person.saves();
    assert!(paused.time > before.time);
    assert_eq!(person.saves().time, paused.time, "time should stand still");

    person.goes_to(Tab::Physics);
    for (name, effect) in [("dt", "does Live(Dt("), ("eps", "does Live(Softening(")] {
        let track = |part: f32| {
            place(World::on(Tab::Physics), |harness| {
                let rect = harness.get_by_role_and_label(Role::Slider, name).rect();
                egui::pos2(rect.left() + part * rect.width(), rect.center().y)
            })
        };
        person.drags(track(0.5), track(0.8), effect);
    }
    person.goes_to(Tab::File);
    let tuned = person.saves();
    let number = |s: &Snapshot, name: &str| s.attributes[name].parse::<f64>().unwrap();
    assert!(number(&tuned, "dt") > 2.0 * number(&paused, "dt"), "{:?}", tuned.attributes);
    let (eps, was) = (number(&tuned, "softening"), number(&paused, "softening"));
    assert!(eps > 2.0 * was, "eps was {was} and is {eps}");
    assert_eq!(tuned.time, paused.time);

    // A single step has the new dt.
    person.presses("s", "Character(\"s\")");
    let stepped =
        person.eventually("a step", || Some(person.saves()).filter(|s| s.time > tuned.time));
    let step = stepped.time - tuned.time;
    assert!((step - number(&tuned, "dt")).abs() < 1e-9 * step, "{step}");

    person.presses("q", "Character(\"q\")");
    person.presses("q", "Character(\"q\")");
    let status = person.ended();
    assert_eq!(status.code(), Some(0), "{}", person.said());
    let memory = person.folder().join("config/gravitile/window.toml");
    assert!(std::fs::read_to_string(memory).unwrap().contains("tab = \"file\""));
}

#[test]
fn resized_asked_for_keys_and_photographed() {
    if !is_there() {
        return;
    }
    let person = Person::opens(&["view", "plummer", "-n", "500", "--engine", "gpu"], Tab::Scene);
    person.waits_until_sky(true);
    for [width, height] in [[900, 500], [24, 16], [1, 1], SIZE] {
        person.resizes(width, height);
        // The display beside the window stays black, and the window's corner is drawn.
        if width > 100 {
            person.eventually("a picture of the new size", || {
                let seen = person.sees();
                let corner = [width - 60, height - 40, width, height];
                (seen.bright(SKY) > 20 && seen.is_drawn(corner)).then_some(())
            });
        }
    }
    person.waits_until_sky(true);

    person.presses("space", "Named(Space)");
    person.waits_until_sky(false);
    let plain = person.sees();
    let text = [0, 60, SKY[2], SKY[3]];
    person.presses("question", "Character(\"?\")");
    person.eventually("the sheet of keys", || {
        (person.sees().changes(&plain, text) > 400).then_some(())
    });
    person.presses("question", "Character(\"?\")");
    person
        .eventually("the sheet to go", || (person.sees().changes(&plain, text) < 50).then_some(()));

    // Folded and unfolded: the panel's place shows the picture, and the keys still work.
    let panel = [SIZE[0] - 300, 60, SIZE[0] - 20, 400];
    person.presses("Tab", "Named(Tab)");
    person.eventually("the panel to fold", || {
        (person.sees().changes(&plain, panel) > 300).then_some(())
    });
    person.presses("Tab", "Named(Tab)");
    person.eventually("the panel to unfold", || {
        (person.sees().changes(&plain, panel) < 50).then_some(())
    });
    person.presses("space", "Named(Space)");
    person.waits_until_sky(true);

    person.presses("F12", "Named(F12)");
    let picture = person.eventually("a picture file", || {
        let names = std::fs::read_dir(person.folder()).unwrap();
        let mut paths = names.map(|entry| entry.unwrap().path());
        let path = paths.find(|path| path.extension().is_some_and(|e| e == "png"))?;
        std::fs::read(path).ok().filter(|bytes| bytes.ends_with(b"IEND\xae\x42\x60\x82"))
    });
    let picture = super::display::Picture::decode(&picture);
    assert_eq!(picture.width, SIZE[0]);
    assert!(picture.bright([0, 0, SIZE[0], SIZE[1]]) > 20, "the file should show bodies");

    person.presses("Escape", "Named(Escape)");
    person.presses("Return", "Named(Enter)");
    assert_eq!(person.ended().code(), Some(0), "{}", person.said());
}

#[test]
fn a_snapshot_is_opened_by_its_path() {
    if !is_there() {
        return;
    }
    let small = |folder: &std::path::Path| {
        let mut scene = Scene::builtin("plummer").unwrap();
        scene.set_n(120).unwrap();
        let bodies = scene.build().unwrap();
        let path = folder.join("small.gvt");
        let losses = snapshot::write(path, &Snapshot::new(bodies, 3.5), &WriteOptions::default());
        assert!(losses.is_ok());
    };
    let args = ["view", "plummer", "-n", "300", "--engine", "cpu", "--paused"];
    let person = Person::opens_with(&args, Tab::File, small);
    assert_eq!(person.saves().bodies.len(), 300);
    let field = place(World::on(Tab::File), |harness| {
        let fields = harness.get_all_by_role(Role::TextInput);
        let top = fields.min_by(|a, b| a.rect().min.y.total_cmp(&b.rect().min.y));
        top.unwrap().rect().center()
    });
    person.clicks(field, "frame on File, step 0 paused writing");
    person.writes("small.gvt");
    person.presses("Return", "Named(Enter)");
    person.eventually("the title", || (person.title() == "gravitile: small.gvt").then_some(()));
    let opened = person.saves();
    assert_eq!((opened.bodies.len(), opened.time), (120, 3.5));
}

#[test]
fn the_kernel_and_the_engine_are_changed_while_it_runs() {
    if !is_there() {
        return;
    }
    let shape = ["--p", "64", "--q", "1", "--r", "1", "--unroll", "4", "--slices", "1", "--tiled"];
    let asked = ["view", "plummer", "-n", "500", "--engine", "gpu", "--method", "direct"];
    let args = [&asked[..], &shape].concat();
    let person = Person::opens(&args, Tab::File);
    let first = person.saves();
    assert!(first.attributes["engine"].contains("p=64"), "{:?}", first.attributes);

    person.goes_to(Tab::Kernel);
    let laid_out = || {
        let mut world = World::on(Tab::Kernel);
        world.gpu = super::world::full();
        world.count = 500;
        world.engine_reason = "asked for".to_owned();
        world.engine_text = first.attributes["engine"].clone();
        world
    };
    let number = place(laid_out(), |harness| harness.get_by_label("p = 32").rect().center());
    person.clicks(number, "does Live(Kernel(");
    person.goes_to(Tab::File);
    let changed = person.saves();
    assert!(changed.attributes["engine"].contains("p=32"), "{:?}", changed.attributes);
    assert!(changed.time >= first.time);

    person.presses("space", "Named(Space)");
    person.waits_until_sky(false);
    let before = person.saves();
    person.goes_to(Tab::Kernel);
    let cpu = place(laid_out(), |harness| harness.get_by_label("cpu").rect().center());
    person.clicks(cpu, "does Engine(");
    person.goes_to(Tab::File);
    let after = person.eventually("the other engine", || {
        Some(person.saves()).filter(|s| !s.attributes["engine"].contains("p="))
    });
    assert_eq!(after.attributes["step"], before.attributes["step"]);
    assert!((after.time - before.time).abs() < 1e-9, "{} became {}", before.time, after.time);
    assert_eq!(after.bodies.position, before.bodies.position);
}

#[test]
fn the_method_is_changed_both_ways_while_it_runs_and_while_it_rests() {
    if !is_there() {
        return;
    }
    for engine in ["gpu", "cpu"] {
        let args = ["view", "plummer", "-n", "500", "--engine", engine, "--method", "direct"];
        let person = Person::opens(&args, Tab::Kernel);
        let is_tree = |snapshot: &Snapshot| snapshot.attributes["engine"].contains("tree");
        let click_on = |method: &str, effect: &str| {
            person.goes_to(Tab::Kernel);
            let mut world = World::on(Tab::Kernel);
            if engine == "cpu" {
                world.engine = gravitile::sim::EngineKind::Cpu;
            }
            let at = place(world, |harness| harness.get_by_label(method).rect().center());
            person.clicks(at, effect);
            person.goes_to(Tab::File);
        };
        person.waits_until_sky(true);
        click_on("tree", "does Method(Tree");
        let tree = person.eventually("the tree", || Some(person.saves()).filter(&is_tree));
        // It goes on by itself, and diagnostics come with the tree as well.
        person.eventually("steps", || Some(person.saves()).filter(|s| s.time > tree.time));
        person.goes_to(Tab::Conservation);
        let measure = place(World::on(Tab::Conservation), |harness| {
            harness.get_by_label("Measure now").rect().center()
        });
        person.clicks(measure, "does Live(Report");
        click_on("direct", "does Method(Direct");
        let is_direct = |snapshot: &Snapshot| !is_tree(snapshot);
        person.eventually("all pairs", || Some(person.saves()).filter(is_direct));

        person.presses("space", "Named(Space)");
        person.waits_until_sky(false);
        let paused = person.saves();
        click_on("tree", "does Method(Tree");
        let after = person.eventually("the tree", || Some(person.saves()).filter(&is_tree));
        assert_eq!(after.attributes["step"], paused.attributes["step"], "{engine}");
        assert_eq!(after.bodies.position, paused.bodies.position, "{engine}");
        assert_eq!(after.bodies.velocity, paused.bodies.velocity, "{engine}");
        assert!(!person.said().contains("WARN"), "{}", person.said());
    }
}

#[test]
fn cells_are_drawn_and_what_acts_on_a_body_is_marked() {
    if !is_there() {
        return;
    }
    let args = ["view", "plummer", "-n", "2000", "--engine", "cpu", "--method", "tree", "--paused"];
    let person = Person::opens(&args, Tab::Tree);
    person.waits_until_sky(false);
    let plain = person.sees();
    let laid_out = || {
        let mut world = World::on(Tab::Tree);
        world.method = Some(gravitile::forces::Method::Tree);
        world.seen = super::world::seen();
        world
    };
    // A click on a name, and what frames report then.
    let click_on = |name: &str, then: &str| {
        let at = place(laid_out(), |harness| harness.get_by_label(name).rect().center());
        person.clicks(at, &format!("frame on Tree, step 0 paused{then}"));
    };
    let sky = |what: &str, is_it: &dyn Fn(usize) -> bool| {
        person.eventually(what, || is_it(person.sees().changes(&plain, SKY)).then_some(()));
    };
    click_on("boxes", " boxes");
    sky("boxes", &|changed| changed > 1000);
    click_on("of the body clicked on", " boxes lists");
    click_on("boxes", " lists");
    sky("no boxes", &|changed| changed < 50);
    // The middle of the sphere.
    let middle = egui::pos2(SKY[2] as f32 * 0.5, SIZE[1] as f32 * 0.5);
    person.clicks(middle, "says showing what acts on body");
    sky("lists", &|changed| changed > 1000);
    click_on("of the body clicked on", "");
    // The card of the body stays until it is closed.
    person.presses("Escape", "Named(Escape)");
    sky("no lists", &|changed| changed < 50);
}

#[test]
fn without_a_display_one_sentence_points_to_render() {
    let folder = tempfile::tempdir().unwrap();
    for args in [&["view", "plummer", "-n", "100"][..], &[]] {
        let output = command(folder.path()).args(args).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains("render"), "{error}");
        assert_eq!(error.trim().lines().count(), 1, "{error}");
    }
}
