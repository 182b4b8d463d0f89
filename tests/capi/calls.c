/* Wrong calls, and unusual ones that are valid. Each wrong call is announced on stderr with words
 * that the library's line must contain; the test counts both. */
#include <limits.h>

#include "cloud.h"
#include "gravitile.h"

#define N 100
#define FAILS(words, call)    \
    do {                      \
        EXPECT(words);        \
        CHECK((call) == -1);  \
    } while (0)

static struct cloud c;
static double acc[N][3], jerk[N][3], pot[N], h2[N], null3[3];
static int ids[N], nnb[N];

static int set(int cluster, int address, int index, int body) {
    return g6_set_j_particle(cluster, address, index, 0.0, 0.0, c.m[body], null3, null3, null3,
                             c.v[body], c.x[body]);
}

static int first(int cluster, int nj, int ni) {
    return g6calc_firsthalf(cluster, nj, ni, ids, c.x, c.v, NULL, NULL, NULL, 1e-4, h2);
}

static int last(int cluster, int nj, int ni) {
    return g6calc_lasthalf2(cluster, nj, ni, ids, c.x, c.v, 1e-4, h2, acc, jerk, pot, nnb);
}

static void out_of_order(void) {
    int n, list[N], i;
    FAILS("cluster 0 is not open", set(0, 0, 0, 0));
    FAILS("not open", g6_set_ti(0, 0.0));
    FAILS("not open", first(0, N, 1));
    pot[0] = acc[0][0] = 1;
    nnb[0] = 5;
    FAILS("not open", last(0, N, 1));
    /* A failed call sets its results to NaN, so that clients cannot continue with old values. */
    CHECK(pot[0] != pot[0] && acc[0][0] != acc[0][0] && nnb[0] == -1);
    FAILS("not open", g6_read_neighbour_list(0));
    FAILS("no lists were read", g6_open(0) ? 0 : g6_get_neighbour_list(0, 0, N, &n, list));
    CHECK(g6_open(0) == 0); /* reopening leaves it unchanged */
    FAILS("first half", last(0, N, 1));
    FAILS("both halves", g6_read_neighbour_list(0));
    for (i = 0; i < N; i++) CHECK(set(0, i, i, i) == 0);
    CHECK(first(0, N, N) == 0);
    FAILS("both halves", g6_read_neighbour_list(0));
    FAILS("ni", last(0, N, N - 1));
    CHECK(last(0, N, N) == 0);
    FAILS("first half", last(0, N, N));
    CHECK(g6_read_neighbour_list(0) == 0);
    FAILS("pipeline", g6_get_neighbour_list(0, N, N, &n, list));
    FAILS("pipeline", g6_get_neighbour_list(0, -1, N, &n, list));
    FAILS("maxlength", g6_get_neighbour_list(0, 0, -1, &n, list));
    FAILS("nblen is NULL", g6_get_neighbour_list(0, 0, N, NULL, list));
    /* Of two first halves the second is used. */
    CHECK(first(0, N, 7) == 0 && first(0, N, 3) == 0 && last(0, N, 3) == 0);
    CHECK(first(0, N, 7) == 0 && g6_reset(0) == 0);
    FAILS("first half", last(0, N, 7));
    CHECK(g6_close(0) == 0);
    FAILS("not open", g6_close(0));
    FAILS("cluster -3", g6_close(-3));
}

