//! Typical sessions with the window, from start to exit.

use std::path::Path;

use egui::accesskit::Role;
use egui_kittest::kittest::Queryable;
use gravitile::scene::Scene;
use gravitile::snapshot::{self, Snapshot, WriteOptions};
use gravitile_app::panel::Tab;

use super::display::can_run_window_tests;
use super::person::{SIZE, SKY, Session, command, place};
use super::world::World;

#[test]
fn pause_change_physics_save_and_quit() {
    if !can_run_window_tests() {
        return;
    }
    let session = Session::open(&["view", "plummer", "-n", "500", "--engine", "cpu"], Tab::File);
    assert_eq!(session.title(), "gravitile: plummer");
    session.wait_for_motion();
    let before = session.save_snapshot();
    assert_eq!(before.bodies.len(), 500);

    session.press_key("space", "Named(Space)");
    session.wait_until_idle();
    let paused = session.save_snapshot();
    assert!(paused.time > before.time);
    assert_eq!(session.save_snapshot().time, paused.time, "time should stand still");

    session.open_tab(Tab::Physics);
    for (name, effect) in [("dt", "does Live(Dt("), ("eps", "does Live(Softening(")] {
        let track = |fraction: f32| {
            place(World::on(Tab::Physics), |harness| {
                let rect = harness.get_by_role_and_label(Role::Slider, name).rect();
                egui::pos2(rect.left() + fraction * rect.width(), rect.center().y)
            })
        };
        session.drag(track(0.5), track(0.8), effect);
    }
    session.open_tab(Tab::File);
    let tuned = session.save_snapshot();
    let number = |s: &Snapshot, name: &str| s.attributes[name].parse::<f64>().unwrap();
    assert!(number(&tuned, "dt") > 2.0 * number(&paused, "dt"), "{:?}", tuned.attributes);
    let (eps, was) = (number(&tuned, "softening"), number(&paused, "softening"));
    assert!(eps > 2.0 * was, "eps was {was} and is {eps}");
    assert_eq!(tuned.time, paused.time);

    // A single step uses the new dt.
    session.press_key("s", "Character(\"s\")");
    let stepped = session
        .wait_for("a step", || Some(session.save_snapshot()).filter(|s| s.time > tuned.time));
    let step = stepped.time - tuned.time;
    assert!((step - number(&tuned, "dt")).abs() < 1e-9 * step, "{step}");

    session.press_key("q", "Character(\"q\")");
    session.press_key("q", "Character(\"q\")");
    let status = session.wait_for_exit();
    assert_eq!(status.code(), Some(0), "{}", session.log_tail());
    let settings_path = session.folder().join("config/gravitile/window.toml");
    assert!(std::fs::read_to_string(settings_path).unwrap().contains("tab = \"file\""));
}

