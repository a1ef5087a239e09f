"""Altair charts from plain rows. Bars are linear and begin at zero."""

from __future__ import annotations

from typing import Any

from matchwood.errors import MatchwoodError
from matchwood.insight.plots.overlap import Overlap
from matchwood.insight.plots.tables import REASONS, reason_rows

_COLOURS = ("#d55e00", "#999999", "#56b4e9")
"""Told apart by everybody, also in grey (Okabe and Ito)."""
_BLUE, _ORANGE = "#0072b2", "#d55e00"
WIDTH = 420


def altair() -> Any:
    """The library, which is an extra."""
    try:
        import altair as alt
    except ImportError:
        raise MatchwoodError("charts need Altair: pip install 'matchwood[plot]'") from None
    return alt


def why_not(counts: list[dict[str, Any]]) -> Any:
    """For each rule and predicate, the events in which it keeps the rule from being true."""
    alt = altair()
    bars = alt.Chart(alt.Data(values=reason_rows(counts))).mark_bar()
    told = list(REASONS.values())
    chart = bars.encode(
        x=alt.X("events:Q", title="events for which the rule is not true"),
        y=alt.Y("predicate:N", title=None, sort=None, axis=alt.Axis(labelLimit=300)),
        color=alt.Color("reason:N", title=None, scale=alt.Scale(domain=told, range=list(_COLOURS)), sort=told),
        order=alt.Order("order:Q"),
        tooltip=["rule:N", "predicate:N", "reason:N", "events:Q", alt.Tooltip("share:Q", format=".1%")],
    )
    rows = list(dict.fromkeys(row["rule"] for row in counts))
    heading = alt.Header(labelOrient="top", labelAnchor="start", labelFontWeight="bold", title=None)
    faceted = chart.properties(width=WIDTH).facet(row=alt.Row("rule:N", sort=rows, header=heading))
    return faceted.resolve_scale(y="independent").configure_legend(orient="bottom", labelLimit=300)


def hits_per_event(rows: list[dict[str, Any]]) -> Any:
    """How many events have how many hits."""
    alt = altair()
    chart = alt.Chart(alt.Data(values=rows)).mark_bar(color=_BLUE)
    return chart.encode(
        x=alt.X("hits:O", sort=None, title="rules that are true for an event", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("events:Q", title="events"),
        tooltip=["hits:O", "events:Q"],
    ).properties(width=WIDTH, height=220)


def hits_per_rule(rows: list[dict[str, Any]], total: int, known: int | None = None) -> Any:
    """The rules with most hits, of a `total` that have any, and of so many that are known."""
    alt = altair()
    chart = alt.Chart(alt.Data(values=rows)).mark_bar(color=_BLUE)
    title = f"{len(rows):,} of {total:,} rules with hits" if len(rows) < total else f"all {total:,} rules with hits"
    title += "" if known is None else f"; {known - total:,} without"
    return chart.encode(
        x=alt.X("hits:Q", title="events for which a rule is true"),
        y=alt.Y("rule:N", sort=None, title=None),
        tooltip=["rule:N", "hits:Q"],
    ).properties(width=WIDTH, title=title)


def overlap(found: Overlap) -> Any:
    """Rules as circles, larger with more hits; a line joins two that are true of the same events, thicker with more."""
    alt = altair()
    room = alt.Scale(zero=False, nice=False, padding=40)
    x, y = alt.X("x:Q", axis=None, scale=room), alt.Y("y:Q", axis=None, scale=room)
    lines = alt.Chart(alt.Data(values=found.pairs)).mark_rule(color=_ORANGE, opacity=0.6)
    lines = lines.encode(
        x=x,
        y=y,
        x2="x2:Q",
        y2="y2:Q",
        size=alt.Size("jaccard:Q", title="share of common events", scale=alt.Scale(domain=[0, 1], range=[0.5, 8])),
        tooltip=["rule:N", "other:N", "shared:Q", alt.Tooltip("jaccard:Q", format=".1%")],
    )
    rules = alt.Chart(alt.Data(values=found.rules))
    circles = rules.mark_circle(color=_BLUE, opacity=0.9).encode(
        x=x,
        y=y,
        size=alt.Size("hits:Q", title="hits", scale=alt.Scale(range=[40, 900], zero=True)),
        tooltip=["rule:N", "hits:Q"],
    )
    names = rules.mark_text(dy=-22).encode(x=x, y=y, text="rule:N")
    layered = alt.layer(lines, circles, names).resolve_scale(size="independent")
    return layered.properties(width=520, height=420).configure_view(stroke=None)


def regret(rows: list[dict[str, Any]]) -> Any:
    """How much longer each engine takes than the fastest, and its time; the engine in use has another colour."""
    alt = altair()
    chart = alt.Chart(alt.Data(values=rows))
    colours = alt.Scale(domain=[True, False], range=[_ORANGE, _BLUE])
    legend = alt.Legend(labelExpr="datum.value ? 'in use' : 'other engines'", orient="bottom")
    x = alt.X("regret:Q", title="time to match the events (fastest engine = 1)")
    y = alt.Y("engine:N", sort=None, title=None)
    bars = chart.mark_bar().encode(
        x=x,
        y=y,
        color=alt.Color("chosen:N", title=None, scale=colours, legend=legend),
        tooltip=["engine:N", alt.Tooltip("microseconds:Q", format=",.1f", title="µs per event"), "regret:Q"],
    )
    told = chart.transform_calculate(told="format(datum.microseconds, ',.3~r') + ' µs per event'")
    return alt.layer(bars, told.mark_text(align="left", dx=4).encode(x=x, y=y, text="told:N")).properties(width=WIDTH)
