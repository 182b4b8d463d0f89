//! Moving the camera by hand, and following.

use super::*;

fn size() -> PictureSize {
    PictureSize::new(1000, 600).unwrap()
}

#[test]
fn target_is_in_the_middle_of_the_free_area() {
    let steering = Steering::new(Camera::default());
    let shown = steering.shown(300.0, size());
    let (pixel, _) = shown.pixel_of(steering.camera().target, size()).unwrap();
    assert!((pixel - DVec2::new(350.0, 300.0)).length() < 0.01, "{pixel}");
}

/// Touches of two fingers at `places` in a frame of 1000 x 600 points.
fn two_fingers(
    context: &egui::Context,
    steering: &mut Steering,
    phase: egui::TouchPhase,
    places: [f32; 2],
    frame: u32,
) -> Option<PointerRequest> {
    let events = places.iter().zip(0..).map(|(&x, id)| egui::Event::Touch {
        device_id: egui::TouchDeviceId(0),
        id: egui::TouchId(id),
        phase,
        pos: egui::pos2(x, 300.0),
        force: None,
    });
    // egui-winit also reports the first finger as a pointer.
    let pos = egui::pos2(places[0], 300.0);
    let mut pointer = vec![egui::Event::PointerMoved(pos)];
    if phase == egui::TouchPhase::Start {
        pointer.push(egui::Event::PointerButton {
            pos,
            button: PointerButton::Primary,
            pressed: true,
            modifiers: egui::Modifiers::default(),
        });
    }
    let input = egui::RawInput {
        screen_rect: Some(egui::Rect::from_min_size(egui::Pos2::ZERO, egui::vec2(1000.0, 600.0))),
        time: Some(f64::from(frame) / 60.0),
        events: pointer.into_iter().chain(events).collect(),
        ..Default::default()
    };
    let mut request = None;
    let mut output = context.run_ui(input, |ui| request = steering.input(ui, (0.0, None), size()));
    // egui panics on textures that were not handled.
    output.textures_delta.clear();
    request
}

#[test]
fn two_fingers_zoom_and_move_the_picture() {
    let context = egui::Context::default();
    let mut steering = Steering::new(Camera::default());
    let mut touch = |phase, places, frame| {
        let request = two_fingers(&context, &mut steering, phase, places, frame);
        (steering.camera(), request)
    };
    touch(egui::TouchPhase::Start, [450.0, 550.0], 0);
    // egui begins a gesture at the pointer's position of the frame before.
    let (begun, _) = touch(egui::TouchPhase::Move, [450.0, 550.0], 1);
    // Twice as far apart around the same middle: everything is twice as large.
    touch(egui::TouchPhase::Move, [425.0, 575.0], 2);
    let (zoomed, request) = touch(egui::TouchPhase::Move, [400.0, 600.0], 3);
    let factor = begun.distance / zoomed.distance;
    assert!((factor - 2.0).abs() < 0.05, "{factor}");
    assert!((zoomed.target - begun.target).length() < 1e-6 * begun.distance);
    assert_eq!(request, None);
    // Both to the right: the picture is panned, and following ends.
    let (moved, request) = touch(egui::TouchPhase::Move, [440.0, 640.0], 4);
    let (place, _) = moved.pixel_of(zoomed.target, size()).unwrap();
    assert!((place - DVec2::new(540.0, 300.0)).length() < 1.0, "{place}");
    assert_eq!(request, Some(PointerRequest::Release));
}

#[test]
fn zooming_stops_at_its_limits() {
    let mut steering = Steering::new(Camera::default());
    let start = steering.start.distance;
    for (factor, end) in [(1.5, ZOOM[0] * start), (1.0 / 1.5, ZOOM[1] * start)] {
        for _ in 0..100 {
            steering.zoom(factor, DVec2::new(500.0, 300.0), size());
        }
        assert!((steering.camera().distance / end - 1.0).abs() < 1e-9);
        assert!(steering.take_zoom_limit() && !steering.take_zoom_limit());
    }
}

#[test]
fn camera_converges_to_the_followed_body() {
    let mut steering = Steering::new(Camera::default());
    let bodies = Bodies::default();
    steering.follow(Follow::Body(0), &[DVec4::new(3.0, 4.0, 5.0, 1.0)], &bodies);
    for _ in 0..60 {
        steering.pass(0.05, 0.0);
    }
    assert!((steering.camera().target - DVec3::new(3.0, 4.0, 5.0)).length() < 1e-3);
}

