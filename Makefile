# `make demo` trains a small player and measures it; `make test` runs every check. Both set up what they need in .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

# An additional package index to take torch from. On Linux, PyPI's torch brings several GB of CUDA libraries;
# for the CPU build: make demo TORCH_INDEX=https://download.pytorch.org/whl/cpu
TORCH_INDEX ?=

# Those that are quick without compilation.
RULES_TESTS := $(addprefix tests/test_,own_positions.py positions.py python_mode.py melds.py::test_what_is_no_meld_is_refused \
  melds.py::test_the_cards_that_the_best_contract_uses engine.py::test_a_prescribed_deck_is_dealt_as_it_is \
  engine.py::test_apply_with_a_prescribed_order_draws_in_that_order determinize.py::test_what_no_arrangement_agrees_with_is_refused \
  options.py::test_a_position_half_laid_in_another_order_can_be_laid_on \
  information.py::test_a_view_does_not_remember_what_the_record_held_before)

PYTEST_ARGS ?= -q -n auto --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help demo test lint coverage install clean distclean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

demo: $(INSTALLED) ## train a small player for about two minutes and measure it
	$(BIN)/python training/train.py --config configs/train/demo.yaml --out runs/demo --fresh
	@for opponent in random dumper greedy; do $(BIN)/rummy evaluate runs/demo/agent $$opponent --games 2000 || exit 1; done

test: lint ## lint, then the tests (options: PYTEST_ARGS)
	$(BIN)/pytest $(PYTEST_ARGS)

lint: $(INSTALLED) ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

coverage: $(INSTALLED) ## tests of the rules without compilation; every line of the kernels has to be executed
	NUMBA_DISABLE_JIT=1 $(BIN)/coverage run -m pytest -q $(RULES_TESTS)
	$(BIN)/coverage report

install: $(INSTALLED) ## only set up .venv (options: PYTHON, TORCH_INDEX)

# Torch comes first, so that its build is chosen once, by its pin and its index alone.
$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or later is needed: make ... PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/pip || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/pip install -c constraints.txt $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) torch
	$(BIN)/pip install -c constraints.txt -e '.[train,peers,render,dev]'
	@touch $@

clean: ## remove caches and build output; keeps .venv and runs/
	rm -rf build dist .ruff_cache .mypy_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +

distclean: clean ## clean, and remove .venv
	rm -rf $(VENV)
