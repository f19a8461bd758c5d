"""Federated learning for organisations that partly compete.

Who may learn from whom, so that no participant ever contributes to a competitor, directly
or through others: decided, proven by a certificate that anyone can check, and explained.

>>> import fedcompetitors as fc
>>> competing = fc.CompetingGraph([("St Mary", "General")])
>>> benefit = fc.BenefitGraph([("St Mary", "University", 0.4), ("University", "General", 0.3)])
>>> plan = fc.select(competing, benefit)
>>> plan.edges
(Edge(helper='St Mary', helped='University', benefit=0.4),)
>>> print(fc.explain(competing, benefit, plan, "University", "General"))
No: General may not learn from University (benefit 0.3), because the data of St Mary would \
then reach its competitor General (St Mary says so): St Mary → University → (refused) → General. \
University already carries the data of St Mary (St Mary → University).

An edge always points the way information flows, from the helper to the helped. Plans and
certificates are those of the program `fedcompetitors`: what one writes the other reads.
"""

from fedcompetitors import errors
from fedcompetitors._coordinator import Outcome
from fedcompetitors._federation import Audit, Federation, audit
from fedcompetitors._graphs import BenefitGraph, CompetingGraph, read_graphs
from fedcompetitors._mixing import mix
from fedcompetitors._participants import Adam, GradientLearner, Participant, TrainingLearner
from fedcompetitors._plans import (
    Certificate,
    Comparison,
    Comparisons,
    Edge,
    Explanation,
    Plan,
    Refusal,
    compare,
    explain,
    select,
    verify,
)
from fedcompetitors._registry import default_settings, entries
from fedcompetitors._settings import Settings
from fedcompetitors.errors import FedCompetitorsError, FedCompetitorsWarning

__all__ = [
    "Adam",
    "Audit",
    "BenefitGraph",
    "Certificate",
    "Comparison",
    "Comparisons",
    "CompetingGraph",
    "Edge",
    "Explanation",
    "FedCompetitorsError",
    "FedCompetitorsWarning",
    "Federation",
    "GradientLearner",
    "Outcome",
    "Participant",
    "Plan",
    "Refusal",
    "Settings",
    "TrainingLearner",
    "audit",
    "compare",
    "default_settings",
    "entries",
    "errors",
    "explain",
    "mix",
    "read_graphs",
    "select",
    "verify",
]
