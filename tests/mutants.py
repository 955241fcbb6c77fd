"""Mutants: conditions and constants of the kernels are changed one by one, and the tests have to notice each change.

    python tests/mutants.py --number 60 --seed 0 --out mutants.json

A mutant is one change in a compiled function of `rummy_env/engine`: a comparison turned round or
moved by one, `and` for `or`, plus for minus, a number one higher, a `not` left out. It lives in a copy of the repository; the
tests run there and stop at the first failure: first positions without compilation, for all mutants, then for those left the
tests that are nearest to the file, compiled. Of the copy's disk cache only the kernel and those that call it are left out,
directly or not, so that nothing else is compiled again. What survives is either a gap in the tests or changes nothing;
`equivalent_mutants.yaml` lists the latter with the reason. The report is written after every mutant, and a run with the same
`--out` goes on where the last one stopped. Exit status 1 means that a mutant survived that is not in the list.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeGuard

import yaml
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from rummy_env import kernel

ROOT = Path(__file__).resolve().parents[1]
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.yaml")
FILES = tuple(sorted(f"rummy_env/engine/{path.name}" for path in (ROOT / "rummy_env/engine").glob("*.py")))
COPIED = ("rummy_env", "tests", "configs", "models", "training", "pyproject.toml")
CHECK_POSITIONS = """
from pathlib import Path
from tests.positions_runner import check_scenario, load_scenarios
for game in sorted(Path("tests/positions").glob("*.jsonl"), reverse=True):
    for entry in load_scenarios(game):
        try:
            check_scenario(entry)
        except BaseException:
            raise SystemExit("FAILED position " + entry["id"])
