/* Forces, jerks, potentials, nearest neighbours and lists against plain C, in both forms of the
 * calls. Argument: the relative error allowed. */
#include "cloud.h"
#include "gravitile.h"

#define N 500
#define NI 123

static struct cloud c;
static double acc[N][3], jerk[N][3], pot[N], zero[N][3], nothing[N], h2[N], null3[3];
static int ids[N], nnb[N];

/* Arbitrary ids, some negative, not in order. */
static int id_of(int i) { return 7 * ((i * 37) % N) - 1000; }

static void compare(double bound, double eps2, int with_nearest, const char *what) {
    double worst_a = 0, worst_j = 0, worst_p = 0;
    int i;
    for (i = 0; i < NI; i++) {
        double a[3], j[3], s[3], p, r2;
        int near;
        attract(&c, i, c.x[i], c.v[i], c.a[i], eps2, a, j, s, &p, &near, &r2);
        worst_a = fmax(worst_a, off(acc[i], a));
        worst_j = fmax(worst_j, off(jerk[i], j));
        worst_p = fmax(worst_p, fabs(pot[i] / p - 1));
        CHECK(pot[i] < 0);
        if (!(below(off(acc[i], a), bound))) CHECK(!"an acceleration is off");
        if (with_nearest) CHECK(nnb[i] == id_of(near));
    }
    printf("%s: acc %.1e jerk %.1e pot %.1e\n", what, worst_a, worst_j, worst_p);
    CHECK(below(worst_a, bound) && below(worst_p, bound));
    /* Jerks cancel more than forces do. */
    CHECK(below(worst_j, 10 * bound));
}

static void lists(void) {
    static int list[N], wanted[N];
    int i, j, n, m, total = 0, longest = 0, most = 0;
    CHECK(g6_read_neighbour_list(0) == 0);
    for (i = 0; i < NI; i++) {
        m = 0;
        for (j = 0; j < N; j++) {
            double d[3];
            d[0] = c.x[j][0] - c.x[i][0];
            d[1] = c.x[j][1] - c.x[i][1];
            d[2] = c.x[j][2] - c.x[i][2];
            if (j != i && d[0] * d[0] + d[1] * d[1] + d[2] * d[2] <= h2[i]) wanted[m++] = id_of(j);
        }
        /* By index, the initial order of lists. */
        for (j = 1; j < m; j++) {
            int w = wanted[j], k = j;
            while (k > 0 && wanted[k - 1] > w) {
                wanted[k] = wanted[k - 1];
                k--;
            }
            wanted[k] = w;
        }
        CHECK(g6_get_neighbour_list(0, i, N, &n, list) == 0);
        CHECK(n == m && memcmp(list, wanted, m * sizeof *list) == 0);
        total += m;
        if (m > most) {
            most = m;
            longest = i;
        }
        if (m > 2) {
            /* Array too small: returns the code and the true length, writes nothing past the end. */
            int ipipe = i, two = 2, got;
            memset(list, 0, sizeof list);
            CHECK(g6_get_neighbour_list_(NULL, &ipipe, &two, &got, list) == 1);
            CHECK(got == m && list[0] == wanted[0] && list[1] == wanted[1] && list[2] == 0);
        }
    }
    printf("%d neighbours\n", total);
    CHECK(total > 10 * NI);
    CHECK(g6_get_neighbour_list_sort_mode() == 1);
    g6_set_neighbour_list_sort_mode(0);
    CHECK(g6_get_neighbour_list(0, longest, N, &n, list) == 0 && n == most && n > 3);
    for (i = 1, m = 0; i < n; i++) m += list[i] < list[i - 1];
    CHECK(m > 0); /* sorted by address, in which ids are not in order */
    g6_set_neighbour_list_sort_mode(1);
}

int main(int argc, char **argv) {
    double bound = argc > 1 ? atof(argv[1]) : 1e-12;
    double eps2 = 1.0 / 256 / 256, none = 0, zero_time = 0;
    int i, id = 0, nj = N, ni = NI, round;
    plummer(&c, N);
    for (i = 0; i < N; i++) {
        ids[i] = id_of(i);
        h2[i] = 0.09;
    }
    CHECK(g6_open(0) == 0);
    CHECK(g6_npipes() > 0 && g6_npipes() == g6_get_number_of_pipelines_());
    g6_set_tunit(51);
    g6_set_xunit(51);
    /* From the last address to the first. */
    for (i = N - 1; i >= 0; i--)
        CHECK(g6_set_j_particle(0, i, ids[i], 0.0, 0.125, c.m[i], null3, null3, null3, c.v[i], c.x[i]) == 0);
    CHECK(g6_set_ti(0, 0.0) == 0);
    for (round = 0; round < 2; round++) {
        CHECK(g6calc_firsthalf(0, N, NI, ids, c.x, c.v, zero, zero, nothing, eps2, h2) == 0);
        memset(c.a, 0, sizeof c.a); /* host work between the calls */
        CHECK(g6calc_lasthalf2(0, N, NI, ids, c.x, c.v, eps2, h2, acc, jerk, pot, nnb) == 0);
        compare(bound, eps2, 1, "by value");
        lists();
    }
    CHECK(g6_close(0) == 0);

    /* Fortran forms, with NULL for the cluster and for guesses. */
    CHECK(g6_open_(NULL) == 0);
    for (i = 0; i < N; i++)
        CHECK(g6_set_j_particle_(&id, &i, &ids[i], &zero_time, &zero_time, &c.m[i], null3, null3, null3,
                                 c.v[i], c.x[i]) == 0);
    CHECK(g6_set_ti_(&id, &zero_time) == 0);
    g6calc_firsthalf_(&id, &nj, &ni, ids, c.x, c.v, NULL, NULL, NULL, &none, NULL);
    CHECK(g6calc_lasthalf2_(&id, &nj, &ni, ids, c.x, c.v, &none, NULL, acc, jerk, pot, nnb) == 0);
    compare(bound, 0.0, 1, "by pointer, eps = 0");
    g6calc_firsthalf_(&id, &nj, &ni, ids, c.x, c.v, NULL, NULL, NULL, &eps2, NULL);
    CHECK(g6calc_lasthalf_(&id, &nj, &ni, ids, c.x, c.v, &eps2, NULL, acc, jerk, pot) == 0);
    compare(bound, eps2, 0, "by pointer");
    g6calc_firsthalf_(&id, &nj, &ni, ids, c.x, c.v, NULL, NULL, NULL, &eps2, NULL);
    CHECK(g6calc_lasthalf2n_(&id, &nj, &ni, ids, c.x, c.v, &eps2, NULL, acc, jerk, pot, nnb) == 0);
    compare(bound, eps2, 1, "lasthalf2n");
    CHECK(g6_close_(&id) == 0);
    return done("forces");
}
