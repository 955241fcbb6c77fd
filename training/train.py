"""Train an agent: imitation of a scripted player, then MaskablePPO against scripted opponents at many tables at once.

    python training/train.py --config configs/train/demo.yaml --out runs/demo
    python training/train.py --out runs/demo --resume

The run's folder holds `config.yaml` (all options), `checkpoint.safetensors` (weights, optimiser, tables: everything that
`--resume` needs to go on as if never stopped), TensorBoard curves in `tensorboard/`, and in `agent/` the saved agent,
which is a player by its path: `rummy evaluate --players runs/demo/agent greedy`. Ctrl-C keeps the last checkpoint.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections import deque
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure
from torch.nn import functional

from rummy_env.arena import play_match, summarize
from rummy_env.players.learned import save_agent
from rummy_env.rules import resolve_rules
from rummy_env.sb3 import RummyVecEnv

CONFIG = "config.yaml"
CHECKPOINT = "checkpoint.safetensors"
AGENT = "agent"


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
    ent_coef: float = 0.01
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    target_kl: float | None = None
    checkpoint_decisions: int = 100_000  # between checkpoints
    evaluate_decisions: int = 0  # between matches that decide whether the agent in `agent/` is replaced; 0: always the last
    evaluate_games: int = 2000  # one-round games of such a match
    evaluate_players: list[int] = field(default_factory=lambda: [4])  # seats; the mean over these numbers counts
    evaluate_opponent: str = "greedy"


def read_options(path: Path, changes: list[str]) -> Options:
    """Options from a YAML file and ``name=value`` changes. ValueError names an unknown option or a wrong value."""
    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: {error}") from None
    if not isinstance(given, dict):
        raise ValueError(f"{path} must be a map from options to values, not {type(given).__name__}")
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals:
            raise ValueError(f"--set takes name=value, not {change!r}")
        given[name] = yaml.safe_load(value)
    known = {option.name: option for option in fields(Options)}
    for name in given:
        if name not in known:
            raise ValueError(f"{path}: unknown option {name!r}; options are {', '.join(known)}")
    options = Options(**given)
    defaults = Options()
    for name in known:
        value, default = getattr(options, name), getattr(defaults, name)
        if isinstance(default, float) and type(value) is int:
            setattr(options, name, float(value))
        elif name not in ("rounds", "target_kl") and type(value) is not type(default):
            raise ValueError(f"{path}: {name} must be of type {type(default).__name__}, not {value!r}")
    for name in ("tables", "steps", "batch_size", "epochs", "threads", "checkpoint_decisions", "evaluate_games"):
        if getattr(options, name) < 1:
            raise ValueError(f"{path}: {name} must be at least 1, not {getattr(options, name)}")
    for name in ("imitation_decisions", "ppo_decisions", "value_decisions", "evaluate_decisions", "seed"):
        if getattr(options, name) < 0:
            raise ValueError(f"{path}: {name} must be 0 or more, not {getattr(options, name)}")
    if options.imitation_decisions + options.ppo_decisions == 0:
        raise ValueError(f"{path}: nothing to do: imitation_decisions and ppo_decisions are both 0")
    return options


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
        self.seconds = 0.0
        self.outcomes: deque[tuple[float, bool]] = deque(maxlen=2000)
        self._started = time.monotonic()
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            disable=quiet,
            transient=False,
            redirect_stdout=False,
        )

    def fit(self) -> None:
        """Do what is left of the run, and save the agent."""
        self.model.set_logger(configure(str(self.folder / "tensorboard"), ["tensorboard"]))
        with self.progress:
            self.imitate()
            self.reinforce()
        self.save_checkpoint()
        self.offer_agent(final=True)

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
            loss = functional.cross_entropy(logits, torch.as_tensor(targets))
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
                task, completed=min(self.imitated, total), note=f"agrees {np.mean(agreement):.1%}  {self.outcome_text()}"
            )
            if self.imitated // len(own) % 50 == 0:
                self.model.logger.record("imitation/loss", loss.item())
                self.model.logger.record("imitation/agreement", float(np.mean(agreement)))
                self.model.logger.dump(self.imitated)
            if self.imitated >= next_checkpoint:
                next_checkpoint += options.checkpoint_decisions
                self.save_checkpoint()
        forget_momenta(policy.optimizer)
        self.save_checkpoint()
        self.offer_agent()

    # reinforcement

    def reinforce(self) -> None:
        """MaskablePPO from where the weights are."""
        options, model = self.options, self.model
        left = options.ppo_decisions - model.num_timesteps
        if left <= 0:
            return
        task = self.progress.add_task("ppo", total=options.ppo_decisions, completed=model.num_timesteps, note="")
        if model.num_timesteps == 0 or model._last_obs is None:
            self.env.seed(options.seed + 1)
            model._last_obs = None
        model.learn(left, callback=_Rollouts(self, task), reset_num_timesteps=False, progress_bar=False)
        self.progress.update(task, completed=options.ppo_decisions)

    def note_outcomes(self) -> None:
        """Remember how the episodes of the last step ended."""
        tables = self.env.tables
        for row in tables.final_scores[tables.dones]:
            own, others = row[2], row[3 : 2 + row[0]]
            self.outcomes.append((float(others.mean() - own), bool(row[1])))

    def outcome_text(self) -> str:
        """The mean of the last episodes."""
        if not self.outcomes:
            return ""
        gained, down = (float(np.mean(values)) for values in zip(*self.outcomes, strict=True))
        return f"points gained {gained:+.1f}  laid down {down:.0%}"

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

    def offer_agent(self, final: bool = False) -> None:
        """Save the agent; with `evaluate_decisions` only if it gains more points than the one that is there."""
        options = self.options
        if not options.evaluate_decisions:
            self.write_agent(self.folder / AGENT)
            return
        candidate = self.folder / "candidate"
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
        """Points a round that a saved agent ends below `evaluate_opponent`, in matches with duplicate deals."""
        options = self.options
        values = []
        for seats in options.evaluate_players:
            result = play_match(
                self.rules,
                [folder, options.evaluate_opponent],
                games=options.evaluate_games,
                seed=options.seed + 1_000_000,
                players_at_table=seats,
            )
            values.append(-summarize(result).differences[0].points.mean)
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
            "best": self.best,
            "seconds": self.seconds + time.monotonic() - self._started,
        }
        beside = self.folder / f".{CHECKPOINT}.new"
        save_file(tensors, beside, metadata={"rummy-run/1": json.dumps(facts)})
        os.replace(beside, self.folder / CHECKPOINT)

    def load_checkpoint(self) -> None:
        """Go back to the checkpoint of the folder. ValueError where it is damaged or of another run."""
        path = self.folder / CHECKPOINT
        try:
            with safe_open(path, "pt") as file:
                facts = json.loads((file.metadata() or {})["rummy-run/1"])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
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
        except (SafetensorError, OSError, KeyError, RuntimeError, ValueError) as error:
            raise ValueError(f"{path} cannot be resumed from: {error}") from None
        self.imitated, self.model.num_timesteps = facts["imitated"], facts["ppo"]
        self.best, self.seconds = facts["best"], facts["seconds"]


def read_array(tensor: torch.Tensor, like: np.ndarray) -> np.ndarray:
    """Bytes of a checkpoint as an array of the shape and type of another."""
    return np.frombuffer(tensor.numpy().tobytes(), like.dtype).reshape(like.shape).copy()


class _Rollouts(BaseCallback):
    """Progress, checkpoints and evaluations between rollouts of PPO."""

    def __init__(self, run: Run, task: Any):
        super().__init__()
        self.run, self.task = run, task
        self._next_checkpoint = self._next_evaluation = 0

    def _on_training_start(self) -> None:
        options, done = self.run.options, self.run.model.num_timesteps
        self._next_checkpoint = done + options.checkpoint_decisions
        self._next_evaluation = done + options.evaluate_decisions

    def _on_rollout_start(self) -> None:
        run, done = self.run, self.run.model.num_timesteps
        if done >= self._next_checkpoint:
            self._next_checkpoint = done + run.options.checkpoint_decisions
            run.save_checkpoint()
        if run.options.evaluate_decisions and done >= self._next_evaluation:
            self._next_evaluation = done + run.options.evaluate_decisions
            run.offer_agent()
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
    try:
        run = open_run(chosen)
    except (ValueError, OSError) as error:
        print(f"train.py: {error}", file=sys.stderr)
        return 2
    try:
        run.fit()
    except KeyboardInterrupt:
        kept = chosen.out / CHECKPOINT
        known = f"{kept} is kept; go on with --out {chosen.out} --resume" if kept.exists() else "no checkpoint was written yet"
        print(f"\nstopped: {known}", file=sys.stderr)
        return 130
    print(f"saved {chosen.out / AGENT}")
    return 0


def open_run(chosen: argparse.Namespace) -> Run:
    """A new run in an empty folder, or the one that is there."""
    folder: Path = chosen.out
    if chosen.resume:
        if chosen.config is not None or chosen.set:
            raise ValueError("--resume goes on with the options of the run; leave --config and --set out")
        if not (folder / CHECKPOINT).is_file():
            raise ValueError(f"{folder} has no {CHECKPOINT} to resume from")
        run = Run(read_options(folder / CONFIG, []), folder, chosen.quiet)
        run.load_checkpoint()
        return run
    if chosen.config is None:
        raise ValueError("--config is needed for a new run")
    options = read_options(chosen.config, chosen.set)
    if (folder / CONFIG).exists():
        if not chosen.fresh:
            raise ValueError(f"{folder} already holds a run; go on with --resume, or throw it away with --fresh")
        shutil.rmtree(folder)
    run = Run(options, folder, chosen.quiet)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CONFIG).write_text(yaml.safe_dump(asdict(options), sort_keys=False), encoding="utf-8")
    return run


if __name__ == "__main__":
    sys.exit(main())
