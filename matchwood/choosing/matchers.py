"""The matcher for an engine's public name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matchwood.choosing.auto import AUTO, AutoMatcher, engines_for
from matchwood.encoding import Encoder
from matchwood.matching import EngineMatcher, Matcher, OracleMatcher
from matchwood.rules import RuleTable


def matcher_for(engine: str, encoder: Encoder, table: RuleTable, options: Mapping[str, Any], dnf_limit: int) -> Matcher:
    """The matcher for an engine's public name."""
    if engine == "oracle":
        return OracleMatcher(encoder, table, options, dnf_limit)
    if engine != AUTO:
        return EngineMatcher(engine, encoder, table, options, dnf_limit)
    able = engines_for(options)
    if len(able) == 1:
        return EngineMatcher(able[0], encoder, table, options, dnf_limit)
    return AutoMatcher(encoder, table, options, dnf_limit)
