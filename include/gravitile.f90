! The calls of gravitile.h for Fortran 2003 and later: compile this file with the program, and `use gravitile`.
! Old programs need no module: they call the forms with a trailing underscore, as they always did.
! Every function answers 0 if all is well; clusters, boards and addresses count from 0, as in C.
module gravitile
  use, intrinsic :: iso_c_binding, only: c_int, c_double, c_float
  implicit none
  private :: c_int, c_double, c_float
  interface
    integer(c_int) function g6_open(id) bind(c)
      import
      integer(c_int), value :: id
    end function
    integer(c_int) function g6_open_special(ndev, list) bind(c)
      import
      integer(c_int), value :: ndev
      integer(c_int), intent(in) :: list(*)
    end function
    integer(c_int) function g6_open_special2(ndev, list, nmax) bind(c)
      import
      integer(c_int), value :: ndev, nmax
      integer(c_int), intent(in) :: list(*)
    end function
    integer(c_int) function g6_close(id) bind(c)
      import
      integer(c_int), value :: id
    end function
    integer(c_int) function g6_npipes() bind(c)
      import
    end function
    integer(c_int) function g6_get_number_of_pipelines() bind(c)
      import
    end function
    integer(c_int) function g6_set_tunit(tunit) bind(c)
      import
      real(c_double), value :: tunit
    end function
    integer(c_int) function g6_set_xunit(xunit) bind(c)
      import
      real(c_double), value :: xunit
    end function
    integer(c_int) function g6_set_ti(id, ti) bind(c)
      import
      integer(c_int), value :: id
      real(c_double), value :: ti
    end function
    integer(c_int) function g6_set_j_particle(id, address, index, tj, dtj, mass, k18, j6, a2, v, x) bind(c)
      import
      integer(c_int), value :: id, address, index
      real(c_double), value :: tj, dtj, mass
      real(c_double), intent(in) :: k18(3), j6(3), a2(3), v(3), x(3)
    end function
    integer(c_int) function g6_set_j_particle_mxonly(id, address, index, mass, x) bind(c)
      import
      integer(c_int), value :: id, address, index
      real(c_double), value :: mass
      real(c_double), intent(in) :: x(3)
    end function
    integer(c_int) function g6_set_j_particle_multisend_mxfast(id, nclusters, address, index, mass, &
        x) bind(c)
      import
      integer(c_int), value :: id, nclusters, address, index
      real(c_double), value :: mass
      real(c_double), intent(in) :: x(3)
    end function
    integer(c_int) function g6_initialize_jp_buffer(id, size) bind(c)
      import
      integer(c_int), value :: id, size
    end function
    integer(c_int) function g6_flush_jp_buffer(id) bind(c)
      import
      integer(c_int), value :: id
    end function
    integer(c_int) function g6_flush_jp_buffer_and_multisend(id, nclusters) bind(c)
      import
      integer(c_int), value :: id, nclusters
    end function
    integer(c_int) function g6_setup_njdata(id, nj) bind(c)
      import
      integer(c_int), value :: id, nj
    end function
    integer(c_int) function force_j_particle_send() bind(c)
      import
    end function
    integer(c_int) function g6calc_firsthalf(id, nj, ni, index, xi, vi, aold, j6old, phiold, eps2, &
        h2) bind(c)
      import
      integer(c_int), value :: id, nj, ni
      integer(c_int), intent(in) :: index(*)
      real(c_double), intent(in) :: xi(3, *), vi(3, *), aold(3, *), j6old(3, *), phiold(*), h2(*)
      real(c_double), value :: eps2
    end function
    integer(c_int) function g6calc_lasthalf(id, nj, ni, index, xi, vi, eps2, h2, acc, jerk, pot) bind(c)
      import
      integer(c_int), value :: id, nj, ni
      integer(c_int), intent(in) :: index(*)
      real(c_double), intent(in) :: xi(3, *), vi(3, *), h2(*)
      real(c_double), value :: eps2
      real(c_double), intent(inout) :: acc(3, *), jerk(3, *), pot(*)
    end function
    integer(c_int) function g6calc_lasthalf2(id, nj, ni, index, xi, vi, eps2, h2, acc, jerk, pot, &
        nnbindex) bind(c)
      import
      integer(c_int), value :: id, nj, ni
      integer(c_int), intent(in) :: index(*)
      real(c_double), intent(in) :: xi(3, *), vi(3, *), h2(*)
      real(c_double), value :: eps2
      real(c_double), intent(inout) :: acc(3, *), jerk(3, *), pot(*)
      integer(c_int), intent(inout) :: nnbindex(*)
    end function
    integer(c_int) function g6calc_lasthalfn(id, nj, ni, index, xi, vi, eps2, h2, acc, jerk, pot) bind(c)
      import
      integer(c_int), value :: id, nj, ni
      integer(c_int), intent(in) :: index(*)
      real(c_double), intent(in) :: xi(3, *), vi(3, *), h2(*)
      real(c_double), value :: eps2
      real(c_double), intent(inout) :: acc(3, *), jerk(3, *), pot(*)
    end function
    integer(c_int) function g6calc_lasthalf2n(id, nj, ni, index, xi, vi, eps2, h2, acc, jerk, pot, &
        nnbindex) bind(c)
      import
      integer(c_int), value :: id, nj, ni
      integer(c_int), intent(in) :: index(*)
      real(c_double), intent(in) :: xi(3, *), vi(3, *), h2(*)
      real(c_double), value :: eps2
      real(c_double), intent(inout) :: acc(3, *), jerk(3, *), pot(*)
      integer(c_int), intent(inout) :: nnbindex(*)
    end function
    integer(c_int) function g6calc_lasthalf2p(id, nj, ni, index, xi, vi, eps2, h2, acc, jerk, pot, &
        nnbindex, rnnb) bind(c)
      import
      integer(c_int), value :: id, nj, ni
      integer(c_int), intent(in) :: index(*)
      real(c_double), intent(in) :: xi(3, *), vi(3, *), h2(*)
      real(c_double), value :: eps2
      real(c_double), intent(inout) :: acc(3, *), jerk(3, *), pot(*)
      integer(c_int), intent(inout) :: nnbindex(*)
      real(c_float), intent(inout) :: rnnb(*)
    end function
    integer(c_int) function g6calc_lasthalf2np(id, nj, ni, index, xi, vi, eps2, h2, acc, jerk, pot, &
        nnbindex, rnnb) bind(c)
      import
      integer(c_int), value :: id, nj, ni
      integer(c_int), intent(in) :: index(*)
      real(c_double), intent(in) :: xi(3, *), vi(3, *), h2(*)
      real(c_double), value :: eps2
      real(c_double), intent(inout) :: acc(3, *), jerk(3, *), pot(*)
      integer(c_int), intent(inout) :: nnbindex(*)
      real(c_float), intent(inout) :: rnnb(*)
    end function
    integer(c_int) function g6_read_neighbour_list(id) bind(c)
      import
      integer(c_int), value :: id
    end function
    integer(c_int) function g6_read_neighbour_list_old(id) bind(c)
      import
      integer(c_int), value :: id
    end function
    integer(c_int) function g6_get_neighbour_list(id, ipipe, maxlength, nblen, nbl) bind(c)
      import
      integer(c_int), value :: id, ipipe, maxlength
      integer(c_int), intent(inout) :: nblen, nbl(*)
    end function
    integer(c_int) function g6_set_neighbour_list_sort_mode(mode) bind(c)
      import
      integer(c_int), value :: mode
    end function
    integer(c_int) function g6_get_neighbour_list_sort_mode() bind(c)
      import
    end function
    integer(c_int) function g6_set_overflow_flag_test_mode(aflag, jflag, pflag) bind(c)
      import
      integer(c_int), value :: aflag, jflag, pflag
    end function
    integer(c_int) function g6_reset(id) bind(c)
      import
      integer(c_int), value :: id
    end function
    integer(c_int) function g6_reset_fofpga(id) bind(c)
      import
      integer(c_int), value :: id
    end function
    integer(c_int) function g6_reinitialize(id) bind(c)
      import
      integer(c_int), value :: id
    end function
    integer(c_int) function g6_print_chip_status(id) bind(c)
      import
      integer(c_int), value :: id
    end function
    integer(c_int) function get_j_part_data(address, nj, pos, vel, acc, jrk, predicted_pos, &
        predicted_vel, mass, eps2, index) bind(c)
      import
      integer(c_int), value :: address, nj
      real(c_double), intent(inout) :: pos(3), vel(3), acc(3), jrk(3), predicted_pos(3), predicted_vel(3), &
        mass, eps2
      integer(c_int), intent(inout) :: index
    end function
    integer(c_int) function g6_dump(time, n, m, x, v) bind(c)
      import
      real(c_double), value :: time
      integer(c_int), value :: n
      real(c_double), intent(in) :: m(*), x(3, *), v(3, *)
    end function
    integer(c_int) function g6_debugfunc(number) bind(c)
      import
      integer(c_int), value :: number
    end function
    integer(c_int) function g6_debugfunc_double(number) bind(c)
      import
      real(c_double), value :: number
    end function
    integer(c_int) function g5_open() bind(c)
      import
    end function
    integer(c_int) function g5_open_special(ndev, list) bind(c)
      import
      integer(c_int), value :: ndev
      integer(c_int), intent(in) :: list(*)
    end function
    integer(c_int) function g5_close() bind(c)
      import
    end function
    integer(c_int) function g5_get_number_of_pipelines() bind(c)
      import
    end function
    integer(c_int) function g5_get_number_of_pipelines_per_board() bind(c)
      import
    end function
    integer(c_int) function g5_get_number_of_real_pipelines() bind(c)
      import
    end function
    integer(c_int) function g5_get_number_of_boards() bind(c)
      import
    end function
    integer(c_int) function g5_get_firstcluster() bind(c)
      import
    end function
    integer(c_int) function g5_get_jmemsize() bind(c)
      import
    end function
    integer(c_int) function g5_get_pcibus_freq() bind(c)
      import
    end function
    integer(c_int) function g5_set_range(xmin, xmax, mmin) bind(c)
      import
      real(c_double), value :: xmin, xmax, mmin
    end function
    integer(c_int) function g5_set_n(nj) bind(c)
      import
      integer(c_int), value :: nj
    end function
    integer(c_int) function g5_set_eps_to_all(eps) bind(c)
      import
      real(c_double), value :: eps
    end function
    integer(c_int) function g5_set_eps2_to_all(eps2) bind(c)
      import
      real(c_double), value :: eps2
    end function
    integer(c_int) function g5_set_xmj(address, nj, xj, mj) bind(c)
      import
      integer(c_int), value :: address, nj
      real(c_double), intent(in) :: xj(3, *), mj(*)
    end function
    integer(c_int) function g5_set_jp(address, nj, mj, xj) bind(c)
      import
      integer(c_int), value :: address, nj
      real(c_double), intent(in) :: mj(*), xj(3, *)
    end function
    integer(c_int) function g5_set_xj(address, nj, xj) bind(c)
      import
      integer(c_int), value :: address, nj
      real(c_double), intent(in) :: xj(3, *)
    end function
    integer(c_int) function g5_set_mj(address, nj, mj) bind(c)
      import
      integer(c_int), value :: address, nj
      real(c_double), intent(in) :: mj(*)
    end function
    integer(c_int) function g5_set_xi(ni, xi) bind(c)
      import
      integer(c_int), value :: ni
      real(c_double), intent(in) :: xi(3, *)
    end function
    integer(c_int) function g5_run() bind(c)
      import
    end function
    integer(c_int) function g5_get_force(ni, a, p) bind(c)
      import
      integer(c_int), value :: ni
      real(c_double), intent(inout) :: a(3, *), p(*)
    end function
    integer(c_int) function g5_calculate_force_on_x(xi, a, p, ni) bind(c)
      import
      real(c_double), intent(in) :: xi(3, *)
      real(c_double), intent(inout) :: a(3, *), p(*)
      integer(c_int), value :: ni
    end function
    integer(c_int) function g5_set_eps(ni, eps) bind(c)
      import
      integer(c_int), value :: ni
      real(c_double), intent(in) :: eps(*)
    end function
    integer(c_int) function g5_set_xei(ni, xi, eps2) bind(c)
      import
      integer(c_int), value :: ni
      real(c_double), intent(in) :: xi(3, *), eps2(*)
    end function
    integer(c_int) function g5_calculate_force_on_xe(xi, eps2, a, p, ni) bind(c)
      import
      real(c_double), intent(in) :: xi(3, *), eps2(*)
      real(c_double), intent(inout) :: a(3, *), p(*)
      integer(c_int), value :: ni
    end function
    integer(c_int) function g5_set_xmj0(address, nj, xj, mj, epsj2) bind(c)
      import
      integer(c_int), value :: address, nj
      real(c_double), intent(in) :: xj(3, *), mj(*), epsj2(*)
    end function
    integer(c_int) function g5_set_xmjMC0(board, address, nj, xj, mj, epsj2) bind(c, name='g5_set_xmjMC0')
      import
      integer(c_int), value :: board, address, nj
      real(c_double), intent(in) :: xj(3, *), mj(*), epsj2(*)
    end function
    integer(c_int) function g5_set_xiMC0(board, ni, xi, eps2) bind(c, name='g5_set_xiMC0')
      import
      integer(c_int), value :: board, ni
      real(c_double), intent(in) :: xi(3, *), eps2(*)
    end function
    integer(c_int) function g5_runMC0(board) bind(c, name='g5_runMC0')
      import
      integer(c_int), value :: board
    end function
    integer(c_int) function g5_calculate_force_on_x0(xi, a, p, ni, eps2) bind(c)
      import
      real(c_double), intent(in) :: xi(3, *), eps2(*)
      real(c_double), intent(inout) :: a(3, *), p(*)
      integer(c_int), value :: ni
    end function
    integer(c_int) function g5_calculate_force_on_xMC0(board, xi, a, p, ni, eps2) bind(c, name='g5_calculate_force_on_xMC0')
      import
      integer(c_int), value :: board, ni
      real(c_double), intent(in) :: xi(3, *), eps2(*)
      real(c_double), intent(inout) :: a(3, *), p(*)
    end function
    integer(c_int) function g5_set_nMC(board, nj) bind(c, name='g5_set_nMC')
      import
      integer(c_int), value :: board, nj
    end function
    integer(c_int) function g5_set_epsMC(board, ni, eps) bind(c, name='g5_set_epsMC')
      import
      integer(c_int), value :: board, ni
      real(c_double), intent(in) :: eps(*)
    end function
    integer(c_int) function g5_set_xmjMC(board, address, nj, xj, mj) bind(c, name='g5_set_xmjMC')
      import
      integer(c_int), value :: board, address, nj
      real(c_double), intent(in) :: xj(3, *), mj(*)
    end function
    integer(c_int) function g5_set_xiMC(board, ni, xi) bind(c, name='g5_set_xiMC')
      import
      integer(c_int), value :: board, ni
      real(c_double), intent(in) :: xi(3, *)
    end function
    integer(c_int) function g5_set_xeiMC(board, ni, xi, eps2) bind(c, name='g5_set_xeiMC')
      import
      integer(c_int), value :: board, ni
      real(c_double), intent(in) :: xi(3, *), eps2(*)
    end function
    integer(c_int) function g5_runMC(board) bind(c, name='g5_runMC')
      import
      integer(c_int), value :: board
    end function
    integer(c_int) function g5_get_forceMC(board, ni, a, p) bind(c, name='g5_get_forceMC')
      import
      integer(c_int), value :: board, ni
      real(c_double), intent(inout) :: a(3, *), p(*)
    end function
    integer(c_int) function g5_calculate_force_on_xMC(board, xi, a, p, ni) bind(c, name='g5_calculate_force_on_xMC')
      import
      integer(c_int), value :: board, ni
      real(c_double), intent(in) :: xi(3, *)
      real(c_double), intent(inout) :: a(3, *), p(*)
    end function
    integer(c_int) function g5_calculate_force_on_xeMC(board, xi, eps2, a, p, ni) bind(c, name='g5_calculate_force_on_xeMC')
      import
      integer(c_int), value :: board, ni
      real(c_double), intent(in) :: xi(3, *), eps2(*)
      real(c_double), intent(inout) :: a(3, *), p(*)
    end function
  end interface
end module gravitile
