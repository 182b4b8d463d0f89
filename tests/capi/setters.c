/* Particles set from changing threads, with several clusters open: forces always use the last
 * values. Also more particles between two calls than fit the library's queue. */
#include <pthread.h>

#include "cloud.h"
#include "gravitile.h"

#define CLUSTERS 3
#define WORKERS 4
#define SMALL 300
#define BIG 40000
#define SINKS 6
#define EPS2 1e-3
#define SPAN 0.125

/* The expected particles of the clusters. */
static struct {
    int n;
    double usual, m[BIG], x[BIG][3], v[BIG][3];
} want[CLUSTERS];

static const int id_of[CLUSTERS] = {5, -3, 12};
static double bound;
static double now = 1;

/* Sets another particle at `address`; two threads must not use the same address. */
static int set(int k, int address) {
    double zero[3] = {0, 0, 0}, *x = want[k].x[address], *v = want[k].v[address], ratio = want[k].m[address] / want[k].usual;
    int i;
    want[k].m[address] = want[k].usual * (ratio > 1.5 ? 0.5 : ratio > 0.8 ? 2.5 : 1);
    for (i = 0; i < 3; i++) {
        x[i] += 0.1 * ratio * v[i];
        v[i] = -v[i];
    }
    return g6_set_j_particle(id_of[k], address, 7 * address, now, 0.0, want[k].m[address], zero, zero, zero, v, x) != 0;
}

/* A thread's task: addresses from, from + step, ... below to, of one cluster or of all in turn. */
struct job {
    int cluster, from, to, step, again, wrong;
};

static void fulfil(struct job *job) {
    int k, address, turn;
    for (turn = 0; turn <= job->again; turn++)
        for (address = job->from; address < job->to; address += job->step)
            for (k = 0; k < CLUSTERS; k++)
                if ((job->cluster == k || job->cluster < 0) && address < want[k].n)
                    job->wrong += set(k, address);
}

static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct job *job;
    int ends;
} workers[WORKERS];

static void *work(void *argument) {
    int w = *(int *)argument;
    pthread_mutex_lock(&workers[w].lock);
    for (;;) {
        while (!workers[w].job && !workers[w].ends) pthread_cond_wait(&workers[w].changed, &workers[w].lock);
        if (!workers[w].job) break;
        fulfil(workers[w].job);
        workers[w].job = NULL;
        pthread_cond_broadcast(&workers[w].changed);
    }
    pthread_mutex_unlock(&workers[w].lock);
    return NULL;
}

static void start(int w, struct job *job) {
    pthread_mutex_lock(&workers[w].lock);
    workers[w].job = job;
    pthread_cond_broadcast(&workers[w].changed);
    pthread_mutex_unlock(&workers[w].lock);
}

static void await(int w) {
    pthread_mutex_lock(&workers[w].lock);
    while (workers[w].job) pthread_cond_wait(&workers[w].changed, &workers[w].lock);
    pthread_mutex_unlock(&workers[w].lock);
}

/* Runs the task on worker `w`, or if negative on the calling thread. */
static void give(int w, struct job *job) {
    if (w < 0)
        fulfil(job);
    else {
        start(w, job);
        await(w);
    }
    CHECK(job->wrong == 0);
}

/* Sets particles on worker `w`. */
static void by(int w, int cluster, int from, int to, int step) {
    struct job job = {0, 0, 0, 0, 0, 0};
    job.cluster = cluster;
    job.from = from;
    job.to = to;
    job.step = step;
    give(w, &job);
}

static void *alone(void *job) {
    fulfil(job);
    return NULL;
}

