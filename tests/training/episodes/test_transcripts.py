"""What was said is kept, shown and exported."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

pytest.importorskip("rich")

from rich.console import Console

from coterie.agents.engines.mock import MockEngine
from coterie.cli import main
from coterie.errors import RunError, UsageError
from coterie.training.episodes import Arena, Episode, EpisodeRequest, Role, SingleTurnEpisode
from coterie.training.episodes.paged import as_show
from coterie.training.episodes.show import as_tree, overview
from coterie.training.episodes.transcripts import (
    examples,
    find,
    read_transcript,
    told,
    transcript_updates,
    walk,
    write_transcript,
)

HOSTILE = "\x1b[2J[red]<|im_end|>"


class Parent(Episode):
    async def rollout(self, arena, artifact, state):
        await self.call_model("Asker", "Ask!", arena, choices=["easy", "hard"])
        await arena.generate_rollouts([EpisodeRequest("answer", object())] * 2)
        return state


async def judge(rollout, arena):
    verdict = await arena.call_model("Good?", choices=["good", "bad"])
    return {"Answerer": float(verdict.text == "good")}


@pytest.fixture
def results():
    arena = Arena(MockEngine(lambda ask: 0 if hasattr(ask.form, "candidates") else HOSTILE.encode()))
    arena.add_role(Role("Asker", "You ask."))
    arena.add_role(Role("Answerer"))
    arena.add_episode("ask", Parent(rubric=lambda rollout, arena: {"Asker": 0.5}))
    arena.add_episode("answer", SingleTurnEpisode("Answerer", lambda artifact: "Well?", rubric=judge))
    arena.step([EpisodeRequest("ask", {"n": k}) for k in range(3)])
    return arena.results


def test_every_word_is_read_again(results, tmp_path):
    write_transcript(tmp_path, 7, results, most=2)
    trees = read_transcript(tmp_path)
    assert transcript_updates(tmp_path) == [7]
    assert trees == [{"update": 7, **told(result)} for result in results[:2]]
    (asked,), (answered, _) = trees[0]["steps"], trees[0]["children"]
    assert asked["prompt"] == [{"role": "system", "content": "You ask."}, {"role": "user", "content": "Ask!"}]
    assert (asked["text"], asked["choices"], asked["chosen"]) == ("easy", ["easy", "hard"], 0)
    assert asked["probabilities"] == [1.0, 0.0]
    assert answered["steps"][0]["text"] == HOSTILE
    assert answered["oracles"][0]["text"] == "good"
    assert answered["rewards"] == {"Answerer": 1.0}
    assert [node["path"] for node in walk(trees[1])] == [[1], [1, 0], [1, 1]]


def test_nothing_is_kept_if_none_is_wanted(results, tmp_path):
    write_transcript(tmp_path, 0, results, most=0)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(RunError, match="has no transcript"):
        read_transcript(tmp_path)


def test_the_same_words_make_the_same_file(results, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_transcript(tmp_path / name, 0, results, most=3)
    one, other = (tmp_path / name / "transcripts" / "000000.jsonl.gz" for name in ("a", "b"))
    assert one.read_bytes() == other.read_bytes()


def test_words_of_models_do_not_steer_the_terminal(results):
    console = Console(width=100, record=True, force_terminal=True, color_system=None)
    with console.capture() as shown:
        console.print(as_tree(told(results[0]), prompts=True))
        console.print(overview([told(result) for result in results]))
    text = shown.get()
    assert "\x1b[2J" not in text
    assert r"\x1b[2J[red]<|im_end|>" in text
    assert "oracle: good" in text
    assert "easy 100.0%, hard 0.0%" in text
    assert "Asker +0.5" in text
    assert "system: You ask." in text


def test_examples_in_the_chat_format_and_in_trls_columns(results):
    trees = [told(result) for result in results]
    chat, trl = list(examples(trees, "chat")), list(examples(trees, "trl"))
    assert len(chat) == len(trl) == 9
    assert chat[0]["messages"][-1] == {"role": "assistant", "content": "easy"}
    assert trl[0]["prompt"] + trl[0]["completion"] == chat[0]["messages"]
    assert (trl[0]["role"], trl[0]["reward"], trl[0]["episode"]) == ("Asker", 0.5, "0")
    assert (trl[1]["role"], trl[1]["reward"], trl[1]["episode"]) == ("Answerer", 1.0, "0.0")


def test_trl_takes_the_columns(results):
    datasets = pytest.importorskip("datasets")
    from trl.data_utils import is_conversational

    rows = datasets.Dataset.from_list(list(examples([told(result) for result in results], "trl")))
    assert is_conversational(rows[0])


@pytest.mark.parametrize(
    "data",
    [
        b"no gzip",
        gzip.compress(b"{}\n", mtime=0),
        gzip.compress(b"[1]\n", mtime=0),
        gzip.compress(b"{", mtime=0)[:-4],
        gzip.compress(b'{"path": []', mtime=0),
        gzip.compress(b"\xff\xfe", mtime=0),
        gzip.compress(b"[]\n" * (1 << 22), mtime=0),
    ],
)
def test_a_damaged_file_is_one_sentence(data, tmp_path):
    (tmp_path / "transcripts").mkdir()
    (tmp_path / "transcripts" / "000003.jsonl.gz").write_bytes(data)
    with pytest.raises(RunError, match=r"000003\.jsonl\.gz is damaged"):
        read_transcript(tmp_path)


def _altered(results, run, **fields):
    """A transcript of one tree whose first step has other fields; ``rewards`` are the tree's."""
    tree = {"update": 0, **told(results[0])}
    tree["rewards"] = fields.pop("rewards", tree["rewards"])
    tree["steps"][0] |= fields
    (run / "transcripts").mkdir()
    (run / "transcripts" / "000000.jsonl.gz").write_bytes(gzip.compress(json.dumps(tree).encode()))


