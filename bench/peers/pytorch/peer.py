"""The same steps in PyTorch, to be timed against.

Reads one job after the other from standard input, a line each, and answers each with one
line of JSON. The jobs:

    synthetic N          seconds of N steps of the joint hypernetwork, synthetic setting
    cnn N                seconds of N steps of the joint hypernetwork, small images
    cifar10 N DIR        seconds of one step of ten participants who train alone on CIFAR-10,
                         from N of them; DIR has the files of its binary version
    reproduce SEEDS E    seconds of the synthetic-strong experiment with one rule,
                         E gradients for each participant and method

It is written the way PyTorch likes it: participants are one dimension of a tensor, so
that a step for all of them is a handful of large operations instead of many small ones.
Numbers are drawn anew here; only sizes and steps are those of the program.
"""

import concurrent.futures
import functools
import json
import pathlib
import sys
import time

import torch
import torch.nn.functional as functional

THREADS = 2
FEATURES, HIDDEN, SLOPE = 20, 100, 0.2
PARAMETERS = (FEATURES + 2) * HIDDEN + 1
TRAINING, VALIDATION, TEST = 1600, 400, 1000
PARTICIPANTS = 8
LOOK, LOCAL_STEPS = 20, 10
CLIQUES = [[0, 1, 4, 5], [2, 3, 6, 7]]
# What the estimates of this setting give, and so the plan; to find it costs next to nothing.
PARTNER = torch.tensor([1, 0, 3, 2, 5, 4, 7, 6])


def perceptron(parameters, rows):
    """One output for each row: parameters (n, PARAMETERS), rows (n, samples, FEATURES)."""
    weights, biases, outer, bias = parameters.split([FEATURES * HIDDEN, HIDDEN, HIDDEN, 1], dim=1)
    hidden = torch.baddbmm(biases.unsqueeze(1), rows, weights.view(-1, FEATURES, HIDDEN))
    hidden = functional.leaky_relu(hidden, SLOPE)
    return torch.baddbmm(bias.unsqueeze(1), hidden, outer.unsqueeze(2)).squeeze(2)


def losses(parameters, data):
    rows, labels = data
    return (perceptron(parameters, rows) - labels).square().mean(1)


