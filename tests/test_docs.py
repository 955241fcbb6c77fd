"""README.md and docs/: every block of Python and every command is run, links and paths exist, generated files are current."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from rummy_env import Game, layout, move_table, player_names, preset
from rummy_env import cli as rummy_cli
from rummy_env.rewards import REWARDS

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LANGUAGES = {"python", "console", "yaml", ""}
NOT_RUN = {
    "make demo": "downloads the dependencies and trains for minutes",
    "make demo TORCH_INDEX=https://download.pytorch.org/whl/cpu": "the same",
    "make test": "runs these tests",
    "tensorboard --logdir runs/small/tensorboard": "serves until it is stopped",
    "python training/train.py --config configs/train/international.yaml --out runs/international": "trains for many minutes",
    "python training/train.py --config configs/train/progressive.yaml --out runs/progressive": "trains for a minute",
}
"""Commands that are checked without being run, with the reason."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str
    line: int


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page in order."""
    found = []
    text = page.read_text(encoding="utf-8")
    for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        found.append(Block(match[1], match[2], text[: match.start()].count("\n") + 2))
    return found


def commands_of(page: Path) -> list[str]:
    return [line for block in blocks_of(page) if block.language == "console" for line in block.text.splitlines()]


def load(path: Path) -> ModuleType:
    """A script of the repository as a module."""
    spec = importlib.util.spec_from_file_location(f"docs_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


# blocks


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page run in order in one folder that looks like the repository.

    A Python block has a namespace of its own. A YAML block is the file that the text before it names last.
    """
    for entry in ("training", "configs", "tests", "benchmarks", "Makefile", "pyproject.toml"):
        (tmp_path / entry).symlink_to(ROOT / entry)
    monkeypatch.chdir(tmp_path)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    lines = page.read_text(encoding="utf-8").splitlines()
    for block in blocks_of(page):
        if block.language == "python":
            code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
            exec(code, {"__name__": "docs"})
        elif block.language == "yaml":
            named = re.findall(r"`([\w.]+\.yaml)`", " ".join(lines[: block.line - 2]))
            Path(named[-1]).write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            for command in block.text.splitlines():
                if command in NOT_RUN:
                    continue
                ran = subprocess.run(
                    shlex.split(command), env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=900
                )
                assert ran.returncode == 0, f"{page.name}: {command}\n{ran.stdout}\n{ran.stderr}"
                assert "Traceback" not in ran.stderr and "Error" not in ran.stderr, ran.stderr


def test_blocks_are_of_known_kinds() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert len(re.findall(r"^\s*```", text, re.MULTILINE)) == 2 * len(blocks_of(page)), page
        assert {block.language for block in blocks_of(page)} <= LANGUAGES, page


# commands that are not run


def test_commands_not_run_are_in_the_pages() -> None:
    assert set(NOT_RUN) <= {command for page in PAGES for command in commands_of(page)}


def test_make_commands_name_targets_and_variables_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in NOT_RUN:
        program, *words = shlex.split(command)
        if program != "make":
            continue
        for word in words:
            name, equals, _ = word.partition("=")
            assert re.search(rf"^{name} \?=" if equals else rf"^{name}:.*##", makefile, re.MULTILINE), command


def test_configurations_that_are_not_run_are_good() -> None:
    pytest.importorskip("torch")
    train = load(ROOT / "training" / "train.py")
    for command in NOT_RUN:
        words = shlex.split(command)
        if words[:2] == ["python", "training/train.py"]:
            assert words[2::2] == ["--config", "--out"]
            train.read_options(ROOT / words[3], [])
    demo = re.search(r"training/train\.py (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert demo is not None
    train.read_options(ROOT / shlex.split(demo[1])[1], [])


# links and the tree


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_into_the_repository_exist(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    targets = re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", text)
    for target in targets:
        if not target.startswith("https://"):
            assert (page.parent / target.partition("#")[0]).exists(), target


def tree_paths() -> list[str]:
    """The paths of the README's tree."""
    (block,) = (block for block in blocks_of(ROOT / "README.md") if block.language == "")
    paths, folder = [], ""
    for line in block.text.splitlines():
        name = line.split()[0]
        if line.startswith("  "):
            paths.append(folder + name)
        else:
            folder = name if name.endswith("/") else ""
            paths.append(name)
    return paths


def test_the_tree_lists_what_is_there() -> None:
    paths = tree_paths()
    assert len(set(paths)) == len(paths)
    for path in paths:
        assert (ROOT / path).exists(), path
        assert (ROOT / path).is_dir() == path.endswith("/"), path
    package = ROOT / "rummy_env"
    there = {f"rummy_env/{file.name}" for file in package.glob("*.py")} - {"rummy_env/__init__.py"}
    there |= {f"rummy_env/{file.parent.name}/" for file in package.glob("*/__init__.py")}
    assert there == {path for path in paths if path.startswith("rummy_env/") and path != "rummy_env/"}


# generated files


def test_observation_page_is_current() -> None:
    script = load(ROOT / "docs" / "make_observation.py")
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), "run docs/make_observation.py"


def shown(svg: str) -> list[str]:
    """The words of an SVG in order; where they stand is left to the version of rich."""
    return [word for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg) for word in unescape(text).split()]


