"""Train an agent: imitation of a scripted player, then MaskablePPO against scripted opponents at many tables at once.

    python training/train.py --config configs/train/demo.yaml --out runs/demo
    python training/train.py --out runs/demo --resume

The run's folder holds `config.yaml` (all options), `checkpoint.safetensors` (weights, optimiser, tables: everything that
`--resume` needs to go on as if never stopped), TensorBoard curves in `tensorboard/`, and in `agent/` the saved agent,
which is a player by its path: `rummy evaluate --players runs/demo/agent greedy`. Ctrl-C keeps the last checkpoint.
`--fresh` deletes what a run has written and nothing else.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import shutil
import sys
import time
import types
import typing
from collections import deque
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure
from torch.nn import functional

from rummy_env.arena import play_match, summarize
from rummy_env.episode import scores_of
from rummy_env.game import check_players
from rummy_env.players.base import make_player
from rummy_env.players.learned import DESCRIPTION, WEIGHTS, save_agent
from rummy_env.players.scripted import SCRIPTED
from rummy_env.rewards import utilities
from rummy_env.rules import read_yaml, resolve_rules, shown
from rummy_env.sb3 import RummyVecEnv

CONFIG = "config.yaml"
CHECKPOINT = "checkpoint.safetensors"
AGENT = "agent"
CANDIDATE = "candidate"
TENSORBOARD = "tensorboard"


@dataclass
class Options:
    """Everything that a training configuration can say."""

    rules: str = "international"  # a preset's name or the path of a rule set's YAML file
    overrides: dict[str, Any] = field(default_factory=dict)  # rule fields that differ
    players: list[int] = field(default_factory=lambda: [4])  # numbers of players; one is drawn for every episode
    rounds: str | list[int] = "random"  # "random": episodes of one round; a list of rounds to draw from; "all": games
    features: list[str] = field(default_factory=list)  # optional blocks of the observation: analysis
    opponents: list[str] = field(default_factory=lambda: ["greedy"])  # each opponent's seat draws one for every episode
    reward: str = "points"  # points, rank or win
    seed: int = 0
    tables: int = 256  # tables played at once
    hidden: list[int] = field(default_factory=lambda: [256, 256])  # layers of the policy network and of the value network
    threads: int = 2  # torch's
    teacher: str = "greedy"  # the scripted player to imitate first
    imitation_decisions: int = 0  # labelled decisions to imitate; 0: none
    imitation_lr: float = 1e-3  # falls linearly to a tenth
    imitation_smoothing: float = 0.0  # share of the probability that imitation spreads over all legal moves: PPO explores them
    imitation_own: float = 0.5  # share of decisions played as the learner itself would, so that it learns to recover
    ppo_decisions: int = 0  # decisions of PPO in all
    value_decisions: int = 0  # the first of them train the value network alone
    steps: int = 64  # decisions per table between updates
    batch_size: int = 2048
    epochs: int = 2
    lr: float = 2e-4  # falls linearly to a tenth
    gamma: float = 0.999
    gae_lambda: float = 0.95
    clip_range: float = 0.2
    ent_coef: float = 0.01  # falls linearly to zero: explore first, then settle
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    target_kl: float | None = None
    checkpoint_decisions: int = 100_000  # between checkpoints
    evaluate_decisions: int = 0  # between matches that decide whether the agent in `agent/` is replaced; 0: always the last
    evaluate_games: int = 2000  # one-round games of such a match
    evaluate_players: list[int] = field(default_factory=lambda: [4])  # seats; the mean over these numbers counts
    evaluate_opponent: str = "greedy"


def read_options(path: Path, changes: list[str]) -> Options:
    """Options from a YAML file and ``name=value`` changes. ValueError names the file, the option and what is wrong."""
    given = _load_yaml(str(path), path.read_bytes()) or {}
    if not isinstance(given, dict):
        raise ValueError(f"{path} must be a map from options to values, not {type(given).__name__}")
    sources = dict.fromkeys(given, str(path))
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals:
            raise ValueError(f"--set takes name=value, not {change!r}")
        sources[name] = f"--set {change}"
        given[name] = _load_yaml(sources[name], value.encode())
    kinds = typing.get_type_hints(Options)
    texts = {option.name: option.type for option in fields(Options)}
    for name, value in given.items():
        if name not in kinds:
            raise ValueError(f"{sources[name]}: unknown option {shown(name)}; options are {', '.join(kinds)}")
        if not _is_of(value, kinds[name]):
            raise ValueError(f"{sources[name]}: {name} must be of type {texts[name]}, not {shown(value)}")
        if kinds[name] in (float, float | None) and value is not None:
            given[name] = float(value)
    options = Options(**given)
    for name in kinds:
        wrong = _wrong_number(name, getattr(options, name))
        if wrong:
            raise ValueError(f"{sources[name]}: {name} must be {wrong}, not {shown(getattr(options, name))}")
    if options.imitation_decisions + options.ppo_decisions == 0:
        raise ValueError(f"{path}: nothing to do: imitation_decisions and ppo_decisions are both 0")
    if options.ppo_decisions and (options.batch_size == 1 or options.steps * options.tables % options.batch_size == 1):
        raise ValueError(
            f"{path}: batch_size {options.batch_size} leaves a batch of one out of {options.steps * options.tables} decisions "
            "(steps times tables); PPO needs two to compare"
        )
    return options


def _load_yaml(source: str, text: bytes) -> Any:
    try:
        return read_yaml(text)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None


def _is_of(value: object, kind: Any) -> bool:
    """Whether a value from YAML is of the type of an option; a whole number is a float too."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return any(_is_of(value, part) for part in parts)
    if origin is list:
        return isinstance(value, list) and all(_is_of(entry, parts[0]) for entry in value)
    if origin is dict:
        return isinstance(value, dict)
    return type(value) is kind or (kind is float and type(value) is int)


