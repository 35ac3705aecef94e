# `make` alone says what there is. Everything runs from .venv, the oracle from .oracle; the targets make
# both themselves.

SHELL := bash
.DEFAULT_GOAL := help

VENV := .venv
PYTHON := $(VENV)/bin/python
SCRIPT ?= examples/scripts/training/text/run-qwen3-14B-8xgpu.sh
PYTEST_ARGS ?= -n auto --maxprocesses 4

# A stamp says which set of packages is in .venv. It carries the folder's check sum, because an
# editable install points at the folder it was made in, and is void once the interpreter is gone.
HERE := $(shell printf '%s' "$(CURDIR)" | cksum | cut -d ' ' -f 1)
RUN_STAMP := $(VENV)/.run-$(HERE)
DEV_STAMP := $(VENV)/.dev-$(HERE)
ifneq ($(shell $(PYTHON) -c 'print("works")' 2>/dev/null),works)
  $(shell rm -f $(VENV)/.run-* $(VENV)/.dev-*)
endif

.PHONY: help
help: ## say what each target does
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | while IFS= read -r line; do \
	  printf '  make %-8s %s\n' "$${line%%:*}" "$${line##*## }"; \
	done

.PHONY: demo
demo: $(RUN_STAMP) ## diagnose one of the examples (SCRIPT=path for another script)
	@$(PYTHON) -m perf_doctor "$(SCRIPT)" --fail-on never

.PHONY: test
test: $(DEV_STAMP) ## run the tests (PYTEST_ARGS="tests/shell -k array" for some of them)
	@$(PYTHON) -m pytest $(PYTEST_ARGS)

.PHONY: lint
lint: $(DEV_STAMP) ## ruff, mypy --strict and the order of the rooms
	@$(PYTHON) -m ruff check
	@$(PYTHON) -m ruff format --check
	@$(PYTHON) -m mypy
	@$(VENV)/bin/lint-imports

.PHONY: readme
readme: $(RUN_STAMP) ## fill the reports that the READMEs show
	@$(PYTHON) tools/fill_readme.py

.PHONY: pages
pages: $(DEV_STAMP) ## write what docs/ takes from the program
	@$(PYTHON) tools/pages.py

.PHONY: site
site: $(DEV_STAMP) ## build the documentation as a site, into build/site
	@$(PYTHON) -c 'from zensical.main import cli; cli()' build --strict

.PHONY: oracle oracle-env
oracle: oracle-env ## compare counts and saved bytes with real megatron-core models on the CPU
	@PYTHONPATH=src:tools .oracle/bin/python -W ignore tools/oracle.py

oracle-env: .oracle/installed
.oracle/installed:
	@python3 -m venv --clear .oracle
	@.oracle/bin/pip install --quiet torch==2.13.0 numpy einops
	@.oracle/bin/pip install --quiet --ignore-requires-python megatron-core==0.17.1
	@touch $@

SECONDS_EACH ?= 10
.PHONY: fuzz
fuzz: $(DEV_STAMP) ## feed the readers with damaged text for a while (SECONDS_EACH=60 for longer)
	@$(PYTHON) tools/fuzz.py $(SECONDS_EACH)

.PHONY: rules
rules: $(RUN_STAMP) ## compile the catalog after a change of rules.md
	@$(PYTHON) tools/compile_rules.py

.PHONY: corpus
corpus: $(RUN_STAMP) ## compare argv and contexts on a checkout: make corpus RELAX=<checkout>
	@if [ -z "$(RELAX)" ]; then \
	  echo 'make corpus needs a checkout: make corpus RELAX=/path/to/Relax' >&2; exit 2; \
	fi
	@$(PYTHON) tools/corpus.py "$(RELAX)" $(if $(FACTS),--facts "$(FACTS)")

NAME ?= $(notdir $(patsubst %/,%,$(RELAX)))
.PHONY: ecosystem
ecosystem: $(RUN_STAMP) ## what every launch of a checkout is told: make ecosystem RELAX=<checkout>
	@if [ -z "$(RELAX)" ]; then \
	  echo 'make ecosystem needs a checkout: make ecosystem RELAX=/path/to/Relax' >&2; exit 2; \
	fi
	@$(PYTHON) tools/ecosystem.py "$(RELAX)" -o "tests/ecosystem/$(NAME).tsv"

.PHONY: bench
bench: $(RUN_STAMP) ## measure the speed
	@for benchmark in benchmarks/[!_]*.py; do $(PYTHON) "$$benchmark" || exit; done

$(RUN_STAMP): pyproject.toml
	@$(make-venv)
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --editable .
	@$(byte-compile)
	@touch $@

$(DEV_STAMP): pyproject.toml
	@$(make-venv)
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@$(byte-compile)
	@touch $@ $(RUN_STAMP)

# pip does this for what it copies. An editable install would do it while it runs, and at every start
# where PYTHONDONTWRITEBYTECODE is set.
byte-compile = $(PYTHON) -m compileall -q src

# Make .venv with the first Python that is new enough, unless a working one is there.
define make-venv
if ! $(PYTHON) -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
  chosen=; \
  for candidate in python3 python3.13 python3.12 python3.11 python3.14 python; do \
    if "$$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
      2>/dev/null; then chosen=$$candidate; break; fi; \
  done; \
  if [ -z "$$chosen" ]; then \
    echo 'perf-doctor needs Python 3.11 or newer with its venv module, and found none' >&2; \
    echo '(tried python3, python3.11 to python3.14, python; on Debian: apt install python3-venv)' >&2; \
    exit 1; \
  fi; \
  echo "Setting up $(VENV) with $$("$$chosen" --version) …" >&2; \
  "$$chosen" -m venv --clear $(VENV); \
fi
endef

.PHONY: clean
clean: ## remove .venv, .oracle and everything the tools leave behind
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .cache .import_linter_cache .oracle
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
