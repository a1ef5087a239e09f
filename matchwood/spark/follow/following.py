"""A table that is followed: what was done so far, and the thread that goes on, if there is one."""

from __future__ import annotations

import threading
from datetime import timedelta

from matchwood.spark.follow.follower import Follower
from matchwood.spark.follow.report import FollowStep


class Following:
    """What `follow` returns; the methods of a query have Spark's own names.

    `steps`   what was published, oldest first
    """

    def __init__(self, follower: Follower, steps: list[FollowStep], interval: timedelta | None = None) -> None:
        self.steps = steps
        self._follower, self._interval = follower, interval
        self._over, self._failed = threading.Event(), list[BaseException]()
        self._thread = threading.Thread(target=self._run, name=f"matchwood follows {follower.table.name}", daemon=True)
        if interval is not None:
            self._thread.start()

    def _run(self) -> None:
        assert self._interval is not None
        try:
            while not self._over.wait(self._interval.total_seconds()):
                step = self._follower.step()
                if step is not None:
                    self.steps.append(step)
        except BaseException as error:  # told to whoever waits
            self._failed.append(error)

    # ------------------------------------------------------ as Spark's queries

    @property
    def isActive(self) -> bool:  # noqa: N802
        """Whether the table is still followed."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Follow no longer; a step that is under way is finished first."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def awaitTermination(self, timeout: float | None = None) -> bool:  # noqa: N802
        """Wait until following stops, for so many seconds at most; whether it did. Raises what made it fail."""
        if self._thread.ident is not None:
            self._thread.join(timeout)
        if self._failed:
            raise self._failed[0]
        return not self.isActive

    await_termination = awaitTermination

    def exception(self) -> BaseException | None:
        """What made it fail, if something did."""
        return self._failed[0] if self._failed else None

    # ------------------------------------------------------------ what was done

    @property
    def inserted(self) -> int:
        return sum(step.inserted for step in self.steps)

    @property
    def replaced(self) -> int:
        return sum(step.replaced for step in self.steps)

    @property
    def deleted(self) -> int:
        return sum(step.deleted for step in self.steps)

    @property
    def rejected(self) -> int:
        return sum(step.rejected for step in self.steps)

    @property
    def changed(self) -> int:
        """How many rules changed in all steps."""
        return sum(step.changed for step in self.steps)

    @property
    def versions(self) -> list[tuple[int, int | None]]:
        """The versions that were published, each with the version of the table that it stands for."""
        return [(step.version, step.table_version) for step in self.steps]

    def __repr__(self) -> str:
        told = [str(step) for step in self.steps] or ["nothing to do: the index has the table's version already"]
        return "\n".join(told)
