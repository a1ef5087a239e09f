"""The HEM paper's generator: widths, kinds of ends, and texts that say what the columns say."""

from __future__ import annotations

import numpy as np
import pytest

import matchwood as mw
from matchwood.errors import InvalidArgument
from matchwood.workloads.hem import SPAN, hem
from matchwood.workloads.shared.brute import hits


def test_a_seed_gives_the_same_workload_again() -> None:
    first, second, other = (
        hem(rules=50, events=5, seed=1),
        hem(rules=50, events=5, seed=1),
        hem(rules=50, events=5, seed=2),
    )
    assert first.rules_text() == second.rules_text() != other.rules_text()
    assert first.events_dicts() == second.events_dicts() != other.events_dicts()


@pytest.mark.parametrize("width", [0.05, 0.5, 0.8])
def test_intervals_have_their_width_and_all_kinds_of_ends(width: float) -> None:
    work = hem(rules=4_000, events=20, attributes=3, width=width, seed=3)
    assert (work.high - work.low == int(width * SPAN)).all()
    assert work.low.min() >= 0
    assert work.high.max() <= SPAN
    shares = np.bincount(work.ends.ravel()) / work.ends.size
    assert shares.tolist() == pytest.approx([0.25] * 4, abs=0.02)
    assert work.describe()["width"] == width


def test_every_event_has_a_hit() -> None:
    work = hem(rules=300, events=40, attributes=10, width=0.05, seed=4)
    assert min(map(len, hits(work, range(40)))) >= 1
    assert len({tuple(event.values()) for event in work.events_dicts()}) == 40


def test_texts_say_what_the_columns_say() -> None:
    work = hem(rules=200, events=30, attributes=2, width=0.5, seed=5)
    texts = work.rules_text()
    kinds = {(">" in text.replace(">=", ""), "<" in text.replace("<=", "")) for text in texts}
    assert kinds == {(False, False), (False, True), (True, False), (True, True)}
    index = mw.Index(engine="oracle")
    index.insert_many(list(enumerate(texts)))
    for event, expected in zip(work.events_dicts(), hits(work, range(30)), strict=True):
        assert index.match(event) == expected.tolist()


@pytest.mark.parametrize("settings", [{"width": 0}, {"width": 1}, {"rules": 3, "events": 4}, {"attributes": 0}])
def test_settings_that_cannot_be_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(InvalidArgument):
        hem(**{"rules": 10, "events": 5, **settings})
