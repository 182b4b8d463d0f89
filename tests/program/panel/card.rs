//! The card of a clicked body, and the progress of the initial forces.

use egui_kittest::kittest::Queryable;
use gravitile::live::{BodyFacts, Neighbour};
use gravitile::render::Follow;
use gravitile_app::panel::{Action, Tab};

use super::world::{World, click};

/// Facts of a body, bound if `kinetic` is below 2.
fn about(kinetic: f64) -> BodyFacts {
    let near =
        |body: usize, distance| Neighbour { body, id: body as u64 + 100, component: 1, distance };
    BodyFacts {
        body: 7,
        id: 107,
        component: 0,
        time: 1.0,
        mass: 0.25,
        speed: 1.5,
        distance: 3.0,
        kinetic,
        potential: -2.0,
        nearest: vec![near(3, 0.125), near(9, 0.5)],
    }
}

#[test]
fn card_shows_facts_of_its_body_and_leads_to_neighbours() {
    let mut world = World::on(Tab::Scene);
    world.units = gravitile::units::Units::default();
    world.inspected.about = Some(about(1.0));
    let mut harness = world.shown(700.0);
    assert!(harness.query_by_label_contains("body 107").is_none(), "nobody clicked on one");
    harness.state_mut().panel.card.body = Some(7);
    harness.run();
    for text in ["0.2500", "1.50", "3.00", "-1.00", "bound"] {
        assert!(harness.query_all_by_label(text).count() > 0, "{text}");
    }
    click(&mut harness, "keep it in the middle");
    assert_eq!(harness.state().view.follow, Follow::Body(7));
    harness.get_by_label_contains("body 103").click();
    harness.run();
    assert_eq!(harness.state().panel.card.body, Some(3));
    assert!(harness.query_by_label("computing …").is_some(), "that was another body's");

    harness.state_mut().panel.card.body = Some(7);
    harness.state_mut().inspected.about = Some(about(2.5));
    harness.run();
    assert!(harness.query_by_label("free").is_some() && harness.query_by_label("bound").is_none());
    click(&mut harness, "×");
    assert_eq!(harness.state().panel.card.body, None);
}

#[test]
fn initial_forces_show_progress_if_it_is_known() {
    let mut world = World::on(Tab::File);
    world.status.ready = false;
    world.status.first_interactions = (world.count as u64).pow(2) / 4;
    let mut harness = world.shown(700.0);
    assert!(harness.query_by_label_contains("first forces: 25 %").is_some());
    harness.state_mut().method = Some(gravitile::forces::Method::Tree);
    harness.run();
    assert!(harness.query_by_label_contains("first forces").is_some());
    assert!(harness.query_by_label_contains("25 %").is_none());
}

#[test]
fn long_initial_forces_can_be_cancelled() {
    let mut world = World::on(Tab::File);
    world.status.ready = false;
    let mut harness = world.shown(700.0);
    assert!(harness.query_by_label("Cancel").is_none(), "most take no time to speak of");
    // With its spinner the picture never comes to rest: `run` would not return.
    harness.run_steps(8);
    harness.get_by_label("Cancel").click();
    harness.run_steps(2);
    assert!(harness.state().actions.contains(&Action::LeaveForces));
    harness.state_mut().status.ready = true;
    harness.run();
    assert!(harness.query_by_label("Cancel").is_none());
}
