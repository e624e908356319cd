# Two commands matter to a newcomer: `make demo` and `make test`. Both make their own environment in .venv, unless
# PYTHON= names the interpreter of one that has what pyproject.toml asks for.

TORCH ?= torch==2.13.0
VENV := .venv

ifdef PYTHON
READY :=
else
PYTHON := $(VENV)/bin/python
READY := $(VENV)/.ready
endif

export HF_HUB_OFFLINE ?= 1
export TOKENIZERS_PARALLELISM ?= false

.PHONY: help demo test check train-smoke format clean

help:            ## what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/'

$(VENV)/.ready: pyproject.toml
	python3 -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --upgrade pip
	$(VENV)/bin/python -m pip install --quiet "$(TORCH)"
	$(VENV)/bin/python -m pip install --quiet --editable ".[dev]"
	touch $@

demo: $(READY)   ## restore punctuation in real sentences of three languages
	$(PYTHON) -m examples.demo

test: $(READY)   ## run all tests
	$(PYTHON) -m pytest

check: $(READY)  ## style, types, and the quick tests
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy
	$(PYTHON) -m pytest -m "not slow"

train-smoke: $(READY)  ## train on the example texts in two processes, kill them, go on
	$(PYTHON) tests/train_smoke.py

format: $(READY) ## put the code into the house style
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .

clean:           ## remove the environment and caches
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache build dist
