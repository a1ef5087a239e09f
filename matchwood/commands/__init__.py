"""The commands of `matchwood`: one file each, and the files that they read and write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matchwood.core.lazy import exports

if TYPE_CHECKING:
    from matchwood.commands.cli import main

__all__ = ["main"]

__getattr__ = exports(__name__)
