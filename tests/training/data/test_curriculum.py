"""Positions to start from: reading, drawing, playing, measuring, and whole runs that begin there."""

from __future__ import annotations

import dataclasses
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from coterie.agents.baselines import make_baseline  # noqa: E402
from coterie.agents.llm.models import load_model  # noqa: E402
from coterie.agents.llm.policy import LLMAgent, LoraPolicy  # noqa: E402
from coterie.cli import main  # noqa: E402
from coterie.envs.registry import make_game  # noqa: E402
from coterie.envs.state import take  # noqa: E402
from coterie.errors import RunError, UnknownName, UsageError  # noqa: E402
from coterie.training.data.curriculum import Source, find_curriculum, read_positions  # noqa: E402
from coterie.training.data.rollout import Seating, rollout, seated  # noqa: E402
from coterie.training.evaluation.held_out import HeldOut  # noqa: E402
from coterie.training.loop import Trainer, train  # noqa: E402
from coterie.training.runs.config import RolloutConfig, SchemeConfig, load_config, preset  # noqa: E402

GAME = make_game("chess")
BACK_RANK = "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1"  # 1 Rd8 mates
BLACK = "3r2k1/5ppp/8/8/8/8/5PPP/6K1 b - - 0 1"  # 1 ... Rd1 mates
QUEEN = "7k/8/5K2/8/8/8/8/6Q1 w - - 0 1"  # 1 Qg7 mates, and 1 Qh2 and Qh1 do not


def written(folder: Path, *lines: str, name: str = "mine.txt") -> Path:
    path = folder / name
    data = "\n".join(lines).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.fixture
def mine(tmp_path):
    return written(tmp_path, "# three mates in one", BACK_RANK, "", f"{BLACK}  # black", QUEEN)


def read(path):
    return read_positions(GAME, Source("mine", "fen", path, None, 1), path)


@pytest.fixture
def config(small, mine):
    """A small run on three positions, which are also held out."""
    return dataclasses.replace(
        small,
        game="chess",
        rollout=RolloutConfig(
            games=16, num_generations=4, opening_plies=0, curriculum=f"fen={mine},{mine}", max_plies=1
        ),
        scheme=SchemeConfig(scheme="fixed", opponents="random"),
    )


# -- reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mine.txt", "mine.txt.gz"])
def test_files_are_read_whatever_they_are_packed_in(tmp_path, name):
    positions = read(written(tmp_path, "# comment", BACK_RANK, "", f"{BLACK} # another", name=name))
    assert len(positions) == 2
    assert positions.movers.tolist() == [0, 1]
    assert GAME.compact(positions.states, 1, 1).startswith("b")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("8/8/8/8/8/8/8/8 w - - 0 1", r"mine.txt, line 2: .*king"),
        ("nonsense", r"mine.txt, line 2: "),
        ("R5k1/5ppp/8/8/8/8/5PPP/6K1 b - - 0 1", r"mine.txt, line 2: the game is already over"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, complaint):
    with pytest.raises(UsageError, match=complaint):
        read(written(tmp_path, BACK_RANK, line))


def test_files_without_positions(tmp_path):
    with pytest.raises(UsageError, match="holds no positions"):
        read(written(tmp_path, "# nothing", ""))
    broken = tmp_path / "broken.txt.gz"
    broken.write_bytes(b"no gzip")
    with pytest.raises(UsageError, match="can't be read"):
        read(broken)


def test_names_and_files_are_told_apart(mine):
    assert find_curriculum(GAME, "mate-in-1").train == GAME.curricula["mate-in-1"].train
    found = find_curriculum(GAME, f"fen={mine},{mine}")
    assert (found.name, found.option, found.train, found.test, found.max_plies) == ("mine", "fen", mine, mine, 0)
    assert find_curriculum(GAME, f"fen={mine}").test is None
    with pytest.raises(UnknownName, match="Did you mean 'mate-in-1'"):
        find_curriculum(GAME, "mate-in1")
    with pytest.raises(UsageError, match="There is no file"):
        find_curriculum(GAME, "fen=nowhere.txt")
    with pytest.raises(UsageError, match=r"has no reset option 'fenn'.* Did you mean 'fen'"):
        find_curriculum(GAME, f"fenn={mine}")
    with pytest.raises(UsageError, match="names 3 files"):
        find_curriculum(GAME, f"fen={mine},{mine},{mine}")
    with pytest.raises(UsageError, match="has no curricula"):
        find_curriculum(make_game("tictactoe"), "mate-in-1")


