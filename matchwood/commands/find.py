"""`matchwood find`: the rules that stand in a relation to an expression."""

from __future__ import annotations

import argparse
import json
from typing import Any

from matchwood.commands.names import HELP
from matchwood.insight import SEMANTICS
from matchwood.sharding import open_index


def add_arguments(commands: Any) -> None:
    find = commands.add_parser("find", help=HELP["find"])
    find.add_argument("index", help="a saved index")
    find.add_argument("expression", help="the expression, written like a rule")
    find.add_argument(
        "--semantics",
        choices=SEMANTICS,
        default=SEMANTICS[0],
        help=f"the relation of the rules to the expression (default: {SEMANTICS[0]})",
    )
    find.add_argument("--json", action="store_true", help="each rule as a line of JSON, with its id and expression")
    find.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    index = open_index(arguments.index, read_only=True)
    for rule_id in index.find(arguments.expression, arguments.semantics):
        told = {"id": rule_id, "expression": index[rule_id]}
        print(json.dumps(told, ensure_ascii=False) if arguments.json else f"{rule_id}: {told['expression']}")
    return 0
