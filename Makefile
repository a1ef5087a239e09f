# Two commands for a newcomer: `make demo` and `make test`. Each sets up its own virtual environment.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: help demo test lint bench soak clean

help:
	@echo "make demo    the main job on generated rules and events, with results to look at"
	@echo "make test    lint, types and all tests"
	@echo "make lint    ruff and mypy"
	@echo "make bench   the benchmarks at quick scale, with a report"
	@echo "make soak    the long forms of the tests: kills by the hundred, long random sequences"

$(VENV)/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Matchwood needs Python 3.11 or newer; this is %s. Try: make PYTHON=python3.12 ..." % sys.version.split()[0])'
	@echo "Setting up $(VENV) (once, a few minutes at most) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@$(BIN)/python -m pip install --quiet --editable ".[all]"
	@touch $@

demo: $(VENV)/.ready
	@$(BIN)/matchwood demo

lint: $(VENV)/.ready
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

test: lint
	@$(BIN)/python -m pytest

bench: $(VENV)/.ready
	@$(BIN)/matchwood bench run all --scale quick
	@$(BIN)/matchwood bench report

soak: $(VENV)/.ready
	@MATCHWOOD_SOAK=1 $(BIN)/python -m pytest

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
