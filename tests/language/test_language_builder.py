"""Rules written in Python say what text says, and constants are taken from Python, NumPy and pandas exactly."""

from __future__ import annotations

import datetime
import enum
import json
import math
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from matchwood.errors import InvalidArgument, LimitExceeded
from matchwood.language import Expression, attr, parse

x, tags, vip = attr("x"), attr("tags"), attr("vip")


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (x == 1, "x = 1"),
        (x != 1, "x != 1"),
        (x < 1, "x < 1"),
        (x <= 1, "x <= 1"),
        (x > 1, "x > 1"),
        (x >= 1, "x >= 1"),
        (x == "it's", "x = 'it''s'"),
        (x.isin(["a", "b"]), "x in ('a', 'b')"),
        (x.isin(range(3)), "x in (0, 1, 2)"),
        (x.isin(np.array([1, 2])), "x in (1, 2)"),
        (x.isin(value for value in "ab"), "x in ('a', 'b')"),
        (x.not_in([1]), "x not in (1)"),
        (x.between(1, 2.5), "x between 1 and 2.5"),
        (x.not_between("a", "b"), "x not between 'a' and 'b'"),
        (x.like("a%"), "x like 'a%'"),
        (x.like("a!%", escape="!"), "x like 'a!%' escape '!'"),
        (x.not_like("a%"), "x not like 'a%'"),
        (x.ilike("a%", "!"), "x ilike 'a%' escape '!'"),
        (x.not_ilike("a%"), "x not ilike 'a%'"),
        (x.rlike("^a"), "x rlike '^a'"),
        (x.not_rlike("^a"), "x not rlike '^a'"),
        (x.is_null(), "x is null"),
        (x.is_not_null(), "x is not null"),
        (tags.one_of(["a"]), "tags one of ('a')"),
        (tags.all_of([1, 2]), "tags all of (1, 2)"),
        (tags.none_of({"b", "a"}), "tags none of ('a', 'b')"),
        (tags.contains("a"), "'a' in tags"),
        (tags.not_contains(5), "5 not in tags"),
        (vip == True, "vip = true"),  # noqa: E712
        (vip.as_expression(), "vip = true"),
        (vip.is_true(), "(vip = true) is true"),
        (vip.is_not_true(), "(vip = true) is not true"),
        (vip.is_false(), "(vip = true) is false"),
        (vip.is_not_false(), "(vip = true) is not false"),
        (~vip, "not vip = true"),
        (vip & x, "vip = true and x = true"),
        (vip | (x == 1), "vip = true or x = 1"),
        ((x == 1) | vip, "x = 1 or vip = true"),
        (vip ^ x, "vip = true xor x = true"),
        ((x >= 18) & tags.contains("a") | ~vip.is_null(), "x >= 18 and 'a' in tags or not vip is null"),
        (attr("a.b") == 1, "a.b = 1"),
        (attr("`a.b`") == 1, "`a.b` = 1"),
        (attr("odd name") == 1, "`odd name` = 1"),
        (attr("and") == 1, "`and` = 1"),
    ],
    ids=str,
)
def test_a_built_rule_is_the_rule_in_text(built: Expression, text: str) -> None:
    assert built == parse(text)
    assert str(built) == text


def test_the_constant_may_stand_on_the_left() -> None:
    assert (1 < x) == parse("x > 1")  # noqa: SIM300
    assert (1 >= x) == parse("x <= 1")  # noqa: SIM300
    assert (1 != x) == parse("x != 1")  # noqa: SIM300


def test_an_attribute_is_taken_as_a_rule() -> None:
    assert parse(vip) == parse("vip")  # type: ignore[arg-type]
    assert repr(vip) == "attr('vip')"


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (np.int8(5), 5),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.float64(0.5), 0.5),
        (np.float32(0.1), float(np.float32(0.1))),
        (np.longdouble(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (np.datetime64("2026-01-31"), datetime.date(2026, 1, 31)),
        (np.datetime64("2026-01"), datetime.date(2026, 1, 1)),
        (np.datetime64("2026-01-31T01:02:03.000004"), datetime.datetime(2026, 1, 31, 1, 2, 3, 4)),
        (np.datetime64("2026-01-31T01:02:03.000004000", "ns"), datetime.datetime(2026, 1, 31, 1, 2, 3, 4)),
        (pd.Timestamp("2026-01-31 01:02:03"), datetime.datetime(2026, 1, 31, 1, 2, 3)),
        (Decimal("5"), 5),
        (Decimal("5.00"), 5),
        (Decimal("1e30"), 10**30),
        (Decimal("0.5"), 0.5),
        (Decimal("-Infinity"), -math.inf),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (True, True),
        (datetime.date(2026, 1, 31), datetime.date(2026, 1, 31)),
    ],
    ids=repr,
)
def test_values_are_unwrapped_to_plain_constants(given: Any, wanted: Any) -> None:
    value = (x == given).value
    assert (value, type(value)) == (wanted, type(wanted))


