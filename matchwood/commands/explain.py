"""`matchwood explain`: why a rule is true, false or unknown for an event."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from matchwood.commands.names import HELP, WrongCall
from matchwood.encoding import fraction_of
from matchwood.errors import InvalidArgument
from matchwood.index import Index
from matchwood.sharding import open_index


def add_arguments(commands: Any) -> None:
    explain = commands.add_parser("explain", help=HELP["explain"])
    explain.add_argument("index", help="a saved index")
    explain.add_argument("rule", help="the rule's id")
    explain.add_argument("event", help="the event as JSON, or @FILE for a file that contains it")
    explain.add_argument("--json", action="store_true", help="print data instead of a drawing")
    explain.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    event = event_of(arguments.event)
    index = open_index(arguments.index, read_only=True)
    explanation = index.explain(event, rule_id(index, arguments.rule))
    print(json.dumps(explanation.to_dict(), ensure_ascii=False, default=str) if arguments.json else explanation)
    return 0


def event_of(text: str) -> dict[str, Any]:
    """An event from the command line: JSON, or @FILE with JSON in it."""
    source = "the event"
    if text.startswith("@"):
        source = text[1:]
        try:
            text = Path(source).read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise InvalidArgument(f"{source}: not readable as text ({error})") from None
    try:
        event = json.loads(text, parse_float=fraction_of)
    except (ValueError, RecursionError) as error:
        raise WrongCall(f"{source} must be a JSON object like '{{\"age\": 20}}' ({error})") from None
    if not isinstance(event, dict):
        raise WrongCall(f"{source} must be a JSON object like '{{\"age\": 20}}' (got {text.strip():.60})")
    return event


def rule_id(index: Index, text: str) -> int | str:
    """An id from the command line, as the kind of id that the index has."""
    if not pa.types.is_integer(index._table.id_type):
        return text
    try:
        return int(text)
    except ValueError:
        raise InvalidArgument(f"the ids of this index are integers (got {text!r})") from None
