"""What the header of a version with several shards says: which parts are shards, and what their live rules ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from matchwood.encoding import KINDS
from matchwood.errors import CorruptSnapshot

KIND = "matchwood-shards"
TOMBSTONES = "tombstones"
"""The part with the dead rows of each shard: rules that were deleted, or replaced by a later delta."""

ID_TYPES: dict[str, pa.DataType] = {"int64": pa.int64(), "string": pa.string()}


@dataclass(frozen=True)
class ShardLayout:
    """The shards of a version.

    `bases`       names of the parts that a build wrote; rule order is the order of ids
    `deltas`      names of the parts that updates added, oldest first
    `rules`       how many live rules each shard holds
    `id_type`     `int64` or `string`
    `timezone`    where dates begin and naive times are read
    `uses`        how many live rules use an attribute as a kind; `any` for those that only test it for NULL
    `attributes`  the type of every name that events are asked for
    """

    bases: tuple[str, ...]
    deltas: tuple[str, ...]
    rules: Mapping[str, int]
    id_type: str
    timezone: str
    uses: Mapping[tuple[str, str], int]
    attributes: Mapping[str, str]

    @property
    def shards(self) -> tuple[str, ...]:
        return (*self.bases, *self.deltas)

    def header(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The version's header; `settings` are those that every shard has."""
        return {
            **settings,
            "kind": KIND,
            "bases": list(self.bases),
            "deltas": list(self.deltas),
            "rules": dict(self.rules),
            "id_type": self.id_type,
            "timezone": self.timezone,
            "uses": [[name, kind, count] for (name, kind), count in sorted(self.uses.items())],
            "attributes": dict(sorted(self.attributes.items())),
        }


def read_layout(header: Mapping[str, Any], where: str) -> ShardLayout:
    """The layout that a header describes; CorruptSnapshot if it does not."""
    try:
        layout = ShardLayout(
            tuple(map(str, header["bases"])),
            tuple(map(str, header["deltas"])),
            {str(name): int(count) for name, count in header["rules"].items()},
            str(header["id_type"]),
            str(header["timezone"]),
            {(str(name), str(kind)): int(count) for name, kind, count in header["uses"]},
            {str(name): str(kind) for name, kind in header["attributes"].items()},
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CorruptSnapshot(f"{where}: the header does not describe shards ({error!r})") from error
    kinds = {*layout.attributes.values(), *(kind for _, kind in layout.uses)}
    if not layout.bases or layout.id_type not in ID_TYPES or not kinds <= set(KINDS):
        raise CorruptSnapshot(f"{where}: the header does not describe shards")
    if set(layout.shards) != set(layout.rules) or len(set(layout.shards)) != len(layout.shards):
        raise CorruptSnapshot(f"{where}: the header does not count the rules of its shards")
    return layout
