"""Records losses, gradients and steps of PyTorch in vectors.json, for ../pytorch.rs.

Run it where numpy and torch are installed, then commit what it writes:

    python crates/learn/tests/it/vectors/record.py

All parameters of a model are one flat tensor in the layout of the crate, of which the
layers are views; so PyTorch's gradients and optimisers work on that layout by themselves.
PyTorch computes with 64 bits on numbers that 32 bits hold exactly.

So that the file stays small, inputs and parameters are not written: `generated` makes
them, here and in the test. Of long vectors the file has each `every`-th number, and the
sum of all of them with generated weights.
"""

import json
import pathlib

import numpy as np
import torch
import torch.nn.functional as functional

SAMPLES = 5
STEPS = 5
BINARY_WEIGHTS = [0.5, 2.25]


def generated(seed, count):
    """Multiples of 2^-15 in [-1, 1): a linear congruential generator's upper bits."""
    state, values = seed, np.empty(count)
    for at in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        values[at] = (state >> 16) / 32768 - 1
    return values


class Flat:
    """Takes one layer after the other from a flat tensor."""

    def __init__(self, tensor):
        self.tensor, self.at = tensor, 0

    def take(self, *shape):
        count = int(np.prod(shape))
        self.at += count
        return self.tensor[self.at - count : self.at].view(*shape)


def dense(flat, rows, widths, slope):
    for at, (inputs, outputs) in enumerate(zip(widths, widths[1:])):
        weights, biases = flat.take(inputs, outputs), flat.take(outputs)
        rows = rows @ weights + biases
        if at < len(widths) - 2:
            rows = functional.leaky_relu(rows, slope)
    return rows


class Mlp:
    def __init__(self, widths, slope):
        self.about = {"kind": "mlp", "widths": widths, "slope": slope}
        self.widths, self.slope = widths, slope
        self.inputs, self.outputs, self.every = widths[0], widths[-1], 1
        self.layers = [(i, (i + 1) * o) for i, o in zip(widths, widths[1:])]

    def forward(self, tensor, rows):
        return dense(Flat(tensor), rows, self.widths, self.slope)


class Cnn:
    def __init__(self, side, channels, classes, every):
        self.about = {"kind": "cnn", "side": side, "channels": channels, "classes": classes}
        self.side, self.channels, self.every = side, channels, every
        self.inputs, self.outputs = side * side * channels, classes
        left = ((side - 4) // 2 - 4) // 2
        self.widths = [left * left * 32, 120, 84, classes]
        self.layers = [(25 * channels, (25 * channels + 1) * 16), (400, 401 * 32)]
        self.layers += [(i, (i + 1) * o) for i, o in zip(self.widths, self.widths[1:])]

    def forward(self, tensor, rows):
        flat = Flat(tensor)
        images = rows.view(-1, self.channels, self.side, self.side)
        for channels, filters in ((self.channels, 16), (16, 32)):
            weights = flat.take(filters, 5, 5, channels).permute(0, 3, 1, 2)
            images = functional.conv2d(images, weights, flat.take(filters))
            images = functional.max_pool2d(functional.relu(images), 2)
        # Position after position, each with all filters.
        return dense(flat, images.permute(0, 2, 3, 1).flatten(1), self.widths, 0.0)


def initial(model, seed):
    """Generated numbers, those of a layer times the power of 2 below 2 / sqrt(inputs)."""
    values, at = generated(seed, sum(count for _, count in model.layers)), 0
    for inputs, count in model.layers:
        values[at : at + count] *= 2.0 ** np.floor(np.log2(2 / np.sqrt(inputs)))
        at += count
    return values


def targets(kind, model):
    if kind == "squared error":
        return generated(3, SAMPLES)
    classes = 2 if kind == "binary cross-entropy" else model.outputs
    return np.array([(at * at + 1) % 7 % classes for at in range(SAMPLES)])


def loss_of(kind, outputs, wanted):
    if kind == "squared error":
        return functional.mse_loss(outputs[:, 0], torch.tensor(wanted))
    if kind == "cross-entropy":
        return functional.cross_entropy(outputs, torch.tensor(wanted))
    weights = torch.tensor(np.array(BINARY_WEIGHTS)[wanted])
    wanted = torch.tensor(wanted, dtype=torch.float64)
    return functional.binary_cross_entropy_with_logits(outputs[:, 0], wanted, weight=weights)


def shown(vector, every):
    vector = vector.detach().numpy()
    return {
        "every": every,
        "picked": [float(f"{value:.9g}") for value in vector[::every]],
        "sum": float(vector @ generated(4, len(vector))),
        "norm": float(np.linalg.norm(vector)),
    }


def case(model, kind):
    rows = torch.tensor(generated(1, SAMPLES * model.inputs)).view(SAMPLES, -1)
    wanted = targets(kind, model)

    def start():
        return torch.tensor(initial(model, 2), requires_grad=True)

    def loss(tensor):
        return loss_of(kind, model.forward(tensor, rows), wanted)

    tensor = start()
    value = loss(tensor)
    value.backward()
    found = {
        "model": model.about,
        "loss": {"kind": kind, "weights": BINARY_WEIGHTS},
        "samples": SAMPLES,
        "targets": wanted.tolist(),
        "value": value.item(),
        "gradient": shown(tensor.grad, model.every),
        "trajectories": [],
    }
    for rule in (
        {"kind": "sgd", "rate": 0.03125, "momentum": 0.875, "decay": 0.0078125},
        {"kind": "adam", "rate": 0.00390625, "momentum": 0.0, "decay": 0.0078125},
    ):
        tensor = start()
        if rule["kind"] == "sgd":
            optimizer = torch.optim.SGD(
                [tensor], rule["rate"], rule["momentum"], weight_decay=rule["decay"]
            )
        else:
            optimizer = torch.optim.Adam([tensor], rule["rate"], weight_decay=rule["decay"])
        losses = []
        for _ in range(STEPS):
            optimizer.zero_grad()
            value = loss(tensor)
            value.backward()
            optimizer.step()
            losses.append(value.item())
        end = shown(tensor, 2 * model.every)
        found["trajectories"].append({"rule": rule, "losses": losses, "end": end})
    return found


def main():
    one, several = "squared error", "cross-entropy"
    cases = [case(Mlp([4, 1], 0.0), kind) for kind in (one, "binary cross-entropy")]
    cases += [case(Mlp([4, 7, 1], 0.125), kind) for kind in (one, "binary cross-entropy")]
    cases += [case(Mlp([3, 6, 5, 1], 0.0), one)]
    cases += [case(Mlp([4, 3], 0.0), several), case(Mlp([3, 6, 5, 3], 0.125), several)]
    cases += [case(Cnn(17, 2, 3, 29), several), case(Cnn(28, 1, 4, 97), several)]
    cases += [case(Cnn(16, 1, 1, 29), kind) for kind in (one, "binary cross-entropy")]
    text = ",\n".join(json.dumps(found) for found in cases)
    path = pathlib.Path(__file__).with_name("vectors.json")
    path.write_text(f"[\n{text}\n]\n")
    print(f"{path}: {path.stat().st_size} bytes, PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