/* Forces on foreign sinks use the last particles set, predicted. */
static void check(int k, int line) {
    double x[SINKS][3], v[SINKS][3], acc[SINKS][3], jerk[SINKS][3], pot[SINKS];
    int ids[SINKS], nearest[SINKS], i, j, c, failed = failures;
    for (i = 0; i < SINKS; i++) {
        ids[i] = -1 - i;
        direction(0.2 + 0.3 * i, x[i]);
        direction(0.3, v[i]);
    }
    CHECK(g6_set_ti(id_of[k], now + SPAN) == 0);
    CHECK(g6calc_firsthalf(id_of[k], want[k].n, SINKS, ids, x, v, NULL, NULL, NULL, EPS2, NULL) == 0);
    CHECK(g6calc_lasthalf2(id_of[k], want[k].n, SINKS, ids, x, v, EPS2, NULL, acc, jerk, pot, nearest) == 0);
    for (i = 0; i < SINKS; i++) {
        double a[3] = {0, 0, 0}, p = 0, least = 1e300, there = 1e300;
        for (j = 0; j < want[k].n; j++) {
            double r[3], r2 = 0, q;
            for (c = 0; c < 3; c++) {
                r[c] = want[k].x[j][c] + SPAN * want[k].v[j][c] - x[i][c];
                r2 += r[c] * r[c];
            }
            q = 1 / sqrt(r2 + EPS2);
            p -= want[k].m[j] * q;
            for (c = 0; c < 3; c++) a[c] += want[k].m[j] * q * q * q * r[c];
            if (r2 < least) least = r2;
            if (7 * j == nearest[i]) there = r2;
        }
        CHECK(below(fabs(pot[i] / p - 1), bound));
        CHECK(below(off(acc[i], a), 10 * bound));
        CHECK(below(there / least - 1, 1e-5));
    }
    if (failures > failed) printf("cluster %d, checked in line %d\n", k, line);
}

#define CHECK_FORCES(k) check(k, __LINE__)

/* Other particles, of total mass about k + 1. */
static void fill(int k, int n, int w) {
    int i;
    want[k].n = n;
    want[k].usual = (k + 1.0) / n;
    for (i = 0; i < n; i++) {
        want[k].m[i] = want[k].usual;
        direction(2 * pow(uniform(), 1.0 / 3.0), want[k].x[i]);
        direction(0.3, want[k].v[i]);
    }
    by(w, k, 0, n, 1);
}

static void few(void) {
    struct job jobs[WORKERS];
    int round, k, w;
    /* Alternating threads, each setting some particles of one cluster or, in turn, of all. */
    for (round = 0; round < 60; round++) {
        int from = (int)(uniform() * SMALL), length = 1 + (int)(uniform() * SMALL);
        w = (int)(uniform() * (WORKERS + 1)) - 1;
        k = (int)(uniform() * (CLUSTERS + 1)) - 1;
        by(w, k, from, from + length < SMALL ? from + length : SMALL, 1 + round % 3);
        if (k < 0 || round % 4 == 0)
            for (k = 0; k < CLUSTERS; k++) CHECK_FORCES(k);
        else
            CHECK_FORCES(k);
    }
    /* The same particles from one thread, another, and the first again, without a force call. */
    for (round = 0; round < 12; round++) {
        for (w = 0; w < 3; w++) by((round + w % 2) % WORKERS, round % CLUSTERS, round, SMALL, 2);
        CHECK_FORCES(round % CLUSTERS);
    }
    /* Threads that exit: the next may get the memory of the last. */
    for (round = 0; round < 20; round++) {
        pthread_t thread;
        struct job job = {-1, 0, SMALL, 1, 0, 0};
        job.from = round;
        job.cluster = round % (CLUSTERS + 1) - 1;
        CHECK(pthread_create(&thread, NULL, alone, &job) == 0 && pthread_join(thread, NULL) == 0 && job.wrong == 0);
        for (k = 0; k < CLUSTERS; k++) CHECK_FORCES(k);
    }
    /* All threads at once, while forces of the current particles are computed. */
    for (round = 0; round < 10; round++) {
        for (w = 0; w < WORKERS; w++) {
            struct job job = {-1, 0, SMALL, WORKERS, 0, 0};
            job.cluster = round % 2 ? -1 : (w + round) % CLUSTERS;
            job.from = w;
            job.again = 2;
            jobs[w] = job;
            start(w, &jobs[w]);
        }
        for (k = 0; k < CLUSTERS; k++) {
            double acc[1][3], jerk[1][3], pot[1] = {0}, x[1][3] = {{0, 0, 0}};
            int ids[1] = {-1};
            CHECK(g6calc_firsthalf(id_of[k], SMALL, 1, ids, x, x, NULL, NULL, NULL, EPS2, NULL) == 0);
            CHECK(g6calc_lasthalf(id_of[k], SMALL, 1, ids, x, x, EPS2, NULL, acc, jerk, pot) == 0);
            CHECK(pot[0] < 0 && pot[0] > -1e3);
        }
        for (w = 0; w < WORKERS; w++) {
            await(w);
            CHECK(jobs[w].wrong == 0);
        }
        for (k = 0; k < CLUSTERS; k++) CHECK_FORCES(k);
    }
    /* Another thread closes and reopens one cluster; the others are unchanged. */
    for (round = 0; round < 6; round++) {
        k = round % CLUSTERS;
        by(round % WORKERS, k, 0, SMALL, 3);
        CHECK(g6_close(id_of[k]) == 0 && g6_open(id_of[k]) == 0);
        fill(k, SMALL, round % 2 ? (round + 1) % WORKERS : round % WORKERS);
        for (w = 0; w < CLUSTERS; w++) CHECK_FORCES(w);
    }
}

