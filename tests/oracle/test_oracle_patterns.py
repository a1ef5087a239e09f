"""The oracle's patterns against an independent reading of them, and against Arrow's lower case."""

from __future__ import annotations

import itertools
import random
import re
import sys
import unicodedata

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from matchwood.errors import ParseError
from matchwood.semantics.patterns import _lower, ilike, like, rlike


def by_regex(text: str, pattern: str, escape: str) -> bool:
    """`like` by way of Python's own regular expressions."""
    parts = re.findall(re.escape(escape) + ".|.", pattern, re.DOTALL)
    spelled = "".join({"%": ".*", "_": "."}.get(part) or re.escape(part[-1]) for part in parts)
    return re.fullmatch(spelled, text, re.DOTALL) is not None


def test_like_on_all_short_patterns() -> None:
    """Every pattern of up to 4 of these characters on every text of up to 4."""
    texts = ["".join(each) for size in range(5) for each in itertools.product("ab", repeat=size)]
    patterns = ["".join(each) for size in range(5) for each in itertools.product("ab%_", repeat=size)]
    wrong = [(t, p) for p in patterns for t in texts if like(t, p) is not by_regex(t, p, "\\")]
    assert wrong == []
    assert len(texts) * len(patterns) == 31 * 341


@pytest.mark.parametrize("escape", ["\\", "!", "%", "_", "a"])
def test_like_with_escapes_at_random(escape: str) -> None:
    rng = random.Random(f"escapes {escape}")
    matched = 0
    for _ in range(3000):
        units = ["b", "é", "😀", "\n", escape * 2, *(wild for wild in "%_" if wild != escape)]
        units += [escape + wild for wild in "%_" if wild != escape]
        pattern = "".join(rng.choice(units) for _ in range(rng.randint(0, 5)))
        text = "".join(rng.choice(["b", "é", "😀", "\n", "%", "_", escape]) for _ in range(rng.randint(0, 5)))
        verdict = like(text, pattern, escape)
        assert verdict is by_regex(text, pattern, escape), (text, pattern)
        matched += verdict
    assert matched > 100


@pytest.mark.parametrize(("pattern", "offset"), [("a\\b", 1), ("ab\\", 2), ("\\%\\a", 2)])
def test_an_escape_before_anything_else_is_an_error(pattern: str, offset: int) -> None:
    for test in (like, ilike):
        with pytest.raises(ParseError) as caught:
            test("ab", pattern)
        assert caught.value.offset == offset


def test_a_pattern_of_many_runs_ends_quickly() -> None:
    assert like("a" * 2000, "%a" * 30 + "%")
    assert not like("a" * 2000, "%a" * 30 + "b")


def test_underscore_is_one_code_point() -> None:
    assert like("😀", "_")
    assert not like("e\u0301", "_")
    assert like("e\u0301", "__")


def test_lower_case_is_that_of_arrow() -> None:
    """All code points; only characters that this Python's Unicode does not know yet may differ."""
    points = [chr(point) for point in range(sys.maxunicode + 1) if not 0xD800 <= point < 0xE000]
    lowered = pc.utf8_lower(pa.array(points)).to_pylist()
    differing = [each for each, arrow in zip(points, lowered, strict=True) if _lower(each) != arrow]
    assert [each for each in differing if unicodedata.category(each) != "Cn"] == []


def test_ilike() -> None:
    assert ilike("ÉCOLE", "éc%")
    assert ilike("\u212aelvin", "K%")
    assert ilike("İ", "i")
    assert not ilike("straße", "STRASSE")
    assert not ilike("Σ", "ς")
    assert ilike("50%", "50!%", "!")
    assert ilike("A", "AA", "A")


def test_rlike() -> None:
    assert rlike("xaby", "ab")
    assert not rlike("xaby", "^ab")
    assert not rlike("a\nb", "a.b")
    assert rlike("a\nb", "(?s)a.b")
    assert rlike("😀", "^.$")
    assert rlike("", "")
    with pytest.raises(ParseError):
        rlike("a", "(")
    with pytest.raises(ParseError):
        rlike("aa", r"(a)\1")
