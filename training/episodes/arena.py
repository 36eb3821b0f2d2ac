"""The arena: roles, episodes and stores by name, and the engine that all of them ask.

Any number of episodes run concurrently; their questions reach the engine in few calls (``engines.batcher``). An
episode's place in the tree determines its seeds, so the same seed gives the same tree, whoever finished first.

Longer than most files, since an episode sees one object: what takes part, questions, episodes, concurrency, learning.
"""

from __future__ import annotations

import asyncio
import copy
import math
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from ...agents.deadline import OutOfTime
from ...agents.engines.base import Ask, Datum, Form, Free
from ...agents.llm.chat import Style
from ...agents.seeds import Seed, stream
from ...errors import CoterieError, PlayerLeft, UnknownName, UsageError
from ..runs.config import LossConfig, OptimizerConfig
from ..runs.task_config import LimitsConfig
from .asking import Model, Prompt, bare, form_of, messages_of, response_of, tell
from .credit import CreditAssigner, Credited, GRPOCredit
from .node import HERE, Node
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

if TYPE_CHECKING:
    from .learning import Learning

__all__ = ["Arena", "Metrics", "Playable", "Source"]

Source: TypeAlias = Callable[["Arena", np.random.Generator], Sequence[EpisodeRequest]]
"""(arena, generator) -> the requests of an update; all randomness comes from the generator."""

Metrics: TypeAlias = Callable[[Sequence[GenerateResult]], Mapping[str, float]]
"""(the trees of an update) -> its figures by name."""

_RNG = 1 << 62
"""The counter of an episode's generator, far above those of its questions."""

_TOKEN = 16
"""Characters to a token, at the very most: English has four or five."""

_HELD_OUT = 1 << 40
"""In the place of an update's number: evaluations, whose seeds no update has."""


class Playable(Protocol):
    """An episode as the arena sees it; see ``episode.Episode``."""

    rubric: Rubric

    async def rollout(self, arena: Any, artifact: Any, state: EpisodeState) -> EpisodeState:
        """Play the episode."""
        ...

    def get_extras(self, state: EpisodeState) -> dict[str, Any]:
        """What to tell the rubric."""
        ...


