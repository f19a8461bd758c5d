"""A participant that hardly trains: what takes time is everything else."""

import zlib

import numpy as np
from fedcompetitors.flower import client_app
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp


class Still:
    """Moves its parameters by chance, so that mixtures of several are better than each."""

    def __init__(self, name: str) -> None:
        self.chance = np.random.default_rng(zlib.crc32(name.encode()))

    def samples(self, split: str) -> int:
        return 100

    def train(self, parameters: np.ndarray, steps: int) -> np.ndarray:
        return parameters + self.chance.standard_normal(parameters.size, dtype=np.float32)

    def loss(self, parameters: np.ndarray, split: str) -> float:
        return float(np.mean(parameters[:1000] ** 2))

    def loss_and_gradient(self, parameters: np.ndarray, split: str) -> tuple[float, np.ndarray]:
        gradient = np.zeros_like(parameters)
        gradient[:1000] = parameters[:1000] / 500
        return self.loss(parameters, split), gradient


inner = client_app(lambda context: Still(str(context.node_config["participant"])))
app = ClientApp()


@app.train()
def train(message: Message, context: Context) -> Message:
    """Answer either strategy."""
    if any("stage" in record for record in message.content.config_records.values()):
        return inner(message, context)
    (record,) = message.content.array_records.values()
    (array,) = record.values()
    learner = Still(str(context.node_config["participant"]))
    trained = learner.train(array.numpy(), 1)
    metrics = MetricRecord({"num-examples": 100, "loss": learner.loss(trained, "validation")})
    content = RecordDict({"arrays": ArrayRecord([trained]), "metrics": metrics})
    return Message(content, reply_to=message)


@app.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    """Answer FedCompetitors; FedAvg does not ask."""
    return inner(message, context)