def draw(samples):
    """Polynomials of uniform features, half of the participants with negated labels."""
    rows = torch.rand(PARTICIPANTS, samples, FEATURES) * 2 - 1
    labels = sum((rows**power).sum(2) * 0.5 for power in (1, 2, 3))
    labels[PARTICIPANTS // 2 :] *= -1
    return rows, labels + 0.1 * torch.randn_like(labels)


def initial(count):
    """Parameters to begin with, the same for everybody."""
    common = (torch.rand(PARAMETERS) * 2 - 1) * 0.2
    return common.repeat(count, 1)


class Adam:
    """Adam on stacked parameters; `fused` is PyTorch's fastest on processors."""

    def __init__(self, tensors, rate):
        self.optimizer = torch.optim.Adam(tensors, lr=rate, fused=True)

    def step(self):
        self.optimizer.step()
        self.optimizer.zero_grad()


class Hypernetworks:
    """Several networks from rays to parameters, side by side."""

    def __init__(self, count, rays, made, rate):
        def layer(inputs, outputs):
            weights = ((torch.rand(count, inputs, outputs) * 2 - 1) / inputs**0.5).requires_grad_()
            biases = ((torch.rand(count, 1, outputs) * 2 - 1) / inputs**0.5).requires_grad_()
            return weights, biases

        self.layers = [layer(rays, HIDDEN), layer(HIDDEN, HIDDEN), layer(HIDDEN, made)]
        tensors = [tensor for layer in self.layers for tensor in layer]
        with torch.no_grad():
            self.layers[2][0].mul_(0.1)
        self.adam = Adam(tensors, rate)

    def make(self, rays):
        inner = rays.unsqueeze(1)
        for weights, biases in self.layers[:2]:
            inner = torch.relu(torch.baddbmm(biases, inner, weights))
        weights, biases = self.layers[2]
        return torch.baddbmm(biases, inner, weights).squeeze(1)

    def step(self):
        self.adam.step()


class EarlyStopping:
    """The running mean of the models with the lowest validation loss so far."""

    def __init__(self, validation):
        self.validation = validation
        self.mean = self.kept = self.least = None

    @torch.no_grad()
    def offer(self, parameters):
        self.mean = parameters.clone() if self.mean is None else 0.5 * (self.mean + parameters)
        found = losses(self.mean, self.validation)
        if self.kept is None:
            self.kept, self.least = self.mean.clone(), found
            return
        self.least = torch.minimum(self.least, found)
        good = found <= self.least * (1 + 0.5 / VALIDATION**0.5)
        self.kept[good] = self.mean[good]


def joint_network(rays, made):
    """The usual way to write the one network that everybody shares."""
    return torch.nn.Sequential(
        torch.nn.Linear(rays, HIDDEN),
        torch.nn.ReLU(),
        torch.nn.Linear(HIDDEN, HIDDEN),
        torch.nn.ReLU(),
        torch.nn.Linear(HIDDEN, made),
    )


def joint(training, steps):
    """The joint hypernetwork; all participants are at the same parameters, so all samples
    go through the target network at once."""
    network = joint_network(PARTICIPANTS, PARAMETERS)
    adam = Adam(network.parameters(), 0.003)
    rays = torch.distributions.Dirichlet(torch.full((PARTICIPANTS,), 0.2))
    rows, labels = training[0].reshape(-1, FEATURES), training[1].reshape(-1)
    seconds = []
    for _ in range(steps):
        start = time.perf_counter()
        ray = rays.sample()
        made = network(ray).split([FEATURES * HIDDEN, HIDDEN, HIDDEN, 1])
        hidden = torch.addmm(made[1], rows, made[0].view(FEATURES, HIDDEN))
        outputs = torch.addmv(made[3], functional.leaky_relu(hidden, SLOPE), made[2])
        found = (outputs - labels).square().view(PARTICIPANTS, -1).mean(1)
        (ray @ found).backward()
        adam.step()
        seconds.append(time.perf_counter() - start)
    return network, seconds


def tune(network, validation, steps=50):
    """Everybody's ray, the network staying as it is."""
    network.requires_grad_(False)
    logits = torch.zeros(PARTICIPANTS, PARTICIPANTS)
    for _ in range(steps):
        rays = torch.softmax(logits, 1).requires_grad_()
        found = losses(network(rays), validation)
        (slopes,) = torch.autograd.grad(found.log().sum(), rays)
        logits = logits - 0.2 * slopes
    return torch.softmax(logits, 1)


def mixture(training, validation):
    probes = initial(PARTICIPANTS).requires_grad_()
    adam = Adam([probes], 0.01)
    for _ in range(60):
        losses(probes, training).sum().backward()
        adam.step()
    probes = probes.detach()
    logits = torch.zeros(PARTICIPANTS, PARTICIPANTS)
    for _ in range(30):
        weights = torch.softmax(logits, 1).requires_grad_()
        found = losses(weights @ probes, validation)
        (slopes,) = torch.autograd.grad(found.log().sum(), weights)
        logits = logits - 0.2 * slopes
    return torch.softmax(logits, 1)


def rounds(training, stopping, parts, evaluations, rate, decay, pull=0.0, control=False, alone=0):
    """Local steps and averages or mixtures; `parts` is the matrix of who gets what."""
    if alone:
        trial = initial(PARTICIPANTS).requires_grad_()
        adam = Adam([trial], rate)
        for _ in range(alone):
            (losses(trial, training).sum() + 0.5 * decay * trial.square().sum()).backward()
            adam.step()
    models = initial(PARTICIPANTS).requires_grad_()
    adam = Adam([models], rate)
    controls = torch.zeros_like(models)
    added = torch.zeros_like(models)
    done = looked = 0
    while done < evaluations - alone:
        start = models.detach().clone()
        controls.zero_()
        for _ in range(LOCAL_STEPS):
            losses(models, training).sum().backward()
            with torch.no_grad():
                models.grad.add_(models, alpha=decay)
                if pull:
                    models.grad.add_(models - start, alpha=pull)
                if control:
                    controls.add_(models.grad, alpha=1 / LOCAL_STEPS)
                    models.grad.add_(added)
            adam.step()
        done += LOCAL_STEPS
        with torch.no_grad():
            if parts is not None:
                models.copy_(parts @ models)
                if control:
                    added = parts @ controls - controls
            if done >= looked + LOOK:
                looked = done
                stopping.offer(models)


def personal(training, validation, evaluations, rate, decay):
    """A hypernetwork for each participant over itself and its partner, side by side."""
    networks = Hypernetworks(PARTICIPANTS, 2, PARAMETERS, rate)
    rays = torch.full((PARTICIPANTS, 2), 0.5)
    members = torch.stack([torch.arange(PARTICIPANTS), PARTNER], 1)
    stopping = EarlyStopping(validation)
    for step in range(evaluations):
        if step % 11 == 10:
            asked = rays.clone().requires_grad_()
            found = losses(networks.make(asked), validation)
            (slopes,) = torch.autograd.grad(found.sum(), asked)
            rays = functional.normalize((rays - 0.01 * slopes).clamp(min=0), p=1, dim=1)
        else:
            drawn = members.gather(1, torch.multinomial(rays, 1)).squeeze(1)
            made = networks.make(rays)
            data = training[0][drawn], training[1][drawn]
            (losses(made, data).sum() + 0.5 * decay * made.square().sum()).backward()
            networks.step()
        if step % LOOK == LOOK - 1:
            with torch.no_grad():
                stopping.offer(networks.make(rays))
    return stopping.kept


def reproduce(seeds, evaluations):
    start = time.perf_counter()
    rate, decay = 0.01, 0.001
    cliques = torch.zeros(PARTICIPANTS, PARTICIPANTS)
    for group in CLIQUES:
        for member in group:
            cliques[member, group] = 1 / len(group)
    pairs = torch.eye(PARTICIPANTS) * 0.5
    pairs[torch.arange(PARTICIPANTS), PARTNER] = 0.5
    for seed in range(seeds):
        torch.manual_seed(seed)
        training, validation, test = draw(TRAINING), draw(VALIDATION), draw(TEST)
        network, _ = joint(training, 400)
        tune(network, validation)
        mixture(training, validation)
        ways = [
            dict(parts=None),
            dict(parts=cliques),
            dict(parts=cliques, pull=0.01),
            dict(parts=cliques, control=True),
            dict(parts=pairs, control=True, alone=evaluations * 3 // 100),
        ]
        for way in ways:
            stopping = EarlyStopping(validation)
            spent = 90 if way["parts"] is pairs else 0
            rounds(training, stopping, evaluations=evaluations - spent, rate=rate, decay=decay, **way)
            losses(stopping.kept, test)
        for _ in ("CE", "FedCompetitors"):
            losses(personal(training, validation, evaluations - 450, rate, decay), test)
    return time.perf_counter() - start


def images(steps):
    """The joint hypernetwork over a small convolutional network with own heads."""
    count, batch, classes = 10, 64, 2
    shapes = [(16, 3, 5, 5), (16,), (32, 16, 5, 5), (32,), (120, 800), (120,), (84, 120), (84,)]
    sizes = [torch.Size(shape).numel() for shape in shapes]
    network = joint_network(count, sum(sizes))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.5, fused=True)
    heads = (torch.rand(count, 84, classes) * 0.2 - 0.1).requires_grad_()
    rays = torch.distributions.Dirichlet(torch.full((count,), 0.2))
    rows, labels = torch.randn(count * batch, 3, 32, 32), torch.randint(0, classes, (count * batch,))
    seconds = []
    for _ in range(steps):
        start = time.perf_counter()
        ray = rays.sample()
        made = network(ray).split(sizes)
        parts = [part.view(shape) for part, shape in zip(made, shapes)]
        inner = functional.max_pool2d(torch.relu(functional.conv2d(rows, parts[0], parts[1])), 2)
        inner = functional.max_pool2d(torch.relu(functional.conv2d(inner, parts[2], parts[3])), 2)
        inner = torch.relu(functional.linear(inner.flatten(1), parts[4], parts[5]))
        inner = torch.relu(functional.linear(inner, parts[6], parts[7]))
        outputs = torch.bmm(inner.view(count, batch, 84), heads).flatten(0, 1)
        found = functional.cross_entropy(outputs, labels, reduction="none")
        (ray @ found.view(count, batch).mean(1)).backward()
        optimizer.step()
        optimizer.zero_grad()
        heads.grad = None
        seconds.append(time.perf_counter() - start)
    return seconds


CIFAR10_PARTICIPANTS = CIFAR10_CLASSES = 10
CIFAR10_SIDE, CIFAR10_PADDING, CIFAR10_BATCH = 32, 4, 32


@functools.cache
def cifar10_images(folder):
    """All training images, from -2 to 2, and their classes; they are the same every time."""
    records = b"".join(
        pathlib.Path(folder, f"data_batch_{number}.bin").read_bytes() for number in range(1, 6)
    )
    records = torch.frombuffer(bytearray(records), dtype=torch.uint8)
    records = records.view(-1, 1 + 3 * CIFAR10_SIDE**2)
    pixels = records[:, 1:].float().div_(255).sub_(0.5).div_(0.25)
    return pixels.view(-1, 3, CIFAR10_SIDE**2), records[:, 0].long()


def deal_classes():
    """Two different classes for everybody, every class twice."""
    while True:
        twice = torch.arange(CIFAR10_CLASSES).repeat(2)[torch.randperm(2 * CIFAR10_CLASSES)]
        pairs = twice.view(CIFAR10_PARTICIPANTS, 2)
        if (pairs[:, 0] != pairs[:, 1]).all():
            return pairs.tolist()


def cifar10_split(labels):
    """The rows of everybody's images for training: nine tenths of half of two classes."""
    halves = {}
    for label in range(CIFAR10_CLASSES):
        (rows,) = torch.where(labels == label)
        halves[label] = list(rows[torch.randperm(len(rows))].chunk(2))

    def share(label):
        half = halves[label].pop()
        return half[len(half) // 10 :]

    return [torch.cat([share(label) for label in pair]) for pair in deal_classes()]


def shifted_and_mirrored(images):
    """Random crops of images with a margin, half of them mirrored: one gather for them all."""
    count, side = len(images), torch.arange(CIFAR10_SIDE)

    def shift():
        return torch.randint(-CIFAR10_PADDING, CIFAR10_PADDING + 1, (count, 1))

    mirrored = torch.rand(count, 1) < 0.5
    rows = shift() + side
    columns = shift() + torch.where(mirrored, CIFAR10_SIDE - 1 - side, side)
    last = CIFAR10_SIDE - 1
    row, column = rows.clamp(0, last), columns.clamp(0, last)
    inside = (rows == row).unsqueeze(2) & (columns == column).unsqueeze(1)
    places = row.unsqueeze(2) * CIFAR10_SIDE + column.unsqueeze(1)
    cut = images.gather(2, places.view(count, 1, -1).expand(-1, 3, -1))
    return cut.mul_(inside.view(count, 1, -1)).view(count, 3, CIFAR10_SIDE, CIFAR10_SIDE)


class AloneOnCifar10:
    """Some participants who train alone, side by side: their convolutions are groups of one."""

    def __init__(self, own, pixels, labels):
        """Begins with the rows of everybody's images, equally many."""
        self.count, self.own = len(own), torch.stack(own)
        self.pixels, self.labels = pixels, labels

        def tensor(inputs, *shape):
            return ((torch.rand(shape) * 2 - 1) / inputs**0.5).requires_grad_()

        def convolution(inputs, outputs):
            outputs, window = self.count * outputs, inputs * 5 * 5
            return tensor(window, outputs, inputs, 5, 5), tensor(window, outputs)

        def dense(inputs, outputs):
            weights = tensor(inputs, self.count, inputs, outputs)
            return weights, tensor(inputs, self.count, 1, outputs)

        self.convolutions = [convolution(3, 16), convolution(16, 32)]
        self.dense = [dense(800, 120), dense(120, 84), dense(84, CIFAR10_CLASSES)]
        layers = self.convolutions + self.dense
        self.adam = Adam([tensor for layer in layers for tensor in layer], 0.001)
        self.done = self.own.shape[1]

    def batch(self):
        """Everybody's next images, as channels of the same few large ones, and their classes."""
        if self.done + CIFAR10_BATCH > self.own.shape[1]:
            self.own = self.own.gather(1, torch.rand(self.own.shape).argsort(1))
            self.done = 0
        rows = self.own[:, self.done : self.done + CIFAR10_BATCH]
        self.done += CIFAR10_BATCH
        images = shifted_and_mirrored(self.pixels[rows.T.flatten()])
        images = images.view(CIFAR10_BATCH, self.count * 3, CIFAR10_SIDE, CIFAR10_SIDE)
        return images.contiguous(memory_format=torch.channels_last), self.labels[rows]

    def losses(self, images, labels):
        """Everybody's mean loss."""
        inner = images
        for weights, biases in self.convolutions:
            inner = functional.conv2d(inner, weights, biases, groups=self.count)
            # Pooling before ReLU gives the same, and leaves a quarter for it to do.
            inner = torch.relu(functional.max_pool2d(inner, 2))
        inner = inner.reshape(len(images), self.count, -1).transpose(0, 1)
        for weights, biases in self.dense[:-1]:
            inner = torch.relu(torch.baddbmm(biases, inner, weights))
        weights, biases = self.dense[-1]
        outputs = torch.baddbmm(biases, inner, weights).flatten(0, 1)
        found = functional.cross_entropy(outputs, labels.flatten(), reduction="none")
        return found.view(self.count, -1).mean(1)

    def train(self, steps):
        for _ in range(steps):
            self.losses(*self.batch()).sum().backward()
            self.adam.step()


def cifar10(steps, folder):
    """Ten participants who train alone: half of them on a thread of its own, the others on the
    other, each half preparing its batches between its steps.

    Of what was tried on two quiet cores this was the fastest, with 37 ms a step: one group of
    ten on both threads took 41 ms, two threads with one network after the other 45 ms, ten
    networks after each other on both threads 47 ms, with `foreach` instead of `fused` 64 ms.
    The group of ten and the ten networks got no faster with batches from one more thread, and
    slower by half or more with images whose channels do not come last.
    """
    pixels, labels = cifar10_images(folder)
    own = cifar10_split(labels)
    size = CIFAR10_PARTICIPANTS // THREADS
    halves = [
        AloneOnCifar10(own[first : first + size], pixels, labels)
        for first in range(0, CIFAR10_PARTICIPANTS, size)
    ]

    def prepare_worker():
        torch.set_num_threads(1)
        torch.set_flush_denormal(True)

    with concurrent.futures.ThreadPoolExecutor(THREADS, initializer=prepare_worker) as workers:

        def train(steps):
            list(workers.map(lambda half: half.train(steps), halves))

        # What is done once is not part of a step.
        train(1)
        start = time.perf_counter()
        train(steps)
        seconds = time.perf_counter() - start
    # Some of what the workers have set is everybody's.
    torch.set_num_threads(THREADS)
    return [seconds / steps]


def main():
    torch.set_num_threads(THREADS)
    # As the program does: memories that fade would cost a hundred times as much.
    torch.set_flush_denormal(True)
    torch.manual_seed(1)
    for line in sys.stdin:
        job, *given = line.rstrip("\n").split(" ", 2)
        if job == "synthetic":
            answer = joint(draw(TRAINING), int(given[0]))[1]
        elif job == "cnn":
            answer = images(int(given[0]))
        elif job == "cifar10":
            answer = cifar10(int(given[0]), given[1])
        elif job == "reproduce":
            answer = [reproduce(int(given[0]), int(given[1]))]
        else:
            sys.exit(f"no such job: {job}")
        print(json.dumps({"torch": torch.__version__, "seconds": answer}), flush=True)


if __name__ == "__main__":
    main()
