"""One match call on an A-Tree: scratch arrays from the workspace, and the kernel that suits the options.

SIGMOD 2021, 5.1, Algorithm 6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from matchwood.encoding import LEVELS, NULL_LABEL, EncodedEvents
from matchwood.engines.atree._match_kernels import BLOCK, NOBODY, Notes, Waves, match_true
from matchwood.engines.atree._three_valued_kernels import match_three
from matchwood.engines.atree.layout import TOP
from matchwood.engines.base import Hits
from matchwood.engines.shared.one_event import BatchOfOne, EventBuffers, OneEventSearch
from matchwood.engines.shared.output import HitOutput, Output
from matchwood.engines.shared.views import read_only, read_only_events
from matchwood.engines.shared.workspace import Workspace

if TYPE_CHECKING:
    from matchwood.engines.atree.engine import ATree


def match_events(tree: ATree, events: EncodedEvents, first: int, workspace: Workspace) -> Hits:
    """The hits of the events from `first` on, as far as the output reaches."""
    output, source = Output(workspace, events, first, tree.live), read_only_events(events)
    kernel, arguments = _call(tree, source, first, workspace, output.arrays)
    kernel(*arguments)
    return output.hits()


def search_events(tree: ATree, workspace: Workspace) -> OneEventSearch:
    """The tree, made ready for one event after the other."""
    buffers = EventBuffers(tree.attributes)
    output = Output(workspace, buffers.events, 0, tree.live).arrays
    kernel, arguments = _call(tree, buffers.source, 0, workspace, output)
    return BatchOfOne(kernel, buffers, output.work, arguments).search(buffers, output.units)


def _call(
    tree: ATree, source: EncodedEvents, first: int, workspace: Workspace, output: HitOutput
) -> tuple[Callable[..., None], tuple[Any, ...]]:
    """The kernel that suits the options, and all that it takes."""
    count, always = tree.nodes.count, read_only(tree.always(), np.int32)
    notes = Notes(
        workspace.array("labels", tree.attributes, np.int32, NULL_LABEL),
        workspace.array("atree.signature", 1, np.int64),
        workspace.array("atree.marks", count, np.uint8),
        workspace.array("atree.queued", count, np.uint8),
        workspace.array("atree.nexts", count, np.int32, None),
        workspace.array("atree.heads", int(tree.nodes.state[TOP]) + 2, np.int32, NOBODY),
    )
    if not tree.settings["zero_suppression"]:
        return match_three, (
            tree.nodes.reading(), tree.leaf_lists.by_attribute(tree.nodes, tree.attributes), always, tree.live,
            tree.settings["on_demand"], source, first, notes, workspace.array("atree.results", count, np.uint8, None),
            workspace.array("atree.decided", count, np.int32, None), output,
        )  # fmt: skip
    lists, nulls = tree.leaf_lists.postings.view(), tree.leaf_lists.nulls
    most = LEVELS * min(len(source.attributes), tree.attributes)
    waves = Waves(
        workspace.array("atree.wave", count, np.int32, None),
        workspace.array("atree.block", BLOCK + 1, np.int32, None),
        workspace.array("atree.parents", 2 * BLOCK, np.int32, None),
        workspace.array("atree.told", BLOCK, np.int32, None),
        workspace.array("atree.starts", most, np.int64, None),
        workspace.array("atree.stops", most, np.int64, None),
    )
    return match_true, (
        tree.nodes.reading(), lists, nulls, always, tree.live, tree.on_demand, source, first, notes, waves, output
    )  # fmt: skip
