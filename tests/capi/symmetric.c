/* Phantom-GRAPE's symmetric build: an eps^2 per source in addition to that of each sink.
 * Argument: the relative error allowed. */
#define SYMMETRIC
#include "cloud.h"
#include "gp5util.h"

#define N 200
#define NI 50

static struct cloud c;
static double bound, epsj2[N], zeros[N];

static int wrong(double a[][3], const double p[], const double *eps2) {
    int i, j, k, count = 0;
    for (i = 0; i < NI; i++) {
        double acc[3] = {0, 0, 0}, pot = 0;
        for (j = 0; j < N; j++) {
            double d[3], r2 = eps2[i] + epsj2[j];
            for (k = 0; k < 3; k++) {
                d[k] = c.x[j][k] - c.x[i][k];
                r2 += d[k] * d[k];
            }
            for (k = 0; k < 3; k++) acc[k] += c.m[j] * d[k] / (r2 * sqrt(r2));
            pot += c.m[j] / sqrt(r2);
        }
        count += !(below(off(a[i], acc), bound) && below(fabs(p[i] / pot - 1), bound));
    }
    return count;
}

int main(int argc, char **argv) {
    static double a[NI][3], p[NI], eps2[NI], same[NI];
    int i;
    bound = argc > 1 ? atof(argv[1]) : 1e-12;
    plummer(&c, N);
    CHECK(g5_open() == 0 && g5_set_eps_to_all(0.01) == 0);
    for (i = 0; i < NI; i++) {
        eps2[i] = i % 2 ? 0.01 : 4e-4;
        same[i] = 1e-4;
    }
    /* Three kinds of sources. */
    for (i = 0; i < N; i++) epsj2[i] = 2e-4 * (1 + i % 3);
    CHECK(g5_set_xmj(0, N, c.x, c.m, epsj2) == 0 && g5_set_n(N) == 0);
    CHECK(g5_calculate_force_on_xe(c.x, eps2, a, p, NI) == 0);
    CHECK(wrong(a, p, eps2) == 0);
    CHECK(g5_calculate_force_on_x(c.x, a, p, NI) == 0);
    CHECK(wrong(a, p, same) == 0);
    EXPECT("eps^2 of source 3 is -1");
    zeros[3] = -1;
    CHECK(g5_set_xmj(0, N, c.x, c.m, zeros) == -1);
    CHECK(g5_calculate_force_on_x(c.x, a, p, NI) == 0);
    CHECK(wrong(a, p, same) == 0);
    /* Equal softenings, on another board. */
    for (i = 0; i < N; i++) epsj2[i] = 3e-4;
    CHECK(g5_set_xmjMC(5, 0, N, c.x, c.m, epsj2) == 0 && g5_set_nMC(5, N) == 0);
    CHECK(g5_calculate_force_on_xMC(5, c.x, a, p, NI) == 0);
    CHECK(wrong(a, p, same) == 0);
    CHECK(g5_close() == 0);
    return done("symmetric");
}