#[test]
fn resize_key_help_panel_folding_and_screenshot() {
    if !can_run_window_tests() {
        return;
    }
    let session = Session::open(&["view", "plummer", "-n", "500", "--engine", "gpu"], Tab::Scene);
    session.wait_for_motion();
    for [width, height] in [[900, 500], [24, 16], [1, 1], SIZE] {
        session.resize(width, height);
        // The window is drawn up to its new corner; outside it the display is black.
        if width > 100 {
            session.wait_for("a picture of the new size", || {
                let picture = session.screenshot();
                let corner = [width - 60, height - 40, width, height];
                (picture.count_bright(SKY) > 20 && picture.is_drawn(corner)).then_some(())
            });
        }
    }
    session.wait_for_motion();

    session.press_key("space", "Named(Space)");
    session.wait_until_idle();
    let plain = session.screenshot();
    let text = [0, 60, SKY[2], SKY[3]];
    session.press_key("question", "Character(\"?\")");
    session.wait_for("the sheet of keys", || {
        (session.screenshot().count_changed(&plain, text) > 400).then_some(())
    });
    session.press_key("question", "Character(\"?\")");
    session.wait_for("the sheet to go", || {
        (session.screenshot().count_changed(&plain, text) < 50).then_some(())
    });

    // With the panel folded the picture fills its area, and the keys still work.
    let panel = [SIZE[0] - 300, 60, SIZE[0] - 20, 400];
    session.press_key("Tab", "Named(Tab)");
    session.wait_for("the panel to fold", || {
        (session.screenshot().count_changed(&plain, panel) > 300).then_some(())
    });
    session.press_key("Tab", "Named(Tab)");
    session.wait_for("the panel to unfold", || {
        (session.screenshot().count_changed(&plain, panel) < 50).then_some(())
    });
    session.press_key("space", "Named(Space)");
    session.wait_for_motion();

    session.press_key("F12", "Named(F12)");
    let picture = session.wait_for("a picture file", || {
        let names = std::fs::read_dir(session.folder()).unwrap();
        let mut paths = names.map(|entry| entry.unwrap().path());
        let path = paths.find(|path| path.extension().is_some_and(|e| e == "png"))?;
        std::fs::read(path).ok().filter(|bytes| bytes.ends_with(b"IEND\xae\x42\x60\x82"))
    });
    let picture = super::display::Picture::decode(&picture);
    assert_eq!(picture.width, SIZE[0]);
    assert!(picture.count_bright([0, 0, SIZE[0], SIZE[1]]) > 20, "the file should show bodies");

    session.press_key("Escape", "Named(Escape)");
    session.press_key("Return", "Named(Enter)");
    assert_eq!(session.wait_for_exit().code(), Some(0), "{}", session.log_tail());
}

#[test]
fn snapshot_is_opened_by_typing_its_path() {
    if !can_run_window_tests() {
        return;
    }
    let write_snapshot = |folder: &std::path::Path| {
        let mut scene = Scene::builtin("plummer").unwrap();
        scene.set_n(120).unwrap();
        let bodies = scene.build().unwrap();
        let path = folder.join("small.gvt");
        let losses = snapshot::write(path, &Snapshot::new(bodies, 3.5), &WriteOptions::default());
        assert!(losses.is_ok());
    };
    let args = ["view", "plummer", "-n", "300", "--engine", "cpu", "--paused"];
    let session = Session::open_with(&args, Tab::File, write_snapshot);
    assert_eq!(session.save_snapshot().bodies.len(), 300);
    let field = place(World::on(Tab::File), |harness| {
        let fields = harness.get_all_by_role(Role::TextInput);
        let top = fields.min_by(|a, b| a.rect().min.y.total_cmp(&b.rect().min.y));
        top.unwrap().rect().center()
    });
    session.click(field, "frame on File, step 0 paused writing");
    session.type_text("small.gvt");
    session.press_key("Return", "Named(Enter)");
    session.wait_for("the title", || (session.title() == "gravitile: small.gvt").then_some(()));
    let opened = session.save_snapshot();
    assert_eq!((opened.bodies.len(), opened.time), (120, 3.5));
}

#[test]
fn kernel_and_engine_change_while_running() {
    if !can_run_window_tests() {
        return;
    }
    let shape = ["--p", "64", "--q", "1", "--r", "1", "--unroll", "4", "--slices", "1", "--tiled"];
    let view = ["view", "plummer", "-n", "500", "--engine", "gpu", "--method", "direct"];
    let args = [&view[..], &shape].concat();
    let session = Session::open(&args, Tab::File);
    let first = session.save_snapshot();
    assert!(first.attributes["engine"].contains("p=64"), "{:?}", first.attributes);

    session.open_tab(Tab::Kernel);
    let laid_out = || {
        let mut world = World::on(Tab::Kernel);
        world.gpu = super::world::full();
        world.count = 500;
        world.engine_reason = "asked for".to_owned();
        world.engine_text = first.attributes["engine"].clone();
        world
    };
    let number = place(laid_out(), |harness| harness.get_by_label("p = 32").rect().center());
    session.click(number, "does Live(Kernel(");
    session.open_tab(Tab::File);
    let changed = session.save_snapshot();
    assert!(changed.attributes["engine"].contains("p=32"), "{:?}", changed.attributes);
    assert!(changed.time >= first.time);

    session.press_key("space", "Named(Space)");
    session.wait_until_idle();
    let before = session.save_snapshot();
    session.open_tab(Tab::Kernel);
    let cpu = place(laid_out(), |harness| harness.get_by_label("cpu").rect().center());
    session.click(cpu, "does Engine(");
    session.open_tab(Tab::File);
    let after = session.wait_for("the other engine", || {
        Some(session.save_snapshot()).filter(|s| !s.attributes["engine"].contains("p="))
    });
    assert_eq!(after.attributes["step"], before.attributes["step"]);
    assert!((after.time - before.time).abs() < 1e-9, "{} became {}", before.time, after.time);
    assert_eq!(after.bodies.position, before.bodies.position);
}