AT_LEAST_1 = ("tables", "steps", "batch_size", "epochs", "threads", "checkpoint_decisions", "evaluate_games")
AT_LEAST_0 = ("imitation_decisions", "ppo_decisions", "value_decisions", "evaluate_decisions", "ent_coef", "vf_coef")
SHARES = ("imitation_smoothing", "imitation_own", "gamma", "gae_lambda")
POSITIVE = ("imitation_lr", "lr", "clip_range", "max_grad_norm", "target_kl")


def _wrong_number(name: str, value: Any) -> str:
    """What the number of an option must be, where it is not."""
    if isinstance(value, float) and not math.isfinite(value):
        return "a finite number"
    if name in AT_LEAST_1 and value < 1:
        return "at least 1"
    if name in AT_LEAST_0 and value < 0:
        return "0 or more"
    if name in SHARES and not 0 <= value <= 1:
        return "from 0 to 1"
    if name in POSITIVE and value is not None and value <= 0:
        return "more than 0"
    if name == "seed" and not 0 <= value < 2**32:
        return "from 0 to 4294967295"
    if name == "hidden" and any(size < 1 for size in value):
        return "sizes of at least 1"
    if name == "evaluate_players" and not value:
        return "at least one number"
    return ""


class Learner(MaskablePPO):
    """MaskablePPO whose first `value_decisions` decisions train the value network alone.

    After imitation the policy is good and the value network knows nothing: its first advantages would be noise.
    """

    value_decisions = 0

    def train(self) -> None:
        if self.num_timesteps > self.value_decisions:
            super().train()
            return
        self.policy.set_training_mode(True)
        losses = []
        for _ in range(self.n_epochs):
            for batch in self.rollout_buffer.get(self.batch_size):
                values = self.policy.predict_values(batch.observations).flatten()
                loss = functional.mse_loss(values, batch.returns)
                self.policy.optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self.policy.parameters(), self.max_grad_norm)
                self.policy.optimizer.step()
                losses.append(loss.item())
        self.logger.record("train/value_loss", float(np.mean(losses)))


