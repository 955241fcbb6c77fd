"""Saved agents: written and read back, refused where they do not fit, never executed; and the features that they read."""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from rummy_env.engine.apply import NO_ORDER, apply
from rummy_env.engine.deal import start_game
from rummy_env.engine.legal import legal
from rummy_env.engine.state import OVER, new_states, new_views
from rummy_env.engine.tables import compile_tables
from rummy_env.engine.view import view
from rummy_env.game import Game
from rummy_env.moves import move_table
from rummy_env.observation import decode, encode, layout, observation_plan
from rummy_env.players.base import make_player
from rummy_env.players.learned import LearnedPlayer, describe_agent, load_agent, save_agent
from rummy_env.rules import Rules, preset, resolve_rules

RULES = preset("international")
FEATURES = ("analysis",)
Layers = list[tuple[np.ndarray, np.ndarray]]


def random_layers(rules: Rules, hidden: list[int], features: tuple[str, ...] = FEATURES, seed: int = 0) -> Layers:
    """A network whose choices depend on what it sees."""
    random = np.random.default_rng(seed)
    sizes = [layout(rules, features).size, *hidden, len(move_table(rules))]
    return [
        (random.normal(0, size**-0.5, (out, size)).astype(np.float32), random.normal(0, 0.05, out).astype(np.float32))
        for size, out in pairwise(sizes)
    ]


