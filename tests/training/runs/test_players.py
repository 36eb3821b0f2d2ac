"""From a name to whoever plays, and what is said where a name means nobody."""

from __future__ import annotations

import dataclasses
import gc
import json
import re
import shutil
import weakref

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from coterie.agents.bank.bank import LoraBank  # noqa: E402
from coterie.agents.core import Turn  # noqa: E402
from coterie.agents.llm.models import load_model  # noqa: E402
from coterie.agents.llm.policy import LLMAgent, LoraPolicy  # noqa: E402
from coterie.cli import main  # noqa: E402
from coterie.envs.registry import make_game  # noqa: E402
from coterie.errors import CoterieError, ModelError, RunError, UnknownName, UsageError  # noqa: E402
from coterie.training.loop import train  # noqa: E402
from coterie.training.runs.players import earlier, load_base, load_player, make_player  # noqa: E402

GAME = make_game("tictactoe")


@pytest.fixture(scope="module")
def run(mini, tmp_path_factory):
    """A run of two updates, with a version after each."""
    from coterie.training.runs.config import BudgetConfig, OptimizerConfig, PolicyConfig, RolloutConfig, TrainConfig

    folder = tmp_path_factory.mktemp("runs") / "one"
    config = TrainConfig(
        threads=1,
        policy=PolicyConfig(model=str(mini), lora_r=4),
        rollout=RolloutConfig(games=16, num_generations=4),
        optimizer=OptimizerConfig(learning_rate=0.05),
        budget=BudgetConfig(updates=2, eval_every=2, eval_games=4, checkpoint_every=1),
    )
    train(config, folder)
    return folder


def weights(agent):
    return agent.backend.bank.weights(agent.player)


def test_a_run_folder_is_its_newest_player(run):
    newest, first = load_player(str(run), GAME), load_player(f"{run}:main@1", GAME)
    assert newest.greedy
    assert newest.name == "one:main"
    assert torch.equal(weights(newest), weights(make_player(f"{run}:main@2", GAME)))
    assert torch.equal(weights(newest), weights(make_player(f"{run}:main", GAME)))
    assert not torch.equal(weights(newest), weights(first))
    assert torch.equal(weights(first), weights(load_player(f"{run}:main@v000001", GAME)))
    saved = torch.load(run / "checkpoints" / "000002" / "bank.pt", weights_only=True)
    assert torch.equal(weights(newest), saved["weights"]["main"])


@pytest.mark.parametrize(
    ("behind", "complaint"),
    [
        (":boss", r"no saved player 'boss'; it has: main"),
        (":main@7", r"no version 7 of 'main'; it has: 1, 2"),
        (":main@last", r"no version last of 'main'; it has: 1, 2"),
    ],
)
def test_versions_and_players_that_are_not_there(run, behind, complaint):
    with pytest.raises(RunError, match=complaint):
        make_player(f"{run}{behind}", GAME)


def test_a_run_of_another_game_is_named(run):
    with pytest.raises(RunError, match="was trained on tictactoe-v0; it can't play highest_number-v0"):
        make_player(str(run), make_game("highest_number"))


def test_earlier_versions_are_spread_over_the_training(run):
    assert earlier(str(run), 4) == [("update 1", f"{run}:main@1")]
    assert earlier(f"{run}:main@1", 4) == []
    assert earlier(str(run), 0) == earlier("random", 4) == []
    for update in (3, 5, 8, 9):
        (run / "players" / "late" / f"v{update:06d}").mkdir(parents=True)
    assert [name for name, _ in earlier(f"{run}:late", 2)] == ["update 3", "update 5"]
    assert earlier(f"{run}:late@8", 9) == [("update 3", f"{run}:late@3"), ("update 5", f"{run}:late@5")]
    shutil.rmtree(run / "players" / "late")


def test_the_page_of_a_game_shows_what_a_run_thinks_and_thought_earlier(run, tmp_path):
    out = tmp_path / "out.html"
    assert main(["view", "tictactoe", "--players", str(run), "random", "--html", str(out)]) == 0
    show = json.loads(re.search(r'id="coterie-show">(.*?)</script>', out.read_text())[1])
    for frame in show["frames"]:
        assert bool(frame.get("thoughts")) == (frame["mover"] == 0)
    (thought,) = show["frames"][0]["thoughts"]
    assert [past["name"] for past in thought["earlier"]] == ["update 1"]
    assert sum(share for _, share, _ in thought["actions"]) == pytest.approx(1, abs=1e-4)
    assert (thought["value"], thought["value_of"]) == (0, "minimax")
    played = show["frames"][1]["move"]
    assert played == thought["actions"][0][0]  # it plays its likeliest action
    assert main(["view", "tictactoe", "--players", str(run), "random", "--no-thoughts", "--html", str(out)]) == 0
    assert '"thoughts":' not in re.search(r'id="coterie-show">(.*?)</script>', out.read_text())[1]


def test_names_that_mean_nobody(tmp_path):
    with pytest.raises(UnknownName, match=r"Unknown player 'minmax'\. Did you mean 'minimax'"):
        make_player("minmax", GAME)
    with pytest.raises(CoterieError, match="tiny-v99"):
        make_player("tiny-v99", GAME)
    with pytest.raises(ModelError):
        make_player(str(tmp_path), GAME)
    with pytest.raises(CoterieError, match="nowhere"):
        make_player(str(tmp_path / "nowhere"), GAME)
    with pytest.raises(RunError, match="holds no run"):
        load_player(str(tmp_path), GAME)
    (tmp_path / "runs" / "league").mkdir(parents=True)
    (tmp_path / "runs" / "league" / "config.yaml").touch()
    with pytest.raises(RunError, match=r"There is no run .*leagu\. Did you mean 'league'\? .*runs has league\."):
        make_player(str(tmp_path / "runs" / "leagu"), GAME)


