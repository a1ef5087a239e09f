"""One step of following a table: look how far the index is, read what changed since, publish both as one version.

How far the index is stands in the version that readers open, and nowhere else: whoever is killed, and whenever, the
next one goes on from what was published. Of two that follow at once, one is told that it was overtaken, and looks
again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from matchwood import storage
from matchwood.errors import InvalidArgument, MatchwoodError, SnapshotNotFound
from matchwood.matching import RejectLimit
from matchwood.sharding import open_shards
from matchwood.spark.build.build import Job, build_settings, checked_shards, published
from matchwood.spark.build.report import BuildReport
from matchwood.spark.build.rule_columns import RuleColumns, checked_rules, id_type
from matchwood.spark.build.shard_task import BuildSettings, settings_of
from matchwood.spark.build.update import TRIES, Advance, UpdateJob
from matchwood.spark.follow.changes import compared, net_changes
from matchwood.spark.follow.report import FollowStep
from matchwood.spark.follow.tables import ORDER, FollowedTable, NoFeed, TableState, first_words
from matchwood.spark.jobs import described

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_log = logging.getLogger("matchwood.spark")

Record = Mapping[str, Any]
GO_ON = "the index stays as it is"
_STATE = ("identity", "version", "columns")
"""What of a record tells whether an index is up to date; a table may have several names."""


@dataclass(frozen=True)
class Follower:
    """An index that follows a table.

    `building`  engine, options and so on for an index that is built, as `build` takes them
    """

    spark: SparkSession
    table: FollowedTable
    place: storage.Location
    columns: RuleColumns
    on_error: str
    limit: RejectLimit
    building: Mapping[str, Any]

    def step(self, reset: bool = False) -> FollowStep | None:
        """Publish what the table is now; None if that is published already."""
        for _ in range(TRIES):
            try:
                return self._stepped(reset)
            except storage.Overtaken:
                continue
        raise MatchwoodError(f"{self.place}: {TRIES} other writers were faster, so nothing was published; try again")

    def _stepped(self, reset: bool) -> FollowStep | None:
        started, state = time.monotonic(), self.table.state()
        version, known = self._published()
        record = self._record(state)
        if not reset and known is not None and all(known[name] == record[name] for name in _STATE):
            return None
        why = "reset=True" if reset and version else self._why_anew(version, known, state)
        if version is None or known is None or why is not None:
            return self._built(version, record, why, started)
        return self._advanced(Advance(known, record), started)

    # --------------------------------------------------------- how far it is

    def _published(self) -> tuple[int | None, Record | None]:
        """The current version of the index, and what it says of the table; None for both where there is none."""
        try:
            version, header = storage.header_of(self.place)
        except SnapshotNotFound:
            return None, None
        known = header.get(storage.FOLLOWS)
        return version, known if known is not None and "identity" in known else None  # else it is that of a stream

    def _record(self, state: TableState) -> Record:
        """What a version says of the table: which one it is, the version that it stands for, and the columns."""
        names = {name: value for name, value in self.columns._asdict().items() if value is not None}
        identity = {"format": self.table.format, "table": self.table.name, "identity": state.identity}
        return {**identity, "version": state.version, "columns": names}

    def _why_anew(self, version: int | None, known: Record | None, state: TableState) -> str | None:
        """Why the index must be built from the whole table, None if its changes will do."""
        if version is None:
            return None
        if known is None:
            raise InvalidArgument(
                f"the index at {self.place} follows no table: reset=True builds it again from {self.table.name}"
            )
        if known["identity"] != state.identity:
            if known["table"] != self.table.name:
                raise InvalidArgument(
                    f"the index at {self.place} follows another table, {known['table']}: reset=True builds it again "
                    f"from {self.table.name}"
                )
            return "the table was created again"
        if known["columns"] != self._record(state)["columns"]:
            return "other columns were named"
        if not self.table.is_known(known["version"], state.version):
            return f"the table went back to before version {known['version']}, or forgot it"
        return None

    # -------------------------------------------------------------- building

    def _built(self, version: int | None, record: Record, why: str | None, started: float) -> FollowStep:
        how: dict[str, Any] = {"on_error": self.on_error, "limit": self.limit, "allow_empty": True}
        job = Job(self._rules(record["version"]), self._settings(version), 1, **how, follows=record)
        report = published(job, self.place, checked_shards(self.building.get("shards", "auto")), started, after=version)
        if why:
            _log.warning("%s was rebuilt from %s: %s", self.place, self.table.name, why)
        return _step(report, record, "build", why, inserted=report.rules)

    def _settings(self, version: int | None) -> BuildSettings:
        """Those that were asked for; an index that is built anew without any keeps those that it has."""
        given = {name: value for name, value in self.building.items() if name != "shards"}
        if version is None or given:
            return build_settings(self.spark, **given)
        base = open_shards(self.place, version)
        return settings_of(base.snapshot, base.layout.bases[0])

    def _rules(self, version: int | None) -> DataFrame:
        """The rules of a version of the table; InvalidArgument if a column is gone, or has another type."""
        try:
            return checked_rules(self.table.at(version), self.columns)
        except InvalidArgument as error:
            raise InvalidArgument(
                f"{self.table.name}, version {version}: {error}; {GO_ON}. Name the columns that hold the rules now "
                "(id=, expression=, weight=, weights=), and it is rebuilt from them, or bring the old ones back"
            ) from error

    # -------------------------------------------------------------- changing

    def _advanced(self, advance: Advance, started: float) -> FollowStep:
        before, after = advance.before["version"], advance.after["version"]
        now = self._rules(after)
        self._check_ids(now, after)
        feed, why = self._readable(lambda: self._fed(before, after))
        if feed is not None:
            return self._updated(feed, advance, "feed", None, started)
        both, worse = self._readable(lambda: compared(checked_rules(self.table.at(before), self.columns), now))
        if both is not None:
            _log.warning("%s: two versions of %s were compared: %s", self.place, self.table.name, why)
            return self._updated(both, advance, "compare", why, started)
        version, known = self._published()
        if known != advance.before:
            raise storage.Overtaken(f"{self.place} was changed meanwhile")
        return self._built(version, advance.after, f"version {before} of the table cannot be read: {worse}", started)

    def _fed(self, before: int | None, after: int | None) -> DataFrame:
        names = self.columns._replace(order=ORDER)
        return net_changes(checked_rules(self.table.feed(before, after), names))

    def _readable(self, read: Callable[[], DataFrame]) -> tuple[DataFrame | None, str]:
        """Changes that can be read to their end, or why they cannot be.

        Files that are gone show only then, and the update that follows must not be blamed for them.
        """
        try:
            changes = read()
            with described(self.spark, f"reading changes of {self.table.name}"):
                changes.write.format("noop").mode("overwrite").save()
        except Exception as error:  # whatever Spark, the table's format and the file system may raise
            return None, str(error) if isinstance(error, NoFeed) else first_words(error)
        return changes, ""

    def _check_ids(self, rules: DataFrame, version: int | None) -> None:
        base = open_shards(self.place)
        if len(base) and id_type(rules) != base.layout.id_type:
            raise InvalidArgument(
                f"{self.table.name}, version {version}: ids are {id_type(rules)} now, those of the index at "
                f"{self.place} {base.layout.id_type}; {GO_ON}. reset=True builds it again with the new ids"
            )

    def _updated(self, changes: DataFrame, advance: Advance, how: str, why: str | None, started: float) -> FollowStep:
        job = UpdateJob(changes, self.place, self.on_error, True, self.limit, advance)
        with described(self.spark, f"updating {self.place} from {self.table.name}") as line:
            version, delta = replace(job, line=line).publish()
        report = job.finished(version, delta, started)
        counts = {name: getattr(report, name) for name in ("inserted", "replaced", "deleted")}
        return _step(report, advance.after, how, why, **counts)


def _step(
    report: BuildReport,
    record: Record,
    how: str,
    why: str | None,
    inserted: int = 0,
    replaced: int = 0,
    deleted: int = 0,
) -> FollowStep:
    return FollowStep(
        report.version, record["version"], how, why, report.rules, inserted, replaced, deleted, report.rejected,
        report.seconds,
    )  # fmt: skip
