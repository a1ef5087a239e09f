"""What most rules of a batch ask of their attributes: by that the few that say otherwise are refused.

Each rule that could be taken by itself has one vote on each attribute that it compares with something. So one mistyped
rule never decides a type against a thousand, whatever comes first. A rule that is refused because of another attribute
has none: votes are counted in rounds, until those who are refused stay the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from matchwood.encoding import Encoder, Schema, Settled, Use, as_in
from matchwood.errors import MatchwoodError
from matchwood.matching.loading.chunks import RuleChunk, RuleSource
from matchwood.matching.loading.preparation import as_expression

ROUNDS = 20
"""Chains of rules that are refused because of each other end long before; if not, any settlement is consistent."""


class Voters(NamedTuple):
    """How many rules ask the same of their attributes, and the first of them."""

    votes: int
    first: Any


Ballots: TypeAlias = dict[tuple[Use, ...], Voters]


class Votes:
    """Rules by what they ask of their attributes.

    Kinds that `known` has, of live rules or settled already, are not voted on: it is the encoder's own unless given.

    >>> votes = Votes(Encoder())
    >>> for number, text in enumerate(["age = '18'", "age > 1", "age > 2"]):
    ...     votes.add(RuleSource(number, text))
    >>> votes.settled()
    {'age': Settled(kind='number', by='as in rule 1 and 1 other rule')}
    """

    def __init__(self, encoder: Encoder, known: Schema | None = None) -> None:
        self._known = known or encoder.schema
        self.alone = Schema(strict=self._known.strict)
        """Holds rules against the declared types and nothing else."""
        self.alone.declared = self._known.declared
        self.ballots: Ballots = {}

    def add(self, rule: RuleSource) -> None:
        """Count a rule, unless it cannot be taken whatever others say."""
        if rule.problem is None and rule.id is not None:
            self.add_ballot(self.uses(rule.id, rule.expression), Voters(1, rule.id))

    def add_ballot(self, uses: Iterable[Use], voters: Voters) -> None:
        """Count rules that ask for these uses."""
        _put(self.ballots, tuple(uses), voters)

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
        names = {name for uses in self.ballots for name, kind in uses if kinds.setdefault(name, kind) != kind}
        return {name for name in names if not self._known.is_decided(name)}

    def on(self, names: Collection[str]) -> Ballots:
        """The votes on some attributes alone."""
        only: Ballots = {}
        for uses, voters in self.ballots.items():
            _put(only, tuple(use for use in uses if use[0] in names), voters)
        only.pop((), None)
        return only

    def each(self) -> Ballots:
        """The votes on each attribute by itself."""
        return {(use,): voters for use, voters in _counted(self.ballots, {}).items()}

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


def votes_of(encoder: Encoder, known: Schema, chunks: Iterable[RuleChunk], replaces: bool) -> Votes:
    """Of rules with one id only that votes which counts: the last if it replaces the others, else the first."""
    votes, chosen = Votes(encoder, known), dict[Any, RuleSource]()
    for chunk in chunks:
        for rule in chunk.sources():
            if isinstance(rule.id, int | str) and (replaces or rule.id not in chosen):
                chosen[rule.id] = rule
    for rule in chosen.values():
        votes.add(rule)
    return votes


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
