# Each target sets up .venv by itself from plain python3; the second time it starts at once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
export NUMBA_CACHE_DIR := $(CURDIR)/.numba_cache

.PHONY: validate test lint docs bench clean

validate: $(READY)
	$(BIN)/python -m streamlb validate --profile quick --out validation-report

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(READY)
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_docstrings.py

docs: $(READY)
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

bench: $(READY)
	cd asv_bench && ../$(BIN)/asv machine --yes && ../$(BIN)/asv run --python=same --quick --show-stderr

$(READY): setup.cfg pyproject.toml
	@echo "Setting up $(VENV): streamlb with all its extras (a few minutes the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@$(BIN)/python -m pip install --quiet -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) .numba_cache docs/_build validation-report build *.egg-info
