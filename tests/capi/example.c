#include <stdio.h>
#include <g6lib.h>
int main(void) {
    double m[2] = {0.75, 0.25}, x[2][3] = {{-0.25}, {0.75}}, v[2][3] = {{0, -0.25}, {0, 0.75}};
    double zero[3] = {0}, acc[2][3], jerk[2][3], pot[2], eps2 = 0, h2[2] = {1, 1};
    int index[2] = {1, 2}, nearest[2], j;
    if (g6_open(0)) return 1;
    for (j = 0; j < 2; j++) g6_set_j_particle(0, j, index[j], 0, 0, m[j], zero, zero, zero, v[j], x[j]);
    g6_set_ti(0, 0);
    g6calc_firsthalf(0, 2, 2, index, x, v, acc, jerk, pot, eps2, h2);
    if (g6calc_lasthalf2(0, 2, 2, index, x, v, eps2, h2, acc, jerk, pot, nearest)) return 1;
    for (j = 0; j < 2; j++) printf("%d: ax %g jy %g pot %g near %d\n", index[j], acc[j][0], jerk[j][1], pot[j], nearest[j]);
    return g6_close(0);
}
