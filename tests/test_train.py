"""training/train.py from end to end with tiny settings: what it writes, that a stopped run goes on as if never stopped, and
what it refuses."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from rummy_env.batch import BatchGame
from rummy_env.moves import move_table
from rummy_env.observation import layout
from rummy_env.players.learned import load_agent
from rummy_env.rules import preset

torch = pytest.importorskip("torch")
pytest.importorskip("sb3_contrib")
pytest.importorskip("tensorboard")

SCRIPT = Path(__file__).resolve().parents[1] / "training" / "train.py"
RULES = preset("international")
TINY: dict[str, Any] = {
    "players": [2, 3], "features": ["analysis"], "opponents": ["greedy", "random"], "seed": 3, "threads": 1, "tables": 8,
    "hidden": [16], "imitation_decisions": 800, "ppo_decisions": 640, "value_decisions": 256, "steps": 16, "batch_size": 48,
    "epochs": 2, "checkpoint_decisions": 200,
}  # fmt: skip
SHORTER = {**TINY, "imitation_decisions": 48, "ppo_decisions": 128, "value_decisions": 0, "checkpoint_decisions": 16}


@pytest.fixture(scope="module")
def train() -> Any:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("training_train", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    threads = torch.get_num_threads()
    spec.loader.exec_module(module)
    yield module
    torch.set_num_threads(threads)
    del sys.modules[spec.name]


def write(path: Path, options: Any) -> Path:
    path.write_text(options if isinstance(options, str) else yaml.safe_dump(options), encoding="utf-8")
    return path


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@dataclass
class Whole:
    """A run that was not stopped, and its folder as it was after every checkpoint, with the decisions made until then."""

    folder: Path
    config: Path
    snapshots: list[tuple[int, int, Path]]


@pytest.fixture(scope="module")
def whole(train: Any, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    root = tmp_path_factory.mktemp("whole")
    config, folder = write(root / "tiny.yaml", TINY), root / "run"
    snapshots: list[tuple[int, int, Path]] = []
    save = train.Run.save_checkpoint

    def saved(run: Any) -> None:
        save(run)
        copy = root / f"copy-{len(snapshots)}"
        shutil.copytree(folder, copy)
        snapshots.append((run.imitated, run.model.num_timesteps, copy))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train.Run, "save_checkpoint", saved)
        assert train.main(["--config", str(config), "--out", str(folder), "--quiet"]) == 0
    return Whole(folder, config, snapshots)


# What a run writes


def test_the_folder_of_a_run(whole: Whole) -> None:
    """Configuration, checkpoint, curves and agent; nothing beside them, and nothing that is a pickle or an archive."""
    files = files_of(whole.folder)
    events = [name for name in files if name.startswith("tensorboard/events.out.tfevents.")]
    assert len(events) == 1
    kept = {"config.yaml", "checkpoint.safetensors", "agent/agent.json", "agent/weights.safetensors"}
    assert set(files) == {*kept, *events}
    for name, content in files.items():
        assert not content.startswith((b"\x80", b"PK")), name
    options = yaml.safe_load(files["config.yaml"])
    assert {name: options[name] for name in TINY} == TINY
    assert options["gamma"] == 0.999  # all options, those not given too
    description = json.loads(files["agent/agent.json"])
    assert description["format"] == "rummy-agent/1"
    assert description["rules"] == RULES.to_dict()
    assert description["moves"] == {"number": 1141, "fingerprint": move_table(RULES).fingerprint}
    shape = layout(RULES, ("analysis",))
    assert description["observation"] == {"size": shape.size, "features": ["analysis"], "blocks": shape.describe()}
    assert description["network"] == {"type": "mlp", "activation": "relu", "hidden": [16]}
    training = description["training"]
    assert training["options"] == options
    assert (training["script"], training["imitation_decisions"], training["ppo_decisions"]) == ("training/train.py", 800, 640)
    assert 0 <= training["seconds"] < 600
    assert str(whole.folder) not in files["agent/agent.json"].decode()


def test_the_curves(whole: Whole) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(whole.folder / "tensorboard"))
    events.Reload()
    tags = set(events.Tags()["scalars"])
    assert {"imitation/loss", "imitation/agreement", "rollout/ep_rew_mean", "rollout/ep_len_mean", "train/value_loss"} <= tags
    assert {"train/entropy_loss", "train/approx_kl", "train/learning_rate", "train/loss"} <= tags
    assert [event.step for event in events.Scalars("imitation/loss")] == [400, 800]
    assert [event.step for event in events.Scalars("time/fps")] == [128, 256, 384, 512, 640]
    assert all(0 <= event.value <= 1 for event in events.Scalars("imitation/agreement"))


def test_the_agent_plays_legal_moves_and_those_of_the_trained_network(train: Any, whole: Whole) -> None:
    """The exported player chooses the move with the policy's highest output, on hundreds of decisions."""
    run = train.Run(train.read_options(whole.folder / "config.yaml", []), whole.folder, quiet=True)
    run.load_checkpoint()
    player = load_agent(whole.folder / "agent", RULES)
    tables = BatchGame(RULES, 20, [2, 4, 6], "greedy", seed=99, features=["analysis"])
    tables.reset()
    clear, moves_seen = 0, set()
    for _ in range(25):
        views = views_of(tables)
        moves = player.act_many(views, tables.masks)
        assert (tables.masks[np.arange(20), moves] == 1).all()
        with torch.no_grad():
            outputs = run.model.policy.get_distribution(torch.as_tensor(tables.observations)).distribution.logits.numpy()
            chosen, _ = run.model.predict(tables.observations, deterministic=True, action_masks=tables.masks)
        best = np.sort(np.where(tables.masks == 1, outputs, -np.inf), axis=1)[:, -2:]
        sure = best[:, 1] - best[:, 0] > 1e-4  # sums in another order differ in the last digits
        assert np.array_equal(moves[sure], chosen[sure])
        clear += int(sure.sum())
        moves_seen.update(moves.tolist())
        tables.step(moves)
    assert clear >= 490 and len(moves_seen) >= 20


