"""Wrong calls: what was given, and what is allowed, stand in the message; nothing is changed by a refused call."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from rummy_env import international_v0
from rummy_env.arena import play_match
from rummy_env.game import Game
from rummy_env.gym_env import RummyEnv
from rummy_env.moves import move_table
from rummy_env.players.base import make_player
from rummy_env.players.learned import DESCRIPTION, WEIGHTS, load_agent, save_agent
from rummy_env.rules import Rules, load_rules, preset, resolve_rules

RULES = preset("international")
TABLE = move_table(RULES)

# Seat 0 has drawn and taken the 7d; it has not laid down.
POSITION: dict[str, Any] = {
    "rules": "international", "round": 1, "to_act": 0, "phase": "play", "taken": "7d",
    "hands": ["7c 7d 7h 9s 9h Kd", "3c 4c"], "stock": "5h 9c", "discards": "8d Qs",
}  # fmt: skip


def position(**changes: Any) -> dict[str, Any]:
    """The position with some fields changed; None leaves one out."""
    return {name: value for name, value in {**POSITION, **changes}.items() if value is not None}


# Moves. Each call gets a game, an AEC and a Gymnasium environment, all at the position.

MOVES: list[tuple[str, Callable[[Any], Any], str | int | float | None, tuple[str, ...]]] = [
    ("the card just taken", Game.play, "discard 7d", ("discard 7d", "taken from the pile this turn")),
    ("a card not held", Game.play, "discard 5c", ("discard 5c", "5c is not in the hand of seat 0")),
    ("a draw after the draw", Game.play, "stock", ("stock", "seat 0 has drawn")),
    ("an answer without a window", Game.play, "buy", ("buy", "no buy window is open")),
    ("a lay-off before laying down", Game.play, "off 9s G", ("off 9s G", "has not laid down")),
    ("half a contract", Game.play, "lay G7 7c7d7h", ("lay G7 7c7d7h", "the rest of the contract")),
    ("no move at all", Game.play, "discard 7x", ("discard 7x", "moves are written like")),
    ("an id beyond the table", Game.play, 1141, ("1141", "ids are 0 to 1140")),
    ("an id below it", Game.play, -1, ("-1", "ids are 0 to 1140")),
    ("a number with a fraction", Game.play, 1.5, ("1.5", "give an id, a text or a Move")),
]


@pytest.mark.parametrize(("call", "move", "words"), [row[1:] for row in MOVES], ids=[row[0] for row in MOVES])
def test_moves(call: Callable[..., Any], move: Any, words: tuple[str, ...]) -> None:
    game = Game.from_position(POSITION)
    before = game._states.tobytes()
    refused(lambda: call(game, move), words)
    assert game._states.tobytes() == before


ACTIONS: list[tuple[str, Any, tuple[str, ...]]] = [
    ("the card just taken", TABLE.id("discard 7d"), ("discard 7d", "taken from the pile this turn")),
    ("a draw after the draw", np.int64(0), ("stock", "seat 0 has drawn")),
    ("beyond the space", 1141, ("1141", "from 0 to 1140")),
    ("far beyond the space", 2**80, (str(2**80), "from 0 to 1140")),
    ("below the space", -1, ("-1", "from 0 to 1140")),
    ("a fraction", 0.0, ("0.0", "whole number")),
    ("a truth", True, ("True", "whole number")),
    ("a text", "stock", ("'stock'", "whole number")),
    ("nothing", None, ("None", "whole number")),
    ("a list", [0], ("[0]", "whole number")),
    ("an array of two", np.array([0, 1]), ("array([0, 1])", "whole number")),
]


@pytest.mark.parametrize(("action", "words"), [row[1:] for row in ACTIONS], ids=[row[0] for row in ACTIONS])
def test_actions(action: Any, words: tuple[str, ...]) -> None:
    aec = international_v0.raw_env(players=2)
    gym = RummyEnv(players=2, illegal_action="raise", seat=0)
    for env in (aec, gym):
        env.reset(seed=0, options={"position": position(overrides={})})
        before = memory(env)
        refused(lambda env=env: env.step(action), words)  # type: ignore[misc]
        assert memory(env) == before


def memory(env: Any) -> bytes:
    """Everything that an environment remembers."""
    return pickle.dumps(env)


def refused(call: Callable[[], Any], words: tuple[str, ...], error: type[Exception] = ValueError) -> None:
    """The call raises the error, with all the words in its message."""
    with pytest.raises(error) as raised:
        call()
    assert type(raised.value) is error
    for word in words:
        assert word in str(raised.value), str(raised.value)


# Options of reset

OPTIONS: list[tuple[Any, tuple[str, ...]]] = [
    ({"rounds": 3}, ("'rounds'", "allowed are round, dealer, scores, position")),
    ({3: 3}, ("unknown option 3", "allowed are")),
    ([("round", 3)], ("[('round', 3)]", "a dict")),
    ({"round": 8}, ("round", "[1, 2, 3, 4, 5, 6, 7]", "8")),
    ({"round": "3"}, ("round", "'3'")),
    ({"round": True}, ("round", "True")),
    ({"dealer": 2}, ("dealer", "0 to 1", "2")),
    ({"dealer": -1}, ("dealer", "0 to 1", "-1")),
    ({"dealer": 0.0}, ("dealer", "0.0")),
    ({"scores": [1]}, ("scores", "2 numbers", "[1]")),
    ({"scores": [1, "2"]}, ("scores", "whole numbers", "'2'")),
    ({"scores": [1, 10**7]}, ("scores", "1000000", "10000000")),
    ({"scores": 3}, ("scores", "list", "3")),
    ({"position": 3}, ("position", "JSON object", "int")),
    ({"position": position(), "round": 1}, ("position already says the round",)),
    ({"position": position(overrides={"max_buys": 0})}, ("max_buys is 0, not None",)),
    ({"position": position(hands=["3c", "4c", "5c"], taken=None)}, ("3 players", "has 2")),
    ({"position": position(hands=["3c 3c 3c", "4c"], taken=None)}, ("hands[0]", "3c", "which has 2")),
]
SEEDS = [-1, 0.5, "7", True]


@pytest.mark.parametrize(("options", "words"), OPTIONS, ids=[str(row[1]) for row in OPTIONS])
@pytest.mark.parametrize("face", ["aec", "gymnasium"])
def test_options_of_reset(face: str, options: Any, words: tuple[str, ...]) -> None:
    env: Any = international_v0.env(players=2) if face == "aec" else RummyEnv(players=2)
    env.reset(seed=5)
    before = memory(env.unwrapped)
    refused(lambda: env.reset(seed=6, options=options), words)
    assert memory(env.unwrapped) == before


@pytest.mark.parametrize("seed", SEEDS)
def test_seeds(seed: Any) -> None:
    for env in (international_v0.raw_env(players=2), RummyEnv(players=2)):
        env.reset(seed=5)
        before = memory(env)
        refused(lambda env=env: env.reset(seed=seed), ("seed", repr(seed)))  # type: ignore[misc]
        assert memory(env) == before


def test_calls_before_reset() -> None:
    env = international_v0.raw_env()
    for call in (lambda: env.step(0), lambda: env.observe("player_0"), env.state):
        refused(call, ("call reset first",))
    gym = RummyEnv()
    for call in (lambda: gym.step(0), gym.action_masks, lambda: gym.seat):
        refused(call, ("call reset first",))
    env.reset()
    refused(lambda: env.observe("player_9"), ("'player_9'", "player_0, player_1, player_2, player_3"))
    refused(lambda: gym.reset(options={"seat": 4}), ("seat", "0 to 3", "4"))
    refused(lambda: gym.reset(options={"seat": "left"}), ("'random'", "0 to 3", "'left'"))


# Arguments of the environments

BOTH: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"players": 7}, ("players", "2 to 6", "7")),
    ({"players": 1}, ("players", "2 to 6", "1")),
    ({"players": 3.0}, ("players", "3.0")),
    ({"rules": "canasta"}, ("rules", "international", "'canasta'")),
    ({"overrides": {"max_buy": 3}}, ("unknown rule field 'max_buy'", "did you mean max_buys")),
    ({"overrides": {"max_buys": -1}}, ("max_buys", ">= 0", "-1")),
    ({"overrides": {"deal": "flat_eleven", "decks": 1}}, ("deal of 11 cards", "the pack has 52")),
    ({"rounds": [0]}, ("rounds", "0")),
    ({"rounds": [8]}, ("rounds names 8", "7 rounds")),
    ({"rounds": []}, ("rounds", "[]")),
    ({"rounds": "some"}, ("rounds", "'random'", "'some'")),
    ({"rounds": 3}, ("rounds", "a list of rounds", "3")),
    ({"reward": "score"}, ("reward", "points, rank, win", "'score'")),
    ({"render_mode": "rgb_array"}, ("render_mode", "'ansi'", "'rgb_array'")),
    ({"max_moves": 0}, ("max_moves", "from 1 up", "0")),
    ({"features": "all"}, ("features", "analysis", "'all'")),
]
AEC_ONLY: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"max_moves": 3, "max_cycles": 4}, ("max_moves and max_cycles", "3 and 4")),
    ({"max_cycles": "4"}, ("max_cycles", "'4'")),
]
GYM_ONLY: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"opponents": "expert"}, ("no such player: 'expert'", "random, dumper, greedy, learned")),
    ({"opponents": ["greedy", "greedy"]}, ("a list of 3 (players - 1), not 2",)),
    ({"opponents": [3, 4, 5]}, ("no such player: 3", "a function")),
    ({"seat": 4}, ("seat", "0 to 3", "4")),
    ({"seat": "left"}, ("seat", "'random'", "'left'")),
    ({"illegal_action": "ignore"}, ("illegal_action", "'terminate', 'raise'", "'ignore'")),
    ({"illegal_reward": "-5"}, ("illegal_reward", "'-5'")),
    ({"illegal_reward": float("nan")}, ("illegal_reward", "finite", "nan")),
    ({"skip_forced": 1}, ("skip_forced", "True or False", "1")),
]


@pytest.mark.parametrize(("kwargs", "words"), BOTH + AEC_ONLY, ids=lambda value: str(value)[:60])
def test_arguments_of_the_pettingzoo_environment(kwargs: dict[str, Any], words: tuple[str, ...]) -> None:
    refused(lambda: international_v0.env(**kwargs), words)


@pytest.mark.parametrize(("kwargs", "words"), BOTH + GYM_ONLY, ids=lambda value: str(value)[:60])
def test_arguments_of_the_gymnasium_environment(kwargs: dict[str, Any], words: tuple[str, ...]) -> None:
    refused(lambda: RummyEnv(**kwargs), words)


# Rule files

FILES: list[tuple[str, str, tuple[str, ...]]] = [
    ("an unknown field", "preset: international\nmaxbuys: 3\n", ("rules.yaml", "unknown rule field 'maxbuys'", "max_buys")),
    ("a wrong value", "ace: low_or_high\n", ("rules.yaml", "ace", "high_or_low", "'low_or_high'")),
    ("a wrong preset", "preset: hearts\n", ("rules.yaml", "preset", "international, basic", "'hearts'")),
    ("damaged YAML", "name: x\ncontracts: [[2, 0]\n", ("rules.yaml", "line")),
    ("a key twice", "max_buys: 1\nmax_buys: 2\n", ("rules.yaml: line 2", "'max_buys' stands twice")),
    ("no map", "- 1\n- 2\n", ("rules.yaml", "a map from fields to values", "[1, 2]")),
    ("nothing", "", ("rules.yaml", "a map from fields to values", "null")),
    ("what cannot be played", "deal: [60, 10, 10, 10, 12, 12, 12]\n", ("rules.yaml", "deal of 60 cards", "has 104")),
    ("contracts and deal apart", "contracts: [[1, 0]]\n", ("rules.yaml", "deal has 7 rounds but contracts has 1")),
    ("code", "name: !!python/object/apply:os.system ['true']\n", ("rules.yaml: line 1",)),
]


@pytest.mark.parametrize(("text", "words"), [row[1:] for row in FILES], ids=[row[0] for row in FILES])
def test_rule_files(text: str, words: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(text, encoding="utf-8")
    refused(lambda: load_rules(path), words)
    refused(lambda: international_v0.raw_env(rules=str(path)), words)
    assert path.read_text(encoding="utf-8") == text and list(tmp_path.iterdir()) == [path]


def test_rules_that_are_none() -> None:
    refused(lambda: resolve_rules(3), ("rules must be a map", "3"))  # type: ignore[arg-type]
    refused(lambda: Rules(ace="middle"), ("ace", "'middle'"))
    refused(lambda: international_v0.raw_env(rules="nothing.yaml"), ("nothing.yaml",), FileNotFoundError)


# Positions

POSITIONS: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    (position(hand="7c"), ("unknown field of a position: 'hand'", "hands")),
    (position(hands=None), ("needs the field hands",)),
    (position(hands=["7c 7d", ""]), ("hands[1] is empty",)),
    (position(hands=["7c 7d", "1c"]), ("hands[1]", "'1c'")),
    (position(hands=["7d 7d 7d", "3c"]), ("hands[0]", "7d", "more often than in the pack")),
    (position(hands=["7d"]), ("hands", "2 to 6 players, not 1")),
    (position(phase="discard"), ("phase", "window, draw, play, laying", "'discard'")),
    (position(to_act=2), ("to_act", "0 to 1", "2")),
    (position(round=8), ("round", "8")),
    (position(taken="Ah"), ("taken", "Ah", "seat 0")),
    (position(phase="draw"), ("taken must be null before the draw",)),
    (position(melds=[{"owner": 0, "meld": "G7 7s7s8s"}]), ("melds[0]", "G7 7s7s8s")),
    (position(rules="hearts"), ("rules", "'hearts'")),
    (position(scores=[1, 2, 3]), ("scores", "2 numbers", "[1, 2, 3]")),
]


@pytest.mark.parametrize(("given", "words"), POSITIONS, ids=[str(row[1]) for row in POSITIONS])
def test_positions(given: dict[str, Any], words: tuple[str, ...]) -> None:
    before = copy.deepcopy(given)
    refused(lambda: Game.from_position(given), words)
    assert given == before


# Players and their folders


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    """The folder of a small saved agent."""
    folder = tmp_path / "agent"
    random = np.random.default_rng(0)
    sizes = [1223, 4, len(TABLE)]
    layers = [(random.normal(size=(out, into)), np.zeros(out)) for into, out in pairwise(sizes)]
    save_agent(folder, RULES, layers)
    return folder


def describe(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the description of an agent."""
    description = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    change(description)
    (folder / DESCRIPTION).write_text(json.dumps(description), encoding="utf-8")


