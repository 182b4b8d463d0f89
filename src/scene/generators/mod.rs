//! One file per generator; each is listed once more in [`super::GENERATORS`].

pub(super) mod cold_sphere;
pub(super) mod disk_galaxy;
pub(super) mod expanding;
pub(super) mod figure_eight;
pub(super) mod galaxy_collision;
pub(super) mod hernquist;
pub(super) mod plummer;
pub(super) mod pythagorean;
pub(super) mod random_shell;
pub(super) mod random_sphere;
pub(super) mod two_body;
pub(super) mod uniform_cube;
