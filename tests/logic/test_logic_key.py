"""A form's key: equal for equal forms in every process, different for different ones."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from logic_support import bind, trees

from matchwood.errors import InvalidArgument
from matchwood.language import parse
from matchwood.language.tree import Expression
from matchwood.logic import Form, Leaf, form_key, normalise
from matchwood.logic import cuts as sets
from matchwood.logic.form import LEAF

RULE = "(a = 'ü' xor b < 1.5) and (c = 3 or d in (4, 5)) and e is not null or f = 'x' and g != 1"


def single(*values: object, attribute: str = "x", null: bool = False) -> Form:
    return Form((Leaf(attribute, sets.one_of(values), null),), (LEAF,), ((),))


@given(trees, trees)
def test_keys_are_equal_exactly_when_forms_are(one: Expression, other: Expression) -> None:
    first, second = normalise(one, bind), normalise(other, bind)
    assert (form_key(first) == form_key(second)) == (first == second)


def test_the_order_of_operands_does_not_matter() -> None:
    turned = "g != 1 and f = 'x' or (d in (5, 4) or c = 3) and e is not null and (a = 'ü' xor b < 1.5)"
    assert form_key(normalise(parse(RULE), bind)) == form_key(normalise(parse(turned), bind))


@pytest.mark.parametrize("seed", ["0", "1"])
def test_a_key_is_the_same_in_another_process(seed: str) -> None:
    script = (
        "from logic_support import bind\n"
        "from matchwood.language import parse\n"
        "from matchwood.logic import form_key, normalise\n"
        f"print(form_key(normalise(parse({RULE!r}), bind)).hex())"
    )
    here = Path(__file__).parent
    path = os.pathsep.join([str(here), str(here.parent.parent)])
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
    result = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == form_key(normalise(parse(RULE), bind)).hex()


UTC = datetime.UTC
PLUS_TWO = datetime.timezone(datetime.timedelta(hours=2))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (0.0, -0.0),
        (2**70, float(2**70)),
        (True, 1),
        (datetime.datetime(2026, 1, 1, 2, tzinfo=PLUS_TWO), datetime.datetime(2026, 1, 1, tzinfo=UTC)),
    ],
)
def test_values_that_compare_equal_have_one_key(one: object, other: object) -> None:
    assert form_key(single(one)) == form_key(single(other))


def test_different_leaves_have_different_keys() -> None:
    forms = [
        single(1),
        single(2),
        single(1, 2),
        single(1.5),
        single("1"),
        single("i1"),
        single(b"1"),
        single(1, attribute="y"),
        single(1, null=True),
        single(float("inf")),
        single(datetime.date(2026, 1, 1)),
        single(datetime.datetime(2026, 1, 1)),
        Form((Leaf("x", sets.below(1), False),), (LEAF,), ((),)),
        Form((Leaf("x", sets.at_most(1), False),), (LEAF,), ((),)),
        Form((Leaf("x", sets.at_least(1), False),), (LEAF,), ((),)),
    ]
    assert len({form_key(form) for form in forms}) == len(forms)


def test_a_value_without_a_spelling_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="must be a bool"):
        form_key(single(1 + 0j))