class Arena:
    """Runs episodes.

    Args:
        policy: the model: a ``LoraPolicy``, or any ``Engine``.
        seed: of all randomness.
        credit: turns rewards into advantages; None: ``GRPOCredit``.
        concurrency: how many episodes run at once; one that waits for others doesn't count.
        timeout: seconds that an episode may take, its children included.
        style: how messages become prompts, see ``Chat``.
        source: what an update plays.
        loss, optimizer: how players learn; None: the defaults of runs.
        limits: when a player is broken.

    Attributes:
        roles, episodes, stores, models: by name. updates: finished updates.
        held_out: what an evaluation plays; None: the ``source``, with seeds that no update has.
        metrics: (results) -> figures of an update, added to its line under ``task``.
        results: the trees of the last update.
    """

    def __init__(
        self,
        policy: Any,
        *,
        seed: int = 0,
        credit: CreditAssigner | None = None,
        concurrency: int = 64,
        timeout: float = 600.0,
        style: Style | None = None,
        source: Source | None = None,
        loss: LossConfig | None = None,
        optimizer: OptimizerConfig | None = None,
        limits: LimitsConfig | None = None,
    ) -> None:
        if concurrency < 1 or not timeout > 0:
            raise UsageError(f"concurrency is {concurrency} and timeout {timeout}: both must be above 0.")
        self.seed, self.credit, self.timeout = seed, credit or GRPOCredit(), timeout
        self.concurrency, self.source, self.style = concurrency, source, style
        self.held_out: Source | None = None
        self.metrics: Metrics | None = None
        self.results: list[GenerateResult] = []
        self._how = loss or LossConfig(), optimizer or OptimizerConfig(), limits or LimitsConfig()
        self._learning: dict[str, Learning] | None = None
        self.models = {"": Model(policy, style)}
        self.roles: dict[str, Role] = {}
        self.episodes: dict[str, Playable] = {}
        self.stores: dict[str, ArtifactStore] = {}
        self.updates = 0
        self._calls = 0  # requests of this update that came from outside of episodes
        self._slots: tuple[asyncio.AbstractEventLoop, asyncio.Semaphore] | None = None

    # -- what takes part ----------------------------------------------------------------------------------------------

    def add_model(self, name: str, policy: Any, style: Style | None = None) -> None:
        """Add a second model, for roles that name it and for oracles.

        Raises:
            UsageError: the name is taken.
        """
        _new("model", name, self.models)
        self.models[name] = Model(policy, style)

    def add_role(self, role: Role) -> None:
        """Add a role; a trainable one gets an adapter if the engine has none of that name.

        Raises:
            UsageError: the id is taken; the role is trainable and its model can't learn; or its player has the name of
                one that learns with another model.
            UnknownName: no such model; or a frozen role names a player that there isn't.
        """
        _new("role", role.id, self.roles)
        engine = _known("model", role.model, self.models).engine
        for other in self.roles.values():
            if role.trainable and other.trainable and role.adapter == other.adapter and role.model != other.model:
                raise UsageError(
                    f"Roles {other.id!r} and {role.id!r} both learn as {role.adapter!r}, with different models. An "
                    "adapter belongs to one model: give one of them another player."
                )
        players = dict(engine.describe().players)
        if role.adapter is not None and role.adapter not in players:
            if not role.trainable:
                raise UnknownName("player", role.adapter, players)
            engine.add(role.adapter)
        self.roles[role.id] = role

    def add_episode(self, name: str, episode: Playable) -> None:
        """Add an episode type.

        Raises:
            UsageError: the name is taken.
        """
        _new("episode", name, self.episodes)
        self.episodes[name] = episode

    def add_store(self, name: str, store: ArtifactStore | None = None) -> ArtifactStore:
        """Add an artifact store, by default an empty one.

        Raises:
            UsageError: the name is taken.
        """
        _new("store", name, self.stores)
        self.stores[name] = ArtifactStore(name) if store is None else store
        return self.stores[name]

    # -- questions ----------------------------------------------------------------------------------------------------

    async def call_model(
        self,
        prompt: Prompt,
        *,
        temperature: float = 1.0,
        max_tokens: int = 64,
        choices: Sequence[str] | None = None,
        model: str = "",
        player: str | None = None,
    ) -> ModelResponse:
        """Ask an oracle, such as a judge: no role, so its answer is never learned from.

        Args:
            prompt: what to ask.
            temperature: > 0.
            max_tokens: the longest answer.
            choices: the answers that are allowed; None: any.
            model: which model is asked.
            player: the adapter that answers; None: the base model alone.

        Raises:
            UnknownName: no such model.
            UsageError: an empty prompt, one that is too long, or unusable choices.
        """
        node = self._here()
        if node is None:
            self._calls += 1
        seed = node.next_seed() if node else Seed(stream(self.seed, self.updates, self._calls), 0)
        found = _known("model", model, self.models)
        messages = messages_of(prompt, "")
        form = form_of(found.chat, choices, max_tokens)
        ask = self._ask(found, messages, form, player, seed, temperature)
        step = Step("", bare(messages))
        if node is not None:
            node.state.rollout.oracles.append(step)
        response = response_of(found.chat, await found.batcher.ask(ask), choices)
        tell(step, response, choices)
        return response

    async def call_role(
        self, role_id: str, prompt: Prompt, *, choices: Sequence[str] | None = None, max_tokens: int | None = None
    ) -> ModelResponse:
        """Ask a role, within an episode; the answer becomes a step of its rollout. See ``Episode.call_model``."""
        node = self._here()
        if node is None:
            raise UsageError(f"Role {role_id!r} is asked outside of an episode; ask an oracle with arena.call_model.")
        role = _known("role", role_id, self.roles)
        found = self.models[role.model]
        messages = messages_of(prompt, role.system_prompt)
        step = Step(role_id, bare(messages))
        node.state.rollout.steps.append(step)  # now: their order is that of the questions
        try:
            form = form_of(found.chat, choices, role.max_tokens if max_tokens is None else max_tokens)
            ask = self._ask(found, messages, form, role.adapter, node.next_seed(), role.temperature)
            answer = await found.batcher.ask(ask)
        except BaseException:
            node.state.rollout.steps = [s for s in node.state.rollout.steps if s is not step]
            raise
        response = response_of(found.chat, answer, choices)
        tell(step, response, choices)
        step.data, response.step = [Datum.of(ask, answer)], step
        return response

    def _ask(
        self, model: Model, messages: Messages, form: Form, player: str | None, seed: Seed, temperature: float
    ) -> Ask:
        characters = sum(len(message["content"]) for message in messages)
        if characters > _TOKEN * model.longest:  # hopeless: tokenizing them could take minutes
            raise UsageError(
                f"A prompt of {characters:,} characters came; the model reads {model.longest:,} tokens. Shorten it."
            )
        context = model.chat.context(messages, player)
        room = form.max_tokens if isinstance(form, Free) else max(map(len, form.candidates))
        if len(context) + room > model.longest:
            raise UsageError(
                f"A prompt of {len(context):,} tokens came; with an answer of up to {room:,}, the model reads "
                f"{model.longest:,}. Shorten it."
            )
        return Ask(context, form, player, seed, temperature)

    # -- episodes -----------------------------------------------------------------------------------------------------

    async def generate_rollouts(self, requests: Sequence[EpisodeRequest]) -> list[GenerateResult]:
        """Run episodes; within an episode, as its children.

        Returns:
            Their results, in the order of the requests. An episode that failed is one of them, with an ``error``.

        Raises:
            UnknownName: no such episode type, role or model.
        """
        parent = self._here()
        if parent is None:
            self._calls += 1
            return await self._roots(requests, self.updates, self._calls)
        born, trains = len(parent.children), parent.result.is_trainable
        above = parent.result.path
        nodes = [
            self._node(request, (parent.stream,), (*above, born + k), trains=trains)
            for k, request in enumerate(requests)
        ]
        parent.children += nodes
        parent.result.children += [node.result for node in nodes]
        async with self._waiting(parent):
            await self._all(nodes)
        return [node.result for node in nodes]

    async def run_episode(
        self, episode_type: str, artifact: Any = None, *, is_trainable: bool = True
    ) -> GenerateResult:
        """Run one episode; see ``generate_rollouts``."""
        (result,) = await self.generate_rollouts([EpisodeRequest(episode_type, artifact, is_trainable)])
        return result

    def play(self, requests: Sequence[EpisodeRequest]) -> list[GenerateResult]:
        """``generate_rollouts`` for callers without an event loop."""
        return asyncio.run(self.generate_rollouts(requests))

    async def _roots(
        self, requests: Sequence[EpisodeRequest], update: int, call: int, *, trace: bool = True
    ) -> list[GenerateResult]:
        """Run episodes as roots; without ``trace``, what they put off to the end of the update is not done."""
        nodes = [self._node(request, (update, call), (k,)) for k, request in enumerate(requests)]
        await self._all(nodes)
        for node in nodes if trace else ():
            node.finish()
        return [node.result for node in nodes]

    def _node(
        self, request: EpisodeRequest, numbers: tuple[int, ...], path: tuple[int, ...], *, trains: bool = True
    ) -> Node:
        _known("episode", request.episode_type, self.episodes)
        own = stream(self.seed, *numbers, path[-1])
        state = EpisodeState(Rollout(request.artifact), Seed(own, _RNG).generator())
        result = GenerateResult(
            state.rollout, [], request.episode_type, trains and request.is_trainable, request.group, path
        )
        return Node(request, result, state, own, self)

    async def _all(self, nodes: Sequence[Node]) -> None:
        """Run episodes concurrently; what ends the run ends all of them."""
        try:
            async with asyncio.TaskGroup() as group:
                for node in nodes:
                    group.create_task(self._run(node))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None

    async def _run(self, node: Node) -> None:
        """Run one episode; its failure is part of its result."""
        slots = self._semaphore()
        await slots.acquire()
        node.placed = True
        HERE.set(node)  # of this task alone
        limit = asyncio.timeout(self.timeout)
        try:
            async with limit:
                node.result.rollout.rewards = await self._rewards(node)
        except (OutOfTime, PlayerLeft, UnknownName):
            raise
        except Exception as error:
            late = isinstance(error, TimeoutError) and limit.expired()
            node.result.error = f"It took longer than {self.timeout:g} seconds." if late else _told(error)
        finally:
            if node.placed:
                slots.release()

    async def _rewards(self, node: Node) -> dict[str, float]:
        """Play an episode to its end and pay its roles."""
        episode, rollout = self.episodes[node.request.episode_type], node.state.rollout
        state = await episode.rollout(self, node.request.artifact, node.state)
        if state is not node.state:
            raise UsageError(f"rollout() of {node.request.episode_type} must return the state that it was given.")
        state.child_results = state.child_results or list(node.result.children)
        rollout.extras |= episode.get_extras(state)
        paid = await episode.rubric.score(rollout, self)
        for step in rollout.steps:
            paid[step.role_id] = paid.get(step.role_id, 0.0) + step.reward
        for role, reward in paid.items():
            _known("role", role, self.roles)
            if not math.isfinite(reward):
                raise UsageError(f"{node.request.episode_type} paid {role} {reward}, which is no finite number.")
        return paid

    # -- concurrency --------------------------------------------------------------------------------------------------

    def _here(self) -> Node | None:
        """The running episode, if it is one of this arena's."""
        node = HERE.get()
        return node if node is not None and node.arena is self else None

    def _semaphore(self) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        if self._slots is None or self._slots[0] is not loop:
            self._slots = loop, asyncio.Semaphore(self.concurrency)
        return self._slots[1]

    @asynccontextmanager
    async def _waiting(self, node: Node) -> AsyncIterator[None]:
        """While an episode waits for others, they may use its place."""
        slots = self._semaphore()
        node.away += 1
        if node.placed:
            node.placed = False
            slots.release()
        try:
            yield
        finally:
            node.away -= 1
        if not node.away:  # not after an exception: the episode is about to end
            await slots.acquire()
            node.placed = True

    # -- learning -----------------------------------------------------------------------------------------------------

    def assign(self, results: Sequence[GenerateResult]) -> Credited:
        """Set the advantages of all steps in the trees of an update."""
        return self.credit.assign(results, self.roles)

    def build_training_batch(self, results: Sequence[GenerateResult]) -> list[TrainingRecord]:
        """All data to learn from, in the order of the tree: trainable roles' in trainable episodes that didn't fail."""
        return [
            TrainingRecord(step.role_id, datum, step.advantage, step.keep, result.path)
            for root in results
            for result in root.walk()
            if result.is_trainable and not result.error
            for step in result.rollout.steps
            if self.roles[step.role_id].trainable
            for datum in step.data
        ]

    @property
    def learning(self) -> dict[str, Learning]:
        """What trains the players, by model; complete once all roles have been added."""
        from .learning import Learning  # torch

        if self._learning is None:
            self._learning = {}
            players = {(role.model, role.adapter) for role in self.roles.values() if role.trainable}
            for name, model in self.models.items():
                roles = [role for role in self.roles.values() if role.model == name]
                if any(role.trainable for role in roles):
                    others = sum(other != name for other, _ in players)
                    self._learning[name] = Learning(model.engine, roles, *self._how, self.seed, others)
        return self._learning

    def step(self, requests: Sequence[EpisodeRequest] | None = None) -> dict[str, Any]:
        """One update: play, assign credit, train all players in one learner step per model.

        Args:
            requests: the roots; None: those of the ``source``.

        Returns:
            Its figures, a line for metrics.jsonl.

        Raises:
            UnknownName: an episode named a role, an episode type or a model that doesn't exist.
            UsageError: no requests; siblings with different roles (``GRPOCredit``).
            CollapseError: the only learner broke.
        """
        from .learning import summary  # torch

        update, started = self.updates, time.perf_counter()
        if requests is None:
            if self.source is None:
                raise UsageError("There is nothing to play: give step() requests, or the arena a source of them.")
            requests = self.source(self, np.random.default_rng([self.seed, update]))
        learning, asked = self.learning, {name: len(model.batcher.sizes) for name, model in self.models.items()}
        if not requests:
            raise UsageError("An update needs at least one request, and none came. Does the source of requests end?")
        results = asyncio.run(self._roots(requests, update, 0))
        played = time.perf_counter()
        credited = self.assign(results)
        records = self.build_training_batch(results)
        stats: dict[str, dict[str, float]] = {}
        for name, learns in learning.items():
            stats |= learns.step([r for r in records if self.roles[r.role_id].model == name], update)
        calls = [size for name, model in self.models.items() for size in model.batcher.sizes[asked[name] :]]
        seconds = played - started, time.perf_counter() - played
        row, players = summary(results, records, self.roles, credited, stats, calls, seconds)
        row = {"update": update, **row}
        if self.metrics is not None:
            row["task"] |= {name: float(value) for name, value in self.metrics(results).items()}
        for learns in learning.values():
            own = {name: players[name] for name in learns.live if name in players}
            found = learns.health.look_after(update, own, learns.learner.broken)
            notes = [*row.get("notes", ()), *found.get("notes", ())]
            row |= found | ({"notes": notes} if notes else {})
            row |= {"players": players} if len(players) > 1 else {}
        self.results, self.updates, self._calls = results, update + 1, 0
        return row

    def evaluate(self, batches: int = 1) -> dict[str, Any]:
        """Play held-out requests, sampling as in training. Nobody learns from it, and nothing of the arena changes.

        Every evaluation of an arena plays the same requests with the same seeds, so that figures of different updates
        can be compared.

        Args:
            batches: the requests of how many updates.

        Returns:
            ``episodes`` and how many of them ``failed``; ``reward``, the mean over trainable roles; and ``figures``:
            ``reward/ROLE`` and those of ``metrics``.

        Raises:
            UnknownName: an episode named a role, an episode type or a model that doesn't exist.
            UsageError: the arena has no source.
        """
        from .learning import earned  # torch

        source = self.held_out or self.source
        if source is None:
            raise UsageError("There is nothing to evaluate on: give the arena a source of requests.")
        kept, calls = {name: store.state_dict() for name, store in self.stores.items()}, self._calls
        try:
            drawn = [source(self, np.random.default_rng([self.seed, _HELD_OUT, k + 1])) for k in range(batches)]
            requests = [replace(request, is_trainable=False) for batch in drawn for request in batch]
            results = asyncio.run(self._roots(requests, _HELD_OUT, 0, trace=False))
        finally:
            self._calls = calls
            for name, store in self.stores.items():
                store.load_state_dict(kept[name])
        row = earned(results, self.roles)
        if self.metrics is not None:
            row["figures"] |= {name: float(value) for name, value in self.metrics(results).items()}
        return row

    def run(self, num_steps: int, requests: Sequence[EpisodeRequest] | None = None) -> list[dict[str, Any]]:
        """Several updates, in memory; returns their figures. ``episodes.run.train_task`` keeps a folder."""
        return [self.step(requests) for _ in range(num_steps)]

    def later(self, action: Callable[[], None]) -> None:
        """Do something after the update, in the order of the tree, unless this episode fails; outside of one: now."""
        node = self._here()
        if node is None:
            action()
        else:
            node.later.append(action)

    def taken(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Copies of all that the next update depends on: tensors by name, and plain data."""
        tensors = {
            f"{name}.{stem}" if name else stem: data
            for name in self.learning
            for stem, data in self.models[name].engine.state_dict().items()
        }
        models = {name: model.engine.describe() for name, model in self.models.items()}
        state = {
            "update": self.updates,
            "credit": self.credit.state_dict(),
            "stores": {name: store.state_dict() for name, store in self.stores.items()},
            "learning": {name: learns.state_dict() for name, learns in self.learning.items()},
            "model": {"id": models[""].model, "hash": models[""].hash},
            "models": {name: told.hash for name, told in models.items()},
        }
        return tensors, copy.deepcopy(state)

    def put_back(self, tensors: Mapping[str, Any], state: Mapping[str, Any]) -> None:
        """Restore what ``taken`` returned."""
        for name, learns in self.learning.items():
            start = f"{name}." if name else ""
            own = {stem.removeprefix(start): data for stem, data in tensors.items() if stem.startswith(start)}
            self.models[name].engine.load_state_dict(own)
            learns.load_state_dict(state["learning"][name])
        self.credit.load_state_dict(state["credit"])
        for name, store in self.stores.items():
            store.load_state_dict(state["stores"][name])
        self.updates, self._calls = int(state["update"]), 0


def _new(kind: str, name: str, known: Mapping[str, object]) -> None:
    if name in known:
        raise UsageError(f"The arena already has the {kind} {name!r}; choose another name.")


def _known(kind: str, name: str, known: Mapping[str, Any]) -> Any:
    if name not in known:
        raise UnknownName(kind, name, known)
    return known[name]


def _told(error: Exception) -> str:
    """An error in one line; ours speak for themselves."""
    told = " ".join(str(error).split())
    return (told if told and isinstance(error, CoterieError) else f"{type(error).__name__}: {told}")[:1000]
