"""What can be wrong, each kind an exception of its own.

Every message names the participant and the cause. What can be done about it is in ``hint``,
and Python shows it below the message.
"""

from collections.abc import Sequence


class FedCompetitorsWarning(UserWarning):
    """Something that looks like a mistake, such as a misspelt name."""


class FedCompetitorsError(ValueError):
    """The base class of all errors of this package.

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
    """A name that is not the name of a participant."""


class CompetesWithItself(FedCompetitorsError):
    """A participant that names itself as its competitor."""


class NegativeBenefit(FedCompetitorsError):
    """A negative benefit."""


class NotFiniteBenefit(FedCompetitorsError):
    """A benefit that is infinite or not a number."""


class TooLargeBenefit(FedCompetitorsError):
    """A benefit so large that sums of benefits would overflow."""


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
    """Something that cannot be converted to a graph."""


class NoParticipants(FedCompetitorsError):
    """Graphs without any participant."""


class TooManyParticipants(FedCompetitorsError):
    """More participants than can be handled."""


class TooLittleMemory(FedCompetitorsError):
    """Graphs that don't fit into memory."""


class WrongShape(FedCompetitorsError):
    """A matrix that is not square, or arrays that don't fit each other."""


class OtherSize(FedCompetitorsError):
    """A matrix whose size differs from the number of participants."""


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
    """A benefit that is not a number."""


class NotJson(FedCompetitorsError):
    """A plan or certificate that is not JSON of the expected form."""


class OtherFormat(FedCompetitorsError):
    """JSON of another format or version."""


class WrongSets(FedCompetitorsError):
    """A certificate with no set for a participant, or two."""


# Decisions


class UnknownPolicy(FedCompetitorsError):
    """An unknown policy."""


class UnknownObjective(FedCompetitorsError):
    """An unknown objective."""


class ObjectiveNotServed(FedCompetitorsError):
    """An objective for a policy that has none to choose."""


class SamplesMissing(FedCompetitorsError):
    """An objective that needs sample counts, without them."""


class NotSampleCounts(FedCompetitorsError):
    """Sample counts that are not one number above 0 for each participant."""


class NotASetting(FedCompetitorsError):
    """An invalid setting, such as a negative time limit."""


class TakesPartAlready(FedCompetitorsError):
    """A participant joins that already takes part."""


class HasLeftAlready(FedCompetitorsError):
    """A participant leaves that has already left."""


class StillCompete(FedCompetitorsError):
    """A reconciled pair that still competes in the competing graph."""


class RuleBroken(FedCompetitorsError):
    """A plan by which a participant contributes to a competitor.

    Attributes
    ----------
    path : tuple of str
        From the participant whose data leaks to the competitor that receives it.
    connected_pairs : int
        The number of competing pairs that the plan connects.
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
    """A model that is not a one-dimensional NumPy array of float32."""


class NotContiguous(FedCompetitorsError):
    """A model that is not contiguous in memory."""


class Overlap(FedCompetitorsError):
    """An output that cannot be written, or shares its memory with a model or another output."""


# Learning together


class UnusableLearner(FedCompetitorsError):
    """An object that is not a learner, or returns numbers that do not fit."""


class TooFewAnswers(FedCompetitorsError):
    """Fewer participants have answered than are needed, after several attempts."""


class GuardStopped(FedCompetitorsError):
    """The guard stopped a delivery that carries data of a competitor of the receiver."""


class RunExists(FedCompetitorsError):
    """A folder that already contains a run."""


class NoRun(FedCompetitorsError):
    """A folder without a run."""


class RunBusy(FedCompetitorsError):
    """A folder in which another run is in progress."""


class OtherRun(FedCompetitorsError):
    """A folder with a different run, or a run of another version."""


class OtherRunFormat(FedCompetitorsError):
    """A run whose record has the format of another version."""


class DamagedRun(FedCompetitorsError):
    """A run whose record was changed or is damaged."""


class RunNotWritable(FedCompetitorsError):
    """A run whose record cannot be written."""


# Flower


class UnknownNode(FedCompetitorsError):
    """Participants whose binding to nodes is not possible."""


class DeploymentFailed(FedCompetitorsError):
    """A SuperLink, a node or a run of Flower that does not start or has failed."""


class NotAnApp(FedCompetitorsError):
    """A folder without a Flower application that can run on one machine."""
