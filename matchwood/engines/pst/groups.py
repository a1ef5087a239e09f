"""What groups of events write to (`_group_kernels`), in the workspace of one thread.

VLDB 2018, ours, as `_group_kernels`.
"""

from __future__ import annotations

import numpy as np

from matchwood.encoding import LEVELS
from matchwood.engines.pst._block_write_kernels import MOST_ATTRIBUTES
from matchwood.engines.pst._group_kernels import (
    FEWEST,
    KEPT,
    LARGEST_GROUP,
    PASSED,
    SEGMENT_WIDTH,
    SEGMENTS,
    SELECTED,
    GroupCounts,
    GroupScratch,
    KeptSegments,
    TileWords,
)
from matchwood.engines.pst._known_list_kernels import (
    KNOWN_LABELS,
    KNOWN_LISTS,
    NULL_RANK,
    PLACES,
    KnownLists,
    SelectedLists,
)
from matchwood.engines.pst._lane_kernels import PLANES, TILE, LaneWords
from matchwood.engines.shared.workspace import Workspace

FEW_KNOWN = 32
"""Where there are so many times more slots for labels than pairs, one of so many slots is enough."""


def group_scratch(workspace: Workspace, lists: int, attributes: int, pairs: int, version: object) -> GroupScratch:
    """Room for groups of events that have so many pairs, of an engine with so many lists and attributes.

    `version`  is another object when the lists have changed
    """
    limits = workspace.array("pst.limits", 2, np.int64)[:2]
    limits[0] = FEWEST
    return GroupScratch(
        _known_lists(workspace, pairs, version),
        _selected_lists(workspace, lists),
        TileWords(
            workspace.array("pst.under", lists, np.uint64),
            workspace.array("pst.touched", lists, np.int32, None),
            workspace.array("pst.left_lists", LARGEST_GROUP, np.int64, None),
        ),
        _lane_words(workspace, min(attributes, MOST_ATTRIBUTES)),
        KeptSegments(
            workspace.array("pst.segments", SEGMENT_WIDTH * SEGMENTS, np.int64, None),
            workspace.array("pst.lane_hits", SELECTED, np.int32, None),
            workspace.array("pst.used", 5, np.int64)[:5],
        ),
        GroupCounts._make(
            workspace.array(f"pst.{name}", LARGEST_GROUP, np.int64, None) for name in GroupCounts._fields
        ),
        limits,
    )


def _known_lists(workspace: Workspace, pairs: int, version: object) -> KnownLists:
    """What is known of labels is kept from call to call. Few pairs need few slots, which are sooner cleared when lists
    have changed."""
    few = FEW_KNOWN * pairs < KNOWN_LABELS
    name, share = ("pst.few_known", FEW_KNOWN) if few else ("pst.known", 1)
    slots, lists = max(1, KNOWN_LABELS // share), max(LEVELS, KNOWN_LISTS // share)
    return KnownLists(
        workspace.kept(f"{name}_keys", slots, np.uint64, 0, version),
        workspace.array(f"{name}_places", PLACES * slots, np.int32, None),
        workspace.array(f"{name}_lists", lists, np.int32, None),
        workspace.array(f"{name}_levels", lists, np.uint32, None),
        workspace.kept(f"{name}_used", 1, np.int64, 0, version),
    )


def _selected_lists(workspace: Workspace, lists: int) -> SelectedLists:
    return SelectedLists(
        workspace.array("pst.selected", SELECTED, np.int32, None),
        workspace.array("pst.ends", LARGEST_GROUP + 1, np.int64, None),
        workspace.array("pst.longest", LARGEST_GROUP, np.int32, None),
        workspace.array("pst.order", LARGEST_GROUP, np.int32, None),
        workspace.array("pst.longest_counts", lists, np.int32),
        workspace.array("pst.longest_touched", LARGEST_GROUP, np.int32, None),
    )


def _lane_words(workspace: Workspace, attributes: int) -> LaneWords:
    return LaneWords(
        workspace.array("pst.ranks", TILE * attributes, np.uint16, NULL_RANK),
        workspace.array("pst.passed_words", PASSED, np.uint32, None),
        workspace.array("pst.kept_units", KEPT, np.int32, None),
        workspace.array("pst.kept_lanes", KEPT, np.uint32, None),
        workspace.array("pst.planes", PLANES, np.uint64),
    )
