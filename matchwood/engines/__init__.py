"""Engines: units in, hits out. They see integers only (`encoding/codes.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matchwood.core.lazy import exports

if TYPE_CHECKING:
    from matchwood.engines.atree.draw import KIND_NAMES, BareNode, NodeView, bare_nodes
    from matchwood.engines.atree.engine import AddedForms, ATree
    from matchwood.engines.base import Engine, EventShares, Hits, Structure, Work
    from matchwood.engines.betree.draw import Bucket, buckets
    from matchwood.engines.betree.engine import PUBLISHED, BETree
    from matchwood.engines.grouped.engine import OFTEN, Grouped
    from matchwood.engines.hem.engine import HEM, TriangleView
    from matchwood.engines.hem.triangle import (
        EDGE,
        EXCLUDED,
        KEPT,
        Interval,
        Square,
        column_of,
        point,
        square_of,
        verdict,
    )
    from matchwood.engines.kindex.engine import KIndex, joined
    from matchwood.engines.kindex.options import Layout
    from matchwood.engines.kindex.run import Run
    from matchwood.engines.registry import (
        FIRST_ENGINE,
        GROUPED,
        LEAST_ENGINE,
        chosen_class,
        chosen_names,
        engine_choices,
        engine_class,
        engine_names,
        published_spaces,
        registered,
    )
    from matchwood.engines.shared.access import selectivity_order, unit_shares
    from matchwood.engines.shared.bounds import BoundTable, UnitBounds
    from matchwood.engines.shared.one_event import OneEventSearch
    from matchwood.engines.shared.output import Output
    from matchwood.engines.shared.published import AS_PUBLISHED, asked
    from matchwood.engines.shared.scoring import (
        AHEAD,
        AND,
        DEAD,
        END,
        FALSE,
        KEEP,
        LOAD,
        ONE,
        OP_BITS,
        OR,
        SUM,
        SURE,
        TEST,
        TRUE,
        EventWeights,
        Programs,
        Ranked,
        ScoreScratch,
        ScoringContext,
    )
    from matchwood.engines.shared.store import Added, ConjunctionStore
    from matchwood.engines.shared.unions.keeper import ALWAYS_UNITE, NEVER_UNITE
    from matchwood.engines.shared.unions.unions import union_us
    from matchwood.engines.shared.units import UnitTable
    from matchwood.engines.shared.verification import verified
    from matchwood.engines.shared.views import read_only, read_only_events
    from matchwood.engines.shared.workspace import Workspace

__all__ = [
    "AHEAD",
    "ALWAYS_UNITE",
    "AND",
    "AS_PUBLISHED",
    "DEAD",
    "EDGE",
    "END",
    "EXCLUDED",
    "FALSE",
    "FIRST_ENGINE",
    "GROUPED",
    "HEM",
    "KEEP",
    "KEPT",
    "KIND_NAMES",
    "LEAST_ENGINE",
    "LOAD",
    "NEVER_UNITE",
    "OFTEN",
    "ONE",
    "OP_BITS",
    "OR",
    "PUBLISHED",
    "SUM",
    "SURE",
    "TEST",
    "TRUE",
    "ATree",
    "Added",
    "AddedForms",
    "BETree",
    "BareNode",
    "BoundTable",
    "Bucket",
    "ConjunctionStore",
    "Engine",
    "EventShares",
    "EventWeights",
    "Grouped",
    "Hits",
    "Interval",
    "KIndex",
    "Layout",
    "NodeView",
    "OneEventSearch",
    "Output",
    "Programs",
    "Ranked",
    "Run",
    "ScoreScratch",
    "ScoringContext",
    "Square",
    "Structure",
    "TriangleView",
    "UnitBounds",
    "UnitTable",
    "Work",
    "Workspace",
    "asked",
    "bare_nodes",
    "buckets",
    "chosen_class",
    "chosen_names",
    "column_of",
    "engine_choices",
    "engine_class",
    "engine_names",
    "joined",
    "point",
    "published_spaces",
    "read_only",
    "read_only_events",
    "registered",
    "selectivity_order",
    "square_of",
    "union_us",
    "unit_shares",
    "verdict",
    "verified",
]

__getattr__ = exports(__name__)
