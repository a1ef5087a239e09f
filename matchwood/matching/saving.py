"""An index as a snapshot: the arrays of its rooms under prefixed names, and a header of settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from numpy.typing import NDArray

from matchwood import storage
from matchwood.encoding import Encoder
from matchwood.errors import CorruptSnapshot, MatchwoodError
from matchwood.matching.following import Origin
from matchwood.matching.matcher import Matcher
from matchwood.matching.settings import checked_limit, checked_text
from matchwood.matching.summary import Summary, summary_of
from matchwood.rules import RuleTable

if TYPE_CHECKING:
    from matchwood.index import Index

INDEX_KIND = "matchwood-index"
ONLY_PART = "0"

LATER = ("rules/texts.", "rules/ids.slots", "rules/weights.")
"""Arrays that matching does not look at: a host that only matches never fetches them (a third of 30,000 rules)."""

MakeMatcher: TypeAlias = Callable[[str, Encoder, RuleTable, Mapping[str, Any], int], Matcher]

_DAMAGE = (ArithmeticError, AttributeError, LookupError, MatchwoodError, TypeError, ValueError)
"""What reading a header or an array that does not hold what it should may come to."""


def save_index(index: Index, path: Any) -> int:
    """Write the whole state as a new version; returns its number."""
    header = alone_header(index_settings(index), summary_of(index))
    version = storage.save(path, {ONLY_PART: index_part(index)}, header)
    index._origin, index._unsaved = Origin(path, version, storage.seal_of(path, version)), False
    return version


def alone_header(settings: Mapping[str, Any], summary: Summary) -> dict[str, Any]:
    """The header of a version that holds an index alone; what is planned for it need not look further."""
    return {**settings, "summary": summary.to_json()}


def index_settings(index: Index) -> dict[str, Any]:
    """What all shards of a version share, or the header of one alone says beside a summary."""
    return {
        "kind": INDEX_KIND,
        "engine": index._matcher.setting,
        "options": index._options,
        "dnf_limit": index._dnf_limit,
    }


def index_part(index: Index) -> storage.SavedPart:
    """The whole state of an index."""
    index._matcher.ledger.settle()
    rooms: dict[str, Any] = {"rules": index._table, "encoder": index._encoder, "matcher": index._matcher}
    arrays = {f"{room}/{name}": array for room, state in rooms.items() for name, array in state.arrays().items()}
    header = {room: state.header() for room, state in rooms.items()}
    return storage.SavedPart(header, arrays)


def restore_part(
    index: Index, path: Any, snapshot: storage.Snapshot, name: str, read_only: bool, matcher_for: MakeMatcher
) -> None:
    """Fill an empty index from one part of a version, whose header has the settings."""
    try:
        part = snapshot.some_of(name, later=LATER)
        _fill(index, snapshot.header, part.header, part.arrays, matcher_for)
    except _DAMAGE as error:
        told = error if isinstance(error, MatchwoodError) else repr(error)
        raise CorruptSnapshot(f"{path}: version {snapshot.version} is not a complete index ({told})") from error
    index._read_only, index._opened, index._checked = read_only, True, False
    index._origin, index._unsaved = Origin(path, snapshot.version, snapshot.seal), False


def rule_table(snapshot: storage.Snapshot, name: str) -> RuleTable:
    """The rules of one part, without what matches them: nothing else is fetched."""
    part, table = snapshot.some_of(name, "rules/", LATER), RuleTable()
    try:
        table.restore(_of("rules", part.arrays), part.header["rules"])
    except _DAMAGE as error:
        told = error if isinstance(error, MatchwoodError) else repr(error)
        raise CorruptSnapshot(f"version {snapshot.version} has no table of rules in part {name!r} ({told})") from error
    return table


def half_done(error: BaseException, from_snapshot: bool) -> MatchwoodError:
    """The error for all who come after a change that failed in the middle; an opened index may be damaged."""
    kind = CorruptSnapshot if from_snapshot and isinstance(error, _DAMAGE) else MatchwoodError
    return kind(f"a change of this index failed half-way ({error!r}): open it again from a snapshot, or build it again")


def _fill(
    index: Index,
    settings: Mapping[str, Any],
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    matcher_for: MakeMatcher,
) -> None:
    index._options, index._dnf_limit = dict(settings["options"]), checked_limit(settings["dnf_limit"])
    index._table = RuleTable()
    index._table.restore(_of("rules", arrays), header["rules"])
    index._encoder = Encoder.restored(_of("encoder", arrays), header["encoder"])
    index._matcher = matcher_for(
        checked_text("engine", settings["engine"]), index._encoder, index._table, index._options, index._dnf_limit
    )
    index._matcher.restore(_of("matcher", arrays), header["matcher"])


def _of(room: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    prefix = f"{room}/"
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
