//! The actions of each control of the tabs Scene, Physics, View, Conservation and File.

use std::path::PathBuf;

use egui::accesskit::Role as WidgetRole;
use egui_kittest::kittest::{NodeT, Queryable};
use gravitile::forces::Precision;
use gravitile::integrate::find;
use gravitile::live::{Command, Tempo};
use gravitile::render::{ColourBy, Exposure, Follow};
use gravitile::scene::Orbit;
use gravitile::settings::DeviceCount;
use gravitile::sim::EngineKind;
use gravitile_app::panel::{Action, Integration, MeetingOffer, Tab, Viewpoint};

use super::world::{World, after, click, command, slide};

const TALL: f32 = 1100.0;

#[test]
fn tabs_help_and_folding_work() {
    let mut harness = World::on(Tab::Scene).shown(TALL);
    for (tab, title, _) in Tab::ALL {
        assert_eq!(click(&mut harness, title), []);
        assert_eq!(harness.state().panel.tab, tab);
    }
    click(&mut harness, "?");
    assert!(harness.state().panel.help);
    assert!(harness.query_by_label("Keys and mouse").is_some());
    click(&mut harness, "?");
    assert!(!harness.state().panel.help);
    click(&mut harness, "»");
    assert!(!harness.state().panel.open);
    assert!(harness.query_by_label("Scene").is_none());
    click(&mut harness, "« panel");
    assert!(harness.state().panel.open);
}

#[test]
fn sections_fold_by_pointer_and_keyboard_and_stay_folded() {
    let mut harness = World::on(Tab::View).shown(TALL);
    let has_slider = |h: &egui_kittest::Harness<'static, World>| {
        h.query_by_role_and_label(WidgetRole::Slider, "stops").is_some()
    };
    assert!(has_slider(&harness));
    click(&mut harness, "Light");
    assert!(!has_slider(&harness) && harness.query_by_label("automatic exposure").is_none());
    assert!(harness.query_by_label("Camera").is_some(), "other sections stay");
    // Another tab and back.
    click(&mut harness, "Scene");
    click(&mut harness, "View");
    assert!(!has_slider(&harness));
    after(&mut harness, |h| h.get_by_label("Light").focus());
    after(&mut harness, |h| h.key_press(egui::Key::Enter));
    assert!(has_slider(&harness));
}

#[test]
fn scene_tab_restarts_loads_and_sets_parameters() {
    let mut harness = World::on(Tab::Scene).shown(TALL);
    assert_eq!(click(&mut harness, "Restart"), [Action::Restart { reset_numbers: true }]);
    let anew = click(&mut harness, "Rebuild");
    assert!(matches!(&anew[..], [Action::Load(input)] if input.input == "galaxy-collision"
        && input.set.is_empty() && input.n.is_none() && input.seed.is_none()));

    after(&mut harness, |h| h.get_by_role(WidgetRole::ComboBox).click());
    let picked = click(&mut harness, "mice");
    assert!(matches!(&picked[..], [Action::Load(input)] if input.input == "mice"), "{picked:?}");

    // Changing a parameter causes no action yet; the button then sets it by name.
    assert_eq!(slide(&mut harness, "mass ratio", 0.5), []);
    let made = click(&mut harness, "Build with these numbers");
    let [Action::Load(input)] = &made[..] else { panic!("{made:?}") };
    assert_eq!(input.set, ["mass_ratio=0.5".parse().unwrap()]);
    assert_eq!(click(&mut harness, "Reset to defaults"), []);
    let made = click(&mut harness, "Rebuild");
    assert!(matches!(&made[..], [Action::Load(input)] if input.set.is_empty()), "{made:?}");
}

