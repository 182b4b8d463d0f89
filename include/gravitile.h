/* gravitile: forces, jerks, potentials and neighbours for direct N-body codes, on any GPU or the CPU,
 * behind the calls of GRAPE-6, GRAPE-5 and Sapporo2. The manual is docs/direct.md.
 *
 * Every call answers 0 if all is well, 1 if a list of neighbours did not fit, and -1 if it could not be
 * done; a line on stderr then says why. Calls that ask for a number answer that number or -1.
 * Each call has a second form for Fortran: a trailing underscore, and scalars by pointer. There a NULL
 * in the place of a cluster's number is cluster 0.
 */
#ifndef GRAVITILE_H
#define GRAVITILE_H

/* The version, as text and as a number to compare: major * 10000 + minor * 100 + patch. */
#define GRAVITILE_VERSION "0.1.0"
#define GRAVITILE_VERSION_NUMBER 100

/* Before C23, an array of arrays does not convert to one of constant arrays. */
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 202311L)
#define GRAVITILE_CONST const
#else
#define GRAVITILE_CONST
#endif

/* Phantom-GRAPE's number of sources, for the arrays of programs; the library takes g5_get_jmemsize() of them. */
#ifndef JMEMSIZE
#define JMEMSIZE 65536
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- GRAPE-6 ------------------------------------------------------------------------------------ */

/* Opens and closes a cluster: a memory of j-particles with an engine. Several may be open at once. */
int g6_open(int id);
int g6_open_special(int ndev, const int *list);
int g6_open_special2(int ndev, const int *list, int nmax); /* nmax is not looked at */
int g6_close(int id);

/* i-particles to be given per call; more are taken. */
int g6_npipes(void);
int g6_get_number_of_pipelines(void);

/* Units of fixed point numbers, which there are none of: the argument is not looked at. */
int g6_set_tunit(double tunit);
int g6_set_xunit(double xunit);

/* The time to predict to. */
int g6_set_ti(int id, double ti);

/* A j-particle: k18 = snap/18, j6 = jerk/6, a2 = acceleration/2, at time tj. */
int g6_set_j_particle(int id, int address, int index, double tj, double dtj, double mass, const double k18[3],
                      const double j6[3], const double a2[3], const double v[3], const double x[3]);
int g6_set_j_particle_mxonly(int id, int address, int index, double mass, const double x[3]);
int g6_set_j_particle_multisend_mxfast(int id, int nclusters, int address, int index, double mass,
                                       const double x[3]);
int g6_initialize_jp_buffer(int id, int size);
int g6_flush_jp_buffer(int id);
int g6_flush_jp_buffer_and_multisend(int id, int nclusters);
int g6_setup_njdata(int id, int nj);
int force_j_particle_send(void);

/* Forces in two halves. aold, j6old and phiold are not looked at; h2 only if lists are read. */
int g6calc_firsthalf(int id, int nj, int ni, const int index[], GRAVITILE_CONST double xi[][3],
                     GRAVITILE_CONST double vi[][3], GRAVITILE_CONST double aold[][3],
                     GRAVITILE_CONST double j6old[][3], const double phiold[], double eps2, const double h2[]);
int g6calc_lasthalf(int id, int nj, int ni, const int index[], GRAVITILE_CONST double xi[][3],
                    GRAVITILE_CONST double vi[][3], double eps2, const double h2[], double acc[][3],
                    double jerk[][3], double pot[]);
int g6calc_lasthalf2(int id, int nj, int ni, const int index[], GRAVITILE_CONST double xi[][3],
                     GRAVITILE_CONST double vi[][3], double eps2, const double h2[], double acc[][3],
                     double jerk[][3], double pot[], int nnbindex[]);
int g6calc_lasthalfn(int id, int nj, int ni, const int index[], GRAVITILE_CONST double xi[][3],
                     GRAVITILE_CONST double vi[][3], double eps2, const double h2[], double acc[][3],
                     double jerk[][3], double pot[]);
int g6calc_lasthalf2n(int id, int nj, int ni, const int index[], GRAVITILE_CONST double xi[][3],
                      GRAVITILE_CONST double vi[][3], double eps2, const double h2[], double acc[][3],
                      double jerk[][3], double pot[], int nnbindex[]);

