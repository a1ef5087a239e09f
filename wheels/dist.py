"""`make dist`: an sdist, a wheel built from it, and the proof that both work for a new user.

    python wheels/dist.py dist [--extra spark]

The wheel is installed into an empty environment, where a rule is matched, the command line answers and, with the extra
`spark`, a table is matched on Spark. What is printed is a new user's transcript, with the seconds of each step.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
from pathlib import Path

HOME = Path(__file__).parent.parent
NEEDED_IN_SDIST = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "PKG-INFO", "matchwood/py.typed")

FIRST_MATCH = """
import matchwood as mw
index = mw.Index()
index["adults"] = "age >= 18 and country in ('US', 'CA')"
assert index.match({"age": 20, "country": "US"}) == ["adults"]
assert "site-packages" in mw.__file__, mw.__file__
print(mw.__version__, index.match({"age": 20, "country": "US"}))
"""

FIRST_SPARK_JOB = """
from matchwood import spark as mws
spark = mws.session(master="local[1]")
rules = spark.createDataFrame([("adults", "age >= 18"), ("minors", "age < 18")], "id string, expression string")
mws.build(rules, "rules.matchwood")
events = spark.createDataFrame([(1, 20), (2, 7)], "event_id int, age int")
hits = mws.match(events, "rules.matchwood").select("event_id", "rule").orderBy("event_id").collect()
assert [tuple(hit) for hit in hits] == [(1, "adults"), (2, "minors")], hits
print(hits)
"""


def main() -> None:
    """Build, look inside, install, use."""
    parser = argparse.ArgumentParser(description="build an sdist and a wheel, and prove that they work")
    parser.add_argument("output", type=Path, help="the directory that both go to")
    parser.add_argument("--extra", choices=["spark"], help="install the wheel with this extra, and use it")
    arguments = parser.parse_args()
    output = arguments.output.absolute()
    with tempfile.TemporaryDirectory(prefix="matchwood-dist-") as name:
        work = Path(name)
        sdist, wheel = built(output, work)
        check_sdist(sdist)
        prove(wheel, arguments.extra, work)


def built(output: Path, work: Path) -> tuple[Path, Path]:
    """An sdist of the checkout, and a wheel of the unpacked sdist, which has no tags to look at."""
    output.mkdir(parents=True, exist_ok=True)
    tools = _environment(work / "tools")
    _step("install the build tool", [tools, "-m", "pip", "install", "--quiet", "build"], work)
    _step("build the sdist and the wheel", [tools, "-m", "build", "--outdir", str(output), str(HOME)], work)
    newest = [max(output.glob(kind), key=lambda path: path.stat().st_mtime) for kind in ("*.tar.gz", "*.whl")]
    return newest[0], newest[1]


def check_sdist(sdist: Path) -> None:
    """All that a build needs is in it."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    missing = [name for name in NEEDED_IN_SDIST if name not in names]
    if missing:
        sys.exit(f"{sdist} lacks {', '.join(missing)}")


def prove(wheel: Path, extra: str | None, work: Path) -> None:
    """What a new user does, in an environment that has nothing."""
    python = _environment(work / "empty")
    wanted = f"matchwood[{extra}] @ {wheel.as_uri()}" if extra else str(wheel)
    _step(
        f"pip install {wheel.name}{f'[{extra}]' if extra else ''}",
        [python, "-m", "pip", "install", "--quiet", wanted],
        work,
    )
    _step("first match", [python, "-c", FIRST_MATCH], work)
    _step("matchwood --version", [str(Path(python).with_name("matchwood")), "--version"], work)
    if extra == "spark":
        _step("first Spark job", [python, "-c", FIRST_SPARK_JOB], work)


def _environment(place: Path) -> str:
    venv.create(place, with_pip=True)
    return str(place / ("Scripts" if os.name == "nt" else "bin") / "python")


def _step(told: str, command: list[str], work: Path) -> None:
    started = time.monotonic()
    print(f"$ {told}", flush=True)
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MATCHWOOD_", "NUMBA_"))
    }
    environment = {**clean, "MATCHWOOD_CACHE_DIR": str(work / "kernels")}
    done = subprocess.run(command, cwd=work, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}\nthat failed: {told}")
    print(*done.stdout.splitlines()[-3:], sep="\n")  # a build tells much more than anyone reads
    print(f"  {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