def test_every_curriculum_that_is_shipped_can_be_read():
    for name in GAME.curricula:
        source = find_curriculum(GAME, name)
        assert len(read_positions(GAME, source, source.test, limit=50)) == 50


# -- drawing ----------------------------------------------------------------------------------------------------------


def test_every_position_comes_once_before_any_comes_again(mine):
    positions = read(mine)
    drawn = np.concatenate([positions.draw(update, 2, seed=5) for update in range(6)])
    for epoch in range(4):
        assert sorted(drawn[3 * epoch : 3 * epoch + 3].tolist()) == [0, 1, 2]
    assert read(mine).draw(4, 2, seed=5).tolist() == drawn[8:10].tolist()  # without the draws before it
    assert read(mine).draw(0, 30, seed=5).tolist() != read(mine).draw(0, 30, seed=6).tolist()


# -- playing ----------------------------------------------------------------------------------------------------------


def test_the_learner_goes_round_to_the_seat_that_moves():
    white = Seating(("main", "random"), (True, False))
    assert seated(white, 0) is white
    assert seated(white, 1) == Seating(("random", "main"), (False, True))
    assert seated(Seating(("a", "b", "c"), (False, True, False)), 0) == Seating(("b", "c", "a"), (True, False, False))
    both = Seating(("main", "main"), (True, True))
    assert seated(both, 1) is both
    assert seated(white, -1) is white


class First:
    """Always the first legal action; notes who was asked."""

    name = "first"

    def __init__(self):
        self.asked = []

    def act(self, turns):
        from coterie.agents.core import Decision, Tokens

        self.asked += [(turn.row, turn.player) for turn in turns]
        record = Tokens((1,), (2,), (0.0,), "choice", ((2,),), 0, lora="main")
        return [Decision(turn.legal_actions[0], "", record) for turn in turns]


def test_games_start_where_they_are_told_and_end_when_they_are_told(mine):
    positions = read(mine)
    learner, other = First(), First()
    batch = rollout(
        GAME,
        {"main": learner, "other": other},
        [Seating(("main", "other"), (True, False))] * 3,
        seed=1,
        group_size=2,
        starts=positions.states,
        max_plies=2,
    )
    assert sorted(learner.asked) == [(0, 0), (1, 0), (2, 1), (3, 1), (4, 0), (5, 0)]
    assert [e.plies for e in batch.episodes] == [2] * 6
    assert len(other.asked) == 6
    assert [e.learners.index(True) for e in batch.episodes] == [0, 0, 1, 1, 0, 0]


# -- measuring --------------------------------------------------------------------------------------------------------


def test_the_share_of_a_uniform_choice_is_exact(mine):
    (row,) = HeldOut(GAME, read(mine), 1).measure(make_baseline("random", GAME), {}, seed=0)
    by_hand = []
    for fen, mating in ((BACK_RANK, ["Rd8"]), (BLACK, ["Rd1"]), (QUEEN, ["Qg7"])):
        states = read(written(mine.parent, fen, name="one.txt")).states
        player = GAME.mover(states, 0)
        sans = [GAME.action_to_text(states, 0, a) for a in GAME.legal_actions(states, 0, player)]
        assert set(mating) <= set(sans)
        by_hand.append(len(mating) / len(sans))
    assert row["solved"] == pytest.approx(np.mean(by_hand))
    assert row["sampled"] == row["solved"]
    assert row["entropy"] == pytest.approx(1.0)
    assert (row["curriculum"], row["opponent"], row["games"]) == ("mine", None, 3)
    assert row["solved_interval"][0] <= row["solved"] <= row["solved_interval"][1]


