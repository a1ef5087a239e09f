"""Fit the weights that `engine="auto"` predicts with, and write them where the package looks for them.

    python -m matchwood.bench.auto.fit [SCALE]

Measures the half of the grid of `bench auto` that is not held out, some two minutes at scale `quick`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from matchwood.bench.auto.cells import measure, warm_up
from matchwood.bench.auto.experiment import fitted
from matchwood.bench.auto.plan import SCALES, cells
from matchwood.bench.frame.measure import time_box
from matchwood.bench.frame.parts import TIME_BOXES
from matchwood.choosing import model
from matchwood.progress import Progress

COMMAND = "python -m matchwood.bench.auto.fit"


def write_weights(scale: str, path: Path) -> int:
    """Measure, fit, and write; returns the number of cells."""
    warm_up()
    chosen = [cell for cell in cells(scale) if not cell.held_out]
    outcomes = []
    with Progress("fitting", "workloads", len(chosen)) as progress, time_box(TIME_BOXES[scale]):
        for cell in chosen:
            outcomes.append(measure(cell, SCALES[scale]))
            progress.advance()
    table = model.as_table(fitted(outcomes), made_by=f"{COMMAND} {scale}", cells=len(outcomes))
    path.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    return len(outcomes)


if __name__ == "__main__":
    target = Path(model.__file__).with_name("coefficients.json")
    count = write_weights(sys.argv[1] if len(sys.argv) > 1 else "quick", target)
    print(f"{target}: weights from {count} workloads")
