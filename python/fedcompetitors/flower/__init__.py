"""FedCompetitors on Flower: participants on machines of their own.

`FedCompetitors` is the strategy of a ``ServerApp``, `client_app` makes a ``ClientApp`` of any
learner. ``examples/flower-hospitals`` is a complete application; ``python -m
fedcompetitors.flower up`` starts a SuperLink and nodes on one machine for a try, and
`LocalDeployment` does the same for tests.

Needs ``pip install 'fedcompetitors[flower]'``.
"""

from fedcompetitors.flower._client import client_app
from fedcompetitors.flower._local import LocalDeployment
from fedcompetitors.flower._strategy import FedCompetitors, FedCompetitorsResult

__all__ = ["FedCompetitors", "FedCompetitorsResult", "LocalDeployment", "client_app"]
