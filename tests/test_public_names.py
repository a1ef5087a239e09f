"""The public surface: small, sorted, and free of what loads slowly."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import matchwood
from matchwood.insight.find.query import SEMANTICS


def test_the_exported_names() -> None:
    assert matchwood.__all__ == [
        "CorruptSnapshot",
        "EventError",
        "Expression",
        "Index",
        "InvalidArgument",
        "LimitExceeded",
        "MatchwoodError",
        "ParseError",
        "SnapshotNotFound",
        "TypeConflict",
        "UnknownRule",
        "attr",
        "open",
        "parse",
        "rollback",
        "vacuum",
        "versions",
    ]
    assert all(hasattr(matchwood, name) for name in matchwood.__all__)


def test_the_semantics_of_find() -> None:
    assert SEMANTICS == (
        "stabbing_subscription",
        "stabbing_event",
        "symmetric",
        "containment",
        "enclosure",
        "exact",
        "implies",
        "implied_by",
    )
    assert inspect.signature(matchwood.Index.find).parameters["semantics"].default == SEMANTICS[0]


def test_the_error_tree() -> None:
    bases = {
        "ParseError": ValueError,
        "InvalidArgument": ValueError,
        "TypeConflict": TypeError,
        "EventError": TypeError,
        "UnknownRule": KeyError,
        "LimitExceeded": Exception,
        "CorruptSnapshot": OSError,
        "SnapshotNotFound": FileNotFoundError,
    }
    for name, base in bases.items():
        assert issubclass(getattr(matchwood, name), (matchwood.MatchwoodError, base))


def test_importing_the_core_loads_no_extra() -> None:
    extras = {"pyspark", "pandas", "duckdb", "polars", "matplotlib"}
    script = f"import sys, matchwood; print(sorted({extras} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_first_rule_and_match_load_no_extra() -> None:
    """Where pandas is installed, Arrow imports it, for half a second, as soon as it meets a Python object."""
    extras = {"pyspark", "pandas", "duckdb", "polars", "matplotlib"}
    script = f"""
import sys, matchwood
index = matchwood.Index()
index["adults"] = "age >= 18 and country in ('US', 'CA')"
assert index.match({{"age": 20, "country": "US"}}) == ["adults"]
print(sorted({extras} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("script", ["import matchwood", "from matchwood.commands import main; main(['--help'])"])
def test_what_needs_no_rules_loads_no_numbers(script: str) -> None:
    script += "; import sys; print(sorted({'numba', 'numpy', 'pyarrow', 'pandas'} & set(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_the_names_that_load_late_are_listed() -> None:
    assert set(matchwood.__all__) <= set(dir(matchwood))