#[test]
fn own_kernel_is_compiled_again_when_its_file_is_saved() {
    if !can_run_window_tests() {
        return;
    }
    let plain = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/lesson/plain.wgsl");
    let text = std::fs::read_to_string(plain).unwrap();
    let args = ["view", "plummer", "-n", "500", "--force-kernel", "mine.wgsl"];
    let prepare = |folder: &Path| std::fs::write(folder.join("mine.wgsl"), &text).unwrap();
    let session = Session::open_with(&args, Tab::File, prepare);
    let save = |text: &str| std::fs::write(session.folder().join("mine.wgsl"), text).unwrap();
    let engine = |words: &str| {
        let snapshot = session.save_snapshot();
        Some(snapshot).filter(|snapshot| snapshot.attributes["engine"].contains(words))
    };
    session.wait_for("the kernel of the file", || engine("p=64"));
    // Another shape, too.
    save(&text.replace("const P: u32 = 64u;", "const P: u32 = 32u;"));
    session.wait_for("its new shape", || engine("p=32"));
    save(&text.replace("k += 1u", "k += 0u"));
    session.wait_for("a refusal", || session.last_message("does not end"));
    save(&text.replace("fn main(", "fn main"));
    session.wait_for("a fault", || session.last_message("mine.wgsl"));
    let before = session.save_snapshot().time;
    session.wait_for("steps with the kernel before", || {
        engine("p=32").filter(|snapshot| snapshot.time > before)
    });
}

#[test]
fn external_field_is_changed_and_restored() {
    if !can_run_window_tests() {
        return;
    }
    let potential = "plummer:mass=3,scale=2,x=4";
    let view = ["view", "plummer", "-n", "300", "--engine", "cpu", "--paused"];
    let session = Session::open(&[&view[..], &["--field", potential]].concat(), Tab::File);
    let first = session.save_snapshot();
    assert_eq!(first.attributes["field"], potential);
    session.open_tab(Tab::Physics);
    let mut world = World::on(Tab::Physics);
    world.settings.field = potential.parse().unwrap();
    let mass = place(world, |harness| {
        harness.get_by_role_and_label(Role::SpinButton, "mass").rect().center()
    });
    session.drag(mass, mass + egui::vec2(40.0, 0.0), "does Field(");
    session.open_tab(Tab::File);
    let has = |potential: &str| {
        Some(session.save_snapshot()).filter(|s| s.attributes["field"] == potential)
    };
    let changed = session.wait_for("another field", || {
        Some(session.save_snapshot()).filter(|s| s.attributes["field"] != potential)
    });
    let field = &changed.attributes["field"];
    assert!(field.starts_with("plummer:mass=") && field.ends_with(",scale=2,x=4"), "{field}");
    assert_eq!(changed.time, first.time);
    assert_eq!(changed.bodies.position, first.bodies.position);
    session.press_key("ctrl+z", "Character(\"z\")");
    session.wait_for("the field as it was", || has(potential));
    session.press_key("s", "Character(\"s\")");
    session.wait_for("a step in it", || has(potential).filter(|s| s.time > first.time));
}

