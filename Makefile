# Two commands for a newcomer: `make demo` and `make test`. Each sets up its own virtual environment.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: help demo test test-long test-systems lint docs bench bench-systems soak wheel dist clean

help:
	@echo "make demo    the main job on generated rules and events, with results to look at"
	@echo "make test    lint, types and the tests of every day, each in its short form"
	@echo "make test-long      the tests that make test leaves out because they take long: more processes, sessions, seeds, sizes"
	@echo "make test-systems   against real systems: an S3 server, HDFS, Delta, Iceberg and a Kafka broker, set up and started here"
	@echo "make lint    ruff and mypy"
	@echo "make docs    the site, built strictly into build/site, its links checked"
	@echo "make bench   the benchmarks at quick scale, with a report"
	@echo "make bench-systems  bench update on S3 and bench stream through Kafka, at full scale, with the servers of the tests"
	@echo "make wheel   a wheel that carries machine code, installed into an empty environment to prove it"
	@echo "make dist    an sdist and a wheel; the wheel with its extra for Spark is installed and used in an empty environment"
	@echo "make soak    all tests in their longest forms: kills by the hundred, long random sequences"

$(VENV)/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Matchwood needs Python 3.11 or newer; this is %s. Try: make PYTHON=python3.12 ..." % sys.version.split()[0])'
	@echo "Setting up $(VENV) (once, a few minutes at most) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@$(BIN)/python -m pip install --quiet --quiet --editable ".[all]"
	@touch $@

demo: $(VENV)/.ready
	@$(BIN)/matchwood demo

lint: $(VENV)/.ready
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

# What is compiled for the tests is kept in the checkout, and goes with it: `make test MATCHWOOD_CACHE_DIR=...` for elsewhere.
test test-long test-systems: export MATCHWOOD_CACHE_DIR ?= $(abspath $(VENV))/kernels
test: $(VENV)/.ready
	@$(BIN)/python -m tests.side_by_side

# Tests marked `long` (tests/forms.py), and no others: with `make test`, every test has run.
test-long: $(VENV)/.ready
	@$(BIN)/python -m tests.side_by_side --long

# `make test-long` builds the site too (tests/test_site.py). To publish a version beside the others:
# `mike deploy --update-aliases 0.2 latest`, which commits it to the branch gh-pages.
docs: $(VENV)/.ready
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@$(BIN)/python website/check.py build/site

# Builds the servers into .systems once (two minutes of one core); what cannot be had is skipped, with the reason.
# Delta and Iceberg have no jars for the newest PySpark: their tests have an older one of their own.
test-systems: $(VENV)/.ready
	@$(BIN)/python -m tests.systems.s3_server
	@$(BIN)/python -m tests.systems.hdfs_cluster
	@$(BIN)/python -m tests.systems.lake.spark_with_lake
	@$(BIN)/python -m tests.systems.kafka_broker
	@$(BIN)/python -m tests.systems.kafka.spark_with_kafka
	@$(BIN)/python -m pytest -rs tests/systems --ignore tests/systems/lake --ignore tests/systems/kafka
	@PYTHONPATH=$(abspath .systems/pyspark-4.1) $(BIN)/python -m pytest -rs tests/systems/lake
	@PYTHONPATH=$(abspath .systems/pyspark-4.1) $(BIN)/python -m pytest -rs tests/systems/kafka

bench: $(VENV)/.ready
	@$(BIN)/matchwood bench run all --scale quick
	@$(BIN)/matchwood bench report

# What needs servers: the figures of a million rules on S3, and of 10,000 messages a second. SCALE=quick is minutes.
SCALE ?= full
bench-systems: $(VENV)/.ready
	@$(BIN)/python -m tests.systems.benches $(SCALE)

# Kernels also run with every index checked, and once as plain Python; compiled variants must not mix in one cache.
# Small indexes are matched by kernels as plain Python until they are compiled: that is held against the oracle as well.
KERNEL_TESTS := tests/engines tests/rules tests/encoding tests/storage/test_storage_checksum.py
INTERPRETED_TESTS := $(patsubst %,tests/contract/test_contract_%.py,basics values inputs ranking)

soak: $(VENV)/.ready
	@MATCHWOOD_SOAK=1 $(BIN)/python -m pytest
	@MATCHWOOD_LONG=also NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(VENV)/numba-boundscheck $(BIN)/python -m pytest $(KERNEL_TESTS)
	@MATCHWOOD_LONG=also NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest tests/engines tests/rules
	@MATCHWOOD_LONG=also MATCHWOOD_INTERPRET=always $(BIN)/python -m pytest $(INTERPRETED_TESTS)
	@MATCHWOOD_INTERPRET=always $(BIN)/python -m tests.fuzz --cases 100000

# Compiles every kernel for every level of processors: some minutes for each.
wheel: $(VENV)/.ready
	@$(BIN)/python wheels/build.py dist

# Needs nothing but Python: it sets up environments of its own, and prints a new user's transcript.
dist:
	@$(PYTHON) wheels/dist.py dist --extra spark

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .systems
