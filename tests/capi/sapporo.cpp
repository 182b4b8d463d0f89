// The calls of Sapporo2's own programs on its class: test_gravity_block (order 1), _6th (2) and
// _g5 (0). Arguments: the order, the relative error allowed.
#include "sapporohostclass.h"

// As in programs with a copy of Sapporo2's g6lib.h, which declares some of these calls without a result.
extern "C" {
void g6calc_firsthalf_(int *id, int *nj, int *ni, int index[], double xi[][3], double vi[][3], double aold[][3],
                       double j6old[][3], double phiold[3], double *eps2, double h2[]);
int g6_set_tunit_(double *);
}

#include "cloud.h"

static const int n = 300;
static struct cloud c;

static void compare(int order, const double (*acc)[3], const double (*jrk)[3], const double (*snp)[3], const double *pot,
                    const int *nnb, const double *nnb_r2, int from, int to, int nj, const double *eps2, double bound) {
    const int all = c.n;
    c.n = nj;
    for (int i = from; i < to; i++) {
        double a[3], j[3], s[3], p, r2;
        int near;
        attract(&c, order == GRAPE5 ? -1 : i, c.x[i], c.v[i], c.a[i], eps2[i], a, j, s, &p, &near, &r2);
        CHECK(below(off(acc[i], a), bound) && below(fabs(pot[i] / p - 1), bound));
        if (order > GRAPE5) CHECK(below(off(jrk[i], j), 30 * bound));
        if (order > FOURTH) CHECK(below(off(snp[i], s), 100 * bound));
        if (order > GRAPE5 && nnb) CHECK(nnb[i] == near + 1 && below(fabs(nnb_r2[i] / r2 - 1), 1e-6));
    }
    c.n = all;
}

