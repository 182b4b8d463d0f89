"""Pictures and films, decoded by other means."""

import struct
import zlib

import numpy as np
import pytest

import gravitile
from gravitile import Bodies


def decoded(png):
    """A PNG of 8-bit RGB by zlib and numpy."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, data = 8, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        body = png[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            assert (depth, colour) == (8, 2)
        if kind == b"IDAT":
            data += body
        at += 12 + length
    rows = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, 3 * width + 1)
    out = np.zeros((height, width, 3), np.int32)
    for y, (kind, row) in enumerate(zip(rows[:, 0], rows[:, 1:].reshape(height, width, 3))):
        above = out[y - 1] if y else np.zeros((width, 3), np.int32)
        left, corner = np.zeros(3, np.int32), np.zeros(3, np.int32)
        for x in range(width):
            up = above[x]
            guess = left + up - corner
            paeth = np.where(
                (abs(guess - left) <= abs(guess - up)) & (abs(guess - left) <= abs(guess - corner)),
                left,
                np.where(abs(guess - up) <= abs(guess - corner), up, corner),
            )
            add = [0, left, up, (left + up) // 2, paeth][kind]
            left, corner = (row[x].astype(np.int32) + add) % 256, up
            out[y, x] = left
    return out


def test_a_picture_shows_where_bodies_are():
    # Seen from above, with +x to the right and +y up: all light is in one quarter.
    random = np.random.default_rng(1)
    bodies = Bodies(random.uniform(0.4, 0.8, size=(400, 3)) * [1, 1, 0])
    image = gravitile.render(
        bodies, size=(96, 96), inclination=0, azimuth=-90, extent=1.0, centre=(0, 0, 0)
    )
    assert image.array.shape == (96, 96, 4) and image.array.dtype == np.uint8
    assert (image.array[:, :, 3] == 255).all() and repr(image) == "Image(96x96)"
    light = image.array[:, :, :3].astype(float).sum(axis=2)
    quarters = [light[y : y + 48, x : x + 48].mean() for y in (0, 48) for x in (0, 48)]
    assert max(quarters) == quarters[1] and quarters[1] > 2 * quarters[2]


def test_png_holds_the_array(tmp_path):
    image = gravitile.render(gravitile.scene("plummer", n=100, seed=1).bodies, size=(40, 30))
    assert (decoded(image.png) == image.array[:, :, :3]).all()
    image.save(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes() == image._repr_png_()
    image.array[:10] = 0
    assert (decoded(image.png)[:10] == 0).all()


def test_simulations_show_themselves():
    simulation = gravitile.Simulation(gravitile.scene("plummer", n=100, seed=1))
    first = simulation.render(size=(64, 36))
    assert (gravitile.render(simulation, size=(64, 36)).array == first.array).all()
    assert simulation._repr_png_()[:4] == b"\x89PNG"
    simulation.step(50)
    assert (simulation.render(size=(64, 36)).array != first.array).any()
    coloured = simulation.render(size=(64, 36), colour="speed")
    assert (coloured.array != simulation.render(size=(64, 36)).array).any()


def test_films(tmp_path):
    simulation = gravitile.Simulation(gravitile.scene("plummer", n=100, seed=1))
    film = simulation.film(frames=4, fps=10, steps_per_frame=2, size=(64, 36))
    assert film.frames == 4 and simulation.steps == 6
    data = film.path.read_bytes()
    assert data[:4] == b"RIFF" and data[8:12] == b"WEBP" and data.count(b"ANMF") == 4
    assert film._repr_html_().startswith('<img src="data:image/webp;base64,')
    film = simulation.film(tmp_path / "a.apng", frames=3, size=(64, 36), orbit=30)
    assert b"acTL\x00\x00\x00\x03" in film.path.read_bytes()
    folder = simulation.film(tmp_path / "pictures", frames=2, size=(64, 36))
    assert len(list(folder.path.glob("*.png"))) == 2 and folder._repr_html_() is None


@pytest.mark.parametrize(
    "options, words",
    [
        ({"size": (0, 5)}, "size is"),
        ({"size": 7}, "size is 7"),
        ({"size": (10**6, 10**6)}, "8192"),
        ({"colour": "taste"}, "no colouring named 'taste'"),
        ({"palette": "mud"}, "no palette named 'mud'"),
        ({"extent": -1}, "extent is -1"),
        ({"inclination": np.nan}, "inclination is nan"),
        ({"follow": "nobody"}, "thing to follow"),
        ({"renderer": "pen"}, "renderer"),
        ({"captions": "poem"}, "poem"),
    ],
    ids=str,
)
def test_wrong_options_are_named(options, words):
    bodies = gravitile.scene("plummer", n=10).bodies
    with pytest.raises(gravitile.InputError, match=words):
        gravitile.render(bodies, **options)
    with pytest.raises(gravitile.InputError, match=words):
        gravitile.Simulation(bodies, eps=0.1, dt=0.01).render(**options)


def test_films_that_cannot_be_made(tmp_path):
    simulation = gravitile.Simulation(gravitile.scene("plummer", n=10))
    for options, words in [
        ({"frames": 0}, "frames is 0"),
        ({"fps": 1000}, "fps is 1000"),
        ({"path": tmp_path / "a.gif"}, "film format"),
    ]:
        with pytest.raises(gravitile.InputError, match=words):
            simulation.film(size=(64, 36), **options)
    assert simulation.steps == 0 and list(tmp_path.iterdir()) == []
