"""The option `as_published`, which every engine knows: its system as the paper has it, without what is ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matchwood.errors import InvalidArgument, kind_in_words

AS_PUBLISHED = "as_published"


def asked(options: Mapping[str, Any], engine: str) -> bool:
    """Whether these options ask for the published system.

    >>> asked({}, "kindex"), asked({"as_published": True}, "kindex")
    (False, True)
    """
    value = options.get(AS_PUBLISHED, False)
    if type(value) is not bool:
        told = f"(got {value!r:.80}, {kind_in_words(value)})"
        raise InvalidArgument(f"option {AS_PUBLISHED!r} of engine {engine!r} must be True or False {told}")
    return value


def resolved(options: Mapping[str, Any], published: Mapping[str, Any], engine: str) -> dict[str, Any]:
    """The options without `as_published`: if it is True, with those of the paper, which others must not contradict.

    >>> resolved({"form": "cnf", "as_published": True}, {"direct": False}, "kindex")
    {'form': 'cnf', 'direct': False}
    >>> resolved({"form": "cnf", "as_published": False}, {"direct": False}, "kindex")
    {'form': 'cnf'}
    """
    given = {name: value for name, value in options.items() if name != AS_PUBLISHED}
    if not asked(options, engine):
        return given
    for name, value in published.items():
        if name in given and given[name] != value:
            raise InvalidArgument(
                f"option {name!r} of engine {engine!r} is {value!r} as published (got {given[name]!r:.80}): "
                f"leave out {AS_PUBLISHED!r} or {name!r}"
            )
    return {**given, **published}
