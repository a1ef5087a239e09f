"""The encoder: predicates to value sets, conjunctions to integers, and what events are asked for.

It owns the types, the attribute numbers, the spaces and the derived attributes, and counts what live rules refer to.
Calls that change it never overlap any other call; reading calls may run in many threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import encoder_state
from matchwood.encoding.attribute import Source, Target
from matchwood.encoding.codes import LEAF, EncodedConjunctions, EncodedEvents, EncodedForms, EncodedRows
from matchwood.encoding.derived.attributes import DerivedSource
from matchwood.encoding.derived.keys import is_derived
from matchwood.encoding.events import entry as events
from matchwood.encoding.events.settings import EventSettings
from matchwood.encoding.events.statistics import EventStatistics
from matchwood.encoding.events.strictness import STRICT, MisfitCounter, Strictness
from matchwood.encoding.rules.binding import Binder
from matchwood.encoding.rules.flat_forms import FlatForms
from matchwood.encoding.rules.flattening import Flat, LeafRows, assemble, flatten, spread
from matchwood.encoding.rules.forms import joined
from matchwood.encoding.rules.given_boundaries import GivenBoundaries
from matchwood.encoding.rules.small_batches import FEW_LEAVES, encode_few, release_few
from matchwood.encoding.schema.inferred import Schema, predicates
from matchwood.encoding.schema.timezones import Zone
from matchwood.encoding.spaces.labels import is_inner
from matchwood.encoding.vocabulary import Vocabulary
from matchwood.language import Expression, Predicate
from matchwood.logic import Bind, Bound, Clause, Conjunction, Form, Leaf

if TYPE_CHECKING:
    from matchwood.encoding.events.plan import EventPlan


DEFAULT_SETTINGS = EventSettings()


class Encoder:
    """Integers for rules and events.

    >>> from matchwood.language import parse
    >>> encoder = Encoder(Schema({"age": "int"}))
    >>> age = encoder.bind(parse("age >= 18"))
    >>> encoded = encoder.encode([(Leaf(age.attribute, age.cuts, False),)])
    >>> events = encoder.encode_event({"age": 20})
    >>> bool(encoded.low[0] <= events.labels[0] < encoded.high[0])
    True
    """

    def __init__(
        self,
        schema: Schema | None = None,
        timezone: str = "UTC",
        spaces: str = "sorted",
        event_settings: EventSettings = DEFAULT_SETTINGS,
    ) -> None:
        self.event_settings, self.misfits = event_settings, MisfitCounter()
        self.schema = Schema() if schema is None else schema
        self.zone = Zone(timezone)
        self.vocabulary = Vocabulary(spaces)
        self.event_plan: EventPlan | None = None
        """Kept here by the event encoding, which makes it."""
        self._binder = Binder(self.schema, self.zone)
        self._agreed: Mapping[str, str] | None = None

    @property
    def timezone(self) -> str:
        """The name of the time zone that dates and naive times are read in."""
        return self.zone.name

    @property
    def event_statistics(self) -> EventStatistics:
        """What observed events were like, for choices by selectivity."""
        return self.vocabulary.event_statistics

    @property
    def version(self) -> int:
        """Changes whenever `sources()` may have."""
        return self.vocabulary.version + self.schema.version

    # ------------------------------------------------------------------ rules

    def bind(self, predicate: Predicate) -> Bound:
        """The predicate as a set of values of an attribute; TypeConflict if it contradicts itself or the schema."""
        return self._binder.bind(predicate)

    def bound(self, expression: Expression) -> Bind:
        """All predicates of an expression bound at once, for those who ask for one after the other."""
        found = {id(predicate): self._binder.bind(predicate) for predicate in predicates(expression)}
        return lambda predicate: found.get(id(predicate)) or self._binder.bind(predicate)

    def encode(self, conjunctions: Sequence[Conjunction] | Flat) -> EncodedConjunctions:
        """Conjunctions as integers; their boundaries come to be, and are referred to until `release`."""
        return self._encode(conjunctions, ordered=True)

    def encode_rows(self, flat: Flat) -> EncodedRows:
        """The same for many conjunctions by their distinct leaves, which stay the only ones that are written."""
        return self._encode_flat(flat, ordered=True)

    def encode_clauses(self, rules: Sequence[Sequence[Clause]]) -> EncodedConjunctions:
        """Conjunctions of clauses as integers, in the order of the clauses; released like conjunctions."""
        clauses = list(chain.from_iterable(rules))
        encoded = self._encode([tuple(chain.from_iterable(rule)) for rule in rules], ordered=False)
        alternatives = np.ones(len(encoded.attributes), np.bool_)
        sizes = np.fromiter(map(len, clauses), np.int64, len(clauses))
        alternatives[np.cumsum(sizes) - sizes] = False
        return encoded._replace(alternatives=alternatives)

    def encode_forms(self, forms: Sequence[Form] | FlatForms, shared: bool = True) -> EncodedForms:
        """Forms as integers, none of them constantly FALSE; release its `constraints` when it goes.

        A leaf that several of them have is encoded, and referred to, once; if not `shared`, once for each.
        """
        if isinstance(forms, FlatForms):
            leaves, *above = forms.dag(shared)
            kinds = np.full(len(leaves.lengths), LEAF, np.int8)
            return EncodedForms(self._encode(leaves, ordered=False), kinds, *above)  # type: ignore[arg-type]
        dag = joined(forms, shared)
        constraints = self._encode([(leaf,) for leaf in dag.leaves], ordered=False)
        return EncodedForms(constraints, dag.leaf_kinds, dag.kinds, dag.child_offsets, dag.children, dag.roots)

    def _encode(self, conjunctions: Sequence[Sequence[Leaf]] | Flat, ordered: bool) -> EncodedConjunctions:
        if isinstance(conjunctions, Flat):
            return spread(self._encode_flat(conjunctions, ordered))
        if len(conjunctions) <= FEW_LEAVES and sum(map(len, conjunctions)) <= FEW_LEAVES:
            return encode_few(self.vocabulary, self._kind, conjunctions, ordered)
        return spread(self._encode_flat(flatten(LeafRows.of(conjunctions)), ordered))

    def _encode_flat(self, flat: Flat, ordered: bool) -> EncodedRows:
        compared = np.bincount(flat.value_keys, minlength=len(flat.keys)).tolist()
        kinds = [self._kind(key) if uses else "any" for key, uses in zip(flat.keys, compared, strict=True)]
        numbers = self.vocabulary.numbers(flat.keys, kinds)
        uses = flat.uses()
        boundaries = GivenBoundaries(flat.values, numbers[flat.value_keys], flat.value_counts(uses))
        encoded = assemble(flat, numbers, boundaries.added_to(self.vocabulary), uses, ordered)
        self.vocabulary.count(encoded.leaves, 1, uses)
        return encoded

    def _kind(self, key: str) -> str:
        """The kind of an attribute whose values are compared: the schema's, or as its predicates were bound."""
        if is_derived(key):
            return "any"
        kind = self.schema.kind(key)
        return self._binder.kinds.get(key, "number") if kind == "any" else kind

    def release(self, encoded: EncodedConjunctions) -> None:
        """Count references down; boundaries without any disappear."""
        if len(encoded.attributes) <= FEW_LEAVES:
            release_few(self.vocabulary, encoded)
            return
        owners = np.repeat(encoded.attributes, np.diff(encoded.pieces))
        ends = np.concatenate((encoded.low, encoded.high))
        inner = is_inner(ends)
        self.vocabulary.release_boundaries(np.concatenate((owners, owners))[inner], ends[inner])
        self.vocabulary.count(encoded, -1)

    @property
    def relabelled(self) -> list[tuple[int, NDArray[np.int32], NDArray[np.int32]]]:
        """Labels that changed: attribute, old and new, in the order in which it happened."""
        return self.vocabulary.relabelled

    def drain_relabelled(self) -> list[tuple[int, NDArray[np.int32], NDArray[np.int32]]]:
        """What changed since the last call; the caller rewrites what it has stored."""
        changes, self.vocabulary.relabelled = self.vocabulary.relabelled, []
        return changes

    def compact(self) -> NDArray[np.int32]:
        """Drop what nothing refers to; returns the new number of each attribute, -1 for those that are gone."""
        return self.vocabulary.compact()

    # ----------------------------------------------------------------- events

    def agree(self, types: Mapping[str, str]) -> None:
        """Ask events for these names alone, and as these types: those that all encoders of one set of rules share.

        What rules here ask beside that is of rules that no longer count.
        """
        self._agreed, self.event_plan = dict(types), None

    def sources(self) -> list[Source]:
        """What events are asked for, one source a name."""
        targets: dict[str, list[int]] = {}
        for number, name in self.vocabulary.live_direct():
            targets.setdefault(name, []).append(number)
        derived: dict[str, list[DerivedSource]] = {}
        for source in self.vocabulary.derived:
            if len(source):
                derived.setdefault(source.name, []).append(source)
        names = dict.fromkeys((*targets, *derived))
        agreed = names if self._agreed is None else self._agreed
        return [self._source(name, targets.get(name, []), derived.get(name, [])) for name in names if name in agreed]

    def _source(self, name: str, numbers: list[int], derived: list[DerivedSource]) -> Source:
        table, spaces = self.vocabulary.table, self.vocabulary.spaces
        kind = self.schema.kind(name) if self._agreed is None else self._agreed[name]
        if kind == "any" and self._agreed is None:
            compared = [table.kind(number) for number in numbers if spaces.has_boundaries(number)]
            kind = [*compared, *(source.kind for source in derived), "any"][0]
        direct = tuple(Target(number, spaces.get(number) if table.kind(number) == kind else None) for number in numbers)
        return Source(name, kind, direct, next((source for source in derived if source.kind == kind), None))

    def attributes_named(self) -> list[str]:
        """The names that events are asked for, sorted; derived attributes by their source."""
        names = {name for _, name in self.vocabulary.live_direct()}
        return sorted(names | {source.name for source in self.vocabulary.derived if len(source)})

    def encode_event(self, event: Mapping[str, Any], strictness: Strictness = STRICT) -> EncodedEvents:
        """One event's codes."""
        return events.encode_event(self, event, strictness)

    def event_batches(
        self, given: Any, missing: str = "null", on_error: str = "raise"
    ) -> Iterator[events.EncodedBatch]:
        """Many events' codes, in batches of bounded size."""
        return events.event_batches(self, given, missing, on_error)

    def event_chunks(
        self, given: Any, missing: str = "null", on_error: str = "raise", threads: int = 1
    ) -> Iterator[events.EventChunk]:
        """Many events in chunks of bounded size; each is encoded when asked, and again when the rules have changed."""
        return events.event_chunks(self, given, missing, on_error, threads)

    def chunks_of(self, given: Any, strictness: Strictness, threads: int = 1) -> Iterator[events.EventChunk]:
        """The same, as strict as that."""
        return events.chunks_of(self, given, strictness, threads)

    # ------------------------------------------------------------------ state

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state, by name."""
        return encoder_state.arrays(self)

    def header(self) -> dict[str, Any]:
        """What is small and not an array."""
        return encoder_state.header(self)

    @classmethod
    def restored(
        cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any], schema: Schema | None = None
    ) -> Encoder:
        """An encoder from its saved state, or over the `schema` of another; arrays may be read-only. ValueError or
        KeyError if it is damaged."""
        return encoder_state.restored(cls, arrays, header, schema)

    def stats(self) -> dict[str, Any]:
        """Counts and bytes."""
        return encoder_state.stats(self)

    def audit(self) -> list[str]:
        """Broken invariants, in words."""
        return encoder_state.audit(self)


class AskingEncoder(Encoder):
    """Asks events for names and types, and encodes nothing: to tell what is missing or does not fit.

    >>> asking = AskingEncoder({"age": "int"}, "UTC")
    >>> [batch.errors for batch in asking.event_batches([{"age": "x"}], on_error="report")]
    [[(0, "event 0: 'age' must be int (got 'x', a str)")]]
    """

    def __init__(
        self, types: Mapping[str, str], timezone: str, event_settings: EventSettings = DEFAULT_SETTINGS
    ) -> None:
        super().__init__(timezone=timezone, event_settings=event_settings)
        self._asked = [Source(name, kind, (), None) for name, kind in types.items()]

    def sources(self) -> list[Source]:
        return self._asked
