/* Four threads with a cluster each, whose calls interleave; then four on one cluster with their own
   sinks, and threads that begin evaluations and never fetch them. */
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

static double right[N];
static const int first[5] = {0, 7, 20, 21, N};

/* Both halves for sinks first[part] to first[part + 1]; returns the number of wrong values. */
static int begin(int part) {
    int from = first[part], n = first[part + 1] - from, ids[N], i;
    for (i = 0; i < n; i++) ids[i] = from + i;
    return g6calc_firsthalf(9, N, n, ids, c.x + from, c.v + from, NULL, NULL, NULL, 1e-4, NULL) != 0;
}

static int fetch(int part) {
    int from = first[part], n = first[part + 1] - from, nearest[N], i, wrong = 0;
    double acc[N][3], jerk[N][3], pot[N];
    wrong += g6calc_lasthalf2(9, N, n, NULL, NULL, NULL, 1e-4, NULL, acc, jerk, pot, nearest) != 0;
    for (i = 0; i < n; i++) {
        wrong += !below(fabs(pot[i] / right[from + i] - 1), 1e-12);
        wrong += nearest[i] < 0 || nearest[i] >= N || nearest[i] == from + i;
    }
    return wrong;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int step;

/* Waits until `mine` steps are done. */
static void await(int mine) {
    pthread_mutex_lock(&lock);
    while (step < mine) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void done_with_step(void) {
    pthread_mutex_lock(&lock);
    step++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* First all four begin, then all four fetch; later in any order. */
static void *share(void *argument) {
    int part = *(int *)argument, round;
    for (round = 0; round < 20; round++) {
        await(8 * round + part);
        bad[part] += begin(part);
        done_with_step();
        await(8 * round + 4 + part);
        bad[part] += fetch(part);
        done_with_step();
    }
    for (round = 0; round < 200; round++) {
        int i = first[part] + round % (first[part + 1] - first[part]);
        double zero[3] = {0, 0, 0};
        bad[part] += g6_set_j_particle(9, i, i, 0.0, 0.0, c.m[i], zero, zero, zero, c.v[i], c.x[i]) != 0;
        bad[part] += begin(part);
        bad[part] += fetch(part);
    }
    return NULL;
}

static void *begin_alone(void *argument) {
    bad[*(int *)argument] += begin(*(int *)argument);
    return NULL;
}

static void on_one_cluster(void) {
    pthread_t threads[4];
    int part[4] = {0, 1, 2, 3}, i;
    double zero[3] = {0, 0, 0};
    CHECK(g6_open(9) == 0);
    for (i = 0; i < N; i++) {
        double a[3], j[3], s[3], r2;
        int near;
        attract(&c, i, c.x[i], c.v[i], c.a[i], 1e-4, a, j, s, &right[i], &near, &r2);
        CHECK(g6_set_j_particle(9, i, i, 0.0, 0.0, c.m[i], zero, zero, zero, c.v[i], c.x[i]) == 0);
    }
    for (i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, share, &part[i]) == 0);
    for (i = 0; i < 4; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK(bad[i] == 0);
    }
    /* A thread that exits between the halves blocks no other, and its evaluation can be fetched. */
    for (i = 0; i < 4; i++) {
        CHECK(pthread_create(&threads[i], NULL, begin_alone, &part[i]) == 0);
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK(fetch(3) == 0);
    CHECK(begin(1) == 0 && fetch(1) == 0);
    CHECK(bad[0] + bad[1] + bad[2] + bad[3] == 0);
    CHECK(g6_close(9) == 0);
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
    on_one_cluster();
    return done("threads");
}
