"""Where compiled kernels are kept, and that no change can leave old machine code in use."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from numba import config, types

import matchwood
from matchwood.core.machine_code.kept import described, sources_of
from matchwood.core.machine_code.processors import LEVELS, levels, levels_here

PACKAGE = Path(matchwood.__file__).parent


class Inner(NamedTuple):
    only: int


def test_the_sources_of_kernels_are_followed_through_imports() -> None:
    sources = sources_of(PACKAGE / "engines" / "_counting_kernels.py")
    followed = {path.relative_to(PACKAGE).as_posix() for path in sources}
    assert {
        "engines/_counting_kernels.py",
        "engines/shared/constraints/_word_kernels.py",
        "encoding/spaces/dyadic.py",
    } <= followed
    assert "core/hashing.py" in followed, "imported by _word_kernels.py"
    assert "encoding/codes.py" in followed, "a constant of dyadic.py"
    assert "engines/_scan_kernels.py" not in followed


def test_kernels_import_from_modules_which_can_be_followed_and_not_from_packages() -> None:
    defining = [
        path for path in PACKAGE.rglob("*.py") if re.search(r"^@(\w+_)?kernel$", path.read_text(), re.MULTILINE)
    ]
    assert len(defining) > 10
    for path in defining:
        for module in re.findall(r"^\s*(?:from|import) +(matchwood[\w.]*)", path.read_text(), re.MULTILINE):
            assert PACKAGE.parent.joinpath(*module.split(".")).with_suffix(".py").exists(), f"{path.name}: {module}"


def test_each_state_of_a_kernels_file_has_a_directory_of_its_own(tmp_path: Path) -> None:
    script = "import numpy; from matchwood.core.hashing import mix64; mix64(numpy.uint64(1))"
    _said({"NUMBA_CACHE_DIR": str(tmp_path)}, script)
    kept = {found.relative_to(tmp_path).parts[0] for found in tmp_path.rglob("*.nbc")}
    assert {name.rsplit("-", 1)[0] for name in kept} == {"hashing"}
    assert all(re.fullmatch(r"\w+-[0-9a-f]{12}", found.name) for found in tmp_path.iterdir())


def test_a_kernel_that_others_call_is_compiled_for_types_not_for_values(tmp_path: Path) -> None:
    (tmp_path / "adding.py").write_text(
        """
from matchwood.core.jit import kernel

@kernel
def inner(total, step):
    return total + step

@kernel
def outer(count):
    total = 0
    for _ in range(count):
        total = inner(total, step=1)
    return inner(total, 2)
"""
    )
    found = "from adding import inner, outer; print(outer(5), inner.within.signatures)"
    script = f"import sys; sys.path.append({str(tmp_path)!r}); {found}"
    assert _said({"NUMBA_CACHE_DIR": str(tmp_path)}, script) == "7 [(int64, int64)]"


def test_the_cache_lies_in_the_users_cache_directory(tmp_path: Path) -> None:
    assert _cache_directory({"XDG_CACHE_HOME": str(tmp_path)}).is_relative_to(tmp_path / "matchwood" / "numba")


def test_a_home_that_cannot_be_written_gets_a_private_temporary_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = _cache_directory({"XDG_CACHE_HOME": str(tmp_path / "file"), "TMPDIR": str(tmp_path)})
    assert found.parent == tmp_path
    assert found.stat().st_mode & 0o077 == 0


def test_a_cache_directory_that_is_given_is_used(tmp_path: Path) -> None:
    assert _cache_directory({"NUMBA_CACHE_DIR": str(tmp_path)}) == tmp_path
    assert _cache_directory({"NUMBA_CACHE_DIR": "elsewhere", "MATCHWOOD_CACHE_DIR": str(tmp_path)}) == tmp_path


def test_where_users_keep_what_numba_compiles_for_them_is_left_alone() -> None:
    script = "import matchwood.core.jit, numba, os; print([numba.config.CACHE_DIR, os.environ.get('NUMBA_CACHE_DIR')])"
    assert _said({}, script) == "['', None]"


_PAIRS = """
from collections import namedtuple
{name} = namedtuple("{name}", "{fields}")
"""

_TAKING = """
from matchwood.core.jit import kernel

@kernel
def total(pair):
    return 10 * pair[0] + pair[1]
"""

_CALLING = """
import sys; sys.path.append({home!r})
from matchwood.core.machine_code import kept
import pairs, taking
with kept.compilations() as compiled:
    total = taking.total(pairs.{name}({arguments}))
