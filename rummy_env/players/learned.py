"""Saved agents: a folder with `agent.json` (what the agent was made for) and `weights.safetensors`, and the player they make.

The network is a perceptron with ReLU layers that gives one number per move; the player plays the legal move with the
highest. It runs as a kernel with a fixed order of additions, so a decision does not depend on how many are made at once,
and needs neither torch nor the library that trained it. Nothing in the folder is executed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from rummy_env.engine.tables import compile_tables
from rummy_env.kernel import kernel
from rummy_env.moves import move_table
from rummy_env.observation import check_features, encode, layout, observation_plan
from rummy_env.players.base import Player
from rummy_env.rules import Rules, shown

FORMAT = "rummy-agent/1"
DESCRIPTION = "agent.json"
WEIGHTS = "weights.safetensors"


def describe_agent(
    rules: Rules, hidden: list[int], features: tuple[str, ...] = (), training: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The JSON description of an agent for these rules and observation blocks whose network has these hidden layers."""
    table, shape = move_table(rules), layout(rules, features)
    return {
        "format": FORMAT,
        "rules": rules.to_dict(),
        "moves": {"number": len(table), "fingerprint": table.fingerprint},
        "observation": {"size": shape.size, "features": list(features), "blocks": shape.describe()},
        "network": {"type": "mlp", "activation": "relu", "hidden": list(hidden)},
        "training": dict(training or {}),
    }


def save_agent(
    folder: Path,
    rules: Rules,
    layers: list[tuple[np.ndarray, np.ndarray]],
    features: tuple[str, ...] = (),
    training: Mapping[str, Any] | None = None,
) -> None:
    """Write an agent's folder: beside it first, then moved into place.

    `layers` are weights ``(outputs, inputs)`` and biases ``(outputs,)`` from the observation to the moves.
    """
    hidden = [len(bias) for _, bias in layers[:-1]]
    description = describe_agent(rules, hidden, features, training)
    tensors = {}
    for index, (weight, bias) in enumerate(layers):
        tensors[f"layer.{index}.weight"] = np.ascontiguousarray(weight, np.float32)
        tensors[f"layer.{index}.bias"] = np.ascontiguousarray(bias, np.float32)
    _check_shapes(folder, description, tensors)
    folder.mkdir(parents=True, exist_ok=True)
    beside = folder / f".{WEIGHTS}.new"
    save_file(tensors, beside)
    beside.chmod(0o644)
    beside.replace(folder / WEIGHTS)
    beside = folder / f".{DESCRIPTION}.new"
    beside.write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")
    beside.replace(folder / DESCRIPTION)


def shipped_agent(rules: Rules) -> Path:
    """The folder of the player shipped for a rule set. ValueError where there is none."""
    package = Path(__file__).resolve().parents[1]
    for root in (package / "models", package.parent / "models"):
        if (root / rules.name / DESCRIPTION).is_file():
            return root / rules.name
    raise ValueError(f"no player named 'learned' is shipped for the rules {rules.name!r}")


def read_description(folder: Path) -> dict[str, Any]:
    """`agent.json` of a folder, its form checked. ValueError names the file and what is wrong with it."""
    path = folder / DESCRIPTION
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{folder} is not a saved agent: it has no {DESCRIPTION}") from None
    except (OSError, ValueError, RecursionError) as error:  # a ValueError: no JSON, no UTF-8, a number of too many digits
        raise ValueError(f"{path} is damaged: {error}") from None
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        found = description.get("format") if isinstance(description, dict) else type(description).__name__
        raise ValueError(f"{path}: format must be {FORMAT!r}, not {shown(found)}")
    for field, kind in (("moves", dict), ("observation", dict), ("network", dict), ("rules", dict)):
        if not isinstance(description.get(field), kind):
            raise ValueError(f"{path}: the field {field} is missing or not an object")
    for field, name in (("moves", "number"), ("observation", "size")):
        size = description[field].get(name)
        if type(size) is not int or not 1 <= size <= 1_000_000:
            raise ValueError(f"{path}: {field} {name} must be a whole number from 1 up, not {shown(size)}")
    network = description["network"]
    hidden = network.get("hidden")
    if network.get("type") != "mlp" or network.get("activation") != "relu":
        raise ValueError(f"{path}: the network must be an mlp with relu, not {shown(network.get('type'))}")
    if not isinstance(hidden, list) or not all(type(size) is int and 1 <= size <= 65536 for size in hidden):
        raise ValueError(f"{path}: network hidden must be a list of layer sizes, not {shown(hidden)}")
    return description


def features_of(folder: Path, description: Mapping[str, Any]) -> tuple[str, ...]:
    """The optional observation blocks that an agent was made with. ValueError for unknown ones."""
    features = description["observation"].get("features", [])
    if not isinstance(features, list) or not all(isinstance(name, str) for name in features):
        raise ValueError(f"{folder / DESCRIPTION}: observation features must be a list of names, not {shown(features)}")
    try:
        return check_features(features)
    except ValueError as error:
        raise ValueError(f"{folder / DESCRIPTION}: {error}") from None