def test_one_answer_and_its_distribution_agree_with_what_is_played(mini, mine):
    """The exact figures of a model are those of many games it plays."""
    held_out = HeldOut(GAME, read(mine), 1)
    policy = LoraPolicy(load_model(mini))
    (row,) = held_out.measure(LLMAgent(policy, greedy=True), {}, seed=0)
    assert row["solved"] == held_out._play(LLMAgent(policy, greedy=True), First(), None, 0)["solved"]
    (sampled,) = held_out.measure(LLMAgent(policy), {}, seed=0)
    assert sampled["solved"] == sampled["sampled"] == row["sampled"]
    shares = [held_out._play(LLMAgent(policy), First(), None, seed)["solved"] for seed in range(150)]
    assert np.mean(shares) == pytest.approx(row["sampled"], abs=0.04)
    assert 0.5 < row["entropy"] < 1.0


def test_players_without_a_distribution_play(mine):
    (row,) = HeldOut(GAME, read(mine), 1).measure(make_baseline("alphabeta:2", GAME), {}, seed=0)
    assert row["solved"] == 1.0
    assert "sampled" not in row


def test_longer_curricula_need_somebody_who_answers(mine):
    held_out = HeldOut(GAME, read(mine), 3)
    with pytest.raises(UsageError, match="mine needs opponents"):
        held_out.measure(make_baseline("random", GAME), {}, seed=0)
    best = make_baseline("alphabeta:2", GAME)
    rows = held_out.measure(best, {"random": make_baseline("random", GAME), "itself": best}, seed=0)
    assert [(row["opponent"], row["solved"]) for row in rows] == [("random", 1.0), ("itself", 1.0)]


# -- runs -------------------------------------------------------------------------------------------------------------


def test_a_run_measures_its_start_and_what_it_kept_apart(config, tmp_path, capsys):
    from coterie.training.runs.display import Display

    goal = dataclasses.replace(config.budget, goal="mine.solved>=0", updates=3)
    outcome = train(dataclasses.replace(config, budget=goal), tmp_path / "run", watcher=Display(live=False))
    assert outcome.reason == "goal"
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert rows[0]["before"][0]["curriculum"] == "mine"
    assert "before" not in rows[1]
    assert rows[2]["eval"][0]["games"] == 3
    assert rows[0]["decisions"] == 16
    assert (tmp_path / "run" / "curves.png").stat().st_size > 1000
    assert "mine solved" in capsys.readouterr().out
    saved = load_config(tmp_path / "run" / "config.yaml")
    assert saved.game == "chess-v0"
    assert saved.rollout.curriculum == config.rollout.curriculum


def test_resumed_with_a_curriculum_is_bit_equal(config, tmp_path):
    def budget(updates):
        return dataclasses.replace(config, budget=dataclasses.replace(config.budget, updates=updates))

    train(budget(5), tmp_path / "whole")
    train(budget(3), tmp_path / "parts")
    train(budget(5), tmp_path / "parts", resume=True)
    a, b = (
        torch.load(tmp_path / name / "checkpoints" / "000005" / "bank.pt", weights_only=True)["weights"]["main"]
        for name in ("whole", "parts")
    )
    assert torch.equal(a, b)
    other = dataclasses.replace(config, rollout=dataclasses.replace(config.rollout, curriculum="mate-in-1"))
    with pytest.raises(RunError, match="curriculum was"):
        train(other, tmp_path / "parts", resume=True)


def test_openings_may_follow_a_position(config):
    trainer = Trainer(dataclasses.replace(config, rollout=dataclasses.replace(config.rollout, opening_plies=2)))
    assert trainer.step()["decisions"] == 16


def test_goals_are_about_what_is_measured(config):
    for goal, complaint in (
        ("random.win>=0.5", r"use mine\.solved>=NUMBER"),
        ("mate-in-1.solved>=0.5", r"use mine\.solved>=NUMBER"),
    ):
        with pytest.raises(UsageError, match=complaint):
            Trainer(dataclasses.replace(config, budget=dataclasses.replace(config.budget, goal=goal)))
    plain = dataclasses.replace(config, game="tictactoe", rollout=RolloutConfig(games=16))
    with pytest.raises(UsageError, match="needs a curriculum"):
        Trainer(dataclasses.replace(plain, budget=dataclasses.replace(plain.budget, goal="mate-in-1.solved>=0.5")))


