/* Four threads with a cluster each, whose calls mix. */
#include <pthread.h>

#include "cloud.h"
#include "gravitile.h"

#define N 64

static struct cloud c;
static int bad[4];

static void *work(void *argument) {
    int id = *(int *)argument, i, round, ids[N];
    double acc[N][3], jerk[N][3], pot[N], zero[3] = {0, 0, 0}, scale = id + 1, wanted[N];
    for (i = 0; i < N; i++) {
        double a[3], j[3], s[3], r2;
        int near;
        ids[i] = i;
        attract(&c, i, c.x[i], c.v[i], c.a[i], 1e-4, a, j, s, &wanted[i], &near, &r2);
    }
    bad[id] += g6_open(id) != 0;
    for (round = 0; round < 20; round++) {
        for (i = 0; i < N; i++)
            bad[id] += g6_set_j_particle(id, i, i, 0.0, 0.0, scale * c.m[i], zero, zero, zero, c.v[i], c.x[i]) != 0;
        bad[id] += g6calc_firsthalf(id, N, N, ids, c.x, c.v, NULL, NULL, NULL, 1e-4, NULL) != 0;
        bad[id] += g6calc_lasthalf(id, N, N, ids, c.x, c.v, 1e-4, NULL, acc, jerk, pot) != 0;
        for (i = 0; i < N; i++) bad[id] += !below(fabs(pot[i] / (scale * wanted[i]) - 1), 1e-12);
    }
    bad[id] += g6_close(id) != 0;
    return NULL;
}

int main(void) {
    pthread_t threads[4];
    int id[4] = {0, 1, 2, 3}, i;
    plummer(&c, N);
    for (i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, work, &id[i]) == 0);
    for (i = 0; i < 4; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK(bad[i] == 0);
    }
    return done("threads");
}
