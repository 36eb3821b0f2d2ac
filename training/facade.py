"""Trainers in three lines: ``SelfPlayTrainer(SelfPlayConfig()).train("tiny", play)``.

A façade over ``loop.train``: a run is an ordinary run folder, which ``coterie eval``, ``play`` and ``train --resume``
take. What is played is a game's name, ``coterie.games.tictactoe.play``, or a function that calls players
(``envs.foreign.register_play``).
"""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

from ..agents.baselines import make_baseline
from ..agents.core import Agent
from ..agents.human.table import watch
from ..envs.core import Game
from ..envs.foreign import register_play
from ..envs.registry import make_game
from ..envs.words import TextGame
from ..errors import UsageError
from . import loop
from .evaluation.ratings import Z, elo
from .evaluation.table import play_table
from .runs.config import SchemeConfig, TrainConfig, from_dict, new_folder, preset
from .runs.display import Display
from .runs.hub import push_player
from .runs.outcome import Outcome, Watcher
from .runs.players import make_player
from .schemes import SCHEMES, Factory

if TYPE_CHECKING:
    from peft import LoraConfig

__all__ = [
    "FictitiousGANConfig",
    "FictitiousGANTrainer",
    "LeagueConfig",
    "LeagueTrainer",
    "SelfPlayConfig",
    "SelfPlayTrainer",
]

REHEARSALS, PATIENCE = 3, 10.0
"""The games, and the seconds, in which a function with random answers should come to an end once."""

MATCH, TABLE = 40, 8
"""The leaderboard: games of a match, and the most players of a table with past selves."""

Playable: TypeAlias = str | Callable[..., Any]
"""A game's name, or a function that plays a game."""


