"""How long `index.lint()` takes, with planted findings that it must report."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from matchwood.bench.frame.measure import WrongAnswer, timed
from matchwood.bench.frame.setup import insert_all, sizes, warm_up
from matchwood.index import Index
from matchwood.progress import Progress
from matchwood.workloads import begen

RULES = {"smoke": 2_000, "quick": 100_000, "full": 1_000_000, "paper": 1_000_000}


def run(scale: str) -> dict[str, Any]:
    warm_up(["counting"])
    texts = begen(rules=RULES[scale], events=1, matching=0.01, seed=3).rules_text()
    mistakes = planted(texts)
    index = Index()
    build_s, _ = timed(lambda: insert_all(index, [*texts, *mistakes.values()]))
    with Progress("linting"):
        lint_s, findings = timed(index.lint)
    check(findings, len(texts), list(mistakes))
    row = {
        "engine": index.engine,
        "workload": "begen, planted",
        "rules": len(index),
        "build_s": round(build_s, 3),
        **sizes(index),
        "checked": True,
        "lint_s": round(lint_s, 4),
        "findings": findings.num_rows,
        "unsearched": int(findings.schema.metadata[b"unsearched"]),
    }
    return {"experiment": "lint", "scale": scale, "rows": [row]}


def planted(texts: list[str]) -> dict[str, str]:
    """A rule for each problem."""
    return {
        "never": "a0 > 5 and a0 < 5",
        "always": "a0 is null or a0 < 5 or a0 >= 5",
        "duplicate": f"({texts[0]}) and true",
        "implied": f"{texts[1]} or a1 = -1",
    }


def check(findings: pa.Table, first: int, problems: list[str]) -> None:
    """The rule with the id `first` has the first problem, the next one the second, and so on."""
    rows = findings.filter(pc.greater_equal(findings["id"], first)).to_pylist()
    found = {(row["id"], row["problem"]) for row in rows}
    missed = [problem for number, problem in enumerate(problems) if (first + number, problem) not in found]
    if missed:
        raise WrongAnswer(f"lint missed what was planted: {', '.join(missed)}")
