"""What choosing access predicates anew gains: rules laid out before anybody knew what events are like.

Half of the attributes are *common*: rules are narrow on them, so they look selective, but nearly every event has
the value that many rules ask for. On the others rules are wide, and events rarely have such values. Each engine matches
the same events before and after it knows what they are like; `counting` and `scan` choose nothing, and stand beside it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from matchwood.bench.frame.measure import (
    MeasuredMatching,
    check_agreement,
    drawn,
    measure_engine,
    require_hits,
    timed,
    timed_codes,
)
from matchwood.bench.frame.memory import bytes_of
from matchwood.bench.frame.setup import concatenated, insert_all, refuse_repeated, sizes, warm_up
from matchwood.encoding import EncodedEvents
from matchwood.engines import Engine, engine_class
from matchwood.index import Index
from matchwood.matching import EngineMatcher
from matchwood.progress import Progress

FIXED = ("scan", "counting")
CHOOSING = ("pstbloom", "psthash")
UNKNOWN, ANEW = "events unknown", "chosen anew"
SIZES = {"smoke": (2_000, 300), "quick": (100_000, 3_000), "full": (1_000_000, 3_000), "paper": (1_000_000, 3_000)}
"""Rules, and events of a batch."""

ATTRIBUTES, COMMON_VALUES, RARE_VALUES = 10, 400, 1_000
SEED = 3


def run(scale: str) -> dict[str, Any]:
    warm_up((*FIXED, *CHOOSING))
    prepared = _prepared(*SIZES[scale])
    measured: dict[tuple[str, str], MeasuredMatching] = {}
    rows: list[dict[str, Any]] = []
    with Progress("bench access", "engines", len(FIXED) + len(CHOOSING)) as progress:
        for name in (*FIXED, *CHOOSING):
            rows.extend(_measure(name, prepared, measured))
            progress.advance()
    check_agreement({", ".join(each): found for each, found in measured.items()})
    for row in rows:
        row["ratio_to_scan"] = round(rows[0]["us_per_event"] / row["us_per_event"], 2)
    return {"experiment": "access", "scale": scale, "rows": rows}


class Prepared(NamedTuple):
    """An index that has matched events, and so knows what they are like, and the codes of others."""

    rules: Index
    events: EncodedEvents
    encode_us: float


def _prepared(rules: int, events: int) -> Prepared:
    random = np.random.default_rng(SEED)
    index, given = Index("scan"), _events(random, events + drawn(events))
    refuse_repeated(given)
    insert_all(index, _texts(random, rules))
    require_hits(index.match_many(given[:events]).num_rows, "bench access")
    others = given[events:]
    encode_us, codes = timed_codes(
        lambda first, stop: [batch.events for batch in index._encoder.event_batches(others[first:stop])], len(others)
    )
    return Prepared(index, concatenated(codes), encode_us)


def _texts(random: np.random.Generator, count: int) -> list[str]:
    """Each rule asks two common attributes for a value, and two others for a range."""
    common, rare = _pairs(random, count), _pairs(random, count)
    values = np.where(random.random((count, 2)) < 0.3, 0, random.integers(0, COMMON_VALUES, (count, 2)))
    lows = random.integers(0, RARE_VALUES, (count, 2))
    highs = lows + random.integers(20, 120, (count, 2))
    columns = np.column_stack((common[:, 0], values[:, 0], common[:, 1], values[:, 1], rare[:, 0], lows[:, 0]))
    columns = np.column_stack((columns, highs[:, 0], rare[:, 1], lows[:, 1], highs[:, 1]))
    text = "common{} = {} and common{} = {} and rare{} between {} and {} and rare{} between {} and {}"
    return [text.format(*row) for row in columns.tolist()]


def _pairs(random: np.random.Generator, count: int) -> Any:
    """Two different attributes for each rule."""
    first = random.integers(0, ATTRIBUTES, count)
    return np.column_stack((first, (first + random.integers(1, ATTRIBUTES, count)) % ATTRIBUTES))


def _events(random: np.random.Generator, count: int) -> list[dict[str, int]]:
    """Common attributes have the value 0 nine times in ten; the others lie beyond most rules."""
    shape = (count, ATTRIBUTES)
    common = np.where(random.random(shape) < 0.9, 0, random.integers(0, COMMON_VALUES, shape))
    rare = random.integers(0, 4 * RARE_VALUES, shape)
    return [
        {f"common{a}": v for a, v in enumerate(first)} | {f"rare{a}": v for a, v in enumerate(second)}
        for first, second in zip(common.tolist(), rare.tolist(), strict=True)
    ]


def _measure(name: str, prepared: Prepared, measured: dict[tuple[str, str], MeasuredMatching]) -> list[dict[str, Any]]:
    """A row for an engine that knows no events, and one for when it does, if it makes a difference."""
    matcher = prepared.rules._matcher
    assert isinstance(matcher, EngineMatcher)
    engine = engine_class(name)(matcher.parts[0].store.copy())
    build_s, _ = timed(engine.rebuild)
    measured[name, UNKNOWN] = measure_engine(engine, prepared.events)
    rows = [_row(prepared, name, UNKNOWN, engine, build_s, measured[name, UNKNOWN])]
    if engine.uses_event_statistics:
        other = engine_class(name)(matcher.parts[0].store.copy())  # one that has not met the events that are measured
        other.rebuild()
        other.event_statistics = matcher.encoder.event_statistics
        build_s, _ = timed(other.reconsider)
        measured[name, ANEW] = measure_engine(other, prepared.events)
        rows.append(_row(prepared, name, ANEW, other, build_s, measured[name, ANEW]))
    return rows


def _row(
    prepared: Prepared, name: str, when: str, engine: Engine, build_s: float, found: MeasuredMatching
) -> dict[str, Any]:
    return {
        "engine": name,
        "workload": when,
        "rules": len(prepared.rules),
        "events": found.events,
        **sizes(prepared.rules),
        "build_s": round(build_s, 3),
        **found.times(prepared.encode_us),
        "hits_per_event": found.hits / found.events,
        "candidates_per_event": found.candidates / found.events,
        **bytes_of(engine),
        "checked": True,
    }
