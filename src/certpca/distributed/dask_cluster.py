"""The workers of a Dask cluster as a place where blocks are worked on; see `executors.py`.

Everything on a worker is the result of a task that the scheduler knows, data included. So when a worker is lost, what
it held is made again elsewhere, and the run goes on with the same numbers.
"""

import asyncio
import concurrent.futures
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, final

import numpy as np

from certpca.distributed.executors import FAN, Place, added, runs_of
from certpca.runtime.errors import CertpcaError, ClusterError, InvalidProblemError
from certpca.runtime.optional import require
from certpca.runtime.threads import at_most_threads

RETRIES = 3  # of a task that raises; tasks of lost workers are repeated by the scheduler anyway
SHARED_FROM = 1 << 15  # bytes from which a value is sent once and passed on between workers
POLL_SECONDS = 2.0
PATIENCE = "60s"  # without any worker; Dask's own setting certpca.patience overrides it

_one_at_a_time = threading.Lock()


@final
class Cluster(Place):
    """The workers that a `distributed.Client` is connected to.

    Parameters
    ----------
    client
        Connected, and not closed before the work is done.
    """

    keeps = True

    def __init__(self, client: Any) -> None:
        distributed = require("distributed", extra="dask", purpose="client=")
        if not isinstance(client, distributed.Client):
            msg = f"client must be a distributed.Client, got {type(client).__name__}"
            raise InvalidProblemError(msg)
        if client.asynchronous:
            msg = "client must not be asynchronous: certpca waits for its results; make it by Client(...) without that"
            raise InvalidProblemError(msg)
        self.client = client

    def share(self, value: Any) -> Any:
        """Send a large value once, as a task, so that it is not lost with a worker."""
        from dask.sizeof import sizeof

        return self._submit("share", _itself, value) if sizeof(value) >= SHARED_FROM else value

    def map(
        self, name: str, function: Callable[..., Any], *columns: Sequence[Any], alone: bool = False, **shared: Any
    ) -> list[Any]:
        """Make one task for each block."""
        keys = [_key(name) for _ in columns[0]]
        # Dask gives large keyword arguments of a map keys of their bare names, which collide: none may be large.
        there = {word: self.share(value) for word, value in shared.items()}
        with self._speaking():
            made: list[Any] = self.client.map(
                on_worker,
                *columns,
                key=keys,
                retries=RETRIES,
                pure=False,
                function=function,
                alone=alone,
                **there,
            )
        return made

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        """Wait for tasks, for as long as there are workers or may soon be, and bring their results here."""
        from distributed import wait

        with self._speaking():
            lonely = time.monotonic()
            while True:
                try:
                    wait(list(handles), timeout=POLL_SECONDS)
                    break
                except TimeoutError:
                    lonely = self._since_alone(lonely)
            return list(self.client.gather(list(handles)))

    def sum(
        self, name: str, function: Callable[..., Any], *columns: Sequence[Any], alone: bool = False, **shared: Any
    ) -> Any:
        """Add up on the workers, neighbours first."""
        handles = self.map(name, function, *columns, alone=alone, **shared)
        while len(handles) > 1:
            handles = [
                self._submit(f"{name}-sum", _sum_of, *run) if len(run) > 1 else run[0] for run in runs_of(handles, FAN)
            ]
        return self.gather(handles)[0]

    def sum_in_order(self, name: str, handles: Sequence[Any]) -> Any:
        """Return the handle of a sum from left to right in the type of the parts, as a loop over blocks makes it."""
        total, rest = handles[0], list(handles[1:])
        for run in runs_of(rest, 4 * FAN):
            total = self._submit(f"{name}-sum", _sum_in_order, total, *run)
        return total

    def call(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Make one task."""
        return self._submit(name, function, *arguments)

    def compute(self, name: str, function: Callable[..., Any], parts: Sequence[Any]) -> list[Any]:
        """Make one task for each of some delayed objects of Dask."""
        from dask import delayed

        made = [delayed(function, pure=False)(part, dask_key_name=_key(name)) for part in parts]
        with self._speaking():
            return list(self.client.compute(made, retries=RETRIES))

    def _submit(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        with self._speaking():
            return self.client.submit(
                on_worker, *arguments, key=_key(name), retries=RETRIES, pure=False, function=function, alone=False
            )

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """Turn what can go wrong with a cluster into one kind of error with advice."""
        import dask
        from distributed.comm import CommClosedError

        from distributed import KilledWorker

        if self.client.status not in ("running", "connecting", "newly-created"):
            msg = f"the Dask client is {self.client.status}; connect a new one, and keep it open until the work is done"
            raise ClusterError(msg)
        try:
            # Blocks of data travel in graphs on purpose: from there they can be made again.
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
                yield
        except CertpcaError:
            raise
        except KilledWorker as error:
            msg = (
                f"workers died again and again while they worked on {error.task!r}: most likely their memory is too "
                "small; use fewer of them with more memory each"
            )
            raise ClusterError(msg) from error
        except (concurrent.futures.CancelledError, asyncio.CancelledError, CommClosedError) as error:
            msg = "the work was cancelled: the client was closed, or it lost its scheduler; connect again and repeat"
            raise ClusterError(msg) from error
        except ModuleNotFoundError as error:
            msg = f"a worker cannot import {error.name!r}: install the same certpca there as here"
            raise ClusterError(msg) from error

    def _since_alone(self, since: float) -> float:
        """Return since when there has been no worker; raise when that is too long."""
        import dask
        from dask.utils import parse_timedelta

        if self.client.status != "running":
            msg = f"the Dask client is {self.client.status}; it lost its scheduler, or was closed: connect again"
            raise ClusterError(msg)
        now = time.monotonic()
        if self.client.scheduler_info()["workers"]:
            return now
        patience = parse_timedelta(dask.config.get("certpca.patience", PATIENCE))
        if now - since > patience:
            msg = (
                f"the cluster has had no workers for {patience:g} seconds; start some and repeat, or wait longer with "
                'dask.config.set({"certpca.patience": "10 minutes"})'
            )
            raise ClusterError(msg)
        return since


def active_client() -> Any | None:
    """Return the client that Dask uses by default, if there is one, without importing anything."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.default_client()
    except ValueError:
        return None


def on_worker(*entries: Any, function: Callable[..., Any], alone: bool, **shared: Any) -> Any:
    """Call a function with as many threads as the worker has for it."""
    if not alone:
        with at_most_threads(1):
            return function(*entries, **shared)
    with _one_at_a_time, at_most_threads(_own_threads()):  # a worker shares the machine with others
        return function(*entries, **shared)


def _own_threads() -> int:
    from distributed import get_worker

    try:
        return int(get_worker().state.nthreads)
    except ValueError:
        return 1


def _key(name: str) -> str:
    return f"certpca-{name}-{uuid.uuid4().hex}"


def _itself(value: Any) -> Any:
    return value


def _sum_of(*parts: Any) -> Any:
    return added(parts)


def _sum_in_order(*parts: Any) -> Any:
    total = np.array(parts[0])
    for part in parts[1:]:
        total += part
    return total
