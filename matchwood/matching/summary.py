"""What is told of an index that is about to be written, so that others can describe it without opening it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from matchwood.encoding import Use
from matchwood.matching.engine_matcher import EngineMatcher

if TYPE_CHECKING:
    from matchwood.index import Index


@dataclass(frozen=True)
class Summary:
    """An index, or a shard, in a few words; JSON-able by `to_json`.

    `rules`     how many it holds
    `id_type`   `int64` or `string`
    `uses`      attribute, kind and how many rules use it so
    `named`     the names that events are asked for
    `declared`  the types of names that a schema declares
    """

    rules: int
    id_type: str
    timezone: str
    uses: Sequence[Sequence[Any]]
    named: list[str]
    declared: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "uses": [list(use) for use in self.uses]}

    def counts(self) -> dict[Use, int]:
        return {(name, kind): count for name, kind, count in self.uses}


def summary_of(index: Index, id_type: str | None = None) -> Summary:
    """The summary of an index that is about to be written; `id_type` is for one that may be empty."""
    schema, table = index._encoder.schema, index._table
    uses = [(name, kind, count) for (name, kind), count in schema.counts().items()]
    declared = {name: kind for name, _, _ in uses if (kind := schema.declared.type_of(name)) not in (None, "any")}
    # The oracle encodes nothing, so there every name that a rule mentions counts.
    compiled = isinstance(index._matcher, EngineMatcher)
    named = index._encoder.attributes_named() if compiled else sorted({name for name, _, _ in uses})
    ids = id_type or str(table.id_type)
    return Summary(len(table), ids, index._encoder.timezone, uses, named, dict(declared))
