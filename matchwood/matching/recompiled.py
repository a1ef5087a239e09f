"""The conjunctions of an index that has none of its own, or not of all rules: of trees, expressions, clauses."""

from __future__ import annotations

from typing import Any

from matchwood.encoding import Encoder
from matchwood.engines import LEAST_ENGINE
from matchwood.matching.engine_matcher import EngineMatcher
from matchwood.matching.loading.batches import Batch
from matchwood.matching.loading.load import TURN_RULES
from matchwood.matching.loading.preparation import Preparation
from matchwood.matching.matcher import Matcher
from matchwood.rules import RuleTable


def as_engine_matcher(
    table: RuleTable, encoder: Encoder, matcher: Matcher, dnf_limit: int
) -> tuple[RuleTable, Encoder, EngineMatcher]:
    """The table, encoder and matcher themselves, or new ones with the same rules in the same order."""
    if isinstance(matcher, EngineMatcher) and matcher.holds_conjunctions:
        return table, encoder, matcher
    declared = encoder.schema.copy()
    declared.restore({})
    own_table, own_encoder = RuleTable(), Encoder(declared, encoder.timezone, event_settings=encoder.event_settings)
    own_encoder.misfits = encoder.misfits
    own = EngineMatcher(LEAST_ENGINE, own_encoder, own_table, {}, dnf_limit)
    prepare = Preparation(own_encoder, own.normal).prepare
    live = table.live_rows()
    for start in range(0, len(live), TURN_RULES):
        rows = live[start : start + TURN_RULES]
        ids = table.id_list(rows)
        texts = zip(ids, rows.tolist(), strict=True)
        prepared = [prepare(rule_id, table.text(row), _options(table, row)) for rule_id, row in texts]
        own.insert(Batch.of(ids, prepared))
    return own_table, own_encoder, own


def _options(table: RuleTable, row: int) -> dict[str, Any] | None:
    """The weights of a rule, as they are given with it."""
    options = {"weight": table.weight(row) or None, "weights": table.weights_json(row)}
    return options if any(options.values()) else None
