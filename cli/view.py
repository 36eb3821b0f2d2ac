"""``coterie view``: games and runs as pages for the browser, served or written; what was said in a run, as text."""

from __future__ import annotations

import json
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..agents.core import Agent, close
from ..aliases import RUNNING, Player
from ..envs.arguments import wanted
from ..envs.core import Game, GameRecord
from ..envs.registry import list_envs, make_game, spec
from ..envs.replay.file import SavedGame, read_games
from ..errors import NotationError, UsageError, did_you_mean, needs
from .arguments import View, parse

if TYPE_CHECKING:
    from ..training.view.rooms import Host
    from ..training.view.run import RunPage

__all__ = ["run", "shown"]

MEANT_FOR = (
    ("players set preset seed", ("people", "agents"), "a game that is played"),
    ("hints clock", ("people",), "a game that a person plays on the page"),
    ("ticks", ("agents",), "a game that players other than people play"),
    ("texts ask earlier", ("agents", "file"), "a game that is over, of a file or of players other than people"),
    ("number", ("file",), "a file of games"),
    ("text update episode prompts chat trl", ("folder",), "the folder of a run on a task"),
)
"""Flags, the kinds of pages that they change, and those in words."""


def run(words: list[str]) -> int:
    """Run the command; returns the exit code.

    Raises:
        CoterieError: a bad argument, a game that cannot be played, read or written, or a run without transcripts.
    """
    asked: View = parse(View, "view", words)
    command = "coterie view " + shlex.join(words)
    folder = Path(asked.what).is_dir()
    episodes = asked.update is not None or bool(asked.episode)
    said = asked.text or asked.prompts or asked.chat or asked.trl or (episodes and asked.html is None)
    _check(asked)
    if asked.runs and (said or not folder):
        raise UsageError(f"{asked.what} and {asked.runs[0]}: only the pages of runs stand side by side. Name one.")
    if said:
        return _transcripts(asked)
    if folder and not _is_run(asked) and not (Path(asked.what) / "transcripts").is_dir():
        raise UsageError(f"The folder {asked.what} holds no run: no config.yaml, results.json or transcripts.")
    if asked.html is None:
        return _serve(asked, command)
    from ..renderers.web.page import need_writable, write_page

    need_writable(asked.html)
    show = shown(asked, command) if episodes or not _is_run(asked) else _runs(asked, command, live=False)[0]
    print(f"Wrote {write_page(show, asked.html)} ({asked.html.stat().st_size / 1e6:.2f} MB): open it in a browser.")
    return 0


def _check(asked: View) -> None:
    """Refuse flags that change nothing of what was named.

    Raises:
        UsageError: such a flag, or a name of nothing.
    """
    path, person = Path(asked.what), _person(asked) and asked.html is None
    kind = "folder" if path.is_dir() else "file" if path.is_file() else "people" if person else "agents"
    if not path.exists():
        _spec(asked.what)
    for flags, kinds, what in MEANT_FOR:
        for flag in flags.split():
            if kind not in kinds and getattr(asked, flag) != getattr(View, flag):
                raise UsageError(f"--{flag} is for {what}. Remove it.")
    for flag in ("port", "host", "open") if asked.html else ():
        if getattr(asked, flag) != getattr(View, flag):
            raise UsageError(f"--{flag} is for a page that is served, and --html writes one. Remove one of them.")


def _person(asked: View) -> bool:
    return "human" in asked.players or not asked.players


def _is_run(asked: View) -> bool:
    from ..training.view.run import is_run

    return is_run(Path(asked.what))


def _runs(asked: View, command: str, *, live: bool) -> tuple[dict[str, Any], list[RunPage]]:
    """The page of the runs that were named, and what follows them."""
    from ..training.view.run import RunPage, show

    pages = [RunPage(Path(name)) for name in (asked.what, *asked.runs)]
    return show(pages, live=live, command=command), pages


def _serve(asked: View, command: str) -> int:
    """Serve what was named until Ctrl-C."""
    with needs("Serving pages", "view"):
        import starlette  # noqa: F401
    from ..training.view.app import serve

    more: dict[str, Any] = {}
    if _is_run(asked):
        show, more["runs"] = _runs(asked, command, live=True)
    elif not Path(asked.what).exists() and _person(asked):
        show, more["host"] = _people(asked)
    else:
        show = shown(asked, command)
    serve(show, address=asked.host, port=asked.port, open_page=asked.open, **more)
    return 0


