# Two commands do everything on a machine that has git, make and Python >= 3.11:
#   make demo    set up, make a synthetic review corpus with known supports, audit it
#   make test    set up, then linter, strict types, import contracts and all tests, with a real language model
# uv is used when it is there, and brought into .uv when it is not.
# make test installs vLLM (3.4 GB, once) for all checkouts with the same recipe; PRIVCERT_ENGINE names another folder for
# it. With PRIVCERT_NO_ENGINE=1 it does not, and the tests of language models skip and say so.
# TEST_PROCESSES: how many processes share the tests; 0 runs them in one.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RECIPE := $(shell cat deployments/vllm/cpu.lock deployments/vllm/cuda.lock deployments/vllm/*.py | cksum | tr ' ' -)
export PRIVCERT_ENGINE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/privcert/engine-$(RECIPE)
export UV_PYTHON_DOWNLOADS := never
TEST_PROCESSES ?= 2

.PHONY: demo test setup engine lint types contracts tests docs lock benchmarks clean

demo: setup
	$(BIN)/privcert demo

test: setup $(if $(PRIVCERT_NO_ENGINE),,engine) lint types contracts tests

setup: $(VENV)/.ready

# the stamp is newer than the lock and the project file exactly when the environment was made from them
$(VENV)/.ready: requirements.lock pyproject.toml
	@command -v uv >/dev/null || test -x .uv/bin/uv || { $(PYTHON) -m venv .uv && .uv/bin/python -m pip install --quiet uv; }
	@PATH="$$PATH:$(CURDIR)/.uv/bin"; \
	test -x $(BIN)/python || uv venv --quiet --python $(PYTHON) $(VENV); \
	uv pip sync --quiet --compile-bytecode --python $(VENV) requirements.lock && \
	uv pip install --quiet --no-deps --python $(VENV) --editable .
	@touch $@

engine: setup
	@$(BIN)/privcert engine install || { echo "PRIVCERT_NO_ENGINE=1 make test goes without a language model" >&2; exit 1; }

lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types:
	$(BIN)/mypy

contracts:
	$(BIN)/lint-imports

tests:
	$(BIN)/python -m pytest --numprocesses $(TEST_PROCESSES) --dist loadscope --no-loadscope-reorder

# the data dictionary, and the documentation as a site that opens from the disk: site/index.html
docs: setup
	$(BIN)/python docs/make_dictionary.py
	$(BIN)/mkdocs build --strict

# names, versions and hashes only: no addresses
lock:
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--group dev --output-file requirements.lock pyproject.toml
	cd deployments/worker && for build in cpu cuda; do \
		uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--constraint ../../requirements.lock --extra $$build --output-file $$build.lock pyproject.toml || exit 1; done

benchmarks: setup
	for file in benchmarks/*.py; do $(BIN)/python $$file || exit 1; done

clean:
	rm -rf $(VENV) .uv