"""
"""What `test_the_engine_plays_by_it` of `test_own_positions.py` does, without the many tests of that file being collected."""
BY_HAND = tuple(
    f"tests/test_melds.py::test_{name}"
    for name in ("hands_worked_out_by_hand", "gaps_worked_out_by_hand", "the_cards_that_the_best_contract_uses")
)
DIGEST = "tests/test_golden.py::test_the_kernels_make_the_same_of_some_games"
PLAY = ("tests/test_engine.py", "tests/test_golden.py", "tests/test_lockstep.py", "tests/test_properties.py")
ORDERS = tuple(
    f"tests/test_options.py::test_{name}"
    for name in (
        "a_position_half_laid_in_another_order_can_be_laid_on", "after_a_half_laid_contract",
        "ascending_leaves_one_order_of_every_lay_down", "in_play_a_mask_is_never_empty_and_differs_only_in_lays",
    )
)  # fmt: skip
WITHOUT_POSITIONS = ("determinize", "order", "random", "view")
"""Files of the engine of which positions show next to nothing; their mutants are compiled at once."""
NEAREST = {
    "determinize": ("tests/test_determinize.py",),
    "order": ORDERS,
    "view": ("tests/test_information.py", "tests/test_determinize.py", "tests/test_properties.py"),
    "contracts": ("tests/test_melds.py", *ORDERS, *PLAY),
}
"""Compiled tests by file, after the digest; `PLAY` for the others."""
PYTEST = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header"]
WARM = [*PYTEST, DIGEST, *BY_HAND, ORDERS[0], "tests/test_engine.py"]
"""Run compiled without a change first, to fill the cache."""

COMPARISONS: dict[type[ast.cmpop], Sequence[str]] = {
    ast.Lt: ("<=", ">="), ast.LtE: ("<", ">"), ast.Gt: (">=", "<="), ast.GtE: (">", "<"), ast.Eq: ("!=",), ast.NotEq: ("==",),
}  # fmt: skip
OPERATORS: dict[type[ast.operator], str] = {ast.Add: "-", ast.Sub: "+", ast.BitOr: "&", ast.BitAnd: "|", ast.LShift: ">>"}


@dataclass(frozen=True)
class Mutant:
    """One change of one line."""

    file: str
    function: str
    line: int
    column: int
    before: str
    after: str
    text: str  # the line as it was, stripped
    repeat: int  # how many lines of the function before it have the same text

    @property
    def name(self) -> str:
        """Names the change by its function and the text of its line, so that other lines can move it without renaming it."""
        place = f"{self.file} {self.function} {self.text} {self.repeat} {self.column} {self.before} {self.after}"
        return hashlib.sha256(place.encode()).hexdigest()[:10]

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.before!r} -> {self.after!r} in `{self.text}`"


def is_kernel(node: ast.AST, wrapping: bool = False) -> TypeGuard[ast.FunctionDef]:
    """Whether a node is a function with the decorator `kernel`, or `wrapping_kernel` if these are wanted too."""
    names = ("kernel", "wrapping_kernel") if wrapping else ("kernel",)
    return isinstance(node, ast.FunctionDef) and any(getattr(mark, "id", "") in names for mark in node.decorator_list)


def changes(source: str, node: ast.AST) -> Iterator[tuple[int, int, int, str]]:
    """Line, first column, last column and the new text, for every change that a node allows."""
    lines = source.splitlines()

    def operator(left: ast.expr, right: ast.expr, new: str) -> Iterator[tuple[int, int, int, str]]:
        """The text between two operands that stand in one line."""
        end = left.end_col_offset
        if left.end_lineno != right.lineno or end is None:
            return
        between = lines[right.lineno - 1][end : right.col_offset]
        sign = between.strip(" ()")
        start = end + between.index(sign)
        yield right.lineno, start, start + len(sign), new

    if isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
        for left, sign, right in zip(operands, node.ops, operands[1:], strict=False):
            for new in COMPARISONS.get(type(sign), ()):
                yield from operator(left, right, new)
    elif isinstance(node, ast.BoolOp):
        for left, right in zip(node.values, node.values[1:], strict=False):
            yield from operator(left, right, "or" if isinstance(node.op, ast.And) else "and")
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        yield from operator(node.left, node.right, OPERATORS[type(node.op)])
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield node.lineno, node.col_offset, node.end_col_offset or 0, str(node.value + 1)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and node.lineno == node.operand.lineno:
        yield node.lineno, node.col_offset, node.operand.col_offset, ""


def mutants_of(file: str) -> list[Mutant]:
    """Every mutant of a file, in the order of its text."""
    source = (ROOT / file).read_text(encoding="utf-8")
    lines = source.splitlines()
    found = []
    for function in [node for node in ast.walk(ast.parse(source)) if is_kernel(node)]:
        for statement in function.body:
            for node in ast.walk(statement):
                for line, start, end, new in changes(source, node):
                    text = lines[line - 1]
                    earlier = [other.strip() for other in lines[function.lineno - 1 : line - 1]]
                    repeat = earlier.count(text.strip())
                    found.append(Mutant(file, function.name, line, start, text[start:end], new, text.strip(), repeat))
    return sorted(set(found), key=lambda mutant: (mutant.line, mutant.column, mutant.after))


def chosen(number: int, seed: int) -> list[Mutant]:
    """A sample of all mutants; each line gives one at most. It hangs on their names alone, so that few change with the code."""
    everything = [mutant for file in FILES for mutant in mutants_of(file)]
    everything.sort(key=lambda mutant: hashlib.sha256(f"{seed} {mutant.name}".encode()).digest())
    by_line: dict[tuple[str, int], Mutant] = {}
    for mutant in everything:
        by_line.setdefault((mutant.file, mutant.line), mutant)
    return list(by_line.values())[:number]


def commands(file: str, compiled: bool) -> list[list[str]]:
    """What is run for a mutant of a file, the quickest first."""
    name = Path(file).stem
    if compiled:
        return [[*PYTEST, DIGEST], [*PYTEST, *NEAREST.get(name, PLAY)]]  # in one command a file named too would run as a whole
    positions = [[sys.executable, "-c", CHECK_POSITIONS]] if name not in WITHOUT_POSITIONS else []
    return [[*PYTEST, *BY_HAND], *positions] if name == "contracts" else positions


def callers(folder: Path, function: str) -> set[str]:
    """A kernel with all kernels that call it, directly or not, by name: machine code of it is part of theirs."""
    used: dict[str, set[str]] = {}
    for path in [*folder.glob("rummy_env/**/*.py"), *folder.glob("tests/*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if is_kernel(node, wrapping=True):
                called = {getattr(inner.func, "id", "") for inner in ast.walk(node) if isinstance(inner, ast.Call)}
                used.setdefault(node.name, set()).update(called)
    found = {function}
    while more := {caller for caller, names in used.items() if names & found} - found:
        found |= more
    return found


class Copy:
    """A copy of the repository in another folder, with a disk cache of its own that holds what the tests compile unchanged."""

    def __init__(self, folder: Path):
        self.folder, self.cache = folder, folder / "cache"
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
            else:
                shutil.copy2(ROOT / name, folder / name)
        kernel.PACKAGE = folder / "rummy_env"  # so that `sources_hash` is that of the copy
        self.warm = self.cache / f"kernels-{kernel.sources_hash()}"

    def failure(self, command: list[str], compiled: bool, limit: float) -> str | None:
        """What fails in the copy as it is: the first test or position, ``timeout``, or None where all is well."""
        mode = {"NUMBA_DISABLE_JIT": str(int(not compiled)), "NUMBA_CACHE_DIR": str(self.cache)}
        environment = {**os.environ, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1", **mode}
        try:
            done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return "timeout"
        if done.returncode == 0:
            return None
        lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
        named = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
        return named[0].split(" - ")[0][:200] if named else f"exit status {done.returncode}"

    def killer(self, mutant: Mutant, compiled: bool, limit: float) -> str | None:
        """What fails with a mutant in it. Files keep their times, by which Numba knows them."""
        path, changed = self.folder / mutant.file, None
        source, times = path.read_text(encoding="utf-8"), (path.stat().st_atime_ns, path.stat().st_mtime_ns)
        lines = source.splitlines(keepends=True)
        line = lines[mutant.line - 1]
        lines[mutant.line - 1] = line[: mutant.column] + mutant.after + line[mutant.column + len(mutant.before) :]
        try:
            path.write_text("".join(lines), encoding="utf-8")
            os.utime(path, ns=times)
            if compiled:
                changed = self.cache / f"kernels-{kernel.sources_hash()}"
                stale = callers(self.folder, mutant.function)
                shutil.rmtree(changed, ignore_errors=True)  # a run that was ended may have left it
                shutil.copytree(self.warm, changed, ignore=lambda _, names: [n for n in names if kernel_of(n) in stale])
            failures = (self.failure(command, compiled, limit) for command in commands(mutant.file, compiled))
            return next(filter(None, failures), None)
        finally:
            path.write_text(source, encoding="utf-8")
            os.utime(path, ns=times)
            if changed:
                shutil.rmtree(changed)


def kernel_of(cached: str) -> str:
    """The kernel of a file of the disk cache, such as ``legal.set_bit-156.py311.nbi``; empty for a folder."""
    return cached.rpartition("-")[0].rpartition(".")[2]


def equivalent() -> dict[str, str]:
    """The reasons why some mutants change nothing, by name."""
    return yaml.safe_load(EQUIVALENT.read_text(encoding="utf-8")) or {} if EQUIVALENT.exists() else {}


def write_report(path: Path, report: dict[str, Any]) -> None:
    """Beside its place, then into it."""
    beside = path.with_name(f".{path.name}.tmp")
    beside.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    os.replace(beside, path)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Change the kernels one by one and see whether the tests notice.")
    parser.add_argument("--number", type=int, default=60, help="how many mutants (60)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (0)")
    parser.add_argument("--limit", type=float, default=1200, help="seconds for the compiled tests of one mutant (1200)")
    parser.add_argument("--out", type=Path, default=Path("mutants.json"), help="the report; what it holds is not run again")
    parser.add_argument("--folder", type=Path, help="for the copy and its cache, which then are kept for the next run")
    parser.add_argument("--list", action="store_true", help="only say which they are")
    parser.add_argument("--only", action="append", help="names of single mutants to run")
    options = parser.parse_args(arguments)
    console = Console()
    sample = chosen(options.number, options.seed)
    if options.only:
        sample = [mutant for file in FILES for mutant in mutants_of(file) if mutant.name in options.only]
    if options.list:
        for mutant in sample:
            console.print(f"{mutant.name} {mutant}", highlight=False, markup=False, soft_wrap=True)
        return 0
    report: dict[str, Any] = json.loads(options.out.read_text(encoding="utf-8")) if options.out.exists() else {}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with tempfile.TemporaryDirectory() as name, Progress(*columns, console=console) as progress:
        copy, sound = Copy(options.folder or Path(name)), set[str]()
        try:
            for compiled in (False, True):
                left = [mutant for mutant in sample if report.get(mutant.name, {}).get("left", True) is True]
                left = [mutant for mutant in left if mutant.name not in report or compiled]
                task = progress.add_task("compiled" if compiled else "positions", total=len(left))
                first = WARM if compiled else [sys.executable, "-c", CHECK_POSITIONS]
                needed = bool(left) and not (compiled and copy.warm.exists())
                if needed and (failed := copy.failure(first, compiled, options.limit)):
                    console.print(f"a test fails without any change: {failed}", highlight=False, markup=False)
                    return 1
                for mutant in left:
                    started = time.monotonic()
                    killer = copy.killer(mutant, compiled, options.limit if compiled else options.limit / 4)
                    if compiled and killer and killer.startswith("FAILED tests/") and killer not in sound:
                        sound.add(killer)
                        if copy.failure([*PYTEST, killer.removeprefix("FAILED ")], True, options.limit):
                            console.print(f"fails without any change too: {killer}", highlight=False, markup=False)
                            return 1
                    seconds = round(time.monotonic() - started) + report.get(mutant.name, {}).get("seconds", 0)
                    entry = {"killed_by": killer, "left": killer is None and not compiled, "seconds": seconds}
                    report[mutant.name] = {**asdict(mutant), **entry}
                    write_report(options.out, report)
                    progress.advance(task)
                    if not entry["left"]:
                        result = killer or "survived"
                        console.print(f"{mutant.name} {mutant}: {result}", highlight=False, markup=False, soft_wrap=True)
        except KeyboardInterrupt:
            console.print(f"stopped; the same command goes on from {options.out}", highlight=False)
            return 130
    reasons = equivalent()
    survivors = [mutant for mutant in sample if report[mutant.name]["killed_by"] is None]
    gaps = [mutant for mutant in survivors if mutant.name not in reasons]
    table = Table(
        "mutant", "place", "change", "why it changes nothing", title=f"{len(sample)} mutants, {len(survivors)} survived"
    )
    for mutant in survivors:
        change = f"{mutant.before} -> {mutant.after or 'nothing'} in {mutant.text}"
        table.add_row(mutant.name, f"{mutant.file}:{mutant.line}", change, reasons.get(mutant.name, "NOT EXPLAINED"))
    console.print(table)
    return int(bool(gaps))


if __name__ == "__main__":
    sys.exit(main())