#[test]
fn camera_does_not_lag_behind_bodies_in_common_motion() {
    let mut steering = Steering::new(Camera::default());
    let place = |frame: i32| DVec3::X * (2.0 * f64::from(frame));
    steering.go(Camera { distance: 5.0, ..Camera::default() });
    for frame in 0..100 {
        steering.pass(1.0 / 60.0, 0.0);
        steering.ride(place(frame), Follow::CentreOfMass);
        assert!((steering.camera().target - place(frame)).length() < 1e-9, "{frame}");
    }
    assert_eq!(steering.camera().distance, 5.0);
    // A position read back some frames ago is corrected by the common motion since.
    steering.release();
    let offset = DVec3::new(0.0, 3.0, 0.0);
    for frame in 100..200 {
        let body = (place(frame - 5) + offset).extend(1.0);
        steering.follow(Follow::Body(0), &[body], &Bodies::default());
        steering.pass(1.0 / 60.0, 0.0);
        steering.ride(place(frame), Follow::Body(0));
    }
    let away = steering.camera().target - place(199) - offset;
    assert!(away.length() < 11.0, "{away}");
    // Without following the camera stays.
    steering.release();
    let rests = steering.camera();
    steering.ride(DVec3::Y * 1e9, Follow::Nothing);
    assert_eq!(steering.camera(), rests);
}

#[test]
fn camera_is_fitted_to_another_window_unless_it_was_zoomed() {
    let (small, large) = (PictureSize::new(300, 600).unwrap(), size());
    let mut steering = Steering::new(Camera::default());
    let at = |distance: f64| Camera { distance, ..Camera::default() };
    assert!(steering.is_fit_for(small), "it was not fitted yet");
    steering.begin(at(10.0), large);
    assert!(steering.is_fit_for(large) && !steering.is_fit_for(small));
    steering.pass(1.0, 20.0);
    let turned = steering.camera().azimuth_rad;
    steering.fit(at(18.0), small);
    assert_eq!((steering.camera().distance, steering.camera().azimuth_rad), (18.0, turned));
    steering.put(steering.camera().zoomed(2.0));
    steering.fit(at(10.0), large);
    assert_eq!((steering.camera().distance, steering.start.distance), (9.0, 10.0));
}

#[test]
fn smooth_move_ends_exactly_at_its_target() {
    let mut steering = Steering::new(Camera::default());
    let target = Camera { distance: 77.0, azimuth_rad: 1.0, ..Camera::default() };
    steering.go(target);
    for _ in 0..100 {
        steering.pass(0.05, 0.0);
    }
    assert_eq!(steering.camera(), target.orbited(0.0));
}

#[test]
fn drag_throws_instead_of_turning_while_that_is_on() {
    let context = egui::Context::default();
    let mut steering = Steering::new(Camera::default());
    steering.throws = true;
    let frame_of = |steering: &mut Steering,
                    (number, offset): (u32, Option<f32>),
                    x: f32,
                    press: Option<bool>| {
        let x = x + offset.unwrap_or(0.0);
        let halves = offset.map(|offset| [f64::from(offset) - 2.0, f64::from(offset)]);
        let covered = halves.map_or(0.0, |[half, _]| 1000.0 - half);
        let pos = egui::pos2(x, 200.0);
        let mut events = vec![egui::Event::PointerMoved(pos)];
        events.extend(press.map(|pressed| egui::Event::PointerButton {
            pos,
            button: PointerButton::Primary,
            pressed,
            modifiers: egui::Modifiers::default(),
        }));
        let screen = egui::Rect::from_min_size(egui::Pos2::ZERO, egui::vec2(1000.0, 600.0));
        let time = Some(f64::from(number) / 60.0);
        let input =
            egui::RawInput { screen_rect: Some(screen), time, events, ..Default::default() };
        let mut request = None;
        let layout = (covered, halves);
        let mut output = context.run_ui(input, |ui| request = steering.input(ui, layout, size()));
        output.textures_delta.clear();
        request
    };
    let frame = |steering: &mut Steering, number, x, press: Option<bool>| {
        frame_of(steering, (number, None), x, press)
    };
    let path = [(300.0, None), (300.0, Some(true)), (350.0, None), (420.0, None)];
    let mut last = None;
    for (number, (x, press)) in (0..).zip(path) {
        last = frame(&mut steering, number, x, press);
    }
    let ends = |request| match request {
        Some(PointerRequest::Throw { pixels: [from, to], released, .. }) => {
            ([from.x, to.x], released)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(ends(last), ([300.0, 420.0], false));
    let end = frame(&mut steering, 4, 420.0, Some(false));
    assert_eq!(ends(end), ([300.0, 420.0], true));
    assert_eq!(steering.camera(), Camera::default());
    // Over the second of two pictures, it throws as over the first.
    let [first, second] = [(20, None), (40, Some(501.0))].map(|(begun, offset)| {
        // The camera's picture has its middle in that of the first.
        let middle = offset.map_or(0.0, |_| 0.5 * 501.0);
        let path = path.into_iter().chain([(420.0, Some(false))]);
        let last = path
            .zip(begun..)
            .map(|((x, press), number)| frame_of(&mut steering, (number, offset), x, press));
        let (pixels, released) = ends(last.last().flatten());
        (pixels.map(|x| x - middle), released)
    });
    assert_eq!(first, ([300.0, 420.0], true));
    assert_eq!(first, second);
    // A drag turns the picture again.
    steering.throws = false;
    for (number, (x, press)) in (60..).zip(path) {
        assert_eq!(frame(&mut steering, number, x, press), None);
    }
    assert_ne!(steering.camera(), Camera::default());
}
