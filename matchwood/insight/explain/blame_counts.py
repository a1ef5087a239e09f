"""Counts of what keeps rules from being TRUE, over many events.

Every distinct predicate of the rules becomes two rules of a small index of its own, `p` and `(p) is unknown`. So a
batch of events is matched once, and the rest is NumPy over whole columns of verdicts (`blame.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.insight.explain.blame import reasons, tally, verdicts_of
from matchwood.insight.explain.flat import FlatTree
from matchwood.insight.explain.truth import FALSE, NULL, TRUE
from matchwood.language import parse
from matchwood.matching import ALL_RULES, EngineEvents, EngineMatcher

if TYPE_CHECKING:
    from matchwood.index import Index

BLAME_COUNTS = ("alone_false", "alone_null", "among_several", "events")
_CELLS = 16_000_000
"""Verdicts that are held at once: a rule's nodes times events."""


class BlameCounts:
    """For each of some rules an array (predicate × count).

    `texts`    the rules by id
    `id_type`  the type of their ids
    `made`     makes an empty index that reads events as that of the rules does
    """

    def __init__(self, texts: Mapping[Any, str], id_type: pa.DataType, made: Callable[[], Index]) -> None:
        self.trees = {rule: FlatTree(parse(text)) for rule, text in texts.items()}
        self.numbers: dict[str, int] = {}
        for tree in self.trees.values():
            for predicate in tree.predicates:
                self.numbers.setdefault(str(predicate), len(self.numbers))
        self.counts = {
            rule: np.zeros((len(tree.predicates), len(BLAME_COUNTS)), np.int64) for rule, tree in self.trees.items()
        }
        self.index, self.id_type = _filled(made(), list(self.numbers)), id_type

    def add(self, events: pa.RecordBatch | Sequence[Mapping[str, Any]]) -> None:
        """Count some more events."""
        largest = max(len(tree.nodes) for tree in self.trees.values())
        rows = max(1, _CELLS // max(largest, 2 * len(self.numbers)))
        for first in range(0, len(events), rows):
            some = events[first : first + rows]
            verdicts = _verdicts(self.index, some, len(self.numbers))
            for rule, tree in self.trees.items():
                self.counts[rule] += self._counted(tree, verdicts, len(some))

    def _counted(self, tree: FlatTree, verdicts: NDArray[np.uint8], events: int) -> NDArray[np.int64]:
        if not tree.predicates:
            return np.zeros((0, len(BLAME_COUNTS)), np.int64)
        own = [verdicts[self.numbers[str(predicate)]] for predicate in tree.predicates]
        found = tally(reasons(tree, verdicts_of(tree, own, events)), own)
        columns = [found.get(count, np.full(len(own), events)) for count in BLAME_COUNTS]
        return np.stack(columns, axis=1).astype(np.int64)

    def table(self) -> pa.RecordBatch:
        """The rule's id and the predicate's text beside the counts; places are those of all predicates in order."""
        rules = [rule for rule, tree in self.trees.items() for _ in tree.predicates]
        texts = [str(predicate) for tree in self.trees.values() for predicate in tree.predicates]
        counts = np.concatenate(list(self.counts.values()))
        columns = [pa.array(rules, self.id_type), pa.array(texts, pa.string()), pa.array(range(len(texts)), pa.int32())]
        columns += [pa.array(counts[:, number]) for number in range(len(BLAME_COUNTS))]
        return pa.record_batch(columns, names=["rule", "predicate", "place", *BLAME_COUNTS])


def _filled(index: Index, predicates: list[str]) -> Index:
    """Predicate n is the rules 2n (TRUE) and 2n + 1 (NULL)."""
    texts = [text for predicate in predicates for text in (predicate, f"({predicate}) is unknown")]
    index.insert_many(list(enumerate(texts)), on_error="raise")
    return index


def _verdicts(index: Index, events: Any, predicates: int) -> NDArray[np.uint8]:
    """Masks, predicate × event."""
    found, matcher = np.zeros((2 * predicates, len(events)), dtype=bool), index._matcher
    assert isinstance(matcher, EngineMatcher)
    for chunk in index._encoder.event_chunks(events, "null", "null"):
        asked, first = EngineEvents(matcher, chunk, ALL_RULES), 0
        while first < chunk.size:
            rows = asked.rows(first)
            owners = rows.first + np.repeat(np.arange(rows.count), np.diff(rows.offsets))
            found[rows.rows, owners] = True
            first += rows.count
    return np.where(found[0::2], TRUE, np.where(found[1::2], NULL, FALSE)).astype(np.uint8)