/* With the square of the nearest's distance, without eps. */
int g6calc_lasthalf2p(int id, int nj, int ni, const int index[], GRAVITILE_CONST double xi[][3],
                      GRAVITILE_CONST double vi[][3], double eps2, const double h2[], double acc[][3],
                      double jerk[][3], double pot[], int nnbindex[], float rnnb[]);
int g6calc_lasthalf2np(int id, int nj, int ni, const int index[], GRAVITILE_CONST double xi[][3],
                       GRAVITILE_CONST double vi[][3], double eps2, const double h2[], double acc[][3],
                       double jerk[][3], double pot[], int nnbindex[], float rnnb[]);

/* Neighbours within h of the i-particles of the last call; ipipe counts from 0. */
int g6_read_neighbour_list(int id);
int g6_read_neighbour_list_old(int id);
int g6_get_neighbour_list(int id, int ipipe, int maxlength, int *nblen, int nbl[]);
int g6_set_neighbour_list_sort_mode(int mode);
int g6_get_neighbour_list_sort_mode(void);

int g6_set_overflow_flag_test_mode(int aflag, int jflag, int pflag);
int g6_reset(int id);
int g6_reset_fofpga(int id);
int g6_reinitialize(int id);
int g6_print_chip_status(int id);

/* The j-particle at an address of cluster 0: as it was set (with a and da/dt), and predicted. */
#ifdef __cplusplus
int get_j_part_data(int address, int nj, double *pos, double *vel, double *acc, double *jrk,
                    double *predicted_pos, double *predicted_vel, double &mass, double &eps2, int &index);
#else
int get_j_part_data(int address, int nj, double *pos, double *vel, double *acc, double *jrk,
                    double *predicted_pos, double *predicted_vel, double *mass, double *eps2, int *index);
#endif

/* Phantom-GRAPE's: a table in dump.dat.TTTTT (the time's whole part); lines of one number in dump.dat. */
int g6_dump(double time, int n, const double m[], GRAVITILE_CONST double x[][3], GRAVITILE_CONST double v[][3]);
int g6_debugfunc(int number);
int g6_debugfunc_double(double number);

/* ---- GRAPE-6, for Fortran ----------------------------------------------------------------------- */

int g6_open_(int *id);
int g6_open_special_(int *ndev, int *list);
int g6_open_special2_(int *ndev, int *list, int *nmax);
int g6_close_(int *id);
int g6_npipes_(void);
int g6_get_number_of_pipelines_(void);
int g6_set_tunit_(void *tunit); /* int* for some clients, double* for others */
int g6_set_xunit_(void *xunit);
int g6_set_ti_(int *id, double *ti);
int g6_set_j_particle_(int *id, int *address, int *index, double *tj, double *dtj, double *mass, double k18[3],
                       double j6[3], double a2[3], double v[3], double x[3]);
int g6_set_j_particle_mxonly_(int *id, int *address, int *index, double *mass, double x[3]);
int g6_set_j_particle_multisend_mxfast_(int *id, int *nclusters, int *address, int *index, double *mass,
                                        double x[3]);
int g6_initialize_jp_buffer_(int *id, int *size);
int g6_flush_jp_buffer_(int *id);
int g6_flush_jp_buffer_and_multisend_(int *id, int *nclusters);
int g6_setup_njdata_(int *id, int *nj);
int force_j_particle_send_(void);
int g6calc_firsthalf_(int *id, int *nj, int *ni, int index[], double xi[][3], double vi[][3], double aold[][3],
                      double j6old[][3], double phiold[], double *eps2, double h2[]);
int g6calc_lasthalf_(int *id, int *nj, int *ni, int index[], double xi[][3], double vi[][3], double *eps2,
                     double h2[], double acc[][3], double jerk[][3], double pot[]);
int g6calc_lasthalf2_(int *id, int *nj, int *ni, int index[], double xi[][3], double vi[][3], double *eps2,
                      double h2[], double acc[][3], double jerk[][3], double pot[], int nnbindex[]);
int g6calc_lasthalfn_(int *id, int *nj, int *ni, int index[], double xi[][3], double vi[][3], double *eps2,
                      double h2[], double acc[][3], double jerk[][3], double pot[]);