def views_of(tables: BatchGame) -> np.ndarray:
    from rummy_env.engine.state import new_views
    from rummy_env.engine.view import view

    views = new_views(len(tables.seats))
    for index, seat in enumerate(tables.seats):
        view(tables.states[index], int(seat), views[index])
    return views


def test_training_changes_what_it_is_to_change(train: Any, whole: Whole) -> None:
    """Imitation moves the policy, the first PPO decisions the value network alone, the others both."""
    from safetensors.numpy import load_file

    def weights(done: tuple[int, int]) -> dict[str, np.ndarray]:
        (folder,) = {folder for *at, folder in whole.snapshots if tuple(at) == done} or {None}
        assert folder is not None, [at[:2] for at in whole.snapshots]
        return load_file(folder / "checkpoint.safetensors")

    imitated, warmed = weights((800, 0)), weights((800, 256))
    final = load_file(whole.folder / "checkpoint.safetensors")

    def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray], part: str) -> bool:
        names = [name for name in one if name.startswith("policy/") and part in name]
        assert names
        return all(np.array_equal(one[name], other[name]) for name in names)

    assert same(imitated, warmed, "policy_net") and same(imitated, warmed, "action_net")
    assert not same(imitated, warmed, "value_net")
    assert not same(warmed, final, "policy_net") and not same(warmed, final, "value_net")
    first = weights((200, 0))
    assert not same(first, imitated, "policy_net") and same(first, imitated, "value_net")


# Stopped and resumed


def same_agent(one: Path, other: Path) -> None:
    """Equal but for the seconds that training took."""
    weights = [(folder / "agent" / "weights.safetensors").read_bytes() for folder in (one, other)]
    assert weights[0] == weights[1]
    facts = [json.loads((folder / "agent" / "agent.json").read_text()) for folder in (one, other)]
    for each in facts:
        del each["training"]["seconds"]
    assert facts[0] == facts[1]


