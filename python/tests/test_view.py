"""Views in notebooks: what they answer to the browser's messages. A browser is in `test_notebooks.py`."""

import numpy as np
import pytest

import gravitile
from gravitile import Bodies
from gravitile._view import Session

OPTIONS = {"size": (96, 64), "inclination": 0.0, "azimuth": -90.0, "extent": 1.0, "centre": (0, 0, 0)}


def light(webp):
    """The mean place of the light, in pixels from the middle, +y upwards, and its spread."""
    image = pytest.importorskip("PIL.Image")
    import io

    pixels = np.asarray(image.open(io.BytesIO(webp)).convert("L"), dtype=float)
    assert pixels.shape == (64, 96)
    y, x = np.indices(pixels.shape)
    weight = np.where(pixels > 30, pixels, 0.0)
    centre = np.array([(x * weight).sum(), (y * weight).sum()]) / weight.sum()
    spread = np.sqrt((((x - centre[0]) ** 2 + (y - centre[1]) ** 2) * weight).sum() / weight.sum())
    return centre - [47.5, 31.5], spread


def clump(place):
    return Bodies(np.array(place) + np.random.default_rng(1).normal(size=(200, 3)) * 0.03)


def look(session, **moves):
    reply, attached = session.answer({"kind": "look", "view": "a", **moves})
    assert reply["kind"] == "frame" and reply["view"] == "a" and len(attached) == 1
    return attached[0]


def test_the_mouse_turns_moves_and_approaches():
    # A clump at +x, seen from above with +x to the right: 32 pixels are 1 in the middle.
    session = Session(clump([0.5, 0, 0]), None, OPTIONS)
    (x, y), spread = light(look(session))
    assert abs(x - 16) < 2 and abs(y) < 2
    # A drag across the shorter side is half a turn about the vertical.
    (x, _), _ = light(look(session, turn=[64, 0]))
    assert abs(x + 16) < 2
    (x, _), _ = light(look(session, reset=True))
    assert abs(x - 16) < 2
    (x, y), _ = light(look(session, pan=[-10, 5]))
    assert abs(x - 6) < 2 and abs(y - 5) < 2
    # The point under the pointer stays where it is, and what is there grows.
    (x, y), nearer = light(look(session, reset=True, zoom=2.0, at=[47.5 + 16, 31.5]))
    assert abs(x - 16) < 2.5 and abs(y) < 2 and nearer > 1.4 * spread


def test_playing_takes_steps():
    simulation = gravitile.Simulation(
        gravitile.scene("plummer", n=100, seed=1), dt=0.01, integrator="leapfrog"
    )
    session = Session(simulation, 3, {"size": (96, 64)})
    reply, attached = session.answer({"kind": "look"})
    assert reply == {"kind": "frame", "view": None, "time": 0.0, "steps": 0}
    assert attached[0][:4] == b"RIFF" and attached[0][8:12] == b"WEBP"
    reply, moved = session.answer({"kind": "look", "advance": True})
    assert (reply["steps"], simulation.steps) == (3, 3) and reply["time"] == pytest.approx(0.03)
    assert moved != attached
    # The number of steps that suits the time between two pictures is at least one.
    free = Session(simulation, None, {"size": (96, 64)})
    before = simulation.steps
    for _ in range(3):
        free.answer({"kind": "look", "advance": True})
    assert before + 3 <= simulation.steps <= before + 7
    simulation.add(Bodies([[0.0, 0, 1]]))
    assert free.answer({"kind": "look"})[0]["kind"] == "frame"


@pytest.mark.parametrize(
    "content, words",
    [
        (None, "no message None"),
        ({"kind": "fly"}, "must be of the kind 'look'"),
        ({"kind": "look", "zoom": 0}, "zoom is 0"),
        ({"kind": "look", "zoom": "near"}, "zoom is 'near'"),
        ({"kind": "look", "turn": [1]}, "turn is"),
        ({"kind": "look", "pan": [1, float("nan")]}, "pan is nan"),
        ({"kind": "look", "at": ["a", "b"]}, "at is 'a'"),
    ],
    ids=str,
)
def test_messages_that_make_no_sense_are_answered(content, words):
    session = Session(clump([0, 0, 0]), None, OPTIONS)
    before = look(session)
    reply, attached = session.answer(content)
    assert reply["kind"] == "error" and words in reply["text"] and attached == []
    assert look(session) == before


def test_a_step_that_fails_is_answered():
    simulation = gravitile.Simulation(
        Bodies([[0.0, 0, 0], [1, 0, 0]]), eps=0.0, dt=1e307, integrator="leapfrog"
    )
    session = Session(simulation, 100, {"size": (96, 64)})
    reply, _ = session.answer({"kind": "look", "advance": True})
    assert reply["kind"] == "error" and reply["text"]


def test_what_cannot_be_viewed():
    with pytest.raises(gravitile.InputError, match="type ndarray"):
        gravitile.view(np.zeros((3, 3)))
    with pytest.raises(gravitile.InputError, match="steps is 0"):
        Session(clump([0, 0, 0]), 0, {})
    with pytest.raises(gravitile.InputError, match="colour"):
        Session(clump([0, 0, 0]), None, {"colour": "blue"})


def test_the_widget_answers_its_messages():
    pytest.importorskip("anywidget")
    widget = clump([0, 0, 0]).view(size=(96, 64))
    sent = []
    widget.send = lambda content, buffers=None: sent.append((content, buffers))
    widget._handle_custom_msg({"kind": "look", "view": "a"}, [])
    assert sent[0][0]["kind"] == "frame" and sent[0][1][0][:4] == b"RIFF"
    shown, _ = widget._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in shown and shown["image/png"][1:4] == b"PNG"
    widget.playing = True
    widget._handle_custom_msg({"kind": "look", "zoom": -1}, [])
    assert sent[1][0]["kind"] == "error" and widget.playing is False
    assert repr(widget) == "View(96x64)" and widget.moves is False
