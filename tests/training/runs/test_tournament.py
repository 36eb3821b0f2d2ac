"""Tournaments: who takes part, what is kept and gone on with, and the page, whatever the names of players."""

from __future__ import annotations

import dataclasses
import json
from html.parser import HTMLParser

import pytest

pytest.importorskip("torch")

from coterie.errors import RunError, UsageError
from coterie.training.evaluation.leaderboard import in_text, page, write_pages
from coterie.training.evaluation.table import Meeting, Table
from coterie.training.loop import train
from coterie.training.runs import tournament
from coterie.training.runs.tournament import Tournament, entrants, results_of


@pytest.fixture(scope="module")
def run(mini, tmp_path_factory):
    """A run of two learners, with four versions of each."""
    from coterie.training.runs.config import BudgetConfig, PolicyConfig, RolloutConfig, SchemeConfig, TrainConfig

    folder = tmp_path_factory.mktemp("runs") / "pair"
    config = TrainConfig(
        threads=1,
        policy=PolicyConfig(model=str(mini), lora_r=4),
        rollout=RolloutConfig(games=16, num_generations=4),
        scheme=SchemeConfig(scheme="self_play", learners=2),
        budget=BudgetConfig(updates=4, eval_every=4, eval_games=4, checkpoint_every=1),
    )
    train(config, folder)
    return folder


def test_a_run_stands_for_its_learners_and_alone_for_their_past_selves_too(run):
    assert entrants([str(run), "random"]) == [f"{run}:main", f"{run}:main-2", "random"]
    assert entrants([str(run), "random"], past=1) == [
        *(f"{run}:main", f"{run}:main@1", f"{run}:main-2", f"{run}:main-2@1", "random")
    ]
    alone = entrants([str(run)])
    assert alone == [f"{run}:{name}{at}" for name in ("main", "main-2") for at in ("", "@1", "@2", "@3")]
    assert entrants([str(run)], past=0) == [f"{run}:main", f"{run}:main-2"]
    assert entrants([f"{run}:main@2", "mcts:5"]) == [f"{run}:main@2", "mcts:5"]


def test_a_run_is_rated_with_its_past_selves(run):
    found = Tournament((str(run),), games=4, past=1).play()
    names = {row["player"] for row in found["players"]}
    assert names == {"pair:main", "pair:main@1", "pair:main-2", "pair:main-2@1"}
    assert found["game"] == "tictactoe-v0"
    assert len(found["meetings"]) == 6
    assert all(0 < row["exploitability"] < 2 for row in found["players"])


def test_the_same_player_under_two_names_is_told(run):
    with pytest.raises(UsageError, match="pair:main and pair:main@4 are the same player"):
        Tournament((f"{run}:main", f"{run}:main@4"), games=4).play()


def test_players_of_different_games_are_told(run, tmp_path, monkeypatch):
    with pytest.raises(RunError, match="was trained on tictactoe-v0; it can't play kuhn_poker-v0"):
        Tournament((str(run), "random"), game="kuhn_poker", games=4).play()


def test_a_run_without_players_is_told(run, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "config.yaml").write_text((run / "config.yaml").read_text())
    for words in ((str(empty),), (str(empty), "random")):
        with pytest.raises(RunError, match="has no saved player 'main'; it has: none yet"):
            Tournament(words, games=4).play()


class Counted:
    """Counts matches, and stops before the one after ``most``."""

    def __init__(self, monkeypatch, most: int = 1000) -> None:
        self.played: list[tuple[str, str]] = []
        self.most, whole = most, tournament.play_table

        def counted(*arguments, begun, **options):
            def stop(pair):
                if len(self.played) == self.most:
                    raise KeyboardInterrupt
                begun(pair)
                self.played.append(pair)

            return whole(*arguments, begun=stop, **options)

        monkeypatch.setattr(tournament, "play_table", counted)


ASKED = Tournament(("random", "minimax", "mcts:5"), game="tictactoe", games=20)


def test_a_stopped_tournament_goes_on_and_ends_as_if_nothing_had_happened(tmp_path, monkeypatch):
    kept = dataclasses.replace(ASKED, out=tmp_path / "t")
    with monkeypatch.context() as patched:
        Counted(patched, most=2)
        with pytest.raises(KeyboardInterrupt):
            kept.play()
    assert len(json.loads((tmp_path / "t" / "results.json").read_text())["meetings"]) == 2
    with monkeypatch.context() as patched:
        counted = Counted(patched)
        found = kept.play()
        assert counted.played == [("minimax", "mcts:5")]
        assert kept.play() == found  # again: nothing left to play
        assert len(counted.played) == 1
    assert found == ASKED.play()
    # One more player: only its matches are new.
    with monkeypatch.context() as patched:
        counted = Counted(patched)
        dataclasses.replace(kept, players=(*ASKED.players, "mcts:2")).play()
        assert sorted(one for one, other in counted.played if other == "mcts:2") == ["mcts:5", "minimax", "random"]
        assert len(counted.played) == 3
    # One player less, then again: nothing is forgotten.
    with monkeypatch.context() as patched:
        counted = Counted(patched)
        two = dataclasses.replace(kept, players=("random", "minimax")).play()
        assert [row["player"] for row in two["players"]] == ["minimax", "random"]
        assert kept.play() == found
        assert counted.played == []