def test_a_resumed_run_ends_with_the_same_weights_bit_for_bit(train: Any, whole: Whole) -> None:
    """From any checkpoint: within imitation, before PPO, while the value network warms up, within PPO, at the end."""
    points = [at for *at, _ in whole.snapshots]
    assert {tuple(at) for at in points} >= {(200, 0), (600, 0), (800, 0), (800, 256), (800, 512), (800, 640)}
    from safetensors.numpy import load_file

    final = load_file(whole.folder / "checkpoint.safetensors")
    for imitated, ppo in ((200, 0), (800, 0), (800, 256), (800, 512), (800, 640)):
        source = next(folder for *at, folder in whole.snapshots if at == [imitated, ppo])
        folder = source.with_name(f"resumed-{imitated}-{ppo}")
        shutil.copytree(source, folder)
        assert train.main(["--out", str(folder), "--resume", "--quiet"]) == 0
        same_agent(folder, whole.folder)
        reached = load_file(folder / "checkpoint.safetensors")
        assert set(reached) == set(final)
        assert all(np.array_equal(reached[name], final[name]) for name in final), (imitated, ppo)


def test_a_run_resumed_while_the_value_network_warms_up_keeps_its_learning_rate(train: Any, tmp_path: Path) -> None:
    """The warm-up goes on with the rate that imitation has ended with, which is none that a new run begins with."""
    config = write(
        tmp_path / "config.yaml", {**SHORTER, "ppo_decisions": 384, "value_decisions": 384, "checkpoint_decisions": 128}
    )
    save, copies = train.Run.save_checkpoint, []

    def saved(run: Any) -> None:
        save(run)
        if run.model.num_timesteps == 128:
            copies.append(shutil.copytree(run.folder, tmp_path / "copy"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train.Run, "save_checkpoint", saved)
        assert train.main(["--config", str(config), "--out", str(tmp_path / "run"), "--quiet"]) == 0
    assert train.main(["--out", str(copies[0]), "--resume", "--quiet"]) == 0
    whole, resumed = (files_of(folder) for folder in (tmp_path / "run", copies[0]))
    from safetensors.numpy import load

    one, other = (load(files["checkpoint.safetensors"]) for files in (whole, resumed))
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_equal_seeds_give_equal_agents(train: Any, tmp_path: Path) -> None:
    config = write(tmp_path / "config.yaml", SHORTER)
    for name, seed in (("one", 3), ("other", 3), ("third", 4)):
        out = ["--out", str(tmp_path / name), "--quiet", "--set", f"seed={seed}"]
        assert train.main(["--config", str(config), *out]) == 0
    same_agent(tmp_path / "one", tmp_path / "other")
    weights = [(tmp_path / name / "agent" / "weights.safetensors").read_bytes() for name in ("one", "third")]
    assert weights[0] != weights[1]


def test_ctrl_c_keeps_the_last_checkpoint_and_says_how_to_go_on(tmp_path: Path, train: Any) -> None:
    """A process that is stopped in the middle of PPO exits with 130; its checkpoint can be resumed from."""
    config = write(tmp_path / "config.yaml", {**TINY, "imitation_decisions": 160, "ppo_decisions": 10_000_000})
    folder = tmp_path / "run"
    command = [sys.executable, str(SCRIPT), "--config", str(config), "--out", str(folder), "--quiet"]
    hear = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # also where these tests ignore it
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=hear)
    try:
        deadline = time.monotonic() + 900  # kernels may have to be compiled first
        while decisions(folder) < 200 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert decisions(folder) >= 200
        held = train.main(["--out", str(folder), "--resume", "--quiet"])  # nobody else may train in it meanwhile
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, err
    assert f"{folder / 'checkpoint.safetensors'} is kept; go on with --out {folder} --resume" in err
    assert "Traceback" not in err and out == ""
    assert decisions(folder) >= 200
    assert held == 2
    options = yaml.safe_load((folder / "config.yaml").read_text())
    write(folder / "config.yaml", {**options, "ppo_decisions": decisions(folder) + 128})
    assert train.main(["--out", str(folder), "--resume", "--quiet"]) == 0
    assert (folder / "agent" / "agent.json").is_file()


