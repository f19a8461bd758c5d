"""What can be wrong, each kind an exception of its own.

Every message names the participant and the cause. What can be done about it is in ``hint``,
and Python shows it below the message.
"""

from collections.abc import Sequence


class FedCompetitorsWarning(UserWarning):
    """Something that looks like a mistake, as a competitor whose name may be misspelt."""


class FedCompetitorsError(ValueError):
    """What all errors of this package have in common.

    Attributes
    ----------
    hint : str
        What can be done about it.
    """

    hint: str

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint
        self.add_note(f"hint: {hint}")

    def __reduce__(self) -> tuple[object, ...]:
        # The note is made anew: exceptions travel between processes.
        return (type(self), (str(self), self.hint))


# Names and edges


class EmptyName(FedCompetitorsError):
    """A participant without a name."""


class NameNotTrimmed(FedCompetitorsError):
    """A name that begins or ends with white space."""


class DoubledParticipant(FedCompetitorsError):
    """The same name twice in a list of participants."""


class UnknownParticipant(FedCompetitorsError):
    """A name that no participant has."""


class CompetesWithItself(FedCompetitorsError):
    """A participant that names itself as its competitor."""


class NegativeBenefit(FedCompetitorsError):
    """A negative benefit."""


class NotFiniteBenefit(FedCompetitorsError):
    """A benefit that is infinite or not a number."""


class TooLargeBenefit(FedCompetitorsError):
    """A benefit so large that sums of such would not be numbers."""


class BenefitToItself(FedCompetitorsError):
    """A benefit of a participant to itself."""


class DoubledBenefit(FedCompetitorsError):
    """The same benefit edge twice."""


class UsesItself(FedCompetitorsError):
    """A plan in which a participant learns from itself."""


class DoubledUsage(FedCompetitorsError):
    """A plan with the same edge twice."""


# Graphs, matrices and files


class NotAGraph(FedCompetitorsError):
    """Something that no graph can be made of."""


class NoParticipants(FedCompetitorsError):
    """Graphs without any participant."""


class TooManyParticipants(FedCompetitorsError):
    """More participants than can be handled."""


class TooLittleMemory(FedCompetitorsError):
    """Graphs that don't fit into memory."""


class WrongShape(FedCompetitorsError):
    """A matrix that is not square, or arrays that don't fit each other."""


class OtherSize(FedCompetitorsError):
    """A matrix that is not for this many participants."""


class OtherNames(FedCompetitorsError):
    """A table whose rows and columns have different names."""


class NotABit(FedCompetitorsError):
    """A matrix of competition that holds something other than 0 and 1."""


class UnusableMatrix(FedCompetitorsError):
    """A file that should be an ``.npy`` matrix and is not one that can be used."""


class Unreadable(FedCompetitorsError):
    """A file that cannot be read."""


class NotUtf8(FedCompetitorsError):
    """A file that is not UTF-8 text."""


class EmptyFile(FedCompetitorsError):
    """A file with nothing in it."""


class OpenQuote(FedCompetitorsError):
    """A table with a double quote that is never closed."""


class WrongHeader(FedCompetitorsError):
    """A table whose first line is not its header."""


class WrongFields(FedCompetitorsError):
    """A line with too few or too many fields."""


class NotANumber(FedCompetitorsError):
    """A benefit that is no number."""


class NotJson(FedCompetitorsError):
    """A plan or certificate that is not JSON of the expected form."""


class OtherFormat(FedCompetitorsError):
    """JSON of another format or version."""


class WrongSets(FedCompetitorsError):
    """A certificate with no set for a participant, or two."""


# Decisions


class UnknownPolicy(FedCompetitorsError):
    """A policy that there is not."""


class UnknownObjective(FedCompetitorsError):
    """An objective that there is not."""


class ObjectiveNotServed(FedCompetitorsError):
    """An objective given to a policy that has its own."""


class NotASetting(FedCompetitorsError):
    """A time limit or gap that makes no sense."""


class TakesPartAlready(FedCompetitorsError):
    """Somebody joins who is there."""


class HasLeftAlready(FedCompetitorsError):
    """Somebody leaves who has left."""


class StillCompete(FedCompetitorsError):
    """Two are said to be reconciled whom the competing graph still has as competitors."""


class RuleBroken(FedCompetitorsError):
    """A plan by which somebody contributes to a competitor.

    Attributes
    ----------
    path : tuple of str
        From the participant whose data leaks to the competitor that gets it.
    connected_pairs : int
        How many participants reach a competitor in all.
    """

    path: tuple[str, ...]
    connected_pairs: int

    def __init__(
        self, message: str, hint: str, path: Sequence[str] = (), connected_pairs: int = 0
    ) -> None:
        super().__init__(message, hint)
        self.path = tuple(path)
        self.connected_pairs = connected_pairs

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (str(self), self.hint, self.path, self.connected_pairs))


class PastBreaksRule(FedCompetitorsError):
    """Models that carry a competitor's data already, which no plan can undo.

    Attributes
    ----------
    breaches : tuple of (str, str)
        Who carries the data of which competitor.
    """

    breaches: tuple[tuple[str, str], ...]

    def __init__(self, message: str, hint: str, breaches: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(message, hint)
        self.breaches = tuple(breaches)

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (str(self), self.hint, self.breaches))


class CertificateRefused(FedCompetitorsError):
    """A certificate that does not prove that the plan keeps the rule."""


# Mixing


class WrongType(FedCompetitorsError):
    """A model that is no one-dimensional NumPy array of float32."""


class NotContiguous(FedCompetitorsError):
    """A model that does not lie in one piece of memory."""


class Overlap(FedCompetitorsError):
    """An output that cannot be written, or shares its memory with a model or another output."""


# Learning together


class UnusableLearner(FedCompetitorsError):
    """An object that cannot learn, or answers with something else than numbers that fit."""


class TooFewAnswers(FedCompetitorsError):
    """Fewer participants have answered than are needed, again and again."""


class GuardStopped(FedCompetitorsError):
    """Something that carries a competitor's data was about to be handed over."""


class RunExists(FedCompetitorsError):
    """A folder that holds a run already."""


class NoRun(FedCompetitorsError):
    """A folder that holds no run."""


class RunBusy(FedCompetitorsError):
    """A folder in which another run is at work."""


class OtherRun(FedCompetitorsError):
    """A folder that holds another run, or one of another version."""


class DamagedRun(FedCompetitorsError):
    """A run whose record is not as it was written."""


class RunNotWritable(FedCompetitorsError):
    """A run whose record cannot be written."""


# Flower


class UnknownNode(FedCompetitorsError):
    """Participants that are bound to nodes in a way that cannot be."""


class DeploymentFailed(FedCompetitorsError):
    """A link, a node or a run on Flower that does not start or has failed."""


class NotAnApp(FedCompetitorsError):
    """A folder without an application of Flower that could be tried on one machine."""