class Run:
    """One training run in its folder."""

    def __init__(self, options: Options, folder: Path, quiet: bool = False):
        self.options, self.folder = options, folder
        self.rules = resolve_rules(options.rules, options.overrides or None)
        if options.teacher not in SCRIPTED:
            raise ValueError(f"teacher must be one of {', '.join(SCRIPTED)}, not {options.teacher!r}")
        if options.evaluate_decisions:
            make_player(options.evaluate_opponent, self.rules)
            for number in options.evaluate_players:
                check_players(self.rules, number)
        torch.set_num_threads(options.threads)
        self.env = RummyVecEnv(
            self.rules,
            options.tables,
            options.players,
            options.opponents,
            options.rounds,
            options.reward,
            options.seed,
            options.features,
        )
        self.model = Learner(
            "MlpPolicy",
            self.env,
            seed=options.seed,
            n_steps=options.steps,
            batch_size=options.batch_size,
            n_epochs=options.epochs,
            learning_rate=lambda left: options.lr * (0.1 + 0.9 * left),
            gamma=options.gamma,
            gae_lambda=options.gae_lambda,
            clip_range=options.clip_range,
            ent_coef=options.ent_coef,
            vf_coef=options.vf_coef,
            max_grad_norm=options.max_grad_norm,
            target_kl=options.target_kl,
            policy_kwargs={
                "net_arch": {"pi": options.hidden, "vf": options.hidden},
                "activation_fn": torch.nn.ReLU,
            },
            device="cpu",
        )
        self.model.value_decisions = options.value_decisions
        self.imitated = 0
        self.best: float | None = None
        self.next_checkpoint = self.next_evaluation = 0  # of PPO, in decisions
        self.seconds = 0.0
        self.outcomes: deque[tuple[float, bool]] = deque(maxlen=2000)
        self._started = time.monotonic()
        self._lock: int | None = None
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=10),  # with the rest, a line of 80 characters
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            disable=quiet,
            transient=False,
            redirect_stdout=False,
        )

    def hold_folder(self) -> None:
        """Keep other runs out of the folder until `close`, where the system can. ValueError where one is in it."""
        try:
            import fcntl
        except ImportError:  # Windows
            return
        self._lock = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise ValueError(f"{self.folder} is in use: another process trains in it") from None
        except OSError:  # a file system without locks
            self.close()

    def close(self) -> None:
        """Let go of the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def fit(self) -> None:
        """Do what is left of the run, and save the agent."""
        try:
            self.model.set_logger(configure(str(self.folder / TENSORBOARD), ["tensorboard"]))
            with self.progress:
                self.imitate()
                self.reinforce()
            self.save_checkpoint()
            self.offer_agent()
        finally:
            self.model.logger.close()
            self.close()

    # imitation

    def imitate(self) -> None:
        """Learn the teacher's choices where the learner comes to stand, some of them after moves of its own."""
        options = self.options
        total = options.imitation_decisions
        if self.imitated >= total:
            return
        task = self.progress.add_task("imitation", total=total, completed=self.imitated, note="")
        tables, policy = self.env.tables, self.model.policy
        if self.imitated == 0:
            self.env.reset()
        next_checkpoint = self.imitated + options.checkpoint_decisions
        policy.set_training_mode(True)
        agreement: deque[float] = deque(maxlen=50)
        while self.imitated < total:
            done = self.imitated / total
            set_lr(policy.optimizer, options.imitation_lr * (1 - 0.9 * done))
            rng = np.random.default_rng([options.seed, self.imitated])
            targets = tables.teach(options.teacher)
            logits = masked_logits(policy, tables.observations, tables.masks)
            loss = imitation_loss(logits, torch.as_tensor(targets), tables.masks, options.imitation_smoothing)
            policy.optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(policy.parameters(), options.max_grad_norm)
            policy.optimizer.step()
            own = logits.detach().argmax(1).numpy()
            agreement.append(float((own == targets).mean()))
            play_own = rng.random(len(own)) < options.imitation_own * done
            tables.step(np.where(play_own, own, targets))
            self.note_outcomes()
            self.imitated += len(own)
            self.progress.update(
                task, completed=min(self.imitated, total), note=f"agrees {np.mean(agreement):.1%}, {self.outcome_text()}"
            )
            if self.imitated // len(own) % 50 == 0:
                self.model.logger.record("imitation/loss", loss.item())
                self.model.logger.record("imitation/agreement", float(np.mean(agreement)))
                self.model.logger.dump(self.imitated)
            if next_checkpoint <= self.imitated < total:
                next_checkpoint += options.checkpoint_decisions
                self.save_checkpoint()
        forget_momenta(policy.optimizer)
        self.save_checkpoint()

    # reinforcement

    def reinforce(self) -> None:
        """MaskablePPO from where the weights are."""
        options, model = self.options, self.model
        left = options.ppo_decisions - model.num_timesteps
        if left <= 0:
            return
        task = self.progress.add_task("ppo", total=options.ppo_decisions, completed=model.num_timesteps, note="")
        if model.num_timesteps == 0 or model._last_obs is None:
            if self.imitated:
                self.offer_agent()
            self.next_checkpoint, self.next_evaluation = options.checkpoint_decisions, options.evaluate_decisions
            self.env.seed(options.seed + 1)
            model._last_obs = None
        model.learn(left, callback=_Rollouts(self, task), reset_num_timesteps=False, progress_bar=False)
        self.progress.update(task, completed=options.ppo_decisions)

    def note_outcomes(self) -> None:
        """Remember how the episodes of the last step ended."""
        tables = self.env.tables
        for index in np.flatnonzero(tables.dones):
            state, seat = tables.final_states[index], int(tables.final_seats[index])
            gained = utilities(self.rules, scores_of(state))
            own = gained.pop(seat)
            self.outcomes.append((float(own - np.mean(gained)), bool(int(state["last_down"]) >> seat & 1)))

    def outcome_text(self) -> str:
        """The mean of the last episodes."""
        if not self.outcomes:
            return ""
        gained, down = (float(np.mean(values)) for values in zip(*self.outcomes, strict=True))
        return f"{gained:+.1f} points, down {down:.0%}"

    # files

    def layers(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The policy network as weights and biases."""
        policy = self.model.policy
        modules = [*policy.mlp_extractor.policy_net, policy.action_net]
        return [
            (module.weight.detach().numpy(), module.bias.detach().numpy())
            for module in modules
            if isinstance(module, torch.nn.Linear)
        ]

    def training_facts(self) -> dict[str, Any]:
        """What the saved agent says of its training."""
        return {
            "script": "training/train.py",
            "options": asdict(self.options),
            "imitation_decisions": self.imitated,
            "ppo_decisions": self.model.num_timesteps,
            "seconds": round(self.seconds + time.monotonic() - self._started),
        }

    def write_agent(self, folder: Path) -> None:
        """Save the policy as it is."""
        save_agent(folder, self.rules, self.layers(), self.env.tables.features, self.training_facts())

    def offer_agent(self) -> None:
        """Save the agent; with `evaluate_decisions` only if it gains more points than the one that is there.

        The same weights offered twice change nothing, so a run that was stopped within may offer them again.
        """
        options = self.options
        if not options.evaluate_decisions:
            self.write_agent(self.folder / AGENT)
            return
        candidate = self.folder / CANDIDATE
        self.write_agent(candidate)
        value = self.measure(candidate)
        self.model.logger.record("evaluation/points_gained", value)
        self.model.logger.dump(self.imitated + self.model.num_timesteps)
        self.progress.console.print(
            f"after {self.imitated} + {self.model.num_timesteps} decisions: {value:+.2f} points a round gained on "
            f"{options.evaluate_opponent}" + ("" if self.best is None else f" (best before {self.best:+.2f})")
        )
        if self.best is None or value > self.best:
            self.best = value
            self.write_agent(self.folder / AGENT)
        shutil.rmtree(candidate)

    def measure(self, folder: Path) -> float:
        """Points a round that a saved agent gains on `evaluate_opponent`, in matches with duplicate deals."""
        options = self.options
        values = []
        for seats in options.evaluate_players:
            result = play_match(
                self.rules,
                [folder, options.evaluate_opponent],
                games=options.evaluate_games,
                seed=options.seed + 1_000_000,
                seats=seats,
            )
            values.extend(utilities(self.rules, [summarize(result).differences[0].points.mean]))
        return float(np.mean(values))

    def save_checkpoint(self) -> None:
        """Write everything that going on needs: beside the checkpoint first, then moved into its place."""
        tensors: dict[str, torch.Tensor] = {}
        for name, tensor in self.model.policy.state_dict().items():
            tensors[f"policy/{name}"] = tensor.clone()
        for index, state in self.model.policy.optimizer.state_dict()["state"].items():
            for name, tensor in state.items():
                tensors[f"optimizer/{index}/{name}"] = torch.as_tensor(tensor).clone()
        arrays = dict(self.env.tables.arrays())
        if self.model._last_obs is not None:
            arrays["last_obs"] = self.model._last_obs
            arrays["last_starts"] = self.model._last_episode_starts
        for name, array in arrays.items():
            tensors[f"tables/{name}"] = torch.as_tensor(np.frombuffer(array.tobytes(), np.uint8).copy())
        facts = {
            "imitated": self.imitated,
            "ppo": self.model.num_timesteps,
            "lr": self.model.policy.optimizer.param_groups[0]["lr"],
            "next_checkpoint": self.next_checkpoint,
            "next_evaluation": self.next_evaluation,
            "best": self.best,
            "seconds": self.seconds + time.monotonic() - self._started,
        }
        beside = self.folder / f".{CHECKPOINT}.new"
        text = json.dumps(facts)
        save_file(tensors, beside, metadata={"rummy-run/1": text, "sha256": checkpoint_digest(text, tensors)})
        os.replace(beside, self.folder / CHECKPOINT)

    def load_checkpoint(self) -> None:
        """Go back to the checkpoint of the folder. ValueError where it is damaged or of another run."""
        path = self.folder / CHECKPOINT
        try:
            with safe_open(path, "pt") as file:
                metadata = file.metadata() or {}
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
            # tables go to compiled kernels as they are, which take what a State says of its cards and seats for true
            if metadata["sha256"] != checkpoint_digest(metadata["rummy-run/1"], tensors):
                raise ValueError("its bytes are not those that were written")
            facts = json.loads(metadata["rummy-run/1"])
            policy = {name[7:]: tensor for name, tensor in tensors.items() if name.startswith("policy/")}
            self.model.policy.load_state_dict(policy)
            state = self.model.policy.optimizer.state_dict()
            state["state"] = {}
            for name, tensor in tensors.items():
                if name.startswith("optimizer/"):
                    _, index, entry = name.split("/")
                    state["state"].setdefault(int(index), {})[entry] = tensor
            self.model.policy.optimizer.load_state_dict(state)
            for name, array in self.env.tables.arrays().items():
                array[...] = read_array(tensors[f"tables/{name}"], array)
            if "tables/last_obs" in tensors:
                like = self.env.tables.observations
                self.model._last_obs = read_array(tensors["tables/last_obs"], like)
                self.model._last_episode_starts = read_array(tensors["tables/last_starts"], self.env.tables.dones)
            set_lr(self.model.policy.optimizer, facts["lr"])
            self.imitated, self.model.num_timesteps = facts["imitated"], facts["ppo"]
            self.next_checkpoint, self.next_evaluation = facts["next_checkpoint"], facts["next_evaluation"]
            self.best, self.seconds = facts["best"], facts["seconds"]
        except (SafetensorError, OSError, KeyError, TypeError, RuntimeError, ValueError) as error:
            raise ValueError(f"{path} cannot be resumed from: {type(error).__name__}: {error}") from None


def checkpoint_digest(facts: str, tensors: dict[str, torch.Tensor]) -> str:
    """A hash of all that a checkpoint says."""
    whole = hashlib.sha256(facts.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        whole.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        whole.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy())
    return whole.hexdigest()


def read_array(tensor: torch.Tensor, like: np.ndarray) -> np.ndarray:
    """Bytes of a checkpoint as an array of the shape and type of another."""
    return np.frombuffer(tensor.numpy().tobytes(), like.dtype).reshape(like.shape).copy()


class _Rollouts(BaseCallback):
    """Progress, checkpoints and evaluations between rollouts of PPO."""

    def __init__(self, run: Run, task: Any):
        super().__init__()
        self.run, self.task = run, task

    def _on_rollout_start(self) -> None:
        run, done = self.run, self.run.model.num_timesteps
        # a checkpoint before the evaluation: a run that is stopped within evaluates again
        if done >= run.next_checkpoint:
            run.next_checkpoint = done + run.options.checkpoint_decisions
            run.save_checkpoint()
        if run.options.evaluate_decisions and done >= run.next_evaluation:
            run.offer_agent()
            run.next_evaluation = done + run.options.evaluate_decisions
        run.model.ent_coef = run.options.ent_coef * max(0.0, 1 - done / run.options.ppo_decisions)
        # every rollout has its own seeds, so that a resumed run draws what an uninterrupted one would have drawn
        torch.manual_seed(run.options.seed * 1_000_003 + done)
        np.random.seed((run.options.seed * 1_000_003 + done) % 2**32)

    def _on_step(self) -> bool:
        self.run.note_outcomes()
        self.run.progress.update(
            self.task,
            completed=min(self.run.model.num_timesteps, self.run.options.ppo_decisions),
            note=self.run.outcome_text(),
        )
        return True


def masked_logits(policy: Any, observations: np.ndarray, masks: np.ndarray) -> torch.Tensor:
    """The policy's outputs for a batch with illegal moves far down."""
    latent = policy.mlp_extractor.forward_actor(torch.as_tensor(observations))
    return policy.action_net(latent).masked_fill(torch.as_tensor(masks) == 0, -1e8)


def imitation_loss(logits: torch.Tensor, targets: torch.Tensor, masks: np.ndarray, smoothing: float) -> torch.Tensor:
    """Cross-entropy with the teacher's moves, of which a share is spread evenly over the legal moves."""
    log_probs = functional.log_softmax(logits, 1)
    legal = torch.as_tensor(masks, dtype=torch.float32)
    spread = (log_probs * legal).sum(1) / legal.sum(1)
    chosen = log_probs.gather(1, targets[:, None])[:, 0]
    return -((1 - smoothing) * chosen + smoothing * spread).mean()


def set_lr(optimizer: torch.optim.Optimizer, lr: float) -> None:
    """Set the learning rate of all groups."""
    for group in optimizer.param_groups:
        group["lr"] = lr


def forget_momenta(optimizer: torch.optim.Optimizer) -> None:
    """Start the optimiser anew: the moments of one loss mean nothing for another."""
    optimizer.state.clear()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, help="a YAML file of options (see configs/train/)")
    parser.add_argument("--out", type=Path, required=True, help="the run's folder")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="change one option")
    start = parser.add_mutually_exclusive_group()
    start.add_argument("--resume", action="store_true", help="go on from the folder's checkpoint")
    start.add_argument("--fresh", action="store_true", help="throw away a run that is already in the folder")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    chosen = parser.parse_args(arguments)
    opened = False
    try:
        run = open_run(chosen)
        opened = True
        run.fit()
    except (ValueError, OSError) as error:
        print(f"train.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\nstopped: {how_to_go_on(chosen.out) if opened else 'nothing was begun'}", file=sys.stderr)
        return 130
    print(f"saved {chosen.out / AGENT}")
    return 0


