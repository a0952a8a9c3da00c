PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
DEMO := demo
SITE := build/site
# Processes that run tests side by side; 0 is none but pytest's own. A second one imports everything
# again and slows the first down: a tenth more CPU in two thirds of the time.
WORKERS ?= 0
# `yes` runs the tests in another order each time and says its seed; that seed, in the same order again.
SHUFFLE ?=

.DEFAULT_GOAL := help
.PHONY: help demo test lint format docs bench bench-scale postgres chromium java clean

help: ## Show this help
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable .
	@touch $@

# Python compiles what the tests import when they do, less than half of what is installed here
$(VENV)/.developing: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --no-compile --editable '.[dev]'
	@touch $(VENV)/.installed $@

$(VENV)/.documenting: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable '.[docs]'
	@touch $(VENV)/.installed $@

demo: $(VENV)/.installed ## Install, make a sample log, release it with times, show the guarantee
	@mkdir -p $(DEMO)
	$(BIN)/discreet sample hospital --cases 10000 --seed 1 -o $(DEMO)/hospital.xes --force
	$(BIN)/discreet inspect $(DEMO)/hospital.xes
	$(BIN)/discreet release $(DEMO)/hospital.xes -o $(DEMO)/shared.xes --force --times --epsilon 1 --delta 1e-6
	$(BIN)/discreet certificate $(DEMO)/shared.xes

# glibc keeps blocks of memory instead of returning each to the system: a twelfth less CPU; the last
# line asks the same of Polars
test: export MALLOC_MMAP_THRESHOLD_ := 33554432
test: export MALLOC_TRIM_THRESHOLD_ := 1073741824
test: export _RJEM_MALLOC_CONF := dirty_decay_ms:-1,muzzy_decay_ms:-1
test: $(VENV)/.developing lint postgres chromium java ## Install what tests need, check the code, run all tests (WORKERS=auto: side by side, SHUFFLE=yes: in any order)
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile \
	 $(if $(SHUFFLE),--random-order$(if $(filter-out yes,$(SHUFFLE)),-seed $(SHUFFLE)))

lint: $(VENV)/.developing ## Check style (ruff), types (mypy, strict) and layers (import-linter)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache

format: $(VENV)/.developing ## Put the code into the project's style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(VENV)/.documenting ## Build the site into build/site, offline, every warning an error
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --jobs auto docs $(SITE)
	@echo "Written: $(SITE)/index.html"

bench: $(VENV)/.developing postgres ## Compare speed and memory with peers, as ratios in one run
	@for script in bench/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

bench-scale: $(VENV)/.developing ## Measure engines on 5 to 50 million events (an hour, 5 GB of disk)
	$(BIN)/python bench/scale.py small large many whole write $(SCALE)

postgres: # its tests are skipped where it cannot be had
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || \
	 { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
	   DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql >/dev/null; } || \
	 echo "PostgreSQL is not installed: its tests will be skipped"

chromium: # likewise; the shell is the same browser without windows, for two thirds of its processor time
	@command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || command -v chromium-browser >/dev/null || \
	 { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
	   for package in chromium-headless-shell chromium; do \
	     DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$package >/dev/null && break; done; } || \
	 echo "Chromium is not installed: the web app's browser tests will be skipped"

java: # for Spark, whose tests are skipped where it cannot be had
	@command -v java >/dev/null || \
	 { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
	   DEBIAN_FRONTEND=noninteractive apt-get install -y -qq openjdk-17-jre-headless >/dev/null; } || \
	 echo "Java is not installed: the tests of Spark will be skipped"

clean: ## Remove the environment and everything made
	rm -rf $(VENV) $(DEMO) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
