"""The score programs: made once, forgotten with their rules, right when labels move and trees are deep or shared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import matchwood
from matchwood.engines import registry
from matchwood.engines.shared.bounds import BoundTable, UnitBounds
from matchwood.errors import CorruptSnapshot
from matchwood.ranking import score_programs
from matchwood.semantics.scores import score
from tests.ranking.pruning import Pruning


def programs_of(index: matchwood.Index) -> Any:
    return index._matcher.score_programs  # type: ignore[attr-defined]


def test_only_rules_that_are_scored_get_programs_and_only_once() -> None:
    index = matchwood.Index()
    index.insert_many([(number, f"x = {number}") for number in range(100)])
    assert (programs_of(index).written, index.stats()["bytes_scoring"]) == (0, 0)
    index.match({"x": 3})
    assert programs_of(index).written == 0
    for _ in range(2):
        assert index.top({"x": 3}) == [(3, 1.0)]
        assert programs_of(index).written == 1
    assert index.stats()["bytes_scoring"] > 0


def test_matching_never_encodes_for_scores() -> None:
    index = matchwood.Index()
    index.insert_many([(1, "x = 1 and y = 1"), (2, "x = 1 or y = 1")])
    index.top({"x": 1, "y": 1, "z": 1}, 1)
    assert programs_of(index).attributes == 2
    plain = matchwood.Index()
    plain.insert_many([(1, "x = 1 and y = 1", {"weights": {"x": 3}}), (2, "x >= 1 and not y = 2")])
    assert plain.top({"x": 1, "y": 1}) == [(1, 4.0), (2, 1.0)]
    assert programs_of(plain).attributes == 0


def test_programs_of_rules_that_are_gone_are_cleared_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_programs, "FEWEST_DEAD", 5)
    index = matchwood.Index()
    for number in range(40):
        index[number % 3] = f"x > {number} or y = {number}"
        assert index.top({"x": number + 1, "y": 0}) == [(rule, 1.0) for rule in index]
    assert programs_of(index).written == 3
    assert len(programs_of(index)._code) < 200
    index.clear()
    index["s"] = "x = 'text' or y"
    assert index.top({"x": "text", "y": False}) == [("s", 1.0)]


def test_an_attribute_may_change_its_type() -> None:
    index = matchwood.Index()
    index["a"] = "x = 1 or y = 1"
    assert index.top({"x": 1}) == [("a", 1.0)]
    del index["a"]
    index["b"] = "x is null or y = 1"
    assert index.top({"x": "text", "y": 1}) == [("b", 1.0)]
    index["c"] = "x = 'text' or y = 2"
    assert index.top({"x": "text", "y": 1}) == [("b", 1.0), ("c", 1.0)]


def test_labels_may_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each boundary lies between the last two, so that after some thirty all labels are given anew."""
    relabelled, rewrite = [], score_programs.relabel_code

    def noted(*arguments: Any) -> None:
        relabelled.append(arguments)
        rewrite(*arguments)

    monkeypatch.setattr(score_programs, "relabel_code", noted)
    index, constants = matchwood.Index(), list[float]()
    low, high = 0.0, 1.0
    for number in range(60):
        middle = (low + high) / 2
        constants.append(middle)
        index.insert_many([(number, f"x >= {middle!r} or x = -1", {"weight": number})])
        low, high = (middle, high) if number % 2 else (low, middle)
        best = index.top({"x": middle}, 1000)
        assert best == [(rule, 1.0 + rule) for rule in range(number, -1, -1) if constants[rule] <= middle]
    assert relabelled


@pytest.mark.parametrize("engine", ["counting", "atree"])
def test_deep_and_shared_trees(engine: str) -> None:
    depth = 3_000
    deep = "x = 0" + "".join(f" or (y = {number % 7} and (x = {number}" for number in range(depth)) + "))" * depth
    chain = " xor ".join(f"z{number} = 1" for number in range(40))
    index = matchwood.Index(engine=engine)
    index.insert_many([("deep", deep), ("chain", f"w = 1 or (x = 1 and ({chain})) or (y = 2 and not ({chain}))")])
    for event in (
        {"x": 0, "y": 3},
        {"x": 5, "y": 0, "w": 1},
        {"x": 1, "y": 2, **{f"z{number}": number % 3 for number in range(40)}},
        {"x": 1, "y": 2, **{f"z{number}": int(number == 7) for number in range(40)}},
    ):
        trees = [(rule, score(matchwood.parse(index[rule]), event, {}, {"y": 0.3})) for rule in index]
        wanted = sorted([(rule, value) for rule, value in trees if value is not None], key=lambda pair: -pair[1])
        assert sorted(index.top(event, weights={"y": 0.3})) == sorted(wanted)


def test_a_batch_larger_than_the_output_is_ranked_in_pieces() -> None:
    index = matchwood.Index()
    index.insert_many([(number, "x > 0", {"weight": number % 7}) for number in range(3_000)])
    found = index.top_many([{"x": 1}] * 800, 2)
    assert found["event"].to_pylist() == [event for event in range(800) for _ in range(2)]
    assert found["rule"].to_pylist() == [6, 13] * 800
    assert index.stats()["matching"]["scored"] == 800 * 3_000


def test_damaged_bounds_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._ENGINES, "pruning", Pruning)
    index = matchwood.Index(engine="pruning")
    index.insert_many([(1, "x in (1, 5) and y > 2"), (2, "x = 1")])
    store = index._matcher.parts[0].store  # type: ignore[attr-defined]
    sound: UnitBounds = index._matcher.parts[0].bounds.view()  # type: ignore[attr-defined]
    wrong: list[UnitBounds] = [
        sound._replace(offsets=sound.offsets[::-1].copy()),
        sound._replace(offsets=np.array([0, 1, len(sound.pieces)])),
        sound._replace(constants=sound.constants[:-1].copy()),
        sound._replace(pieces=-sound.pieces),
    ]
    for arrays in wrong:
        table = BoundTable(store)
        table.restore(arrays._asdict(), {})
        with pytest.raises(CorruptSnapshot):
            table.view()
    table = BoundTable(store)
    table.restore(sound._asdict(), {})
    assert table.view().pieces.tolist() == [1.0, 1.0, 1.0, 1.0]


def test_damaged_weights_are_told(tmp_path: Path) -> None:
    index = matchwood.Index()
    index.insert_many([(1, "x = 1", {"weights": {"x": 2}})])
    index._table.replace_text(0, "x = 1", 0.0, "{]")
    programs_of(index).forget(np.array([0], np.int32))
    with pytest.raises(CorruptSnapshot, match="weights of a rule are damaged"):
        index.top({"x": 1})
