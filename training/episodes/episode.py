"""Episodes: how roles interact. Subclass one of these, or write any class that has their methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .arena import Arena
from .asking import Prompt
from .records import EpisodeState, Messages, ModelResponse
from .rubric import RewardFn, Rubric

__all__ = ["AlternatingRolesEpisode", "ChatEpisode", "Episode", "MultiTurnEpisode", "SingleTurnEpisode"]


class Episode:
    """A protocol of interaction. A subclass has a ``rollout``; its rubric says what it pays.

    Args:
        rubric: a rubric, or reward functions; None: the class's own (``rubric = Rubric(...)``), or nothing is paid.
    """

    episode_type: str = ""
    """The name under which a task registers it."""

    rubric: Rubric = Rubric()

    def __init__(self, rubric: Rubric | RewardFn | Sequence[RewardFn] | None = None) -> None:
        if rubric is not None:
            self.rubric = rubric if isinstance(rubric, Rubric) else Rubric(rubric)

    async def rollout(self, arena: Arena, artifact: Any, state: EpisodeState) -> EpisodeState:
        """Play the episode.

        Args:
            arena: asks models and starts further episodes.
            artifact: what it is about.
            state: to fill and to return.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method rollout(arena, artifact, state).")

    async def call_model(
        self,
        role_id: str,
        prompt: Prompt,
        arena: Arena,
        *,
        choices: Sequence[str] | None = None,
        max_tokens: int | None = None,
    ) -> ModelResponse:
        """Ask a role; its answer becomes a step of the rollout.

        Questions are numbered in the order in which an episode asks them, and the number determines the answer's seed.
        Run several conversations at once as episodes of their own (``arena.generate_rollouts``).

        Args:
            role_id: who is asked.
            prompt: a text, or messages; the role's system prompt goes first.
            arena: the arena that plays this episode.
            choices: the answers that are allowed, of which the role's policy picks one; None: any text.
            max_tokens: the longest answer; None: the role's.

        Raises:
            UnknownName: no such role.
            UsageError: an empty prompt, one that is too long, or unusable choices.
            EngineError: the model's server failed.
        """
        return await arena.call_role(role_id, prompt, choices=choices, max_tokens=max_tokens)

    def get_extras(self, state: EpisodeState) -> dict[str, Any]:
        """What to tell the rubric besides the steps."""
        return {}


class ChatEpisode(Episode):
    """A conversation of turns: overrides say who speaks, what the speaker is shown, and when it is over.

    ``state.data["said"]`` holds (role, text) of all turns.

    Args:
        max_turns: the most turns.
        rubric: as in ``Episode``.
    """

    def __init__(self, max_turns: int = 1, rubric: Rubric | RewardFn | Sequence[RewardFn] | None = None) -> None:
        super().__init__(rubric)
        self.max_turns = max_turns

    def speaker(self, state: EpisodeState, turn: int) -> str:
        """The role whose turn it is."""
        raise NotImplementedError(f"{type(self).__name__} needs a method speaker(state, turn).")

    def opening(self, artifact: Any, role_id: str) -> str:
        """What a role is told first; by default the artifact as text."""
        return str(artifact)

    def choices(self, state: EpisodeState, role_id: str) -> Sequence[str] | None:
        """The answers that are allowed; None: any."""
        return None

    def reply(self, state: EpisodeState, role_id: str, text: str) -> str | None:
        """The environment's reply to the speaker after its turn; None: it says nothing."""
        return None

    def is_over(self, state: EpisodeState) -> bool:
        """Whether the conversation ends before ``max_turns``."""
        return False

    async def rollout(self, arena: Arena, artifact: Any, state: EpisodeState) -> EpisodeState:
        """Let the speakers speak in turn; each sees its own turns as the assistant's, all else as the user's."""
        said: list[tuple[str, str]] = state.data.setdefault("said", [])
        seen: dict[str, Messages] = {}
        for turn in range(self.max_turns):
            role = self.speaker(state, turn)
            if role not in seen:
                heard = [{"role": "user", "content": text} for _, text in said]
                seen[role] = [{"role": "user", "content": self.opening(artifact, role)}, *heard]
            response = await self.call_model(role, _joined(seen[role]), arena, choices=self.choices(state, role))
            said.append((role, response.text))
            for other, messages in seen.items():
                messages.append(response.message if other == role else {"role": "user", "content": response.text})
            answer = self.reply(state, role, response.text)
            if answer is not None:
                seen[role].append({"role": "user", "content": answer})
            if self.is_over(state):
                break
        return state


def _joined(messages: Messages) -> Messages:
    """Messages in which the user never speaks twice in a row, as chat templates want it."""
    found: Messages = []
    for message in messages:
        if found and message["role"] == found[-1]["role"]:
            found[-1] = {"role": message["role"], "content": f"{found[-1]['content']}\n{message['content']}"}
        else:
            found.append(message)
    return found


class MultiTurnEpisode(ChatEpisode):
    """One role talks to an environment that replies.

    Args:
        role: who talks.
        respond: (artifact, texts of the role so far) -> the reply, or None to end the episode.
        max_turns: the most turns.
        rubric: as in ``Episode``.
    """

    def __init__(
        self,
        role: str,
        respond: Callable[[Any, list[str]], str | None] | None = None,
        max_turns: int = 4,
        rubric: Rubric | RewardFn | Sequence[RewardFn] | None = None,
    ) -> None:
        super().__init__(max_turns, rubric)
        self.role, self.respond = role, respond

    def speaker(self, state: EpisodeState, turn: int) -> str:
        """Always the same."""
        return self.role

    def reply(self, state: EpisodeState, role_id: str, text: str) -> str | None:
        """What ``respond`` says; None ends the episode."""
        if self.respond is None:
            return None
        answer = self.respond(state.rollout.artifact, [text for _, text in state.data["said"]])
        state.data["over"] = answer is None
        return answer

    def is_over(self, state: EpisodeState) -> bool:
        """Whether ``respond`` has ended it."""
        return bool(state.data.get("over"))


class SingleTurnEpisode(MultiTurnEpisode):
    """One question, one answer.

    Args:
        role: who answers.
        prompt: artifact -> the question; None: the artifact as text.
        choices: artifact -> the answers that are allowed; None: any.
        rubric: as in ``Episode``.
    """

    def __init__(
        self,
        role: str,
        prompt: Callable[[Any], str] | None = None,
        choices: Callable[[Any], Sequence[str] | None] | None = None,
        rubric: Rubric | RewardFn | Sequence[RewardFn] | None = None,
    ) -> None:
        super().__init__(role, None, 1, rubric)
        self._prompt, self._choices = prompt, choices

    def opening(self, artifact: Any, role_id: str) -> str:
        """The question."""
        return str(artifact) if self._prompt is None else self._prompt(artifact)

    def choices(self, state: EpisodeState, role_id: str) -> Sequence[str] | None:
        """The answers that are allowed."""
        return None if self._choices is None else self._choices(state.rollout.artifact)


class AlternatingRolesEpisode(ChatEpisode):
    """Roles speak in turn, and hear each other.

    Args:
        roles: in order of speaking.
        max_turns: turns in all.
        rubric: as in ``Episode``.
    """

    def __init__(
        self,
        roles: Sequence[str],
        max_turns: int = 4,
        rubric: Rubric | RewardFn | Sequence[RewardFn] | None = None,
    ) -> None:
        super().__init__(max_turns, rubric)
        self.roles = tuple(roles)

    def speaker(self, state: EpisodeState, turn: int) -> str:
        """The next in order."""
        return self.roles[turn % len(self.roles)]