int g6calc_lasthalf2n_(int *id, int *nj, int *ni, int index[], double xi[][3], double vi[][3], double *eps2,
                       double h2[], double acc[][3], double jerk[][3], double pot[], int nnbindex[]);
int g6calc_lasthalf2p_(int *id, int *nj, int *ni, int index[], double xi[][3], double vi[][3], double *eps2,
                       double h2[], double acc[][3], double jerk[][3], double pot[], int nnbindex[],
                       float rnnb[]);
int g6calc_lasthalf2np_(int *id, int *nj, int *ni, int index[], double xi[][3], double vi[][3], double *eps2,
                        double h2[], double acc[][3], double jerk[][3], double pot[], int nnbindex[],
                        float rnnb[]);
int g6_read_neighbour_list_(int *id);
int g6_read_neighbour_list_old_(int *id);
int g6_get_neighbour_list_(int *id, int *ipipe, int *maxlength, int *nblen, int nbl[]);
int g6_set_neighbour_list_sort_mode_(int *mode);
int g6_get_neighbour_list_sort_mode_(void);
int g6_set_overflow_flag_test_mode_(int *aflag, int *jflag, int *pflag);
int g6_reset_(int *id);
int g6_reset_fofpga_(int *id);
int g6_reinitialize_(int *id);
int g6_print_chip_status_(int *id);
int get_j_part_data_(int *address, int *nj, double *pos, double *vel, double *acc, double *jrk,
                     double *predicted_pos, double *predicted_vel, double *mass, double *eps2, int *index);
int g6_dump_(double *time, int *n, double m[], double x[][3], double v[][3]);
int g6_debugfunc_(int *number);
int g6_debugfunc_double_(double *number);

/* Kirin's names GPU_g6_... and GPU2_g6calc_... are in the library too, with the same arguments. */

/* ---- GRAPE-5 ------------------------------------------------------------------------------------ */
/* With GRAVITILE_METHOD=tree these compute by an octree, in f32: for many particles at once. */

int g5_open(void);
int g5_open_special(int ndev, const int *list);
int g5_close(void);
int g5_get_number_of_pipelines(void);
int g5_get_number_of_pipelines_per_board(void);
int g5_get_number_of_real_pipelines(void);
int g5_get_number_of_boards(void); /* 1, and the first is 0: to share sinks among, one is enough */
int g5_get_firstcluster(void);
int g5_get_jmemsize(void);
int g5_get_pcibus_freq(void);
int g5_set_range(double xmin, double xmax, double mmin);
int g5_set_n(int nj);
int g5_set_eps_to_all(double eps);
int g5_set_eps2_to_all(double eps2);
/* Entries address to address + nj - 1 of xj and mj. */
int g5_set_xmj(int address, int nj, GRAVITILE_CONST double xj[][3], const double mj[]);
int g5_set_jp(int address, int nj, const double mj[], GRAVITILE_CONST double xj[][3]);
int g5_set_xj(int address, int nj, GRAVITILE_CONST double xj[][3]);
int g5_set_mj(int address, int nj, const double mj[]);
int g5_set_xi(int ni, GRAVITILE_CONST double xi[][3]);
int g5_run(void);
int g5_get_force(int ni, double a[][3], double p[]);
int g5_calculate_force_on_x(GRAVITILE_CONST double xi[][3], double a[][3], double p[], int ni);

/* With eps (not squared) of each sink until forces were fetched, or eps^2 of each. */
int g5_set_eps(int ni, const double eps[]);
int g5_set_xei(int ni, GRAVITILE_CONST double xi[][3], const double eps2[]);
int g5_calculate_force_on_xe(GRAVITILE_CONST double xi[][3], const double eps2[], double a[][3], double p[],
                             int ni);

/* With an eps^2 of each source, too, which is added to the sink's. Programs that define SYMMETRIC, Phantom-GRAPE's
 * switch for it, get these calls by the plain names. */
int g5_set_xmj0(int address, int nj, GRAVITILE_CONST double xj[][3], const double mj[], const double epsj2[]);
int g5_set_xmjMC0(int board, int address, int nj, GRAVITILE_CONST double xj[][3], const double mj[],
                  const double epsj2[]);
