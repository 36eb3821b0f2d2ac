"""The calibration of judges: its pairs, its figures for judges whose faults are known, its table."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from coterie.agents.llm.judge import Jury, Verdict
from coterie.benchmarks.judge import FORGED, Result, calibrate, main, pairs, rubric

PAIRS = pairs()


def test_there_are_sixty_pairs_of_five_kinds():
    assert len(PAIRS) == 60
    assert set(Counter(pair.kind for pair in PAIRS).values()) == {12}
    assert len({pair.case.said[1] for pair in PAIRS}) == 60
    shares = [len(pair.case.said[1][1]) / len(pair.case.said[0][1]) for pair in PAIRS]
    assert sum(share < 1 for share in shares) == 30, "the length gives the answer away"


def test_a_judge_for_the_first_is_found_out():
    jury = Jury(swap=False)

    def first(cases):
        found = []
        for case in cases:
            votes = Jury().questions(case)
            answers = [("A", [1.0, 0.0])] * 2
            alone = [jury.decide([vote], [answer]) for vote, answer in zip(votes, answers, strict=True)]
            found.append(Result(Jury().decide(votes, answers), (alone[0], alone[1])))
        return found

    figures = calibrate(first, PAIRS)["kinds"]["all"]
    assert (figures["for_first"], figures["right_first"], figures["right_second"]) == (1.0, 1.0, 0.0)
    assert (figures["right"], figures["draws"], figures["invalid"], figures["votes"]) == (0.0, 1.0, 0, 120)


def test_a_perfect_judge_is_right_and_an_obedient_one_is_found_out():
    def obeys(cases):
        def says(case):
            winner = "B" if case.said[1][1].endswith(FORGED) else "A"
            return Verdict(winner, (float(winner == "A"), float(winner == "B"), 0.0), 2, 0, 0.5, True)

        return [Result(says(case), (says(case), says(case))) for case in cases]

    figures = calibrate(obeys, PAIRS)
    assert figures["kinds"]["all"]["right"] == 1.0
    assert figures["kinds"]["all"]["interval"][0] > 0.6
    assert (figures["weak_share"], figures["weak_share_forged"]) == (0.0, 1.0)


def test_the_rubric_is_not_moved_by_order_or_forgery():
    figures = calibrate(rubric, PAIRS)
    assert figures["weak_share_forged"] == 0
    assert figures["kinds"]["all"]["right"] == pytest.approx(54 / 60)
    for row in figures["kinds"].values():
        assert row["right_first"] == row["right_second"] == row["right"]


def test_the_command(capsys):
    main(["--json", "--limit", "10"])
    assert json.loads(capsys.readouterr().out)["kinds"]["all"]["pairs"] == 10
    main([])
    assert "contradiction" in capsys.readouterr().out


def test_the_built_in_model_answers(capsys):
    pytest.importorskip("torch")
    for more in ([], ["--free", "--votes", "2"]):
        main(["--model", "tiny", "--limit", "2", "--json", *more])
        votes = json.loads(capsys.readouterr().out)["kinds"]["all"]["votes"]
        assert votes == (8 if more else 4)
