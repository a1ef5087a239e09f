"""Explanations of one rule and one event, and the rules to name when types contradict each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from matchwood.encoding import Encoder
from matchwood.engines.oracle import evaluate_predicate
from matchwood.explain import Explanation, explain
from matchwood.indexing.preparation import uses_of
from matchwood.language import Predicate, parse
from matchwood.rules import RuleTable


def explain_text(text: str, event: Mapping[str, Any], encoder: Encoder) -> Explanation:
    """The explanation of a rule's text; predicates are judged by the oracle, which defines them."""
    types = encoder.schema.types()

    def judge(predicate: Predicate, of: Mapping[str, Any]) -> bool | None:
        return evaluate_predicate(predicate, of, types, encoder.timezone)

    return explain(parse(text), event, judge)


def find_witness(table: RuleTable, attribute: str, kind: str) -> Any:
    """The id of a live rule that uses an attribute as a kind, None if there is none. Looks at every rule: only errors ask."""
    for row in table.live_rows().tolist():
        text = table.text(row)
        if attribute.strip("`") in text and (attribute, kind) in uses_of(text):
            return table.id_list(np.array([row]))[0]
    return None
