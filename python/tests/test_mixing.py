"""Mixing beside NumPy in double precision."""

import threading

import fedcompetitors as fc
import numpy as np
import pytest
from conftest import repeat


@pytest.mark.parametrize("seed", range(repeat(40)))
def test_mixtures_are_those_of_numpy(seed: int) -> None:
    chance = np.random.default_rng(seed)
    receivers, models = chance.integers(1, 16, 2)
    length = int(chance.choice([0, 1, 7, 33, 1000, 4097, 100_003]))
    weights = chance.standard_normal((receivers, models)).astype(np.float32)
    weights[chance.random(weights.shape) < 0.3] = 0
    given = [chance.standard_normal(length, dtype=np.float32) for _ in range(models)]
    before = [model.copy() for model in given]
    mixed = fc.mix(weights, given)
    exact = weights.astype(np.float64) @ np.stack(given).astype(np.float64)
    # What rounding in single precision may come to.
    most = np.abs(weights).astype(np.float64) @ np.abs(np.stack(given)).astype(np.float64)
    assert len(mixed) == receivers
    for row, (one, reference) in enumerate(zip(mixed, exact, strict=True)):
        assert one.dtype == np.float32 and one.shape == (length,)
        assert (np.abs(one - reference) <= (models + 1) * 6e-8 * most[row] + 1e-30).all()
    for model, kept in zip(given, before, strict=True):
        np.testing.assert_array_equal(model, kept)


def test_outputs_are_written_where_they_lie() -> None:
    models = [np.full(5, value, np.float32) for value in (1, 2)]
    table = np.empty((3, 5), np.float32)
    mixed = fc.mix([[1, 0], [0, 1], [0.5, 0.5]], models, out=list(table))
    np.testing.assert_array_equal(table, [[1] * 5, [2] * 5, [1.5] * 5])
    assert all(np.shares_memory(one, table) for one in mixed)


def test_what_has_no_part_is_not_touched() -> None:
    good, bad = np.ones(1000, np.float32), np.full(1000, np.nan, np.float32)
    alone, both = fc.mix([[1, 0], [0.5, 0.5]], [good, bad])
    assert (alone == 1).all(), "NumPy's product would be no number"
    assert np.isnan(both).all()


def test_what_does_not_fit_is_refused() -> None:
    one, two = np.ones(3, np.float32), np.ones(4, np.float32)
    for call, words in [
        (lambda: fc.mix([1.0], [one]), "1 dimensions instead of 2"),
        (lambda: fc.mix([[1.0, 1.0]], [one]), "1 × 2, but there are 1 models"),
        (lambda: fc.mix(np.zeros((1, 0)), []), "there are no models"),
        (lambda: fc.mix([[1.0, 1.0]], [one, two]), "model 1 has 4 parameters, but model 0 has 3"),
        (lambda: fc.mix([[1.0]], [one], out=[two]), "output 0 has 4 parameters"),
        (lambda: fc.mix([[1.0]], [one], out=[]), "there are 0 outputs"),
    ]:
        with pytest.raises(fc.errors.WrongShape, match=words):
            call()
    with pytest.raises(fc.errors.WrongType, match="model 0 is not a one-dimensional"):
        fc.mix([[1.0]], [np.ones((3, 1), np.float32)])
    fixed = np.ones(3, np.float32)
    fixed.flags.writeable = False
    with pytest.raises(fc.errors.Overlap, match="output 0 cannot be written"):
        fc.mix([[1.0]], [one], out=[fixed])
    memory = np.ones(5, np.float32)
    with pytest.raises(fc.errors.Overlap):
        fc.mix([[1.0], [2.0]], [one], out=[memory[:3], memory[2:]])
    np.testing.assert_array_equal(fc.mix([[1.0]], [fixed])[0], fixed)


def test_the_same_bits_from_several_threads_at_once() -> None:
    chance = np.random.default_rng(5)
    models = [chance.standard_normal(200_000, dtype=np.float32) for _ in range(7)]
    weights = chance.random((9, 7))
    first = fc.mix(weights, models)
    results: list[bool] = []

    def again() -> None:
        others = fc.mix(weights, models)
        results.append(all((a == b).all() for a, b in zip(first, others, strict=True)))

    threads = [threading.Thread(target=again) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4
