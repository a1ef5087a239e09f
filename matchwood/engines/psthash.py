"""PSTHash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from matchwood.engines.candidates import Candidates
from matchwood.engines.pst import AccessEngine


class PSTHash(AccessEngine):
    name: ClassVar[str] = "psthash"
    options: ClassVar[Mapping[str, Any]] = {"access": 2, "most_spaces": 16, "dense": 64}
    limits: ClassVar[Mapping[str, tuple[int, int]]] = {"access": (1, 4), "most_spaces": (1, 1024), "dense": (0, 2**20)}

    @property
    def _wanted(self) -> int:
        wanted: int = self.settings["access"]
        return wanted

    @property
    def _most_spaces(self) -> int:
        most: int = self.settings["most_spaces"]
        return most

    def _lists(self) -> Candidates:
        return Candidates(self._wanted, self._most_spaces, self.settings["dense"])