#[test]
fn two_snapshots_offer_an_encounter() {
    let mut world = World::on(Tab::Scene);
    let offer = || MeetingOffer {
        files: [PathBuf::from("/a/one.gvt"), PathBuf::from("/a/two.gvt")],
        separation: 8.0,
        pericentre: 1.5,
        unit: "3.5 kpc".to_owned(),
        mass: 4.0,
        speed: gravitile::units::Measure::default(),
    };
    world.panel.scene.offer_encounter(offer());
    let mut harness = world.shown(TALL);
    assert_eq!(slide(&mut harness, "tilt", 90.0), []);
    let made = click(&mut harness, "Let them meet");
    let orbit = Orbit { eccentricity: 1.0, pericentre: 1.5, separation: 8.0 };
    assert_eq!(made, [Action::Encounter { orbit, tilt_degrees: 90.0 }]);
    assert!(!harness.state().panel.scene.has_encounter());

    harness.state_mut().panel.scene.offer_encounter(offer());
    harness.run();
    assert_eq!(click(&mut harness, "Cancel"), []);
    assert!(!harness.state().panel.scene.has_encounter());
}

#[test]
fn physics_tab_controls_time() {
    let mut harness = World::on(Tab::Physics).shown(TALL);
    let pause = after(&mut harness, |h| h.get_by_label_contains("Pause").click());
    assert_eq!(command(pause), Command::Pause(true));
    harness.state_mut().keeper.paused = true;
    harness.run();
    let run = after(&mut harness, |h| h.get_by_label_contains("Run").click());
    assert_eq!(command(run), Command::Pause(false));
    let step = after(&mut harness, |h| h.get_by_label_contains("Step").click());
    let expected = [Action::Live(Command::Pause(true)), Action::Live(Command::Step(1))];
    assert_eq!(step, expected);
    let back = after(&mut harness, |h| h.get_by_label_contains("Backwards").click());
    assert_eq!(command(back), Command::Reverse);
    harness.state_mut().dt *= -1.0;
    harness.run();
    let forwards = after(&mut harness, |h| h.get_by_label_contains("Forwards").click());
    assert_eq!(command(forwards), Command::Reverse);

    assert_eq!(command(slide(&mut harness, "speed", 4.0)), Command::Factor(4.0));
    let fastest = click(&mut harness, "fastest");
    assert_eq!(command(fastest), Command::Tempo(Tempo::Fastest));
    harness.state_mut().keeper.tempo = Tempo::Fastest;
    harness.run();
    let speed = harness.get_by_role_and_label(WidgetRole::Slider, "speed");
    assert!(speed.accesskit_node().is_disabled(), "speed means nothing while fastest");
    assert_eq!(command(click(&mut harness, "fixed speed")), Command::Tempo(Tempo::RealTime));
}

#[test]
fn physics_tab_sets_step_and_softening() {
    let mut harness = World::on(Tab::Physics).shown(TALL);
    let defaults = harness.state().hints;
    assert_eq!(
        command(slide(&mut harness, "dt", defaults.dt * 2.0)),
        Command::Dt(defaults.dt * 2.0)
    );
    let eps = defaults.softening * 3.0;
    assert_eq!(command(slide(&mut harness, "eps", eps)), Command::Softening(eps));
    assert_eq!(command(slide(&mut harness, "eps", 0.0)), Command::Softening(0.0));
}

#[test]
fn reset_buttons_restore_defaults() {
    let mut world = World::on(Tab::Physics);
    let defaults = world.hints;
    world.settings.dt = defaults.dt * 7.0;
    let mut harness = world.shown(TALL);
    let click_reset = |h: &egui_kittest::Harness<'static, World>, name: &str| {
        let y = h.get_by_role_and_label(WidgetRole::Slider, name).rect().center().y;
        let buttons = h.get_all_by_label("↺");
        let mut in_row = buttons.filter(|node| (node.rect().center().y - y).abs() < 8.0);
        in_row.next().expect("a button in the slider's row").click();
    };
    assert_eq!(command(after(&mut harness, |h| click_reset(h, "dt"))), Command::Dt(defaults.dt));

    let mut world = World::on(Tab::View);
    world.view.style.stops = 3.0;
    world.view.style.colour_by = ColourBy::Speed;
    let mut harness = world.shown(TALL);
    after(&mut harness, |h| click_reset(h, "stops"));
    assert_eq!(harness.state().view.style.stops, 0.0);
    slide(&mut harness, "size", 5.0);
    click(&mut harness, "Reset all light");
    let style = &harness.state().view.style;
    assert_eq!((style.sprite_size, style.colour_by), (1.0, ColourBy::Speed));
}

