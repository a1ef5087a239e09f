"""Explanations of one rule and one event, and the rules to name when types contradict each other."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

import numpy as np

from matchwood.encoding import EventSettings, Schema
from matchwood.errors import InvalidArgument
from matchwood.insight.explain import Explanation, explain_expression
from matchwood.language import Predicate, parse
from matchwood.matching import stored_uses
from matchwood.rules import RuleTable
from matchwood.semantics import ReadEvent, evaluate_predicate


def explain_text(
    text: str, event: Mapping[str, Any], types: Mapping[str, str], timezone: str, settings: EventSettings
) -> Explanation:
    """The explanation of a rule's text; predicates are judged by the oracle, which defines them."""
    if not isinstance(event, Mapping):
        raise InvalidArgument(f"explain takes one event as a dict (got {type(event).__name__})")

    def evaluate(predicate: Predicate, of: Mapping[str, Any]) -> bool | None:
        return evaluate_predicate(predicate, of, types, timezone)

    read = ReadEvent(event, types, timezone, settings.nan_is_null(from_pandas=False), settings.coerce)
    return explain_expression(parse(text), read, evaluate)


def find_witness(table: RuleTable, schema: Schema, attribute: str, kind: str, passed_over: Container[Any]) -> Any:
    """The id of a live rule that uses an attribute as a kind, None if there is none.

    Looks at every rule: only errors ask. Most texts spell the attribute as it is, so those are parsed first.
    """
    name = attribute.strip("`")
    for spelled in (True, False):
        for row in table.live_rows().tolist():
            text = table.text(row)
            if (name in text) is spelled and (attribute, kind) in stored_uses(schema, text):
                rule_id = table.id_list(np.array([row]))[0]
                if rule_id not in passed_over:
                    return rule_id
    return None
