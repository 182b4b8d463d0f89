"""Snapshots in the layouts of other codes, written by h5py, and what h5py reads from them.

    python3 make.py FOLDER [BODIES]

writes NAME.hdf5 and NAME.csv: id, mass, position, velocity and type of each body in the order of types and files.
The files in this folder have 24 bodies of each type, from h5py 3.16 with HDF5 2.0 and hdf5plugin.
"""

import os
import sys

import h5py
import numpy as np

FOLDER = sys.argv[1]
N = int(sys.argv[2]) if len(sys.argv) > 2 else 24
random = np.random.default_rng(7)


def bodies(n, dtype, ids, masses=True):
    """Datasets of n bodies with these ids."""
    found = {
        "Coordinates": random.normal(0, 30, (n, 3)).astype(dtype),
        "Velocities": random.normal(0, 200, (n, 3)).astype(dtype),
        "ParticleIDs": random.permutation(n).astype(ids) + np.array(1000, ids),
    }
    if masses:
        found["Masses"] = random.uniform(0.5, 2, n).astype(dtype)
    return found


def put(group, datasets, **options):
    for name, values in datasets.items():
        if options and "chunks" not in options:
            # Chunks that divide neither rows nor columns.
            chunks = (max(1, N // 3 + 1),) + ((2,) if values.ndim == 2 else ())
            group.create_dataset(name, data=values, chunks=chunks, **options)
        else:
            group.create_dataset(name, data=values, **options)


def header(file, counts, totals=None, integers=np.int32, **more):
    group = file.create_group("Header")
    group.attrs["NumPart_ThisFile"] = np.array(counts, integers)
    group.attrs["NumPart_Total"] = np.array(totals or counts, integers)
    group.attrs["NumFilesPerSnapshot"] = 1
    group.attrs["MassTable"] = np.zeros(len(counts))
    group.attrs["Time"] = 0.25
    group.attrs["Redshift"] = 0.0
    group.attrs["BoxSize"] = 0.0
    for name, value in more.items():
        group.attrs[name] = value
    return group


UNITS = {
    "UnitLength_in_cm": 3.085678e21,
    "UnitMass_in_g": 1.989e43,
    "UnitVelocity_in_cm_per_s": 1e5,
}


def gadget4(file):
    header(file, [0, N, 0, 0, N, 0], integers=np.uint64, MassTable=[0, 0.125, 0, 0, 0, 0])
    parameters = file.create_group("Parameters")
    for name, value in {**UNITS, "HubbleParam": 1.0, "ComovingIntegrationOn": 0, "Omega0": 0.0}.items():
        parameters.attrs[name] = value
    options = {"compression": "gzip", "compression_opts": 4, "shuffle": True}
    put(file.create_group("PartType1"), bodies(N, np.float32, np.uint32, masses=False), **options)
    stars = bodies(N, np.float32, np.uint32)
    stars["Potential"] = -random.uniform(1, 2, N).astype(np.float32)
    stars["Acceleration"] = random.normal(0, 1, (N, 3)).astype(np.float32)
    put(file.create_group("PartType4"), stars, **options)


def swift(file):
    group = header(file, [0, N, 0, 0, 0, N, N], integers=np.uint32)
    group.attrs["NumPart_Total_HighWord"] = np.zeros(7, np.uint32)
    for name, value in {"Time": [0.25], "Redshift": [0.0], "BoxSize": [100.0] * 3, "Virtual": [0],
                        "NumFilesPerSnapshot": [1], "Dimension": [3]}.items():
        group.attrs[name] = np.array(value)
    file.create_group("Code").attrs["Code"] = np.bytes_("SWIFT")
    file.create_group("Parameters").attrs["InitialConditions:periodic"] = np.bytes_("0")
    cosmology = file.create_group("Cosmology")
    for name, value in {"Cosmological run": 0, "Scale-factor": 1.0, "h": 0.0}.items():
        cosmology.attrs[name] = np.array([value])
    units = file.create_group("Units")
    for name, value in {"Unit length in cgs (U_L)": 3.08567758e21, "Unit mass in cgs (U_M)": 1.98841e43,
                        "Unit time in cgs (U_t)": 3.08567758e16, "Unit current in cgs (U_I)": 1.0}.items():
        units.attrs[name] = np.array([value])
    options = {"compression": "gzip", "compression_opts": 4, "shuffle": True, "fletcher32": True}
    dark = bodies(N, np.float64, np.uint64)
    dark["Softenings"] = np.full(N, 0.1, np.float32)
    put(file.create_group("PartType1"), dark, **options)
    holes = bodies(N, np.float64, np.uint64)
    holes["DynamicalMasses"] = holes.pop("Masses")
    put(file.create_group("PartType5"), holes, **options)
    put(file.create_group("PartType6"), bodies(N, np.float64, np.uint64), **options)
    file["DMParticles"] = h5py.SoftLink("/PartType1")
    file["Nothing"] = h5py.SoftLink("/PartType0")


def gizmo(file):
    header(file, [N, N, 0, 0, N, 0], MassTable=[0, 1, 0, 0, 0, 0], Omega_Matter=0.0, Omega_Lambda=0.0, HubbleParam=1.0,
           ComovingIntegrationOn=0, UnitLength_In_CGS=3.085678e21, UnitMass_In_CGS=1.989e43, UnitVelocity_In_CGS=1e5)
    options = {"compression": "gzip", "compression_opts": 9}
    gas = bodies(N, np.float64, np.uint32)
    gas["InternalEnergy"] = random.uniform(1, 2, N)
    gas["Metallicity"] = random.uniform(0, 1, (N, 11))
    gas["ParticleIDGenerationNumber"] = np.arange(N, dtype=np.uint32)
    put(file.create_group("PartType0"), gas, **options)
    put(file.create_group("PartType1"), bodies(N, np.float64, np.uint32, masses=False), **options)
    put(file.create_group("PartType4"), bodies(N, np.float64, np.uint32), **options)


def plain(file):
    header(file, [0, 0, N, N, 0, N], Omega0=0.0, OmegaLambda=0.0, HubbleParam=0.7)
    for t in (2, 3, 5):
        put(file.create_group(f"PartType{t}"), bodies(N, np.float32, np.int32))


def big_endian(file):
    header(file, [0, 0, N, 0, 0, 0], integers=">i4", **UNITS)
    datasets = bodies(N, ">f4", ">i8")
    datasets["Coordinates"] = datasets["Coordinates"].astype(">f8")
    put(file.create_group("PartType2"), datasets, compression="gzip", shuffle=True)


def lzf(file):
    header(file, [0, N, 0, 0, 0, 0], **UNITS)
    datasets = bodies(N, np.float64, np.uint64)
    datasets["Velocities"] = np.round(datasets["Velocities"], -2)
    datasets["Masses"][:] = 0.5
    put(file.create_group("PartType1"), datasets, compression="lzf", shuffle=True)


def latest(file):
    header(file, [0, N, 0, 0, 0, 0], **UNITS)
    group = file.create_group("PartType1")
    for name, values in bodies(N, np.float32, np.uint16).items():
        group.create_dataset(name, data=values, maxshape=(None, *values.shape[1:]), chunks=(5, *values.shape[1:]),
                             compression="gzip")


def comoving(file):
    header(file, [0, N, 0, 0, 0, 0], Time=0.5, Redshift=1.0, Omega0=0.3, OmegaLambda=0.7, HubbleParam=0.7, **UNITS)
    put(file.create_group("PartType1"), bodies(N, np.float32, np.uint32))


def swift_comoving(file):
    swift(file)
    for name, value in {"Cosmological run": 1, "Scale-factor": 0.5, "h": 0.7, "Omega_m": 0.3,
                        "Omega_lambda": 0.7}.items():
        file["Cosmology"].attrs[name] = np.array([value])


def zstd(file):
    import hdf5plugin
    header(file, [0, N, 0, 0, 0, 0], **UNITS)
    put(file.create_group("PartType1"), bodies(N, np.float32, np.uint32), **hdf5plugin.Zstd())


def virtual(file):
    header(file, [0, N, 0, 0, 0, 0], **UNITS)
    group = file.create_group("PartType1")
    for name, values in bodies(N, np.float32, np.uint32).items():
        layout = h5py.VirtualLayout(values.shape, values.dtype)
        layout[...] = h5py.VirtualSource("elsewhere.hdf5", f"PartType1/{name}", values.shape)
        group.create_virtual_dataset(name, layout)


def parts():
    """Three files; the types of each differ."""
    counts = [[0, N, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, N // 2, N, 0, 0, 0]]
    totals = np.sum(counts, axis=0).tolist()
    for k, here in enumerate(counts):
        with h5py.File(f"{FOLDER}/parts.{k}.hdf5", "w") as file:
            group = header(file, here, totals, NumFilesPerSnapshot=3, **UNITS)
            group.attrs["NumPart_Total_HighWord"] = np.zeros(6, np.uint32)
            for t, n in enumerate(here):
                if n > 0:
                    put(file.create_group(f"PartType{t}"), bodies(n, np.float32, np.uint64))


def table(names, path):
    files = [h5py.File(f"{FOLDER}/{name}.hdf5") for name in names]
    with open(path, "w") as out:
        print("id,m,x,y,z,vx,vy,vz,type", file=out)
        for t in range(7):
            for file in files:
                if f"PartType{t}" not in file or file["Header"].attrs["NumPart_ThisFile"][t] == 0:
                    continue
                group = file[f"PartType{t}"]
                mass = next((group[name][:] for name in ("Masses", "DynamicalMasses") if name in group), None)
                n = len(group["Coordinates"])
                if mass is None:
                    mass = np.full(n, file["Header"].attrs["MassTable"][t])
                for row in zip(group["ParticleIDs"][:], mass, group["Coordinates"][:], group["Velocities"][:]):
                    numbers = [row[1], *row[2], *row[3]]
                    print(int(row[0]), *(repr(float(number)) for number in numbers), t, sep=",", file=out)


os.makedirs(FOLDER, exist_ok=True)
for layout in (gadget4, swift, gizmo, plain, big_endian, lzf, latest, comoving, swift_comoving, zstd, virtual):
    with h5py.File(f"{FOLDER}/{layout.__name__}.hdf5", "w", libver="latest" if layout is latest else None) as file:
        layout(file)
parts()
for name in ("gadget4", "swift", "gizmo", "plain", "big_endian", "lzf", "latest", "comoving", "swift_comoving"):
    table([name], f"{FOLDER}/{name}.csv")
table([f"parts.{k}" for k in range(3)], f"{FOLDER}/parts.csv")
