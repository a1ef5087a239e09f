"""Programs that are saved with an index: nothing is parsed again, old snapshots open, and damage is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import matchwood as mw
from matchwood.core.arrays import Growable
from matchwood.errors import CorruptSnapshot
from matchwood.ranking import score_program_state, score_programs
from matchwood.ranking.score_programs import ScorePrograms

RULES: list[tuple[int, str, dict[str, Any]]] = [
    (1, "a = 1 and b > 2", {}),
    (2, "a = 1 and (b > 2 or s like 'x%')", {"weights": {"b": 3.0}}),
    (3, "a in (1, 2) and (c is null or c != 4)", {"weight": 0.5, "weights": {"a": {"2": 7.0}}}),
    (4, "(a = 1 xor b = 9) or tags one of (1, 2)", {"weights": {"tags": {"1": 4.0}}}),
]
EVENTS: list[dict[str, Any]] = [{"a": 1, "b": 3, "s": "xy"}, {"a": 2, "b": 9, "c": 1}, {"a": 1, "tags": [1, 2]}, {}]


def saved(path: Path, **options: Any) -> mw.Index:
    index = mw.Index("kindex", options=options)
    index.insert_many(RULES, on_error="raise")
    index.save(path)
    return index


def tops(index: mw.Index) -> list[Any]:
    return [index.top(event, 3, {"b": 0.5}) for event in EVENTS]


def programs_of(index: mw.Index) -> ScorePrograms:
    found: ScorePrograms = index._matcher.score_programs  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize("options", [{}, {"direct": False}, {"form": "cnf"}, {"as_published": True}])
def test_the_first_top_after_opening_parses_nothing(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = tops(saved(tmp_path / "index", **options))
    monkeypatch.setattr(score_programs, "parse", None)
    opened = mw.open(tmp_path / "index")
    assert tops(opened) == wanted
    assert programs_of(opened).written == len(RULES)


def test_opened_programs_are_written_on(tmp_path: Path) -> None:
    saved(tmp_path / "index")
    opened, fresh = mw.open(tmp_path / "index"), saved(tmp_path / "again")
    for index in (opened, fresh):
        index.insert_many([(5, "b between 1 and 8 or d = 'new'", {"weights": {"d": 9.0, "b": {"3": 2.5}}})])
        del index[1]
        index.insert_many([(2, "s = 'xy' or a = 1 and b >= 3", {"weight": 1.0})], on_duplicate="replace")
    assert tops(opened) == tops(fresh)
    opened.compact()
    opened.save(tmp_path / "later")
    assert tops(mw.open(tmp_path / "later")) == tops(fresh)
    assert opened.audit() == mw.open(tmp_path / "later").audit() == []


def test_a_snapshot_without_programs_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:
        before.setattr(ScorePrograms, "arrays", lambda _: {})
        before.setattr(ScorePrograms, "header", lambda _: {})
        wanted = tops(saved(tmp_path / "index"))
    opened = mw.open(tmp_path / "index")
    assert programs_of(opened).written == 0
    assert tops(opened) == wanted


def test_an_engine_that_scores_what_matched_saves_no_programs(tmp_path: Path) -> None:
    index = mw.Index("counting")
    index.insert_many(RULES)
    assert not [name for name in index._matcher.arrays() if name.startswith("book")]


@pytest.mark.parametrize("damage", ["operation", "operand", "missing end", "start", "inside", "negative", "weight"])
def test_damaged_programs_are_refused(damage: str, tmp_path: Path) -> None:
    state = programs_of(saved(tmp_path / "index"))._state()
    code, starts, weights = state.code.view().copy(), state.starts.view().copy(), state.weights.view().copy()
    if damage == "operation":
        code[0] = 15
    elif damage == "operand":
        code[0] |= 1 << 20
    elif damage == "missing end":
        code = code[:-1]
    elif damage == "start":
        starts[0] = len(code)
    elif damage == "inside":
        starts[0] += 1
    elif damage == "negative":
        code[0] = -code[0]
    else:
        weights[0] = np.nan
    wrong = state._replace(
        code=Growable(np.int32, code), starts=Growable(np.int64, starts), weights=Growable(np.float64, weights)
    )
    assert score_program_state.surveyed(state, 4).programs == 4
    with pytest.raises(CorruptSnapshot):
        score_program_state.surveyed(wrong, 4)


def test_every_damaged_word_is_refused_or_stays_within_the_arrays(tmp_path: Path) -> None:
    """A word may become another one that is sound; whatever passes can be run."""
    index = saved(tmp_path / "index")
    state, refused = programs_of(index)._state(), 0
    for place in range(len(state.code)):
        code = state.code.view().copy()
        code[place] ^= 1 << (place % 31)
        try:
            survey = score_program_state.surveyed(state._replace(code=Growable(np.int32, code)), 4)
        except CorruptSnapshot:
            refused += 1
            continue
        assert survey.depth <= len(code)
    assert refused > len(state.code) // 4
