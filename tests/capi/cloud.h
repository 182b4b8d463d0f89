/* Shared by the test programs: a Plummer-like cloud, reference sums in plain C, checks of
 * complaints. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 600

static int failures = 0;

#define CHECK(condition)                                                                    \
    do {                                                                                    \
        if (!(condition)) {                                                                 \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                  \
            failures++;                                                                     \
        }                                                                                   \
    } while (0)

/* Announces an expected complaint on stderr, where the library prints it. */
#define EXPECT(words) fprintf(stderr, "expect: %s\n", words)

struct cloud {
    int n;
    double m[MOST], x[MOST][3], v[MOST][3], a[MOST][3], j[MOST][3], s[MOST][3], pot[MOST];
    int nearest[MOST];
    double nearest2[MOST];
};

static unsigned long seed = 12345;

static double uniform(void) {
    seed = (seed * 1103515245UL + 12345UL) & 0x7fffffffUL;
    return (seed + 0.5) / 2147483648.0;
}

static void direction(double length, double out[3]) {
    double z = 2 * uniform() - 1, phi = 6.283185307179586 * uniform(), r = sqrt(1 - z * z);
    out[0] = length * r * cos(phi);
    out[1] = length * r * sin(phi);
    out[2] = length * z;
}

/* Aarseth, Henon and Wielen (1974), cut at 10. */
static void plummer(struct cloud *c, int n) {
    int i;
    c->n = n;
    for (i = 0; i < n; i++) {
        double r, q, g;
        c->m[i] = 1.0 / n;
        do r = 1 / sqrt(pow(uniform(), -2.0 / 3.0) - 1);
        while (r > 10);
        do {
            q = uniform();
            g = 0.1 * uniform();
        } while (g > q * q * pow(1 - q * q, 3.5));
        direction(r * 0.5890486225480862, c->x[i]);
        direction(q * sqrt(2.0) * pow(1 + r * r, -0.25) / sqrt(0.5890486225480862), c->v[i]);
        memset(c->a[i], 0, sizeof c->a[i]);
    }
}

/* Forces at x, for velocity v and acceleration ai, from all of `c` but `self`. */
static void attract(const struct cloud *c, int self, const double x[3], const double v[3],
                    const double ai[3], double eps2, double acc[3], double jerk[3], double snap[3],
                    double *pot, int *nearest, double *nearest2) {
    int j, k;
    *pot = 0;
    *nearest = -1;
    *nearest2 = 1e300;
    for (k = 0; k < 3; k++) acc[k] = jerk[k] = snap[k] = 0;
    for (j = 0; j < c->n; j++) {
        double r[3], u[3], w[3], r2 = 0, ru = 0, uu = 0, rw = 0, q2, mr3, alpha, beta;
        if (j == self) continue;
        for (k = 0; k < 3; k++) {
            r[k] = c->x[j][k] - x[k];
            u[k] = c->v[j][k] - v[k];
            w[k] = c->a[j][k] - ai[k];
            r2 += r[k] * r[k];
            ru += r[k] * u[k];
            uu += u[k] * u[k];
            rw += r[k] * w[k];
        }
        if (r2 < *nearest2) {
            *nearest2 = r2;
            *nearest = j;
        }
        q2 = r2 + eps2;
        mr3 = c->m[j] / (q2 * sqrt(q2));
        alpha = ru / q2;
        beta = (uu + rw) / q2 + alpha * alpha;
        *pot -= c->m[j] / sqrt(q2);
        for (k = 0; k < 3; k++) {
            double a1 = mr3 * r[k], j1 = mr3 * u[k] - 3 * alpha * a1;
            acc[k] += a1;
            jerk[k] += j1;
            snap[k] += mr3 * w[k] - 6 * alpha * j1 - 3 * beta * a1;
        }
    }
}

static double length(const double v[3]) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

/* |got - wanted| / |wanted| */
static double off(const double got[3], const double wanted[3]) {
    double d[3];
    int k;
    for (k = 0; k < 3; k++) d[k] = got[k] - wanted[k];
    return length(d) / length(wanted);
}

/* A comparison that NaN does not pass. */
static int below(double value, double bound) { return value < bound; }

static int done(const char *name) {
    printf("%s: %s\n", name, failures ? "FAILED" : "all good");
    return failures ? 1 : 0;
}
