"""Arbitrary expressions for every engine from one reading of their texts: as conjunctions, as clauses, and whole.

What an index would do once for each engine is done once for all of them: a million texts are read in minutes. All
boundaries come to be before the first rule is encoded, so that no label changes afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from matchwood.bench.frame.encoded_rules import add_cuts, timed_events
from matchwood.bench.frame.measure import WrongAnswer, first_events
from matchwood.bench.frame.setup import refuse_repeated_events
from matchwood.core import without_collecting
from matchwood.encoding import EncodedConjunctions, EncodedEvents, EncodedForms, Encoder, Schema
from matchwood.engines import ATree, ConjunctionStore, KIndex, Structure, Workspace
from matchwood.language import parse
from matchwood.logic import NEVER, Clauses, Conjunction, Form, clauses_of_form, dnf, form_of_rule, smaller_of_form
from matchwood.matching import TURN_RULES
from matchwood.progress import Progress
from matchwood.workloads import Workload
from matchwood.workloads import hits as brute_force

DNF_LIMIT = 256
"""That of an index."""

CHECKED_EVENTS = 5

Rows: TypeAlias = NDArray[np.int64]
Normals: TypeAlias = Mapping[int, list[Conjunction] | Form]
"""What rules are, by their places in a chunk."""


class UnitLinks:
    """Which rules the units of one structure belong to."""

    def __init__(self) -> None:
        self._rules: list[Rows] = []
        self._units: list[NDArray[np.int32]] = []

    def add(self, rules: Rows, units: NDArray[np.int32]) -> None:
        self._rules.append(rules)
        self._units.append(units)

    def rules_of(self, units: NDArray[np.int32]) -> Rows:
        """The rules that have any of these units."""
        if not self._units:
            return np.empty(0, np.int64)
        return np.unique(np.concatenate(self._rules)[np.isin(np.concatenate(self._units), units)])


class Side:
    """Rules as one kind of engine takes them: units of a store and, where these are too many, an A-Tree beside."""

    def __init__(self, clauses: bool) -> None:
        self.store, self.forms = ConjunctionStore(clauses=clauses), ATree()
        self._of_units, self._of_forms = UnitLinks(), UnitLinks()

    def add_units(self, rules: Rows, encoded: EncodedConjunctions) -> None:
        self._of_units.add(rules, self.store.add(encoded).units)

    def add_forms(self, rules: Rows, encoded: EncodedForms) -> None:
        self._of_forms.add(rules, self.forms.add(encoded).units)

    def check(self, name: str, engine: Structure, events: EncodedEvents, expected: Sequence[Rows]) -> None:
        """The rules that an engine and the A-Tree beside it find, held against those that NumPy finds."""
        for event, wanted in enumerate(expected):
            found = self._of_units.rules_of(hits_of(engine, events, event))
            if self.forms.live:
                found = np.union1d(found, self._of_forms.rules_of(hits_of(self.forms, events, event)))
            require_equal(name, event, found, wanted)


def hits_of(engine: Structure, events: EncodedEvents, event: int) -> NDArray[np.int32]:
    """The units of one event."""
    hits = engine.match(first_events(events, event + 1), event, Workspace())
    return hits.units[: hits.offsets[1]]


def require_equal(name: str, event: int, found: Rows, wanted: Rows) -> None:
    if not np.array_equal(found, wanted):
        raise WrongAnswer(f"{name}: event {event} has {len(wanted):,} hits, the engine finds {len(found):,} or others")


class FallBacks:
    """What `auto` has beside its conjunctions: `kindex` over clauses, and an A-Tree."""

    def __init__(self) -> None:
        self.clauses, self.tree = KIndex(ConjunctionStore(clauses=True)), ATree()

    def add_clauses(self, encoded: EncodedConjunctions) -> None:
        self.clauses.insert(self.clauses.store.add(encoded).new_units)
        self.clauses.merge_when_due()

    def engines(self) -> list[Structure]:
        """Those that hold anything."""
        pairs = ((self.clauses, self.clauses.store.live), (self.tree, self.tree.live))
        return [engine for engine, live in pairs if live]


class EncodedTrees(NamedTuple):
    """A workload for all engines: `plain` for those over conjunctions, `clauses` for `kindex`, and `whole` for the
    A-Tree, as the rules of each chunk and their forms; `beside` has what `auto` takes beside its conjunctions.
    `expected` are the rules that match the first events."""

    encoder: Encoder
    events: EncodedEvents
    encode_us: float
    plain: Side
    clauses: Side
    beside: FallBacks
    whole: list[tuple[Rows, EncodedForms]]
    expected: list[Rows]


def encoded_trees(workload: Workload) -> EncodedTrees:
    """Read, normalise and encode all rules, a chunk at a time."""
    refuse_repeated_events(workload)
    encoder = Encoder(Schema(dict.fromkeys(workload.attributes, "int")))
    assert workload.trees is not None
    add_cuts(encoder, workload, workload.trees.predicates)
    encode_us, events = timed_events(encoder, workload)
    found = EncodedTrees(encoder, events, encode_us, Side(False), Side(True), FallBacks(), [], [])
    texts = workload.rules_table()["expression"]
    with Progress("reading", "rules", len(texts)) as progress:
        for first in range(0, len(texts), TURN_RULES):
            chunk = texts.slice(first, TURN_RULES).to_pylist()
            _take(found, first, chunk)
            progress.advance(len(chunk))
    found.expected.extend(brute_force(workload, range(min(CHECKED_EVENTS, workload.events.count))))
    return found


def _take(trees: EncodedTrees, first: int, texts: Sequence[str]) -> None:
    """Add a chunk of rules to all sides."""
    encoder = trees.encoder
    with without_collecting():
        forms = [form_of_rule(parse(text), encoder.bind) for text in texts]
        smaller = dict(enumerate(smaller_of_form(form, DNF_LIMIT) for form in forms))
        clauses = {place: normal.rows for place, normal in smaller.items() if isinstance(normal, Clauses)}
        same = {place: normal for place, normal in smaller.items() if not isinstance(normal, Clauses)}
        expanded = {place: dnf(forms[place], DNF_LIMIT) for place in clauses}
        other: Normals = {place: forms[place] if rows is None else rows for place, rows in expanded.items()}
        _add(encoder, (trees.plain, trees.clauses), first, same)
        _add(encoder, (trees.plain,), first, other)
        _add_beside(encoder, trees.beside, [*same.values(), *other.values()])
        if clauses:
            trees.clauses.add_units(first + np.array(list(clauses)), encoder.encode_clauses(list(clauses.values())))
        possible = [place for place, form in enumerate(forms) if form != NEVER]
        if possible:
            trees.whole.append((first + np.array(possible), encoder.encode_forms([forms[n] for n in possible])))
    if encoder.drain_relabelled():
        raise WrongAnswer("labels changed while rules were encoded")


def _add_beside(encoder: Encoder, beside: FallBacks, normals: Iterable[list[Conjunction] | Form]) -> None:
    """What `auto` makes of rules that have too many conjunctions."""
    over = [clauses_of_form(form, DNF_LIMIT) for form in normals if isinstance(form, Form)]
    clauses = [found.rows for found in over if isinstance(found, Clauses)]
    whole = [found for found in over if isinstance(found, Form)]
    if clauses:
        beside.add_clauses(encoder.encode_clauses(clauses))
    if whole:
        beside.tree.add(encoder.encode_forms(whole))


def _add(encoder: Encoder, sides: Sequence[Side], first: int, normals: Normals) -> None:
    """Rules that are the same on these sides: encoded once, and added to each."""
    forms = {place: normal for place, normal in normals.items() if isinstance(normal, Form)}
    rows = {place: normal for place, normal in normals.items() if not isinstance(normal, Form)}
    owners = first + np.repeat(np.array(list(rows), np.int64), [len(each) for each in rows.values()])
    if len(owners):
        encoded = encoder.encode(list(chain.from_iterable(rows.values())))
        for side in sides:
            side.add_units(owners, encoded)
    if forms:
        as_forms = encoder.encode_forms(list(forms.values()))
        for side in sides:
            side.add_forms(first + np.array(list(forms)), as_forms)