#[test]
fn method_changes_both_ways_while_running_and_paused() {
    if !can_run_window_tests() {
        return;
    }
    for engine in ["gpu", "cpu"] {
        let args = ["view", "plummer", "-n", "500", "--engine", engine, "--method", "direct"];
        let session = Session::open(&args, Tab::Kernel);
        let is_tree = |snapshot: &Snapshot| snapshot.attributes["engine"].contains("tree");
        let click_on = |method: &str, effect: &str| {
            session.open_tab(Tab::Kernel);
            let mut world = World::on(Tab::Kernel);
            if engine == "cpu" {
                world.engine = gravitile::sim::EngineKind::Cpu;
            }
            let at = place(world, |harness| harness.get_by_label(method).rect().center());
            session.click(at, effect);
            session.open_tab(Tab::File);
        };
        session.wait_for_motion();
        click_on("tree", "does Method(Tree");
        let tree = session.wait_for("the tree", || Some(session.save_snapshot()).filter(&is_tree));
        // The run continues by itself, and diagnostics work with the tree as well.
        session.wait_for("steps", || Some(session.save_snapshot()).filter(|s| s.time > tree.time));
        session.open_tab(Tab::Conservation);
        let measure = place(World::on(Tab::Conservation), |harness| {
            harness.get_by_label("Measure now").rect().center()
        });
        session.click(measure, "does Live(Report");
        click_on("direct", "does Method(Direct");
        let is_direct = |snapshot: &Snapshot| !is_tree(snapshot);
        session.wait_for("all pairs", || Some(session.save_snapshot()).filter(is_direct));

        session.press_key("space", "Named(Space)");
        session.wait_until_idle();
        let paused = session.save_snapshot();
        click_on("tree", "does Method(Tree");
        let after = session.wait_for("the tree", || Some(session.save_snapshot()).filter(&is_tree));
        assert_eq!(after.attributes["step"], paused.attributes["step"], "{engine}");
        assert_eq!(after.bodies.position, paused.bodies.position, "{engine}");
        assert_eq!(after.bodies.velocity, paused.bodies.velocity, "{engine}");
        assert!(!session.log_tail().contains("WARN"), "{}", session.log_tail());
    }
}

#[test]
fn tree_cells_and_interaction_lists_are_drawn() {
    if !can_run_window_tests() {
        return;
    }
    let args = ["view", "plummer", "-n", "2000", "--engine", "cpu", "--method", "tree", "--paused"];
    let session = Session::open(&args, Tab::Tree);
    session.wait_until_idle();
    let plain = session.screenshot();
    let laid_out = || {
        let mut world = World::on(Tab::Tree);
        world.method = Some(gravitile::forces::Method::Tree);
        world.inspected = super::world::seen();
        world
    };
    // Clicks on a label and waits for a frame line with the suffix `then`.
    let click_on = |name: &str, then: &str| {
        let at = place(laid_out(), |harness| harness.get_by_label(name).rect().center());
        session.click(at, &format!("frame on Tree, step 0 paused{then}"));
    };
    let sky = |what: &str, is_expected: &dyn Fn(usize) -> bool| {
        session.wait_for(what, || {
            is_expected(session.screenshot().count_changed(&plain, SKY)).then_some(())
        });
    };
    click_on("boxes", " boxes");
    sky("boxes", &|changed| changed > 1000);
    click_on("of the body clicked on", " boxes lists");
    click_on("boxes", " lists");
    sky("no boxes", &|changed| changed < 50);
    // The centre of the sphere.
    let middle = egui::pos2(SKY[2] as f32 * 0.5, SIZE[1] as f32 * 0.5);
    session.click(middle, "says showing what acts on body");
    sky("lists", &|changed| changed > 1000);
    click_on("of the body clicked on", "");
    // The body's card stays open until it is closed.
    session.press_key("Escape", "Named(Escape)");
    sky("no lists", &|changed| changed < 50);
}

#[test]
fn without_a_display_the_error_points_to_render() {
    let folder = tempfile::tempdir().unwrap();
    // Without arguments five lines follow that name three commands.
    for (args, lines) in [(&["view", "plummer", "-n", "100"][..], 1), (&[], 6)] {
        let output = command(folder.path()).args(args).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains("render"), "{error}");
        assert_eq!(error.trim().lines().count(), lines, "{error}");
    }
}