print(*["compiled" for _ in compiled], total)
"""


def _total_of(home: Path, name: str, fields: str, arguments: str, **environment: str) -> str:
    """What a process says that calls a kernel with a named tuple, whose class stands in another file."""
    (home / "pairs.py").write_text(_PAIRS.format(name=name, fields=fields))
    (home / "taking.py").write_text(_TAKING)
    script = _CALLING.format(home=str(home), name=name, arguments=arguments)
    return _said({"MATCHWOOD_CACHE_DIR": str(home / "kept"), "PYTHONDONTWRITEBYTECODE": "1", **environment}, script)


def test_a_class_of_arguments_that_has_another_name_or_other_fields_is_compiled_for_anew(tmp_path: Path) -> None:
    assert _total_of(tmp_path, "Pair", "first last", "1, 2") == "compiled 12"
    assert _total_of(tmp_path, "Pair", "first last", "1, 2") == "12"
    assert _total_of(tmp_path, "Couple", "first last", "1, 2") == "compiled 12"
    assert _total_of(tmp_path, "Couple", "last first", "first=2, last=1") == "compiled 12"
    assert len(list((tmp_path / "kept").rglob("*.nbc"))) == 3


@pytest.mark.long
def test_code_that_cannot_be_loaded_is_compiled_and_written_anew(tmp_path: Path) -> None:
    assert _total_of(tmp_path, "Pair", "first last", "1, 2") == "compiled 12"
    (kept,) = (tmp_path / "kept").rglob("*.nbc")
    sound = kept.stat().st_size
    for damage in (b"", b"half of a pickle", pickle.dumps(("matchwood", 1))):
        kept.write_bytes(damage)
        assert _total_of(tmp_path, "Pair", "first last", "1, 2") == "compiled 12"
        assert kept.stat().st_size == sound, "written anew"
    assert _total_of(tmp_path, "Pair", "first last", "1, 2") == "12"


@pytest.mark.long
@pytest.mark.skipif(not levels(), reason="no level of this architecture is known")
def test_code_for_a_level_comes_first_and_only_where_it_fits(tmp_path: Path) -> None:
    level, shipped = list(levels())[-1], str(tmp_path / "shipped")
    build = {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": "", "MATCHWOOD_CACHE_DIR": shipped}

    def said(**environment: str) -> str:
        return _total_of(tmp_path, "Pair", "first last", "1, 2", **environment)

    assert said(**build) == "compiled 12"
    assert said(MATCHWOOD_PRECOMPILED=shipped) == "12"
    assert not (tmp_path / "kept").exists()
    assert said(MATCHWOOD_CACHE_DIR=shipped) == "12", "an image warmed up for a level"
    assert said(MATCHWOOD_PRECOMPILED=shipped, NUMBA_BOUNDSCHECK="1") == "compiled 12"
    assert said(MATCHWOOD_PRECOMPILED=shipped, NUMBA_CPU_NAME="generic") == "compiled 12"
    assert said(MATCHWOOD_PRECOMPILED="0") == "compiled 12"


@pytest.mark.parametrize(
    ("lacking", "settings", "fitting"),
    [
        ((), {}, ("x86-64-v3", "x86-64-v2")),
        (("avx2",), {}, ("x86-64-v2",)),
        (("popcnt",), {}, ()),
        ((), {"ENABLE_AVX": 0}, ("x86-64-v2",)),
        ((), {"CPU_NAME": "generic"}, ()),
        ((), {"CPU_FEATURES": "+sse2"}, ()),
    ],
)
def test_a_level_fits_where_all_of_its_features_are(
    lacking: tuple[str, ...], settings: dict[str, Any], fitting: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = LEVELS["x86_64"]["x86-64-v3"]
    features = {name: name not in lacking for name in known}
    monkeypatch.setattr("platform.machine", lambda: "AMD64")
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_features", lambda: features)
    for name in ("CPU_NAME", "CPU_FEATURES"):
        monkeypatch.setattr(config, name, None)
    for name, value in settings.items():
        monkeypatch.setattr(config, name, value)
    assert levels_here.__wrapped__() == fitting


def test_types_are_described_by_the_fields_of_named_tuples_however_deep() -> None:
    inner = types.NamedTuple([types.int64], Inner)
    outer = types.Tuple([inner, types.UniTuple(types.float64, 2)])
    assert described(outer) == f"({__name__}.Inner('only',)(int64), (float64, float64))"


def _cache_directory(environment: dict[str, str]) -> Path:
    script = "from matchwood.core.machine_code.kept import cache_directory; print(cache_directory())"
    return Path(_said(environment, script))


def _said(environment: dict[str, str], script: str) -> str:
    clean = {"PATH": "", "PYTHONPATH": str(PACKAGE.parent), **environment}
    done = subprocess.run([sys.executable, "-c", script], env=clean, capture_output=True, text=True, check=True)
    return done.stdout.strip()
