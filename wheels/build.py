"""`make wheel`: a platform wheel that carries the machine code of all kernels, and the proof that it works.

    python wheels/build.py dist [--levels x86-64-v3 x86-64-v2] [--engines auto] [--processes 2] [--kept DIRECTORY]

Kernels are compiled for each level by `matchwood warmup`, in a process that Numba is told the processor of. What of it
a second run loads goes into the wheel: code of kernels that only other kernels call is part of theirs already. Then the
wheel is installed into an empty environment, where nothing may compile.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from importlib.metadata import version
from pathlib import Path

HOME = Path(__file__).parent.parent
SHIPPED = ("matchwood", "pyproject.toml", "setup.py", "README.md", "LICENSE")

_FIRST = """
import matchwood
index = matchwood.Index()
index["adults"] = "age >= 18 and country in ('US', 'CA')"
assert index.match({"age": 20, "country": "US"}) == ["adults"]
"""

_LIFE = f"""
import sys
from matchwood.commands import main
from matchwood.core import loading
found = set()
with loading(lambda kernel: found.add(kernel.path)):
    exec({_FIRST!r})
    status = main(sys.argv[2:]) if sys.argv[2:] else 0
open(sys.argv[1], "w").write("\\n".join(sorted(map(str, found - {{None}}))))
sys.exit(status)
"""

_PROOF = f"""
import time
started = time.perf_counter()
import matchwood
from matchwood.core import compilations, interpretations
with compilations() as compiled, interpretations() as interpreted:
    exec({_FIRST!r})
seconds, cpu = time.perf_counter() - started, time.process_time()
assert "site-packages" in matchwood.__file__, matchwood.__file__
assert not compiled and not interpreted, f"compiled: {{compiled}}, interpreted: {{interpreted}}"
print(f"import, first rule and first match: {{seconds:.2f}} s, {{cpu:.2f}} s of processor, nothing compiled")
"""


def main() -> None:
    """Compile, build, install, prove."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="matchwood-wheel-") as name:
        work = Path(name)
        source = _staged(work / "source")
        for level in arguments.levels:
            _precompile(source, Path(arguments.kept or work, level).absolute(), level, arguments)
        wheel = _built(source, Path(arguments.output))
        print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB, {_described(source / 'matchwood' / 'precompiled')}")
        _prove(wheel, work)


def _arguments() -> argparse.Namespace:
    sys.path.insert(0, str(HOME))
    from matchwood.core.machine_code.processors import levels

    parser = argparse.ArgumentParser(description="build a wheel that carries machine code")
    parser.add_argument("output", help="the directory that the wheel goes to")
    parser.add_argument("--levels", nargs="+", choices=list(levels()), default=list(levels()), help="default: all")
    told = "whose kernels the wheel carries (default: all; none: just those of a first rule and match, to try this out)"
    parser.add_argument("--engines", nargs="+", default=[], help=told)
    cores = os.cpu_count() or 1
    parser.add_argument("--processes", type=int, default=cores, help="how many compile at a time (default: all cores)")
    parser.add_argument("--kept", help="where compiled code stays for the next build (default: nowhere)")
    return parser.parse_args()


def _staged(source: Path) -> Path:
    """What the wheel is built from, without what lies about in the checkout."""
    source.mkdir()
    for name in SHIPPED:
        if (HOME / name).is_dir():
            shutil.copytree(HOME / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "precompiled"))
        else:
            shutil.copy(HOME / name, source / name)
    return source


def _precompile(source: Path, kept: Path, level: str, arguments: argparse.Namespace) -> None:
    kept.mkdir(parents=True, exist_ok=True)
    listed = kept.with_name(f"{level}.loaded")
    command = [sys.executable, "-c", _LIFE, str(listed)]
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": ""}
    environment |= {"MATCHWOOD_CACHE_DIR": str(kept), "MATCHWOOD_PRECOMPILED": "0", "MATCHWOOD_INTERPRET": "0"}
    # Only what this process itself loads is told: so the second time it does everything.
    for step, processes in (("compiling", arguments.processes), ("loading", 1)):
        print(f"{step} for {level}", flush=True)
        told = _warmup(arguments.engines, processes)
        subprocess.run([*command, *told], env=environment, check=True, cwd=source)
    for path in map(Path, listed.read_text().split("\n")):
        target = source / "matchwood" / "precompiled" / path.relative_to(kept)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)


def _warmup(engines: list[str], processes: int) -> list[str]:
    """What is asked of `matchwood`."""
    if engines == ["none"]:
        return []
    return ["warmup", "--processes", str(processes), *(["--engines", *engines] if engines else [])]


def _built(source: Path, output: Path) -> Path:
    before = set(output.glob("*.whl"))
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(output), str(source)]
    # What is staged has no tags: the version is that of the package that is installed here.
    told = {"SETUPTOOLS_SCM_PRETEND_VERSION_FOR_MATCHWOOD": version("matchwood")}
    subprocess.run(command, check=True, env={**os.environ, **told})
    made = set(output.glob("*.whl"))
    return max(made - before or made, key=lambda path: path.stat().st_mtime)


def _described(precompiled: Path) -> str:
    files = list(precompiled.rglob("*.nbc"))
    return f"with {sum(file.stat().st_size for file in files) / 1e6:.1f} MB of machine code in {len(files)} files"


def _prove(wheel: Path, work: Path) -> None:
    """The first rule and the first match in an empty environment, without a cache."""
    empty = work / "empty"
    venv.create(empty, with_pip=True)
    python = str(empty / ("Scripts" if os.name == "nt" else "bin") / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", f"numba=={_numba()}", str(wheel)], check=True)
    theirs = ("NUMBA_", "MATCHWOOD_", "PYTHON")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(theirs)}
    clean["MATCHWOOD_CACHE_DIR"] = str(work / "nothing")
    # The first run writes the bytecode of all packages, which pip leaves to them where it is told to.
    for _ in range(2):
        subprocess.run([python, "-c", _PROOF], env=clean, cwd=work, check=True)
    assert not (work / "nothing").exists(), "nothing should have been compiled"


def _numba() -> str:
    import numba

    return str(numba.__version__)


if __name__ == "__main__":
    main()
