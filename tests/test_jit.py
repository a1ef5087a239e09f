"""Where compiled kernels are kept, and that none escapes the digest that names the place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import matchwood

PACKAGE = Path(matchwood.__file__).parent


def test_kernels_stand_only_in_files_that_the_digest_covers() -> None:
    covered = {*PACKAGE.glob("*/_*kernels.py"), PACKAGE / "_hashing.py", PACKAGE / "encoding" / "dyadic.py"}
    defining = {path for path in PACKAGE.rglob("*.py") if "\n@kernel\n" in path.read_text()}
    assert defining <= covered


def test_the_cache_lies_in_the_users_cache_directory(tmp_path: Path) -> None:
    assert _cache_directory({"XDG_CACHE_HOME": str(tmp_path)}).is_relative_to(tmp_path / "matchwood" / "numba")


def test_a_home_that_cannot_be_written_gets_a_private_temporary_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = _cache_directory({"XDG_CACHE_HOME": str(tmp_path / "file"), "TMPDIR": str(tmp_path)})
    assert found.parent == tmp_path
    assert found.stat().st_mode & 0o077 == 0


def test_a_cache_directory_that_is_given_is_left_alone(tmp_path: Path) -> None:
    assert _cache_directory({"NUMBA_CACHE_DIR": str(tmp_path)}) == tmp_path


def _cache_directory(environment: dict[str, str]) -> Path:
    script = "import matchwood._jit, numba; print(numba.config.CACHE_DIR)"
    clean = {"PATH": "", "PYTHONPATH": str(PACKAGE.parent), **environment}
    done = subprocess.run([sys.executable, "-c", script], env=clean, capture_output=True, text=True, check=True)
    return Path(done.stdout.strip())
