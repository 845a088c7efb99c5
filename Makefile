# Two commands do everything on a machine that has Python 3.12 or newer and make:
#   make demo    install into .venv and compare the models on a built-in data set
#   make test    install into .venv and run the tests

PYTHON_ENV := .venv/bin
# two workers on two cores: threads of the BLAS would only wait for each other
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# keep compiled modules, else every process compiles its imports again
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-all lint setup lock clean

demo: setup
	@$(ONE_THREAD) $(PYTHON_ENV)/bayeskern compare

test: setup
	@$(ONE_THREAD) $(PYTHON_ENV)/python -m pytest -n 2 --dist loadfile -m "not slow" --doctest-modules bayeskern tests

test-all: setup  ## also what compiles PyMC models or runs long chains
	@$(ONE_THREAD) $(PYTHON_ENV)/python -m pytest -n 2 --dist loadfile --doctest-modules bayeskern tests

lint: setup
	@$(PYTHON_ENV)/ruff check .
	@$(PYTHON_ENV)/ruff format --check .
	@$(PYTHON_ENV)/mypy

setup:
	@.ci/setup

lock:
	@.ci/lock --upgrade

clean:
	rm -rf .venv .uv dist bayeskern-report
