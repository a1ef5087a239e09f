"""How long `index.lint()` takes, with planted findings that it must report."""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc

from matchwood.bench.measure import WrongAnswer, timed
from matchwood.index import Index
from matchwood.workloads.begen import begen

RULES = {"quick": 100_000, "full": 1_000_000, "paper": 1_000_000}


def run(scale: str) -> dict[str, Any]:
    workload = begen(rules=RULES[scale], events=1, matching=0.01, seed=3)
    texts = workload.rules_text()
    planted = {
        "never": "a0 > 5 and a0 < 5",
        "always": "a0 is null or a0 < 5 or a0 >= 5",
        "duplicate": f"({texts[0]}) and true",
        "implied": f"{texts[1]} or a1 = -1",
    }
    index = Index()
    index.insert_many(enumerate([*texts, *planted.values()]))
    seconds, findings = timed(index.lint)
    found = {(row["id"], row["problem"]) for row in findings.filter(_late(findings, len(texts))).to_pylist()}
    missed = [problem for number, problem in enumerate(planted) if (len(texts) + number, problem) not in found]
    if missed:
        raise WrongAnswer(f"lint missed what was planted: {missed}")
    row = {
        "workload": "begen",
        "rules": len(index),
        "seconds": round(seconds, 2),
        "findings": findings.num_rows,
        "unsearched": int(findings.schema.metadata[b"unsearched"]),
        "checked": True,
    }
    return {"experiment": "lint", "scale": scale, "rows": [row]}


def _late(findings: Any, first: int) -> Any:
    return pc.greater_equal(findings["id"], first)