int main(int argc, char *argv[]) {
    const int order = argc > 1 ? atoi(argv[1]) : FOURTH;
    const double bound = argc > 2 ? atof(argv[2]) : 1e-12;
    double (*acc)[3] = new double[n][3], (*jrk)[3] = new double[n][3], (*snp)[3] = new double[n][3];
    double (*crk)[3] = new double[n][3], *pot = new double[n], *h2 = new double[n], *ds = new double[n], *soft = new double[n];
    int *nnb = new int[n], *nngb = new int[n], *ngb_list = new int[n], *id = new int[n];
    int devices[] = {0, 1, 2, 3};
    double null3[3] = {0, 0, 0};
    plummer(&c, n);
    for (int i = 0; i < n; i++) {
        id[i] = i + 1;
        h2[i] = 0.04;
        soft[i] = 1e-4;
    }

    sapporo grav;
    EXPECT("this object is not open: call its open() before");
    CHECK(grav.set_time(0) == -1);
    // Plain f32 is for GRAPE-5 only; f64 is at least as accurate as any.
    EXPECT("the precision is 3, but must be 0 (single), 1 (double-single) or 2 (double)");
    CHECK(grav.open("CUDA/kernels4th.ptx", devices, 1, order, DOUBLE + 1) == -1);
    for (int precision = FLOAT; precision <= DOUBLE; precision++) {
        CHECK(grav.open("CUDA/kernels4th.ptx", devices, 1, order, precision) == 0);
        for (int i = 0; i < n; i++)
            grav.set_j_particle(i, id[i], 0, 0, c.m[i], null3, null3, c.a[i], c.v[i], c.x[i], null3, null3, 0);
        grav.startGravCalc(n, 10, id, c.x, c.v, c.a, NULL, NULL, 1e-4, h2, NULL);
        CHECK(grav.getGravResults(n, 10, id, c.x, c.v, 1e-4, h2, acc, jrk, snp, crk, pot, nnb, ds, true) == 0);
        const bool is_single = order == GRAPE5 && precision == FLOAT;
        compare(order, acc, jrk, snp, pot, NULL, NULL, 0, 10, n, soft, is_single ? 1e-5 : bound);
    }
    CHECK(grav.get_n_pipes() == NPIPES);
    EXPECT("the order is 3");
    CHECK(grav.open("CUDA/kernels.ptx", devices, 1, EIGHT) == -1);
    CHECK(grav.open("CUDA/kernels4th.ptx", devices, 1, order, order == SIXTH ? DOUBLE : DEFAULT) == 0);
    // Another object has its own particles.
    sapporo other;
    CHECK(other.open("CUDA/kernels4th.ptx", devices) == 0);
    CHECK(other.set_j_particle(0, 1, 0, 0, 1, null3, null3, null3, null3, null3, NULL, NULL, 0) == 0);

    const int ipmax = min(n, grav.get_n_pipes());
    CHECK(ipmax > 0 && ipmax <= NPIPES);
    for (int i = 0; i < n; i++)
        CHECK(grav.set_j_particle(i, id[i], 0, 0, c.m[i], null3, null3, c.a[i], c.v[i], c.x[i], null3, null3, 0.25) == 0);
    CHECK(grav.set_time(0) == 0);
    grav.forcePrediction(n);
    for (int i = 0; i < n; i += ipmax) {
        const int npart = min(n - i, ipmax);
        grav.startGravCalc(n, npart, id + i, c.x + i, c.v + i, order == SIXTH ? c.a + i : NULL, NULL, NULL, 1e-4, h2 + i, NULL);
        CHECK(grav.getGravResults(n, npart, id + i, c.x + i, c.v + i, 1e-4, h2 + i, acc + i, jrk + i, snp + i, crk + i, pot + i,
                                  nnb + i, ds + i, true) == 0);
        if (order == GRAPE5) continue;
        CHECK(grav.read_ngb_list(0) == 0);
        for (int i1 = i; i1 < i + npart; i1++) {
            int found = 0;
            for (int j = 0; j < n; j++) {
                double d[3] = {c.x[j][0] - c.x[i1][0], c.x[j][1] - c.x[i1][1], c.x[j][2] - c.x[i1][2]};
                found += j != i1 && length(d) * length(d) <= h2[i1];
            }
            CHECK(grav.get_ngb_list(0, i1 - i, n, nngb[i1], ngb_list) == 0 && nngb[i1] == found);
            for (int k = 1; k < nngb[i1]; k++) CHECK(ngb_list[k - 1] < ngb_list[k]);
            if (found > 1) CHECK(grav.get_ngb_list(0, i1 - i, 1, nngb[i1], ngb_list) == 1 && nngb[i1] == found);
        }
    }
    compare(order, acc, jrk, snp, pot, nnb, ds, 0, n, n, soft, bound);

    // A subset of the sources; outputs that are not needed may be NULL.
    grav.startGravCalc(n / 2, 10, id, c.x, c.v, c.a, NULL, NULL, 1e-4, NULL, NULL);
    CHECK(grav.getGravResults(n / 2, 10, id, c.x, c.v, 1e-4, NULL, acc, jrk, snp, crk, pot, NULL, NULL, false) == 0);
    compare(order, acc, jrk, snp, pot, NULL, NULL, 0, 10, n / 2, soft, bound);

    // A softening per sink.
    for (int i = 0; i < 10; i++) soft[i] = i % 2 ? 1e-2 : 1e-4;
    grav.startGravCalc(n, 10, id, c.x, c.v, c.a, NULL, NULL, 0, h2, soft);
    CHECK(grav.getGravResults(n, 10, id, c.x, c.v, 0, h2, acc, jrk, snp, crk, pot, nnb, ds, true) == 0);
    compare(order, acc, jrk, snp, pot, nnb, ds, 0, 10, n, soft, bound);
    EXPECT("ni of i-particles is 9, but must be 10");
    grav.startGravCalc(n, 10, id, c.x, c.v, c.a, NULL, NULL, 0, h2, soft);
    CHECK(grav.getGravResults(n, 9, id, c.x, c.v, 0, h2, acc, jrk, snp, crk, pot, nnb, ds, true) == -1);
    CHECK(acc[8][0] != acc[8][0] && pot[8] != pot[8]);
    EXPECT("nothing was begun");
    CHECK(grav.getGravResults(n, 10, id, c.x, c.v, 0, h2, acc, jrk, snp, crk, pot, nnb, ds, true) == -1);

    // A quarter of a time unit later.
    double m, number, e, x[3], v[3], a[3], j[3], px[3], pv[3], pa[3];
    CHECK(grav.set_time(0.25) == 0);
    grav.retrieve_j_particle_state(53, m, number, e, x, v, a, j, px, pv, NULL);
    CHECK(m == c.m[53] && number == 54 && e == 0.25 && x[1] == c.x[53][1]);
    const double velocity = order == GRAPE5 ? 0 : c.v[53][1];
    CHECK(v[1] == velocity && fabs(px[1] - (x[1] + 0.25 * velocity)) < 1e-15 && pv[1] == velocity);
    CHECK(grav.set_no_time() == 0);
    grav.retrieve_predicted_j_particle(53, m, number, e, px, pv, pa);
    CHECK(px[1] == x[1] && pv[1] == velocity && number == 54);

    // The other object is unchanged.
    other.startGravCalc(1, 1, id + 1, c.x, c.v, NULL, NULL, NULL, 0, NULL, NULL);
    CHECK(other.getGravResults(1, 1, id + 1, c.x, c.v, 0, NULL, acc, jrk, NULL, NULL, pot, nnb, NULL, true) == 0);
    CHECK(below(fabs(pot[0] * length(c.x[0]) + 1), bound) && nnb[0] == 1);

    CHECK(grav.close() == 0);
    EXPECT("this object is not open");
    CHECK(grav.close() == -1);
    // After reopening it is empty.
    CHECK(grav.open("CUDA/kernels4th.ptx", devices, 1, order) == 0);
    grav.startGravCalc(n, 1, id, c.x, c.v, c.a, NULL, NULL, 1e-4, h2, NULL);
    CHECK(grav.getGravResults(n, 1, id, c.x, c.v, 1e-4, h2, acc, jrk, snp, crk, pot, nnb, ds, true) == 0 && pot[0] == 0);
    delete[] acc, delete[] jrk, delete[] snp, delete[] crk, delete[] pot, delete[] h2, delete[] ds, delete[] soft;
    delete[] nnb, delete[] nngb, delete[] ngb_list, delete[] id;
    return done("sapporo");
}