@dataclass(frozen=True, kw_only=True)
class SelfPlayConfig:
    """How a trainer trains.

    The defaults end after minutes with the built-in model. A run has ``epochs * rounds`` updates (``budget.updates``).

    Attributes:
        epochs: an epoch ends with an evaluation, a checkpoint and a past self.
        rounds: updates of an epoch.
        matches: games of an update for each learner (``rollout.games``); rounded up to whole groups.
        seed: of adapters, games and sampling.
        threads: torch threads; 0 takes all cores.
        minutes: stop after this many minutes; 0: no limit.
        peft_config: the adapters' rank, scale and layers; other fields must have peft's defaults.
        trl_config: a ``trl.GRPOConfig``; where they and ``matches`` or a preset differ, they win (docs/losses.md).
        settings: more settings by section, as in a run's config.yaml: ``{"optimizer": {"learning_rate": 1e-3}}``.
    """

    epochs: int = 4
    rounds: int = 10
    matches: int = 100
    seed: int = 0
    threads: int = 0
    minutes: float = 0.0
    peft_config: LoraConfig | None = None
    trl_config: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the counts.

        Raises:
            UsageError: one is below 1.
        """
        for name in ("epochs", "rounds", "matches"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)!r}; set a whole number of at least 1.")

    def of(self, game: str, model: str, scheme: str) -> TrainConfig:
        """The whole configuration of a run of a game, on top of the game's preset.

        Raises:
            CoterieError: a setting that doesn't exist or cannot be honoured.
        """
        base = preset(game, model=model)
        longest = _longest_answer(make_game(game, **base.game_arguments))
        if longest and base.policy.decode != "free":
            base = dataclasses.replace(preset("highest_string", model=model), game=game, set=base.set)
        group = base.rollout.num_generations
        who = SchemeConfig(scheme=scheme, snapshot_every=self.rounds, **self._scheme())
        sections: dict[str, dict[str, Any]] = {
            "policy": {"model": model} | ({"max_completion_length": longest} if longest else {}),
            "rollout": {"games": -(-self.matches // group) * group * len(who.names)},
            "scheme": dataclasses.asdict(who),
            "budget": {
                "updates": self.epochs * self.rounds,
                "minutes": float(self.minutes),
                "eval_games": 100,
                "eval_every": self.rounds,
                "checkpoint_every": self.rounds,
            },
        }
        found = from_dict({"seed": self.seed, "threads": self.threads, **sections}, base)
        if self.peft_config is not None:
            found = from_dict({"policy": _adapters(self.peft_config)}, found)
        if self.trl_config is not None:
            from .bridges.trl import train_config

            found = train_config(self.trl_config, found)
        return from_dict(self.settings, found)

    def _scheme(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True, kw_only=True)
class LeagueConfig(SelfPlayConfig):
    """AlphaStar's league; see docs/training/schemes.md.

    Attributes:
        players: how many players learn, besides their past selves.
        main_weight: share of main agents among them.
        main_exploiter_weight: share of those that learn to beat the main agents.
        league_exploiter_weight: share of those that learn to beat all past selves.
    """

    players: int = 5
    main_weight: float = 0.4
    main_exploiter_weight: float = 0.2
    league_exploiter_weight: float = 0.4

    def _scheme(self) -> dict[str, Any]:
        weights = (self.main_weight, self.main_exploiter_weight, self.league_exploiter_weight)
        if not min(weights) > 0 or self.players < 3:
            raise UsageError(f"players is {self.players} and the weights are {weights}; set 3 or more, and above 0.")
        exploiters = [max(1, round(self.players * weight / sum(weights))) for weight in weights[1:]]
        names = ("learners", "main_exploiters", "league_exploiters")
        return dict(zip(names, (max(1, self.players - sum(exploiters)), *exploiters), strict=True))


@dataclass(frozen=True, kw_only=True)
class FictitiousGANConfig(SelfPlayConfig):
    """Two adversaries: ``main`` has the first seat, ``main-2`` the others; each meets all past selves of the other."""

    def _scheme(self) -> dict[str, Any]:
        return {"learners": 2}


Config = TypeVar("Config", bound=SelfPlayConfig)


class _Trainer(Generic[Config]):
    """Trains players; each subclass names its scheme and its configuration.

    Args:
        config: None takes the defaults.
        scheme: another scheme than the trainer's own: its name, or a factory ``(SchemeConfig, players) -> Scheme``
            (see ``training.schemes.Scheme``), which is known by its ``__name__``.
        watcher: receives every update; None shows a progress bar on a terminal, and a line for each update elsewhere.

    Attributes:
        config: the configuration.
        outcome: how the last training ended, or None.
    """

    scheme: ClassVar[str]
    configuration: ClassVar[type[SelfPlayConfig]]

    def __init__(
        self, config: Config | None = None, *, scheme: str | Factory = "", watcher: Watcher | None = None
    ) -> None:
        self.config = self.configuration() if config is None else config
        self.outcome: Outcome | None = None
        self._scheme, self._watcher = scheme or self.scheme, watcher
        self._players: dict[str, Agent] = {}
        self._leaderboard: list[dict[str, Any]] = []
        self._game: Game | None = None

    def train(self, model: str, play: Playable, *, run: str | Path | None = None, resume: bool = False) -> Outcome:
        """Train until the budget is used up, or Ctrl-C.

        Args:
            model: tiny (built in), smollm2, a folder, a hub id or a .gguf file.
            play: a game's name, ``play`` of ``coterie.games``, or a function (players) -> rewards that asks them by
                ``player.say`` and ``player.choose``.
            run: the run's folder; ``runs/GAME-TIME`` by default.
            resume: continue the run in that folder.

        Raises:
            CoterieError: a model, a game or a setting that cannot be used.
        """
        game, scheme = _named(play), self._scheme
        if not isinstance(scheme, str):
            SCHEMES[scheme.__name__] = scheme
            scheme = scheme.__name__
        config = self.config.of(game, model, scheme)
        self._game = make_game(config.game, **config.game_arguments)
        if game.startswith("play:") and not resume:
            _rehearse(self._game)
        watcher = self._watcher or Display(report_to="none")
        self._players, self._leaderboard = {}, []
        self.outcome = loop.train(config, run or new_folder(config), resume=resume, watcher=watcher)
        return self.outcome

    @property
    def game(self) -> Game:
        """The game that was played."""
        return self._trained()[1]

    @property
    def players(self) -> dict[str, Agent]:
        """All saved players by name, greedy: ``main``, and what it was after earlier epochs, ``main@10``.

        Raises:
            UsageError: nothing has been trained yet.
        """
        run, game = self._trained()
        if not self._players:
            if not (run / "players").is_dir():
                raise UsageError(f"{run} has no saved player. {self.outcome.message if self.outcome else ''}")
            for folder in sorted((run / "players").iterdir()):
                versions = sorted(int(version.name[1:]) for version in folder.glob("v[0-9]*"))
                names = {folder.name: versions[-1]} | {f"{folder.name}@{v}": v for v in versions[:-1]}
                self._players |= {n: make_player(f"{run}:{folder.name}@{v}", game) for n, v in names.items()}
        return self._players

    @property
    def leaderboard(self) -> list[dict[str, Any]]:
        """A rated round of matches between the players and the random player, the best first.

        Past selves take part if there are few players. Rows have ``player``, ``elo`` with ``elo_interval`` (95 %; the
        mean of all players is 0), ``points`` (the share of games won, and half of those drawn) and ``games``.

        Raises:
            UsageError: nothing has been trained yet, or the game is not for two.
        """
        _, game = self._trained()
        if not self._leaderboard:
            newest = {name: agent for name, agent in self.players.items() if "@" not in name}
            agents = self.players if len(self.players) <= TABLE else newest
            table = play_table(game, {**agents, "random": make_player("random", game)}, MATCH, self.config.seed)
            found, played = elo(table.points, table.effective), table.games.sum(1)
            points = (table.points * table.games).sum(1) / played
            rows = zip(table.players, found.rating, found.error, points, played, strict=True)
            self._leaderboard = sorted(
                (
                    {
                        "player": name,
                        "elo": float(rating),
                        "points": float(share),
                        "games": int(games),
                        "elo_interval": (float(rating - Z * error), float(rating + Z * error)),
                    }
                    for name, rating, error, share, games in rows
                ),
                key=lambda row: -row["elo"],
            )
        return self._leaderboard

    def push_to_hub(self, repo_id: str, player: str = "main", **options: Any) -> str:
        """Upload a player's newest adapter, with its card and tokenizer, to the hub.

        Args:
            repo_id: ``"user/name"``; created if it doesn't exist.
            player: its name.
            **options: ``private``, ``token``, ``endpoint``; see ``runs.hub.push_player``.

        Returns:
            The address of the upload.

        Raises:
            UsageError: nothing has been trained yet.
            RunError: no such player, or the hub refused.
        """
        return push_player(self._trained()[0], player, repo_id, **options)

    def _trained(self) -> tuple[Path, Game]:
        if self.outcome is None or self._game is None:
            raise UsageError("Nothing has been trained yet; call train(model, play) first.")
        return self.outcome.run, self._game


class SelfPlayTrainer(_Trainer[SelfPlayConfig]):
    """One player learns from games against itself."""

    scheme, configuration = "self_play", SelfPlayConfig


class LeagueTrainer(_Trainer[LeagueConfig]):
    """AlphaStar's league: main agents, and exploiters of them and of the whole league."""

    scheme, configuration = "league", LeagueConfig


