/* A client: Hermite 4 with block steps (Makino and Aarseth 1992) with GRAPE-6's calls. 64 bodies to
 * t = 0.25. Argument: the energy error allowed. */
#include "cloud.h"
#include "gravitile.h"

#define N 64

static struct cloud c;
static double t[N], dt[N], px[N][3], pv[N][3], a1[N][3], j1[N][3], p1[N], guess[N][3], h2[N];
static double bx[N][3], bv[N][3];
static int ids[N];

static double energy(double eps2) {
    double e = 0;
    int i, j, k;
    for (i = 0; i < N; i++) {
        for (k = 0; k < 3; k++) e += 0.5 * c.m[i] * c.v[i][k] * c.v[i][k];
        for (j = 0; j < i; j++) {
            double r2 = eps2;
            for (k = 0; k < 3; k++) r2 += (c.x[i][k] - c.x[j][k]) * (c.x[i][k] - c.x[j][k]);
            e -= c.m[i] * c.m[j] / sqrt(r2);
        }
    }
    return e;
}

static void send(int i) {
    double a2[3], j6[3], k18[3] = {0, 0, 0};
    int k;
    for (k = 0; k < 3; k++) {
        a2[k] = c.a[i][k] / 2;
        j6[k] = c.j[i][k] / 6;
    }
    CHECK(g6_set_j_particle(0, i, ids[i], t[i], dt[i], c.m[i], k18, j6, a2, c.v[i], c.x[i]) == 0);
}

/* The largest power of two below `wanted` of which the body's time is a multiple. */
static double block(double now, double old, double wanted) {
    double step = old;
    if (step > wanted) while (step > wanted) step /= 2;
    else if (wanted >= 2 * step && fmod(now, 2 * step) == 0 && 2 * step <= 0.0625) step *= 2;
    return step;
}

int main(int argc, char **argv) {
    double bound = argc > 1 ? atof(argv[1]) : 1e-7, eps2 = 1.0 / 64 / 64, end = 0.25, before, error;
    long steps = 0, blocks = 0;
    int i, k, n, who[N];
    plummer(&c, N);
    before = energy(eps2);
    CHECK(g6_open(0) == 0);
    for (i = 0; i < N; i++) {
        ids[i] = i + 1;
        send(i);
    }
    g6_set_ti(0, 0.0);
    g6calc_firsthalf(0, N, N, ids, c.x, c.v, guess, guess, h2, eps2, h2);
    CHECK(g6calc_lasthalf(0, N, N, ids, c.x, c.v, eps2, h2, c.a, c.j, c.pot) == 0);
    for (i = 0; i < N; i++) {
        dt[i] = block(0, 0.0625, 0.01 * length(c.a[i]) / length(c.j[i]));
        send(i);
    }
    while (steps < 1000000) {
        double now = 1e300;
        for (i = 0; i < N; i++) now = fmin(now, t[i] + dt[i]);
        if (now > end) break;
        for (i = n = 0; i < N; i++) {
            double h = now - t[i];
            if (t[i] + dt[i] != now) continue;
            for (k = 0; k < 3; k++) {
                px[i][k] = c.x[i][k] + h * (c.v[i][k] + h / 2 * (c.a[i][k] + h / 3 * c.j[i][k]));
                pv[i][k] = c.v[i][k] + h * (c.a[i][k] + h / 2 * c.j[i][k]);
                bx[n][k] = px[i][k];
                bv[n][k] = pv[i][k];
            }
            ids[n] = i + 1;
            who[n++] = i;
        }
        g6_set_ti(0, now);
        g6calc_firsthalf(0, N, n, ids, bx, bv, guess, guess, h2, eps2, h2);
        CHECK(g6calc_lasthalf(0, N, n, ids, bx, bv, eps2, h2, a1, j1, p1) == 0);
        blocks++;
        for (i = 0; i < n; i++) {
            int b = who[i];
            double h = now - t[b], s[3], q[3], wanted;
            for (k = 0; k < 3; k++) {
                double da = c.a[b][k] - a1[i][k];
                s[k] = (-6 * da - h * (4 * c.j[b][k] + 2 * j1[i][k])) / (h * h);
                q[k] = (12 * da + 6 * h * (c.j[b][k] + j1[i][k])) / (h * h * h);
                c.x[b][k] = px[b][k] + h * h * h * h * (s[k] / 24 + h * q[k] / 120);
                c.v[b][k] = pv[b][k] + h * h * h * (s[k] / 6 + h * q[k] / 24);
                s[k] += h * q[k];
                c.a[b][k] = a1[i][k];
                c.j[b][k] = j1[i][k];
            }
            wanted = sqrt(0.003 * (length(c.a[b]) * length(s) + pow(length(c.j[b]), 2)) /
                          (length(c.j[b]) * length(q) + pow(length(s), 2)));
            t[b] = now;
            dt[b] = block(now, dt[b], wanted);
            ids[b] = b + 1;
            steps++;
        }
        for (i = 0; i < n; i++) {
            int b = who[i];
            double k18[3] = {0, 0, 0}, a2[3], j6[3];
            for (k = 0; k < 3; k++) {
                a2[k] = c.a[b][k] / 2;
                j6[k] = c.j[b][k] / 6;
            }
            CHECK(g6_set_j_particle(0, b, b + 1, t[b], dt[b], c.m[b], k18, j6, a2, c.v[b], c.x[b]) == 0);
        }
    }
    for (i = 0; i < N; i++) CHECK(t[i] == end);
    error = fabs(energy(eps2) / before - 1);
    printf("%ld steps in %ld blocks, energy error %.2e\n", steps, blocks, error);
    CHECK(below(error, bound) && steps > 4 * N && blocks > 4 && steps > blocks);
    CHECK(g6_close(0) == 0);
    return done("hermite");
}