def _people(asked: View) -> tuple[dict[str, Any], Host]:
    """The page of a game that people play, and who holds the games."""
    from ..agents.human.clock import Clock, read_times
    from ..training.runs.players import make_player
    from ..training.view.rooms import Host
    from .play import read_run

    found = _spec(asked.what)
    game = make_game(found.id, **wanted(found.id, asked.set, asked.preset))
    words = _words(asked, game)
    times = read_times(asked.clock) if asked.clock else None
    if times:
        Clock(times, game, [0])  # refused where all act at once
    host = Host(game, words, partial(make_player, read=read_run), seed=asked.seed, hints=asked.hints, times=times)
    if asked.hints:
        make_player(asked.hints, game, read=read_run)
    host.seat(words).close()  # a player that cannot play is an error before a page opens
    title = found.name.replace("_", " ").capitalize()
    kind = "live" if game.info.is_world else "play"
    return {"format": 1, "kind": kind, "game": found.id, "title": title, "goal": game.goal}, host


def _words(asked: View, game: Game) -> tuple[str, ...]:
    """One name per seat, as ``coterie play`` fills them."""
    from ..agents.human.seating import company

    words = company(asked.players, game, window=False)
    if len(words) != game.info.players:
        raise UsageError(
            f"{game.info.id} has {game.info.players} players, but --players names {len(words)}. Name one for each."
        )
    return words


def shown(asked: View, command: str = "") -> dict[str, Any]:
    """The show of the file, the run or the game that was named.

    Args:
        asked: the command's arguments.
        command: what makes the page again.

    Raises:
        CoterieError: there is no such file or game, or it cannot be read or played.
    """
    from ..renderers.web.shows import show

    path = Path(asked.what)
    if path.is_dir():
        from ..training.episodes.paged import as_show
        from ..training.episodes.transcripts import find, read_transcript

        trees = read_transcript(path, asked.update)
        number = trees[0]["update"] if trees else 0
        trees = [find(trees, asked.episode)] if asked.episode else trees
        return as_show(trees, f"{path.resolve().name}, update {number}", command)
    if path.is_file():
        saved = _from_file(asked, path)
        made = show(saved.game, saved.record, command=command, texts=asked.texts or None)
        _think(asked, saved.game, saved.record, made, {})
        return made
    return _play(asked, command)


def _from_file(asked: View, path: Path) -> SavedGame:
    """The game of a file that ``--number`` picks."""
    try:
        games = read_games(path)
    except NotationError as error:
        raise NotationError(f"{path}, {error}", error.at, error.read) from None
    if not games:
        raise UsageError(f"{path} holds no game.")
    if not 0 <= asked.number <= len(games):
        raise UsageError(
            f"--number is {asked.number}, but {path} holds {len(games)} game{'s' * (len(games) > 1)}, numbered from 1."
        )
    return games[asked.number - 1]


def _play(asked: View, command: str) -> dict[str, Any]:
    """The show of the named game, which is played."""
    from ..agents.human.table import Match, follow
    from ..renderers.web.shows import show

    if asked.ticks < 0:
        raise UsageError(f"--ticks is {asked.ticks}; it must be at least 0.")
    found = _spec(asked.what)
    game = make_game(found.id, **wanted(found.id, asked.set, asked.preset))
    if "human" in asked.players:
        raise UsageError("A person cannot play into a file. Play with `coterie play --save FILE`, then view FILE.")
    words = _words(asked, game) if asked.players else ("random",) * game.info.players
    agents = Company(game)
    try:
        players = [agents.one(word, seat) for seat, word in enumerate(words)]
        match = Match(game, [player.name for player in players], asked.seed)
        for _ in follow(match, players):
            if asked.ticks and len(match.plies) >= asked.ticks and match.status == RUNNING:
                break
        made = show(game, record := match.record(), command=command, texts=asked.texts or None)
        _think(asked, game, record, made, dict(enumerate(words)), agents)
        return made
    finally:
        agents.close()


class Company:
    """The players of a page, made when they are needed; in worlds one player sits in all seats of its name."""

    def __init__(self, game: Game) -> None:
        self._game, self._made = game, dict[tuple[str, int], Agent]()

    def one(self, word: str, seat: Player = 0) -> Agent:
        """The player of that name for a seat."""
        from ..training.runs.players import make_player
        from .play import read_run

        key = word, 0 if self._game.info.is_world else seat
        if key not in self._made:
            self._made[key] = make_player(word, self._game, read=read_run)
        return self._made[key]

    def close(self) -> None:
        """End what runs as a process of its own."""
        close(self._made.values())


