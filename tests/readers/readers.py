"""Files that gravitile writes, as h5py, pynbody and yt see them, and files of h5py, as gravitile sees them.

    python readers.py GRAVITILE FOLDER

FOLDER/made has files of tests/program/hdf5/make.py. Exits with 1 and a line per difference.
"""

import logging
import pathlib
import subprocess
import sys
import warnings

import h5py
import numpy as np
import pynbody
import yt

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
yt.set_log_level(50)

GRAVITILE, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
KPC, SUN, G_CGS = 3.08567758149e21, 1.98841e33, 6.6743e-8
failures = []


def check(what, condition, detail=""):
    print("ok  " if condition else "FAIL", what, detail if not condition else "")
    if not condition:
        failures.append(what)


def same(what, found, wanted, tolerance=0.0):
    found, wanted = np.asarray(found), np.asarray(wanted)
    if found.shape != wanted.shape:
        return check(what, False, f"shape {found.shape}, not {wanted.shape}")
    worst = np.max(np.abs(found - wanted)) / np.max(np.abs(wanted))
    check(what, worst <= tolerance, f"differs by {worst}")


def gravitile(*arguments):
    subprocess.run([GRAVITILE, *map(str, arguments)], check=True, capture_output=True)


def table(path):
    """id, m, x, y, z, vx, vy, vz of each body."""
    lines = [line for line in open(path) if not line.startswith("#")]
    names = lines[0].strip().split(",")
    rows = [line.strip().split(",") for line in lines[1:]]
    column = lambda name: [row[names.index(name)] for row in rows]
    numbers = np.array([column(name) for name in ("m", "x", "y", "z", "vx", "vy", "vz")], float).T
    return np.array(column("id"), np.uint64), numbers


def bodies(path):
    """Bodies of a file according to gravitile."""
    out = FOLDER / "read.csv"
    gravitile("convert", path, out, "--force")
    return table(out)


def sorted_by(ids, *arrays):
    order = np.argsort(ids)
    return [array[order] for array in arrays]


# Two galaxies' worth of types in known units, and the same numbers in N-body units.
random = np.random.default_rng(3)
n = 3000
source = FOLDER / "source.csv"
positions, velocities = random.normal(0, 20, (n, 3)), random.normal(0, 150, (n, 3))
masses, ids = random.uniform(1e-5, 1e-3, n), random.permutation(n) + 5
kinds = ["halo", "disk", "bulge", "star"]
for path, units in ((source, True), (FOLDER / "plain.csv", False)):
    with open(path, "w") as out:
        if units:
            print("#: unit.length = kpc\n#: unit.mass = 1e10 Msun\n#: unit.velocity = km/s\n#: time = 0.5", file=out)
        print("id,m,x,y,z,vx,vy,vz,component", file=out)
        for i in range(n):
            numbers = [masses[i], *positions[i], *velocities[i]]
            print(ids[i], *(repr(float(number)) for number in numbers), kinds[i % 4], sep=",", file=out)

# The same bodies in parsecs and solar masses.
with open(FOLDER / "parsecs.csv", "w") as out:
    print("#: unit.length = pc\n#: unit.mass = Msun\n#: unit.velocity = km/s", file=out)
    print("id,m,x,y,z,vx,vy,vz,component", file=out)
    for i in range(n):
        numbers = [masses[i] * 1e10, *(positions[i] * 1e3), *velocities[i]]
        print(ids[i], *(repr(float(number)) for number in numbers), kinds[i % 4], sep=",", file=out)

VELOCITY = 1e5
MASS = 1e10 * SUN
order = np.argsort(ids)


def key(x):
    """Order by the first coordinate, which no two bodies share to f32."""
    return np.argsort(x[:, 0])


def compare(what, ids_found, x, v, m, scale, tolerance):
    """cgs values of a reader against the source times `scale`."""
    if ids_found is None:
        # Without ids bodies are told apart by their positions.
        wanted, by = key(positions), key(x)
    else:
        wanted, by = order, np.argsort(ids_found)
    same(f"{what}: positions", x[by], positions[wanted] * scale["length"], tolerance)
    same(f"{what}: velocities", v[by], velocities[wanted] * scale["velocity"], tolerance)
    same(f"{what}: masses", m[by], masses[wanted] * scale["mass"], tolerance)


def with_pynbody(path, what, scale, tolerance, has_ids=True):
    snapshot = pynbody.load(str(path))
    # In f64: 1e10 solar masses in grams are beyond f32.
    def in_cgs(name, unit):
        found = snapshot[name]
        return np.asarray(found, float) * float(found.units.ratio(unit, **found.conversion_context()))

    x, v, m = in_cgs("pos", "cm"), in_cgs("vel", "cm s**-1"), in_cgs("mass", "g")
    found = np.asarray(snapshot["iord"]).astype(np.int64) if has_ids else None
    if has_ids:
        same(f"{what}: ids", np.sort(found), np.sort(ids))
    compare(what, found, x, v, m, scale, tolerance)


def with_yt(path, what, scale, tolerance, has_ids=True, **options):
    data = yt.load(str(path), **options).all_data()
    kinds = [kind for kind in data.ds.particle_types_raw if data[kind, "particle_ones"].size > 0]
    field = lambda name, unit: np.concatenate([data[kind, name].in_units(unit).v for kind in kinds])
    found = None
    if has_ids:
        found = np.concatenate([data[kind, "particle_index"].v for kind in kinds]).astype(np.int64)
        same(f"{what}: ids", np.sort(found), np.sort(ids))
    x = field("particle_position", "cm")
    compare(what, found, x, field("particle_velocity", "cm/s"), field("particle_mass", "g"), scale, tolerance)