#[test]
fn large_energy_error_is_shown_on_every_tab() {
    let mut world = World::on(Tab::File);
    let mut ruined = super::world::report(9.0);
    ruined.diagnostics.potential = 30.0;
    world.history.report(&ruined);
    let harness = world.shown(700.0);
    assert!(harness.query_by_label_contains("energy error 3").is_some());
    assert!(harness.query_by_label_contains(" %").is_some());
}

#[test]
fn values_beyond_slider_ranges_are_shown_unchanged() {
    // The command line or keys can set values beyond the sliders' ranges.
    let mut world = World::on(Tab::Physics);
    world.settings.dt = world.hints.dt * 1000.0;
    world.settings.softening = world.hints.softening * 1000.0;
    world.keeper.factor = 400.0;
    let (dt, eps) = (world.settings.dt, world.settings.softening);
    let mut harness = world.shown(TALL);
    harness.run();
    assert_eq!(harness.state().actions, [], "looking changes nothing");
    for (name, value) in [("dt", dt), ("eps", eps), ("speed", 400.0)] {
        let slider = harness.get_by_role_and_label(WidgetRole::Slider, name);
        assert_eq!(slider.accesskit_node().numeric_value(), Some(value), "{name}");
    }
}

#[test]
fn view_tab_changes_the_style() {
    let mut harness = World::on(Tab::View).shown(TALL);
    let palette = |h: &egui_kittest::Harness<'static, World>| {
        h.get_by_role_and_label(WidgetRole::ComboBox, "palette").accesskit_node().is_disabled()
    };
    assert!(palette(&harness), "components have colours of their own");
    for (by, name) in ColourBy::ALL {
        click(&mut harness, name);
        assert_eq!(harness.state().view.style.colour_by, by);
    }
    assert!(!palette(&harness));
    click(&mut harness, "dark matter");
    assert!(harness.state().view.style.show_halo);
    slide(&mut harness, "size", 3.0);
    slide(&mut harness, "stops", -2.0);
    slide(&mut harness, "trails", 2.5);
    slide(&mut harness, "streaks", 0.5);
    slide(&mut harness, "orbit", 12.0);
    let view = &harness.state().view;
    assert_eq!((view.style.sprite_size, view.style.stops), (3.0, -2.0));
    assert_eq!((view.style.trail_secs, view.orbit_degrees_per_sec), (2.5, 12.0));
    assert_eq!(view.style.streak_time, 0.5);
    click(&mut harness, "automatic exposure");
    let frozen = harness.state().view.style.exposure;
    assert!(matches!(frozen, Exposure::Auto { adapt_secs } if adapt_secs.is_infinite()));
    click(&mut harness, "glow");
    assert_eq!(harness.state().view.style.bloom, 0.0);
    click(&mut harness, "glow");
    assert!(harness.state().view.style.bloom > 0.0);
    click(&mut harness, "axes");
    click(&mut harness, "scale bar");
    click(&mut harness, "title");
    let view = &harness.state().view;
    assert!(view.axes && !view.scale_bar);
    assert!(view.captions.title && !view.captions.time);
    assert!(view.style.validate().is_ok());
}

#[test]
fn second_run_has_another_softening_method_or_integrator() {
    let mut harness = World::on(Tab::Physics).shown(TALL);
    let choose = |harness: &mut egui_kittest::Harness<'static, World>, name: &str| {
        after(harness, |h| h.get_by_role_and_label(WidgetRole::ComboBox, "compare with").click());
        // An integrator's button has the name of the entry that is further down.
        after(harness, |h| h.get_all_by_label(name).last().unwrap().click())
    };
    for (name, text) in
        [("softening", "softening=0"), ("tree", "method=tree"), ("hermite6", "integrator=hermite6")]
    {
        let differs = Some(text.parse().unwrap());
        assert_eq!(choose(&mut harness, name), [Action::Compare(differs)]);
    }
    assert_eq!(choose(&mut harness, "nothing"), [], "there is none");
    let is_refused = |h: &egui_kittest::Harness<'static, World>| {
        let list = h.get_by_role_and_label(WidgetRole::ComboBox, "compare with");
        list.accesskit_node().is_disabled()
    };
    assert!(!is_refused(&harness));
    harness.state_mut().recording = Some((PathBuf::from("film.webp"), 3));
    harness.run();
    assert!(is_refused(&harness), "films show one run");
    harness.state_mut().recording = None;
    harness.state_mut().settings.devices = DeviceCount::These(2);
    harness.run();
    assert!(is_refused(&harness), "two devices");
}

