/* Calls every name of the library at least once, in all forms; the test checks that none is
 * missing. */
#include "cloud.h"
#include "gravitile.h"
#include "sapporo.h"
#include "sapporo6thlib.h"

#define N 32
#define EPS2 1e-4

static struct cloud c;
static double zero[3], acc[N][3], jerk[N][3], pot[N], h2[N], nearest2;
static int ids[N], near[N], nearest;
static float rnnb[N];

/* Expected results for the first body, from all others. */
static void right(int sign, int with_jerk) {
    double a[3], j[3], s[3], phi;
    attract(&c, 0, c.x[0], c.v[0], c.a[0], EPS2, a, j, s, &phi, &nearest, &nearest2);
    CHECK(below(off(acc[0], a), 1e-12) && below(fabs(sign * pot[0] / phi - 1), 1e-12));
    CHECK(!with_jerk || below(off(jerk[0], j), 1e-11));
    memset(acc, 0, sizeof acc);
    memset(jerk, 0, sizeof jerk);
}

/* The same for GRAPE-5, whose potential is positive and includes the self term. */
static void right_of_5(int sign) {
    pot[0] -= sign * c.m[0] / sqrt(EPS2);
    right(-sign, 0);
}

static void listed(int n, const int *list) {
    int i, k = 0;
    for (i = 1; i < N; i++) {
        double d[3] = {c.x[i][0] - c.x[0][0], c.x[i][1] - c.x[0][1], c.x[i][2] - c.x[0][2]};
        if (length(d) * length(d) > h2[0]) continue;
        CHECK(k < n && list[k] == i);
        k++;
    }
    CHECK(k == n && n > 0);
}

/* Scalars by value. */
#define INT int
#define REAL double
#define IN const
#define I(n) (n)
#define R(x) (x)
#define SCALE(n) (n)
#define NAME(name) name
#define SESSION by_value
#include "session.h"
#define NAME(name) GPU_##name
#define SESSION by_value_gpu
int GPU_g6_set_tunit(double), GPU_g6_set_xunit(double);
#include "session.h"
#define NAME(name) name
#define SESSION more_by_value
#include "more.h"
int GPU2_g6calc_firsthalf(int, int, int, int[], double[][3], double[][3], double[][3], double[][3], double[], double, double[]);
int GPU2_g6calc_lasthalf(int, int, int, int[], double[][3], double[][3], double, double[], double[][3], double[][3], double[]);
int GPU2_g6calc_lasthalf2(int, int, int, int[], double[][3], double[][3], double, double[], double[][3], double[][3], double[], int[]);

/* Scalars by pointer. */
#undef INT
#undef REAL
#undef IN
#undef I
#undef R
#undef SCALE
#define INT int *
#define REAL double *
#define IN
#define I(n) by_int(n)
#define R(x) by_real(x)
#define SCALE(n) by_int(n)

static int *by_int(int n) {
    static int slots[16], next;
    next = (next + 1) % 16;
    slots[next] = n;
    return &slots[next];
}

static double *by_real(double x) {
    static double slots[16];
    static int next;
    next = (next + 1) % 16;
    slots[next] = x;
    return &slots[next];
}

int initialize_(void), initialize_special_(int *, int *);
int set_j_particle_(int *, double[3], double[3], double[3], double[3], double[3], double[3], double *, double *, int *, double *);
int set_jp_2_(int *, double[3], double[3], double[3], double[3], double[3], double[3], double *, double *, int *, double *);
int predict_all_(double *, int *), no_predict_all_(double *, int *);
int pick_up_predictor_2_(int *, int *, double *, double *, double[3], double[3], double[3]);
int calc_force_on_predictors_(int *, int *, int[], double[][3], double[][3], double[][3], double[], double[], double[][3],
                              double[][3], double[][3], double[][3], double[], int[], double[]);
#define NAME(name) name##_
#define SESSION by_pointer
#include "session.h"
#define NAME(name) GPU_##name##_
#define SESSION by_pointer_gpu
int GPU_g6_set_tunit_(void *), GPU_g6_set_xunit_(void *);
#include "session.h"
#define NAME(name) name##_
#define SESSION more_by_pointer
#include "more.h"
int GPU2_g6calc_firsthalf_(int *, int *, int *, int[], double[][3], double[][3], double[][3], double[][3], double[], double *, double[]);
int GPU2_g6calc_lasthalf_(int *, int *, int *, int[], double[][3], double[][3], double *, double[], double[][3], double[][3], double[]);
int GPU2_g6calc_lasthalf2_(int *, int *, int *, int[], double[][3], double[][3], double *, double[], double[][3], double[][3], double[], int[]);

