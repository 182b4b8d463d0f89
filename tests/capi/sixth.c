/* Sapporo2's sixth-order calls against plain C. Argument: the relative error allowed. */
#include "cloud.h"
#include "sapporo6thlib.h"

#define N 200
#define NI 50

static struct cloud c, now;
static double acc[N][3], jrk[N][3], snp[N][3], crk[N][3], phi[N], r2[N], eps2[N], zero[3];
static int ids[N], nnb[N];

int main(int argc, char **argv) {
    double bound = argc > 1 ? atof(argv[1]) : 1e-12, time = 0.25, worst = 0;
    int i, k;
    EXPECT("the sixth order is not open");
    CHECK(set_j_particle(0, zero, zero, zero, zero, zero, zero, 1.0, 0.0, 1, 0.0) == -1);
    plummer(&c, N);
    CHECK(initialize() == 0 && initialize() == 0);
    now = c;
    for (i = 0; i < N; i++) {
        double j[3], s[3], q[3], t = time - 0.125;
        direction(1 + uniform(), c.a[i]);
        direction(uniform(), j);
        direction(uniform(), s);
        direction(uniform(), q);
        ids[i] = 5 * i - 300;
        eps2[i] = i % 3 ? 1e-4 : 0;
        CHECK(set_j_particle(i, c.x[i], c.v[i], c.a[i], j, s, q, c.m[i], 0.125, ids[i], eps2[i]) == 0);
        for (k = 0; k < 3; k++) {
            now.x[i][k] = c.x[i][k] + t * (c.v[i][k] + t / 2 * (c.a[i][k] + t / 3 * (j[k] + t / 4 * (s[k] + t / 5 * q[k]))));
            now.v[i][k] = c.v[i][k] + t * (c.a[i][k] + t / 2 * (j[k] + t / 3 * (s[k] + t / 4 * q[k])));
            now.a[i][k] = c.a[i][k] + t * (j[k] + t / 2 * (s[k] + t / 3 * q[k]));
        }
    }
    CHECK(predict_all(time, N) == 0);
    for (i = 0; i < N; i++) {
        double x[3], v[3], a[3], m, e;
        int id;
        CHECK(pick_up_predictor_2(i, &id, &m, &e, x, v, a) == 0);
        CHECK(id == ids[i] && m == c.m[i] && e == eps2[i]);
        CHECK(off(x, now.x[i]) < 1e-15 && off(v, now.v[i]) < 1e-15 && off(a, now.a[i]) < 1e-15);
    }
    CHECK(calc_force_on_predictors(NI, N, ids, now.x, now.v, now.a, now.m, eps2, acc, jrk, snp, crk, phi,
                                   nnb, r2) == 0);
    for (i = 0; i < NI; i++) {
        double a[3], j[3], s[3], p, near2;
        int near;
        attract(&now, i, now.x[i], now.v[i], now.a[i], eps2[i], a, j, s, &p, &near, &near2);
        CHECK(below(off(acc[i], a), bound) && below(fabs(phi[i] / p - 1), bound));
        CHECK(below(off(jrk[i], j), 10 * bound) && below(off(snp[i], s), 30 * bound));
        CHECK(nnb[i] == ids[near] && below(fabs(r2[i] / (near2 + eps2[i]) - 1), 1e-5) && crk[i][1] == 0);
        worst = fmax(worst, off(snp[i], s));
    }
    printf("worst snap %.1e\n", worst);
    CHECK(no_predict_all(time, N) == 0);
    CHECK(calc_force_on_predictors(1, N, ids, c.x, c.v, c.a, c.m, eps2, acc, jrk, snp, crk, phi, nnb, r2) == 0);
    {
        double a[3], j[3], s[3], p, near2;
        int near;
        attract(&c, 0, c.x[0], c.v[0], c.a[0], eps2[0], a, j, s, &p, &near, &near2);
        CHECK(below(off(snp[0], s), 30 * bound));
    }
    EXPECT("eps2 is -1");
    eps2[2] = -1;
    CHECK(calc_force_on_predictors(3, N, ids, c.x, c.v, c.a, c.m, eps2, acc, jrk, snp, crk, phi, nnb, r2) == -1);
    CHECK(acc[0][0] != acc[0][0] && nnb[0] == -1);
    EXPECT("address of a j-particle is 200");
    CHECK(pick_up_predictor_2(N, nnb, phi, r2, acc[0], jrk[0], snp[0]) == -1);
    return done("sixth");
}
