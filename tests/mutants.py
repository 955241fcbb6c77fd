"""Mutants: conditions and constants of the kernels are changed one by one, and the tests have to notice each change.

    python tests/mutants.py --number 60 --seed 0 --out mutants.json

A mutant is one change in a compiled function of `rummy_env/engine` or `rummy_env/melds.py`: a comparison turned round or
moved by one, `and` for `or`, plus for minus, a number one higher, a `not` left out. It lives in a copy of the repository; the
tests run there and stop at the first failure. What survives is either a gap in the tests or changes
nothing; `equivalent_mutants.yaml` lists the latter with the reason. The report is written after every mutant, and a run with
the same `--out` goes on where the last one stopped. Exit status 1 means that a mutant survived that is not in the list.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
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

ROOT = Path(__file__).resolve().parents[1]
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.yaml")
FILES = (*sorted(f"rummy_env/engine/{path.name}" for path in (ROOT / "rummy_env/engine").glob("*.py")), "rummy_env/melds.py")
COPIED = ("rummy_env", "tests", "configs", "models", "training", "pyproject.toml")
QUICK = (
    "tests/test_golden.py::test_the_kernels_make_the_same_of_some_games",
    "tests/test_own_positions.py",
    "tests/test_positions.py",
)
"""Run without compilation: they notice most changes within seconds."""
THOROUGH = (
    "tests/test_melds.py", "tests/test_golden.py", "tests/test_properties.py", "tests/test_determinize.py",
    "tests/test_engine.py", "tests/test_lockstep.py", "tests/test_options.py", "tests/test_information.py",
)  # fmt: skip
"""Run compiled, where the quick ones noticed nothing."""

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


def is_kernel(node: ast.AST) -> TypeGuard[ast.FunctionDef]:
    """Whether a node is a function with the decorator `kernel`."""
    return isinstance(node, ast.FunctionDef) and any(
        getattr(decorator, "id", "") == "kernel" or getattr(getattr(decorator, "func", None), "id", "") == "kernel"
        for decorator in node.decorator_list
    )


def changes(source: str, node: ast.AST) -> Iterator[tuple[int, int, int, str]]:
    """Line, first column, last column and the new text, for every change that a node allows."""
    lines = source.splitlines()

    def operator(left: ast.expr, right: ast.expr, new: str) -> Iterator[tuple[int, int, int, str]]:
        """The text between two operands that stand in one line."""
        if left.end_lineno != right.lineno:
            return
        between = lines[right.lineno - 1][left.end_col_offset : right.col_offset]
        sign = between.strip(" ()")
        start = left.end_col_offset + between.index(sign)
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
    """A sample of all mutants; each line gives one at most."""
    everything = [mutant for file in FILES for mutant in mutants_of(file)]
    random.Random(seed).shuffle(everything)
    by_line: dict[tuple[str, int], Mutant] = {}
    for mutant in everything:
        by_line.setdefault((mutant.file, mutant.line), mutant)
    return list(by_line.values())[:number]


def copy_repository(folder: Path) -> None:
    """What the tests need, in another folder."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)


def run_tests(folder: Path, limit: float) -> str | None:
    """What noticed a change in a copy: the first test that failed, ``timeout``, or None where all passed."""
    for tests, mode in ((QUICK, {"NUMBA_DISABLE_JIT": "1"}), (THOROUGH, {"NUMBA_CACHE_DIR": str(folder / "cache")})):
        environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **mode}
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", *tests]
        try:
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return "timeout"
        finally:
            shutil.rmtree(folder / "cache", ignore_errors=True)
        if done.returncode != 0:
            named = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
            return named[0].split(" - ")[0][:200] if named else f"exit status {done.returncode}"
    return None


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
    parser.add_argument("--limit", type=float, default=600, help="seconds for the tests of one mutant (600)")
    parser.add_argument("--out", type=Path, default=Path("mutants.json"), help="the report; what it holds is not run again")
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
    left = [mutant for mutant in sample if mutant.name not in report]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with tempfile.TemporaryDirectory() as name, Progress(*columns, console=console) as progress:
        folder = Path(name)
        copy_repository(folder)
        task = progress.add_task("mutants", total=len(sample), completed=len(sample) - len(left))
        try:
            for mutant in left:
                path, started = folder / mutant.file, time.monotonic()
                source = path.read_text(encoding="utf-8")
                lines = source.splitlines(keepends=True)
                line = lines[mutant.line - 1]
                end = mutant.column + len(mutant.before)
                lines[mutant.line - 1] = line[: mutant.column] + mutant.after + line[end:]
                path.write_text("".join(lines), encoding="utf-8")
                killer = run_tests(folder, options.limit)
                path.write_text(source, encoding="utf-8")
                report[mutant.name] = {**asdict(mutant), "killed_by": killer, "seconds": round(time.monotonic() - started)}
                write_report(options.out, report)
                progress.advance(task)
                console.print(f"{mutant.name} {mutant}: {killer or 'survived'}", highlight=False, markup=False, soft_wrap=True)
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