def check_agent(folder: Path, description: Mapping[str, Any], rules: Rules) -> None:
    """ValueError where an agent was made for another move table or another observation than these rules have."""
    table, shape = move_table(rules), layout(rules, features_of(folder, description))
    moves, observation = description["moves"], description["observation"]
    if moves.get("fingerprint") != table.fingerprint:
        raise ValueError(
            f"{folder} was made for another move table ({moves['number']} moves, {shown(moves.get('fingerprint'))}) than "
            f"the rules {rules.name!r} have ({len(table)} moves, {table.fingerprint})"
        )
    own, theirs = observation.get("blocks"), shape.describe()
    if own != theirs:
        pairs = zip_longest(own if isinstance(own, list) else [], theirs)
        made, has = next((pair for pair in pairs if pair[0] != pair[1]), (own, theirs))
        raise ValueError(
            f"{folder} was made for another observation layout ({observation['size']} numbers) than the rules "
            f"{rules.name!r} have ({shape.size} numbers): its block {shown(made)} against {shown(has)}"
        )


def _check_shapes(folder: Path, description: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> None:
    sizes = [description["observation"]["size"], *description["network"]["hidden"], description["moves"]["number"]]
    expected: dict[str, tuple[int, ...]] = {}
    for index in range(len(sizes) - 1):
        expected[f"layer.{index}.weight"] = (sizes[index + 1], sizes[index])
        expected[f"layer.{index}.bias"] = (sizes[index + 1],)
    if set(tensors) != set(expected):
        raise ValueError(f"{folder}: the weights must be {', '.join(expected)}, not {', '.join(sorted(tensors))}")
    for name, shape in expected.items():
        if tensors[name].shape != shape or tensors[name].dtype != np.float32:
            raise ValueError(f"{folder}: {name} must be float32 {shape}, not {tensors[name].dtype} {tensors[name].shape}")
        if not np.isfinite(tensors[name]).all():
            raise ValueError(f"{folder}: {name} holds numbers that are not finite")


def load_agent(folder: Path, rules: Rules, name: str | None = None) -> LearnedPlayer:
    """The player of a saved agent's folder. ValueError names what is damaged, or does not fit the rules."""
    folder = Path(folder)
    description = read_description(folder)
    check_agent(folder, description, rules)
    path = folder / WEIGHTS
    try:
        tensors = load_file(path)
    except FileNotFoundError:
        raise ValueError(f"{folder} is not a saved agent: it has no {WEIGHTS}") from None
    except (OSError, SafetensorError, TypeError, AttributeError) as error:  # the last two: a type that NumPy lacks
        raise ValueError(f"{path} is damaged: {error}") from None
    _check_shapes(folder, description, tensors)
    count = len(tensors) // 2
    layers = [(tensors[f"layer.{index}.weight"], tensors[f"layer.{index}.bias"]) for index in range(count)]
    return LearnedPlayer(name or str(folder), rules, layers, features_of(folder, description))


class LearnedPlayer(Player):
    """The legal move that the network values highest."""

    def __init__(self, name: str, rules: Rules, layers: list[tuple[np.ndarray, np.ndarray]], features: tuple[str, ...] = ()):
        super().__init__(name)
        self._tables = compile_tables(rules)
        self._plan = observation_plan(rules, features)
        self._sizes = np.array([layers[0][0].shape[1], *(len(bias) for _, bias in layers)], np.int64)
        # hidden layers by input, which adds whole rows for the few inputs that are not zero; the last layer by move
        stored = [weight if index == len(layers) - 1 else weight.T for index, (weight, _) in enumerate(layers)]
        parts = [part.ravel() for weight, (_, bias) in zip(stored, layers, strict=True) for part in (weight, bias)]
        self._weights = np.concatenate(parts).astype(np.float32)

    def act(self, view: Any, mask: np.ndarray) -> int:
        scratch = np.zeros((2, int(self._sizes.max())), np.float32)
        return int(best_move(self._tables, self._plan, self._weights, self._sizes, view, mask, scratch))

    def act_many(self, views: np.ndarray, masks: np.ndarray) -> np.ndarray:
        moves = np.zeros(len(views), np.int64)
        scratch = np.zeros((2, int(self._sizes.max())), np.float32)
        best_moves(self._tables, self._plan, self._weights, self._sizes, views, masks, scratch, moves)
        return moves


@kernel
def best_move(tables, plan, weights, sizes, view, mask, scratch):
    """The legal move with the highest output; of equals the first. `scratch` holds two rows as long as the widest layer."""
    layers = sizes.shape[0] - 1
    encode(tables, plan, view, scratch[0, : sizes[0]])
    at = np.int64(0)
    source = 0
    for layer in range(layers - 1):
        inputs, outputs = sizes[layer], sizes[layer + 1]
        bias = at + inputs * outputs
        row = scratch[1 - source, :outputs]
        row[:] = weights[bias : bias + outputs]
        for index in range(inputs):
            value = scratch[source, index]
            if value != 0:
                start = at + index * outputs
                for unit in range(outputs):
                    row[unit] += value * weights[start + unit]
        for unit in range(outputs):
            row[unit] = max(row[unit], np.float32(0))
        at = bias + outputs
        source = 1 - source
    inputs, outputs = sizes[layers - 1], sizes[layers]
    best = np.int64(-1)
    best_value = np.float32(0)
    for move in range(outputs):
        if not mask[move]:
            continue
        value = weights[at + inputs * outputs + move]
        for index in range(inputs):
            value += scratch[source, index] * weights[at + move * inputs + index]
        if best < 0 or value > best_value:
            best = move
            best_value = value
    return best


@kernel
def best_moves(tables, plan, weights, sizes, views, masks, scratch, moves):
    """`best_move` for every row."""
    for index in range(views.shape[0]):
        moves[index] = best_move(tables, plan, weights, sizes, views[index], masks[index], scratch)
