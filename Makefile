# The face of the build: set-up, demo, tests and benchmarks in one word each.
BUILD  := build/release
# One test more than processors: many wait for a disk.
CTEST  := ctest --output-on-failure -j$(shell expr $$(nproc) + 1)
export OMP_WAIT_POLICY ?= passive

.PHONY: all install-deps install-deps-mpi install-deps-test python-readers python-packages python-examples python test-examples bench-door bench-peers bench-gpu build program headless demo test test-all test-format test-long test-readers test-tidy \
  test-sanitize test-threads build-fuzz test-fuzz test-fuzz-night test-strangers \
  occupancy test-mutants test-chaos test-chaos-short test-ways test-soak test-events golden-pictures docs bench packages test-packages clean

all: build
	@echo 'The program is $(BUILD)/ludus. To call it as the documents do: export PATH="$$PWD/$(BUILD):$$PATH"'

install-deps:
	@bash cmake/install-deps.sh

# MPI, which clusters have: trainings of several processes and their tests.
install-deps-mpi:
	@bash cmake/install-deps.sh --mpi

build: install-deps
	@cmake --preset release >/dev/null
	@cmake --build --preset release

# The program alone, without tests and without what only a GPU can use: soonest to something to see.
program: install-deps
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target ludus

# For a machine without a screen, without SDL2 and FFmpeg: build/headless/ludus draws nothing and does everything else.
headless:
	@bash cmake/install-deps.sh --headless
	@cmake --preset headless >/dev/null
	@cmake --build --preset headless

# The main job in about a minute on two cores: a person is rescued in a world that is solved exactly, a team learns to reach its
# places, a prover learns to derive; a video of each.
demo: program
	@bash cmake/demo.sh $(BUILD)/ludus

# What a newcomer runs: the build, the suite without its long tests, every fuzz target for a moment. The last line says what passed.
test: install-deps-mpi build python-packages
	@$(CTEST) --test-dir $(BUILD) -LE long
	@bash cmake/fuzz.sh $(BUILD) 2000 2
	@bash cmake/test_summary.sh $(BUILD)

# The Python package, built as a wheel, installed in build/python-package and tested with everything that its tests know.
PYTHON := build/python-package/bin/python
python: python-packages
	@$(PYTHON) -m pip install -q --no-deps --no-build-isolation --force-reinstall .
	@$(PYTHON) -m pytest -q python/tests
	@$(PYTHON) -c 'import ludus; print("ludus", ludus.__version__, "is in $(PYTHON)")'

# What every CUDA kernel takes of a GPU, by nvcc alone; rewrites docs/measurements/occupancy.md, fails where a kernel spills.
occupancy: build
	@python3 cmake/occupancy.py $(BUILD)/generated docs/measurements/occupancy.md

# The examples with PyTorch, Stable-Baselines3 and MPE2 in their short forms, and arrays handed to PyTorch and JAX. What they stand on
# is installed in two minutes, 0.9 GB in build/python-examples and 0.5 of Debian's; they run in half a minute.
EXAMPLES := build/python-examples/bin/python
OVER_BUILD = LUDUS_LIBRARY=$(CURDIR)/$(BUILD)/libludus.so OMP_NUM_THREADS=1 $(EXAMPLES)
python-examples: install-deps
	@bash cmake/python-examples.sh || \
	{ rm -rf build/python-examples; echo "python-examples: could not be installed; the examples with PyTorch are skipped"; }

test-examples: build python-examples
	@[ ! -x $(EXAMPLES) ] || $(OVER_BUILD) -m pytest -q -rs -p no:cacheprovider python/tests/test_examples.py \
	python/tests/test_batch.py::test_torch python/tests/test_batch.py::test_jax

# Steps per second through Python beside the same in C, MiniGrid, MPE2, PufferLib and EnvPool, and trainings of simple_spread on two
# libraries.
bench-door: build
	@bash cmake/python-examples.sh --peers
	@PYTHONPATH=python $(OVER_BUILD) -m ludus.bench --others --training