class FictitiousGANTrainer(_Trainer[FictitiousGANConfig]):
    """Two adversaries, each against all past selves of the other."""

    scheme, configuration = "pairs", FictitiousGANConfig


def _named(play: Playable) -> str:
    """The id of what is to be played; functions are registered under their names."""
    if isinstance(play, str):
        return play
    known = getattr(play, "game", None)
    if isinstance(known, str):
        return known
    return register_play(re.sub(r"\W+", "_", getattr(play, "__name__", type(play).__name__)), play)


def _rehearse(game: Game) -> None:
    """Play a game with random answers before anything learns; in one of a few it should come to its end.

    Raises:
        UsageError: none did, and why.
    """
    random, until = make_baseline("random", game), time.monotonic() + PATIENCE
    why: UsageError | None = None
    for seed in range(REHEARSALS):
        try:
            for _ in watch(game, [random] * game.info.players, seed):
                if time.monotonic() > until:
                    return
            return
        except UsageError as error:
            why = error
    raise UsageError(f"{why} ({REHEARSALS} games with random answers were tried before the first update.)") from None


def _longest_answer(game: Game) -> int:
    """The tokens that free answers need; 0 if all answers are listed. Plays a few random games to see them."""
    if not isinstance(game, TextGame):
        return 0
    from ..envs.words.vec import TextVec

    vec, longest = TextVec(game, 8, seed=0), 0
    vec.reset()
    for _ in range(min(64, game.info.max_cycles)):
        for state in vec.state:
            open_ = [p for p in game.asked(state) if game.choices(state, p) is None]
            if open_:
                longest = max(longest, int(state.get("longest", game.max_length)) + 1)
        vec.step(vec.sample_actions())
    return min(longest, 64)


def _adapters(lora: LoraConfig) -> dict[str, Any]:
    """A LoraConfig as settings of the policy.

    Raises:
        UsageError: another kind of adapter, or a field that cannot be honoured.
    """
    from ..agents.bank.files import HONOURED, check_config

    check_config(lora)
    default = type(lora)()
    kept = ("r", "lora_alpha", "target_modules")
    for name in set(HONOURED) - set(kept):
        if getattr(lora, name) != getattr(default, name):
            raise UsageError(f"LoraConfig.{name}={getattr(lora, name)!r} cannot be stored in a run; leave it out.")
    layers = lora.target_modules or "all-linear"
    modules = layers if isinstance(layers, str) else ",".join(sorted(layers))
    return {"lora_r": lora.r, "lora_alpha": int(lora.lora_alpha), "target_modules": modules}
