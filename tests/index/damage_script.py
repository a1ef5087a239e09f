"""Damaged snapshots that no checksum gives away: run as a script, so that a crash is seen from outside.

    damage_script.py ENGINE TRIES EVERY SEED    damage a value of each array and header TRIES times, or of every second
                                                or third one, and use what opens

Prints one JSON line: how often opening or using was refused, how often nothing happened, and what went wrong. Meant to
run with NUMBA_BOUNDSCHECK=1 or as plain Python, so that a kernel that leaves its arrays raises an error.
"""

from __future__ import annotations

import copy
import faulthandler
import itertools
import json
import random
import resource
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import matchwood as mw
from matchwood import storage
from tests.index.index_samples import answers, sample_events, sample_index

MEMORY = 8 * 2**30
EXTREMES = (-(2**63), -(2**31), -1000, -3, -2, -1, 0, 1, 2, 7, 100, 2**20, 2**31 - 1, 2**31, 2**62)
NONSENSE: tuple[Any, ...] = (None, True, -1, 0, 3, 2**40, 2**70, 1.5, "", "int", "é", [], [1], {}, {"a": 1})


def damaged_array(rng: random.Random, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """With a bit flipped, an extreme value somewhere, two values swapped, or another length, type or shape."""
    made = array.copy()
    chance = rng.random()
    if chance > 0.93:
        return (
            made.astype(rng.choice(("<i8", "<i4", "<u1", "<f8", "|b1"))) if rng.random() < 0.7 else made.reshape(-1, 1)
        )
    if chance < 0.15 or not len(made):
        return np.concatenate([made, made[:1]]) if rng.random() < 0.5 and len(made) else made[: len(made) // 2]
    place = rng.randrange(len(made))
    if chance < 0.5:
        octets = made.view(np.uint8)
        octets[rng.randrange(len(octets))] ^= 1 << rng.randrange(8)
    elif chance < 0.85 and made.dtype != np.bool_:
        made[place] = np.array(rng.choice(EXTREMES)).astype(made.dtype)
    else:
        other = rng.randrange(len(made))
        made[[place, other]] = made[[other, place]]
    return made


def places(header: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where values stand in nested dicts."""
    for key, value in header.items():
        yield (*path, key)
        if isinstance(value, dict):
            yield from places(value, (*path, key))


def damaged_header(rng: random.Random, header: dict[str, Any], place: tuple[Any, ...]) -> dict[str, Any]:
    made = copy.deepcopy(header)
    at = made
    for key in place[:-1]:
        at = at[key]
    if rng.random() < 0.2:
        del at[place[-1]]
    else:
        at[place[-1]] = copy.deepcopy(rng.choice(NONSENSE))
    return made


def cases(rng: random.Random, snapshot: storage.Snapshot, tries: int) -> Iterator[tuple[str, storage.Snapshot]]:
    part = snapshot.parts["0"]
    for name, array in part.arrays.items():
        for number in range(tries):
            damaged = storage.SavedPart(part.header, {**part.arrays, name: damaged_array(rng, array)})
            yield f"{name} {number}", storage.Snapshot(1, snapshot.header, {"0": damaged})
        missing = {key: value for key, value in part.arrays.items() if key != name}
        yield f"no {name}", storage.Snapshot(1, snapshot.header, {"0": storage.SavedPart(part.header, missing)})
    for place in places(part.header):
        for number in range(tries):
            damaged = storage.SavedPart(damaged_header(rng, dict(part.header), place), part.arrays)
            yield f"header {place} {number}", storage.Snapshot(1, snapshot.header, {"0": damaged})
    for place in places(snapshot.header):
        for number in range(tries):
            yield (
                f"settings {place} {number}",
                storage.Snapshot(1, damaged_header(rng, dict(snapshot.header), place), snapshot.parts),
            )


EVENTS = sample_events(30)


def uses(index: mw.Index, directory: Path | None) -> list[Callable[[], object]]:
    """All that can be asked of an index, and done to it; saved, where there is a directory for it."""
    ids = list(index)[:3]
    return [
        lambda: answers(index, EVENTS),
        lambda: [index.match(event) for event in EVENTS[:10]],
        lambda: list(index.items()),
        lambda: [index.explain(EVENTS[0], rule_id) for rule_id in ids],
        index.stats,
        index.audit,
        lambda: index.lint().to_pylist(),
        lambda: index.save(directory / "again") if directory else None,
        lambda: index.__setitem__(ids[0] if ids else "new", "age > 33 and name like '%q_%'"),
        lambda: index.insert_many({"fresh": "age = 44", "other": "tags one of ('z') or k = 5"}),
        lambda: index.__delitem__(ids[1]),
        lambda: answers(index, EVENTS),
        index.compact,
        lambda: answers(index, EVENTS),
        index.clear,
    ]


def outcome(name: str, snapshot: storage.Snapshot, expected: Any, directory: Path | None, failures: list[str]) -> str:
    storage.load = lambda path, *how, **named: snapshot
    try:
        index = mw.open("damaged")
    except mw.CorruptSnapshot:
        return "refused"
    except Exception:
        failures.append(f"opening, {name}: {traceback.format_exc(limit=-4)}")
        return "failed"
    result = "harmless" if same(index, expected) else "other answers"
    try:
        steps = uses(index, directory)
    except mw.MatchwoodError:
        return "refused later"
    for step in steps:
        try:
            step()
        except mw.MatchwoodError:
            result = "refused later"
        except Exception:
            failures.append(f"using, {name}: {traceback.format_exc(limit=-4)}")
            return "failed"
    return result


def same(index: mw.Index, expected: Any) -> bool:
    try:
        return answers(index, EVENTS) == expected
    except Exception:
        return False


def main(engine: str, tries: str, every: str, seed: str) -> None:
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    rng = random.Random(f"{engine} {seed}")
    counts: dict[str, int] = {}
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as directory:
        sample_index(engine).save(Path(directory) / "index")
        real = storage.load
        snapshot = real(Path(directory) / "index")
        expected = answers(mw.open(Path(directory) / "index"), EVENTS)
        whole = storage.Snapshot(1, snapshot.header, {"0": snapshot.parts["0"]})
        for name, damaged in itertools.islice(cases(rng, whole, int(tries)), 0, None, int(every)):
            print(name, file=sys.stderr)
            found = outcome(name, damaged, expected, Path(directory) if rng.random() < 0.1 else None, failures)
            counts[found] = counts.get(found, 0) + 1
        storage.load = real
    print(json.dumps({"counts": counts, "failures": failures}))


if __name__ == "__main__":
    main(*sys.argv[1:])
