// Hermite of order 4; the equations are at src/integrate/hermite4.rs.

fn predict(track: Track, h: Span) -> Predicted {
    let turn = times(track.jerk, h);
    let for_position = sum(track.acceleration, times(turn, THIRD));
    let for_velocity = sum(track.acceleration, scaled(turn, Real(0.5)));
    let mean_velocity = sum(track.velocity, scaled(times(for_position, h), Real(0.5)));
    return Predicted(
        sum(track.position, times(mean_velocity, h)),
        sum(track.velocity, times(for_velocity, h)),
        sum(track.acceleration, turn),
    );
}

// Products with 3 and 6.
fn thrice(a: Wide) -> Wide {
    return sum(scaled(a, Real(2.0)), a);
}

fn six(a: Wide) -> Wide {
    return sum(scaled(a, Real(4.0)), scaled(a, Real(2.0)));
}

// Differences are taken in full width: with short steps little remains of them.
fn correct(track: Track, h: Real, pull: Pull) -> Corrected {
    let h2 = h * h;
    let pulls = rise(track.acceleration, pull.acceleration);
    let before = scaled(track.jerk, h);
    let now = scaled(pull.jerk, h);
    // Derivatives of the cubic at the beginning of the step, times powers of h.
    let snap_begin = narrow(rise(sum(scaled(before, Real(4.0)), scaled(now, Real(2.0))), six(pulls)));
    let crackle = narrow(rise(scaled(six(pulls), Real(2.0)), six(sum(before, now))));
    let snap = snap_begin + crackle;

    var after = track;
    // Equation 3.8 of Belleman et al. with 3.2 and 3.7 inserted: h^2 (a / 2 + (9 rise + (3 j_0 - 2 j_1) h) / 60).
    let bow = sum(sum(scaled(pulls, Real(8.0)), pulls), sum(thrice(before), scaled(now, Real(-2.0))));
    after.position = sum(
        sum(track.position, scaled(track.velocity, h)),
        scaled(sum(track.acceleration, times(bow, THIRTIETH)), Real(0.5) * h2),
    );
    after.velocity = sum(
        sum(track.velocity, scaled(sum(track.acceleration, pull.acceleration), Real(0.5) * h)),
        scaled(times(rise(now, before), THIRD), Real(0.25) * h),
    );
    after.acceleration = pull.acceleration;
    after.jerk = pull.jerk;
    after.snap = widened(kept(snap / h2));
    after.crackle = kept(crackle / (h2 * h));
    let none = Real3();
    let noises = noise_of(pull, h) * Real4(Real(6.0), Real(12.0), Real(0.0), Real(0.0));
    let a = narrow(pull.acceleration);
    var ratios = vec3<f32>();
    for (var i = 0u; i < 3u; i += 1u) {
        ratios[i] = aarseth(sizes(a, narrow(now), snap, crackle, none, none, left_out(i) * noises));
    }
    return Corrected(after, settled(ratios[1], ratios[2]), ratios[0]);
}
