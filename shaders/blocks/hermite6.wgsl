// Hermite of order 6; the equations are at src/integrate/hermite6.rs.

fn predict(track: Track, h: Span) -> Predicted {
    let t = short(h);
    let jerk = narrow(track.jerk);
    // Taylor series, from the highest term on.
    let bend_x = track.snap + track.crackle * (t / Real(5.0));
    let bend_v = track.snap + track.crackle * (t * Real(0.25));
    let bend_a = track.snap + track.crackle * (t / Real(3.0));
    let for_position = plus(track.acceleration, (jerk + bend_x * (t * Real(0.25))) * (t / Real(3.0)));
    let for_velocity = plus(track.acceleration, (jerk + bend_v * (t / Real(3.0))) * (t * Real(0.5)));
    let mean_velocity = sum(track.velocity, times(scaled(for_position, Real(0.5)), h));
    return Predicted(
        sum(track.position, times(mean_velocity, h)),
        sum(track.velocity, times(for_velocity, h)),
        narrow(track.acceleration) + (jerk + bend_a * (t * Real(0.5))) * t,
    );
}

fn correct(track: Track, h: Real, pull: Pull) -> Corrected {
    let k = Real(0.5) * h;
    let h2 = h * h;
    let rise = sum(pull.acceleration, scaled(track.acceleration, Real(-1.0)));
    let jerks = scaled(sum(track.jerk, pull.jerk), k);
    let bend = change(track.jerk, pull.jerk) * k;
    let snaps = (pull.snap + track.snap) * (k * k);
    let twist = (pull.snap - track.snap) * (k * k);

    var after = track;
    after.velocity = plus(
        sum(track.velocity, scaled(sum(track.acceleration, pull.acceleration), k)),
        (snaps / Real(30.0) - bend / Real(5.0)) * h,
    );
    after.position = plus(
        sum(track.position, scaled(sum(track.velocity, after.velocity), k)),
        (narrow(jerks) / Real(60.0) - narrow(rise) / Real(10.0)) * h2,
    );
    // The quintic in u = (t - middle) / k, and its derivatives at u = 1, times powers of h.
    let excess = change(rise, jerks);
    let c4 = (snaps - bend) / Real(16.0);
    let c5 = (twist - Real(3.0) * excess) / Real(16.0);
    let c3 = excess * Real(0.25) - Real(2.0) * c5;
    let crackle = Real(8.0) * (Real(6.0) * c3 + Real(24.0) * c4 + Real(60.0) * c5);
    let fourth = Real(16.0) * (Real(24.0) * c4 + Real(120.0) * c5);
    let fifth = Real(3840.0) * c5;

    after.acceleration = pull.acceleration;
    after.jerk = pull.jerk;
    after.snap = pull.snap;
    after.crackle = kept(crackle / (h2 * h));
    let jerk_h = narrow(pull.jerk) * h;
    let noise = noise_of(narrow(pull.acceleration), jerk_h);
    let noises = noise * Real4(Real(0.0), Real(60.0), Real(360.0), Real(720.0));
    let a = narrow(pull.acceleration);
    let snap = pull.snap * h2;
    let all = sizes(a, jerk_h, snap, crackle, fourth, fifth, noises);
    let sure = sizes(a, jerk_h, snap, crackle, fourth, fifth, FAR_ABOVE * noises);
    return Corrected(after,
        settled(0.5 * (aarseth(all) + sixth(all)), 0.5 * (aarseth(sure) + sixth(sure))));
}
