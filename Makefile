# make demo        a demonstration with a report page (out/demo.html)
# make test        the tests that need no GPU           make check     lint, types, import directions
# make bench       speed and memory against targets     make format    format the code
# make reproduce   the paper's experiments, small       make docs      the documentation site
# make setup       install everything into .venv        make clean     remove what was made
#
# Everything is installed into .venv and cached under .cache; results are written to out/ and results/.
# make demo installs only what the demonstration needs; the other targets install the rest.
# Other studies, benchmarks and tests are commands of Python; CONTRIBUTING.md lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO_READY := $(VENV)/.demo-ready
READY := $(VENV)/.ready
export PIP_CACHE_DIR := $(CURDIR)/.cache/pip
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export MPLCONFIGDIR := $(CURDIR)/.cache/matplotlib
# Every process would compile all modules anew without a place for bytecode.
export PYTHONDONTWRITEBYTECODE :=
export PYTHONPYCACHEPREFIX := $(CURDIR)/.cache/bytecode

.PHONY: setup demo test check format bench reproduce docs clean

setup: $(READY)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "robustrank needs Python 3.11 or newer; set PYTHON=/path/to/python3.11")'
	@$(PYTHON) -m venv $(VENV)

$(DEMO_READY): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --no-compile --editable '.[report,cli]'
	@touch $(DEMO_READY)

$(READY): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing the development tools into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --no-compile --editable '.[dev]'
	@touch $(READY)

demo: $(DEMO_READY)
	@mkdir -p out
	@$(BIN)/robustrank demo --report out/demo.html

test: $(READY)
	$(BIN)/python -m pytest --numprocesses 2

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)
	@$(BIN)/python -m benchmarks foundation

# The studies in experiments/ on small problems, with figures and a page. The studies at full size
# take hours and can be interrupted: make reproduce FULL=1 FIG="fig1a solvers" DEVICE=cuda ONLY=default
reproduce: $(READY)
	@$(BIN)/python -m experiments $(or $(FIG),all) --report $(if $(FULL),,--quick) \
	  $(if $(DEVICE),--device $(DEVICE)) $(if $(ONLY),--only $(ONLY))

# The site, with the pictures of the gallery, without network access; warnings are errors. The ratings
# of one example come with a package of which only that file is used; the examples with a video and
# with weather stations are executed where their data is installed (see the scripts).
# make docs EXAMPLES=0 leaves out running the examples.
docs: $(READY)
	@$(BIN)/python -m pip install --quiet --no-deps recbole || echo "RecBole is not available: the example with ratings is not executed"
	@$(BIN)/sphinx-build -W --keep-going --quiet $(if $(filter 0,$(EXAMPLES)),-D plot_gallery=0) -d docs/_build/doctrees docs docs/_build/html
	@echo "The site is in docs/_build/html/index.html"

clean:
	rm -rf $(VENV) .cache out docs/_build docs/gallery docs/reference/generated
