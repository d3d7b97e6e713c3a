# make demo   see it work            make check  lint, types, which way imports point
# make test   run every test         make bench  measured against target, as a table and as JSON
#
# Everything is installed into .venv and cached under .cache; nothing leaves this folder.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
export PIP_CACHE_DIR := $(CURDIR)/.cache/pip
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export MPLCONFIGDIR := $(CURDIR)/.cache/matplotlib

.PHONY: setup demo test test-gpu check format bench bench-solvers bench-certificates bench-gpu figures picture lock clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "robustrank needs Python 3.11 or newer; set PYTHON=")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $(READY)

demo: $(READY)
	@mkdir -p out
	@$(BIN)/robustrank demo --report out/demo.html

# One BLAS thread in each of two processes: two in each would fight over the cores.
test: $(READY)
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2

# The same tests on a CUDA device: PyTorch, JAX and CuPy, whichever are installed.
test-gpu: $(READY)
	$(BIN)/python -m pytest -m gpu

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)
	@mkdir -p out
	@$(BIN)/python benchmarks/foundation.py --json out/bench.json

# Hours with all solvers; resumable. See --trials, --solvers and --only.
bench-solvers: $(READY)
	@$(BIN)/python benchmarks/solvers.py

bench-certificates: $(READY)
	@$(BIN)/python benchmarks/certificates.py

# On a machine with a CUDA device and a PyTorch that can use it.
bench-gpu: $(READY)
	@mkdir -p out
	@$(BIN)/python benchmarks/gpu.py --json out/bench-gpu.json

figures: $(READY)
	$(BIN)/python docs/make_figures.py

picture: $(READY)
	$(BIN)/python docs/make_picture.py

# Writes down the versions that are installed now, after a deliberate upgrade.
lock: $(READY)
	$(BIN)/python -m pip freeze --exclude-editable | sed 's/+cpu$$//' > constraints.txt

clean:
	rm -rf $(VENV) .cache out