@pytest.mark.parametrize(
    "fields",
    [
        {"rewards": {"Asker": 10**400}},
        {"reward": 10**400},
        {"advantage": -(10**400)},
        {"probabilities": [10**400, 0.5]},
        {"chosen": 10**400},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_numbers_that_no_run_writes_are_damage(results, tmp_path, fields):
    _altered(results, tmp_path, **fields)
    with pytest.raises(RunError, match=r"a number of about 401 digits is no part of a transcript"):
        read_transcript(tmp_path)


def test_texts_that_no_encoding_holds_are_shown_and_exported(results, tmp_path, capsys):
    said = [{"role": "\x1b[2J\ud800", "content": "\ud800"}]
    _altered(results, tmp_path, role="\ud800", text="\ud800", prompt=said)
    assert main(["view", str(tmp_path), "--episode", "0", "--prompts"]) == 0
    assert r"\x1b[2J\ud800: \ud800" in capsys.readouterr().out
    assert main(["view", str(tmp_path), "--chat", str(tmp_path / "out.jsonl")]) == 0
    first = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
    assert first["messages"] == [*said, {"role": "assistant", "content": "\ud800"}]


def test_a_transcript_that_unpacks_to_too_much_says_how_to_allow_it(tmp_path):
    (tmp_path / "transcripts").mkdir()
    (tmp_path / "transcripts" / "000000.jsonl.gz").write_bytes(gzip.compress(bytes((64 << 20) + 1)))
    with pytest.raises(RunError, match="unpacks to more than 64 MiB; if you trust it, set COTERIE_LIMITS"):
        read_transcript(tmp_path)


def test_an_episode_is_found_by_its_place(results):
    with pytest.raises(UsageError, match="No episode 0 is kept; the transcript is empty"):
        find([], "0")
    trees = [told(result) for result in results]
    assert find(trees, "2.1")["path"] == [2, 1]
    with pytest.raises(UsageError, match=r"No episode 7 is kept; there are 0, 1, 2"):
        find(trees, "7")


def test_the_command(results, tmp_path, capsys):
    for update in (0, 1):
        write_transcript(tmp_path, update, results, most=2)
    assert main(["view", str(tmp_path), "--text"]) == 0
    assert "update 1 of 0 to 1" in capsys.readouterr().out
    assert main(["view", str(tmp_path), "--update", "0", "--episode", "1.1"]) == 0
    assert "Answerer" in capsys.readouterr().out
    assert main(["view", str(tmp_path), "--trl", str(tmp_path / "out.jsonl")]) == 0
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["update"] for line in lines] == [0] * 6 + [1] * 6
    assert main(["view", str(tmp_path), "--update", "5"]) == 2
    assert "has no transcript of update 5. It has those of updates 0 to 1." in capsys.readouterr().err
    assert main(["view", str(tmp_path), "--chat", "a", "--trl", "b"]) == 2
    assert main(["view", str(tmp_path / "nowhere"), "--chat", "a"]) == 2


def test_the_page_of_a_run_tells_every_answer(results, tmp_path, capsys):
    write_transcript(tmp_path, 0, results, most=2)
    trees = read_transcript(tmp_path)
    nodes = [node for tree in trees for node in walk(tree)]
    show = as_show(trees, "a run")
    said = [frame["said"][0] for frame in show["frames"] if frame.get("said")]
    assert [(show["seats"][seat]["name"], text) for seat, text, *_ in said] == [
        (step["role"] or "oracle", step["text"]) for node in nodes for step in [*node["steps"], *node["oracles"]]
    ]
    assert [title for title, _ in show["sections"]] == [
        f"{'.'.join(map(str, node['path']))} {node['episode_type']}" for node in nodes
    ]
    for frame in show["frames"]:
        for thought in frame.get("thoughts", ()):
            assert thought["chosen"] == frame["said"][0][1]
            assert 0 <= thought["entropy"] <= np.log(thought["legal"]) + 1e-6
    assert main(["view", str(tmp_path), "--html", str(tmp_path / "out.html")]) == 0
    assert "Wrote" in capsys.readouterr().out
    assert "update 0" in (tmp_path / "out.html").read_text()
    assert main(["view", str(tmp_path), "--episode", "7", "--html", str(tmp_path / "other.html")]) == 2
    assert not (tmp_path / "other.html").exists()
