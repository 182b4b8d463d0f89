// Hermite of order 4; the equations are at src/integrate/hermite4.rs.

fn predict(track: Track, h: Span) -> Predicted {
    let t = short(h);
    let jerk = narrow(track.jerk);
    let for_position = plus(track.acceleration, jerk * (t / Real(3.0)));
    let for_velocity = plus(track.acceleration, jerk * (t * Real(0.5)));
    let mean_velocity = sum(track.velocity, times(scaled(for_position, Real(0.5)), h));
    return Predicted(
        sum(track.position, times(mean_velocity, h)),
        sum(track.velocity, times(for_velocity, h)),
        narrow(track.acceleration) + jerk * t,
    );
}

fn correct(track: Track, h: Real, pull: Pull) -> Corrected {
    let h2 = h * h;
    let rise = change(track.acceleration, pull.acceleration);
    let jerk_before = narrow(track.jerk);
    let jerk = narrow(pull.jerk);
    // The cubic's derivatives at the beginning of the step, times powers of h.
    let snap_begin = Real(6.0) * rise - (Real(4.0) * jerk_before + Real(2.0) * jerk) * h;
    let crackle = Real(6.0) * (jerk_before + jerk) * h - Real(12.0) * rise;
    let snap = snap_begin + crackle;

    var after = track;
    // Equation 3.8 of Belleman et al. with 3.2 and 3.7 put in: what is large is summed in full width.
    after.position = sum(
        sum(track.position, scaled(track.velocity, h)),
        plus(scaled(track.acceleration, Real(0.5) * h2),
            (Real(0.15) * rise + (Real(3.0) * jerk_before - Real(2.0) * jerk) * (h / Real(60.0))) * h2),
    );
    after.velocity = plus(
        sum(track.velocity, scaled(sum(track.acceleration, pull.acceleration), Real(0.5) * h)),
        change(pull.jerk, track.jerk) * (h2 / Real(12.0)),
    );
    after.acceleration = pull.acceleration;
    after.jerk = pull.jerk;
    after.snap = kept(snap / h2);
    after.crackle = kept(crackle / (h2 * h));
    let jerk_h = jerk * h;
    let noise = noise_of(narrow(pull.acceleration), jerk_h);
    let none = Real3();
    let noises = noise * Real4(Real(6.0), Real(12.0), Real(0.0), Real(0.0));
    let a = narrow(pull.acceleration);
    let wish = aarseth(sizes(a, jerk_h, snap, crackle, none, none, noises));
    let sure = aarseth(sizes(a, jerk_h, snap, crackle, none, none, FAR_ABOVE * noises));
    return Corrected(after, settled(wish, sure));
}
