"""Several learners in one run: who moves, who is set back, and that a run killed anywhere goes on as if nothing was."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from coterie.agents.core import Turn  # noqa: E402
from coterie.agents.engines.mock import MockEngine  # noqa: E402
from coterie.agents.llm.policy import LLMAgent  # noqa: E402
from coterie.agents.search.information_sets import information_tree, nash_conv, policy_table  # noqa: E402
from coterie.cli import main  # noqa: E402
from coterie.envs.words.vec import vec_of  # noqa: E402
from coterie.errors import CollapseError, CoterieError, UsageError  # noqa: E402
from coterie.training.data.rollout import Seating  # noqa: E402
from coterie.training.evaluation.rows import in_words  # noqa: E402
from coterie.training.loop import Trainer, train  # noqa: E402
from coterie.training.population.health import Guards  # noqa: E402
from coterie.training.population.pool import PlayerRecord  # noqa: E402
from coterie.training.runs.config import CreditConfig, load_config, save_config  # noqa: E402
from coterie.training.runs.folder import Run  # noqa: E402
from coterie.training.runs.players import make_player  # noqa: E402
from coterie.training.runs.state import put_back, restore, save, taken  # noqa: E402


def change(config, **sections):
    """A configuration with fields of its sections replaced."""
    return dataclasses.replace(
        config, **{name: dataclasses.replace(getattr(config, name), **fields) for name, fields in sections.items()}
    )


@pytest.fixture
def two(small):
    """Two learners, tiny updates."""
    return change(
        small,
        scheme={"scheme": "fictitious", "learners": 2, "snapshot_every": 2, "max_past": 2},
        rollout={"games": 8, "num_generations": 2},
        loss={"num_iterations": 1},
        budget={"updates": 5, "eval_every": 100, "checkpoint_every": 100},
    )


def rows(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def state(run, update):
    """Everything that a checkpoint keeps."""
    folder = run / "checkpoints" / f"{update:06d}"
    tensors = {path.stem: torch.load(path, weights_only=True) for path in folder.glob("*.pt")}
    told = json.loads((folder / "state.json").read_text())
    return tensors | {name: told[name] for name in ("pool", "baseline", "low", "sound", "scheme") if name in told}


def equal(a, b):
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    return a == b


def weights(trainer):
    return {name: trainer.policy.bank.weights(name).clone() for name in trainer.policy.bank.players}


def test_only_those_move_whom_the_seating_lets_learn(two):
    trainer = Trainer(two)
    trainer.pool.snapshot("main", 0)

    class Given:
        learners, opponents = ("main", "main-2"), ()

        def seats(self, update, groups, pool, rng):
            return [Seating(("main", "main-2"), (False, True)), Seating(("main@0", "main-2"), (False, True))] * 2

        def update(self, done, results, pool):
            assert done == 1
            assert [e.players for e in results] == [("main", "main-2")] * 2 + [("main@0", "main-2")] * 2 + [
                ("main", "main-2")
            ] * 2 + [("main@0", "main-2")] * 2

    trainer.scheme = Given()
    before = weights(trainer)
    trainer.step()
    moved = {name for name, now in weights(trainer).items() if not torch.equal(now, before[name])}
    assert moved == {"main-2"}
    assert set(trainer.policy.local.optimizer.state_dict()) == {"main-2"}


@pytest.mark.parametrize("game", ["tictactoe", "kuhn_poker"])
@pytest.mark.parametrize("scheme", ["self_play", "mixed", "fictitious"])
def test_all_learners_learn_and_have_figures_of_their_own(two, scheme, game):
    config = change(two, scheme={"scheme": scheme, "learners": 3}, credit={"credit": "constant"}, rollout={"games": 24})
    config = dataclasses.replace(config, game=game)
    trainer = Trainer(config)
    before = weights(trainer)
    done = [trainer.step() for _ in range(2)]
    assert all(not torch.equal(trainer.policy.bank.weights(name), before[name]) for name in trainer.scheme.learners)
    for row in done:
        assert set(row["players"]) == {"main", "main-2", "main-3"}
        assert sum(own["decisions"] for own in row["players"].values()) == row["decisions"]
        for own in row["players"].values():
            assert own["win"] + own["draw"] + own["loss_share"] == pytest.approx(1.0)


def test_a_single_learner_has_no_figures_twice(small):
    assert "players" not in Trainer(change(small, scheme={"opponents": "random"})).step()


class Ill:
    """Guards that find one player broken in one update."""

    def __init__(self, monkeypatch, who, when):
        real = Guards.look

        def look(guards, name, update, row):
            if (name, update) == (who, when):
                return CollapseError("It fell over.")
            return real(guards, name, update, row)

        monkeypatch.setattr(Guards, "look", look)


@pytest.mark.parametrize("learners", [1, 2])
def test_who_joins_late_and_breaks_at_once_is_set_back_to_where_it_joined(two, monkeypatch, learners):
    """It had no snapshot before the next look at whom to keep."""
    trainer = Trainer(change(two, scheme={"scheme": "self_play", "learners": learners, "snapshot_every": 100}))

    class Growing:
        learners, opponents = ("main", "late"), ()

        def seats(self, update, groups, pool, rng):
            players = ("main", "late" if "late" in pool.live else "main")
            return [Seating(players, (True, True))] * groups

        def update(self, done, results, pool):
            if done == 2:
                trainer.policy.bank.add("late", init_from="main")
                pool.add("late")

    trainer.scheme = Growing()
    Ill(monkeypatch, "late", 2)
    trainer.step()
    trainer.step()
    joined = weights(trainer)["late"]
    # A run that is killed here knows it too.
    tensors, told = taken(trainer)
    assert trainer.step()["notes"] == ["late is set back to update 2: It fell over."]
    assert torch.equal(trainer.policy.bank.weights("late"), joined)
    assert not torch.equal(trainer.policy.bank.weights("main"), joined)
    put_back(trainer, tensors, told)
    assert trainer.step()["notes"] == ["late is set back to update 2: It fell over."]


def test_a_broken_learner_is_set_back_while_the_others_go_on(two, monkeypatch):
    Ill(monkeypatch, "main-2", 3)
    trainer = Trainer(change(two, scheme={"scheme": "self_play"}))
    for _ in range(2):
        trainer.step()
    sound, moments = weights(trainer), trainer.policy.local.optimizer.state_dict()
    assert "notes" not in trainer.step()
    row = trainer.step()
    assert row["notes"] == ["main-2 is set back to update 2: It fell over."]
    assert torch.equal(trainer.policy.bank.weights("main-2"), sound["main-2"])
    assert not torch.equal(trainer.policy.bank.weights("main"), sound["main"])
    now = trainer.policy.local.optimizer.state_dict()
    for field in ("first", "second", "steps"):
        assert equal(now["main-2"][field], moments["main-2"][field])
    assert now["main"]["steps"] > moments["main"]["steps"]
    trainer.step()
    assert not torch.equal(trainer.policy.bank.weights("main-2"), sound["main-2"])


def test_an_update_that_is_taken_back_takes_back_what_was_kept(two):
    trainer = Trainer(change(two, scheme={"scheme": "self_play", "snapshot_every": 1}))
    trainer.step()
    before = taken(trainer)
    trainer.step()
    put_back(trainer, *before)
    again = taken(trainer)
    assert equal(before[0], again[0])
    assert before[1] == again[1]
    assert again[1]["sound"] == {"main": 1, "main-2": 1}


def test_a_checkpoint_has_what_the_players_say_whatever_holds_them(two):
    """No bank and no optimizer of ours: another kind of learner keeps what it needs."""
    trainer = Trainer(two)
    trainer.pool.players = held = MockEngine(players=("main", "main-2"))
    held.players["main"] = 7
    before = taken(trainer)
    assert before[0] == {"players": {"main": 7, "main-2": 0}, "memory": {}}
    assert before[1]["model"] == {"id": "mock", "hash": ""}
    trainer.pool.freeze("main-2")
    held.players["main"] = 8
    put_back(trainer, *before)
    assert held.players == {"main": 7, "main-2": 0}
    assert trainer.pool.live == ["main", "main-2"]


def test_who_breaks_before_anything_was_kept_begins_anew(two, monkeypatch):
    Ill(monkeypatch, "main", 0)
    trainer = Trainer(change(two, scheme={"scheme": "self_play"}))
    fresh = trainer.policy.bank.weights("main").clone()
    assert trainer.step()["notes"] == ["main is set back to update 0: It fell over."]
    assert torch.equal(trainer.policy.bank.weights("main"), fresh)
    assert trainer.policy.local.optimizer.steps("main") == 0
    assert trainer.policy.local.optimizer.steps("main-2") > 0


def test_the_only_learner_that_breaks_ends_the_run(small, tmp_path, monkeypatch):
    Ill(monkeypatch, "main", 1)
    outcome = train(change(small, scheme={"opponents": "random"}), tmp_path / "run")
    assert (outcome.reason, outcome.message) == ("collapse", "It fell over.")


def test_a_loss_that_is_not_finite_breaks_its_player_alone(two, monkeypatch):
    """NaN advantages of one player go through the real loss."""
    from coterie.training import loop

    real, calls = loop.assign, []

    def poisoned(batch, *rest):
        credit = real(batch, *rest)
        calls.append(len(credit.keep))
        mine = np.array(batch.whose()) == "main-2"
        broken = np.where(mine & (len(calls) == 3), np.nan, credit.advantages)
        return dataclasses.replace(credit, advantages=broken, keep=credit.keep | mine)

    monkeypatch.setattr(loop, "assign", poisoned)
    trainer = Trainer(change(two, scheme={"scheme": "self_play"}, credit={"credit": "constant"}))
    for _ in range(2):
        trainer.step()
    before = weights(trainer)
    (note,) = trainer.step()["notes"]
    assert note.startswith("main-2 is set back to update 2: ")
    assert "nan" in note
    assert torch.equal(trainer.policy.bank.weights("main-2"), before["main-2"])
    assert not torch.equal(trainer.policy.bank.weights("main"), before["main"])
    assert "notes" not in trainer.step()
    assert all(torch.isfinite(row).all() for row in weights(trainer).values())


def test_a_run_whose_groups_never_have_variance_is_still_watched(small, tmp_path):
    """Groups of one game have nothing to compare, so that nothing is kept: no reason to look away."""
    config = change(
        small,
        rollout={"num_generations": 1},
        credit={"credit": "group"},
        budget={"min_entropy": 1e9, "patience": 3, "updates": 9, "checkpoint_every": 1},
    )
    outcome = train(config, tmp_path / "run")
    assert outcome.reason == "collapse"
    assert "for 3 updates" in outcome.message
    assert outcome.message.endswith("The checkpoint of update 2 is kept.")


def test_a_version_that_looked_ill_is_not_what_a_player_is_set_back_to(two, monkeypatch):
    """Two updates of too little entropy are no collapse yet, but nothing to go back to either."""
    Ill(monkeypatch, "main", 3)
    trainer = Trainer(change(two, scheme={"scheme": "self_play"}, budget={"min_entropy": 1e9, "patience": 9}))
    notes = [note for _ in range(4) for note in trainer.step().get("notes", ())]
    assert notes == ["main is set back to update 0: It fell over."]


def test_what_a_player_is_set_back_to_survives_a_stop(two, tmp_path, monkeypatch):
    Ill(monkeypatch, "main-2", 3)
    train(two, tmp_path / "whole")
    train(change(two, budget={"updates": 3}), tmp_path / "parts")
    train(two, tmp_path / "parts", resume=True)
    assert [row.get("notes") for row in rows(tmp_path / "parts")] == [
        *[None] * 3,
        ["main-2 is set back to update 2: It fell over."],
        None,
    ]
    assert equal(state(tmp_path / "whole", 5), state(tmp_path / "parts", 5))


@pytest.mark.parametrize(
    ("game", "exact", "scheme", "opponents"),
    [
        ("tictactoe", False, "mixed", ["random=1"]),
        ("kuhn_poker", True, "mixed", ["random=1"]),
        ("tictactoe", False, "self_play", []),
        ("kuhn_poker", True, "fictitious", []),
    ],
)
def test_several_learners_from_the_command_line(two, tmp_path, capsys, game, exact, scheme, opponents):
    """Trained, measured one by one, drawn, and played by name."""
    config = dataclasses.replace(
        change(
            two, scheme={"scheme": "fixed"}, budget={"updates": 2, "eval_every": 1, "eval_games": 4, "exact": exact}
        ),
        game=game,
    )
    save_config(config, tmp_path / "config.yaml")
    run = tmp_path / "run"
    words = [
        "train",
        game,
        "--config",
        str(tmp_path / "config.yaml"),
        "--run",
        str(run),
        "--scheme",
        scheme,
        "--learners",
        "3",
    ]
    assert main([*words, *(["--opponents", *opponents] if opponents else [])]) == 0
    told = capsys.readouterr().out
    assert f"scheme {scheme} of 3 learners" in told
    assert "main-3 vs random" in told
    last = rows(run)[-1]
    expected = [(name, other) for name in ("main", "main-2", "main-3") for other in ("random", None)[: 1 + exact]]
    assert [(e["player"], e["opponent"]) for e in last["eval"]] == expected
    assert (run / "curves.png").is_file()
    assert main(["eval", str(run), "--games", "4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name in ("main", "main-2", "main-3"):
        assert any(line.startswith(f"{run}:{name}: against random") for line in lines)
    assert main(["eval", f"{run}:main-2", "--games", "4", "--json"]) == 0
    assert "player" not in json.loads(capsys.readouterr().out.splitlines()[0])


def test_the_live_table_shows_every_learner(two, tmp_path):
    from rich.console import Console

    from coterie.training.runs.display import Display

    display = Display(live=True, report_to="none")
    display.console = Console(width=160, record=True, file=(tmp_path / "out").open("w"))
    train(change(two, budget={"updates": 1, "eval_every": 1, "eval_games": 4}), tmp_path / "run", watcher=display)
    told = display.console.export_text()
    for name in ("main", "main-2"):
        assert f"{name} against random (greedy)" in told
        assert re.search(rf"^ +{name} +\d+\.\d% +\d+\.\d% +\d+\.\d% *$", told, re.MULTILINE)


def test_the_live_table_and_the_lines_stay_short_however_many_learn(small, tmp_path, capsys):
    from rich.console import Console

    from coterie.training.runs.display import Display, plain_line

    own = {"win": 0.5, "draw": 0.25, "loss_share": 0.25}
    row = own | {"update": 0, "elapsed": 1.0, "reward": 0.0, "decisions_per_second": 1.0, "games": 4, "eval": []}
    row |= {"players": {f"p{k}": own for k in range(40)}, "mixture": {f"main@{k}": 1 / 40 for k in range(40)}}
    display = Display(live=True, report_to="none")
    display.console = Console(width=160, height=100, record=True, file=(tmp_path / "out").open("w"))
    display.start(Trainer(change(small, budget={"updates": 1})))
    display.update(row)
    display.stop()
    told = display.console.export_text()
    assert "and 28 more learners" in told
    assert len(told.splitlines()) < 20 * 2
    line = plain_line(row)
    assert "mixture: main@0 2%" in line
    assert len(line) < 200


def test_a_scheme_may_let_learners_go_and_the_run_goes_on_without_them(two, tmp_path, monkeypatch):
    from coterie.training.schemes.self_play import SelfPlay

    def update(scheme, done, results, pool):
        if done == 2:
            pool.remove("main-2")
        scheme.learners = tuple(pool.live)

    def seats(scheme, done, groups, pool, rng, given=SelfPlay.seats):
        scheme.learners = tuple(pool.live)
        return given(scheme, done, groups, pool, rng)

    monkeypatch.setattr(SelfPlay, "update", update)
    monkeypatch.setattr(SelfPlay, "seats", seats)
    config = change(two, scheme={"scheme": "self_play", "learners": 3})
    train(config, tmp_path / "whole")
    train(change(config, budget={"updates": 3}), tmp_path / "parts")
    train(config, tmp_path / "parts", resume=True)
    kept = state(tmp_path / "whole", 5)
    assert set(kept["bank"]["players"]) == {"main", "main-3", "main@sound", "main-3@sound"}
    assert set(kept["optimizer"]) == set(kept["bank"]["players"])
    assert kept["sound"] == {"main": 4, "main-3": 4}
    assert equal(kept, state(tmp_path / "parts", 5))


@pytest.mark.parametrize("scheme", ["pfsp", "league", "psro", "oracle", "pairs", "round_robin", "swiss"])
def test_every_scheme_trains_all_its_learners_and_resumes_exactly(two, tmp_path, scheme):
    changed = {"scheme": scheme, "learners": 2, "snapshot_every": 1, "league_exploiters": 1}
    config = change(two, scheme=changed, rollout={"games": 16}, credit={"credit": "constant"}, budget={"updates": 4})
    train(config, tmp_path / "whole")
    train(change(config, budget={"updates": 2}), tmp_path / "parts")
    train(config, tmp_path / "parts", resume=True)
    kept = state(tmp_path / "whole", 4)
    assert equal(kept, state(tmp_path / "parts", 4))
    assert all(kept["optimizer"][name]["steps"] for name in config.scheme.names if "exploiter" not in name)
    assert all(set(row["players"]) == set(config.scheme.names) for row in rows(tmp_path / "whole"))
    mixed = [row["mixture"] for row in rows(tmp_path / "whole") if "mixture" in row]
    assert len(mixed) == (4 if scheme == "psro" else 0)
    assert all(sum(mixture.values()) == pytest.approx(1.0) for mixture in mixed)


def test_past_selves_are_players_of_the_run(two, tmp_path):
    """A past self that was kept when its learner began anew is what was learned, not what it began with."""
    config = change(two, scheme={"scheme": "league", "snapshot_every": 1}, budget={"updates": 4})
    train(config, tmp_path / "run")
    bank = state(tmp_path / "run", 4)["bank"]
    saved = {f"{path.parent.name}@{int(path.name[1:])}": path for path in (tmp_path / "run" / "players").glob("*/v*")}
    past = [name for name in bank["weights"] if name.partition("@")[2].isdigit()]
    assert {"main@0", "main@2", "main_exploiter@2", "main_exploiter@4"} <= set(past) <= set(saved)
    trainer = Trainer(config)
    for name in past:
        trainer.policy.bank.load_peft(name, saved[name])
        assert torch.equal(trainer.policy.bank.weights(name), bank["weights"][name])
    assert not torch.equal(bank["weights"]["main_exploiter@4"], bank["weights"]["main_exploiter"])
    assert main(["play", "tictactoe", "--players", f"{tmp_path / 'run'}:main_exploiter@4", "random"]) == 0


def test_a_league_evaluates_its_main_agents_alone(two):
    trainer = Trainer(change(two, scheme={"scheme": "league", "learners": 2}, budget={"eval_games": 4}))
    assert [row["player"] for row in trainer.evaluate()] == ["main", "main-2"]


def test_past_selves_wait_on_disk_until_they_play_and_nothing_else_changes(two, tmp_path):
    scheme = {"scheme": "pfsp", "learners": 1, "snapshot_every": 1}
    config = change(two, scheme=scheme, rollout={"games": 4, "num_generations": 4}, budget={"updates": 8})
    small = change(config, scheme={"loaded": 1})
    train(config, tmp_path / "all")
    train(change(small, budget={"updates": 5}), tmp_path / "few")
    train(small, tmp_path / "few", resume=True)
    whole, few = (state(tmp_path / name, 8) for name in ("all", "few"))
    assert torch.equal(whole["bank"]["weights"]["main"], few["bank"]["weights"]["main"])
    assert equal(whole["optimizer"], few["optimizer"])
    waiting = few["pool"]["offloaded"]
    assert len(waiting) == 8 + 1 - 1  # past selves 0 to 8, one of them in memory
    assert whole["bank"]["capacity"] >= 10
    assert few["bank"]["capacity"] <= 4
    trainer = Trainer(small, Run.reopen(tmp_path / "few"))
    restore(trainer)
    assert not set(waiting) & set(trainer.pool.agents)
    trainer.pool.ready(waiting)
    for name in waiting:
        assert torch.equal(trainer.policy.bank.weights(name), whole["bank"]["weights"][name])


def test_who_learns_stays_in_memory_and_so_does_all_without_a_folder(two):
    pool = Trainer(two).pool
    with pytest.raises(CoterieError, match="main"):
        pool.offload("main")
    with pytest.raises(UsageError, match="main@1 cannot wait on disk: the run has no folder"):
        pool.offload(pool.snapshot("main", 1))
    assert "main@1" in pool.agents


def test_personas_are_asked_with_kept_and_resumed(two, tmp_path):
    told = {"personas": "main = You bluff.; main-2=You wait."}
    config = change(two, scheme=told, budget={"updates": 2, "eval_vs": ""})
    train(config, tmp_path / "run")
    trainer = Trainer(config, Run.reopen(tmp_path / "run"))
    restore(trainer)
    assert trainer.pool.personas == {
        "main": "You bluff.",
        "main-2": "You wait.",
        "main@2": "You bluff.",
        "main-2@2": "You wait.",
    }
    assert trainer.pool.records["main@2"] == PlayerRecord("main", "main", {}, "You bluff.")
    vec = vec_of(trainer.game, 1)
    vec.reset(seed=0)
    turns = [Turn(vec.game, vec.state, 0, 0, vec.action_mask[0], 0)]
    (said,) = LLMAgent(trainer.policy, "main").policy(turns)
    (loaded,) = make_player(f"{tmp_path / 'run'}:main@2", trainer.game, greedy=False).policy(turns)
    assert np.allclose(said, loaded, atol=1e-6)
    trainer.pool.describe("main", persona="", genome={"rate": 1e-3})
    (silent,) = LLMAgent(trainer.policy, "main").policy(turns)
    assert np.abs(said - silent).max() > 1e-6
    trainer.updates = 3
    save(trainer)
    again = Trainer(config, Run.reopen(tmp_path / "run"))
    restore(again)
    assert again.pool.records["main"] == PlayerRecord("main", "", {"rate": 1e-3}, "")
    assert "main" not in again.policy.personas


@pytest.mark.parametrize(
    ("personas", "complaint"),
    [
        ("main", "personas has 'main'; write NAME=TEXT"),
        ("mainn=You bluff.", "Unknown player .*'mainn'.*Did you mean 'main'"),
    ],
)
def test_personas_of_nobody_are_refused(two, personas, complaint):
    with pytest.raises(CoterieError, match=complaint):
        Trainer(change(two, scheme={"personas": personas}))


def test_genomes_are_plain_data(two):
    pool = Trainer(two).pool
    with pytest.raises(UsageError, match="genome of main cannot be saved"):
        pool.describe("main", genome={"f": object()})
    pool.describe("main", genome={"rate": 1}, persona="You bluff.")
    pool.inherit("main-2", "main", 0)
    assert pool.records["main-2"] == PlayerRecord("main", "main", {"rate": 1}, "You bluff.")
    pool.breed("main", {"main-2": 1.0, "main": 2.0}, 0)
    assert pool.records["main"].parent == "main"
    pool.remove(pool.snapshot("main", 1))
    assert set(pool.records) == {"main", "main-2"}


def test_what_a_mixture_of_players_is_worth_is_measured_instead_of_the_newest(two):
    config = dataclasses.replace(two, game="matrix", set=("rounds=1",), credit=CreditConfig("constant"))
    trainer = Trainer(change(config, scheme={"scheme": "psro", "learners": 1}, budget={"eval_games": 4, "exact": True}))
    trainer.step()
    trainer.scheme.mixture = lambda pool: {"main": 0.75, "main@0": 0.25, "main@9": 0.0}
    trainer.policy.bank.weights("main").normal_(std=0.3)  # the player no longer is what it was
    *_, row = trainer.evaluate()
    tree = information_tree(trainer.game)
    tables = [policy_table(tree, LLMAgent(trainer.policy, name)) for name in ("main", "main@0")]
    worth = [nash_conv(trainer.game, table).value for table in tables]
    assert row["policy"] == "mixture"
    assert row["exploitability"] == pytest.approx(nash_conv(trainer.game, 0.75 * tables[0] + 0.25 * tables[1]).value)
    assert row["exploitability"] != pytest.approx(worth[0])
    assert in_words(row).startswith("the mixture: exploitability ")


def test_a_goal_is_reached_when_all_learners_reach_it(two):
    goal = Trainer(change(two, budget={"goal": "random.win>=0.5"})).exam.goal
    well, badly = {"opponent": "random", "win": 0.9}, {"opponent": "random", "win": 0.4}
    assert goal.reached([{"player": "main"} | well, {"player": "main-2"} | well])
    assert not goal.reached([{"player": "main"} | well, {"player": "main-2"} | badly])


CODE = (
    "import sys; from pathlib import Path; from coterie.training.runs.config import load_config;"
    "from coterie.training.loop import train; train(load_config(Path(sys.argv[1])), sys.argv[2])"
)


@pytest.mark.parametrize(
    ("learners", "scheme", "games"),
    [(2, "fictitious", 8), (1, "league", 8), pytest.param(16, "self_play", 16, marks=pytest.mark.slow)],
)
def test_a_run_of_many_that_is_killed_and_resumed_is_bit_equal(two, tmp_path, learners, scheme, games):
    config = change(
        two,
        scheme={"scheme": scheme, "learners": learners},
        rollout={"games": games},
        budget={"updates": 200, "checkpoint_every": 1},
    )
    save_config(config, tmp_path / "config.yaml")
    process = subprocess.Popen([sys.executable, "-c", CODE, str(tmp_path / "config.yaml"), str(tmp_path / "killed")])
    deadline = time.monotonic() + 300
    saved = tmp_path / "killed" / "checkpoints"
    while not any(p.name.isdigit() and int(p.name) >= 3 for p in saved.glob("*")):
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    last = max(int(p.name) for p in saved.glob("*") if p.name.isdigit())
    short = change(load_config(tmp_path / "config.yaml"), budget={"updates": last + 2})
    assert train(short, tmp_path / "killed", resume=True).updates == last + 2
    train(short, tmp_path / "whole")
    assert equal(state(tmp_path / "whole", last + 2), state(tmp_path / "killed", last + 2))
    assert {path.name for path in (tmp_path / "killed" / "players").iterdir()} == set(short.scheme.names)
    assert scheme != "league" or state(tmp_path / "killed", last + 2)["scheme"]["payoff"]
    assert [row["update"] for row in rows(tmp_path / "killed")] == list(range(last + 2))