# What other programs need for the nearest work, beside Ludus: environments, Storm, attention and updates in PyTorch, in one table.
bench-peers: build
	@bash cmake/python-examples.sh --peers
	@PYTHONPATH=python $(OVER_BUILD) -W ignore -m ludus.bench_peers --program $(BUILD)/ludus

# A folder that runs on a machine with a GPU and nothing else installed (parity, benchmarks, compute-sanitizer: build/gpu-folder/
# bench-gpu, in under ten minutes). Where there is a GPU it is run here. Needs nvcc.
GPU_FOLDER := build/gpu-folder
bench-gpu:
	@bash cmake/install-deps.sh --headless
	@cmake --preset gpu | grep 'CUDA backend: /' || \
	{ echo 'bench-gpu: no nvcc was found (CUDA Toolkit); it has to be on this machine, the GPU does not'; exit 2; }
	@cmake --build build/gpu --target ludus ludus_cuda ludus_cuda_emulated cuda_tests
	@bash cmake/gpu-folder.sh build/gpu $(GPU_FOLDER)
	@if nvidia-smi -L >/dev/null 2>&1; then $(GPU_FOLDER)/bench-gpu; else echo 'There is no GPU here.'; fi

# What the package and its tests stand on; library/test_python says so where it cannot be had.
python-packages: install-deps
	@$(PYTHON) -c 'import cffi, gymnasium, matplotlib, numpy, pettingzoo, pytest, scikit_build_core, scipy' 2>/dev/null || \
	{ bash cmake/install-deps.sh --python && python3 -m venv build/python-package && \
	$(PYTHON) -m pip install -q --retries 1 -r python/requirements.txt; } || \
	echo "python-packages: could not be installed; the tests of the Python package are skipped"

# The rest: format, the long tests, the examples in Python, programs that read our data sets, clang-tidy, the suite under address and
# undefined-behaviour sanitizers with a moment of every fuzz target, the parallel parts under the thread sanitizer, half a minute of
# chaos.
test-all: test-format test-long test-examples test-readers test-tidy test-sanitize test-threads test-chaos-short

install-deps-test:
	@bash cmake/install-deps.sh --test

test-format: install-deps-test
	@git ls-files '*.c' '*.h' '*.cc' '*.cu' '*.cuh' '*.inc' | xargs -P$(shell nproc) -n64 clang-format --dry-run --Werror

# The programs that read data sets in Python, for tests/cli/test_data_sets.c, which says so where they are missing.
python-readers: install-deps-test
	@build/python/bin/python -c 'import h5py, minari, PIL' 2>/dev/null || \
	{ python3 -m venv build/python && build/python/bin/pip install -q h5py==3.16.0 minari==0.5.4 pillow; } || \
	{ rm -rf build/python; echo "python-readers: could not be installed; the tests with them are skipped"; }

test-long: build
	$(CTEST) --test-dir $(BUILD) -L long

test-readers: build python-readers
	$(CTEST) --test-dir $(BUILD) -R '^cli/test_data_sets$$'

test-tidy: build
	@bash cmake/tidy.sh $(BUILD)

test-sanitize: install-deps-test
	@cmake --preset asan-ubsan >/dev/null
	@cmake --build --preset asan-ubsan
	ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1 \
	LSAN_OPTIONS=suppressions=$(CURDIR)/cmake/leaks.supp:print_suppressions=0 \
	$(CTEST) --test-dir build/asan-ubsan -LE unsanitized
	@bash cmake/fuzz.sh build/asan-ubsan 20000 4

test-threads: install-deps-test
	@cmake --preset tsan >/dev/null
	@cmake --build --preset tsan --target thread_tests
	TSAN_OPTIONS="ignore_noninstrumented_modules=1 halt_on_error=1" \
	$(CTEST) --test-dir build/tsan -L threads

# Every target for an hour, from what earlier nights have found: ten million inputs and more for most of them.
build-fuzz: install-deps-test
	@cmake --preset fuzz >/dev/null
	@cmake --build --preset fuzz

test-fuzz-night: build-fuzz
	@bash cmake/fuzz.sh build/fuzz 100000000 3600

