/* GRAPE-5's boards, of which FDPS uses one per thread, and a softening per sink.
 * Argument: the relative error allowed. */
#include <pthread.h>

#include "cloud.h"
#include "gp5util.h"

#define N 200
#define NI 50
#define THREADS 4

static struct cloud c;
static double bound;
static int bad[THREADS];

/* Expected results for the first nj sources, with masses multiplied by `scale`. */
static int wrong(double a[][3], const double p[], int from, int ni, int nj, double scale, const double *eps2) {
    static const double one = 1e-4;
    struct cloud some = c;
    int i, count = 0;
    some.n = nj;
    for (i = 0; i < ni; i++) {
        double acc[3], jerk[3], snap[3], pot, r2, d[3];
        int near, k;
        attract(&some, -1, c.x[from + i], c.v[0], c.a[0], eps2 ? eps2[i] : one, acc, jerk, snap, &pot, &near, &r2);
        for (k = 0; k < 3; k++) d[k] = a[i][k] / scale;
        count += !(below(off(d, acc), bound) && below(fabs(-p[i] / (scale * pot) - 1), bound));
    }
    return count;
}

static void *work(void *argument) {
    int id = *(int *)argument, round, i;
    static double masses[THREADS][N], a[THREADS][NI][3], p[THREADS][NI];
    for (i = 0; i < N; i++) masses[id][i] = (id + 1) * c.m[i];
    for (round = 0; round < 20; round++) {
        int nj = N - 10 * id - round;
        bad[id] += g5_set_xmjMC(id, 0, nj, c.x, masses[id]) != 0;
        bad[id] += g5_set_nMC(id, nj) != 0;
        if (round % 2) {
            bad[id] += g5_calculate_force_on_xMC(id, c.x + round, a[id], p[id], NI) != 0;
        } else {
            bad[id] += g5_set_xiMC(id, NI, c.x + round) != 0;
            bad[id] += g5_runMC(id) != 0;
            bad[id] += g5_get_forceMC(id, NI, a[id], p[id]) != 0;
        }
        bad[id] += wrong(a[id], p[id], round, NI, nj, id + 1, NULL);
    }
    return NULL;
}

int main(int argc, char **argv) {
    static double a[NI][3], p[NI], eps[NI], eps2[NI];
    pthread_t threads[THREADS];
    int id[THREADS], i;
    bound = argc > 1 ? atof(argv[1]) : 1e-12;
    plummer(&c, N);
    EXPECT("GRAPE-5 is not open");
    CHECK(g5_set_nMC(2, N) == -1);
    CHECK(g5_open() == 0);
    CHECK(g5_set_eps_to_all(0.01) == 0);
    for (i = 0; i < THREADS; i++) {
        id[i] = i;
        CHECK(pthread_create(&threads[i], NULL, work, &id[i]) == 0);
    }
    for (i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK(bad[i] == 0);
    }

    for (i = 0; i < NI; i++) {
        eps[i] = i % 2 ? 0.1 : 0.02;
        eps2[i] = eps[i] * eps[i];
    }
    CHECK(g5_set_xmj(0, N, c.x, c.m) == 0 && g5_set_n(N) == 0);
    CHECK(g5_calculate_force_on_xe(c.x, eps2, a, p, NI) == 0);
    CHECK(wrong(a, p, 0, NI, N, 1, eps2) == 0);
    CHECK(g5_set_xei(NI, c.x, eps2) == 0 && g5_get_force(NI, a, p) == 0);
    CHECK(wrong(a, p, 0, NI, N, 1, eps2) == 0);
    /* The two calls in either order; afterwards the common softening applies again. */
    CHECK(g5_set_xi(NI, c.x) == 0 && g5_set_eps(NI, eps) == 0 && g5_run() == 0 && g5_get_force(NI, a, p) == 0);
    CHECK(wrong(a, p, 0, NI, N, 1, eps2) == 0);
    CHECK(g5_set_eps(NI, eps) == 0 && g5_set_xi(NI, c.x) == 0 && g5_get_force(NI, a, p) == 0);
    CHECK(wrong(a, p, 0, NI, N, 1, eps2) == 0);
    CHECK(g5_set_xi(NI, c.x) == 0 && g5_get_force(NI, a, p) == 0);
    CHECK(wrong(a, p, 0, NI, N, 1, NULL) == 0);
    CHECK(g5_calculate_force_on_xeMC(3, c.x, eps2, a, p, 1) == 0);

    EXPECT("number of softenings is 3, but must be 50");
    CHECK(g5_set_xi(NI, c.x) == 0 && g5_set_eps(3, eps) == 0 && g5_get_force(NI, a, p) == -1 && p[0] != p[0]);
    EXPECT("number ni of sinks is 4, but must be 50");
    CHECK(g5_set_xei(NI, c.x, eps2) == 0 && g5_get_force(4, a, p) == -1);
    EXPECT("eps of sink 1 is -1");
    eps[1] = -1;
    CHECK(g5_set_eps(NI, eps) == -1);
    EXPECT("the board is 1024, but must be from 0 to 1023");
    CHECK(g5_set_nMC(1024, N) == -1);
    EXPECT("the number of sources is not set");
    CHECK(g5_calculate_force_on_xMC(900, c.x, a, p, NI) == -1 && a[0][0] != a[0][0]);
    CHECK(g5_close() == 0);
    EXPECT("GRAPE-5 is not open");
    CHECK(g5_runMC(2) == -1);
    /* After reopening all boards are empty. */
    CHECK(g5_open() == 0);
    EXPECT("the number of sources is not set");
    CHECK(g5_calculate_force_on_xMC(2, c.x, a, p, NI) == -1);
    CHECK(g5_close() == 0);
    return done("boards");
}
