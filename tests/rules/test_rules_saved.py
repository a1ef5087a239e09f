"""A saved table: opened without being read, never written to, and never trusted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from matchwood.engines.base import Hits, Work
from matchwood.engines.shared.workspace import Workspace
from matchwood.errors import CorruptSnapshot, MatchwoodError
from matchwood.rules import RuleTable, UnitKind

MANY = 500 if numba.config.DISABLE_JIT else 50_000


def small() -> RuleTable:
    table = RuleTable()
    table.insert_many(["a", "b", "c", "dé"], ["x = 1", "y", "z", "é"], [1, 0, 2, 3], ['{"x": 2}', None, None, None])
    table.link([0, 1, 1, 2, 3], [0, 1, 2, 1, 3], "conjunctions")
    table.link([2, 3], [0, 0], "forms")
    table.remove(1)
    return table


def copied(table: RuleTable) -> dict[str, NDArray[Any]]:
    return {name: array.copy() for name, array in table.arrays().items()}


def restored(arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> RuleTable:
    table = RuleTable()
    table.restore(arrays, header)
    return table


def test_mapped_files_serve_as_arrays_and_never_change(tmp_path: Path) -> None:
    table = RuleTable()
    rows = table.insert_many([f"r{i}" for i in range(MANY)], [f"a = {i}" for i in range(MANY)])
    table.link(rows, rows // 2, "conjunctions")
    for name, array in table.arrays().items():
        np.save(tmp_path / f"{name}.npy", array)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    mapped = {name: np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in table.arrays()}
    again = restored({name: array.view(np.ndarray) for name, array in mapped.items()}, table.header())
    hits = Hits(0, np.array([0, 1]), np.array([2], np.int32), Work(0, 0, 0))
    assert again.id_list(again.rows({"conjunctions": hits}, 0, Workspace()).rows) == ["r4", "r5"]
    again.remove(4)
    again.replace_text(5, "changed")
    again.insert_many(["new"], ["text"])
    again.link([MANY], [2], "conjunctions")
    assert again.id_list(again.rows({"conjunctions": hits}, 0, Workspace()).rows) == ["r5", "new"]
    assert (again.text(5), again.text(MANY), again.find("r4"), len(again)) == ("changed", "text", -1, MANY)
    assert again.audit() == []
    again.compact()
    assert again.audit() == []
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_header_is_json() -> None:
    table = small()
    again = restored(copied(table), json.loads(json.dumps(table.header())))
    again.check()
    assert (list(again), again.header()) == (["a", "c", "dé"], table.header())


def test_a_change_looks_at_a_restored_table_first() -> None:
    table, arrays = small(), copied(small())
    arrays["conjunctions.unit_heads"][0] = 77
    for change in (
        lambda damaged: damaged.insert_many(["n"], ["t"]),
        lambda damaged: damaged.replace_text(0, "t"),
        lambda damaged: damaged.remove(0),
        lambda damaged: damaged.unlink(0),
        lambda damaged: damaged.link([0], [0], "forms"),
        lambda damaged: damaged.compact(),
    ):
        with pytest.raises(CorruptSnapshot, match="conjunctions: a link leads outside"):
            change(restored(arrays, table.header()))


@pytest.mark.parametrize("name", sorted(small().arrays()))
def test_an_array_that_is_missing_or_of_another_type_or_size_is_refused(name: str) -> None:
    header, arrays = small().header(), copied(small())
    with pytest.raises(CorruptSnapshot, match="lacks"):
        restored({key: array for key, array in arrays.items() if key != name}, header)
    with pytest.raises(CorruptSnapshot, match=f"array '{name}' must be a row of"):
        restored(arrays | {name: arrays[name].astype(np.complex128)}, header)
    with pytest.raises(CorruptSnapshot, match=f"array '{name}' must be a row of"):
        restored(arrays | {name: arrays[name].reshape(-1, 1)}, header)
    if len(arrays[name]):
        with pytest.raises(CorruptSnapshot):
            restored(arrays | {name: arrays[name][:-1].copy()}, header).check()


def test_an_unknown_array_is_refused() -> None:
    with pytest.raises(CorruptSnapshot, match="has no array 'more'"):
        restored(copied(small()) | {"more": np.zeros(1)}, small().header())


@pytest.mark.parametrize("wrong", [-1, 1.5, "3", 2**70, True])
def test_a_count_that_is_none_is_refused(wrong: Any) -> None:
    header = small().header()
    header["ids"]["filled"] = wrong
    with pytest.raises(CorruptSnapshot, match=r"ids\.filled"):
        restored(copied(small()), header)


@pytest.mark.parametrize("missing", ["ids", "texts", "weights", "conjunctions", "forms"])
def test_a_header_that_lacks_a_part_is_refused(missing: str) -> None:
    header = small().header()
    del header[missing]
    with pytest.raises(CorruptSnapshot, match="lacks"):
        restored(copied(small()), header)


def read_everything(table: RuleTable) -> None:
    """Whatever an index reads while it matches and answers, without looking at the whole table first."""
    workspace = Workspace()
    for unit in range(4):
        hits = Hits(0, np.array([0, 1]), np.array([unit], np.int32), Work(0, 0, 0))
        found: dict[UnitKind, Hits] = {"conjunctions": hits, "forms": hits} if unit == 0 else {"conjunctions": hits}
        rows = table.rows(found, 0, workspace).rows
        table.ids(rows)
        table.id_list(rows)
        table.texts(rows)
    for row in range(4):
        table.text(row)
        table.weights_json(row)
        table.units(row)
    for rule_id in ("a", "b", "c", "dé", "none"):
        table.find(rule_id)


def test_every_flipped_byte_is_noticed_or_harmless() -> None:
    """Run with NUMBA_BOUNDSCHECK=1 this also proves that nothing is read outside."""
    sound, header = copied(small()), small().header()
    noticed = flips = 0
    for name, array in sound.items():
        for position in range(array.nbytes):
            for bit in (0, 7):
                damaged = array.copy()
                damaged.view(np.uint8)[position] ^= 1 << bit
                flips += 1
                noticed += reads_badly(restored(sound | {name: damaged}, header))
    assert noticed > flips / 4


def reads_badly(table: RuleTable) -> bool:
    try:
        read_everything(table)
    except MatchwoodError:
        table_is_bad = True
    else:
        table_is_bad = False
    try:
        table.check()
        table.remove(0)
        table.insert_many(["a", "n"], ["again", "new"])
        table.link([4, 5], [0, 1], "conjunctions")
        table.compact()
    except (MatchwoodError, IndexError):
        table_is_bad = True
    return table_is_bad