int g5_set_xiMC0(int board, int ni, GRAVITILE_CONST double xi[][3], const double eps2[]);
int g5_runMC0(int board);
int g5_calculate_force_on_x0(GRAVITILE_CONST double xi[][3], double a[][3], double p[], int ni,
                             const double eps2[]);
int g5_calculate_force_on_xMC0(int board, GRAVITILE_CONST double xi[][3], double a[][3], double p[], int ni,
                               const double eps2[]);

/* The same for a board, from 0 to 1023, with sources and sinks of its own: one for each thread, say. */
int g5_set_nMC(int board, int nj);
int g5_set_epsMC(int board, int ni, const double eps[]);
int g5_set_xmjMC(int board, int address, int nj, GRAVITILE_CONST double xj[][3], const double mj[]);
int g5_set_xiMC(int board, int ni, GRAVITILE_CONST double xi[][3]);
int g5_set_xeiMC(int board, int ni, GRAVITILE_CONST double xi[][3], const double eps2[]);
int g5_runMC(int board);
int g5_get_forceMC(int board, int ni, double a[][3], double p[]);
int g5_calculate_force_on_xMC(int board, GRAVITILE_CONST double xi[][3], double a[][3], double p[], int ni);
int g5_calculate_force_on_xeMC(int board, GRAVITILE_CONST double xi[][3], const double eps2[], double a[][3],
                               double p[], int ni);

int g5_open_(void);
int g5_open_special_(int *ndev, int *list);
int g5_close_(void);
int g5_get_number_of_pipelines_(void);
int g5_get_number_of_pipelines_per_board_(void);
int g5_get_number_of_real_pipelines_(void);
int g5_get_number_of_boards_(void);
int g5_get_firstcluster_(void);
int g5_get_jmemsize_(void);
int g5_get_pcibus_freq_(void);
int g5_set_range_(double *xmin, double *xmax, double *mmin);
int g5_set_n_(int *nj);
int g5_set_eps_to_all_(double *eps);
int g5_set_eps2_to_all_(double *eps2);
int g5_set_xmj_(int *address, int *nj, double xj[][3], double mj[]);
int g5_set_jp_(int *address, int *nj, double mj[], double xj[][3]);
int g5_set_xj_(int *address, int *nj, double xj[][3]);
int g5_set_mj_(int *address, int *nj, double mj[]);
int g5_set_xmj0_(int *address, int *nj, double xj[][3], double mj[], double epsj2[]);
int g5_set_xmjMC0_(int *board, int *address, int *nj, double xj[][3], double mj[], double epsj2[]);
int g5_set_xiMC0_(int *board, int *ni, double xi[][3], double eps2[]);
int g5_runMC0_(int *board);
int g5_calculate_force_on_x0_(double xi[][3], double a[][3], double p[], int *ni, double eps2[]);
int g5_calculate_force_on_xMC0_(int *board, double xi[][3], double a[][3], double p[], int *ni, double eps2[]);
int g5_set_xi_(int *ni, double xi[][3]);
int g5_run_(void);
int g5_get_force_(int *ni, double a[][3], double p[]);
int g5_calculate_force_on_x_(double xi[][3], double a[][3], double p[], int *ni);
int g5_set_eps_(int *ni, double eps[]);
int g5_set_xei_(int *ni, double xi[][3], double eps2[]);
int g5_calculate_force_on_xe_(double xi[][3], double eps2[], double a[][3], double p[], int *ni);
int g5_set_nMC_(int *board, int *nj);
int g5_set_epsMC_(int *board, int *ni, double eps[]);
int g5_set_xmjMC_(int *board, int *address, int *nj, double xj[][3], double mj[]);
int g5_set_xiMC_(int *board, int *ni, double xi[][3]);
int g5_set_xeiMC_(int *board, int *ni, double xi[][3], double eps2[]);
int g5_runMC_(int *board);
int g5_get_forceMC_(int *board, int *ni, double a[][3], double p[]);
int g5_calculate_force_on_xMC_(int *board, double xi[][3], double a[][3], double p[], int *ni);
int g5_calculate_force_on_xeMC_(int *board, double xi[][3], double eps2[], double a[][3], double p[], int *ni);

#ifdef SYMMETRIC
#define g5_set_xmj g5_set_xmj0
#define g5_set_xmjMC g5_set_xmjMC0
#endif

#ifdef __cplusplus
}
#endif

#endif