def decisions(folder: Path) -> int:
    """Of PPO, until the checkpoint of a folder."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(folder / "checkpoint.safetensors", "np") as file:
            return int(json.loads(file.metadata()["rummy-run/1"])["ppo"])
    except (FileNotFoundError, SafetensorError):
        return 0


def test_ctrl_c_before_the_first_checkpoint(
    train: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write(tmp_path / "config.yaml", SHORTER)

    def stop(run: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(train.Run, "imitate", stop)
    assert train.main(["--config", str(config), "--out", str(tmp_path / "run"), "--quiet"]) == 130
    assert "no checkpoint was written yet; begin again with --fresh" in capsys.readouterr().err
    monkeypatch.setattr(train, "open_run", stop)
    assert train.main(["--config", str(config), "--out", str(tmp_path / "run"), "--fresh"]) == 130
    assert "nothing was begun" in capsys.readouterr().err


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError("no space left")])
def test_a_checkpoint_that_is_not_written_to_its_end_leaves_the_old_one(
    error: Any, train: Any, whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = next(folder for *at, folder in whole.snapshots if at == [200, 0])
    folder = shutil.copytree(source, tmp_path / "run")
    before = (folder / "checkpoint.safetensors").read_bytes()
    written = []

    def half(tensors: Any, path: Path, metadata: Any = None) -> None:
        Path(path).write_bytes(before[:1000])
        written.append(Path(path).name)
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(train, "save_file", half)
        assert train.main(["--out", str(folder), "--resume", "--quiet"]) == (130 if error is KeyboardInterrupt else 2)
    assert written == [".checkpoint.safetensors.new"]
    assert (folder / "checkpoint.safetensors").read_bytes() == before
    assert train.main(["--out", str(folder), "--resume", "--quiet"]) == 0
    same_agent(folder, whole.folder)
    assert not [name for name in files_of(folder) if name.endswith(".new")]


# Evaluations


def test_the_agent_is_the_best_that_was_measured(train: Any, tmp_path: Path) -> None:
    """`agent/` changes only for a higher value; a run stopped within an evaluation makes it again and ends the same."""
    config = write(
        tmp_path / "config.yaml", {**SHORTER, "ppo_decisions": 512, "checkpoint_decisions": 128, "evaluate_decisions": 128}
    )
    values = {0: 1.0, 128: 0.5, 256: 3.0, 384: 2.0, 512: 3.0}
    seen: list[int] = []

    def measure(run: Any, candidate: Path) -> float:
        load_agent(candidate, run.rules)
        seen.append(run.model.num_timesteps)
        if seen.count(256) == 1 and run.model.num_timesteps == 256 and stop:
            raise KeyboardInterrupt
        return values[run.model.num_timesteps]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train.Run, "measure", measure)
        stop = False
        assert train.main(["--config", str(config), "--out", str(tmp_path / "one"), "--quiet"]) == 0
        assert seen == [0, 128, 256, 384, 512]
        seen.clear()
        stop = True
        assert train.main(["--config", str(config), "--out", str(tmp_path / "other"), "--quiet"]) == 130
        assert train.main(["--out", str(tmp_path / "other"), "--resume", "--quiet"]) == 0
        assert seen == [0, 128, 256, 256, 384, 512]
    facts = json.loads((tmp_path / "one" / "agent" / "agent.json").read_text())
    assert facts["training"]["ppo_decisions"] == 256
    same_agent(tmp_path / "one", tmp_path / "other")
    assert not (tmp_path / "one" / "candidate").exists() and not (tmp_path / "other" / "candidate").exists()


@pytest.mark.parametrize(("rules", "greedy"), [("international", (-400.0, 50.0)), ("basic", (-100.0, -5.0))])
def test_an_evaluation_is_a_match(rules: str, greedy: tuple[float, float], train: Any, tmp_path: Path) -> None:
    """The value is what the agent gains on the opponent: the same agent as both gains nothing; an untrained one loses."""
    agent = tmp_path / "run" / "agent"
    options = {**SHORTER, "rules": rules, "evaluate_games": 8, "evaluate_players": [2, 3]}
    config = write(tmp_path / "config.yaml", options)
    assert train.main(["--config", str(config), "--out", str(tmp_path / "run"), "--quiet"]) == 0
    assert json.loads((agent / "agent.json").read_text())["rules"] == preset(rules).to_dict()
    for opponent, low, high in ((str(agent), 0.0, 0.0), ("greedy", *greedy)):
        changes = [f"evaluate_opponent={opponent}", "evaluate_decisions=100"]
        run = train.Run(train.read_options(config, changes), tmp_path, quiet=True)
        assert low <= run.measure(agent) <= high
        assert run.measure(agent) == run.measure(agent)


@pytest.mark.parametrize(("rules", "gained"), [("international", -25.0), ("block", -25.0), ("basic", 25.0)])
def test_points_gained_are_those_of_who_wins(rules: str, gained: float, train: Any, tmp_path: Path) -> None:
    """30 points of the learner against 10 and none: good where most points win."""
    run = train.Run(train.read_options(write(tmp_path / "config.yaml", {**SHORTER, "rules": rules}), []), tmp_path, quiet=True)
    tables = run.env.tables
    tables.dones[1], tables.final_seats[1] = True, 2
    state = tables.final_states[1]
    state["players"], state["last_down"], state["scores"][:3] = 3, 1 << 2, [10, 0, 30]
    run.note_outcomes()
    assert list(run.outcomes) == [(gained, True)] and run.outcome_text() == f"{gained:+.1f} points, down 100%"


# What is refused


def refused(train: Any, capsys: pytest.CaptureFixture[str], *arguments: Any) -> str:
    """The message of a call that ends with exit code 2 and no traceback."""
    capsys.readouterr()
    assert train.main([str(argument) for argument in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("train.py: ") and "Traceback" not in err
    return err


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"learning_rate": 1}, "unknown option 'learning_rate'; options are rules, overrides, players"),
    ({7: 1}, "unknown option 7"),
    ({"tables": "8"}, "tables must be of type int, not '8'"),
    ({"tables": True}, "tables must be of type int, not True"),
    ({"tables": 0}, "tables must be at least 1, not 0"),
    ({"lr": "fast"}, "lr must be of type float, not 'fast'"),
    ({"lr": 0}, "lr must be more than 0, not 0.0"),
    ({"lr": float("nan")}, "lr must be a finite number, not nan"),
    ({"gamma": 1.5}, "gamma must be from 0 to 1, not 1.5"),
    ({"imitation_own": -1}, "imitation_own must be from 0 to 1"),
    ({"target_kl": "x"}, "target_kl must be of type float | None"),
    ({"target_kl": 0}, "target_kl must be more than 0"),
    ({"hidden": 16}, "hidden must be of type list[int], not 16"),
    ({"hidden": ["a"]}, "hidden must be of type list[int]"),
    ({"hidden": [0]}, "hidden must be sizes of at least 1"),
    ({"players": [9]}, "players must be from 2 to 6, not 9"),
    ({"players": 4}, "players must be of type list[int], not 4"),
    ({"rounds": 5}, "rounds must be of type str | list[int], not 5"),
    ({"rounds": [8]}, "rounds must be 'random', 'all' or a list"),
    ({"features": ["x"]}, "features must be out of"),
    ({"opponents": ["nobody"]}, "opponents must be a list of names"),
    ({"teacher": "nobody"}, "teacher must be one of random, dumper, greedy, not 'nobody'"),
    ({"reward": "score"}, "reward must be one of points, rank, win"),
    ({"rules": "nowhere"}, "nowhere"),
    ({"overrides": {"max_buys": -1}}, "max_buys"),
    ({"overrides": [1]}, "overrides must be of type dict[str, Any]"),
    ({"seed": -1}, "seed must be from 0 to 4294967295"),
    ({"seed": 2**32}, "seed must be from 0 to 4294967295"),
    ({"evaluate_decisions": 10, "evaluate_opponent": "nobody"}, "no such player: 'nobody'"),
    ({"evaluate_decisions": 10, "evaluate_players": [7]}, "players must be from 2 to 6, not 7"),
    ({"evaluate_players": []}, "evaluate_players must be at least one number"),
    ({"imitation_decisions": 0, "ppo_decisions": 0}, "nothing to do"),
    ({"imitation_decisions": -5}, "imitation_decisions must be 0 or more"),
    ({"batch_size": 1}, "batch_size 1 leaves a batch of one"),
    ({"batch_size": 127}, "batch_size 127 leaves a batch of one out of 128 decisions"),
]


@pytest.mark.parametrize("wrong,message", WRONG, ids=[str(wrong) for wrong, _ in WRONG])
def test_wrong_options_are_named_with_their_file(
    wrong: dict[str, Any], message: str, train: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written, and a run that is in the folder is not thrown away for a new one that cannot be."""
    config = write(tmp_path / "wrong.yaml", {**TINY, **wrong})
    err = refused(train, capsys, "--config", config, "--out", tmp_path / "run")
    assert str(config) in err and message in err
    assert not (tmp_path / "run").exists()
    (tmp_path / "run").mkdir()
    write(tmp_path / "run" / "config.yaml", "of another run")
    assert message in refused(train, capsys, "--config", config, "--out", tmp_path / "run", "--fresh")
    assert files_of(tmp_path / "run") == {"config.yaml": b"of another run"}


