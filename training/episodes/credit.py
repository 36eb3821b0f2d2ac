"""From the rewards in trees of episodes to the advantage of every step.

A role's *return* at a step is what it is paid in its episode from that step on: the rubric's reward, and what the
episode pays for this step and later ones. Episodes that failed or that nobody learns from, and steps of frozen roles,
get no advantage; the children of an episode that nobody learns from are skipped with it.

The formulas are those of ``data.credit``.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...errors import UsageError
from ..data import credit as credits
from .records import GenerateResult, Step
from .role import Role

__all__ = [
    "ConstantCredit",
    "CreditAssigner",
    "Credited",
    "EpisodicRewardCredit",
    "GRPOCredit",
    "RAECredit",
    "TurnCredit",
]


class Credited(NamedTuple):
    """The outcome of credit assignment.

    Attributes:
        groups: how many groups were compared within. flat_groups: how many of them had no variance.
    """

    groups: int
    flat_groups: int


class CreditAssigner(Protocol):
    """Sets ``advantage`` and ``keep`` of the steps in the trees of an update."""

    def assign(self, results: Sequence[GenerateResult], roles: Mapping[str, Role]) -> Credited:
        """Assign credit in whole trees.

        Args:
            results: the roots of an update.
            roles: by id.
        """
        ...

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint must keep, as plain data."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what ``state_dict`` returned."""
        ...