def test_a_curriculum_has_a_preset_of_its_own():
    assert preset("chess", "mate-in-1") != preset("chess")
    assert preset("chess-v0", "mate-in-1").rollout.curriculum == "mate-in-1"
    assert preset("chess", "fen=a.txt").rollout.opening_plies == 0


def test_the_command_line_trains_and_measures(mini, mine, tmp_path, capsys):
    run = tmp_path / "run"
    words = ["--model", str(mini), "--updates", "2", "--games", "32", "--eval-games", "3", "--threads", "1"]
    words += ["--max-plies", "1", "--lora-r", "4", "--run", str(run), "--curriculum", f"fen={mine},{mine}"]
    assert main(["train", "chess", *words]) == 0
    assert main(["eval", str(run), "--json"]) == 0
    row = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert row["curriculum"] == "mine"
    assert main(["eval", "random", "--game", "chess", "--curriculum", "mate-in-1", "--games", "100"]) == 0
    assert "mate-in-1, 100 held-out positions:   solved" in capsys.readouterr().out
    assert main(["train", "chess", "--curriculum", "mate-in1"]) == 2
    assert "Did you mean 'mate-in-1'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_run_remembers_how_its_game_was_configured(small, tmp_path, capsys):
    config = dataclasses.replace(
        small, game="hex", set=("size=3",), budget=dataclasses.replace(small.budget, updates=1, eval_every=5)
    )
    run = tmp_path / "run"
    train(config, run)
    assert load_config(run / "config.yaml").game_arguments == {"size": 3}
    assert main(["eval", str(run), "--games", "4", "--json"]) == 0
    assert main(["eval", str(run), "--games", "4", "--set", "size=4"]) == 2
    assert "was trained on hex-v0 with size=3, not size=4. Add --set size=3." in capsys.readouterr().err
    with pytest.raises(RunError, match="set was"):
        train(dataclasses.replace(config, set=("size=4",)), run, resume=True)


def test_arguments_of_the_game_in_a_file(tmp_path):
    path = tmp_path / "c.yaml"
    for text in ("game: hex\nset: {size: 5}", "game: hex\nset: [size=5]"):
        path.write_text(text)
        assert load_config(path).game_arguments == {"size": 5}
    path.write_text("game: hex\nset: [size]")
    with pytest.raises(UsageError, match="is not of the form name=value"):
        load_config(path)


def test_copies_of_a_position_are_one_question(mini, mine):
    """Thirty-two answers to a position cost one prompt, and are those that asking one by one would give."""
    from coterie.agents.core import Turn, seeded

    positions = read(mine)
    states = take(positions.states, np.repeat(np.arange(3), 32))
    movers = np.repeat(positions.movers, 32).tolist()
    turns = [Turn(GAME, states, i, p, GAME.legal_mask(states, i, p), 0) for i, p in enumerate(movers)]
    policy = LoraPolicy(load_model(mini))
    texts = []
    policy.template = _Counting(policy.template, texts)
    decisions = policy.act(seeded(turns, 3), [None] * 96)
    assert len(texts) == 3
    again = LoraPolicy(load_model(mini))
    slow = [again.question(turn, -1) for turn in turns]
    assert [d.tokens.prompt for d in decisions] == [q.prompt for q in slow]
    assert [d.tokens.candidates for d in decisions] == [q.answers for q in slow]
    for turn, decision in zip(turns, decisions, strict=True):
        assert decision.action in turn.legal_actions
        assert decision.text == turn.action_to_text(decision.action)


class _Counting:
    """A template that notes whose text it was asked for."""

    def __init__(self, template, texts):
        self._template, self._texts = template, texts

    def __getattr__(self, name):
        return getattr(self._template, name)

    def text(self, turn):
        self._texts.append(turn.row)
        return self._template.text(turn)
