"""A hospital: its learner and its own data, which never leaves it."""

from typing import Any

from fedcompetitors import Adam
from fedcompetitors.flower import client_app
from flwr.app import Context

from hospitals.data import read
from hospitals.numpy_learner import Regression


def make_learner(context: Context) -> Any:
    """NumPy, unless the run or this hospital's own node-config asks for PyTorch."""
    parts = read(str(context.node_config.get("data", "")))
    kind = context.node_config.get("learner", context.run_config.get("learner", "numpy"))
    if kind == "torch":
        # Only here: whoever learns with NumPy needs no PyTorch.
        from hospitals.torch_learner import TorchRegression

        return TorchRegression(parts)
    if kind != "numpy":
        raise ValueError(f'there is no learner "{kind}": numpy or torch')
    return Regression(parts)


# The participant's name and its competitors are in the node-config, too.
app = client_app(make_learner, rule=Adam(rate=0.03))