def how_to_go_on(folder: Path) -> str:
    """What to do with the folder of a run that was stopped."""
    if (folder / CHECKPOINT).exists():
        return f"{folder / CHECKPOINT} is kept; go on with --out {folder} --resume"
    return "no checkpoint was written yet; begin again with --fresh"


def open_run(chosen: argparse.Namespace) -> Run:
    """A new run in an empty folder, or the one that is there. Nothing is deleted before the new run is known to be sound."""
    folder: Path = chosen.out
    if chosen.resume:
        if chosen.config is not None or chosen.set:
            raise ValueError("--resume goes on with the options of the run; leave --config and --set out")
        if not (folder / CHECKPOINT).is_file():
            raise ValueError(f"{folder} has no {CHECKPOINT} to resume from")
        run = make_run(read_options(folder / CONFIG, []), folder, chosen.quiet, folder / CONFIG)
        run.hold_folder()
        try:
            run.load_checkpoint()
        except BaseException:
            run.close()
            raise
        return run
    if chosen.config is None:
        raise ValueError("--config is needed for a new run")
    check_folder(folder, chosen.fresh)
    run = make_run(read_options(chosen.config, chosen.set), folder, chosen.quiet, chosen.config)
    folder.mkdir(parents=True, exist_ok=True)
    run.hold_folder()
    empty_folder(folder)
    (folder / CONFIG).write_text(yaml.safe_dump(asdict(run.options), sort_keys=False), encoding="utf-8")
    return run


