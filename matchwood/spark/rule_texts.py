"""Some rules of an index, as text, with all that judging them needs: small enough to travel with a task."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from pyspark.sql import types as T

from matchwood.errors import InvalidArgument
from matchwood.index import open_index
from matchwood.language import Predicate, parse, postorder


class RuleTexts(NamedTuple):
    """Rules by id, in the order asked for; the types of their attributes, and the index's time zone."""

    texts: dict[Any, str]
    types: dict[str, str]
    timezone: str

    @property
    def attributes(self) -> set[str]:
        """The names that the rules ask events for."""
        trees = map(parse, self.texts.values())
        return {node.attr for tree in trees for node in postorder(tree) if isinstance(node, Predicate)}

    @property
    def id_type(self) -> T.DataType:
        return T.LongType() if all(isinstance(rule, int) for rule in self.texts) else T.StringType()


def rule_texts(path: str | os.PathLike[str], rules: Sequence[Any]) -> RuleTexts:
    """The rules with these ids in the current version; UnknownRule if one is not there."""
    if isinstance(rules, str) or not isinstance(rules, Sequence) or not rules:
        raise InvalidArgument(f"rules must be a list of ids (got {rules!r:.80})")
    index = open_index(path, read_only=True)
    texts = {rule: index[rule] for rule in rules}
    return RuleTexts(texts, index.types(), str(index._encoder.timezone))
