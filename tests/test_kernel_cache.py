"""The disk cache of kernels never serves old rules: its folder's name holds a hash of all kernel sources.

Numba itself does not notice an edit in a kernel that a cached kernel calls from another file. So a copy of the package is
edited here, and a small kernel that calls the edited one is run again in another process.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rummy_env import kernel

PACKAGE = Path(kernel.__file__).parent

RUN = """
import json
import numpy as np
import rummy_env
from rummy_env.engine.legal import legal_window
from rummy_env.engine.state import WINDOW, new_states
from rummy_env.engine.tables import BUY_MOVE, PASS_MOVE, compile_tables
from rummy_env.kernel import CACHE_FOLDER
from rummy_env.rules import preset

tables = compile_tables(preset("international"))
state = new_states(1)[0]
state.players, state.phase, state.turn, state.to_act, state.discarder = 3, WINDOW, 0, 1, 2
state.num_stock, state.num_discards = 5, 2
mask = np.zeros(int(tables.num_moves), np.int8)
legal_window(tables, state, mask)
assert mask[PASS_MOVE]
print(json.dumps({
    "package": rummy_env.__file__, "may buy": bool(mask[BUY_MOVE]), "folder": CACHE_FOLDER,
    "hits": sum(legal_window.stats.cache_hits.values()), "misses": sum(legal_window.stats.cache_misses.values()),
}))
"""


class Copy:
    """A copy of the package with a cache of its own."""

    def __init__(self, folder: Path):
        self.folder, self.package, self.cache = folder, folder / "rummy_env", folder / "cache"
        shutil.copytree(PACKAGE, self.package, ignore=shutil.ignore_patterns("__pycache__"))

    def run(self, code: str = RUN, **environment: str) -> Any:
        """Run the code with this copy in a process of its own; what it prints is JSON."""
        out = subprocess.run(
            [sys.executable, "-c", code],
            cwd=self.folder,
            env={
                **os.environ,
                "PYTHONPATH": str(self.folder),
                "PYTHONDONTWRITEBYTECODE": "1",
                "NUMBA_CACHE_DIR": str(self.cache),
                "NUMBA_DISABLE_JIT": "0",
                **environment,
            },
            capture_output=True,
            text=True,
        )
        assert out.returncode == 0, out.stderr
        return json.loads(out.stdout)

    def folders(self) -> set[str]:
        return {path.name for path in self.cache.iterdir()}

    def compiled(self) -> dict[str, int]:
        """Every file of the cache with the time when it was written."""
        return {str(path): path.stat().st_mtime_ns for path in self.cache.rglob("*.nb?")}


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def test_an_edited_callee_in_another_file_is_seen(copy: Copy) -> None:
    """A test edits a callee and sees the caller change; an unchanged copy reuses the cache."""
    first = copy.run()
    assert Path(first["package"]).parent == copy.package
    assert first["may buy"] is True
    assert (first["hits"], first["misses"]) == (0, 1)
    assert copy.folders() == {Path(first["folder"]).name}
    compiled = copy.compiled()
    assert compiled

    again = copy.run()
    assert again == {**first, "hits": 1, "misses": 0}
    assert copy.compiled() == compiled  # nothing new, nothing written anew

    window = copy.package / "engine" / "window.py"  # `legal_window` is in legal.py, `can_buy` that it calls in window.py
    text = window.read_text(encoding="utf-8")
    limit = "if state.buys[seat] >= tables.rule.max_buys:"
    assert text.count(limit) == 1
    window.write_text(text.replace(limit, "if state.buys[seat] >= 0:"), encoding="utf-8")
    edited = copy.run()
    assert edited["may buy"] is False
    assert (edited["hits"], edited["misses"]) == (0, 1)
    assert copy.folders() == {Path(first["folder"]).name, Path(edited["folder"]).name}

    window.write_text(text, encoding="utf-8")
    assert copy.run()["may buy"] is True
    assert len(copy.folders()) == 2  # the old text has its old folder


def test_every_file_with_kernels_is_hashed() -> None:
    """The hash is over all kernel sources: no module outside the list defines a kernel."""
    hashed = kernel.kernel_sources()
    assert len(set(hashed)) == len(hashed) > 10
    with_kernels = [
        path for path in PACKAGE.rglob("*.py") if re.search(r"^\s*@(wrapping_)?kernel\b", path.read_text(), re.MULTILINE)
    ]
    assert len(with_kernels) >= 8
    assert set(with_kernels) <= set(hashed)
    # nor does any module use Numba past the decorator
    assert [p.name for p in PACKAGE.rglob("*.py") if re.search(r"\bnumba\.n?jit\b|import n?jit\b", p.read_text())] == [
        "kernel.py"
    ]


def test_an_edit_of_any_kernel_source_changes_the_folder(copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any edit starts an empty folder, and so does another version of Numba or NumPy."""
    monkeypatch.setattr(kernel, "PACKAGE", copy.package)
    hashes = [kernel.sources_hash()]
    assert hashes[0] == kernel.sources_hash()
    for path in kernel.kernel_sources():
        assert copy.package in path.parents
        path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
        hashes.append(kernel.sources_hash())
    (copy.package / "engine" / "another.py").write_text("", encoding="utf-8")
    hashes.append(kernel.sources_hash())
    for module in (kernel.numba, kernel.np):
        monkeypatch.setattr(module, "__version__", "0.0")
        hashes.append(kernel.sources_hash())
    assert len(set(hashes)) == len(hashes)


def test_where_the_cache_cannot_be_written_another_folder_serves(copy: Copy) -> None:
    """A place for the cache that cannot be written is passed over; the folder has the same name elsewhere."""
    code = "import json; from rummy_env import kernel; print(json.dumps([kernel.CACHE_FOLDER, kernel.sources_hash()]))"
    file = copy.folder / "file"
    file.write_text("")
    spare = copy.folder / "spare"
    spare.mkdir()
    folder, digest = copy.run(code, NUMBA_CACHE_DIR=str(file / "cache"), TMPDIR=str(spare))
    assert Path(folder) == spare / "rummy_env" / f"kernels-{digest}"
    assert Path(folder).is_dir()


def test_without_compilation_there_is_no_cache(copy: Copy) -> None:
    """With ``NUMBA_DISABLE_JIT=1`` kernels are ordinary Python: nothing is written."""
    code = "import json; from rummy_env import kernel; print(json.dumps([kernel.PYTHON_MODE, kernel.CACHE_FOLDER]))"
    assert copy.run(code, NUMBA_DISABLE_JIT="1") == [True, ""]
    assert not copy.cache.exists()
