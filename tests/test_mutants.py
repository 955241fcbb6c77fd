"""The mutants themselves: each is a change that still is Python, and the list of equivalent ones names only real ones."""

from __future__ import annotations

import ast

from tests.mutants import FILES, ROOT, chosen, equivalent, mutants_of


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
