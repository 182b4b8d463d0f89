/* Prints the status, and exits with a cluster open and a call in progress, as some programs do. */
#include "gravitile.h"

int main(void) {
    double x[1][3] = {{1, 0, 0}}, v[1][3] = {{0, 0, 0}};
    int index = 1;
    if (g6_open(0) || g6_set_j_particle_mxonly(0, 0, 0, 1.0, x[0])) return 1;
    if (g6_print_chip_status(0)) return 1;
    return g6calc_firsthalf(0, 1, 1, &index, x, v, 0, 0, 0, 0.0, 0);
}