def weigh(folder: Path, change: Callable[[dict[str, np.ndarray]], Any]) -> None:
    """Change the weights of an agent."""
    tensors = load_file(folder / WEIGHTS)
    change(tensors)
    save_file(tensors, folder / WEIGHTS)


def spoil(tensors: dict[str, np.ndarray]) -> None:
    tensors["layer.0.weight"][2, 5] = np.nan


def cut(folder: Path, name: str) -> None:
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[: len(data) // 2])


FOLDERS: list[tuple[str, Callable[[Path], Any], tuple[str, ...]]] = [
    ("no description", lambda f: (f / DESCRIPTION).unlink(), ("not a saved agent", "no agent.json")),
    ("damaged JSON", lambda f: cut(f, DESCRIPTION), ("agent.json is damaged",)),
    ("no text", lambda f: (f / DESCRIPTION).write_bytes(b"\xff\xfe\x00"), ("agent.json is damaged",)),
    ("no object", lambda f: (f / DESCRIPTION).write_text("[1]"), ("agent.json", "format", "'list'")),
    ("another format", lambda f: describe(f, lambda d: d.update(format="rummy-agent/9")), ("rummy-agent/1", "rummy-agent/9")),
    ("a field missing", lambda f: describe(f, lambda d: d.pop("network")), ("agent.json", "network", "missing")),
    ("another network", lambda f: describe(f, lambda d: d["network"].update(type="cnn")), ("mlp", "'cnn'")),
    ("wrong layers", lambda f: describe(f, lambda d: d["network"].update(hidden=[0])), ("hidden", "[0]")),
    ("another move table", lambda f: describe(f, lambda d: d["moves"].update(fingerprint="0")), ("another move table",)),
    ("another layout", lambda f: describe(f, lambda d: d["observation"]["blocks"].pop()), ("another observation layout",)),
    ("missing weights", lambda f: (f / WEIGHTS).unlink(), ("no weights.safetensors",)),
    ("truncated weights", lambda f: cut(f, WEIGHTS), ("weights.safetensors is damaged",)),
    ("no weights at all", lambda f: (f / WEIGHTS).write_bytes(b""), ("weights.safetensors is damaged",)),
    ("a tensor missing", lambda f: weigh(f, lambda t: t.pop("layer.1.bias")), ("layer.1.bias", "must be")),
    ("another shape", lambda f: weigh(f, lambda t: t.update({"layer.1.bias": np.zeros(3, np.float32)})), ("(3,)", "(1141,)")),
    ("another type", lambda f: weigh(f, lambda t: t.update({"layer.1.bias": np.zeros(1141)})), ("float32", "float64")),
    ("NaN weights", lambda f: weigh(f, spoil), ("layer.0.weight", "not finite")),
]


@pytest.mark.parametrize(("damage", "words"), [row[1:] for row in FOLDERS], ids=[row[0] for row in FOLDERS])
def test_agent_folders(damage: Callable[[Path], Any], words: tuple[str, ...], agent: Path) -> None:
    load_agent(agent, RULES)
    damage(agent)
    refused(lambda: make_player(agent, RULES), words)
    refused(lambda: RummyEnv(opponents=str(agent)), words)


def test_an_agent_of_other_rules(agent: Path) -> None:
    refused(lambda: make_player(agent, RULES.replace(run_length=3)), ("another move table", "1141 moves"))
    refused(lambda: make_player(agent, preset("basic")), ("another move table", "1141 moves"))
    refused(lambda: RummyEnv(rules="basic", opponents=str(agent)), ("another move table", "1141 moves"))
    refused(lambda: play_match("basic", [agent, "greedy"], games=2), ("another move table", "1141 moves"))


@pytest.mark.parametrize("spec", ["expert", "no/such/folder", 3, None], ids=repr)
def test_players(spec: Any) -> None:
    refused(lambda: make_player(spec, RULES), ("no such player", repr(spec)))