/* Kirin's later names. */
static void gpu2(void) {
    int i;
    CHECK(g6_open(0) == 0);
    for (i = 0; i < N; i++)
        CHECK(g6_set_j_particle(0, i, i, 0, 0, c.m[i], zero, zero, zero, i ? c.v[i] : zero, c.x[i]) == 0);
    CHECK(GPU2_g6calc_firsthalf(0, N, 1, ids, c.x, c.v, acc, jerk, pot, EPS2, h2) == 0);
    CHECK(GPU2_g6calc_lasthalf(0, N, 1, ids, c.x, c.v, EPS2, h2, acc, jerk, pot) == 0);
    right(1, 1);
    CHECK(GPU2_g6calc_firsthalf_(I(0), I(N), I(1), ids, c.x, c.v, acc, jerk, pot, R(EPS2), h2) == 0);
    CHECK(GPU2_g6calc_lasthalf_(I(0), I(N), I(1), ids, c.x, c.v, R(EPS2), h2, acc, jerk, pot) == 0);
    right(1, 1);
    CHECK(GPU2_g6calc_firsthalf(0, N, 1, ids, c.x, c.v, acc, jerk, pot, EPS2, h2) == 0);
    CHECK(GPU2_g6calc_lasthalf2(0, N, 1, ids, c.x, c.v, EPS2, h2, acc, jerk, pot, near) == 0);
    CHECK(near[0] == nearest);
    right(1, 1);
    CHECK(GPU2_g6calc_firsthalf(0, N, 1, ids, c.x, c.v, acc, jerk, pot, EPS2, h2) == 0);
    CHECK(GPU2_g6calc_lasthalf2_(I(0), I(N), I(1), ids, c.x, c.v, R(EPS2), h2, acc, jerk, pot, near) == 0);
    CHECK(near[0] == nearest);
    right(1, 1);
    CHECK(g6_close(0) == 0);
}

/* The functions behind the class sapporo. */
static void object(void) {
    int i, k = -1, n = 0, list[N], one = sapporo_open(2, 0);
    double m, e, x[7][3];
    CHECK(one >= 0 && sapporo_set_time(one, 0) == 0 && sapporo_set_no_time(one) == 0);
    for (i = 0; i < N; i++)
        CHECK(sapporo_set_j_particle(one, i, i, 0, c.m[i], c.x[i], i ? c.v[i] : zero, c.a[i], zero, zero, zero, 0.5) == 0);
    CHECK(sapporo_start(one, N, 1, ids, c.x, c.v, c.a, EPS2, h2, NULL) == 0);
    CHECK(sapporo_results(one, 1, acc, jerk, x, x + 1, pot, near, &m) == 0);
    right(1, 1);
    CHECK(near[0] == nearest && below(fabs(m / nearest2 - 1), 1e-12));
    CHECK(sapporo_read_lists(one) == 0 && sapporo_list(one, 0, N, &n, list) == 0);
    listed(n, list);
    CHECK(sapporo_state(one, 3, &m, &k, &e, x[0], x[1], x[2], x[3], x[4], x[5], x[6]) == 0);
    CHECK(m == c.m[3] && k == 3 && e == 0.5 && x[0][0] == c.x[3][0] && x[5][2] == c.v[3][2]);
    CHECK(sapporo_close(one) == 0);
    EXPECT("this object is not open");
    CHECK(sapporo_close(one) == -1);
    CHECK(sapporo_pipelines(100) == 100);
    EXPECT("the order is 3, but must be 0 (GRAPE-5), 1 (GRAPE-6) or 2");
    CHECK(sapporo_open(3, 0) == -1);
}

int main(void) {
    int i;
    plummer(&c, N);
    for (i = 0; i < N; i++) {
        ids[i] = i;
        h2[i] = 1;
    }
    /* The first body's velocity as a source does not matter: it does not act on itself. */
    by_value(0);
    by_value_gpu(3);
    by_pointer(-2);
    by_pointer_gpu(1000);
    more_by_value(0);
    more_by_pointer(0);
    gpu2();
    object();
    return done("names");
}