def make_run(options: Options, folder: Path, quiet: bool, config: Path) -> Run:
    """A run; ValueError names the file of its options."""
    try:
        return Run(options, folder, quiet)
    except ValueError as error:
        raise ValueError(f"{config}: {error}") from None


def check_folder(folder: Path, fresh: bool) -> None:
    """ValueError where a new run in a folder would touch what no run has written, or a run that is not to be thrown away."""
    if not os.path.lexists(folder):
        return
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder")
    entries = sorted(folder.iterdir())
    if not entries:
        return
    foreign = [entry for entry in entries if not _of_a_run(entry)]
    if foreign or not (folder / CONFIG).exists():
        what = (foreign or entries)[0].relative_to(folder)
        raise ValueError(f"{folder} is not the folder of a run, it holds {what}; take an empty or a new folder for --out")
    if not fresh:
        raise ValueError(f"{folder} already holds a run; go on with --resume, or throw it away with --fresh")


def _of_a_run(entry: Path) -> bool:
    """Whether a run writes a file or folder of this name, and nothing else is in it."""
    if entry.is_symlink():
        return False
    if entry.name in (AGENT, CANDIDATE):
        files = (DESCRIPTION, WEIGHTS, f".{DESCRIPTION}.new", f".{WEIGHTS}.new")
        return entry.is_dir() and all(file.name in files and file.is_file() for file in entry.iterdir())
    if entry.name == TENSORBOARD:
        return entry.is_dir() and all(file.name.startswith("events.out.tfevents.") for file in entry.iterdir())
    return entry.name in (CONFIG, CHECKPOINT, f".{CHECKPOINT}.new") and entry.is_file()


def empty_folder(folder: Path) -> None:
    """Delete the run in a folder that `check_folder` has found to hold nothing else; its configuration last."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name == CONFIG):
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()


if __name__ == "__main__":
    sys.exit(main())
