! The two bodies of example.c with the Fortran forms of the calls; stops with 1 on a wrong result.
program fortran
  implicit none
  include 'two_bodies.inc'
  integer :: cluster = 0, length, list(n)
  double precision :: time = 0, eps2 = 0
  integer, external :: g6_open, g6_npipes, g6_set_j_particle, g6calc_lasthalf2, g6_read_neighbour_list
  integer, external :: g6_get_neighbour_list, g6_close, g5_open, g5_calculate_force_on_x, g5_close
  call must(g6_open(cluster) == 0)
  call must(g6_npipes() >= n)
  do j = 1, n
    call must(g6_set_j_particle(cluster, j - 1, index(j), time, time, m(j), zero, zero, zero, v(:, j), x(:, j)) == 0)
  end do
  call g6_set_ti(cluster, time)
  call g6calc_firsthalf(cluster, n, n, index, x, v, guess, guess, guess, eps2, h2)
  call must(g6calc_lasthalf2(cluster, n, n, index, x, v, eps2, h2, acc, jerk, pot, nearest) == 0)
  call must(abs(acc(1, 1) - 0.25d0) < 1d-12 .and. abs(acc(1, 2) + 0.75d0) < 1d-12)
  call must(abs(jerk(2, 1) - 0.0625d0) < 1d-12 .and. abs(pot(2) + 0.75d0) < 1d-12)
  call must(all(nearest == [2, 1]))
  call must(g6_read_neighbour_list(cluster) == 0)
  call must(g6_get_neighbour_list(cluster, 0, n, length, list) == 0)
  call must(length == 1 .and. list(1) == 2)
  call must(g6_close(cluster) == 0)

  ! GRAPE-5's potentials are positive and include the self term; the CPU computes them in f32.
  eps2 = 0.01d0
  call must(g5_open() == 0)
  call g5_set_eps_to_all(sqrt(eps2))
  call g5_set_xmj(0, n, x, m)
  call g5_set_n(n)
  call must(g5_calculate_force_on_x(x, acc, pot, n) == 0)
  call must(abs(pot(1) - 7.5d0 - 0.25d0 / sqrt(1.01d0)) < 1d-5)
  call must(abs(acc(1, 1) - 0.25d0 / 1.01d0**1.5d0) < 1d-6)
  call must(g5_close() == 0)
  print '(a)', 'fortran: all good'
contains
  include 'must.inc'
end program
