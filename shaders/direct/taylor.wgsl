// Prediction of a body, as far as forces need it. Needs direct/wide.wgsl.
struct Predicted {
    position: Wide,
    velocity: Wide,
    acceleration: Wide,
}

// Taylor series over the time h, starting with the highest term.
fn taylor(position: Wide, velocity: Wide, acceleration: Wide, jerk: Wide, snap: Wide, crackle: Real3, h: Span) -> Predicted {
    let t = short(h);
    let bend_x = plus(snap, crackle * (t / Real(5.0)));
    let bend_v = plus(snap, crackle * (t * Real(0.25)));
    let bend_a = plus(snap, crackle * (t / Real(3.0)));
    let turn_x = times(times(sum(jerk, scaled(times(bend_x, h), Real(0.25))), h), THIRD);
    let turn_v = times(sum(jerk, times(times(bend_v, h), THIRD)), h);
    let turn_a = times(sum(jerk, scaled(times(bend_a, h), Real(0.5))), h);
    let mean_velocity = sum(velocity, scaled(times(sum(acceleration, turn_x), h), Real(0.5)));
    return Predicted(
        sum(position, times(mean_velocity, h)),
        sum(velocity, times(sum(acceleration, scaled(turn_v, Real(0.5))), h)),
        sum(acceleration, turn_a),
    );
}

// The same without snap and crackle, in a third fewer operations.
fn taylor_to_jerk(position: Wide, velocity: Wide, acceleration: Wide, jerk: Wide, h: Span) -> Predicted {
    let turn = times(jerk, h);
    let mean_velocity = sum(velocity, scaled(times(sum(acceleration, times(turn, THIRD)), h), Real(0.5)));
    return Predicted(
        sum(position, times(mean_velocity, h)),
        sum(velocity, times(sum(acceleration, scaled(turn, Real(0.5))), h)),
        sum(acceleration, turn),
    );
}