static void numbers(void) {
    double x[3], nan = strtod("nan", NULL);
    int i, before;
    CHECK(g6_open(0) == 0);
    for (i = 0; i < N; i++) CHECK(set(0, i, i, i) == 0);
    x[0] = x[1] = 0;
    x[2] = nan;
    FAILS("position of the particle at address 4 (index 77)",
          g6_set_j_particle(0, 4, 77, 0.0, 0.0, 1.0, null3, null3, null3, c.v[4], x));
    FAILS("jerk of the particle at address 4",
          g6_set_j_particle(0, 4, 4, 0.0, 0.0, 1.0, null3, x, null3, c.v[4], c.x[4]));
    FAILS("mass", g6_set_j_particle_mxonly(0, 4, 4, nan, c.x[4]));
    FAILS("mass", g6_set_j_particle_mxonly(0, 4, 4, -1.0, c.x[4]));
    FAILS("tj", g6_set_j_particle(0, 4, 4, nan, 0.0, 1.0, null3, null3, null3, c.v[4], c.x[4]));
    FAILS("pointer x is NULL",
          g6_set_j_particle(0, 4, 4, 0.0, 0.0, 1.0, null3, null3, null3, c.v[4], NULL));
    FAILS("time ti", g6_set_ti(0, nan));
    FAILS("8388607", set(0, INT_MAX, 0, 0));
    FAILS("8388607", set(0, INT_MIN, 0, 0));
    FAILS("address of a j-particle is -1", set(0, -1, 0, 0));
    FAILS("nj", first(0, -1, 1));
    FAILS("ni", first(0, N, -1));
    FAILS("ni", last(0, N, -1));
    FAILS("xi is NULL",
          g6calc_firsthalf(0, N, 2, ids, NULL, c.v, NULL, NULL, NULL, 0.0, NULL));
    FAILS("index is NULL",
          g6calc_firsthalf(0, N, 2, NULL, c.x, c.v, NULL, NULL, NULL, 0.0, NULL));
    FAILS("eps2", g6calc_firsthalf(0, N, 2, ids, c.x, c.v, NULL, NULL, NULL, -1.0, NULL));
    FAILS("eps2 is NULL", g6calc_firsthalf_(NULL, &i, &i, ids, c.x, c.v, NULL, NULL, NULL, NULL, NULL));
    x[0] = c.x[3][0];
    c.x[3][0] = nan;
    FAILS("position of i-particle 3", first(0, N, N));
    FAILS("first half", last(0, N, N));
    c.x[3][0] = x[0];
    CHECK(first(0, N, N) == 0);
    FAILS("acc is NULL", g6calc_lasthalf(0, N, N, ids, c.x, c.v, 1e-4, h2, NULL, jerk, pot));
    /* NaN in guesses is ignored, and so is NaN in h2 until lists are read. */
    c.a[0][0] = h2[0] = nan;
    CHECK(g6calc_firsthalf(0, N, N, ids, c.x, c.v, c.a, c.a, h2, 1e-4, h2) == 0);
    CHECK(last(0, N, N) == 0 && acc[0][0] == acc[0][0]);
    FAILS("h2 of i-particle 0", g6_read_neighbour_list(0));
    h2[0] = 0;
    /* No sources; no sinks. */
    CHECK(first(0, 0, 2) == 0 && last(0, 0, 2) == 0);
    CHECK(acc[1][0] == 0 && pot[1] == 0 && nnb[1] == -1);
    CHECK(first(0, N, 0) == 0 && last(0, N, 0) == 0);
    CHECK(g6calc_firsthalf(0, N, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0.0, NULL) == 0);
    CHECK(g6calc_lasthalf(0, N, 0, NULL, NULL, NULL, 0.0, NULL, NULL, NULL, NULL) == 0);
    /* With nj above the number of particles set, those that were set are used. */
    CHECK(first(0, N, 1) == 0 && last(0, N, 1) == 0);
    x[0] = acc[0][0];
    CHECK(first(0, 1000000, 1) == 0 && last(0, 1000000, 1) == 0 && acc[0][0] == x[0]);
    /* A single body at an address above unset ones. */
    before = nnb[0];
    CHECK(before >= 0 && g6_open(9) == 0 && set(9, 5, 0, 0) == 0);
    CHECK(first(9, 6, 1) == 0 && last(9, 6, 1) == 0 && nnb[0] == -1 && pot[0] == 0);
    CHECK(first(9, 5, 1) == 0 && last(9, 5, 1) == 0 && nnb[0] == -1);
    CHECK(set(9, 1000000, 0, 0) == 0 && g6_close(9) == 0);
    CHECK(g6_close(0) == 0);
}

/* A sink skips the source with its index, wherever that is; coincident bodies are not skipped. */
static void self(void) {
    double x[2][3] = {{1, 0, 0}, {1, 0, 0}}, m = 0.5, eps2 = 0.25;
    int who[2] = {-7, INT_MIN}, other[2] = {1, 2};
    CHECK(g6_open(0) == 0);
    CHECK(g6_set_j_particle_mxonly(0, 0, who[0], m, x[0]) == 0);
    CHECK(g6_set_j_particle_mxonly(0, 1, who[1], m, x[1]) == 0);
    CHECK(g6calc_firsthalf(0, 2, 2, who, x, c.v, NULL, NULL, NULL, eps2, NULL) == 0);
    CHECK(g6calc_lasthalf2(0, 2, 2, who, x, c.v, eps2, NULL, acc, jerk, pot, nnb) == 0);
    CHECK(pot[0] == -m / 0.5 && pot[1] == pot[0] && nnb[0] == who[1] && nnb[1] == who[0]);
    /* Sink indices of no source: both sources attract. */
    CHECK(g6calc_firsthalf(0, 2, 2, other, x, c.v, NULL, NULL, NULL, eps2, NULL) == 0);
    CHECK(g6calc_lasthalf(0, 2, 2, other, x, c.v, eps2, NULL, acc, jerk, pot) == 0);
    CHECK(pot[0] == -2 * m / 0.5 && acc[0][0] == 0);
    /* Both sources have the sink's index: both are skipped, as on GRAPE-6. */
    CHECK(g6_set_j_particle_mxonly(0, 1, who[0], m, x[1]) == 0);
    CHECK(g6calc_firsthalf(0, 2, 1, who, x, c.v, NULL, NULL, NULL, eps2, NULL) == 0);
    CHECK(g6calc_lasthalf2(0, 2, 1, who, x, c.v, eps2, NULL, acc, jerk, pot, nnb) == 0);
    CHECK(pot[0] == 0 && nnb[0] == -1);
    CHECK(g6_close(0) == 0);
}

