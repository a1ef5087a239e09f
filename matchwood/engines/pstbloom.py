"""PSTBloom: one access predicate a unit."""

from __future__ import annotations

from typing import ClassVar

from matchwood.engines.pst import AccessEngine


class PSTBloom(AccessEngine):
    name: ClassVar[str] = "pstbloom"
