! The module's interfaces: the two bodies of example.c, also on a GRAPE-5 board; stops with 1 on a
! wrong result.
program module_client
  use gravitile
  implicit none
  include 'two_bodies.inc'
  double precision :: phi(n) = 0
  call must(g6_open(0) == 0)
  call must(g6_npipes() >= n)
  do j = 1, n
    call must(g6_set_j_particle(0, j - 1, index(j), 0d0, 0d0, m(j), zero, zero, zero, v(:, j), x(:, j)) == 0)
  end do
  call must(g6_set_ti(0, 0d0) == 0)
  call must(g6calc_firsthalf(0, n, n, index, x, v, guess, guess, phi, 0d0, h2) == 0)
  call must(g6calc_lasthalf2(0, n, n, index, x, v, 0d0, h2, acc, jerk, pot, nearest) == 0)
  call must(abs(acc(1, 1) - 0.25d0) < 1d-12 .and. abs(pot(2) + 0.75d0) < 1d-12)
  call must(all(nearest == [2, 1]))
  call must(g6_close(0) == 0)
  call must(g5_open() == 0 .and. g5_set_eps_to_all(0.1d0) == 0)
  call must(g5_set_xmjMC(1, 0, n, x, m) == 0 .and. g5_set_nMC(1, n) == 0)
  call must(g5_calculate_force_on_xMC(1, x, acc, pot, n) == 0)
  call must(abs(acc(1, 1) - 0.25d0 / 1.01d0**1.5d0) < 1d-6)
  call must(g5_close() == 0)
  print '(a)', 'module: all good'
contains
  include 'must.inc'
end program