def test_picture_is_current() -> None:
    script = load(ROOT / "docs" / "make_table.py")
    committed = script.PICTURE.read_text(encoding="utf-8")
    assert shown(committed) == shown(script.picture()), "run docs/make_table.py"
    assert "player" in shown(committed) and "url(http" not in committed


# what the README says in numbers and names


def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def form(move: str) -> tuple[object, ...]:
    """What the rows of the table of actions tell apart."""
    kind, _, rest = move.partition(" ")
    if kind == "lay":
        return kind, rest[0]
    return (kind, rest.startswith("**"), rest.split()[1][0] in "lh") if kind == "off" else (kind,)


def test_the_table_of_actions_is_that_of_the_move_table() -> None:
    table = move_table(preset("international"))
    rows = re.findall(r"^\| (\d+) to (\d+) \| (\d+) \| ([^|]*) \| ([^|]*) \|$", readme(), re.MULTILINE)
    assert f"`Discrete({len(table)})` under the default rules of International" in readme() and len(rows) == 8
    assert f"`Discrete({len(move_table(preset('basic')))})` under those of Basic" in readme()
    following = 0
    for first, last, number, _, examples in rows:
        ids = range(int(first), int(last) + 1)
        assert ids.start == following and len(ids) == int(number)
        following = ids.stop
        texts = re.findall(r"`([^`]+)`", examples)
        assert all(table.id(text) in ids for text in texts), texts
        assert {form(table.text(id_)) for id_ in ids} == {form(text) for text in texts}
    assert following == len(table)


def test_sizes_of_the_observation() -> None:
    rules = preset("international")
    plain, full = layout(rules).size, layout(rules, ("analysis",)).size
    assert f"vector of {plain:,} numbers" in readme() and f"(in Basic {layout(preset('basic')).size:,})" in readme()
    assert f'`features=["analysis"]` | {full - plain} numbers more' in readme()


def test_rewards_are_named() -> None:
    rows = re.findall(r"^\| `(\w+)`[^|]* \| at the end of", readme(), re.MULTILINE)
    assert tuple(rows) == REWARDS


MISSING: dict[str, Callable[[], bool]] = {
    "Tables are drawn as text only": lambda: not (ROOT / "rummy_env" / "render" / "table.py").exists(),
    "Nobody can play against agents": lambda: not hasattr(rummy_cli, "play"),
    "No scripted player plans": lambda: set(player_names()) == {"random", "dumper", "greedy", "learned"},
}
"""What the README says is not there, and how to see that."""


def test_what_is_not_there_is_not_there() -> None:
    """Whoever adds one of these takes its line out of the README and of `MISSING`."""
    section = readme().split("## What is not there yet\n")[1].split("\n## ")[0]
    lines = re.findall(r"^\* (.*)$", section, re.MULTILINE)
    assert len(lines) == len(MISSING)
    for line, (start, still_missing) in zip(lines, MISSING.items(), strict=True):
        assert line.startswith(start)
        assert still_missing(), line


def test_the_hand_that_the_readme_plays_ends_as_it_says() -> None:
    (block,) = (block for block in blocks_of(ROOT / "README.md") if "from_position" in block.text)
    names: dict[str, object] = {"print": lambda *words: None}
    exec(block.text, names)
    game = names["game"]
    assert isinstance(game, Game) and game.last_round is not None
    assert game.last_round.end == "out" and np.array_equal(game.last_round.points, [0, 7])