def test_a_player_that_has_learned_since_plays_again(run, tmp_path, monkeypatch):
    import shutil

    copy = shutil.copytree(run, tmp_path / "later")
    shutil.rmtree(copy / "players" / "main-2")
    last = copy / "players" / "main" / "v000004"
    last.rename(tmp_path / "kept")
    kept = Tournament((str(copy), "random", "minimax"), games=4, out=tmp_path / "t")
    kept.play()
    (tmp_path / "kept").rename(last)
    counted = Counted(monkeypatch)
    kept.play()
    assert counted.played == [("later", "random"), ("later", "minimax")]


def test_a_folder_that_holds_something_else_is_not_touched(tmp_path, monkeypatch):
    kept = dataclasses.replace(ASKED, players=("random", "minimax"), games=4, out=tmp_path / "t")
    kept.play()
    with pytest.raises(RunError, match=r"other settings \(games 4, now 6\)"):
        dataclasses.replace(kept, games=6).play()
    with pytest.raises(RunError, match=r"other settings \(game 'tictactoe-v0', now 'kuhn_poker-v0'"):
        dataclasses.replace(kept, game="kuhn_poker", players=("random", "equilibrium")).play()
    whole = (tmp_path / "t" / "results.json").read_text()
    for text in ("{", "[]", "{}", '{"game": 1}', whole.replace('"effective": 4.0', '"effective": NaN')):
        assert text != whole
        (tmp_path / "t" / "results.json").write_text(text)
        with pytest.raises(RunError, match=r"results\.json holds no tournament"):
            kept.play()
        assert (tmp_path / "t" / "results.json").read_text() == text
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "thesis.tex").write_text("years of work")
    with pytest.raises(RunError, match="isn't empty and holds no tournament"):
        dataclasses.replace(kept, out=tmp_path / "else").play()
    with pytest.raises(RunError, match="is a file"):
        dataclasses.replace(kept, out=tmp_path / "else" / "thesis.tex").play()


def test_two_processes_do_not_share_a_folder(tmp_path):
    from filelock import FileLock

    (tmp_path / "t").mkdir()
    with FileLock(tmp_path / "t" / ".lock"), pytest.raises(RunError, match="Another process is playing"):
        dataclasses.replace(ASKED, out=tmp_path / "t").play()


def test_a_swiss_tournament_plays_its_rounds_only():
    players = ("random", "minimax", "mcts:5", "mcts:20", "mcts:2")
    found = Tournament(players, game="tictactoe", games=10, swiss=2).play()
    assert len(found["meetings"]) == 4
    assert len({frozenset(m["players"]) for m in found["meetings"]}) == 4
    assert found["parts"] is None
    assert "nash" not in found["players"][0]
    assert sum(value is not None for row in found["payoff"] for value in row) == 8
    assert "Not every pair has met" in in_text(found)
    assert "Not every pair has met" in page(found)


class Read(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "path", "use", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag not in ("path", "use"):
            assert self.open.pop() == tag


def made(*names: str) -> dict:
    """Results of players of whom each beats the next, and the last the first."""
    meetings = []
    for k, name in enumerate(names):
        for other in range(k + 1, len(names)):
            points = 1.0 if other == k + 1 else 0.0
            sign = 2 * points - 1
            meetings.append(
                Meeting(
                    (name, names[other]),
                    *(30, 30, 0, ("w" if points else "l") * 30, 30.0),
                    *(points, (max(0.0, points - 0.1), min(1.0, points + 0.1))),
                    *(sign, (max(-1.0, sign - 0.2), min(1.0, sign + 0.2))),
                    (sign, -sign),
                )
            )
    exact = {names[0]: {"exploitability": 0.25}, names[1]: {"exploitability": None, "why": "too <large>"}}
    settings = {"game": "tictactoe-v0", "games": 30, "seed": 0}
    return settings | results_of(Table(names, tuple(meetings)), exact)


def test_cycles_are_told_and_drawn():
    found = made("rock", "scissors", "paper")
    assert found["cycles"] == [["rock", "scissors", "paper"]]
    assert found["parts"]["share"] == pytest.approx(1)
    said = in_text(found)
    assert "A cycle: rock beats scissors beats paper beats rock." in said
    assert "Elo misses the points of a pair by 50% on average (chance alone: 9%)" in said
    assert "100.0% of the payoff (squares) fits no rating of one number per player" in said
    assert "A cycle: rock beats" in page(found)


def test_the_page_is_whole_needs_nothing_and_cannot_be_tricked_by_names(tmp_path):
    evil = '<script>alert("1")</script>&amp;'
    found = made(evil, "b" * 60, "$x$ {y} %s")
    write_pages(found, tmp_path)
    text = (tmp_path / "leaderboard.html").read_text(encoding="utf-8")
    read = Read(text)
    assert not read.open
    names = [tag for tag, _ in read.tags]
    assert "script" not in names
    assert {"svg", "table", "caption", "main", "h1"} <= set(names)
    assert text.count("&lt;script&gt;") >= 3  # both tables and the picture
    loaded = [a.get(k) for tag, a in read.tags for k in ("src", "href", "xlink:href") if tag != "a" and a.get(k)]
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in loaded)
    assert "@import" not in text
    ids = [a["id"] for _, a in read.tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in loaded if link.startswith("#")} <= set(ids)
    assert all(a.get("scope") in ("col", "row") for tag, a in read.tags if tag == "th")
    assert all(a.get("aria-label") for tag, a in read.tags if tag == "figure")
    assert "too &lt;large&gt;" in text
    assert "prefers-color-scheme: dark" in text
    assert "width=device-width" in text
    for name in ("elo", "payoff", "parts", "cycles"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_a_table_that_nobody_played_is_refused():
    with pytest.raises(UsageError, match="No games were played"):
        results_of(Table(("a", "b"), ()), {})
