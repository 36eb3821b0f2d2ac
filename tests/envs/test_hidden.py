"""Nobody sees what is hidden: every deal and every course of betting, through every face.

Two positions that differ only in what a player cannot see must look alike to it, byte for byte. What it can see is told
here a second time, from the rules of the game and not from its code.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from coterie.envs import make_game
from coterie.envs.faces.aec import AECGame
from coterie.envs.faces.gym_vector import SoloVector
from coterie.envs.faces.parallel import ParallelGame
from coterie.envs.faces.vec import VecEnv
from coterie.envs.state import take
from coterie.errors import ActionError

GAMES = [("kuhn_poker", {}), ("kuhn_poker", {"players": 3}), ("leduc_poker", {})]
NONSENSE = ("", "42", "raise and fold", "check", "bet", "raise", "call", "fold", "show me the cards")


def courses(game, deal):
    """All courses of a game after a deal: (actions, rows, over)."""
    start = game.new_state(1)
    game.kernels.reset(start, 0, np.uint64(3))
    game.options["deal"](start, 0, deal)
    queue = [((), start, False)]
    while queue:
        actions, rows, over = queue.pop()
        yield actions, rows, over
        for action in [] if over else game.legal_actions(rows, 0, game.mover(rows, 0)):
            after, rewards = take(rows), np.zeros(game.info.players, np.float32)
            status = game.kernels.step(after, 0, np.full(game.info.players, action, np.int32), rewards)
            queue.append(((*actions, action), after, status != 0))


def visible(game, deal, actions, player):
    """What a player may know: its card, all that was played, and the public card once the first round is over."""
    public = ""
    if game.info.name == "leduc_poker":
        call, check = 0, 3
        first_round = actions[:4]
        closed = any(
            a == call or (a == check and first_round[:k].count(check) == 1 and k == 1)
            for k, a in enumerate(first_round)
        )
        public = deal[2] if closed else ""
    return deal[player], public, actions


def shown_down(game, actions):
    """Whether several players were left at the end of a finished game."""
    if game.info.name == "leduc_poker":
        return actions[-1] != 2
    bets = sum(actions)
    return bets != 1


def groups(game):
    """[(player, [(deal, actions, rows, over), ...])] of positions that must look alike to that player."""
    found = defaultdict(list)
    for deal, _ in game.deals():
        for actions, rows, over in courses(game, deal):
            for player in range(game.info.players):
                found[player, visible(game, deal, actions, player)].append((deal, actions, rows, over))
    return [(player, members) for (player, _), members in found.items()]


def frozen(value):
    """Any nested result as something that compares byte by byte."""
    if isinstance(value, dict):
        return tuple((k, frozen(v)) for k, v in value.items())
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return value


def alike(players_and_members, look):
    """Every group looks the same to its player."""
    compared = 0
    for player, members in players_and_members:
        seen = {frozen(look(player, *member)) for member in members}
        assert len(seen) == 1, f"player_{player} can tell {[m[0] for m in members]} apart after {members[0][1]}: {seen}"
        compared += len(members) > 1
    return compared


@pytest.fixture(params=GAMES, ids=lambda given: f"{given[0]}{given[1].get('players', '')}", scope="module")
def game(request):
    name, config = request.param
    return make_game(name, **config)


@pytest.fixture(scope="module")
def positions(game):
    """Groups of all positions but those where cards were shown."""
    return [(p, members) for p, members in groups(game) if not (members[0][3] and shown_down(game, members[0][1]))]


def _observation(game, rows, player):
    out = np.zeros(game.info.observation_shape, game.info.observation_dtype)
    game.kernels.observe(rows, 0, player, out)
    return out


def _refusals(game, rows):
    for text in NONSENSE:
        try:
            yield game.parse_action(rows, 0, text)
        except ActionError as error:
            yield str(error)


def test_observation_mask_and_texts(game, positions):
    def look(player, deal, actions, rows, over):
        observation, mask = _observation(game, rows, player), game.legal_mask(rows, 0, player)
        texts = game.describe(rows, 0, player), game.compact(rows, 0, player), tuple(_refusals(game, rows))
        return {"observation": observation, "mask": mask, "texts": texts}

    assert alike(positions, look) > 10


def test_a_leak_is_found(game, positions):
    def leaky(player, deal, actions, rows, over):
        return game.compact(rows, 0, player) + str(rows[0]["cards"][player - 1])

    with pytest.raises(AssertionError, match="apart"):
        alike(positions, leaky)


def test_cards_that_are_shown_stay_out_of_observations(game):
    """At a showdown the text tells what was laid open; observations and the compact line never do."""

    def look(player, deal, actions, rows, over):
        return {"observation": _observation(game, rows, player), "compact": game.compact(rows, 0, player)}

    assert alike(groups(game), look)


def test_what_is_visible_is_told(game):
    """The other way round: what a player may know makes a difference to its observation and to each of its texts."""
    for look in (
        lambda rows, player: _observation(game, rows, player).tobytes(),
        lambda rows, player: game.compact(rows, 0, player),
        lambda rows, player: game.describe(rows, 0, player),
    ):
        told = [(player, look(members[0][2], player)) for player, members in groups(game) if not members[0][3]]
        assert len(set(told)) == len(told)


@pytest.mark.parametrize("text", [False, True])
def test_aec(game, positions, text):
    env = AECGame(game, text=text, render_mode="ansi")

    def look(player, deal, actions, rows, over):
        env.reset(seed=5, options={"deal": deal})
        for action in actions:
            env.step(game.action_to_text(env.table.state, 0, action) if text else action)
        agent = env.possible_agents[player]
        told = {
            "seen": env.observe(agent),
            "info": env.infos[agent],
            "rewards": env.rewards,
            "who": env.agent_selection,
        }
        told |= {"over": env.terminations, "cut": env.truncations, "pending": env._cumulative_rewards}
        if env.agent_selection == agent:
            told |= {"last": env.last()[0], "told": env.last()[4], "screen": env.render()}
        return told

    alike(positions, look)


@pytest.mark.parametrize("text", [False, True])
def test_parallel(game, positions, text):
    env = ParallelGame(game, text=text)

    def look(player, deal, actions, rows, over):
        observations, infos = env.reset(seed=5, options={"deal": deal})
        rewards, ended = {}, {}
        for action in actions:
            word = game.action_to_text(env.table.state, 0, action) if text else action
            observations, rewards, ended, _, infos = env.step(dict.fromkeys(env.agents, word))
        agent = env.possible_agents[player]
        return {"seen": observations[agent], "info": infos[agent], "rewards": rewards, "over": ended}

    alike(positions, look)


def test_batched(game, positions):
    """Observations and masks are the mover's; nobody else's card is in them."""
    members = [(player, member) for player, group in positions for member in group if not member[3]]
    vec = VecEnv(game, len(members), autoreset_mode="Disabled")
    rows = take(game.new_state(1), [0] * len(members))
    for k, (_, member) in enumerate(members):
        rows[k] = member[2][0]
    vec.reset(seed=0)
    vec.set_state(rows)
    seen = defaultdict(set)
    for k, (player, (deal, actions, _, _)) in enumerate(members):
        if vec.player[k] == player:
            what = (vec.observation[k].tobytes(), vec.action_mask[k].tobytes())
            seen[player, visible(game, deal, actions, player)].add(what)
    assert len(seen) > 10
    assert all(len(what) == 1 for what in seen.values())


def test_last_observations_of_a_batch(game):
    ends = [(deal, actions) for deal, _ in game.deals() for actions, _, over in courses(game, deal) if over]
    seen = defaultdict(set)
    for length in {len(actions) for _, actions in ends}:
        some = [end for end in ends if len(end[1]) == length]
        vec = VecEnv(game, len(some))
        vec.reset(seed=0, options={"deal": [deal for deal, _ in some]})
        for turn in range(length):
            _, _, terminated, _, info = vec.step([actions[turn] for _, actions in some])
        assert terminated.all()
        for k, (deal, actions) in enumerate(some):
            last = np.zeros(1, vec.state.dtype)
            last[0] = next(rows for played, rows, _ in courses(game, deal) if played == actions)[0]
            player = game.mover(last, 0)
            final = info["final_obs"]["observation"][k].tobytes() + info["final_obs"]["action_mask"][k].tobytes()
            seen[player, visible(game, deal, actions, player)].add(final)
    assert seen
    assert all(len(what) == 1 for what in seen.values())


def test_error_messages(game, positions):
    """An illegal answer is answered without a word about hidden cards, through every face that speaks."""
    quiet = game.info.name == "kuhn_poker"  # both its actions are always legal; only the numbers outside are not
    env, table = AECGame(game, illegal="raise"), AECGame(game, illegal="raise", text=True)
    vec = VecEnv(game, 1, illegal="raise", autoreset_mode="Disabled")

    def complaints(call, answers):
        for answer in answers:
            try:
                call(answer)
            except ActionError as error:
                yield str(error)

    def look(player, deal, actions, rows, over):
        if over or game.mover(rows, 0) != player:
            return ()
        illegal = [a for a in range(game.info.num_actions) if a not in game.legal_actions(rows, 0, player)]
        for face in (env, table):
            face.reset(seed=1)
            face.set_state(rows)
        vec.reset(seed=1)
        vec.set_state(rows)
        said = (
            *complaints(env.step, [*illegal, 99]),
            *complaints(lambda a: vec.step(np.array([a])), [*illegal, -1, 99]),
            *complaints(table.step, ["show me the cards"]),
        )
        assert len(said) >= (4 if quiet else 6)
        return said

    alike(positions, look)


def test_the_words_of_an_illegal_end(game):
    """A game that an illegal answer ended shows nothing either: the rules' rows go on where they were."""
    env = AECGame(game, text=True)
    for deal, _ in game.deals():
        env.reset(seed=1, options={"deal": deal})
        env.step("show me the cards")
        assert env.rewards["player_0"] == -1
        assert "Shown" not in env.observe("player_0")


@pytest.mark.slow
def test_gymnasium_learners_see_with_their_own_eyes(game):
    """Observations name the seat they are of: the learner's, in the last one of a game too."""
    view = SoloVector(VecEnv(game, 64, autoreset_mode="Disabled"))
    at = 36 if game.info.name == "leduc_poker" else 0
    rng = np.random.default_rng(0)
    seen, _ = view.reset(seed=0)
    finals = 0
    for _ in range(100):
        legal = seen["action_mask"] * rng.random(seen["action_mask"].shape)
        seen, _, _, _, info = view.step(legal.argmax(1).astype(np.int32))
        told = [seen["observation"]]
        ended = np.flatnonzero(info.get("_final_obs", ()))
        finals += len(ended)
        told += [last["observation"][None] for last in info["final_obs"][ended]] if len(ended) else []
        for observations, seats in zip(told, [view.seat, *view.seat[ended, None]], strict=True):
            assert (observations[:, at : at + game.info.players].argmax(1) == seats).all()
    assert finals > 100