def test_nan_is_a_constant() -> None:
    for value in (math.nan, np.float32("nan"), np.longdouble("nan"), Decimal("NaN")):
        assert (x == value) == parse("x = cast('NaN' as double)")


def test_time_zones_become_offsets() -> None:
    summer = datetime.datetime(2026, 7, 1, 12, tzinfo=BERLIN)
    assert str(x == summer) == "x = timestamp '2026-07-01 12:00:00+02:00'"
    assert str(x == pd.Timestamp("2026-07-01 12:00", tz="Europe/Berlin")) == str(x == summer)
    # Before 1893 Berlin was 53 minutes and 28 seconds ahead: no literal has such an offset.
    assert str(x == datetime.datetime(1890, 1, 1, tzinfo=BERLIN)) == "x = timestamp '1889-12-31 23:06:32+00:00'"
    with pytest.raises(InvalidArgument, match="years 1 to 9999"):
        x == datetime.datetime(1, 1, 1, tzinfo=BERLIN)  # noqa: B015


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "must not be NULL"),
        (pd.NaT, "must not be NULL"),
        (pd.NA, "must not be NULL"),
        (np.datetime64("NaT"), "must not be NULL"),
        (Decimal("sNaN"), "must be a number"),
        (Decimal("1" * 400 + ".5"), "double must be able to hold"),
        (np.longdouble(1) / 3, "must be a bool, int"),
        (np.datetime64("2026-01-31T00:00:00.000000001"), "microseconds"),
        (np.datetime64(2**62, "s"), "years 1 to 9999"),
        (np.datetime64("0000-01-01"), "years 1 to 9999"),
        (np.datetime64("10000-01-01"), "years 1 to 9999"),
        (pd.Timestamp("2026-01-31T00:00:00.000000001"), "microseconds"),
        (1j, "must be a bool, int"),
        (b"a", "must be a bool, int"),
        (datetime.time(1), "must be a bool, int"),
        (datetime.timedelta(1), "must be a bool, int"),
        (np.timedelta64(1, "s"), "must be a bool, int"),
        ([1], "must be a bool, int"),
        ("\udc00", "surrogate"),
    ],
    ids=repr,
)
def test_values_that_are_no_constants_are_refused(given: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        x == given  # noqa: B015


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("10.05", "10.05"),
        ("10.050", "10.05"),
        ("5.0", "5"),
        ("1E+30", str(10**30)),
        ("9007199254740993", "9007199254740993"),
        ("9007199254740993.0", "9007199254740993.0"),
        ("9007199254740992.0", "9007199254740992.0"),
        ("0.1234567890123456789", "0.1234567890123456789"),
        ("-1E-400", "-1E-400"),
        ("Infinity", "cast('Infinity' as double)"),
    ],
)
def test_decimals_keep_their_digits(given: str, text: str) -> None:
    rule = x == Decimal(given)
    assert str(rule) == f"x = {text}"
    assert parse(str(rule)) == rule
    assert Expression.from_json(rule.to_json()) == rule
    assert Expression.from_json(json.dumps(rule.to_json())) == rule


@pytest.mark.parametrize("given", ["1e999999", "1e-999999"])
def test_decimals_beyond_the_limit_are_refused(given: str) -> None:
    with pytest.raises(LimitExceeded, match="more than 4,000 digits"):
        x == Decimal(given)  # noqa: B015


def test_mistakes_in_python_are_told() -> None:
    with pytest.raises(TypeError, match="another attribute"):
        x == vip  # noqa: B015
    with pytest.raises(TypeError, match="between"):
        1 < x < 5  # noqa: B015
    with pytest.raises(TypeError, match="instead of and, or, not"):
        vip and x  # noqa: B018
    with pytest.raises(TypeError, match="put parentheses around"):
        x >= 18 & vip  # type: ignore[operator]  # noqa: B015
    with pytest.raises(TypeError, match="put parentheses around"):
        vip & 5
    with pytest.raises(AttributeError, match="immutable"):
        x.name = "y"
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
