"""Clusters on this machine: processes with one thread each, on the loopback device only."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from certpca.runtime.threads import at_most_threads
from distributed import Client, LocalCluster


@contextmanager
def workers(count: int) -> Iterator[Any]:
    """Start so many worker processes and connect to them."""
    with (
        LocalCluster(n_workers=count, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def one_thread() -> Iterator[None]:
    """Let this process compute with one thread, as each worker does."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), at_most_threads(1):
        yield


def difference(first: float, second: float) -> float:
    """Return the relative difference of two numbers."""
    return abs(second / first - 1.0)
