//! Declarations of the library's GRAPE-5 and GRAPE-6 functions as a C client sees them, for
//! benches.
#![allow(dead_code)]

use std::ffi::c_int;

pub type Vectors = *const [f64; 3];
pub type VectorsOut = *mut [f64; 3];

unsafe extern "C" {
    pub safe fn g5_open() -> c_int;
    pub safe fn g5_close() -> c_int;
    pub safe fn g5_set_n(nj: c_int) -> c_int;
    pub safe fn g5_set_eps_to_all(eps: f64) -> c_int;
    pub fn g5_set_xmj(address: c_int, nj: c_int, x: Vectors, m: *const f64) -> c_int;
    pub fn g5_calculate_force_on_x(x: Vectors, a: VectorsOut, p: *mut f64, ni: c_int) -> c_int;
    pub safe fn g6_open(id: c_int) -> c_int;
    pub safe fn g6_close(id: c_int) -> c_int;
    pub safe fn g6_print_chip_status(id: c_int) -> c_int;
    pub safe fn g6_set_ti(id: c_int, ti: f64) -> c_int;
    #[rustfmt::skip]
    pub fn g6_set_j_particle(
        id: c_int,
        address: c_int,
        index: c_int,
        tj: f64,
        dtj: f64,
        mass: f64,
        k18: Vectors,
        j6: Vectors,
        a2: Vectors,
        v: Vectors,
        x: Vectors,
    ) -> c_int;
    #[rustfmt::skip]
    pub fn g6calc_firsthalf(
        id: c_int,
        nj: c_int,
        ni: c_int,
        index: *const c_int,
        xi: Vectors,
        vi: Vectors,
        aold: Vectors,
        j6old: Vectors,
        phiold: *const f64,
        eps2: f64,
        h2: *const f64,
    ) -> c_int;
    #[rustfmt::skip]
    pub fn g6calc_lasthalf(
        id: c_int,
        nj: c_int,
        ni: c_int,
        index: *const c_int,
        xi: Vectors,
        vi: Vectors,
        eps2: f64,
        h2: *const f64,
        acc: VectorsOut,
        jerk: VectorsOut,
        pot: *mut f64,
    ) -> c_int;
    #[rustfmt::skip]
    pub fn g6calc_lasthalf2(
        id: c_int,
        nj: c_int,
        ni: c_int,
        index: *const c_int,
        xi: Vectors,
        vi: Vectors,
        eps2: f64,
        h2: *const f64,
        acc: VectorsOut,
        jerk: VectorsOut,
        pot: *mut f64,
        nearest: *mut c_int,
    ) -> c_int;
}