class _Stateless:
    """A credit assigner that remembers nothing."""

    def state_dict(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Do nothing."""


class GRPOCredit(_Stateless):
    """Compares equals: roots with roots, the children of one parent with each other, each role for itself.

    Siblings are compared if they have the same episode type and the same ``EpisodeRequest.group``.

    Args:
        scale: divide by the group's deviation ("group"), by the batch's ("batch"), or by nothing ("none", Dr.GRPO).

    Source: Shao et al. 2024, DeepSeekMath, section 4.1 (GRPO); Liu et al. 2025 (Dr.GRPO).
    """

    def __init__(self, scale: credits.Scale = "none") -> None:
        self.scale: credits.Scale = scale

    def assign(self, results: Sequence[GenerateResult], roles: Mapping[str, Role]) -> Credited:
        """See ``CreditAssigner``.

        Raises:
            UsageError: siblings that should be compared have different roles.
        """
        keys: list[Hashable] = []
        decided: list[_Decided] = []
        for number, family in enumerate(_families(results)):
            for alike, members in family.items():
                _check_roles(members, roles)
                found = list(_decided(members, roles))
                decided += found
                keys += [(number, alike, d.step.role_id) for d in found]
        groups, own = credits.group_index(keys), credits.group_index([d.trajectory for d in decided])
        total = np.array([d.total for d in decided], np.float64)
        return _given(decided, credits.grpo(total, groups, scale=self.scale, trajectories=own))


class RAECredit:
    """Return minus a running mean for each role of each episode type (role-conditioned advantage estimation).

    Args:
        decay: share of the old mean that each episode keeps.
        by_role: False: one mean for all roles and episode types, the plain baseline of REINFORCE.

    Source: Liu et al. 2025, SPIRAL.
    """

    def __init__(self, decay: float = 0.95, *, by_role: bool = True) -> None:
        self.baseline, self.by_role = credits.RoleBaseline(decay), by_role

    def assign(self, results: Sequence[GenerateResult], roles: Mapping[str, Role]) -> Credited:
        """See ``CreditAssigner``; episodes count in the order of the tree."""
        decided = list(_decided(_trained(results), roles))
        names = [f"{d.result.episode_type}/{d.step.role_id}" if self.by_role else "all" for d in decided]
        total = np.array([d.total for d in decided], np.float64)
        own = credits.group_index([d.trajectory for d in decided])
        return _given(decided, self.baseline.advantages(total, names, own))

    def state_dict(self) -> dict[str, Any]:
        """The running means."""
        return self.baseline.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the running means."""
        self.baseline.load_state_dict(dict(state))


class TurnCredit(_Stateless):
    """Each step's return, normalised over all steps of its role in the update (MARSHAL): sum first, then normalise.

    Source: Yuan et al. 2025, MARSHAL (turn-level advantage, agent-specific normalisation).
    """

    def assign(self, results: Sequence[GenerateResult], roles: Mapping[str, Role]) -> Credited:
        """See ``CreditAssigner``."""
        decided = list(_decided(_trained(results), roles))
        groups = credits.group_index([(d.result.episode_type, d.step.role_id) for d in decided])
        return _given(decided, credits.turn_level(np.array([d.left for d in decided], np.float64), groups))


class EpisodicRewardCredit(_Stateless):
    """The episode's reward minus a constant, for all steps of a role alike.

    Args:
        baseline: the constant.
        positive_only: learn only from what was better.
    """

    def __init__(self, baseline: float = 0.0, *, positive_only: bool = False) -> None:
        self.baseline, self.positive_only = baseline, positive_only

    def assign(self, results: Sequence[GenerateResult], roles: Mapping[str, Role]) -> Credited:
        """See ``CreditAssigner``."""
        decided = list(_decided(_trained(results), roles))
        total = np.array([d.total for d in decided], np.float64)
        return _given(decided, credits.constant(total, baseline=self.baseline, positive_only=self.positive_only))


class ConstantCredit(_Stateless):
    """The same advantage for every step, whatever it was paid: imitation of what was said.

    Args:
        value: the advantage.
    """

    def __init__(self, value: float = 1.0) -> None:
        self.value = value

    def assign(self, results: Sequence[GenerateResult], roles: Mapping[str, Role]) -> Credited:
        """See ``CreditAssigner``."""
        decided = list(_decided(_trained(results), roles))
        return _given(decided, credits.constant(np.full(len(decided), self.value)))


class _Decided(NamedTuple):
    """A step to learn from: its episode, the role's total there, and what is left of it from this step on."""

    step: Step
    result: GenerateResult
    total: float
    left: float

    @property
    def trajectory(self) -> Hashable:
        """The role in this episode."""
        return id(self.result), self.step.role_id


def _families(results: Sequence[GenerateResult]) -> Iterator[dict[Hashable, list[GenerateResult]]]:
    """The roots, then the children of each parent, by what makes them comparable; only those to learn from."""
    found: dict[Hashable, list[GenerateResult]] = defaultdict(list)
    trained = [result for result in results if result.is_trainable]
    for result in trained:
        if not result.error:
            found[result.episode_type, result.group].append(result)
    if found:
        yield found
    for result in trained:
        yield from _families(result.children)


def _trained(results: Sequence[GenerateResult]) -> Iterator[GenerateResult]:
    """All results to learn from, parents before children."""
    for result in results:
        if result.is_trainable:
            if not result.error:
                yield result
            yield from _trained(result.children)


def _decided(
    results: Sequence[GenerateResult] | Iterator[GenerateResult], roles: Mapping[str, Role]
) -> Iterator[_Decided]:
    """All steps to learn from, in order."""
    for result in results:
        left = dict(result.rewards)
        for step in result.rollout.steps:
            if roles[step.role_id].trainable:
                yield _Decided(step, result, result.rewards[step.role_id], left[step.role_id])
            left[step.role_id] -= step.reward


def _check_roles(siblings: Sequence[GenerateResult], roles: Mapping[str, Role]) -> None:
    """Check that no two of them have trainable roles of which neither set contains the other.

    An episode may end before a role has spoken.

    Raises:
        UsageError: two have.
    """
    sets = {
        frozenset(name for name in result.rewards if name in roles and roles[name].trainable): result
        for result in siblings
    }
    ordered = sorted(sets, key=len)
    for small, large in itertools.pairwise(ordered):
        if not small <= large:
            one, other = sets[small], sets[large]
            raise UsageError(
                f"Episodes {_place(one)} and {_place(other)} of type {one.episode_type!r} are to be compared, but have "
                f"different roles: {', '.join(sorted(small))} against {', '.join(sorted(large))}. Give their requests "
                "different groups, or let the rubric pay the same roles."
            )


def _place(result: GenerateResult) -> str:
    return ".".join(map(str, result.path))


def _given(decided: Sequence[_Decided], found: credits.Credit) -> Credited:
    """Write advantages into the steps."""
    for d, advantage, keep in zip(decided, found.advantages.tolist(), found.keep.tolist(), strict=True):
        d.step.advantage, d.step.keep = advantage, keep
    return Credited(found.groups, found.flat_groups)