#[test]
fn view_tab_moves_the_camera_and_follows() {
    let mut harness = World::on(Tab::View).shown(TALL);
    for (place, name, _) in Viewpoint::ALL {
        assert_eq!(click(&mut harness, name), [Action::Camera(place)]);
    }
    for (name, follow) in [
        ("bulge of galaxy 1", Follow::Component(1)),
        ("centre of mass", Follow::CentreOfMass),
        ("nothing", Follow::Nothing),
    ] {
        after(&mut harness, |h| h.get_by_role_and_label(WidgetRole::ComboBox, "follow").click());
        click(&mut harness, name);
        assert_eq!(harness.state().view.follow, follow);
    }
}

#[test]
fn dark_matter_switch_needs_dark_matter() {
    let mut world = World::on(Tab::View);
    world.components.truncate(2);
    let harness = world.shown(TALL);
    assert!(harness.query_by_label("dark matter").is_none());
}

#[test]
fn conservation_tab_requests_a_report() {
    let mut harness = World::on(Tab::Conservation).shown(TALL);
    assert_eq!(command(click(&mut harness, "Measure now")), Command::Report);
    assert!(harness.query_by_label("40 so far").is_some());
}

#[test]
fn file_tab_opens_saves_and_records() {
    let mut harness = World::on(Tab::File).shown(TALL);
    assert_eq!(click(&mut harness, "Open"), [], "nothing was typed");
    // Fields in order: open, snapshot, picture, film.
    let field = |h: &egui_kittest::Harness<'static, World>, k: usize, text: &str| {
        let mut fields: Vec<_> = h.get_all_by_role(WidgetRole::TextInput).collect();
        fields.sort_by(|a, b| a.rect().min.y.total_cmp(&b.rect().min.y));
        fields[k].set_text_value_accesskit(text);
    };
    after(&mut harness, |h| field(h, 0, " some/galaxy.tipsy "));
    let opened = click(&mut harness, "Open");
    assert!(matches!(&opened[..], [Action::Load(input)] if input.input == "some/galaxy.tipsy"));
    assert_eq!(click(&mut harness, "…"), [Action::OpenDialog]);

    let buttons = |h: &egui_kittest::Harness<'static, World>, k: usize| {
        let mut saves: Vec<_> = h.get_all_by_label("Save").collect();
        saves.sort_by(|a, b| a.rect().min.y.total_cmp(&b.rect().min.y));
        saves[k].click();
    };
    let saved = after(&mut harness, |h| buttons(h, 0));
    assert_eq!(saved, [Action::SaveSnapshot("snapshot.gvt".into())]);
    let saved = after(&mut harness, |h| buttons(h, 1));
    assert_eq!(saved, [Action::Screenshot("picture.png".into(), 1920, 1080)]);
    click(&mut harness, "as the window");
    let saved = after(&mut harness, |h| buttons(h, 1));
    assert_eq!(saved, [Action::Screenshot("picture.png".into(), 1280, 720)]);
    after(&mut harness, |h| field(h, 1, "  "));
    assert_eq!(after(&mut harness, |h| buttons(h, 0)), [], "no name, no file");

    let record = after(&mut harness, |h| h.get_by_label_contains("Record").click());
    assert_eq!(record, [Action::Record("film.webp".into(), None)]);
    click(&mut harness, "1280 x 720");
    let record = after(&mut harness, |h| h.get_by_label_contains("Record").click());
    assert_eq!(record, [Action::Record("film.webp".into(), Some([1280, 720]))]);
    harness.state_mut().recording = Some(("film.webp".into(), 45));
    harness.run();
    assert!(harness.query_by_label("recording film.webp: 1.5 s").is_some());
    // One button in the tab, and one over the picture that every tab shows.
    for k in 0..2 {
        let stop = |h: &egui_kittest::Harness<'static, World>| {
            h.get_all_by_label("Stop").nth(k).expect("two buttons").click();
        };
        assert_eq!(after(&mut harness, stop), [Action::StopRecording]);
    }
    assert_eq!(click(&mut harness, "Copy the command line"), [Action::CopyCommandLine]);
    assert_eq!(click(&mut harness, "Copy the link"), [Action::CopyLink]);
}

