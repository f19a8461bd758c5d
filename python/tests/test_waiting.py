"""Long calls let other threads run, and end at Ctrl-C."""

import os
import signal
import threading
import time
from collections.abc import Iterator

import fedcompetitors as fc
import numpy as np
import pytest


def hard() -> tuple[fc.CompetingGraph, fc.BenefitGraph]:
    """Graphs whose best plan takes far longer than any test."""
    chance = np.random.default_rng(3)
    rivals = np.triu(chance.random((120, 120)) < 0.1, 1)
    benefit = chance.random((120, 120)) * (chance.random((120, 120)) < 0.5)
    np.fill_diagonal(benefit, 0)
    return fc.CompetingGraph(rivals), fc.BenefitGraph(benefit)


def test_other_threads_run_meanwhile() -> None:
    graphs = hard()
    counted = 0
    over = threading.Event()

    def count() -> None:
        nonlocal counted
        while not over.is_set():
            counted += 1
            time.sleep(0.005)

    counter = threading.Thread(target=count)
    counter.start()
    before = counted
    plan = fc.select(*graphs, time_limit=0.5)
    meanwhile = counted - before
    over.set()
    counter.join()
    assert meanwhile > 5, "with the lock held it would be 0 or 1"
    assert plan.upper_bound > plan.welfare, "too easy to tell anything"


@pytest.fixture
def hears_ctrl_c() -> Iterator[None]:
    """Whatever is started in the background by a shell is deaf to it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("hears_ctrl_c")
@pytest.mark.parametrize("call", [fc.select, fc.compare])
def test_a_long_search_ends_at_ctrl_c(call: object) -> None:
    graphs = hard()
    killer = threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT))
    start = time.monotonic()
    killer.start()
    with pytest.raises(KeyboardInterrupt):
        call(*graphs, time_limit=120)  # type: ignore[operator]
    killer.join()
    assert time.monotonic() - start < 60
    # And the next call works.
    assert fc.select(*graphs, "greedy").policy == "greedy"
