"""A process that has computed may fork, and threads may compute at once: the answers are those of one alone."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

REPEATS = int(os.environ.get("CERTPCA_TEST_FORKS", "2"))  # a nightly run asks for more
SECONDS = 240 + 10 * REPEATS  # a process that hangs is killed

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot fork here")

PROBLEM = """
    import json, os, sys, threading
    import numpy as np
    import certpca

    REPEATS = int(sys.argv[1])
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 900))  # large enough for loops in threads
    X[:, :9] += 2 * rng.standard_normal((120, 1))

    def certified(shift=0):
        found = certpca.certify(X + shift, 9, budget=certpca.Budget(steps=12))
        return found.upper_bound, found.objective, found.support.tolist()

    def solved(shift=0):
        found = certpca.solve(X + shift, 9)
        return found.objective, found.support.tolist()

    def traced(shift=0):
        budget = certpca.Budget(steps=8)
        return certpca.path(X + shift, [3, 9], certify=True, target_gap=0.1, budget=budget).objectives.tolist()

    CERTIFICATE = certpca.certify(X, 9, budget=certpca.Budget(steps=12))

    def checked(shift=0):
        return certpca.verify(CERTIFICATE, X).upper_bound

    VERBS = {"certify": certified, "solve": solved, "path": traced, "verify": checked}
"""


def run(script: str, *arguments: str, **environment: str) -> dict:
    """Run a script in a process of its own and return what it prints as JSON."""
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-c",
            textwrap.dedent(PROBLEM) + textwrap.dedent(script),
            str(REPEATS),
            *arguments,
        ],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        env={**os.environ, "NUMBA_NUM_THREADS": "3", **environment},
    )
    assert done.returncode == 0, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    result: dict = json.loads(done.stdout.splitlines()[-1])
    return result


@pytest.mark.parametrize("verb", ["certify", "solve", "path", "verify"])
def test_a_forked_process_computes_what_its_parent_does(verb: str) -> None:
    found = run(
        """
        verb = VERBS[sys.argv[2]]
        expected, good = verb(), 0
        for _ in range(REPEATS):
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    os.write(writing, json.dumps(verb()).encode())
                    status = 0
                finally:
                    os._exit(status)
            os.close(writing)
            with os.fdopen(reading) as pipe:
                text = pipe.read()
            good += os.waitpid(child, 0)[1] == 0 and json.loads(text) == json.loads(json.dumps(expected))
            good -= verb() != expected  # the parent goes on as before
        print(json.dumps({"good": good}))
        """,
        verb,
    )
    assert found == {"good": REPEATS}


def test_a_pool_of_forked_processes() -> None:
    found = run(
        """
        import multiprocessing
        certified()
        with multiprocessing.get_context("fork").Pool(3) as pool:
            results = pool.map(certified, [0] * (3 * REPEATS), chunksize=1)
        expected = certified()
        print(json.dumps({"same": sum(result == expected for result in results)}))
        """
    )
    assert found == {"same": 3 * REPEATS}


@pytest.mark.parametrize("layer", ["workqueue", "omp"])
def test_threads_that_compute_at_the_same_time(layer: str) -> None:
    """numba's workqueue layer aborts when two threads use it at once; its other layers survive no fork."""
    found = run(
        """
        TURNS = max(1, REPEATS // 2)
        shifts = [0, 1]
        jobs = [(name, shift) for name in VERBS for shift in shifts]
        expected = {job: VERBS[job[0]](job[1]) for job in jobs}
        good, begin, lock = 0, threading.Barrier(4), threading.Lock()
        def work(number):
            global good
            for turn in range(TURNS):
                begin.wait()
                for job in jobs[number:] + jobs[:number]:
                    same = VERBS[job[0]](job[1]) == expected[job]
                    with lock:
                        good += same
        threads = [threading.Thread(target=work, args=(2 * number,)) for number in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(json.dumps({"good": good, "jobs": 4 * TURNS * len(jobs)}))
        """,
        NUMBA_THREADING_LAYER=layer,
    )
    assert found["good"] == found["jobs"]


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_joblib(backend: str) -> None:
    pytest.importorskip("joblib")
    found = run(
        """
        import warnings
        from joblib import Parallel, delayed
        expected = certified()
        def again(data):
            found = certpca.certify(data, 9, budget=certpca.Budget(steps=12))
            return found.upper_bound, found.objective, found.support.tolist()
        warnings.simplefilter("default")
        results = Parallel(n_jobs=2, backend=sys.argv[2])(delayed(again)(X) for _ in range(4))
        print(json.dumps({"bounds": [result[0] for result in results], "expected": expected[0],
                          "supports": all(result[2] == expected[2] for result in results)}))
        """,
        backend,
    )
    assert found["supports"]
    # Workers of loky may run BLAS with fewer threads, which adds up in another order.
    assert found["bounds"] == pytest.approx([found["expected"]] * 4, rel=1e-6)


def test_no_thread_of_a_compilers_runtime_is_started() -> None:
    found = run(
        """
        for verb in VERBS.values():
            verb()
        from numba.np.ufunc import parallel
        print(json.dumps({"launched": parallel._is_initialized}))
        """
    )
    assert found == {"launched": False}
