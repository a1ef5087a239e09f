"""What the Spark UI says of the jobs that Matchwood runs itself, and how far they are."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from pyspark.errors import PySparkException

from matchwood.progress import Progress

_DESCRIPTION = "spark.job.description"


@contextlib.contextmanager
def described(spark: Any, text: str) -> Iterator[None]:
    """Call the jobs of the block so; in terminals and notebooks, show how long they take.

    Spark Connect has no descriptions, and no context to set them in: there the block runs without.
    """
    context = _context(spark)
    before = None if context is None else context.getLocalProperty(_DESCRIPTION)
    if context is not None:
        context.setLocalProperty(_DESCRIPTION, f"matchwood: {text}")
    try:
        with Progress(text) if _is_watched() else contextlib.nullcontext():
            yield
    finally:
        if context is not None:
            context.setLocalProperty(_DESCRIPTION, before)


def _context(spark: Any) -> Any:
    try:
        return spark.sparkContext
    except (AttributeError, NotImplementedError, PySparkException):
        return None


def _is_watched() -> bool:
    """Whether a person sees standard error: logs of jobs need no lines that only tell the time."""
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
