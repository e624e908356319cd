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

.PHONY: help demo test lint check train-smoke reproduce format clean

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
	$(PYTHON) -m pytest -n 2 --dist loadfile

lint: $(READY)   ## style and types
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) tests/typecheck.py

check: lint      ## style, types, and the quick tests
	$(PYTHON) -m pytest -m "not slow"

train-smoke: $(READY)  ## train on the example texts in two processes, kill them, go on
	$(PYTHON) tests/train_smoke.py

# A model like the default one, and its table. The default model was trained in twelve stages, as ideas came
# (recipes/stages.md); this is one run of as many words, as one would do it again: a process on each of two cores, for some
# twenty-four hours, or half of that where there is bf16 (AMX); a run that was stopped goes on.
RUN := runs/reproduce
SHARED := ../shared
TRAIN = $(PYTHON) -m torch.distributed.run --standalone --nproc-per-node 2 train.py --cpu --threads 1
VALIDATION := iwslt2012-dev zh-spoken-valid ms-news-valid ms-spoken-valid
TESTS := iwslt2011-test iwslt2011-test-asr zh-tst2011+2012-punctuated zh-dev2010 ms-news-test

reproduce: $(READY)  ## prepare the data, train the default model, ship it, and score it on every test
	test -f $(RUN)/prepared/index.json || $(PYTHON) -m punctuation_restoration.data.prepare \
		--recipe recipes/en-zh-ms.yaml --out $(RUN)/prepared
	$(TRAIN) --recipe recipes/en-zh-ms.yaml --data $(RUN)/prepared --out $(RUN) --encoder $(SHARED)/encoder
	$(PYTHON) -m tools.thresholds --model $(RUN)/final \
		--benchmark $(VALIDATION) --limit 120000 --output results/thresholds.json
	$(PYTHON) -m tools.shipping $(RUN)/final checkpoints/en-zh-ms \
		--thresholds results/thresholds.json
	$(PYTHON) evaluate.py --benchmark $(TESTS) ms-spoken-valid ms-manglish-valid zh-english-valid --output results

export-smoke: $(READY)  ## load the model for the Hub in new environments, with the oldest and the newest transformers
	TORCH="$(TORCH)" $(PYTHON) tests/export_smoke.py

format: $(READY) ## put the code into the house style
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .

clean:           ## remove the environment and caches
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache build dist
