# make demo         a demonstration with a report page (out/demo.html)
# make test         tests that need no GPU              make check      lint, types, import directions
# make reproduce    the paper's experiments, small      make format     format the code
# make bench        speed and memory against targets    make picture    the picture of the README
# make test-gpu     the tests on a CUDA device          make figures    the figures of the documentation
# make bench-gpu    GPU performance                     make lock       record the installed versions
# make test-slow    tests that take long, mostly by compilation
# make mutants      how many small errors in src the tests notice; more than an hour
# make docs         the documentation site, docs/_build/html/index.html
# make fuzz         100,000 calls with random input, valid or not
# make bench-entries   speed of complete and robust_pca, also relative to other methods
# make bench-scale     data larger than memory and clusters: speed, memory, a model of the time
# make bench-threads   small problems with and without threads of BLAS, beside a busy process
# make bench-ranks     how often the rank is found if none is given, and the cost
# make planning-table       the table of robustrank.plan, from the rows in results/
# make baseline             what this version answers to 2,000 problems; make baseline-compare
# make study-certificates   whether a wrong result is ever certified, about three hours
#
# Everything is installed into .venv and cached under .cache; results are written to out/ and results/.
# make demo installs only what the demonstration needs; the other targets install the rest.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO_READY := $(VENV)/.demo-ready
READY := $(VENV)/.ready
BENCH_READY := $(VENV)/.bench-ready
export PIP_CACHE_DIR := $(CURDIR)/.cache/pip
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export MPLCONFIGDIR := $(CURDIR)/.cache/matplotlib
# Every process would compile all modules anew without a place for bytecode.
export PYTHONDONTWRITEBYTECODE :=
export PYTHONPYCACHEPREFIX := $(CURDIR)/.cache/bytecode

.PHONY: setup demo docs planning-table study-certificates baseline baseline-compare test test-slow test-gpu mutants fuzz check format bench bench-entries bench-scale bench-threads bench-ranks reproduce bench-gpu figures picture lock clean

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

$(BENCH_READY): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing the packages to compare with into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --editable '.[bench]'
	@touch $(BENCH_READY)

demo: $(DEMO_READY)
	@mkdir -p out
	@$(BIN)/robustrank demo --report out/demo.html

# One BLAS thread in each of two processes; with more, the processes compete for the cores.
# The flag makes compilation by JAX faster.
test: $(READY)
	XLA_FLAGS=--xla_backend_optimization_level=0 OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2

# Mostly JAX on the CPU, in single precision and with many sizes.
test-slow: $(READY)
	XLA_FLAGS=--xla_backend_optimization_level=0 OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 $(BIN)/python -m pytest -m "slow and not gpu" --numprocesses 2

# The tests of PyTorch, JAX and CuPy on a GPU, whichever are installed. JAX must not reserve most of
# the GPU memory in every process.
GPU_PROCESSES ?= 6
test-gpu: $(READY)
	XLA_PYTHON_CLIENT_PREALLOCATE=false $(BIN)/python -m pytest -m gpu --numprocesses $(GPU_PROCESSES)

# Runs all tests once to record which lines they execute, then those of each mutant; it can be
# interrupted and continued. make mutants COUNT=30 is shorter, SEED=1 chooses others.
mutants: $(READY)
	$(BIN)/python tests/mutants.py --count $(or $(COUNT),100) --seed $(or $(SEED),0)

# Takes about half an hour; make fuzz CASES=5000 is shorter. `make test` runs 1,200 cases.
CASES ?= 100000
fuzz: $(READY)
	ROBUSTRANK_FUZZ=$(CASES) OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest tests/api/test_fuzz.py tests/api/test_complete_fuzz.py

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

# About ten minutes; make bench-entries LARGE=1 adds 15 million entries, QUICK=1 tries it on small
# problems without replacing the figure.
bench-entries: $(BENCH_READY)
	@mkdir -p out
	@$(BIN)/python benchmarks/entries.py --json out/bench-entries.json $(if $(LARGE),--large) \
	  $(if $(QUICK),--quick,--figure docs/figures/entries-growth.png)

# About ten minutes with a file of 2 GB in the system's temporary folder (TMPDIR); make bench-scale
# LARGE=1 writes 20 GB, QUICK=1 tries it with 0.5 GB.
bench-scale: $(READY)
	@mkdir -p out
	@$(BIN)/python benchmarks/scale.py --json out/bench-scale.json $(if $(LARGE),--large) \
	  $(if $(QUICK),--quick)

bench-threads: $(READY)
	@mkdir -p out
	@$(BIN)/python benchmarks/threads.py --json out/bench-threads.json

bench-ranks: $(READY)
	@mkdir -p out
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/ranks.py --workers 2 --json out/ranks.json

# The studies in experiments/ on small problems, with figures and a page. The studies at full size
# take hours and can be interrupted: make reproduce FULL=1 FIG="fig1a solvers" DEVICE=cuda ONLY=default
reproduce: $(READY)
	@$(BIN)/python -m experiments $(or $(FIG),all) --report $(if $(FULL),,--quick) \
	  $(if $(DEVICE),--device $(DEVICE)) $(if $(ONLY),--only $(ONLY))

# Whether a wrong result is ever certified: 20,100 small problems of every kind, about three hours on
# two cores. It can be interrupted and continued.
study-certificates: $(READY)
	@$(BIN)/python -m experiments certificates --trials 1340 --report

# What this version answers to a fixed set of small problems, with errors, claims and times, for a
# comparison with another version. It can be interrupted and continued. The development set takes
# about ten minutes on two cores, and the sealed one, which is for releases, an hour:
# make baseline SET=sealed OUT=results/baseline/sealed.jsonl.gz
# The comparison lists every changed claim; it fails if a right claim is lost or a wrong one is new.
SET ?= development
OUT ?= out/baseline-$(SET).jsonl.gz
OLD ?= results/baseline/$(SET).jsonl.gz
baseline: $(READY)
	@$(BIN)/python -m experiments baseline run --set $(SET) --out $(OUT) $(if $(WORKERS),--workers $(WORKERS))

baseline-compare: $(READY)
	@$(BIN)/python -m experiments baseline compare $(OLD) $(OUT)

# Derives the table of robustrank.plan, src/robustrank/planning/curves.json, from the committed rows.
planning-table: $(READY)
	@$(BIN)/python -m experiments.planning_table

# On a machine with a CUDA device and a PyTorch that can use it.
bench-gpu: $(READY)
	@mkdir -p out
	@$(BIN)/python benchmarks/gpu.py --json out/bench-gpu.json

# The site, with the pictures of the gallery, without network access; warnings are errors. The ratings
# of one example come with a package of which only that file is used; the examples with a video and
# with weather stations are executed where their data is installed (see the scripts).
# make docs EXAMPLES=0 leaves out running the examples.
docs: $(READY)
	@$(BIN)/python -m pip install --quiet --no-deps recbole || echo "RecBole is not available: the example with ratings is not executed"
	@$(BIN)/sphinx-build -W --keep-going --quiet $(if $(filter 0,$(EXAMPLES)),-D plot_gallery=0) -d docs/_build/doctrees docs docs/_build/html
	@echo "The site is in docs/_build/html/index.html"

figures: $(READY)
	$(BIN)/python docs/figures/make_figures.py

picture: $(READY)
	$(BIN)/python docs/figures/make_picture.py

# Records the installed versions, after a deliberate upgrade.
lock: $(READY)
	$(BIN)/python -m pip freeze --exclude-editable | sed 's/+cpu$$//' > constraints.txt

clean:
	rm -rf $(VENV) .cache out docs/_build docs/gallery docs/reference/generated