TYPES = {"length": KPC, "velocity": VELOCITY, "mass": MASS}
# N-body units are written as kpc, km/s and the mass with which G is 1.
PLAIN = {**TYPES, "mass": KPC * VELOCITY**2 / G_CGS}

# HDF5, in one file and in three, in known units and in N-body units.
for name, made_of, scale in (("galaxy", source, TYPES), ("parsecs", FOLDER / "parsecs.csv", TYPES),
                             ("nbody", FOLDER / "plain.csv", PLAIN)):
    path = FOLDER / f"{name}.hdf5"
    gravitile("convert", made_of, path)
    with h5py.File(path) as file:
        header = dict(file["Header"].attrs)
        units = [header[unit] for unit in ("UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s")]
        groups = [file[f"PartType{t}"] for t in range(6) if f"PartType{t}" in file]
        whole = lambda name: np.concatenate([group[name][:] for group in groups])
        found = whole("ParticleIDs")
        check(f"h5py, {name}: ids are u64", found.dtype == np.uint64)
        same(f"h5py, {name}: ids", np.sort(found), np.sort(ids))
        x, v, m = whole("Coordinates") * units[0], whole("Velocities") * units[2], whole("Masses") * units[1]
        check(f"h5py, {name}: filters", all(group["Coordinates"].compression == "gzip" and group["Coordinates"].shuffle
                                            for group in groups))
        check(f"h5py, {name}: counts", list(header["NumPart_ThisFile"]) == list(header["NumPart_Total"])
              and sum(header["NumPart_Total"]) == n)
        compare(f"h5py, {name}", found, x, v, m, scale, 1e-6)
    with_pynbody(path, f"pynbody, {name}.hdf5", scale, 1e-4)
    # yt takes no units from files of this layout: it assumes GADGET's, to which known units are converted.
    base = {"length": (units[0], "cm"), "mass": (units[1], "g"), "velocity": (units[2], "cm/s")}
    with_yt(path, f"yt, {name}.hdf5", scale, 1e-3, **({} if scale is TYPES else {"unit_base": base}))
gravitile("convert", source, FOLDER / "three.hdf5", "--files", 3)
with_pynbody(FOLDER / "three", "pynbody, three.0.hdf5", TYPES, 1e-4)
with_yt(FOLDER / "three.0.hdf5", "yt, three.0.hdf5", TYPES, 1e-3)

# The other formats. GADGET's files have no units: pynbody takes Mpc unless told otherwise, yt kpc.
pynbody.config_parser.set("gadget-units", "pos", "kpc a h^-1")
for written in ("gadget1", "gadget2"):
    path = FOLDER / f"galaxy.{written}"
    gravitile("convert", source, path, "--to", written)
    with_pynbody(path, f"pynbody, {written}", TYPES, 1e-3)
    with_yt(path, f"yt, {written}", TYPES, 1e-3)

# In tipsy's files G is 1, and both take the units of length and mass from a file of parameters.
sun_masses = KPC * VELOCITY**2 / G_CGS / SUN
parameters = FOLDER / "galaxy.param"
parameters.write_text(f"dKpcUnit = 1\ndMsolUnit = {sun_masses}\n")
for written in ("tipsy", "tipsy-be"):
    path = FOLDER / f"{written}.tipsy"
    gravitile("convert", source, path, "--to", written)
    with_pynbody(path, f"pynbody, {written}", TYPES, 1e-3, has_ids=False)
    with_yt(path, f"yt, {written}", TYPES, 1e-3, has_ids=False, parameter_file=str(parameters))

# CSV has names of columns, and its units in lines that begin with #.
path = FOLDER / "galaxy.csv"
gravitile("convert", source, path)
lines = open(path).read().split("\n")
stated = dict(line[3:].split(" = ") for line in lines if line.startswith("#: unit."))
check("csv: units", stated == {"unit.length": "kpc", "unit.mass": "1e10 Msun", "unit.time": stated["unit.time"]}, stated)
found_ids, numbers = table(path)
data = yt.load_particles(
    {("io", f"particle_{name}"): numbers[:, k] for k, name in enumerate(
        ("mass", "position_x", "position_y", "position_z", "velocity_x", "velocity_y", "velocity_z"))},
    length_unit=(1, "kpc"), mass_unit=(1e10, "Msun"), time_unit=(KPC / VELOCITY, "s"),
    bbox=np.array([[-1e3, 1e3]] * 3)).all_data()
vector = lambda name, unit: np.stack([data["io", f"particle_{name}_{axis}"].in_units(unit).v for axis in "xyz"], 1)
x, wanted = vector("position", "cm"), positions * KPC
by, to = key(x), key(wanted)
same("yt, csv: positions", x[by], wanted[to], 1e-6)
same("yt, csv: velocities", vector("velocity", "cm/s")[by], velocities[to] * VELOCITY, 1e-6)
same("yt, csv: masses", data["io", "particle_mass"].in_units("g").v[by], masses[to] * MASS, 1e-5)

# Files of h5py: the same numbers as h5py's, through the program.
for name in ("gadget4", "swift", "gizmo", "plain", "big_endian", "lzf", "latest", "parts"):
    path = FOLDER / "made" / ("parts.0.hdf5" if name == "parts" else f"{name}.hdf5")
    found_ids, found = bodies(path)
    rows = np.genfromtxt(FOLDER / "made" / f"{name}.csv", delimiter=",", skip_header=1)
    check(f"gravitile reads {name}", np.array_equal(found_ids, rows[:, 0].astype(np.uint64))
          and np.array_equal(found, rows[:, 1:8]))

print(f"{len(failures)} differences")
sys.exit(1 if failures else 0)
