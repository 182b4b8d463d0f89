/* Yebisu's calls, in C++, over the sixth order of this library. Include it in the place of the program's own
 * prototypes. `predictor` and `Force` may be the structures here or any of one's own with the same members:
 * vectors are taken by [0], [1] and [2].
 *
 * Potentials are below 0, without the self term. nnb_r2 is r^2 + eps^2.
 */
#ifndef GRAVITILE_YEBISU_H
#define GRAVITILE_YEBISU_H

#include "sapporo6thlib.h"

#ifdef __cplusplus
#include <cstddef>
#include <cstdio>
#include <limits>
#include <vector>

namespace yebisu {

struct predictor {
    double pos[3];
    double vel[3];
    double acc[3];
    double mass;
    double id;
    double eps2;
};

struct Force {
    double acc[3];
    double jrk[3];
    double snp[3];
    double phi;
    int nnb_id;
    float nnb_r2;

    Force() { clear(); }
    void clear() {
        for (int k = 0; k < 3; k++) acc[k] = jrk[k] = snp[k] = 0;
        phi = 0;
        nnb_id = -1;
        nnb_r2 = std::numeric_limits<float>::infinity();
    }
    /* Sums; the nearest stays. */
    void operator+=(const Force &other) {
        for (int k = 0; k < 3; k++) {
            acc[k] += other.acc[k];
            jrk[k] += other.jrk[k];
            snp[k] += other.snp[k];
        }
        phi += other.phi;
    }
};

/* C arrays of vectors, as the calls below take them. */
struct vectors {
    std::vector<double> numbers;
    explicit vectors(int n) : numbers(3 * (n > 0 ? n : 0) + 3) {}
    double (*c())[3] { return reinterpret_cast<double (*)[3]>(&numbers[0]); }
};

}

/* n, the number of particles, is not needed. */
inline int initialize(int) { return initialize(); }

inline int set_jp(int address, double mass, double pos[3], double vel[3], double acc[3], double jrk[3],
                  double snp[3], double crk[3], double time, int id, double eps2) {
    return set_jp_2(address, pos, vel, acc, jrk, snp, crk, mass, time, id, eps2);
}

template <class Predictor>
int pick_up_predictor_2(int address, Predictor &predicted) {
    int id = -1;
    yebisu::vectors pos(1), vel(1), acc(1);
    int code = pick_up_predictor_2(address, id, predicted.mass, predicted.eps2, pos.c()[0], vel.c()[0], acc.c()[0]);
    if (code) return code;
    for (int k = 0; k < 3; k++) {
        predicted.pos[k] = pos.c()[0][k];
        predicted.vel[k] = vel.c()[0][k];
        predicted.acc[k] = acc.c()[0][k];
    }
    predicted.id = id;
    return 0;
}

template <class Predictor>
int pick_up_predictor(int address, Predictor &predicted) {
    return pick_up_predictor_2(address, predicted);
}

/* Each i-particle has its own eps2. Where it fails, forces are NaN and nnb_id is -1. */
template <class Predictor, class Force>
int calc_force_on_predictors(int ni, Predictor predicted[], Force force[], int nj) {
    int room = ni > 0 ? ni : 0, i, k;
    yebisu::vectors pos(ni), vel(ni), acc(ni), a(ni), j(ni), s(ni), c(ni);
    std::vector<int> ids(room + 1), nnb(room + 1);
    std::vector<double> mass(room + 1), eps2(room + 1), phi(room + 1), r2(room + 1);
    for (i = 0; i < ni; i++) {
        for (k = 0; k < 3; k++) {
            pos.c()[i][k] = predicted[i].pos[k];
            vel.c()[i][k] = predicted[i].vel[k];
            acc.c()[i][k] = predicted[i].acc[k];
        }
        mass[i] = predicted[i].mass;
        ids[i] = static_cast<int>(predicted[i].id);
        eps2[i] = predicted[i].eps2;
    }
    int code = calc_force_on_predictors(ni, nj, &ids[0], pos.c(), vel.c(), acc.c(), &mass[0], &eps2[0], a.c(), j.c(),
                                        s.c(), c.c(), &phi[0], &nnb[0], &r2[0]);
    for (i = 0; i < ni; i++) {
        for (k = 0; k < 3; k++) {
            force[i].acc[k] = a.c()[i][k];
            force[i].jrk[k] = j.c()[i][k];
            force[i].snp[k] = s.c()[i][k];
        }
        force[i].phi = phi[i];
        force[i].nnb_id = nnb[i];
        force[i].nnb_r2 = static_cast<float>(r2[i]);
    }
    return code;
}

/* With the softening of the j-particles. That is possible where all of them have the same; else it fails. */
template <class Predictor, class Force>
int calc_force_on_predictors_epsj(int ni, Predictor predicted[], Force force[], int nj) {
    bool same = true;
    double eps2 = 0;
    for (int j = 0; j < nj; j++) {
        yebisu::predictor source;
        same = pick_up_predictor_2(j, source) == 0;
        if (!same) break;
        if (j == 0) eps2 = source.eps2;
        same = source.eps2 == eps2;
        if (!same) {
            static bool said = false;
            if (!said)
                std::fprintf(stderr, "gravitile: calc_force_on_predictors_epsj: eps2 of the j-particle at address %d is %g, "
                                     "but must be %g, as that of the others\n", j, source.eps2, eps2);
            said = true;
            break;
        }
    }
    std::vector<yebisu::predictor> sinks(ni > 0 ? ni : 0);
    for (int i = 0; i < ni; i++) {
        for (int k = 0; k < 3; k++) {
            sinks[i].pos[k] = predicted[i].pos[k];
            sinks[i].vel[k] = predicted[i].vel[k];
            sinks[i].acc[k] = predicted[i].acc[k];
        }
        sinks[i].mass = predicted[i].mass;
        sinks[i].id = predicted[i].id;
        sinks[i].eps2 = eps2;
    }
    if (same) return calc_force_on_predictors(ni, sinks.empty() ? NULL : &sinks[0], force, nj);
    const double none = std::numeric_limits<double>::quiet_NaN();
    for (int i = 0; i < ni; i++) {
        for (int k = 0; k < 3; k++) force[i].acc[k] = force[i].jrk[k] = force[i].snp[k] = none;
        force[i].phi = none;
        force[i].nnb_id = -1;
        force[i].nnb_r2 = static_cast<float>(none);
    }
    return -1;
}
#endif

#endif
