"""Runs jobs on one kind of data as they are asked for on standard input, and answers each with one line of JSON."""

import json
import resource
import sys
import time
import traceback

from benchmarks.limits.data import DATA
from benchmarks.limits.verbs import JOBS, prepare, warm_up

import certpca


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    data = DATA[sys.argv[1]]
    values = data.make()
    warm_up()
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        prepare(asked["job"], values, data)
        print(json.dumps({"begins": True}), flush=True)
        begin, cpu = time.perf_counter(), _cpu_seconds()
        try:
            outcome = JOBS[asked["job"]](values, data, certpca.Budget(seconds=asked["limit"]))
        except certpca.runtime.errors.InvalidProblemError as error:
            outcome = {"refused": str(error)}
        except Exception:
            outcome = {"failed": traceback.format_exc()}
        outcome |= {"seconds": time.perf_counter() - begin, "cpu_seconds": _cpu_seconds() - cpu}
        print(json.dumps(outcome), flush=True)


if __name__ == "__main__":
    main()
