"""Episode trees: roles interact, rubrics pay them, credit goes back to every answer.

``Arena`` runs episodes; ``Episode`` is the class to derive from. docs/episodes.md shows both.
"""

from __future__ import annotations

from .arena import Arena
from .credit import (
    ConstantCredit,
    CreditAssigner,
    EpisodicRewardCredit,
    GRPOCredit,
    RAECredit,
    TurnCredit,
)
from .episode import AlternatingRolesEpisode, ChatEpisode, Episode, MultiTurnEpisode, SingleTurnEpisode
from .game import GameEpisode
from .records import (
    EpisodeRequest,
    EpisodeState,
    GenerateResult,
    Messages,
    ModelResponse,
    Rollout,
    Step,
    TrainingRecord,
)
from .role import Role
from .rubric import Rubric
from .store import ArtifactStore
from .tasks.task import Task

__all__ = [
    "AlternatingRolesEpisode",
    "Arena",
    "ArtifactStore",
    "ChatEpisode",
    "ConstantCredit",
    "CreditAssigner",
    "Episode",
    "EpisodeRequest",
    "EpisodeState",
    "EpisodicRewardCredit",
    "GRPOCredit",
    "GameEpisode",
    "GenerateResult",
    "Messages",
    "ModelResponse",
    "MultiTurnEpisode",
    "RAECredit",
    "Role",
    "Rollout",
    "Rubric",
    "SingleTurnEpisode",
    "Step",
    "Task",
    "TrainingRecord",
    "TurnCredit",
]