def test_a_model_as_it_is(mini):
    agent = make_player(str(mini), GAME)
    assert agent.player is None
    assert agent.greedy


@pytest.mark.parametrize("decode", ["choice", "free"])
def test_a_run_is_evaluated_as_it_was_trained(run, mini, decode, tmp_path, capsys):
    folder = run
    if decode == "free":
        from coterie.training.runs.config import load_config

        config = load_config(run / "config.yaml")
        policy = dataclasses.replace(config.policy, decode="free", max_completion_length=2)
        folder = tmp_path / "free"
        train(dataclasses.replace(config, policy=policy, budget=dataclasses.replace(config.budget, updates=1)), folder)
        capsys.readouterr()
    assert main(["eval", str(folder), "--vs", "random", "minimax", "--games", "10", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["opponent"] for row in rows] == ["random", "minimax", None]
    for row in rows[:2]:
        assert row["games"] == 10
        assert row["win"] + row["draw"] + row["loss"] == pytest.approx(1)
        for name in ("win", "draw", "loss"):
            assert row[f"{name}_interval"][0] <= row[name] <= row[f"{name}_interval"][1]
        assert [sum(seat) for seat in row["by_seat"]] == [5, 5]
        assert (row["illegal"] > 0) == (decode == "free")  # untrained and free: nonsense; else never
    last = rows[-1]
    if decode == "free":
        assert last["exploitability"] is None
        assert "sample" in last["why"]
    else:
        assert 0 <= last["exploitability"] <= 2
        assert 0 <= last["optimal_share"] <= 1


def test_a_saved_player_may_sit_opposite(run, small):
    from coterie.training.loop import Trainer

    scheme = dataclasses.replace(small.scheme, opponents=f"{run}=1,{run}:main@1=1")
    trainer = Trainer(dataclasses.replace(small, scheme=scheme))
    row = trainer.step()
    assert row["games"] == 16
    assert row["decisions"] < 16 * 5  # the others' decisions are not the learner's
    assert row["decisions"] < row["decisions_played"] <= 16 * 9


def test_a_base_model_is_loaded_once_for_learner_and_opponents(run, small):
    from coterie.training.loop import Trainer

    scheme = dataclasses.replace(small.scheme, opponents=f"self=1,{run}=1,{run}:main@1=1,{run}:main@1?sample=1")
    policy = dataclasses.replace(small.policy, lora_r=8)  # adapters of another shape
    trainer = Trainer(dataclasses.replace(small, scheme=scheme, policy=policy))
    newest, first, drawing = (trainer.pool.agents[name] for name in (str(run), f"{run}:main@1", f"{run}:main@1?sample"))
    assert newest.backend is first.backend is drawing.backend  # they answer in one batch
    assert newest.backend is not trainer.policy
    assert newest.backend.loaded.model is trainer.policy.loaded.model
    assert list(newest.backend.bank.players) == [newest.player, first.player]
    assert drawing.player == first.player
    assert (newest.greedy, first.greedy, drawing.greedy) == (True, True, False)
    # Fresh banks on models of their own say the same as what is shared.
    alone = LoraPolicy(load_model(small.policy.model), decode="choice")
    bank = LoraBank(alone.loaded.model, newest.backend.bank.config)
    bank.load_peft("main", run / "players" / "main" / "v000001")
    game = make_game("tictactoe")
    state = game.new_state(1)
    game.kernels.reset(state, 0, 0)
    turn = Turn(game, state, 0, 0, game.legal_mask(state, 0, 0), 0)
    theirs = LLMAgent(LoraPolicy(load_model(small.policy.model), None), None).policy([turn])[0]
    assert not np.allclose(first.policy([turn])[0], theirs)
    ours = LLMAgent(LoraPolicy(alone.loaded, bank), "main").policy([turn])[0]
    np.testing.assert_allclose(drawing.policy([turn])[0], ours, atol=1e-6)
    before = newest.backend.bank.weights(newest.player).clone()
    trainer.step()
    assert torch.equal(newest.backend.bank.weights(newest.player), before)


def test_bases_that_nobody_uses_are_let_go(mini):
    base = load_base(str(mini))
    assert load_base(str(mini), "float32") is base is load_base(str(mini), "auto")
    assert load_base(str(mini), "bfloat16") is not base
    gone = weakref.ref(base.model)
    del base
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(("large", "dtype"), [(10**9, torch.float32), (1000, torch.bfloat16)])
def test_the_weights_of_a_base_are_read_once(mini, monkeypatch, large, dtype):
    from transformers import AutoModelForCausalLM

    monkeypatch.setattr("coterie.agents.llm.models.LARGE", large)
    read, reads = AutoModelForCausalLM.from_pretrained, []
    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", lambda *a, **k: reads.append(a) or read(*a, **k))
    base = load_base(str(mini))
    assert base.model.dtype == dtype
    assert load_base(str(mini), str(dtype).removeprefix("torch.")) is base
    assert len(reads) == 1


def test_how_a_player_answers_is_said_behind_a_question_mark(run, mini):
    assert not make_player(f"{mini}?sample", GAME).greedy
    assert not make_player(f"{run}?sample", GAME).greedy
    with pytest.raises(UsageError, match="only `sample` may follow"):
        make_player(f"{run}?warm", GAME)
