"""The search for the best mixture against a twin that asks at every small step."""

import fedcompetitors as fc
import numpy as np
import pytest
from conftest import repeat
from fedcompetitors._participants import Answer, Participant, Request
from fedcompetitors._search import Search
from learners import Linear
from numpy.typing import NDArray

NAMES = ["a", "b", "c", "d"]


def probes(seed: int) -> tuple[dict[int, Participant], dict[int, tuple[int, NDArray[np.float32]]]]:
    """Everybody after training alone: some of a kind, some of another, of all sizes."""
    chance = np.random.default_rng(seed)
    everybody = {
        who: Participant(
            Linear(10 * seed + who, float(chance.choice([-1, 1, 1.3])), int(chance.integers(8, 80)))
        )
        for who in range(len(NAMES))
    }
    request = Request("probe", 1, [np.zeros(5, np.float32)], steps=200)
    models = {who: (who, np.asarray(one.answer(request).model)) for who, one in everybody.items()}
    return everybody, models


@pytest.mark.parametrize("seed", range(repeat(6)))
def test_five_questions_find_what_small_steps_find(seed: int) -> None:
    everybody, models = probes(seed)
    samples = {who: one.learner.samples("training") for who, one in everybody.items()}
    competing = fc.CompetingGraph({"a": ["b"]}, participants=NAMES)
    settings = fc.Settings()
    for who, one in everybody.items():
        search = Search(who, models, NAMES, competing, samples)
        rows = np.array([models[member][1] for member in search.members])

        def ask(weights: NDArray[np.float64]) -> Answer:
            mixture = (weights.astype(np.float32) @ rows).astype(np.float32)
            return one.answer(Request("weigh", 1, [mixture], is_mixture=True))

        for _ in range(settings.search_rounds):
            search.learn(ask(search.weights))

        # The twin: the same aim by thousands of small steps, each with a question of its own.
        prior = np.array([samples[member] for member in search.members], float)
        prior /= prior.sum()

        def worth(weights: NDArray[np.float64]) -> float:
            apart = weights * np.log(np.maximum(weights, 1e-30) / prior)
            return float(np.log(ask(weights).losses[0]) + apart.sum())

        weights = prior.copy()
        for _ in range(500):
            answer = ask(weights)
            slope = rows @ np.asarray(answer.model) / answer.losses[0]
            exponents = 0.97 * np.log(np.maximum(weights, 1e-30)) + 0.03 * (np.log(prior) - slope)
            weights = np.exp(exponents - exponents.max())
            weights /= weights.sum()
        assert worth(search.weights) <= worth(weights) + 0.05
        # Nobody whom it competes with was asked about.
        rivals = {0: {1}, 1: {0}}.get(who, set())
        assert not rivals & set(search.members)
        # And nobody who helps by the one account is far from helping by the other.
        for own, twin, part in zip(search.weights, weights, prior, strict=True):
            if own < 0.5 * settings.threshold * part:
                assert twin < 2 * settings.threshold * part
            if twin < 0.5 * settings.threshold * part:
                assert own < 2 * settings.threshold * part
