"""Some rules of an index, as text, with all that judging them needs: small enough to travel with a task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from matchwood import storage
from matchwood.encoding import EventSettings
from matchwood.errors import InvalidArgument
from matchwood.language import Predicate, parse, postorder
from matchwood.sharding import open_shards


class RuleTexts(NamedTuple):
    """Rules by id, in the order asked for; the index's types of attributes and of ids, and how it reads events."""

    texts: dict[Any, str]
    types: dict[str, str]
    id_type: pa.DataType
    timezone: str
    settings: EventSettings

    @property
    def attributes(self) -> set[str]:
        """The names that the rules ask events for."""
        trees = map(parse, self.texts.values())
        return {node.attr for tree in trees for node in postorder(tree) if isinstance(node, Predicate)}


def rule_texts(path: storage.Path, rules: Sequence[Any]) -> RuleTexts:
    """The rules with these ids in the current version; UnknownRule if one is not there."""
    if isinstance(rules, str) or not isinstance(rules, Sequence) or not rules:
        raise InvalidArgument(f"rules must be a list of ids (got {rules!r:.80})")
    shards = open_shards(path)
    texts = {rule: shards.text(rule) for rule in rules}
    return RuleTexts(texts, shards.types(), shards.id_type, shards.timezone, shards.event_settings)
