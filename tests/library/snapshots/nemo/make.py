#!/usr/bin/env python3
"""Writes the NEMO files that tests/library/snapshots/nemo.rs reads, by the grammar of NEMO's
filestruct.c alone, and prints the items of other files: make.py [FILE...].

unsio.nemo is by the library unsio 1.0.2 (NEMO's own C code for items): CUNS_OUT("unsio.nemo",
"nemo") with the masses, positions, velocities, ids 10 to 14 and time 1.5 of `body` below, f32.
"""
import os
import struct
import sys

SIZE = {"c": 1, "b": 1, "s": 2, "i": 4, "l": 8, "f": 4, "d": 8}
CODE = {"s": "h", "i": "i", "l": "q", "f": "f", "d": "d"}


class File:
    def __init__(self, order):
        self.order, self.bytes = order, b""

    def item(self, kind, name=None, values=(), shape=()):
        self.bytes += struct.pack(self.order + "H", 0x0B92 if shape else 0x0992)
        self.bytes += kind.encode() + b"\0"
        if name is not None:
            self.bytes += name.encode() + b"\0"
        if shape:
            self.bytes += struct.pack(f"{self.order}{len(shape) + 1}i", *shape, 0)
        if kind == "c":
            self.bytes += values
        elif values:
            self.bytes += struct.pack(f"{self.order}{len(values)}{CODE[kind]}", *values)

    def text(self, name, text):
        data = text.encode() + b"\0"
        self.item("c", name, data, (len(data),))


def body(i, t):
    """Mass, position and velocity of body i at time t; exact in f32."""
    return (i + 1) / 8, [i + t, -i / 2, t + 0.25], [0.5 * i, 1.0 + t, -0.75]


def flat(lists):
    return [value for values in lists for value in values]


def one(order):
    """Everything that the format holds, of 4 bodies at t = 0.375."""
    file, n, t = File(order), 4, 0.375
    file.text("History", "mkplummer out.nemo 4")
    file.text("History", "gyrfalcON in=out.nemo")
    file.text("Headline", "four bodies")
    file.item("(", "SnapShot")
    file.item("(", "Parameters")
    file.item("i", "Nobj", [n])
    file.item("d", "Time", [t])
    file.item(")")
    file.item("(", "Particles")
    file.item("i", "CoordSystem", [0o201402])
    bodies = [body(i, t) for i in range(n)]
    file.item("d", "Mass", [m for m, _, _ in bodies], (n,))
    file.item("d", "PhaseSpace", flat(x + v for _, x, v in bodies), (n, 2, 3))
    file.item("d", "Potential", [-1.0 - i for i in range(n)], (n,))
    file.item("f", "Acceleration", flat([i, i + 0.5, -i] for i in range(n)), (n, 3))
    file.item("f", "Aux", [0.5 * i for i in range(n)], (n,))
    file.item("d", "Density", [2.0**i for i in range(n)], (n,))
    file.item("f", "Eps", [0.125] * n, (n,))
    file.item("i", "Key", [7, 3, 2147483647, 0], (n,))
    file.item(")")
    file.item(")")
    return file.bytes


def series():
    """As hackcode1 and gyrfalcON write: masses in the first snapshot only, sets of diagnostics
    between, another machine's byte order at the end, and items that are not read."""
    n, whole = 3, b""
    for k, order in enumerate("<<>>"):
        t = 0.5 * k
        file = File(order)
        file.item("(", "SnapShot")
        file.item("(", "Parameters")
        file.item("i", "Nobj", [n])
        file.item("f", "Time", [t])
        file.item(")")
        if k != 2:
            file.item("(", "Particles")
            file.item("i", "CoordSystem", [66306])
            bodies = [body(i, t) for i in range(n)]
            if k == 0:
                file.item("f", "Mass", [m for m, _, _ in bodies], (n,))
            file.item("f", "Position", flat(x for _, x, _ in bodies), (n, 3))
            file.item("f", "Velocity", flat(v for _, _, v in bodies), (n, 3))
            file.item("s", "Level", [k] * n, (n,))
            file.item(")")
        file.item("(", "Diagnostics")
        file.item("d", "Energy", [-0.25, 0.25, -0.5], (3,))
        file.item(")")
        file.item(")")
        whole += file.bytes
    return whole


def show(path):
    data, at = open(path, "rb").read(), 0

    def text():
        nonlocal at
        end = data.index(b"\0", at)
        found, at = data[at:end].decode(), end + 1
        return found

    while at < len(data):
        order = "<" if data[at] == 0x92 else ">"
        (magic,) = struct.unpack_from(order + "H", data, at)
        at += 2
        kind = text()
        name = text() if kind != ")" else ""
        count, shape = 1, []
        while magic == 0x0B92:
            (size,) = struct.unpack_from(order + "i", data, at)
            at += 4
            if size == 0:
                break
            shape.append(size)
            count *= size
        if kind in "()":
            print(kind, name)
            continue
        values = data[at : at + count * SIZE[kind]]
        at += count * SIZE[kind]
        if kind in CODE:
            values = struct.unpack(f"{order}{count}{CODE[kind]}", values)
        print(kind, name, shape, values)


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    for path in sys.argv[1:]:
        show(path)
    if not sys.argv[1:]:
        for name, data in [("one-le", one("<")), ("one-be", one(">")), ("series", series())]:
            with open(os.path.join(here, name + ".nemo"), "wb") as file:
                file.write(data)