#[test]
fn messages_stay_until_dismissed() {
    let mut world = World::on(Tab::Scene);
    world.message = Some(("no file of that name".to_owned(), true));
    let mut harness = world.shown(700.0);
    assert!(harness.query_by_label("no file of that name").is_some());
    assert_eq!(click(&mut harness, "×"), [Action::DismissMessage]);
    // A long message does not extend below the panel, and its button stays visible.
    let long = ["a/very/long/path/to/some/snapshot"; 12].join(" ");
    harness.state_mut().message = Some((long.clone(), true));
    harness.run();
    let free = harness.ctx.content_rect().width() - harness.state().panel.width;
    for node in [harness.get_by_label(&long), harness.get_by_label("×")] {
        let rect = node.rect();
        assert!(rect.max.x <= free && rect.min.x >= 0.0, "{rect:?} beside {free}");
    }
    // Overlays are positioned one frame after their size is known.
    harness.run_steps(3);
    assert_eq!(click(&mut harness, "×"), [Action::DismissMessage]);
}

#[test]
fn numbers_of_the_external_field_can_be_changed() {
    let mut world = World::on(Tab::Physics);
    world.settings.field = "hernquist:mass=30,scale=4,x=8 tidal:xx=0.5".parse().unwrap();
    world.units = gravitile::units::Units::default();
    let mut harness = world.shown(1400.0);
    let spin = |h: &egui_kittest::Harness<'static, World>, name: &str, value: f64| {
        let nodes = h.get_all_by_role_and_label(WidgetRole::SpinButton, name);
        nodes.into_iter().next().expect("a number").set_value_accesskit(value);
    };
    for (name, value, expected) in [
        ("mass", 45.0, Some("hernquist:mass=45,scale=4,x=8 tidal:xx=0.5")),
        ("y", -2.0, Some("hernquist:mass=30,scale=4,x=8,y=-2 tidal:xx=0.5")),
        ("xy", 0.25, Some("hernquist:mass=30,scale=4,x=8 tidal:xx=0.5,xy=0.25")),
        ("scale", -1.0, None),
        ("scale", 5.0, Some("hernquist:mass=30,scale=5,x=8 tidal:xx=0.5")),
    ] {
        let actions = after(&mut harness, |h| spin(h, name, value));
        let expected = expected.map(|text| Action::Field(text.parse().unwrap()));
        assert_eq!(actions, Vec::from_iter(expected), "{name} = {value}");
        let problem = harness.query_by_label_contains("'scale' of the potential 'hernquist' is -1");
        assert_eq!(problem.is_some(), value == -1.0, "{name} = {value}");
    }
}

/// The only change of the integration in `actions`.
pub fn integration(actions: Vec<Action>) -> Integration {
    match <[Action; 1]>::try_from(actions) {
        Ok([Action::Integration(request)]) => request,
        other => panic!("one change was expected: {other:?}"),
    }
}

