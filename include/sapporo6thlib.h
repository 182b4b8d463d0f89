/* Sapporo2's sixth-order calls. A header of their own, because a client may well have a function
 * `initialize` too. Error codes as in gravitile.h; each has a Fortran form with a trailing underscore.
 */
#ifndef GRAVITILE_SAPPORO6THLIB_H
#define GRAVITILE_SAPPORO6THLIB_H

#ifdef __cplusplus
extern "C" {
#endif

int initialize(void);
int initialize_special(int ndev, const int *list);

/* A j-particle with plain derivatives at `time`. eps2 is only kept for pick_up_predictor_2. */
int set_j_particle(int address, const double pos[3], const double vel[3], const double acc[3],
                   const double jrk[3], const double snp[3], const double crk[3], double mass, double time,
                   int id, double eps2);
int set_jp_2(int address, const double pos[3], const double vel[3], const double acc[3], const double jrk[3],
             const double snp[3], const double crk[3], double mass, double time, int id, double eps2);

int predict_all(double time, int nj);
int no_predict_all(double time, int nj);

#ifdef __cplusplus
/* C++ clients write it with references. */
int pick_up_predictor_2(int address, int &id, double &mass, double &eps2, double pos[3], double vel[3],
                        double acc[3]);
#else
int pick_up_predictor_2(int address, int *id, double *mass, double *eps2, double pos[3], double vel[3],
                        double acc[3]);
#endif

/* nnb_r2 is r^2 + eps^2; crkNew is filled with 0; eps2 has an entry for each i-particle. */
int calc_force_on_predictors(int ni, int nj, int ids[], double pos[][3], double vel[][3], double acc[][3],
                             double mass[], double eps2[], double accNew[][3], double jrkNew[][3],
                             double snpNew[][3], double crkNew[][3], double phi[], int nnb[], double nnb_r2[]);

#ifdef __cplusplus
}
#endif

#endif
