"""What the metrics of a match say, for people."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from matchwood.errors import InvalidArgument
from matchwood.spark.match.answer import STEPS
from matchwood.spark.match.task import MISFITS


def report(metrics: Any, name: str | None = None) -> str:
    """Print what a match did, from its metrics, and return the text.

    `metrics`  the `Observation` that `match` was given, once the job is done; or a streaming query or its progress,
               whose metrics were observed under a `name`
    `name`     the name of a stream's metrics; not needed if there is only one

    >>> text = report({"events": 1000, "hits": 50, "candidates": 75, "misfits": 0, "engine": "kindex",
    ...                "seconds.encode": 0.5, "seconds.match": 1.0, "seconds.emit": 0.25})
    1,000 events, 50 hits (0.05 per event), 75 candidates (1.5 per hit), engine kindex
    1.8 s in all workers: encode 0.5, match 1.0, emit 0.2
    every value fits
    """
    found = _found(metrics, name)
    try:
        text = "\n".join([_work(found), _seconds(found), _misfits(found)])
    except KeyError as error:
        raise InvalidArgument(f"these are not the metrics of a match: there is no {error} among them") from None
    print(text)
    return text


def _found(metrics: Any, name: str | None) -> Mapping[str, Any]:
    """The metrics themselves, whatever holds them."""
    if isinstance(metrics, Mapping) and "observedMetrics" not in metrics:
        return metrics
    if hasattr(type(metrics), "get") and not isinstance(metrics, Mapping):
        return dict(metrics.get)
    progress = getattr(metrics, "lastProgress", metrics)
    observed: Any = None
    with contextlib.suppress(AttributeError, KeyError, TypeError):
        observed = progress["observedMetrics"] if isinstance(progress, Mapping) else progress.observedMetrics
    if not observed:
        raise InvalidArgument(
            f"report takes the Observation that match was given as metrics=, or a streaming query that observes, once "
            f"it has progress (got {metrics!r:.80})"
        )
    if name is None and len(observed) == 1:
        (name,) = observed
    if name not in observed:
        raise InvalidArgument(f"name must be one of {', '.join(map(repr, observed))} (got {name!r})")
    held = observed[name]
    return dict(held) if isinstance(held, Mapping) else dict(held.asDict())


def _work(found: Mapping[str, Any]) -> str:
    events, hits, candidates = (int(found[name]) for name in ("events", "hits", "candidates"))
    each = f"{hits / max(events, 1):.2f} per event"
    looked = f"{candidates:,} candidates ({candidates / max(hits, 1):.1f} per hit)"
    return f"{events:,} events, {hits:,} hits ({each}), {looked}, engine {found['engine'] or 'unknown'}"


def _seconds(found: Mapping[str, Any]) -> str:
    seconds = {step: float(found[f"seconds.{step}"]) for step in STEPS}
    return f"{sum(seconds.values()):.1f} s in all workers: " + ", ".join(f"{s} {v:.1f}" for s, v in seconds.items())


def _misfits(found: Mapping[str, Any]) -> str:
    total, prefix = int(found[MISFITS]), f"{MISFITS}."
    if not total:
        return "every value fits"
    each = {name.removeprefix(prefix): count for name, count in found.items() if name.startswith(prefix) and count}
    return f"{total:,} values did not fit: " + ", ".join(f"{name} {count:,}" for name, count in each.items())
