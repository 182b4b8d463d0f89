// Hermite of order 6; the equations are at src/integrate/hermite6.rs.

fn predict(track: Track, h: Span) -> Predicted {
    return taylor(track.position, track.velocity, track.acceleration, track.jerk, track.snap, track.crackle, h);
}

// a - 6 b.
fn less_six(a: Wide, b: Wide) -> Wide {
    return sum(sum(a, scaled(b, Real(-4.0))), scaled(b, Real(-2.0)));
}

// Differences are taken in full width: with short steps little remains of them.
fn correct(track: Track, h: Real, pull: Pull) -> Corrected {
    let k = Real(0.5) * h;
    let h2 = h * h;
    let pulls = rise(track.acceleration, pull.acceleration);
    let jerks = scaled(sum(track.jerk, pull.jerk), k);
    let bend = scaled(rise(track.jerk, pull.jerk), k);
    let snaps = scaled(sum(track.snap, pull.snap), k * k);
    let twist = scaled(rise(track.snap, pull.snap), k * k);

    var after = track;
    after.velocity = sum(
        sum(track.velocity, scaled(sum(track.acceleration, pull.acceleration), k)),
        scaled(times(less_six(snaps, bend), THIRTIETH), h),
    );
    after.position = sum(
        sum(track.position, scaled(sum(track.velocity, after.velocity), k)),
        scaled(times(less_six(jerks, pulls), THIRTIETH), Real(0.5) * h2),
    );
    // The quintic in u = (t - middle) / k, and its derivatives at u = 1, times powers of h.
    let excess = rise(pulls, jerks);
    let c4 = narrow(rise(bend, snaps)) / Real(16.0);
    let c5 = narrow(rise(sum(excess, scaled(excess, Real(2.0))), twist)) / Real(16.0);
    let c3 = narrow(excess) * Real(0.25) - Real(2.0) * c5;
    let crackle = Real(8.0) * (Real(6.0) * c3 + Real(24.0) * c4 + Real(60.0) * c5);
    let fourth = Real(16.0) * (Real(24.0) * c4 + Real(120.0) * c5);
    let fifth = Real(3840.0) * c5;

    after.acceleration = pull.acceleration;
    after.jerk = pull.jerk;
    after.snap = pull.snap;
    after.crackle = kept(crackle / (h2 * h));
    let noises = noise_of(pull, h) * Real4(Real(0.0), Real(60.0), Real(360.0), Real(720.0));
    let a = narrow(pull.acceleration);
    let jerk = narrow(pull.jerk) * h;
    let snap = narrow(pull.snap) * h2;
    var ratios = vec3<f32>();
    for (var i = 0u; i < 3u; i += 1u) {
        let known = sizes(a, jerk, snap, crackle, fourth, fifth, left_out(i) * noises);
        ratios[i] = mean_ratio(known);
    }
    return Corrected(after, settled(ratios[1], ratios[2]), ratios[0]);
}