def _think(
    asked: View,
    game: Game,
    record: GameRecord,
    made: dict[str, Any],
    words: dict[Player, str],
    agents: Company | None = None,
) -> None:
    """Add what models think to a show: of the players by seat, or of the one that ``--ask`` names for all seats."""
    from ..agents.thoughts import Thinker, add_thoughts, is_model
    from ..renderers.web.shows import Boards, drawn_state
    from ..training.runs.players import earlier

    if made["kind"] == "world":
        _think_in_world(asked, game, record, made, words, agents or Company(game))
        return
    if asked.earlier < 0:
        raise UsageError(f"--earlier is {asked.earlier}; it must be at least 0.")
    company = agents or Company(game)
    if asked.ask:
        words = dict.fromkeys(range(game.info.players), asked.ask)
    thinkers = {
        seat: Thinker(
            agent, tuple((name, company.one(past, -1)) for name, past in earlier(word, asked.earlier)), asked.ask
        )
        for seat, word in words.items()
        for agent in [company.one(word, seat)]
        if asked.ask or (asked.thoughts and is_model(agent))
    }
    boards = Boards(game)
    try:
        if thinkers:
            frames = made["frames"]
            add_thoughts(frames, game, record, thinkers, lambda s, a: boards.cells(drawn_state(game, s), a))
    except UsageError as error:
        if asked.ask:
            raise
        print(f"Without thoughts: {error}", file=sys.stderr)
    finally:
        if agents is None:
            company.close()


def _think_in_world(
    asked: View, game: Game, record: GameRecord, made: dict[str, Any], words: dict[Player, str], company: Company
) -> None:
    """Add what the agents of a world think at each tick, of those that ``--texts`` names or of the first ones."""
    from ..agents.thoughts import is_model
    from ..agents.world_thoughts import world_thoughts
    from ..renderers.web.world import pack_shares

    if asked.ask:
        words = dict.fromkeys(range(game.info.players), asked.ask)
    followed = asked.texts or range(game.info.players)
    players = {slot: company.one(words[slot]) for slot in followed if slot in words}
    thinkers = {s: agent for s, agent in players.items() if asked.ask or (asked.thoughts and is_model(agent))}
    try:
        found = world_thoughts(game, record, thinkers)
    except UsageError as error:
        if asked.ask:
            raise
        print(f"Without thoughts: {error}", file=sys.stderr)
        return
    if found:
        made["world"]["thoughts"] = {str(slot): pack_shares(shares) for slot, shares in found.items()}
        made["world"]["asked"] = asked.ask


def _spec(what: str) -> Any:
    """The registered game of a name.

    Raises:
        UsageError: what was named is neither a game, nor a file, nor a folder.
    """
    if "/" in what or Path(what).suffix in (".json", ".jsonl", ".pgn", ".sgf"):
        raise UsageError(f"There is no file or folder {what}. `coterie play GAME --save FILE` saves a game.")
    try:
        return spec(what)
    except UsageError:
        names = [id.rpartition("-v")[0] for id in list_envs()]
        raise UsageError(
            f"{what!r} is neither a game nor a file nor a run's folder.{did_you_mean(what, names)} "
            "`coterie envs` lists the games."
        ) from None


def _transcripts(asked: View) -> int:
    """Show what was said in a run on a task."""
    from ..training.episodes.show import as_tree, overview
    from ..training.episodes.transcripts import examples, find, read_transcript, transcript_updates

    folder = Path(asked.what)
    if asked.chat or asked.trl:
        if asked.chat and asked.trl:
            raise UsageError("--chat and --trl write different columns: name one of them.")
        form: Literal["chat", "trl"] = "chat" if asked.chat else "trl"
        path = asked.chat or asked.trl
        assert path is not None
        updates = transcript_updates(folder) if asked.update is None else [asked.update]
        if not updates:
            read_transcript(folder)  # says that there are none
        count = 0
        with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
            for update in updates:
                for example in examples(read_transcript(folder, update), form):
                    file.write(json.dumps({"update": update, **example}, ensure_ascii=False) + "\n")
                    count += 1
        print(f"Wrote {count:,} answers of {len(updates):,} updates to {path}")
        return 0
    trees = read_transcript(folder, asked.update)
    with needs("Showing transcripts", "train"):
        from rich.console import Console
    console = Console(highlight=False)
    if asked.episode:
        console.print(as_tree(find(trees, asked.episode), prompts=asked.prompts))
        return 0
    kept = transcript_updates(folder)
    console.print(f"update {trees[0]['update'] if trees else 0} of {kept[0]} to {kept[-1]}", markup=False)
    console.print(overview(trees))
    if trees:
        first = ".".join(map(str, trees[0]["path"]))
        console.print(f"One of them: coterie view {folder} --episode {first}", markup=False, soft_wrap=True)
    return 0