/* x + v t + a2 t^2 + j6 t^3 + 3/4 k18 t^4, in several clusters, and particles set after ti. */
static void prediction(void) {
    double k18[3] = {0.1, 0.2, -0.1}, j6[3] = {0.2, -0.1, 0.3}, a2[3] = {-0.3, 0.1, 0.2};
    double v[3] = {1, 2, 3}, x[3] = {4, 5, 6}, at[1][3] = {{0, 0, 0}}, u[1][3] = {{0, 0, 0}};
    double tj = 0.5, ti = 1.25, t = ti - tj, r[3], w[3], r3, rw = 0;
    int who = 99, k;
    CHECK(g6_open(0) == 0 && g6_open(1) == 0);
    CHECK(g6_set_ti(0, ti) == 0 && g6_set_ti(1, tj) == 0);
    for (k = 0; k < 2; k++) CHECK(g6_set_j_particle(k, 0, 1, tj, 0.125, 2.0, k18, j6, a2, v, x) == 0);
    for (k = 0; k < 2; k++) CHECK(g6calc_firsthalf(k, 1, 1, &who, at, u, NULL, NULL, NULL, 0.0, NULL) == 0);
    CHECK(g6calc_lasthalf(1, 1, 1, &who, at, u, 0.0, NULL, acc + 1, jerk + 1, pot + 1) == 0);
    CHECK(g6calc_lasthalf(0, 1, 1, &who, at, u, 0.0, NULL, acc, jerk, pot) == 0);
    for (k = 0; k < 3; k++) {
        r[k] = x[k] + v[k] * t + a2[k] * t * t + j6[k] * t * t * t + 0.75 * k18[k] * t * t * t * t;
        w[k] = v[k] + 2 * a2[k] * t + 3 * j6[k] * t * t + 3 * k18[k] * t * t * t;
        rw += r[k] * w[k];
    }
    r3 = pow(length(r), 3);
    for (k = 0; k < 3; k++) {
        CHECK(fabs(acc[0][k] - 2 * r[k] / r3) < 1e-15);
        CHECK(fabs(jerk[0][k] - 2 * (w[k] / r3 - 3 * rw * r[k] / r3 / length(r) / length(r))) < 1e-15);
    }
    CHECK(fabs(pot[0] + 2 / length(r)) < 1e-15 && fabs(pot[1] + 2 / length(x)) < 1e-15);
    CHECK(g6_set_j_particle_multisend_mxfast(0, 2, 0, 1, 3.0, x) == 0);
    CHECK(g6_flush_jp_buffer_and_multisend(0, 2) == 0);
    for (k = 0; k < 2; k++) {
        CHECK(g6calc_firsthalf(k, 1, 1, &who, at, u, NULL, NULL, NULL, 0.0, NULL) == 0);
        CHECK(g6calc_lasthalf(k, 1, 1, &who, at, u, 0.0, NULL, acc, jerk, pot) == 0);
        CHECK(fabs(pot[0] + 3 / length(x)) < 1e-15);
    }
    CHECK(g6_close(1) == 0 && g6_close(0) == 0);
}

/* A client that ignores return codes: the number of messages is limited. */
static void noise(void) {
    int i;
    for (i = 0; i < 100000; i++) CHECK(g6_set_ti(77, 0.0) == -1);
}

int main(int argc, char **argv) {
    int i;
    (void)argv;
    if (argc > 1) {
        noise();
        return done("noise");
    }
    plummer(&c, N);
    for (i = 0; i < N; i++) ids[i] = i;
    out_of_order();
    numbers();
    self();
    prediction();
    return done("calls");
}
