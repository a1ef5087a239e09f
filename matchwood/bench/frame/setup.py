"""An index and encoded events from a workload, refused when they would make a benchmark meaningless."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from matchwood.bench.frame.measure import WrongAnswer, first_events, timed, timed_codes
from matchwood.bench.frame.memory import bytes_of_index
from matchwood.encoding import EncodedEvents
from matchwood.engines import Engine, Workspace
from matchwood.errors import counted_were
from matchwood.index import Index
from matchwood.language import parse
from matchwood.progress import Progress
from matchwood.semantics import evaluate
from matchwood.workloads import Workload, begen, pair_hashes, repeated, row_sums
from matchwood.workloads import hits as brute_force

CHECKED_EVENTS = 20

tree_of = lru_cache(maxsize=10_000)(parse)
"""Rules are asked about with several events, and by all engines."""


class PreparedIndex(NamedTuple):
    """An index built from a workload's texts with ids 0, 1, …, its events in both forms, and what that cost:
    seconds to build, and microseconds to find the spaces of an event."""

    rules: Index
    table: pa.Table
    events: EncodedEvents
    build_s: float
    encode_us: float


def prepare(workload: Workload, engine: str) -> PreparedIndex:
    """Build from text, encode the events, and check that nothing was rejected or repeated."""
    refuse_repeated_events(workload)
    index, texts, table = Index(engine), workload.rules_text(), workload.events_table()
    build_s, _ = timed(lambda: insert_all(index, texts))
    encode_us, events = encoded_table(index, table)
    return PreparedIndex(index, table, events, build_s, encode_us)


def encoded_table(index: Index, table: pa.Table) -> tuple[float, EncodedEvents]:
    """Microseconds to find the spaces of an event in a table, and the codes of all."""
    encoder = index._encoder
    encode_us, codes = timed_codes(
        lambda first, stop: [batch.events for batch in encoder.event_batches(table.slice(first, stop - first))],
        table.num_rows,
    )
    return encode_us, concatenated(codes)


def insert_all(index: Index, texts: Sequence[str]) -> None:
    """Insert rules with the ids 0, 1, …; a rejected one makes the run worthless."""
    with Progress("building", "rules", len(texts)) as progress:
        report = index.insert_many(enumerate(texts), progress=progress.follow)
    rejected = report.rejected
    if rejected.num_rows:
        raise WrongAnswer(f"{counted_were(rejected.num_rows, 'rule')} rejected, the first: {rejected['error'][0]}")


def refuse_repeated(events: Sequence[dict[str, Any]]) -> None:
    """Caches would answer an event that occurs twice, and the benchmark would measure them."""
    texts = [json.dumps(event, sort_keys=True) for event in events]
    if len(set(texts)) != len(texts):
        raise WrongAnswer("two measured events are equal")


def refuse_repeated_events(workload: Workload) -> None:
    """The same for the integer columns of a workload, of which there may be a million."""
    events = workload.events
    if len(repeated(row_sums(events.offsets, pair_hashes(events.attributes, events.values)))):
        raise WrongAnswer("two measured events are equal")


def concatenated(batches: Sequence[EncodedEvents]) -> EncodedEvents:
    """Several encoded batches as one, read-only as kernels want them."""
    counts = np.concatenate([np.diff(batch.offsets) for batch in batches])
    joined = EncodedEvents(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.concatenate([batch.attributes for batch in batches]),
        np.concatenate([batch.labels for batch in batches]),
    )
    for array in joined:
        array.flags.writeable = False
    return joined


def warm_up(engines: Sequence[str]) -> float:
    """Compile every kernel that a run needs, or load it, so that no measurement pays for it; returns the seconds."""

    def once() -> None:
        workload = begen(rules=200, events=10, matching=0.05, seed=1)
        for engine in engines:
            prepared = prepare(workload, engine)
            prepared.rules.match_many(prepared.table)
            prepared.rules.match(workload.events_dicts()[0])

    return timed(once)[0]


def check_with_oracle(
    index: Index, workload: Workload, rules: int = 200, events: int = CHECKED_EVENTS, seed: int = 1
) -> None:
    """The index's answers for some events, held against the oracle on random rules and on some of the hits."""
    random = np.random.default_rng(seed)
    texts = workload.rules_text()
    for event in workload.events_dicts()[:events]:
        hits = index.match(event)
        sample = {*random.integers(0, len(texts), rules).tolist(), *hits[: rules // 2]}
        found = set(hits)
        for rule in sample:
            if (evaluate(tree_of(texts[rule]), event) is True) != (rule in found):
                raise WrongAnswer(f"the oracle disagrees about rule {rule} ({texts[rule]}) and event {event}")


def check_with_brute_force(
    name: str, engine: Engine, prepared: PreparedIndex, workload: Workload, events: int = CHECKED_EVENTS
) -> None:
    """An engine's hits for the first events, as rules, held against all hits that NumPy finds."""
    workspace = Workspace()
    expected = brute_force(workload, range(min(events, prepared.events.count)))
    for event, rules in enumerate(expected):
        hits = engine.match(first_events(prepared.events, event + 1), event, workspace)
        found = prepared.rules._table.rows({"conjunctions": hits}, event, workspace)
        rows = found.rows[: found.offsets[1]]
        if not np.array_equal(rows, rules):
            raise WrongAnswer(
                f"{name}: event {event} has {len(rules):,} hits, the engine finds {len(rows):,} or others"
            )


def sizes(index: Index) -> dict[str, Any]:
    """The figures of a row that an index knows by itself."""
    stats = index.stats()
    return {**bytes_of_index(stats), "bytes_text": stats["bytes_text"], "fallback_rules": stats["fallback_rules"]}
