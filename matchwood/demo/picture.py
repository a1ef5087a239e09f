"""The demo's results as one HTML page."""

from __future__ import annotations

import html
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matchwood.bench import bar_chart

Counts: TypeAlias = NDArray[np.int64]
Bars: TypeAlias = list[tuple[str, float]]

_BOUNDS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 10**12)
_STYLE = (
    "body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #222 }"
)


def write_page(path: Path, facts: str, sections: Sequence[tuple[str, str]]) -> None:
    """A page of charts, each under its title; it needs nothing but itself."""
    charts = "\n".join(f"<h2>{html.escape(title)}</h2>\n{chart}" for title, chart in sections)
    head = f"<meta charset='utf-8'><title>Matchwood demo</title><style>{_STYLE}</style>"
    body = f"<h1>Campaigns and page views</h1>\n<p>{html.escape(facts)}</p>\n{charts}"
    page = f"<!doctype html><html lang='en'><head>{head}</head><body>{body}\n</body></html>\n"
    path.write_text(page, encoding="utf-8")


def sections_of(per_view: Counts, ages: Bars, reach: Bars) -> list[tuple[str, str]]:
    """How many campaigns a view hits, at which age, and which campaigns reach most."""
    return [
        ("Campaigns that a page view hits", bar_chart(histogram(per_view), "page views")),
        ("Campaigns by the viewer's age", bar_chart(ages, "hits of a page view, on average")),
        ("The campaigns with the widest reach", bar_chart(reach, "page views")),
    ]


def histogram(per_view: Counts) -> Bars:
    """Views by their number of hits, in classes that grow; empty ones at both ends are left out.

    >>> import numpy as np
    >>> histogram(np.array([3, 3, 12, 60]))
    [('2 to 4', 2.0), ('5 to 9', 0.0), ('10 to 19', 1.0), ('20 to 49', 0.0), ('50 to 99', 1.0)]
    """
    counts = np.histogram(per_view, _BOUNDS)[0]
    names = [f"{low:,}" if low + 1 == high else f"{low:,} to {high - 1:,}" for low, high in pairwise(_BOUNDS)]
    names[-1] = f"{_BOUNDS[-2]:,} or more"
    filled = np.flatnonzero(counts)
    return [(names[place], float(counts[place])) for place in range(filled[0], filled[-1] + 1)]


def by_age(per_view: Counts, ages: pa.ChunkedArray) -> Bars:
    """Hits of a view on average, by tens of years; every campaign asks for an age, so unknown ones have none."""
    tens = pc.fill_null(pc.divide(ages, 10), -1).to_numpy()
    return [(age_class(ten), float(per_view[tens == ten].mean())) for ten in np.unique(tens).tolist()]


def age_class(tens: int) -> str:
    return "unknown" if tens < 0 else f"{10 * tens} to {10 * tens + 9}"
