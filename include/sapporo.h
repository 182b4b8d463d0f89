/* Sapporo2's C++ class `sapporo`, over this library. Programs that include "sapporohostclass.h" get it, too.
 *
 * Every object has j-particles of its own; Sapporo2 allows one object in a process. Kernel files and devices are not
 * looked at: GRAVITILE_ENGINE, GRAVITILE_PRECISION and GRAVITILE_ADAPTER say what computes. Methods that answer an
 * int answer 0 if all is well, 1 if a list of neighbours did not fit, and -1 if it could not be done; a line on
 * stderr then says why, and forces are NaN.
 */
#ifndef GRAVITILE_SAPPORO_H
#define GRAVITILE_SAPPORO_H

#ifdef __cplusplus
extern "C" {
#endif

/* What the class is made of; any program may call these. Orders: 0 GRAPE-5, 1 GRAPE-6, 2 the sixth. Precisions: 0
 * single, 1 double-single, 2 double; at least that, unless the user chose one, and derivatives never in single.
 * sapporo_open returns the object's number, sapporo_pipelines what GRAVITILE_PIPELINES says, or `most`. Arrays may
 * be NULL where their values are not wanted; nnb_r2 is r^2, without eps. */
int sapporo_open(int order, int precision);
int sapporo_close(int object);
int sapporo_pipelines(int most);
int sapporo_set_time(int object, double time);
int sapporo_set_no_time(int object);
int sapporo_set_j_particle(int object, int address, int index, double time, double mass, const double pos[3],
                           const double vel[3], const double acc[3], const double jrk[3], const double snp[3],
                           const double crk[3], double eps2);
int sapporo_start(int object, int nj, int ni, int index[], double pos[][3], double vel[][3], double acc[][3],
                  double eps2, double h2[], double eps2_i[]);
int sapporo_results(int object, int ni, double acc[][3], double jrk[][3], double snp[][3], double crk[][3],
                    double pot[], int nnb[], double nnb_r2[]);
int sapporo_state(int object, int address, double *mass, int *index, double *eps2, double pos[3], double vel[3],
                  double acc[3], double jrk[3], double predicted_pos[3], double predicted_vel[3],
                  double predicted_acc[3]);
int sapporo_read_lists(int object);
int sapporo_list(int object, int ipipe, int maxlength, int *nblen, int nbl[]);

#ifdef __cplusplus
}

#include <cstddef>
#include <string>

enum { GRAPE5 = 0, FOURTH, SIXTH, EIGHT };
/* Sapporo2's. Earlier versions of it had DEFAULT, which is double-single, and DOUBLE alone. */
enum { FLOAT = 0, DOUBLESINGLE, DOUBLE, DEFAULT = DOUBLESINGLE };

/* Programs have arrays of this length: get_n_pipes returns it, unless GRAVITILE_PIPELINES is set. */
#ifndef NPIPES
#define NPIPES 256
#endif

class sapporo {
    int object;

    /* Two objects with one memory would both free it. */
    sapporo(const sapporo &);
    sapporo &operator=(const sapporo &);

  public:
    sapporo() : object(-1) {}
    ~sapporo() {
        if (object >= 0) sapporo_close(object);
    }

    /* Makes the memory, in the place of one that was there. The eighth order does not exist. */
    int open(std::string, int *, int = 1, int order = FOURTH, int precision = DEFAULT) {
        if (object >= 0) sapporo_close(object);
        object = sapporo_open(order, precision);
        return object >= 0 ? 0 : -1;
    }

    int close() {
        int closed = object;
        object = -1;
        return sapporo_close(closed);
    }

    int get_n_pipes() { return sapporo_pipelines(NPIPES); }
    int set_time(double time) { return sapporo_set_time(object, time); }
    int set_no_time() { return sapporo_set_no_time(object); }

    /* Derivatives are plain: acc is a and jrk is da/dt. k18 and dt are not looked at; snp and crk only in the sixth order. */
    int set_j_particle(int address, int index, double time, double, double mass, double *, double jrk[3],
                       double acc[3], double vel[3], double pos[3], double snp[3], double crk[3], double eps2) {
        return sapporo_set_j_particle(object, address, index, time, mass, pos, vel, acc, jrk, snp, crk, eps2);
    }

    /* acc is for the sixth order. eps2_i, if not NULL, has one for each i-particle; lists need one for all. */
    void startGravCalc(int nj, int ni, int index[], double pos[][3], double vel[][3], double acc[][3], double[][3],
                       double *, double eps2, double h2[], double eps2_i[]) {
        sapporo_start(object, nj, ni, index, pos, vel, acc, eps2, h2, eps2_i);
    }

    int getGravResults(int, int ni, int *, double[][3], double[][3], double, double *, double acc[][3],
                       double jrk[][3], double snp[][3], double crk[][3], double pot[], int nnb[], double nnb_r2[],
                       bool wants_nearest) {
        return sapporo_results(object, ni, acc, jrk, snp, crk, pot, wants_nearest ? nnb : NULL,
                               wants_nearest ? nnb_r2 : NULL);
    }

    /* Particles are predicted and sent when they are needed. */
    void forcePrediction(int) {}
    void send_j_particles_to_device() {}
    void send_i_particles_to_device(int) {}
    int fetch_ngb_list_from_device(int) { return 0; }

    void retrieve_predicted_j_particle(int address, double &mass, double &index, double &eps2, double pos[3],
                                       double vel[3], double acc[3]) {
        int number = -1;
        sapporo_state(object, address, &mass, &number, &eps2, NULL, NULL, NULL, NULL, pos, vel, acc);
        index = number;
    }

    void retrieve_j_particle_state(int address, double &mass, double &index, double &eps2, double pos[3],
                                   double vel[3], double acc[3], double jrk[3], double predicted_pos[3],
                                   double predicted_vel[3], double predicted_acc[3]) {
        int number = -1;
        sapporo_state(object, address, &mass, &number, &eps2, pos, vel, acc, jrk, predicted_pos, predicted_vel,
                      predicted_acc);
        index = number;
    }

    int read_ngb_list(int) { return sapporo_read_lists(object); }
    int get_ngb_list(int, int ipipe, int maxlength, int &nblen, int nbl[]) {
        return sapporo_list(object, ipipe, maxlength, &nblen, nbl);
    }
};
#endif

#endif
