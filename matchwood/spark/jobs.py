"""What the Spark UI says of the jobs that Matchwood runs itself, and how far they are."""

from __future__ import annotations

import contextlib
import sys
import uuid
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from matchwood.progress import Progress

_DESCRIPTION = "spark.job.description"

TasksDone: TypeAlias = tuple[int, int]
"""How many tasks are done, and how many there are as far as Spark has planned."""


@contextlib.contextmanager
def described(spark: Any, text: str) -> Iterator[Progress | None]:
    """Call the jobs of the block so; in terminals and notebooks, show how many of their tasks are done.

    Spark Connect has no descriptions, and no context to set them in: there the block runs without.
    """
    context = _context(spark)
    before = None if context is None else context.getLocalProperty(_DESCRIPTION)
    if context is not None:
        context.setLocalProperty(_DESCRIPTION, f"matchwood: {text}")
    try:
        with _line(spark, text) if _is_watched() else contextlib.nullcontext() as line:
            yield line
    finally:
        if context is not None:
            context.setLocalProperty(_DESCRIPTION, before)


def _is_watched() -> bool:
    """Whether a person sees standard error: logs of jobs need no lines that only tell the time."""
    # Libraries import ipykernel where there is no notebook: only a shell of IPython's that has a kernel is one.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel") or (sys.stderr is not None and sys.stderr.isatty())


@contextlib.contextmanager
def _line(spark: Any, text: str) -> Iterator[Progress]:
    with counted_tasks(spark) as tasks:

        def look(line: Progress) -> None:
            line.done, line.total = tasks()

        with Progress(text, "tasks", look=look) as line:
            yield line


@contextlib.contextmanager
def counted_tasks(spark: Any) -> Iterator[Callable[[], TasksDone]]:
    """A function that tells, at any time and in any thread, how many tasks of the block's jobs are done."""
    context = _context(spark)
    if context is None and not hasattr(spark, "registerProgressHandler"):
        yield lambda: (0, 0)
        return
    with _tagged(context) if context is not None else _handled(spark) as tasks:
        yield tasks


@contextlib.contextmanager
def _tagged(context: Any) -> Iterator[Callable[[], TasksDone]]:
    """By a tag, which leaves the caller's job group alone. PySpark has tags, but only the JVM can look for them."""
    tag = f"matchwood-{uuid.uuid4().hex}"
    tracker, jvm_tracker = context.statusTracker(), context._jsc.sc().statusTracker()

    def tasks() -> TasksDone:
        jobs = [tracker.getJobInfo(job) for job in jvm_tracker.getJobIdsForTag(tag)]
        found = {stage for job in jobs if job is not None for stage in job.stageIds}
        stages = [told for stage in found if (told := tracker.getStageInfo(stage)) is not None]
        return sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)

    context.addJobTag(tag)
    try:
        yield tasks
    finally:
        context.removeJobTag(tag)


@contextlib.contextmanager
def _handled(spark: Any) -> Iterator[Callable[[], TasksDone]]:
    """Through Connect the server tells, of all operations of this client that run meanwhile."""
    told: dict[Any, TasksDone] = {}

    def handler(stages: Any, inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        for stage in stages or ():
            told[operation_id, stage.stage_id] = stage.num_completed_tasks, stage.num_tasks

    def tasks() -> TasksDone:
        every = list(told.values())
        return sum(done for done, _ in every), sum(count for _, count in every)

    spark.registerProgressHandler(handler)
    try:
        yield tasks
    finally:
        spark.removeProgressHandler(handler)


def _context(spark: Any) -> Any:
    """The context, if it may be asked: Connect has none, and some platforms forbid calls into the JVM."""
    try:
        context = spark.sparkContext
        context._jsc.sc().statusTracker()
    except Exception:  # whatever such a platform raises: a description and a line are not worth a failed job
        return None
    return context