def positions(rules: Rules, number: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Views of seats to act with more than one legal move, and their masks, from random games."""
    tables, random = compile_tables(rules), np.random.default_rng(seed)
    views, masks = new_views(number), np.zeros((number, len(move_table(rules))), np.int8)
    states, mask = new_states(1), np.zeros(len(move_table(rules)), np.int8)
    found, game = 0, 0
    states["phase"] = OVER
    while found < number:
        if states["phase"][0] == OVER or random.random() < 0.01:
            game += 1
            start_game(tables, states[0], 2 + game % 5, np.uint64(game), game % 7, game % 7, -1, NO_ORDER)
        if legal(tables, states[0], mask) > 1 and random.random() < 0.4:
            view(states[0], int(states["to_act"][0]), views[found])
            masks[found] = mask
            found += 1
        apply(tables, states[0], int(random.choice(np.flatnonzero(mask))), NO_ORDER)
    return views, masks


def plain_outputs(layers: Layers, observation: np.ndarray) -> np.ndarray:
    """A perceptron with ReLU layers, in double precision."""
    values = observation.astype(np.float64)
    for index, (weight, bias) in enumerate(layers):
        values = weight.astype(np.float64) @ values + bias
        if index < len(layers) - 1:
            values = np.maximum(values, 0)
    return values


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    folder = tmp_path / "agent"
    save_agent(folder, RULES, random_layers(RULES, [12, 8]), FEATURES, {"seed": 5})
    return folder


# Choosing


@pytest.mark.parametrize("hidden", [[], [9], [16, 8], [4, 32, 4]], ids=str)
@pytest.mark.parametrize("features", [(), FEATURES], ids=str)
def test_the_move_is_the_legal_one_with_the_highest_output(hidden: list[int], features: tuple[str, ...]) -> None:
    layers = random_layers(RULES, hidden, features)
    player = LearnedPlayer("own", RULES, layers, features)
    views, masks = positions(RULES, 100)
    tables, plan, moves = compile_tables(RULES), observation_plan(RULES, features), set()
    for at in range(len(views)):
        observation = np.zeros(layout(RULES, features).size, np.float32)
        encode(tables, plan, views[at], observation)
        outputs = np.where(masks[at] == 1, plain_outputs(layers, observation), -np.inf)
        second, first = np.sort(outputs)[-2:]
        chosen = player.act(views[at], masks[at])
        assert masks[at][chosen] == 1
        assert chosen == outputs.argmax() or first - second < 1e-5
        moves.add(chosen)
    assert len(moves) >= 10


def test_of_equal_moves_the_first_is_chosen() -> None:
    layers = [(np.zeros_like(weight), np.zeros_like(bias)) for weight, bias in random_layers(RULES, [3])]
    player = LearnedPlayer("even", RULES, layers, FEATURES)
    views, masks = positions(RULES, 20)
    assert [player.act(views[at], masks[at]) for at in range(20)] == masks.argmax(axis=1).tolist()
    layers[-1][1][:] = -5  # below what no move would have
    player = LearnedPlayer("low", RULES, layers, FEATURES)
    assert player.act_many(views, masks).tolist() == masks.argmax(axis=1).tolist()


def test_a_decision_does_not_depend_on_how_many_are_made_at_once() -> None:
    player = LearnedPlayer("own", RULES, random_layers(RULES, [32, 16]), FEATURES)
    views, masks = positions(RULES, 192)
    single = [player.act(views[at], masks[at]) for at in range(len(views))]
    assert len(set(single)) >= 15
    for size in (1, 7, 64):
        many = [player.act_many(views[at : at + size], masks[at : at + size]) for at in range(0, len(views), size)]
        assert np.concatenate(many).tolist() == single
    backwards = player.act_many(views[::-1].copy(), masks[::-1].copy())
    assert backwards[::-1].tolist() == single
    assert player.act_many(views[:0], masks[:0]).shape == (0,)


PLAY = """
import json, sys
for name in json.loads(sys.argv[1]):
    sys.modules[name] = None
import numpy as np
from rummy_env.engine.state import VIEW
from rummy_env.players.base import make_player
from rummy_env.rules import preset
views = np.load(sys.argv[3])["views"].view(VIEW)
masks = np.load(sys.argv[3])["masks"]
player = make_player(sys.argv[2], preset("international"))
print(json.dumps([player.act_many(views, masks).tolist(), [player.act(views[at], masks[at]) for at in range(3)]]))
"""


def play_elsewhere(agent: Path, blocked: list[str], number: int, **environment: str) -> list[Any]:
    views, masks = positions(RULES, number)
    file = agent.parent / "positions.npz"
    np.savez(file, views=views.view(np.uint8), masks=masks)
    command = [sys.executable, "-W", "error", "-c", PLAY, json.dumps(blocked), str(agent), str(file)]
    out = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=900)
    assert out.returncode == 0, out.stderr
    moves = load_agent(agent, RULES).act_many(views, masks).tolist()
    assert len(set(moves)) >= 5
    return [json.loads(out.stdout), [moves, moves[:3]]]


def test_the_core_dependencies_are_enough(agent: Path) -> None:
    """Loading and playing imports nothing of the extra `train`."""
    found, expected = play_elsewhere(agent, ["torch", "stable_baselines3", "sb3_contrib", "tensorboard"], 40)
    assert found == expected


def test_without_compilation_the_moves_are_the_same(agent: Path) -> None:
    found, expected = play_elsewhere(agent, [], 25, NUMBA_DISABLE_JIT="1")
    assert found == expected


# Written and read back


def test_an_agent_is_read_back_as_it_was_written(agent: Path) -> None:
    layers = random_layers(RULES, [12, 8])
    assert sorted(path.name for path in agent.iterdir()) == ["agent.json", "weights.safetensors"]
    tensors = load_file(agent / "weights.safetensors")
    assert set(tensors) == {f"layer.{index}.{part}" for index in range(3) for part in ("weight", "bias")}
    for index, (weight, bias) in enumerate(layers):
        assert np.array_equal(tensors[f"layer.{index}.weight"], weight) and np.array_equal(tensors[f"layer.{index}.bias"], bias)
    views, masks = positions(RULES, 60)
    expected = LearnedPlayer("own", RULES, layers, FEATURES).act_many(views, masks)
    for spec in (agent, str(agent)):
        player = make_player(spec, RULES)
        assert player.name == str(agent)
        assert np.array_equal(player.act_many(views, masks), expected)
    assert load_agent(agent, RULES, "nick").name == "nick"


def test_the_description(agent: Path) -> None:
    description = json.loads((agent / "agent.json").read_text(encoding="utf-8"))
    shape = layout(RULES, FEATURES)
    assert description == {
        "format": "rummy-agent/1",
        "rules": RULES.to_dict(),
        "moves": {"number": 1141, "fingerprint": move_table(RULES).fingerprint},
        "observation": {"size": shape.size, "features": ["analysis"], "blocks": shape.describe()},
        "network": {"type": "mlp", "activation": "relu", "hidden": [12, 8]},
        "training": {"seed": 5},
    }
    assert describe_agent(RULES, [12, 8], FEATURES, {"seed": 5}) == description
    assert describe_agent(RULES, [])["training"] == {}
    assert resolve_rules(description["rules"]) == RULES


def test_saving_again_replaces_both_files(agent: Path) -> None:
    save_agent(agent, RULES, random_layers(RULES, [4], (), seed=9), ())
    assert sorted(path.name for path in agent.iterdir()) == ["agent.json", "weights.safetensors"]
    views, masks = positions(RULES, 10)
    expected = LearnedPlayer("own", RULES, random_layers(RULES, [4], (), seed=9), ()).act_many(views, masks)
    assert np.array_equal(load_agent(agent, RULES).act_many(views, masks), expected)


def test_layers_that_do_not_fit_are_not_saved(tmp_path: Path) -> None:
    layers = random_layers(RULES, [6])
    for wrong, message in (
        (random_layers(RULES, [6], ()), "layer.0.weight must be float32"),
        ([layers[0], (layers[1][0][:-1], layers[1][1][:-1])], "layer.1.weight must be float32"),
        ([(layers[0][0] * np.float32(np.nan), layers[0][1]), layers[1]], "layer.0.weight holds numbers that are not finite"),
    ):
        with pytest.raises(ValueError, match=message):
            save_agent(tmp_path / "agent", RULES, wrong, FEATURES)
        assert not (tmp_path / "agent").exists()


# What is refused


OTHER_RULES = {
    "another move table": ({"jokers": 4, "group_size": 4}, "was made for another move table \\(1141 moves"),
    "another layout": ({"jokers": 2}, "another observation layout .*'hand'.*\\[2, 8\\].*'hand'.*\\[2, 10\\]"),
}


@pytest.mark.parametrize("overrides,message", OTHER_RULES.values(), ids=OTHER_RULES)
def test_rules_that_an_agent_was_not_made_for_are_refused(overrides: dict[str, Any], message: str, agent: Path) -> None:
    other = RULES.replace(**overrides)
    same_table = move_table(other).fingerprint == move_table(RULES).fingerprint
    assert same_table == ("layout" in message)
    with pytest.raises(ValueError, match=message) as error:
        load_agent(agent, other)
    assert str(agent) in str(error.value)


def test_rules_that_change_neither_moves_nor_observation_are_played(agent: Path) -> None:
    rules = RULES.replace(max_buys=2)
    views, masks = positions(rules, 10)
    moves = load_agent(agent, rules).act_many(views, masks)
    assert (masks[np.arange(10), moves] == 1).all()


def edited(*path: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    def edit(description: dict[str, Any]) -> dict[str, Any]:
        inner = description
        for name in path[:-1]:
            inner = inner[name]
        inner[path[-1]] = value
        return description

    return edit


DESCRIPTIONS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "no object": (lambda _: [], "format must be 'rummy-agent/1', not 'list'"),
    "another format": (edited("format", value="rummy-agent/2"), "format must be 'rummy-agent/1', not 'rummy-agent/2'"),
    "no moves": (edited("moves", value=None), "the field moves is missing or not an object"),
    "no number of moves": (edited("moves", "number", value=None), "moves number must be a whole number from 1 up, not None"),
    "no size": (edited("observation", "size", value=None), "observation size must be a whole number from 1 up, not None"),
    "no rules": (edited("rules", value="international"), "the field rules is missing or not an object"),
    "another network": (edited("network", "type", value="cnn"), "the network must be an mlp with relu, not 'cnn'"),
    "hidden": (edited("network", "hidden", value=[12, -8]), "network hidden must be a list of layer sizes"),
    "huge": (edited("network", "hidden", value=[10**12]), "network hidden must be a list of layer sizes"),
    "other hidden": (edited("network", "hidden", value=[12, 9]), "layer.1.weight must be float32"),
    "fewer layers": (edited("network", "hidden", value=[12]), "the weights must be layer.0.weight"),
    "fingerprint": (edited("moves", "fingerprint", value="0"), "was made for another move table"),
    "features": (edited("observation", "features", value=[]), "was made for another observation layout"),
    "unknown features": (edited("observation", "features", value=["x"]), "features must be out of"),
    "features as text": (edited("observation", "features", value="analysis"), "features must be a list of names"),
    "blocks": (edited("observation", "blocks", value=[]), "was made for another observation layout"),
    "size": (edited("observation", "size", value=9), "layer.0.weight must be float32"),
}


@pytest.mark.parametrize("edit,message", DESCRIPTIONS.values(), ids=DESCRIPTIONS)
def test_descriptions_that_do_not_fit_are_named(edit: Callable[[dict[str, Any]], Any], message: str, agent: Path) -> None:
    path = agent / "agent.json"
    path.write_text(json.dumps(edit(json.loads(path.read_text()))))
    with pytest.raises(ValueError, match=message) as error:
        load_agent(agent, RULES)
    assert str(agent) in str(error.value)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000], ids=["empty", "cut", "bytes", "deep"])
def test_a_damaged_description_is_named(content: bytes, agent: Path) -> None:
    (agent / "agent.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"agent.json is damaged"):
        load_agent(agent, RULES)


def test_missing_files_are_named(agent: Path) -> None:
    (agent / "weights.safetensors").unlink()
    with pytest.raises(ValueError, match=r"is not a saved agent: it has no weights.safetensors"):
        load_agent(agent, RULES)
    (agent / "agent.json").unlink()
    with pytest.raises(ValueError, match=r"is not a saved agent: it has no agent.json"):
        load_agent(agent, RULES)
    with pytest.raises(ValueError, match="no such player"):
        make_player(str(agent / "nowhere"), RULES)


def without_a_layer(tensors: dict[str, np.ndarray]) -> None:
    del tensors["layer.1.bias"]


def not_finite(tensors: dict[str, np.ndarray]) -> None:
    tensors["layer.2.bias"][7] = np.inf


def doubles(tensors: dict[str, np.ndarray]) -> None:
    tensors["layer.0.bias"] = tensors["layer.0.bias"].astype(np.float64)


def transposed(tensors: dict[str, np.ndarray]) -> None:
    tensors["layer.1.weight"] = np.ascontiguousarray(tensors["layer.1.weight"].T)


@pytest.mark.parametrize(
    "change,message",
    [
        (without_a_layer, "the weights must be layer.0.weight, layer.0.bias, layer.1.weight, layer.1.bias"),
        (not_finite, "layer.2.bias holds numbers that are not finite"),
        (doubles, r"layer.0.bias must be float32 \(12,\), not float64"),
        (transposed, r"layer.1.weight must be float32 \(8, 12\), not float32 \(12, 8\)"),
    ],
)
def test_weights_that_do_not_fit_are_named(change: Callable[[dict[str, np.ndarray]], None], message: str, agent: Path) -> None:
    tensors = load_file(agent / "weights.safetensors")
    change(tensors)
    save_file(tensors, agent / "weights.safetensors")
    with pytest.raises(ValueError, match=message):
        load_agent(agent, RULES)


class Malicious:
    """Unpickling it creates a file."""

    def __init__(self, file: Path):
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.file,))


@pytest.mark.parametrize("name", ["weights.safetensors", "agent.json"])
def test_a_pickle_is_refused_and_not_executed(name: str, agent: Path, tmp_path: Path) -> None:
    executed = tmp_path / "executed"
    content = pickle.dumps(Malicious(executed))
    pickle.loads(content)
    assert executed.exists(), "the pickle is dangerous"
    executed.unlink()
    archive = io.BytesIO()
    np.savez(archive, allow_pickle=True, weights=np.array([Malicious(executed)], object))
    for damaged in (content, archive.getvalue(), (agent / "weights.safetensors").read_bytes()[:-9]):
        (agent / name).write_bytes(damaged)
        with pytest.raises(ValueError, match=f"{name} is damaged"):
            load_agent(agent, RULES)
    assert not executed.exists()


# The features that it reads


def analysis(position: dict[str, Any], seat: int | None = None) -> dict[str, dict[str, int]]:
    """The analysis blocks that a seat sees, by default the one to act, without zeros."""
    full = {"rules": "international", "to_act": 0, "stock": "3c 4d 5h", **position}
    game = Game.from_position(full)
    out = np.zeros(layout(game.rules, FEATURES).size, np.float32)
    to_act = full["to_act"] if seat is None else seat
    encode(compile_tables(game.rules), observation_plan(game.rules, FEATURES), game.view(to_act), out)
    found = decode(game.rules, out, FEATURES)
    return {name: found.get(name, {}) for name in ("distance", "needed", "discard_accepted")}


HANDS: dict[str, tuple[int, str, str, int, int, str | None]] = {
    # round, hand, top discard, distance, distance with the discard, the cards needed (None: not checked)
    "two groups held": (1, "7c 7d 7h 9s 9d 9c Ks 3h", "4d", 0, 0, "7c 7d 7h 9s 9d 9c"),
    "with a wild": (1, "7c 7d ** 9s 9d 9c Ks 3h", "4d", 0, 0, "7c 7d ** 9s 9d 9c"),
    "one card short": (1, "7c 7d 9s 9d 9c Ks 3h", "4d", 1, 1, "7c 7d 9s 9d 9c"),
    "the discard is that card": (1, "7c 7d 9s 9d 9c Ks 3h", "7s", 1, 0, "7c 7d 9s 9d 9c"),
    "a wild as discard is that card": (1, "7c 7d 9s 9d 9c Ks 3h", "**", 1, 0, "7c 7d 9s 9d 9c"),
    "two pairs": (1, "7c 7d 9s 9d Ks 3h", "4d", 2, 2, "7c 7d 9s 9d"),
    "nothing fits": (1, "3c 4d 5h 6s 8c Td", "Qh", 4, 4, None),
    "a group and a run": (2, "7c 7d 7h 5s 6s 7s 8s Kd", "4d", 0, 0, "7c 7d 7h 5s 6s 7s 8s"),
    "the run lacks its middle": (2, "7c 7d 7h 5s 6s 8s Kd", "7s", 1, 0, "7c 7d 7h 5s 6s 8s"),
    "a wild fills the middle": (2, "7c 7d 7h 5s 6s 8s ** Kd", "4d", 0, 0, "7c 7d 7h 5s 6s 8s **"),
}


@pytest.mark.parametrize("case", HANDS.values(), ids=HANDS)
def test_the_distance_and_the_cards_it_needs(case: tuple[int, str, str, int, int, str | None]) -> None:
    number, hand, discard, now, taken, needed = case
    found = analysis({"round": number, "hands": [hand, "Jc Jd"], "discards": discard})
    expected = {"now": now, "with the top discard": taken}
    assert found["distance"] == {label: value for label, value in expected.items() if value}
    if needed is not None:
        cards = needed.split()
        assert found["needed"] == {card: cards.count(card) for card in cards}
    assert found["discard_accepted"] == {}


def test_without_a_discard_both_distances_are_the_same() -> None:
    found = analysis({"round": 1, "hands": ["7c 7d 9s 9d 9c Ks", "Jc Jd"], "discards": ""})
    assert found["distance"] == {"now": 1, "with the top discard": 1}


def test_while_laying_the_distance_is_to_what_is_left_of_the_contract() -> None:
    """Two groups, one of them laid: the nines in hand are the other one. Another seat sees its own whole contract."""
    position = {"round": 1, "hands": ["7c 7d 7h 9s 9d 9c Ks", "Jc Jd 4c"], "discards": "", "to_act": 0}
    game = Game.from_position({"rules": "international", **position})
    game.play("lay G7 7c7d7h")
    assert game.phase == "laying"
    laying = analysis(game.position())
    assert laying["distance"] == {}  # nothing is missing
    assert laying["needed"] == {"9c": 1, "9d": 1, "9s": 1}
    assert analysis(game.position(), 1)["distance"] == {"now": 3, "with the top discard": 3}


def test_every_seat_sees_its_own_hand() -> None:
    position = {"round": 1, "hands": ["7c 7d 7h 9s 9d 9c", "Jc Jd Ks 3h"], "discards": "Js"}
    assert analysis(position, 0)["distance"] == {}
    other = analysis(position, 1)
    assert other["distance"] == {"now": 3, "with the top discard": 2}
    assert (other["needed"]["Jc"], other["needed"]["Jd"]) == (1, 1)


MELDS = [
    {"owner": 0, "meld": "G8 8c8h**"},
    {"owner": 0, "meld": "GK KcKdKs"},
    {"owner": 1, "meld": "R5s 5s6s**8s"},
    {"owner": 1, "meld": "G4 4c4d4h"},
]


@pytest.mark.parametrize(
    "discard,accepted",
    [("8d", 1), ("Kh", 1), ("4s", 1), ("9s", 1), ("**", 1), ("Ts", 0), ("7s", 0), ("3s", 0), ("9d", 0), ("Qh", 0)],
)
def test_after_laying_down_it_counts_what_the_melds_take(discard: str, accepted: int) -> None:
    """4s goes below the run or to the group, 9s above it; distance and needed cards are then nothing."""
    found = analysis({"round": 1, "hands": ["7c 9h", "Jc Jd"], "discards": discard, "melds": MELDS, "down": [0, 1]})
    assert found == {"distance": {}, "needed": {}, "discard_accepted": {"card": 1} if accepted else {}}


def test_with_own_melds_only_those_of_others_take_nothing() -> None:
    rules = {"overrides": {"layoff_own_only": True}}
    for discard, accepted in (("8d", True), ("9s", False), ("4s", False)):
        position = {"round": 1, "hands": ["7c 9h", "Jc Jd"], "discards": discard, "melds": MELDS, "down": [0, 1], **rules}
        assert bool(analysis(position)["discard_accepted"]) == accepted


def test_a_seat_that_is_not_down_is_told_its_distance_though_others_are() -> None:
    position = {"round": 1, "hands": ["7c 9h", "7c 7d 7h Jc Jd"], "discards": "8d", "melds": MELDS[:2], "down": [0]}
    assert analysis(position, 1) == {
        "distance": {"now": 1, "with the top discard": 1},
        "needed": {"7c": 1, "7d": 1, "7h": 1, "Jc": 1, "Jd": 1},
        "discard_accepted": {},
    }
