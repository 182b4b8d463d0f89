/* A program written for libg6 and libsapporo, with its authors' own declarations: void where
 * results are ignored, double* for units, and void as arguments. */
#include <stdio.h>

extern void g6_open_(int *id);
extern int g6_close_(int *id);
extern int g6_npipes_(void);
extern void g6_set_tunit_(double *);
extern void g6_set_xunit_(int *);
extern void g6_set_tunit(int);
extern int g6_reset_(int *), g6_reset_fofpga_(int *);
extern void g6_set_ti_(int *id, double *ti);
extern void g6_set_j_particle_(int *, int *, int *, double *, double *, double *, double[3], double[3],
                               double[3], double[3], double[3]);
extern void g6calc_firsthalf_(int *, int *, int *, int[], double[][3], double[][3], double[][3],
                              double[][3], double[], double *, double[]);
extern int g6calc_lasthalf2_(int *, int *, int *, int[], double[][3], double[][3], double *, double[],
                             double[][3], double[][3], double[], int[]);
extern int g6_initialize_jp_buffer_(int *, int *), g6_flush_jp_buffer_(int *);
extern void g6_set_neighbour_list_sort_mode(int);
extern int g6_set_overflow_flag_test_mode(int, int, int);

/* The library has a function of this name too; the program's takes precedence. */
static int called = 0;
int initialize(int n) { return called += n; }

int main(void) {
    double x[2][3] = {{0, 0, 0}, {2, 0, 0}}, v[2][3] = {{0, 0, 0}, {0, 1, 0}}, zero[2][3] = {{0}};
    double m = 1, t = 0, dt = 0.25, eps2 = 0, h2[2] = {0, 0}, none[2] = {0, 0}, acc[2][3], jerk[2][3], pot[2];
    int id = 0, i, two = 2, index[2] = {10, 20}, nnb[2], size = 100;
    g6_open_(NULL);
    g6_set_tunit(51);
    g6_set_tunit_((double *)1); /* not to be dereferenced */
    g6_set_xunit_((int *)1);
    g6_reset_(&id);
    g6_reset_fofpga_(&id);
    g6_initialize_jp_buffer_(&id, &size);
    g6_set_neighbour_list_sort_mode(1);
    g6_set_overflow_flag_test_mode(1, 1, 1);
    if (g6_npipes_() < 1) return 1;
    for (i = 0; i < 2; i++)
        g6_set_j_particle_(&id, &i, &index[i], &t, &dt, &m, zero[0], zero[0], zero[0], v[i], x[i]);
    g6_flush_jp_buffer_(&id);
    g6_set_ti_(&id, &t);
    g6calc_firsthalf_(&id, &two, &two, index, x, v, zero, zero, none, &eps2, h2);
    if (g6calc_lasthalf2_(&id, &two, &two, index, x, v, &eps2, h2, acc, jerk, pot, nnb)) return 1;
    g6_close_(&id);
    if (acc[0][0] != 0.25 || acc[1][0] != -0.25 || jerk[0][1] != 0.125 || pot[0] != -0.5) return 2;
    if (nnb[0] != 20 || nnb[1] != 10) return 3;
    return initialize(7) == 7 && called == 7 ? 0 : 4;
}
