"""The mutants themselves: each is a change that still is Python, and the list of equivalent ones names only real ones."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from rummy_env import kernel
from tests.mutants import FILES, ROOT, Copy, callers, chosen, equivalent, kernel_of, mutants_of


def test_every_mutant_is_another_program() -> None:
    """Its text is Python, and its syntax tree is not that of the file."""
    for file in FILES:
        source = (ROOT / file).read_text(encoding="utf-8")
        original = ast.dump(ast.parse(source))
        for mutant in mutants_of(file)[::5]:
            lines = source.splitlines(keepends=True)
            line = lines[mutant.line - 1]
            end = mutant.column + len(mutant.before)
            assert line[mutant.column : end] == mutant.before, str(mutant)
            lines[mutant.line - 1] = line[: mutant.column] + mutant.after + line[end:]
            assert ast.dump(ast.parse("".join(lines))) != original, str(mutant)


def test_mutants_are_many_and_have_names_of_their_own() -> None:
    names = [mutant.name for file in FILES for mutant in mutants_of(file)]
    assert len(names) > 1000 and len(set(names)) == len(names)


def test_a_sample_is_the_same_again_and_spread_over_lines() -> None:
    sample = chosen(60, 0)
    assert sample == chosen(60, 0) != chosen(60, 1)
    assert len({(mutant.file, mutant.line) for mutant in sample}) == 60


def test_equivalent_mutants_exist_and_have_reasons() -> None:
    names = {mutant.name for file in FILES for mutant in mutants_of(file)}
    for name, reason in equivalent().items():
        assert name in names and reason.strip()


def test_the_callers_of_a_kernel_are_found_through_other_files() -> None:
    """Who calls it, who calls these, and no others: `legal` asks `can_buy` in window.py by way of `legal_window`."""
    found = callers(ROOT, "can_buy")
    assert {"can_buy", "legal_window", "legal", "ask_next", "open_window", "apply_discard", "apply", "start_game"} <= found
    assert not {"legal_draw", "begin_turn", "view", "can_form"} & found
    assert {"mix", "below", "shuffle", "round_deck"} <= callers(ROOT, "mix")


def test_files_of_the_disk_cache_are_told_by_their_kernel() -> None:
    """Numba names them; a folder between has the name of none."""
    assert kernel_of("window.can_buy-11.py311.1.nbc") == kernel_of("window.can_buy-11.py311.nbi") == "can_buy"
    assert kernel_of("engine_b1cd06d1f8e3ab6c332519e578ccbe868edf2e68") == ""


def test_a_copy_with_a_mutant_is_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command runs with the change in the file, which then has its text and its time again."""
    monkeypatch.setattr(kernel, "PACKAGE", kernel.PACKAGE)  # `Copy` sets another
    copy = Copy(tmp_path)
    mutant = next(mutant for mutant in mutants_of("rummy_env/engine/window.py") if mutant.before == "not ")
    file = tmp_path / mutant.file
    look = f"raise SystemExit('FAILED ' + str(open({mutant.file!r}).read().count('not tables.rule.turn_player_may_buy')))"
    monkeypatch.setattr("tests.mutants.commands", lambda *_: [[sys.executable, "-c", look]])
    text, time = file.read_text(encoding="utf-8"), file.stat().st_mtime_ns
    assert "turn_player_may_buy" in mutant.text and text.count(mutant.text) == 1
    assert copy.killer(mutant, False, 60) == "FAILED 0"
    assert file.read_text(encoding="utf-8") == text and file.stat().st_mtime_ns == time
