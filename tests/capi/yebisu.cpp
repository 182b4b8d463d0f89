// A client of Yebisu's calls, with its own structures and with those of the header.
// Argument: the error allowed.
#include "yebisu.h"

#include <cstdlib>

#include "cloud.h"

// Like those of programs: a vector with operator[], members in another order.
struct vec {
    double element[3];
    double &operator[](int k) { return element[k]; }
};
struct Force {
    vec acc, jrk, snp;
    double phi;
    int nnb_id;
    float nnb_r2;
};
struct predictor {
    double mass, id, eps2;
    double pos[3], vel[3], acc[3];
};

static const int n = 100, ni = 20;
static struct cloud c;

template <class Force>
static void compare(Force *force, double eps2, double bound) {
    for (int i = 0; i < ni; i++) {
        double a[3], j[3], s[3], p, r2;
        int near;
        attract(&c, i, c.x[i], c.v[i], c.a[i], eps2 < 0 ? (i % 2 ? 0 : 1e-4) : eps2, a, j, s, &p, &near, &r2);
        double got[3] = {force[i].acc[0], force[i].acc[1], force[i].acc[2]};
        double rate[3] = {force[i].jrk[0], force[i].jrk[1], force[i].jrk[2]};
        double snap[3] = {force[i].snp[0], force[i].snp[1], force[i].snp[2]};
        CHECK(below(off(got, a), bound) && below(off(rate, j), 30 * bound) && below(off(snap, s), 100 * bound));
        CHECK(below(fabs(force[i].phi / p - 1), bound) && force[i].nnb_id == 2 * near);
        CHECK(below(fabs(force[i].nnb_r2 / (r2 + (eps2 < 0 ? (i % 2 ? 0 : 1e-4) : eps2)) - 1), 1e-5));
    }
}

int main(int argc, char **argv) {
    const double bound = argc > 1 ? atof(argv[1]) : 1e-12;
    double zero[3] = {0, 0, 0};
    static predictor own[ni];
    static Force force[ni];
    static yebisu::predictor theirs[ni];
    static yebisu::Force sums[ni];
    plummer(&c, n);
    CHECK(initialize(n) == 0);
    for (int i = 0; i < n; i++)
        CHECK(set_jp(i, c.m[i], c.x[i], c.v[i], c.a[i], zero, zero, zero, 0.0, 2 * i, 0.01) == 0);
    CHECK(predict_all(0.0, n) == 0);
    for (int i = 0; i < ni; i++) {
        CHECK(pick_up_predictor(i, own[i]) == 0 && pick_up_predictor_2(i, theirs[i]) == 0);
        CHECK(own[i].mass == c.m[i] && own[i].id == 2 * i && own[i].eps2 == 0.01 && own[i].pos[2] == c.x[i][2]);
        CHECK(theirs[i].vel[1] == c.v[i][1] && theirs[i].acc[0] == 0);
        own[i].eps2 = theirs[i].eps2 = i % 2 ? 0 : 1e-4;
    }
    CHECK(calc_force_on_predictors(ni, own, force, n) == 0);
    compare(force, -1, bound);
    CHECK(calc_force_on_predictors(ni, theirs, sums, n) == 0);
    compare(sums, -1, bound);
    yebisu::Force twice = sums[3];
    twice += sums[3];
    CHECK(twice.phi == 2 * sums[3].phi && twice.acc[1] == 2 * sums[3].acc[1] && twice.nnb_id == sums[3].nnb_id);
    // Uses the softening of the j-particles, provided that all are equal.
    CHECK(calc_force_on_predictors_epsj(ni, own, force, n) == 0);
    compare(force, 0.01, bound);
    CHECK(set_jp(7, c.m[7], c.x[7], c.v[7], c.a[7], zero, zero, zero, 0.0, 14, 0.02) == 0);
    EXPECT("eps2 of the j-particle at address 7 is 0.02, but must be 0.01");
    CHECK(calc_force_on_predictors_epsj(ni, own, force, n) == -1 && force[0].acc[0] != force[0].acc[0]);
    EXPECT("address of a j-particle is 1000");
    CHECK(pick_up_predictor(1000, own[0]) == -1);
    return done("yebisu");
}
