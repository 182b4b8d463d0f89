/* GRAPE-5's calls against plain C. Arguments: the relative error allowed, the potential's sign. */
#include "cloud.h"
#include "gravitile.h"

#define N 300

static struct cloud c;
static double a[N][3], p[N], x[N][3], far_x[N + 11][3], far_m[N + 11];

static void compare(double bound, double sign, double eps, int nj, int ni) {
    int i, n = c.n;
    c.n = nj;
    for (i = 0; i < ni; i++) {
        double acc[3], jerk[3], snap[3], pot, r2;
        int near;
        attract(&c, -1, c.x[i], c.v[i], c.a[i], eps * eps, acc, jerk, snap, &pot, &near, &r2);
        CHECK(below(off(a[i], acc), bound) && below(fabs(sign * p[i] / pot - 1), bound));
    }
    c.n = n;
}

int main(int argc, char **argv) {
    double bound = argc > 1 ? atof(argv[1]) : 1e-12, sign = argc > 2 ? atof(argv[2]) : 1;
    double eps = 0.01, eps2 = 0.0004;
    int n = N, address = 0, ni, i;
    plummer(&c, N);
    EXPECT("GRAPE-5 is not open");
    CHECK(g5_set_n(N) == -1);
    CHECK(g5_open() == 0);
    CHECK(g5_set_range(-10.0, 10.0, c.m[0]) == 0);
    EXPECT("number of sources is not set");
    CHECK(g5_calculate_force_on_x(c.x, a, p, N) == -1 && a[0][0] != a[0][0]);
    CHECK(g5_set_xmj(0, N, c.x, c.m) == 0 && g5_set_n(N) == 0);
    EXPECT("softening is not set");
    CHECK(g5_calculate_force_on_x(c.x, a, p, N) == -1);
    CHECK(g5_set_eps_to_all(eps) == 0);
    CHECK(g5_calculate_force_on_x(c.x, a, p, N) == 0);
    compare(bound, sign, eps, N, N);
    /* Includes the self term -m/eps, which makes a difference. */
    CHECK(fabs(p[0]) > c.m[0] / eps);
    memcpy(x, c.x, sizeof x); /* results may overwrite the sinks */
    CHECK(g5_calculate_force_on_x(x, x, p, N) == 0);
    CHECK(memcmp(x, a, sizeof x) == 0);

    /* Split by the number of pipelines; fewer sources; Fortran form. */
    ni = g5_get_number_of_pipelines_() < 64 ? g5_get_number_of_pipelines_() : 64;
    n = N / 2;
    CHECK(g5_set_n_(&n) == 0 && g5_set_eps2_to_all_(&eps2) == 0);
    CHECK(g5_set_xi_(&ni, c.x) == 0 && g5_run_() == 0 && g5_get_force_(&ni, a, p) == 0);
    compare(bound, sign, sqrt(eps2), N / 2, ni);
    EXPECT("sinks are not set");
    CHECK(g5_get_force(ni, a, p) == -1);
    /* Particles set after the sinks are used. */
    CHECK(g5_set_xi(ni, c.x) == 0 && g5_set_eps_to_all(eps) == 0);
    n = N;
    c.m[7] *= 2;
    CHECK(g5_set_jp_(&address, &n, c.m, c.x) == 0 && g5_set_n(N) == 0);
    CHECK(g5_get_force(ni, a, p) == 0);
    compare(bound, sign, eps, N, ni);
    CHECK(g5_set_xmj(10, 5, c.x, c.m) == 0); /* 10 to 14, from entries 10 to 14 */
    CHECK(g5_calculate_force_on_x(c.x, a, p, ni) == 0);
    compare(bound, sign, eps, N, ni);
    /* As in vtc and Kawai's nbody: masses and positions set separately, sinks split among boards. */
    CHECK(JMEMSIZE >= N && g5_get_jmemsize() >= JMEMSIZE);
    CHECK(g5_set_mj(0, N, c.m) == 0 && g5_set_xj(0, N, c.x) == 0 && g5_set_n(N) == 0);
    memset(a, 0, sizeof a);
    for (i = 0; i < N; i += ni) {
        int board = g5_get_firstcluster(), end = board + g5_get_number_of_boards();
        for (ni = 0; board < end && i + ni < N; board++) {
            int some = g5_get_number_of_pipelines_per_board();
            if (some > N - i - ni) some = N - i - ni;
            CHECK(g5_set_xiMC(board, some, c.x + i + ni) == 0 && g5_runMC(board) == 0);
            CHECK(g5_get_forceMC(board, some, a + i + ni, p + i + ni) == 0);
            ni += some;
        }
    }
    compare(bound, sign, eps, N, N);
    /* A source between unset ones; refused calls change nothing. */
    memcpy(far_x[N + 10], c.x[3], sizeof far_x[0]);
    CHECK(g5_set_xmj(N + 10, 1, far_x, far_m) == 0 && g5_set_n(N + 100) == 0);
    CHECK(g5_set_xmj(N + 300, 0, NULL, NULL) == 0);
    CHECK(g5_calculate_force_on_x(c.x, a, p, N) == 0);
    compare(bound, sign, eps, N, N);
    memcpy(x, c.x, sizeof x);
    x[5][1] = -log(0.0);
    EXPECT("the position of source 5 is [");
    CHECK(g5_set_xmj(0, N, x, c.m) == -1);
    EXPECT("the mass of source 0 is -1");
    p[0] = -1;
    CHECK(g5_set_xmj(0, 1, c.x, p) == -1);
    EXPECT("the position of sink 5 is [");
    CHECK(g5_calculate_force_on_x(x, a, p, N) == -1 && a[0][0] != a[0][0]);
    CHECK(g5_calculate_force_on_x(c.x, a, p, N) == 0);
    compare(bound, sign, eps, N, N);
    EXPECT("address of a source is -1");
    CHECK(g5_set_xmj(-1, N, c.x, c.m) == -1);
    EXPECT("eps is -1");
    CHECK(g5_set_eps_to_all(-1.0) == -1);
    CHECK(g5_close() == 0);
    EXPECT("GRAPE-5 is not open");
    CHECK(g5_close() == -1);
    return done("grape5");
}