@pytest.mark.parametrize(
    "text", ["tables: [", "- tables", "tables", "\x00", "a: !!python/object/apply:os.getcwd []", "lr: 2020-99-99"]
)
def test_a_damaged_configuration_is_named(text: str, train: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write(tmp_path / "wrong.yaml", text)
    assert str(config) in refused(train, capsys, "--config", config, "--out", tmp_path / "run")
    config.write_bytes(b"\xff\xfe\xfa")
    assert str(config) in refused(train, capsys, "--config", config, "--out", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_wrong_calls(train: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config, out = write(tmp_path / "config.yaml", TINY), tmp_path / "run"
    for change, message in (
        ("tables=x", "--set tables=x: tables must be of type int, not 'x'"),
        ("tables=0", "--set tables=0: tables must be at least 1"),
        ("table=8", "--set table=8: unknown option 'table'"),
        ("hidden=[16", "--set hidden=[16: "),
        ("tables", "--set takes name=value, not 'tables'"),
    ):
        assert message in refused(train, capsys, "--config", config, "--out", out, "--set", change)
    assert "--config is needed" in refused(train, capsys, "--out", out)
    assert "no checkpoint.safetensors to resume from" in refused(train, capsys, "--out", out, "--resume")
    assert "leave --config and --set out" in refused(train, capsys, "--config", config, "--out", out, "--resume")
    assert "missing.yaml" in refused(train, capsys, "--config", tmp_path / "missing.yaml", "--out", out)
    for arguments in (["--config", str(config)], ["--out", str(out), "--resume", "--fresh"], ["--out", str(out), "--speed"]):
        with pytest.raises(SystemExit) as stopped:
            train.main(arguments)
        assert stopped.value.code == 2
    assert not out.exists()


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def without_facts(content: bytes) -> bytes:
    from safetensors.numpy import load, save

    return save(load(content), metadata={"rummy-run/1": "{}"})


def without_tables(content: bytes) -> bytes:
    from safetensors.numpy import load, save

    kept = {name: array for name, array in load(content).items() if name != "tables/states"}
    return save(kept, metadata={"rummy-run/1": "{}"})


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": cut,
    "empty": lambda content: b"",
    "header": lambda content: b"\xff" * 8 + content[8:],
    "zip": lambda content: b"PK\x03\x04" * 99,
    "no facts": without_facts,
    "no tables": without_tables,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_refused_and_nothing_overwritten(
    damage: str, train: Any, whole: Whole, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(whole.folder, tmp_path / "run")
    checkpoint = folder / "checkpoint.safetensors"
    checkpoint.write_bytes(DAMAGES[damage](checkpoint.read_bytes()))
    before = files_of(folder)
    err = refused(train, capsys, "--out", folder, "--resume", "--quiet")
    assert f"{checkpoint} cannot be resumed from: " in err
    assert files_of(folder) == before


@pytest.mark.parametrize("changed", [{"tables": 9}, {"hidden": [17]}, {"features": []}])
def test_the_checkpoint_of_another_run_is_refused(
    changed: dict[str, Any], train: Any, whole: Whole, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(whole.folder, tmp_path / "run")
    write(folder / "config.yaml", {**TINY, **changed})
    before = files_of(folder)
    assert "cannot be resumed from" in refused(train, capsys, "--out", folder, "--resume", "--quiet")
    write(folder / "config.yaml", "tables: [")
    assert str(folder / "config.yaml") in refused(train, capsys, "--out", folder, "--resume", "--quiet")
    (folder / "config.yaml").unlink()
    assert "config.yaml" in refused(train, capsys, "--out", folder, "--resume", "--quiet")
    assert {**files_of(folder), "config.yaml": before["config.yaml"]} == before


# The folder


def test_a_run_that_is_there_is_kept(train: Any, whole: Whole, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = shutil.copytree(whole.folder, tmp_path / "run")
    before = files_of(folder)
    err = refused(train, capsys, "--config", whole.config, "--out", folder)
    assert "already holds a run; go on with --resume, or throw it away with --fresh" in err
    assert files_of(folder) == before
    changes = ["--set", "imitation_decisions=8", "--set", "ppo_decisions=0"]
    assert train.main(["--config", str(folder / "config.yaml"), "--out", str(folder), "--fresh", "--quiet", *changes]) == 0
    after = files_of(folder)
    assert yaml.safe_load(after["config.yaml"])["imitation_decisions"] == 8
    assert len(after) == len(before) and all(after[name] != before[name] for name in after if name in before)


FOREIGN = {
    "other files": ["notes.txt"],
    "other files and a configuration": ["notes.txt", "config.yaml"],
    "a configuration and sources": ["config.yaml", "agent/agent.py"],
    "other curves": ["config.yaml", "tensorboard/mine.csv"],
    "a folder within": ["config.yaml", "tensorboard/events.out.tfevents.1/notes.txt", "agent/models/weights.safetensors"],
    "hidden files": ["config.yaml", ".git/config"],
    "an agent without a run": ["agent/agent.json", "agent/weights.safetensors"],
    "a checkpoint without a configuration": ["checkpoint.safetensors"],
}


@pytest.mark.parametrize("names", FOREIGN.values(), ids=FOREIGN)
def test_a_folder_that_is_not_a_runs_is_left_alone(
    names: list[str], train: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither a new run nor --fresh touches a folder in which lies anything that no run has written."""
    config, folder = write(tmp_path / "tiny.yaml", SHORTER), tmp_path / "mine"
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("mine")
    before = files_of(folder)
    assert len(before) == len(names)
    for fresh in ([], ["--fresh"]):
        assert "is not the folder of a run, it holds " in refused(train, capsys, "--config", config, "--out", folder, *fresh)
        assert files_of(folder) == before


def test_links_and_files_are_no_folders_of_runs(train: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a link in the folder points to is not deleted."""
    config, folder, elsewhere = write(tmp_path / "tiny.yaml", SHORTER), tmp_path / "run", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    write(folder / "config.yaml", "")
    write(elsewhere / "agent.json", "mine")
    (folder / "agent").symlink_to(elsewhere)
    assert "it holds agent" in refused(train, capsys, "--config", config, "--out", folder, "--fresh")
    assert files_of(elsewhere) == {"agent.json": b"mine"}
    assert "is not a folder" in refused(train, capsys, "--config", config, "--out", config, "--fresh")
    assert yaml.safe_load(config.read_text()) == SHORTER
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    assert "is not a folder" in refused(train, capsys, "--config", config, "--out", tmp_path / "nowhere")


def test_an_empty_folder_serves(train: Any, tmp_path: Path) -> None:
    config = write(tmp_path / "tiny.yaml", {**SHORTER, "ppo_decisions": 0})
    (tmp_path / "run").mkdir()
    assert train.main(["--config", str(config), "--out", str(tmp_path / "run"), "--quiet"]) == 0
    assert os.listdir(tmp_path / "run" / "agent")


@pytest.mark.parametrize("config", sorted((SCRIPT.parents[1] / "configs" / "train").glob("*.yaml")), ids=lambda path: path.name)
def test_the_configurations_that_come_along_are_sound(config: Path, train: Any) -> None:
    options = train.read_options(config, ["tables=2"])
    train.Run(options, config.parent, quiet=True)
