"""The ways to hand over many rules at once, all turned into chunks of plain tuples."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from matchwood.errors import InvalidArgument

CHUNK_RULES = 20_000
"""Rules prepared at a time: enough to vectorise, few enough that their trees take tens of megabytes."""

_RULE_COLUMNS = ("id", "expression", "weight", "weights")


class RuleSource(NamedTuple):
    """One rule as handed over: nothing is checked yet."""

    id: Any
    expression: Any
    options: Mapping[str, Any] | None = None


def rule_chunks(rules: Any) -> Iterator[list[RuleSource]]:
    """Chunks of rules from tuples, a mapping, Arrow data, pandas, or anything that speaks Arrow."""
    if isinstance(rules, Mapping):
        rules = rules.items()
    if hasattr(rules, "__arrow_c_stream__"):
        return _arrow_chunks(pa.RecordBatchReader.from_stream(rules))
    if isinstance(rules, pa.RecordBatch):
        return _arrow_chunks(pa.Table.from_batches([rules]).to_reader())
    if hasattr(rules, "columns") and hasattr(rules, "iloc"):
        return _arrow_chunks(pa.Table.from_pandas(rules, preserve_index=False).to_reader())
    if isinstance(rules, str | bytes) or not isinstance(rules, Iterable):
        raise InvalidArgument(
            "rules must be (id, expression) tuples, a mapping, or a table with the columns id and expression "
            f"(got {type(rules).__name__})"
        )
    return _tuple_chunks(rules)


def _tuple_chunks(rules: Iterable[Any]) -> Iterator[list[RuleSource]]:
    numbered = enumerate(rules)
    while chunk := [_from_tuple(position, rule) for position, rule in itertools.islice(numbered, CHUNK_RULES)]:
        yield chunk


def _from_tuple(position: int, rule: Any) -> RuleSource:
    if isinstance(rule, tuple | list) and len(rule) in (2, 3):
        return RuleSource(*rule)
    raise InvalidArgument(
        f"rule {position}: must be (id, expression) or (id, expression, {{'weight': …, 'weights': …}}) (got {rule!r:.80})"
    )


def _arrow_chunks(reader: pa.RecordBatchReader) -> Iterator[list[RuleSource]]:
    names = reader.schema.names
    for required in _RULE_COLUMNS[:2]:
        if required not in names:
            raise InvalidArgument(f"the table of rules has no column {required!r} (its columns: {', '.join(names)})")
    for batch in reader:
        for start in range(0, batch.num_rows, CHUNK_RULES):
            yield _from_batch(batch.slice(start, CHUNK_RULES))


def _from_batch(batch: pa.RecordBatch) -> list[RuleSource]:
    columns = {name: batch.column(name).to_pylist() for name in _RULE_COLUMNS if name in batch.schema.names}
    nothing = itertools.repeat(None)
    weights = zip(columns.get("weight", nothing), columns.get("weights", nothing), strict=False)
    return [
        RuleSource(rule_id, expression, _options(weight, per_value))
        for rule_id, expression, (weight, per_value) in zip(
            columns["id"], columns["expression"], weights, strict=False
        )
    ]


def _options(weight: float | None, weights: Any) -> dict[str, Any] | None:
    """The options of one row; weights come as JSON text in tables."""
    options: dict[str, Any] = {}
    if weight is not None:
        options["weight"] = weight
    if weights is not None:
        options["weights"] = weights
    return options or None


def parse_weights(text: str) -> Any:
    """The weights of a table's cell; what is not JSON is said to be so."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"weights must be JSON like {{\"state\": {{\"NY\": 4.0}}}} ({error})") from None
