# Needs Python 3.11 or newer, with pip and venv. `make demo` and `make test` create .venv themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Added to the command line of pytest, bench-edges, bench-gaps and bench-targets, for example: make test ARGS="-k sparse"
ARGS ?=

.PHONY: help demo test lint types layers check bench-core bench-school bench-selection bench-edges \
	bench-intervals bench-targets bench-scale bench-tasks bench-gaps bench-peers mutants audit docs man dist oldest clean
.DELETE_ON_ERROR:

help:
	@echo "make demo          install into $(VENV) and run 'skmtl demo'"
	@echo "make test          install everything and run the tests on all cores; a part of them: ARGS=\"-k sparse\""
	@echo "make lint          ruff: errors, style, formatting"
	@echo "make types         mypy"
	@echo "make layers        import-linter: imports point down"
	@echo "make check         all four"
	@echo "make bench-core    speed of the core, as ratios"
	@echo "make bench-school  accuracy of every penalty on School; the data folder is in SKMTL_DATA"
	@echo "make bench-selection  speed of choosing hyper-parameters, as ratios"
	@echo "make bench-edges   how far the edges of a learned graph can be trusted, on tasks with a known one"
	@echo "make bench-targets  accuracy on real multi-target sets beside kernel ridge; the data folder is in SKMTL_DATA"
	@echo "make bench-tasks   many tasks in groups, with and without screening, as ratios"
	@echo "make bench-gaps    missing labels beside complete ones, as ratios; the data folder is in SKMTL_DATA"
	@echo "make bench-intervals  how often intervals cover on real sets, and what known labels teach; the data folder is in SKMTL_DATA"
	@echo "make bench-peers   beside other libraries on small public sets; the data folder is in SKMTL_DATA"
	@echo "make bench-scale   more rows: landmarks, blocks, a Dask cluster, many labels; the data folder is in SKMTL_DATA"
	@echo "make docs          build the site into docs/_build/html; every warning is an error"
	@echo "make man           the manual page, docs/man/skmtl.1, which the wheel brings along"
	@echo "make dist          wheel and sdist into dist/, checked, installed into an empty environment, demo run"
	@echo "make oldest        a part of the tests with the oldest supported versions of all dependencies"
	@echo "make mutants       would the tests notice a mistake? Mutants of the core, drawn for 45 minutes; goes on where it stopped"
	@echo "make audit         known vulnerabilities of everything that is installed; asks the network"
	@echo "make clean         remove $(VENV), caches and builds"

demo: $(VENV)/.app
	$(BIN)/skmtl demo

# One worker of pytest per core, hence one thread of BLAS per worker: with more they wait for one another.
# Options in ARGS come last and win: ARGS="-n 0" runs everything in one process, as a debugger needs it.
test: export OPENBLAS_NUM_THREADS ?= 1
test: export OMP_NUM_THREADS ?= 1
test: export MKL_NUM_THREADS ?= 1
test: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto --dist worksteal --durations 15 $(ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

layers: $(VENV)/.dev
	$(BIN)/lint-imports

check: lint types layers test

bench-core: $(VENV)/.dev
	$(BIN)/python benchmarks/core.py

bench-school: $(VENV)/.dev
	$(BIN)/python benchmarks/school.py

bench-selection: $(VENV)/.dev
	$(BIN)/python benchmarks/selection.py

bench-edges: $(VENV)/.dev
	$(BIN)/python benchmarks/edges.py $(ARGS)

bench-targets: $(VENV)/.dev
	$(BIN)/python benchmarks/multi_target.py $(ARGS)

bench-tasks: $(VENV)/.dev
	$(BIN)/python benchmarks/many_tasks.py $(ARGS)

bench-gaps: $(VENV)/.dev
	$(BIN)/python benchmarks/missing_labels.py $(ARGS)

bench-intervals: $(VENV)/.dev
	$(BIN)/python benchmarks/intervals.py $(ARGS)

bench-peers: $(VENV)/.peers
	$(BIN)/python benchmarks/peers/run.py --short $(ARGS)

bench-scale: $(VENV)/.dev
	$(BIN)/python benchmarks/scale.py $(ARGS)
	$(BIN)/python benchmarks/cluster.py
	$(BIN)/python benchmarks/many_labels.py

# Nothing is fetched while pages are built. Examples run, one thread of BLAS each.
docs: export OPENBLAS_NUM_THREADS ?= 1
docs: $(VENV)/.docs
	# Pages of names that are gone would be read again.
	rm -rf docs/api/names docs/gallery/names
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html
	@echo "The site is docs/_build/html/index.html"

man: $(VENV)/.docs
	$(BIN)/python -m sphinx -q -b man -D plot_gallery=0 docs docs/_build/man
	cp docs/_build/man/skmtl.1 docs/man/skmtl.1

dist: $(VENV)/.dist
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	$(PYTHON) -m venv --clear $(VENV)/empty
	$(VENV)/empty/bin/python -m pip install -qq --disable-pip-version-check "$$(ls dist/*.whl)[app]"
	cd $(VENV) && empty/bin/skmtl --version && empty/bin/skmtl demo --out empty/demo

# Those of tests/oldest.txt. Warnings are not errors there: old releases warn about newer parts of others.
oldest: export OPENBLAS_NUM_THREADS ?= 1
oldest: $(VENV)/.oldest
	$(VENV)/oldest/bin/python -m pytest -q -p no:cacheprovider -W default -k "$(OLDEST_NOT)" $(OLDEST_TESTS)

# A few of each kind, about a minute. An attack through numpy.memmap works with newer NumPy only.
OLDEST_TESTS := tests/test_readme.py tests/test_export.py tests/test_labels.py tests/test_persistence.py \
	tests/test_leave_one_out.py
OLDEST_NOT := not come_back_as_they_were and not attack_works
mutants: export OPENBLAS_NUM_THREADS ?= 1
mutants: $(VENV)/.dev
	test -f build/mutants/tests.json || $(BIN)/python benchmarks/mutants map
	$(BIN)/python benchmarks/mutants run $(ARGS)
	$(BIN)/python benchmarks/mutants show

audit: $(VENV)/.dev
	$(BIN)/python -m pip install -qq --disable-pip-version-check pip-audit
	$(BIN)/python -m pip_audit --skip-editable

# A stamp is written only after its step succeeded, and all stamps live in the environment they describe.
$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "skmtl needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; try: make PYTHON=python3.12")'
	@echo "Creating $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.app: EXTRAS := app
$(VENV)/.dev: EXTRAS := all,dev
$(VENV)/.peers: EXTRAS := all,dev,peers
$(VENV)/.docs: EXTRAS := all,docs
$(VENV)/.dist: EXTRAS := release
$(VENV)/.app $(VENV)/.dev $(VENV)/.peers $(VENV)/.docs $(VENV)/.dist: pyproject.toml $(VENV)/.created
	@echo "Installing skmtl[$(EXTRAS)] into $(VENV); the first time takes a few minutes"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable ".[$(EXTRAS)]"
	@touch $@

$(VENV)/.oldest: pyproject.toml tests/oldest.txt $(VENV)/.created
	@echo "Installing the oldest supported versions into $(VENV)/oldest"
	@$(PYTHON) -m venv --clear $(VENV)/oldest
	@$(VENV)/oldest/bin/python -m pip install -qq --disable-pip-version-check \
		--constraint tests/oldest.txt --editable ".[app]" "pytest>=9.0,<10"
	@touch $@

clean:
	rm -rf $(VENV) build dist docs/_build docs/generated docs/gallery docs/api/names docs/commands.md .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
