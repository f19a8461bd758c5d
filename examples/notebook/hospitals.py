"""Eight hospitals, four pairs of which compete: a notebook in cells (`# %%`)."""

# %% [markdown]
# # Who may learn from whom?
# Eight hospitals would like to learn from each other. Some compete, and nobody wants to help a
# competitor, not even through a friend.

# %%
from pathlib import Path

import numpy as np

import fedcompetitors as fc

folder = Path(__file__).parent.parent / "hospitals"
competing, benefit = fc.read_graphs(folder / "competing.csv", folder / "benefit.csv")
print(competing, benefit)

# %% [markdown]
# The best plan that the rule allows, and how the others compare:

# %%
plan = fc.select(competing, benefit)
print(plan, "\n")
print(fc.compare(competing, benefit))

# %% [markdown]
# Nobody needs to believe it. The certificate can be checked by hand, or by somebody else's program:

# %%
print(fc.verify(competing, plan, plan.certificate))

# %% [markdown]
# Why may General not learn from University?

# %%
print(fc.explain(competing, benefit, plan, "University", "General"))

# %% [markdown]
# One hospital leaves. Its data stays in the models that carry it, and the new plan knows that:

# %%
later = plan.leave("Harbour", competing=competing, benefit=benefit)
print(later.difference)

# %% [markdown]
# Each hospital gets a mixture of its own model and its helpers', with weights by benefit. All mixtures
# are one pass over the models:

# %%
names = plan.participants
weights = np.eye(len(names), dtype=np.float32)
for edge in plan.edges:
    weights[names.index(edge.helped), names.index(edge.helper)] = edge.benefit
weights /= weights.sum(axis=1, keepdims=True)

chance = np.random.default_rng(1)
models = [chance.standard_normal(1000, dtype=np.float32) for _ in names]
mixed = fc.mix(weights, models)
print({name: round(float(model.std()), 2) for name, model in zip(names, mixed, strict=True)})
