/* Habits of existing programs: opening one cluster number and calling another (ph4), arrays of 48
 * whatever g6_npipes returns (banana), fork after a call. */
#include "cloud.h"
#include "gravitile.h"

#include <sys/wait.h>
#include <unistd.h>

#define N 96
#define PIPES 48

static struct cloud c;

static int forces(int id, double acc[][3], double jerk[][3], double pot[]) {
    int i, index[PIPES], ni = g6_npipes();
    double zero[PIPES][3] = {{0}}, none[PIPES] = {0};
    if (ni != PIPES) return -2;
    for (i = 0; i < N; i++)
        if (g6_set_j_particle(id, i, i, 0.0, 0.0, c.m[i], zero[0], zero[0], zero[0], c.v[i], c.x[i])) return -3;
    for (i = 0; i < ni; i++) index[i] = i;
    if (g6_set_ti(id, 0.0)) return -4;
    if (g6calc_firsthalf(id, N, ni, index, c.x, c.v, zero, zero, none, 1e-4, none)) return -5;
    return g6calc_lasthalf(id, N, ni, index, c.x, c.v, 1e-4, none, acc, jerk, pot);
}

int main(void) {
    double acc[PIPES][3], jerk[PIPES][3], pot[PIPES], again[PIPES][3];
    int i, status;
    pid_t child;
    plummer(&c, N);

    /* A fork before anything is open is harmless. */
    child = fork();
    if (child == 0) _exit(g6_open(3) == 0 && forces(3, acc, jerk, pot) == 0 && g6_close(3) == 0 ? 0 : 1);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);

    CHECK(g6_open(32767) == 0);
    EXPECT("cluster 0 is not open: calls for it go to cluster 32767");
    CHECK(forces(0, acc, jerk, pot) == 0);
    for (i = 0; i < PIPES; i++) {
        double right[3], rate[3], snap[3], phi, r2;
        int near;
        attract(&c, i, c.x[i], c.v[i], c.a[i], 1e-4, right, rate, snap, &phi, &near, &r2);
        CHECK(below(off(acc[i], right), 1e-12) && below(off(jerk[i], rate), 1e-11) && below(fabs(pot[i] / phi - 1), 1e-12));
    }
    /* Reported once only. */
    CHECK(forces(5, again, jerk, pot) == 0 && memcmp(acc, again, sizeof acc) == 0);

    /* Calls in a forked child fail, and do not hang. */
    EXPECT("this process was forked from process");
    child = fork();
    if (child == 0) _exit(g6_set_ti(0, 0.0) == -1 ? 0 : 1);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(forces(32767, again, jerk, pot) == 0 && memcmp(acc, again, sizeof acc) == 0);
    /* The same holds for GRAPE-5's calls and for opening. */
    CHECK(g5_open() == 0 && g5_set_n(N) == 0);
    EXPECT("this process was forked from process");
    child = fork();
    if (child == 0) _exit(g5_set_n(N) == -1 ? 0 : 1);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT("this process was forked from process");
    child = fork();
    if (child == 0) _exit(g6_open(7) == -1 ? 0 : 1);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(g5_close() == 0);

    /* With two clusters open the call is ambiguous. */
    CHECK(g6_open(1) == 0);
    EXPECT("cluster 0 is not open");
    CHECK(g6_set_ti(0, 0.0) == -1);
    CHECK(g6_close(1) == 0 && g6_close(0) == 0);
    EXPECT("cluster 0 is not open");
    CHECK(g6_close(0) == -1);
    return done("habits");
}
