"""What most rules of a batch ask of their attributes: by that the few that say otherwise are refused.

Each rule that could be taken by itself has one vote on each attribute that it compares with something. So one mistyped
rule never decides a type against a thousand, whatever comes first. A rule that is refused because of another attribute
has none: votes are counted in rounds, until those who are refused stay the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from matchwood.core import places_in
from matchwood.encoding import AskedUses, Encoder, RuleReader, Schema, Settled, Use, as_in
from matchwood.errors import MatchwoodError
from matchwood.matching.loading.chunks import LEAST_COMPILED, MOST_BYTES, RuleChunk, RuleSource
from matchwood.matching.loading.preparation import as_expression

ROUNDS = 20
"""Chains of rules that are refused because of each other end long before; if not, any settlement is consistent."""


class Voters(NamedTuple):
    """How many rules ask the same of their attributes, and the first of them."""

    votes: int
    first: Any


Ballots: TypeAlias = dict[tuple[Use, ...], Voters]


class _ChunkVotes(NamedTuple):
    """The rules of a chunk that vote, in their order, and what they ask of their attributes."""

    id_at: Callable[[int], Any]
    positions: NDArray[np.int64]
    asked: AskedUses

    def _voters(self, votes: int, first: int) -> Voters:
        return Voters(votes, self.id_at(int(self.positions[first])))

    def each(self) -> Ballots:
        columns = self.asked.tally(np.ones(len(self.positions), np.bool_))
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return {(self.asked.named(use),): self._voters(votes, first) for use, votes, first in rows}

    def on(self, names: Collection[str]) -> Ballots:
        alike = self.asked.on(names).alike()
        return {uses: self._voters(votes, first) for uses, (votes, first) in alike.items()}


class _ListedBallots(NamedTuple):
    """Votes that were counted elsewhere."""

    ballots: Ballots

    def each(self) -> Ballots:
        return {(use,): voters for use, voters in _counted(self.ballots, {}).items()}

    def on(self, names: Collection[str]) -> Ballots:
        only: Ballots = {}
        for uses, voters in self.ballots.items():
            _put(only, tuple(use for use in uses if use[0] in names), voters)
        return only


class Votes:
    """Rules by what they ask of their attributes.

    Kinds that `known` has, of live rules or settled already, are not voted on: it is the encoder's own unless given.

    >>> from matchwood.matching.loading.chunks import ListedRules
    >>> votes, texts = Votes(Encoder()), ["age = '18'", "age > 1", "age > 2"]
    >>> votes.add_chunk(ListedRules([RuleSource(number, text) for number, text in enumerate(texts)]))
    >>> votes.settled()
    {'age': Settled(kind='number', by='as in rule 1 and 1 other rule')}
    """

    def __init__(self, encoder: Encoder, known: Schema | None = None, reader: RuleReader | None = None) -> None:
        self._known = known or encoder.schema
        self.alone = Schema(strict=self._known.strict)
        """Holds rules against the declared types and nothing else."""
        self.alone.declared = self._known.declared
        self._reader = reader or RuleReader(encoder)
        self._parts: list[_ChunkVotes | _ListedBallots] = []

    def add_chunk(self, chunk: RuleChunk, voters: NDArray[np.int64] | None = None) -> None:
        """Count the rules of a chunk, or those at some positions, but for those that cannot be taken whatever others
        say."""
        positions = _voters([chunk], replaces=False)[0] if voters is None else voters
        asked = self._asked(chunk, positions).comparing(self._known.allows)
        self._parts.append(_ChunkVotes(chunk.id_at, positions, asked))

    def add_ballot(self, uses: Iterable[Use], voters: Voters) -> None:
        """Count rules that ask for these uses."""
        self._parts.append(_ListedBallots({tuple(uses): voters}))

    def _asked(self, chunk: RuleChunk, positions: NDArray[np.int64]) -> AskedUses:
        """What some rules of a chunk ask: read by kernels, and one by one where they cannot."""
        if len(positions) < LEAST_COMPILED:
            rules = chunk.sources(positions.tolist())
            return AskedUses.listed([self._uses_of(rule) for rule in rules])
        texts, votes = chunk.texts(), np.zeros(len(chunk), np.bool_)
        votes[positions] = True
        read = self._reader.uses(*texts.utf8, texts.given & votes)
        others = np.flatnonzero(votes & ~read.wanted).tolist()
        listed = dict(zip(others, map(self._uses_of, chunk.sources(others) if others else ()), strict=True))
        return read.completed(listed).at(positions)

    def _uses_of(self, rule: RuleSource) -> list[Use]:
        return [] if rule.problem is not None or rule.id is None else self.uses(rule.id, rule.expression)

    def uses(self, rule_id: Any, source: Any) -> list[Use]:
        """What a rule compares its attributes with; nothing if it cannot be taken."""
        try:
            uses = [use for use in self.alone.check(as_expression(source), rule_id) if use[1] != "any"]
        except MatchwoodError:
            return []
        return uses if all(map(self._known.allows, uses)) else []

    def disputed(self) -> set[str]:
        """The attributes that rules disagree on and that nothing else decides."""
        kinds: dict[str, str] = {}
        names = {name for ((name, kind),) in self.each() if kinds.setdefault(name, kind) != kind}
        return {name for name in names if not self._known.is_decided(name)}

    def on(self, names: Collection[str]) -> Ballots:
        """The votes on some attributes alone."""
        only = _together(part.on(names) for part in self._parts)
        only.pop((), None)
        return only

    def each(self) -> Ballots:
        """The votes on each attribute by itself."""
        return _together(part.each() for part in self._parts)

    def settled(self) -> dict[str, Settled]:
        """The kind of each disputed attribute: the one of most rules; of as many, that of the first."""
        ballots = self.on(self.disputed())
        counted = _counted(ballots, {})
        chosen = _majority(counted)
        for _ in range(ROUNDS):
            counted = _counted(ballots, chosen)
            # What no rule that stays asks any more keeps the type it had: those who ask it are refused anyhow.
            following = {**chosen, **_majority(counted)}
            if following == chosen:
                break
            chosen = following
        every = {**_counted(ballots, {}), **counted}
        return {name: _told((name, kind), every[name, kind]) for name, kind in sorted(chosen.items())}


def votes_of(
    encoder: Encoder, known: Schema, chunks: Iterable[RuleChunk], replaces: bool, reader: RuleReader | None = None
) -> Votes:
    """Of rules with one id only that votes which counts: the last if it replaces the others, else the first.

    `reader`  one of the encoder's that may know the rules already
    """
    votes, held = Votes(encoder, known, reader), [part for chunk in chunks for part in _parts(chunk)]
    for chunk, voters in zip(held, _voters(held, replaces), strict=True):
        votes.add_chunk(chunk, voters)
    return votes


def _parts(chunk: RuleChunk) -> Iterator[RuleChunk]:
    """A chunk in parts whose texts are few enough to be read at once."""
    size = len(chunk) if chunk.nbytes <= MOST_BYTES else max(1, len(chunk) * MOST_BYTES // chunk.nbytes)
    return (chunk.part(start, start + size) for start in range(0, len(chunk), size))


def _voters(chunks: list[RuleChunk], replaces: bool) -> list[NDArray[np.int64]]:
    """The positions of the rules of each chunk that vote."""
    places: dict[Any, int] = {}
    first = 0
    for chunk in chunks:
        ids: Any = chunk.ids
        ids = ids if isinstance(ids, list) else ids.to_pylist()
        for place, rule_id in enumerate(ids, first):
            if isinstance(rule_id, int | str) and (replaces or rule_id not in places):
                places[rule_id] = place
        first += len(ids)
    chosen = np.sort(np.fromiter(places.values(), np.int64, len(places)))
    starts = np.cumsum([0, *map(len, chunks[:-1])], dtype=np.int64)
    parts = np.split(chosen, places_in(chosen, starts[1:]))
    return [part - start for part, start in zip(parts, starts, strict=True)]


def _together(parts: Iterable[Ballots]) -> Ballots:
    together: Ballots = {}
    for ballots in parts:
        for uses, voters in ballots.items():
            _put(together, uses, voters)
    return together


def _put(ballots: Ballots, uses: tuple[Use, ...], voters: Voters) -> None:
    held = ballots.get(uses)
    ballots[uses] = voters if held is None else Voters(held.votes + voters.votes, held.first)


def _counted(ballots: Ballots, chosen: Mapping[str, str]) -> dict[Use, Voters]:
    """The votes for each use. A rule that is against what was chosen votes on that alone, and only if it is one."""
    counted: dict[Use, Voters] = {}
    for uses, (votes, first) in ballots.items():
        against = {name for name, kind in uses if chosen.get(name, kind) != kind}
        for use in uses if len(against) < 2 else ():
            if not against or use[0] in against:
                held = counted.get(use, Voters(0, first))
                counted[use] = Voters(held.votes + votes, held.first)
    return counted


def _majority(counted: Mapping[Use, Voters]) -> dict[str, str]:
    best: dict[str, Use] = {}
    for use, voters in counted.items():
        if use[0] not in best or voters.votes > counted[best[use[0]]].votes:
            best[use[0]] = use
    return dict(best.values())


def _told(use: Use, voters: Voters) -> Settled:
    return Settled(use[1], as_in(f"rule {voters.first!r}", voters.votes))
