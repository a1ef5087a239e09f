"""What `index.find` is asked: one of eight semantics, and an expression as the conjunctions of its normal form."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any, NamedTuple

from matchwood.encoding import Binder, Schema, Zone
from matchwood.errors import InvalidArgument, LimitExceeded, ParseError
from matchwood.insight.find.points import apart, settled
from matchwood.language import Expression, in_source
from matchwood.logic import Conjunction, Form, dnf_of, is_never
from matchwood.matching import as_expression

SEMANTICS = (
    "stabbing_subscription",
    "stabbing_event",
    "symmetric",
    "containment",
    "enclosure",
    "exact",
    "implies",
    "implied_by",
)

FIND_LIMIT = 4_096
"""Conjunctions of a query, or of a rule that is taken apart for it. A rule's stored ones may be more."""


TEXT_BY_TEXT = {"stabbing_subscription", "stabbing_event", "implied_by"}
"""Semantics that ask for some event of the query, or of each: texts that it names are looked at one by one."""


class Query(NamedTuple):
    """A query that can be satisfied.

    `rows`   its conjunctions, at least one
    `kinds`  the domain of each attribute whose values it compares
    """

    semantics: str
    rows: list[Conjunction]
    kinds: Mapping[str, str]

    def facing(self, sources: Container[str]) -> Query:
        """The query for rules whose patterns look at some texts."""
        return self._replace(rows=apart(self.rows, sources, FIND_LIMIT)) if self.semantics in TEXT_BY_TEXT else self


def query_of(source: Any, semantics: str, schema: Schema, timezone: str) -> Query:
    """A query that agrees with the types of an index; changes nothing there."""
    if semantics not in SEMANTICS:
        raise InvalidArgument(f"semantics must be one of {', '.join(map(repr, SEMANTICS))} (got {semantics!r:.80})")
    expression = as_expression(source)
    schema.check(expression, where="query")
    # A binder of its own: the encoder's remembers the domains of what it has bound last.
    binder = Binder(schema, Zone(timezone))
    rows = settled(_rows(expression, binder, source))
    if not rows:
        raise InvalidArgument(f"no event can satisfy the query {str(source)!r:.80}: there is nothing to compare with")
    kinds = {key: kind if (kind := schema.kind(key)) != "any" else asked for key, asked in binder.kinds.items()}
    return Query(semantics, rows, kinds)


def _rows(expression: Expression, binder: Binder, source: Any) -> list[Conjunction]:
    try:
        normal = dnf_of(expression, binder.bind, FIND_LIMIT)
    except ParseError as error:
        # A pattern is read only now.
        raise (in_source(error, expression, source) if isinstance(source, str) else error) from None
    if not isinstance(normal, Form):
        return normal
    if is_never(normal):
        return []
    raise LimitExceeded(f"the query has more than {FIND_LIMIT:,} conjunctions: ask for its parts, one by one")
