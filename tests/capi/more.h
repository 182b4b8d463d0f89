/* Sessions with all other calls that have two forms; names.c selects the form, as in session.h. */

static void SESSION(int id) {
    int i, n = 0, index = -1, list[N];
    double m = 0, e = 0, x[7][3];
    CHECK(NAME(g6_open_special)(I(0), NULL) == 0 && NAME(g6_open_special2)(I(0), NULL, I(N)) == 0);
    CHECK(NAME(g6_get_number_of_pipelines)() == 48 && NAME(g6_setup_njdata)(I(id), I(N)) == 0);
    for (i = 0; i < N; i++) {
        CHECK(NAME(g6_set_j_particle_mxonly)(I(id), I(i), I(i), R(c.m[i]), c.x[i]) == 0);
        if (i) CHECK(NAME(g6_set_j_particle)(I(id), I(i), I(i), R(0), R(0), R(c.m[i]), zero, c.v[i], c.x[i], c.v[i], c.x[i]) == 0);
    }
    CHECK(NAME(force_j_particle_send)() == 0 && NAME(g6_set_ti)(I(id), R(0)) == 0);
    CHECK(NAME(g6calc_firsthalf)(I(id), I(N), I(1), ids, c.x, c.v, acc, jerk, pot, R(EPS2), h2) == 0);
    CHECK(NAME(g6calc_lasthalfn)(I(id), I(N), I(1), ids, c.x, c.v, R(EPS2), h2, acc, jerk, pot) == 0);
    right(1, 1);
    CHECK(NAME(g6calc_firsthalf)(I(id), I(N), I(1), ids, c.x, c.v, acc, jerk, pot, R(EPS2), h2) == 0);
    CHECK(NAME(g6calc_lasthalf2n)(I(id), I(N), I(1), ids, c.x, c.v, R(EPS2), h2, acc, jerk, pot, near) == 0);
    right(1, 1);
    CHECK(NAME(g6_read_neighbour_list_old)(I(id)) == 0 && NAME(g6_get_neighbour_list_sort_mode)() == 1);
    CHECK(NAME(g6_get_neighbour_list)(I(id), I(0), I(N), &n, list) == 0);
    listed(n, list);
    for (i = 0; i < 2; i++) {
        near[0] = -1;
        rnnb[0] = -1;
        CHECK(NAME(g6calc_firsthalf)(I(id), I(N), I(1), ids, c.x, c.v, acc, jerk, pot, R(EPS2), h2) == 0);
        CHECK((i ? NAME(g6calc_lasthalf2np) : NAME(g6calc_lasthalf2p))(I(id), I(N), I(1), ids, c.x, c.v, R(EPS2), h2, acc,
                                                                      jerk, pot, near, rnnb) == 0);
        right(1, 1);
        CHECK(near[0] == nearest && below(fabs(rnnb[0] / nearest2 - 1), 1e-6));
    }
    /* With a2 = x and j6 = v: a = 2 x, jerk = 6 v; at a quarter of a time unit. */
    CHECK(NAME(g6_set_ti)(I(id), R(0.25)) == 0);
    CHECK(NAME(get_j_part_data)(I(3), I(N), x[0], x[1], x[2], x[3], x[4], x[5], &m, &e, &index) == 0);
    CHECK(m == c.m[3] && e == 0 && index == 3 && x[0][1] == c.x[3][1] && x[1][2] == c.v[3][2]);
    CHECK(x[2][0] == 2 * c.x[3][0] && x[3][0] == 6 * c.v[3][0]);
    CHECK(below(fabs(x[4][0] - (c.x[3][0] * 1.0625 + c.v[3][0] * (0.25 + 0.015625))), 1e-14));
    CHECK(below(fabs(x[5][0] - (c.v[3][0] * 1.1875 + c.x[3][0] * 0.5)), 1e-14));
    CHECK(NAME(g6_dump)(R(17.5), I(N), c.m, c.x, c.v) == 0);
    CHECK(NAME(g6_debugfunc)(I(42)) == 0 && NAME(g6_debugfunc_double)(R(-0.5)) == 0);
    CHECK(NAME(g6_close)(I(id)) == 0);

    CHECK(NAME(g5_open)() == 0 && NAME(g5_open_special)(I(0), NULL) == 0);
    CHECK(NAME(g5_get_number_of_pipelines)() == 48 && NAME(g5_get_number_of_real_pipelines)() == 1);
    CHECK(NAME(g5_get_jmemsize)() > N && NAME(g5_get_pcibus_freq)() == 1);
    CHECK(NAME(g5_set_range)(R(-1), R(1), R(1)) == 0 && NAME(g5_set_eps_to_all)(R(1)) == 0 && NAME(g5_set_eps2_to_all)(R(EPS2)) == 0);
    CHECK(NAME(g5_set_xmj)(I(0), I(N), c.x, c.m) == 0 && NAME(g5_set_jp)(I(0), I(N), c.m, c.x) == 0);
    CHECK(NAME(g5_set_n)(I(N)) == 0 && NAME(g5_set_xi)(I(1), c.x) == 0 && NAME(g5_run)() == 0);
    CHECK(NAME(g5_get_force)(I(1), acc, pot) == 0);
    right_of_5(1);
    CHECK(NAME(g5_calculate_force_on_x)(c.x, acc, pot, I(1)) == 0);
    right_of_5(1);
    e = sqrt(EPS2);
    m = EPS2;
    CHECK(NAME(g5_set_xi)(I(1), c.x) == 0 && NAME(g5_set_eps)(I(1), &e) == 0 && NAME(g5_get_force)(I(1), acc, pot) == 0);
    right_of_5(1);
    CHECK(NAME(g5_set_xei)(I(1), c.x, &m) == 0 && NAME(g5_get_force)(I(1), acc, pot) == 0);
    right_of_5(1);
    CHECK(NAME(g5_calculate_force_on_xe)(c.x, &m, acc, pot, I(1)) == 0);
    right_of_5(1);
    CHECK(NAME(g5_set_xmjMC)(I(7), I(0), I(N), c.x, c.m) == 0 && NAME(g5_set_nMC)(I(7), I(N)) == 0);
    CHECK(NAME(g5_set_xiMC)(I(7), I(1), c.x) == 0 && NAME(g5_set_epsMC)(I(7), I(1), &e) == 0);
    CHECK(NAME(g5_runMC)(I(7)) == 0 && NAME(g5_get_forceMC)(I(7), I(1), acc, pot) == 0);
    right_of_5(1);
    CHECK(NAME(g5_set_xeiMC)(I(7), I(1), c.x, &m) == 0 && NAME(g5_get_forceMC)(I(7), I(1), acc, pot) == 0);
    right_of_5(1);
    CHECK(NAME(g5_calculate_force_on_xMC)(I(7), c.x, acc, pot, I(1)) == 0);
    right_of_5(1);
    CHECK(NAME(g5_calculate_force_on_xeMC)(I(7), c.x, &m, acc, pot, I(1)) == 0);
    right_of_5(1);
    /* eps^2 of sinks and sources add. */
    m = 0.25 * EPS2;
    for (i = 0; i < N; i++) h2[i] = 0.75 * EPS2;
    CHECK(NAME(g5_set_xmj0)(I(0), I(N), c.x, c.m, h2) == 0 && NAME(g5_calculate_force_on_x0)(c.x, acc, pot, I(1), &m) == 0);
    right_of_5(1);
    CHECK(NAME(g5_set_xmjMC0)(I(7), I(0), I(N), c.x, c.m, h2) == 0 && NAME(g5_set_xiMC0)(I(7), I(1), c.x, &m) == 0);
    CHECK(NAME(g5_runMC0)(I(7)) == 0 && NAME(g5_get_forceMC)(I(7), I(1), acc, pot) == 0);
    right_of_5(1);
    CHECK(NAME(g5_calculate_force_on_xMC0)(I(7), c.x, acc, pot, I(1), &m) == 0);
    right_of_5(1);
    for (i = 0; i < N; i++) h2[i] = 1;
    m = EPS2;
    /* Masses before positions; setting positions resets eps to 0. */
    CHECK(NAME(g5_set_mj)(I(0), I(N), c.m) == 0 && NAME(g5_set_xj)(I(0), I(N), c.x) == 0);
    CHECK(NAME(g5_calculate_force_on_x)(c.x, acc, pot, I(1)) == 0);
    right_of_5(1);
    CHECK(NAME(g5_get_number_of_boards)() == 1 && NAME(g5_get_firstcluster)() == 0);
    CHECK(NAME(g5_get_number_of_pipelines_per_board)() == 48);
    CHECK(NAME(g5_close)() == 0);

    CHECK(NAME(initialize)() == 0 && NAME(initialize_special)(I(0), NULL) == 0);
    for (i = 0; i < N; i++)
        CHECK((i % 2 ? NAME(set_j_particle) : NAME(set_jp_2))(I(i), c.x[i], i ? c.v[i] : zero, c.a[i], zero, zero, zero,
                                                               R(c.m[i]), R(0), I(i), R(EPS2)) == 0);
    for (i = 0; i < 2; i++) {
        CHECK((i ? NAME(predict_all) : NAME(no_predict_all))(R(0), I(N)) == 0);
        CHECK(NAME(calc_force_on_predictors)(I(1), I(N), ids, c.x, c.v, c.a, c.m, &m, acc, jerk, x, x + 1, pot, near,
                                             h2 + 1) == 0);
        right(1, 1);
        CHECK(near[0] == nearest);
    }
    CHECK(NAME(pick_up_predictor_2)(I(2), &index, &m, &e, x[0], x[1], x[2]) == 0);
    CHECK(index == 2 && m == c.m[2] && e == EPS2 && x[0][0] == c.x[2][0]);
}

#undef NAME
#undef SESSION