#[test]
fn integrators_show_their_accuracy_parameters() {
    let mut harness = World::on(Tab::Physics).shown(TALL);
    assert!(harness.query_by_label("eta").is_none(), "the leapfrog has one step for all");
    let request = integration(click(&mut harness, "hermite4"));
    let settings = harness.state().settings.clone();
    assert_eq!(request.integrator.name, "hermite4");
    assert_eq!((request.blocks, request.precision), (settings.blocks, None));
    assert_eq!(click(&mut harness, "leapfrog"), [], "it is the present one");

    harness.state_mut().settings.integrator = find("hermite4").unwrap();
    harness.run();
    let request = integration(slide(&mut harness, "eta", 0.001));
    assert!((request.blocks.eta / 0.001 - 1.0).abs() < 1e-6, "{:?}", request.blocks);
    assert_eq!((request.blocks.eta6, request.blocks.dt_max), (settings.blocks.eta6, 0.125));
    assert!(harness.query_by_label("eta6").is_none(), "hermite4 has no criterion of order 6");
    let request = integration(slide(&mut harness, "dt-max", -6.0));
    assert_eq!(request.blocks.dt_max, 1.0 / 64.0);

    harness.state_mut().settings.integrator = find("hermite6").unwrap();
    harness.run();
    let request = integration(slide(&mut harness, "eta6", 0.05));
    assert!((request.blocks.eta6 / 0.05 - 1.0).abs() < 1e-6, "{:?}", request.blocks);
}

#[test]
fn unavailable_precision_tiers_are_disabled() {
    // Engine, integrator, then which of single, double-single and double are available other than
    // the default.
    for (engine, integrator, available) in [
        (EngineKind::Gpu, "leapfrog", [false, false, false]),
        (EngineKind::Cpu, "leapfrog", [false, false, true]),
        (EngineKind::Cpu, "hermite4", [false, false, false]),
        (EngineKind::Reference, "leapfrog", [false, false, false]),
        // The baseline device of these tests has no f64.
        (EngineKind::Gpu, "hermite6", [true, false, false]),
    ] {
        let mut world = World::on(Tab::Physics);
        (world.engine, world.settings.integrator) = (engine, find(integrator).unwrap());
        let mut harness = world.shown(TALL);
        for ((tier, name), expected) in Precision::ALL.into_iter().zip(available) {
            let actions = click(&mut harness, name);
            let case = format!("{engine:?}, {integrator}, {name}");
            if expected {
                assert_eq!(integration(actions).precision, Some(tier), "{case}");
            } else {
                assert_eq!(actions, [], "{case}");
            }
        }
    }
}

#[test]
fn precision_unsupported_by_the_new_integrator_is_dropped() {
    let mut world = World::on(Tab::Physics);
    (world.engine, world.settings.integrator) = (EngineKind::Gpu, find("hermite4").unwrap());
    world.settings.precision = Some(Precision::DoubleSingle);
    let mut harness = world.shown(TALL);
    assert_eq!(integration(click(&mut harness, "leapfrog")).precision, None);
    assert_eq!(
        integration(click(&mut harness, "hermite6")).precision,
        Some(Precision::DoubleSingle)
    );
}

#[test]
fn only_leapfrog_is_available_backwards() {
    let mut world = World::on(Tab::Physics);
    world.dt = -world.dt;
    let mut harness = world.shown(TALL);
    assert_eq!(click(&mut harness, "hermite4"), []);
}

#[test]
fn what_a_drag_throws_in_is_chosen_in_the_panel() {
    let mut harness = World::on(Tab::Scene).shown(1000.0);
    let chosen = |harness: &egui_kittest::Harness<'_, World>| harness.state().panel.throw.clone();
    assert!(!chosen(&harness).on);
    assert_eq!(click(&mut harness, "Throw in"), [Action::ThrowMode]);
    click(&mut harness, "cluster");
    slide(&mut harness, "size", 0.2);
    let form = chosen(&harness);
    assert_eq!((form.kind.name(), form.size_part, form.count()), ("cluster", 0.2, 1000));
    click(&mut harness, "body");
    assert_eq!(chosen(&harness).count(), 1);
    harness.state_mut().panel.throw.on = true;
    harness.run();
    assert_eq!(click(&mut harness, "Drag in the picture"), [Action::ThrowMode]);
    assert_eq!(after(&mut harness, |h| h.key_press(egui::Key::T)), [Action::ThrowMode]);
}