# Checkpoints of every learner with numbers changed inside, in release and under sanitizers; refused allocations. Minutes.
test-strangers: build
	LUDUS_STRANGERS=400 $(BUILD)/learn_test_strangers
	LUDUS_STARVED=400 $(BUILD)/cli_test_starved
	@cmake --preset asan-ubsan >/dev/null
	@cmake --build build/asan-ubsan --target learn_test_strangers
	LUDUS_STRANGERS=50 LSAN_OPTIONS=suppressions=$(CURDIR)/cmake/leaks.supp:print_suppressions=0 \
	build/asan-ubsan/learn_test_strangers

# Every learner and every world with options drawn from their tables, several at a time, and what they promise. Minutes.
test-options: build
	LUDUS_OPTIONS=600 LUDUS_OPTIONS_SEED=$(SEED) $(BUILD)/learn_test_any_options
	LUDUS_OPTIONS=3000 LUDUS_OPTIONS_SEED=$(SEED) $(BUILD)/sim_test_any_options

# Small changes to sim, learn and kernels, and which of them no test notices: of COUNT places, drawn from SEED. Half an hour, or at most
# MUTANT_MINUTES; a run that was ended goes on.
COUNT ?= 300
SEED  ?= 1
MUTANT_MINUTES ?= 0
test-mutants: install-deps
	@python3 tests/mutants/mutants.py build/mutants --count $(COUNT) --seed $(SEED) --minutes $(MUTANT_MINUTES)

# Kills, refused memory and full disks at random over everything that runs long, for ten minutes; run before every release.
SECONDS ?= 600
test-chaos: build
	@python3 tests/endurance/chaos.py $(BUILD) --seconds $(SECONDS) --seed $(SEED)

test-chaos-short: build
	@python3 tests/endurance/chaos.py $(BUILD) --seconds 30 --seed $(SEED)

# Every shipped scenario trained for some seconds in one go, in several sessions, by three threads and by two processes: the same bytes.
test-ways: build
	@python3 tests/endurance/ways.py $(BUILD) --seed $(SEED)

# Window, trainings and recordings, so many minutes each: memory, descriptors, threads and files stay flat.
MINUTES ?= 60
test-soak: build
	@python3 tests/endurance/soak.py $(BUILD) --minutes $(MINUTES) --seed $(SEED)

# The window of every world, of a followed training, of several sides and the editor under random events and the address and undefined-
# behaviour sanitizers, so many minutes in all.
test-events: install-deps-test
	@cmake --preset asan-ubsan >/dev/null
	@cmake --build build/asan-ubsan --target ludus random_events
	@python3 tests/endurance/soak.py build/asan-ubsan --minutes $(MINUTES) --seed $(SEED) --only events

# Every target with libFuzzer, which looks for inputs that take new ways, for ten seconds.
test-fuzz: build-fuzz
	@bash cmake/fuzz.sh build/fuzz 20000 9

# Debian packages of the program, the library and what programs are built with: build/release/packages/*.deb.
packages: build
	@cpack --config $(BUILD)/CPackConfig.cmake -B $(BUILD)/packages >/dev/null
	@ls $(BUILD)/packages/*.deb

# The packages in a bare Debian 12 of their own. Needs root; some minutes, mostly for Debian's archive.
test-packages: packages
	@bash cmake/try-packages.sh $(BUILD)/packages .

# Draws tests/render/golden anew; look at each picture before it is committed.
golden-pictures: build
	@LUDUS_RENEW_GOLDEN=1 $(CTEST) --test-dir $(BUILD) -R golden_pictures

# Follows the tutorials and the gallery: runs every command on them, compares what they show with what is printed, and makes all their
# pictures and clips in docs/images anew. Some minutes; PAGE=guide.md for one page. The commands are read from the pages.
PAGE ?= all
docs: build
	@LUDUS_MAKE_DOCUMENTS=$(PAGE) $(BUILD)/cli_documents_test_guide

bench: build
	$(BUILD)/ludus bench

clean:
	rm -rf build
