/* A session with GRAPE-6's calls, in the form and with the prefix that names.c selects: NAME(call)
 * is a call's name, INT and REAL are the types of its scalars, I(n) and R(x) make them, IN is const
 * where the header says so. */

int NAME(g6_open)(INT id);
int NAME(g6_close)(INT id);
int NAME(g6_npipes)(void);
int NAME(g6_set_ti)(INT id, REAL ti);
int NAME(g6_set_j_particle)(INT id, INT address, INT index, REAL tj, REAL dtj, REAL mass, IN double k18[3], IN double j6[3],
                            IN double a2[3], IN double v[3], IN double x[3]);
int NAME(g6_set_j_particle_multisend_mxfast)(INT id, INT clusters, INT address, INT index, REAL mass, IN double x[3]);
int NAME(g6_initialize_jp_buffer)(INT id, INT size);
int NAME(g6_flush_jp_buffer)(INT id);
int NAME(g6_flush_jp_buffer_and_multisend)(INT id, INT clusters);
int NAME(g6calc_firsthalf)(INT id, INT nj, INT ni, IN int index[], double xi[][3], double vi[][3], double aold[][3],
                           double j6old[][3], IN double phiold[], REAL eps2, IN double h2[]);
int NAME(g6calc_lasthalf)(INT id, INT nj, INT ni, IN int index[], double xi[][3], double vi[][3], REAL eps2, IN double h2[],
                          double acc[][3], double jerk[][3], double pot[]);
int NAME(g6calc_lasthalf2)(INT id, INT nj, INT ni, IN int index[], double xi[][3], double vi[][3], REAL eps2, IN double h2[],
                           double acc[][3], double jerk[][3], double pot[], int nnbindex[]);
int NAME(g6_read_neighbour_list)(INT id);
int NAME(g6_get_neighbour_list)(INT id, INT ipipe, INT maxlength, int *nblen, int nbl[]);
int NAME(g6_set_neighbour_list_sort_mode)(INT mode);
int NAME(g6_set_overflow_flag_test_mode)(INT aflag, INT jflag, INT pflag);
int NAME(g6_reset)(INT id);
int NAME(g6_reset_fofpga)(INT id);
int NAME(g6_reinitialize)(INT id);
int NAME(g6_print_chip_status)(INT id);

static void SESSION(int id) {
    int i, n, list[N];
    CHECK(NAME(g6_open)(I(id)) == 0 && NAME(g6_npipes)() == 48);
    CHECK(NAME(g6_set_tunit)(SCALE(51)) == 0 && NAME(g6_set_xunit)(SCALE(45)) == 0);
    CHECK(NAME(g6_set_overflow_flag_test_mode)(I(1), I(1), I(1)) == 0);
    CHECK(NAME(g6_initialize_jp_buffer)(I(id), I(N)) == 0);
    for (i = 1; i < N; i++)
        CHECK(NAME(g6_set_j_particle)(I(id), I(i), I(i), R(0), R(0), R(c.m[i]), zero, zero, zero, c.v[i], c.x[i]) == 0);
    /* A source at rest; the first body does not attract itself. */
    CHECK(NAME(g6_set_j_particle_multisend_mxfast)(I(id), I(1), I(0), I(0), R(c.m[0]), c.x[0]) == 0);
    CHECK(NAME(g6_flush_jp_buffer)(I(id)) == 0 && NAME(g6_flush_jp_buffer_and_multisend)(I(id), I(1)) == 0);
    CHECK(NAME(g6_set_ti)(I(id), R(0)) == 0);
    CHECK(NAME(g6calc_firsthalf)(I(id), I(N), I(1), ids, c.x, c.v, acc, jerk, pot, R(EPS2), h2) == 0);
    CHECK(NAME(g6calc_lasthalf)(I(id), I(N), I(1), ids, c.x, c.v, R(EPS2), h2, acc, jerk, pot) == 0);
    right(1, 1);
    CHECK(NAME(g6calc_firsthalf)(I(id), I(N), I(1), ids, c.x, c.v, acc, jerk, pot, R(EPS2), h2) == 0);
    CHECK(NAME(g6calc_lasthalf2)(I(id), I(N), I(1), ids, c.x, c.v, R(EPS2), h2, acc, jerk, pot, near) == 0);
    right(1, 1);
    CHECK(NAME(g6_set_neighbour_list_sort_mode)(I(1)) == 0 && NAME(g6_read_neighbour_list)(I(id)) == 0);
    CHECK(NAME(g6_get_neighbour_list)(I(id), I(0), I(N), &n, list) == 0);
    listed(n, list);
    EXPECT("j-particles");
    CHECK(NAME(g6_print_chip_status)(I(id)) == 0);
    CHECK(NAME(g6_reset)(I(id)) == 0 && NAME(g6_reset_fofpga)(I(id)) == 0 && NAME(g6_reinitialize)(I(id)) == 0);
    CHECK(NAME(g6_close)(I(id)) == 0);
}

#undef NAME
#undef SESSION
