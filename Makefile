# make demo: from nothing to a trained model and the page that looks inside it. make test: the tests.
PYTHON ?= python3.11
VENV ?= .venv
BIN = $(VENV)/bin
# Weights of a published GRU, for one test. What the package needs to run is left out: it fetches dictionaries.
G2P = g2p-en==2.1.0

.PHONY: demo test test-slow ci lint bench clean

demo: $(VENV)/.installed
	$(BIN)/glassformer demo

test: $(VENV)/.installed
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4

# Browser, kill-and-resume and full-disk tests; needs Chromium (CHROMIUM=path, or /usr/bin/chromium).
test-slow: $(VENV)/.installed
	$(BIN)/python -m pytest -m slow

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.installed
	$(BIN)/python -m benchmarks

# What a change must pass: everything, from a clean set-up.
ci:
	rm -rf .venv-ci
	$(MAKE) VENV=.venv-ci lint test test-slow

clean:
	rm -rf .venv .venv-ci .pytest_cache .mypy_cache .ruff_cache .hypothesis dist

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps $(G2P)
	touch $@