/* More than 32,768 between two calls. */
static void many(void) {
    struct job job = {0, 0, BIG, 1, 0, 0};
    int k, w;
    for (k = 0; k < CLUSTERS; k++) {
        fill(k, BIG, k - 1);
        CHECK_FORCES(k);
    }
    for (w = -1; w < 3; w++) {
        /* All of one cluster, then a few of them a second time. */
        by(w, 0, 0, BIG, 1);
        by(w, 0, 17, 40, 1);
        CHECK_FORCES(0);
        /* All clusters in turn, the second half from another thread. */
        by(w, -1, 0, BIG / 2, 1);
        by((w + 2) % WORKERS, -1, BIG / 2, BIG, 1);
        for (k = 0; k < CLUSTERS; k++) CHECK_FORCES(k);
        /* Each several times: the last value wins. */
        job.again = 4;
        job.cluster = 1;
        give(w, &job);
        CHECK_FORCES(1);
        /* As many as just fit, and one more. */
        by(w, 2, 0, 32768, 1);
        CHECK_FORCES(2);
        by(w, 2, 0, 32769, 1);
        CHECK_FORCES(2);
    }
}

int main(int n, char **arguments) {
    int number[WORKERS], k, w;
    bound = n > 1 ? atof(arguments[1]) : 1e-12;
    for (w = 0; w < WORKERS; w++) {
        number[w] = w;
        pthread_mutex_init(&workers[w].lock, NULL);
        pthread_cond_init(&workers[w].changed, NULL);
        CHECK(pthread_create(&workers[w].thread, NULL, work, &number[w]) == 0);
    }
    for (k = 0; k < CLUSTERS; k++) CHECK(g6_open(id_of[k]) == 0);
    for (k = 0; k < CLUSTERS; k++) fill(k, SMALL, k);
    few();
    if (n < 3) many();
    for (k = 0; k < CLUSTERS; k++) CHECK(g6_close(id_of[k]) == 0);
    for (w = 0; w < WORKERS; w++) {
        pthread_mutex_lock(&workers[w].lock);
        workers[w].ends = 1;
        pthread_cond_broadcast(&workers[w].changed);
        pthread_mutex_unlock(&workers[w].lock);
        CHECK(pthread_join(workers[w].thread, NULL) == 0);
    }
    return done("setters");
}
