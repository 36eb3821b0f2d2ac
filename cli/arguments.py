"""The arguments of each ``coterie`` command as a frozen dataclass; ``parsing`` makes its flags and help of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..envs.arguments import wanted, with_preset
from .parsing import Positional, joined, parse

__all__ = [
    "Bench",
    "Envs",
    "Eval",
    "Play",
    "Train",
    "TrainTask",
    "View",
    "parse",
    "tournament_arguments",
    "train_arguments",
    "wanted",
    "with_preset",
]


@dataclass(frozen=True)
class Envs:
    """List the games, or describe one.

    Attributes:
        game: the game to describe; without it, all games are listed.
        set: the game's own arguments, e.g. size=9 komi=6.5; dots set parts of them, e.g. agent.energy=100.
        presets: list the game's presets (named configurations).
        preset: describe the game with this preset.
        yaml: print the whole configuration as YAML instead; edit it and play it with --set config=FILE.

    Examples:
        coterie envs hex --set size=5
        coterie envs gridworld --presets
    """

    game: Positional[str] = ""
    set: tuple[str, ...] = ()
    presets: bool = False
    preset: str = ""
    yaml: bool = False


@dataclass(frozen=True)
class Play:
    """Play a game and show it.

    In the window of a world (gridworld): click an agent to inspect it; Enter takes it over and hands it back. You then
    turn and move with the arrows or WASD; Space uses, x or 1-9 attacks, g gives, f shields, v swaps, b steps back.
    Always: c camera, wheel zoom, p pause, . one tick, + and - speed, o its view, Tab next agent, n new world, h all
    keys.

    Attributes:
        game: the game to play; `coterie envs` lists them.
        who: short for --players, e.g. coterie play gridworld forager.
        players: one player per seat: a baseline (random, minimax, greedy, mcts:400, alphabeta:4, uci:PATH,
            equilibrium; forager, raider, altruist), human, net (the small net that ships), a run folder or a model. The
            default is human against random (gridworld: human among foragers), or the players saved in the --from file.
            In a game of more than two seats, the last player named takes all remaining seats.
        games: number of games; with more than one, only results are shown.
        seed: the same seed gives the same game. By default 0, and where people play a number that is drawn and printed.
        hints: who gives people hints, any player; by default a search or a scripted player that knows the game.
        clock: play on a clock: minutes, and seconds that each move adds (5+3, 10, 0.5+1), or seconds (30s). A person
            whose time runs out loses.
        gif: write the first game to this file as an animated GIF.
        mp4: write the first game to this file as an MP4.
        follow: the agent that films and windows of worlds follow.
        ticks: stop each game after this many turns (ticks); 0 plays to the end.
        window: play in a window with the mouse; in worlds, watch, inspect agents and take one over (h lists all keys).
        save: add the games to this file: .json, or the game's own format (chess .pgn; go and hex .sgf).
        start: start the games from this position instead, e.g. fen="8/8/8/4k3/8/8/4P3/4K3 w - - 0 1".
        from_: continue the last game in a file: one that --save wrote or that you left, PGN (chess) or SGF (go, hex).
        replay: replay and check the games in such a file; with --window, --gif or --mp4, also show the last one.
        set: the game's own arguments, e.g. size=9 komi=6.5; `coterie envs GAME` lists them.
        preset: short for --set preset=..., in games that have presets; `coterie envs GAME --presets` lists them.

    Examples:
        coterie play connect_four                                  you against a random player, in the terminal
        coterie play chess human alphabeta:4 --window              in a window
        coterie play tictactoe minimax random --gif game.gif
        coterie play chess --replay game.pgn --window
    """

    game: Positional[str] = ""
    who: Positional[tuple[str, ...]] = ()
    players: tuple[str, ...] = ()
    games: int = 1
    seed: int | None = None
    hints: str = ""
    clock: str = ""
    gif: Path | None = None
    mp4: Path | None = None
    follow: int | None = None
    ticks: int = 0
    window: bool = False
    save: Path | None = None
    start: tuple[str, ...] = ()
    from_: Path | None = None
    replay: Path | None = None
    set: tuple[str, ...] = ()
    preset: str = ""


@dataclass(frozen=True)
class Train:
    """Train a language model, or with --policy net a small net, by letting it play a game.

    Defaults are those of the game's preset: name the game before --help to see them. In place of a game, a task for
    several roles has flags of its own: `coterie train TASK --help`. Tasks: {tasks}. A task with
    the name of a game is called task:NAME, e.g. task:debate.

    Attributes:
        game: the game to learn; `coterie envs` lists them. Not needed with --config, or with --run and --resume.
        policy_: what learns: llm (a language model, the default) or net (a small net).
        config: a YAML file of fields that differ from the game's preset, such as a run's config.yaml.
        print_config: print the configuration as YAML instead of training; --config FILE reads it.
        run: the run's folder; runs/GAME-TIME by default.
        resume: continue the run in --run, or the newest run of this game.
        preset: short for --set preset=..., in games that have presets; `coterie envs GAME --presets` lists them.
        report_to: where metrics go besides metrics.jsonl: tensorboard (files in the run's folder), wandb or none.

    Examples:
        coterie train tictactoe
        coterie train connect_four --scheme pfsp --minutes 30 --run runs/c4
        coterie train --run runs/c4 --resume
        coterie train tictactoe --learning-rate 2e-3 --print-config > mine.yaml; coterie train --config mine.yaml
    """

    game: Positional[str] = ""
    policy_: Literal["llm", "net", ""] = ""
    config: Path | None = None
    print_config: bool = False
    run: Path | None = None
    resume: bool = False
    preset: str = ""
    report_to: Literal["tensorboard", "wandb", "none"] = "tensorboard"


@dataclass(frozen=True)
class TrainTask:
    """Train the roles of a task.

    Attributes:
        task: the task; several joined by + are mixed. Not needed with --config, or with --run and --resume.
            --num-steps, --batch-size and --model-path mean --updates, --batch and --model.
        config: a YAML file of fields that differ from the task's defaults, such as a run's config.yaml.
        print_config: print the configuration as YAML instead of training; --config FILE reads it.
        run: the run's folder; runs/TASK-TIME by default.
        resume: continue the run in --run, or the newest run of this task.
        report_to: where metrics go besides metrics.jsonl: tensorboard (files in the run's folder), wandb or none.
        verbose: show the first episode of every update, with all that was said in it.

    Examples:
        coterie train proposer_solver --updates 20 --verbose
        coterie train task:debate --model smollm2 --run runs/debate
    """

    task: Positional[str] = ""
    config: Path | None = None
    print_config: bool = False
    run: Path | None = None
    resume: bool = False
    report_to: Literal["tensorboard", "wandb", "none"] = "tensorboard"
    verbose: bool = False


@dataclass(frozen=True)
class Eval:
    """Measure a player: in matches against others from both seats, and by comparing its policy with exact play.

    In worlds that many agents share (gridworld), measure what the player earns on held-out maps when it sits in every
    seat, and what other players earn on the same maps. Models then sample, as in training.

    Attributes:
        run: a run folder (RUN, RUN:player, RUN:player@version), a model or any other player.
        others: with --matrix, the other players.
        matrix: let all players play each other and rate them, as `coterie tournament` does; it has more options.
        vs: opponents; by default those in the game's preset.
        games: games against each opponent, half from either seat; with a curriculum, the number of held-out positions;
            in worlds, the number of worlds. 0 means 1000, in worlds 32, with --matrix 200.
        opening_plies: games start after 0 to this many random plies, and each opening is played from every seat. The
            default is 0; where both sides are deterministic, it is a quarter of the longest game, at most 8.
        ticks: stop each world after this many ticks; 0 plays to the end.
        save: in worlds, add every world played to this JSON lines file; `coterie play --replay FILE` shows them.
        curriculum: instead, count the held-out positions that the player solves. A name (`coterie envs GAME` lists
            them) or [OPTION=]FILE; without --vs, the default is the curriculum the run was trained on, if any.
        game: the game to play; needed unless RUN is a run folder.
        seed: the same seed gives the same games.
        sample: sample the model's actions, as in training, instead of taking the likeliest; the exact figures then
            measure that policy.
        set: the game's own arguments, e.g. size=9; by default those of the run.
        preset: evaluate in another world than the run's, in games that have presets; what the players observe stays as
            in the run.
        goal: what the player must reach, in quotes, e.g. 'random.win>=0.9,minimax.draw>=0.97'. The last line says
            whether it did; if not, the command exits with code 1.
        limit: in games with hidden information, compute exact figures if there are no more decisions than this
            (docs/evaluation/exact.md says what larger games take).
        json: print one JSON object per line instead of a table.

    Examples:
        coterie eval runs/tictactoe --vs random minimax
        coterie eval minimax --game tictactoe --goal 'random.win>=0.8'
    """

    run: Positional[str]
    others: Positional[tuple[str, ...]] = ()
    matrix: bool = False
    vs: tuple[str, ...] = ()
    games: int = 0
    opening_plies: int | None = None
    limit: int = 20_000
    ticks: int = 0
    save: Path | None = None
    curriculum: str = ""
    game: str = ""
    seed: int = 0
    sample: bool = False
    set: tuple[str, ...] = ()
    preset: str = ""
    goal: str = ""
    json: bool = False


@dataclass(frozen=True)
class Tournament:
    """Let players play each other, and rate them: Elo, OpenSkill, Nash averaging, alpha-rank, all payoffs.

    For games of two players. docs/ratings.md says what each figure means, and when they disagree.

    Attributes:
        players: two or more: random, minimax, mcts:400, uci:PATH, a model, a run folder. A run folder stands for all
            learners that it holds; RUN:player@version is one of them. A run folder alone meets its own earlier
            versions.
        json: print the results as one JSON object instead of tables.

    Examples:
        coterie tournament random minimax mcts:400 --game tictactoe
        coterie tournament RUN OTHER_RUN mcts:400 random --out board
    """

    players: Positional[tuple[str, ...]] = ()
    json: bool = False


@dataclass(frozen=True)
class View:
    """Play in a browser, watch a game there, or look at a run while it learns.

    It prints an address and serves the page there until Ctrl-C; with --html it writes the page to a file instead.

    Attributes:
        what: a game; a file of saved games (.json, .pgn, .sgf); or the folder of a run or a tournament.
        runs: more runs, shown beside the first.
        html: write the page to this file; it holds everything and loads nothing.
        players: who plays, one per seat, as in `coterie play`. Without them you play against random, and with --html
            random plays itself. Where no human is named, the game is played first, then shown.
        hints: who gives hints while you play; by default the best built-in player of the game.
        clock: play on a clock, as in `coterie play`: minutes, and seconds that each move adds (5+3), or seconds (30s).
        port: where the server listens; 0: a free port.
        host: the address where it listens. Only this machine reaches the default; any other needs the token in the
            address that is printed.
        open: open the page in a browser.
        seed: the same seed gives the same game.
        number: which game of a file, from 1; the last one by default.
        ticks: stop the game after this many turns (ticks); 0 plays to the end.
        set: the game's own arguments, e.g. size=9; `coterie envs GAME` lists them.
        preset: short for --set preset=..., in games that have presets.
        texts: of a world: the agents whose words are in the page; by default the first ones, 30,000 texts at most.
        ask: also ask this player what it would do in every position of the game: a run, a model, mcts:400, minimax.
        thoughts: by default pages show with which probabilities language models acted.
        earlier: where a player is a run, ask this many of its earlier versions too.
        text: of a run on a task: print what was said instead.
        update: of a run on a task: what was said in this update, from 0; by default the newest whose words are kept,
            with --chat and --trl all of them. With --html as a page, else on the terminal, as are the next two.
        episode: show this episode and those it started, e.g. 0 or 3.1; without it, the update's episodes are
            listed.
        prompts: show what every role was shown, too.
        chat: of a run on a task: write every answer to this JSON lines file, in the chat format (messages).
        trl: the same with the columns of TRL's trainers (prompt, completion).

    Examples:
        coterie view chess
        coterie view chess --players human alphabeta:3
        coterie view tictactoe --players minimax mcts:400 --html game.html
        coterie view game.json
        coterie view runs/a runs/b
    """

    what: Positional[str]
    runs: Positional[tuple[str, ...]] = ()
    html: Path | None = None
    players: tuple[str, ...] = ()
    hints: str = ""
    clock: str = ""
    port: int = 0
    host: str = "127.0.0.1"
    open: bool = False
    seed: int = 0
    number: int = 0
    ticks: int = 0
    set: tuple[str, ...] = ()
    preset: str = ""
    texts: tuple[int, ...] = ()
    ask: str = ""
    thoughts: bool = True
    earlier: int = 4
    text: bool = False
    update: int | None = None
    episode: str = ""
    prompts: bool = False
    chat: Path | None = None
    trl: Path | None = None


@dataclass(frozen=True)
class Bench:
    """Measure how fast this machine plays, decides and learns, and compare with other libraries that are installed.

    Attributes:
        room: what to measure: envs, chess, boards, gridworld, search, policy, population, train or episodes.
        json: print one JSON object per line: name, rate, unit, threads, peer, peer_rate, ratio.

    Examples:
        coterie bench envs
    """

    room: Positional[str]
    json: bool = False


LEAGUE = """Train a league of players on a game, then rate them, their past selves and the random player.

    `coterie train --scheme league` with all its flags, then `coterie tournament`. The scheme is league unless --scheme
    names another.

    Examples:
        coterie league tictactoe
        coterie league connect_four --updates 300 --run runs/league
        coterie league --run runs/league --resume
    """

COMMON = (
    *("policy_", "config", "print_config", "run", "resume", "preset", "set", "model", "decode", "device", "curriculum"),
    *("games", "num_generations", "worlds", "beta", "learning_rate", "scheme", "learners", "opponents", "init"),
    *("updates", "minutes", "eval_every", "eval_games", "eval_vs", "goal", "seed", "threads", "report_to", "verbose"),
)
"""The fields that ``coterie train --help`` shows; those of a task's own options come with them."""


def train_arguments(config: Any, command: str = "train") -> Any:
    """``Train`` with the fields of a configuration (``TrainConfig`` or ``NetConfig``) added to its own."""
    from ..training.episodes.tasks import TASKS

    doc = LEAGUE if command == "league" else (Train.__doc__ or "").format(tasks=", ".join(TASKS))
    return joined(doc, (Train, ()), (config, ("game",)))


def tournament_arguments() -> Any:
    """``Tournament`` with the fields of the tournament that is played."""
    from ..training.runs.tournament import Tournament as Played

    return joined(Tournament.__doc__ or "", (Tournament, ("json",)), (Played, ("players",)), (Tournament, ("players",)))
