"""How fast rules become an index that is ready to match: from an Arrow column of texts, one core, each rule distinct.

Seconds are those of the process, which others on the machine do not lengthen. Shares are those of a second build with a
clock in each step: *read* is text to trees, *bind* what each distinct predicate means, *normalise* trees to
conjunctions, *one by one* the rules that kernels do not take, *encode* conjunctions to integers, *engine* the store and
the engine, *ids and texts* the table of rules. The numbers of conjunctions of some rules are held against those that
the rules have by themselves.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from matchwood.bench.frame.measure import WrongAnswer
from matchwood.bench.frame.setup import sizes
from matchwood.bench.own.steps import Place, StepClock
from matchwood.encoding import CompiledRules, Encoder, PredicateBook, RuleReader
from matchwood.errors import counted_were
from matchwood.index import Index
from matchwood.language import parse
from matchwood.logic import RuleExpander
from matchwood.matching import EngineMatcher, Preparation
from matchwood.progress import Progress
from matchwood.rules import RuleTable, UnitKind
from matchwood.workloads import abegen, ads, begen, campaigns

RULES = {"smoke": 2_000, "quick": 100_000, "full": 1_000_000, "paper": 1_000_000}
NESTED = {"smoke": 2_000, "quick": 20_000, "full": 100_000, "paper": 100_000}
DETECTIONS = {"smoke": 2_000, "quick": 3_600, "full": 3_600, "paper": 3_600}
SEED, CHECKED, WARM = 23, 200, 3_000
DEFAULT = "auto"

UNITS: tuple[UnitKind, ...] = ("conjunctions", "forms")

STEPS: dict[str, list[Place]] = {
    "read": [(RuleReader, "read")],
    "bind": [(PredicateBook, "number"), (PredicateBook, "learn")],
    "normalise": [(RuleExpander, "expand")],
    "one by one": [(Preparation, "prepare")],
    "encode": [(CompiledRules, "flat"), (CompiledRules, "flat_forms"), (Encoder, "encode"), (Encoder, "encode_forms")],
    "engine": [(EngineMatcher, "insert"), (EngineMatcher, "take_held_back"), (Index, "_lay_out_anew")],
    "ids and texts": [(RuleTable, "locate"), (RuleTable, "insert_many"), (RuleTable, "link")],
}

Row = dict[str, Any]


def run(scale: str) -> dict[str, Any]:
    rows = []
    with Progress("bench build", "workloads", len(WORKLOADS)) as progress:
        for name, (most, texts, engine) in WORKLOADS.items():
            rows.append(measure(name, texts(most[scale]), engine))
            progress.advance()
    return {"experiment": "build", "scale": scale, "rows": rows}


def measure(name: str, texts: pa.Array, engine: str = DEFAULT) -> Row:
    """The row of one workload."""
    texts = texts.unique()
    rules = pa.table({"id": np.arange(len(texts)), "expression": texts})
    build(rules.slice(0, WARM), engine)
    seconds, index = build(rules, engine)
    check(index, texts)
    clock = StepClock(STEPS)
    with clock.running():
        whole, _ = build(rules, engine)
    shares = {f"share_{step.replace(' ', '_')}": round(taken / whole, 3) for step, taken in clock.seconds.items()}
    return {
        "engine": index.engine,
        "workload": name,
        "rules": len(texts),
        "build_s": round(seconds, 3),
        **sizes(index),
        "bytes_text": round(texts.nbytes / len(texts)),
        "checked": True,
        "rules_per_s": round(len(texts) / seconds),
        "conjunctions": sum(len(index._table.pairs(kind)[0]) for kind in UNITS),
        **shares,
    }


def build(rules: pa.Table, engine: str = DEFAULT) -> tuple[float, Index]:
    """Seconds of this process, and the index; a rule that is rejected makes the run worthless."""
    index = Index(engine)
    begin = time.process_time()
    report = index.insert_many(rules)
    seconds = time.process_time() - begin
    if report.inserted != len(rules):
        raise WrongAnswer(
            f"{counted_were(len(rules) - report.inserted, 'rule')} rejected: {report.rejected['error'][0]}"
        )
    return seconds, index


def check(index: Index, texts: pa.Array) -> None:
    """Hold the units of some rules, conjunctions or forms, against those that they have by themselves."""
    rows = np.concatenate([index._table.pairs(kind)[0] for kind in UNITS])
    stored = np.bincount(rows, minlength=len(texts))
    for row in np.linspace(0, len(texts) - 1, min(CHECKED, len(texts))).astype(int).tolist():
        normal = index._matcher.normal(parse(texts[row].as_py()))
        expected = len(normal) if isinstance(normal, list) else 1
        if expected != stored[row]:
            raise WrongAnswer(f"{stored[row]} units instead of {expected}: {texts[row].as_py():.200}")


def _generated(generate: Callable[..., Any], count: int) -> pa.Array:
    texts: pa.Array = generate(rules=count, events=1, seed=SEED).rules_table()["expression"].combine_chunks()
    return texts


def _campaigns(count: int) -> pa.Array:
    return pa.array([text for _, text in campaigns(count, SEED)])


TOOLS = ("powershell", "certutil", "rundll32", "wmic", "mshta", "bitsadmin", "regsvr32", "schtasks", "net", "curl")
FLAGS = ("enc", "urlcache", "download", "hidden", "bypass", "create", "invoke", "javascript", "transfer", "remote")
FIELDS = ("process.command_line", "process.image", "process.parent", "file.path", "registry.key")


def detections(count: int) -> pa.Array:
    """Rules as those of a security team: who started what with which words, and known exceptions.

    >>> detections(1)[0].as_py().count("ilike")
    6
    """
    draw = random.Random(SEED)
    return pa.array([_detection(draw, number) for number in range(count)])


def _detection(draw: random.Random, number: int) -> str:
    images = [f"{draw.choice(FIELDS[1:3])} ilike '%\\\\{tool}.exe'" for tool in draw.sample(TOOLS, 2)]
    words = [f"process.command_line ilike '%-{word}%{number % 97}%'" for word in draw.sample(FLAGS, draw.randint(1, 3))]
    paths = [f"{draw.choice(FIELDS[3:])} not ilike '%Program Files/{number}/%'"]
    both = draw.choice((" and ", " or ")).join(words)
    return f"({' or '.join(images)}) and ({both}) and not (user ilike 'svc-{number % 311}%') and {paths[0]}"


WORKLOADS: dict[str, tuple[dict[str, int], Callable[[int], pa.Array], str]] = {
    "begen": (RULES, partial(_generated, begen), DEFAULT),
    "ads": (RULES, partial(_generated, ads), DEFAULT),
    "campaigns": (RULES, _campaigns, DEFAULT),
    "abegen": (NESTED, partial(_generated, abegen), DEFAULT),
    "abegen, A-Tree": (NESTED, partial(_generated, abegen), "atree"),
    "detections": (DETECTIONS, detections, DEFAULT),
}
"""How many rules, their texts, and the engine: an A-Tree takes nested rules whole, all others by their conjunctions."""
