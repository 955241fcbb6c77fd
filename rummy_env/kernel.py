"""How engine functions are compiled: one decorator, one disk cache that can never serve old rules.

Numba's own disk cache looks at the file of the function alone: an edit in a kernel that a cached kernel calls from
another file goes unseen. The cache folder's name therefore contains a hash of every source file that holds kernels
and of the Numba and NumPy versions, so that any edit starts an empty folder.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
import platformdirs

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = Path(__file__).parent
PYTHON_MODE = bool(numba.config.DISABLE_JIT)
"""True with ``NUMBA_DISABLE_JIT=1``: kernels are then ordinary Python with the same results."""


def kernel_sources() -> list[Path]:
    """The files whose text decides what kernels do, in a fixed order."""
    names = [
        "kernel.py", "memory.py", "cards.py", "melds.py", "moves.py", "analysis.py", "observation.py", "rewards.py",
        "dealing.py", "batch_kernels.py", "single.py",
    ]  # fmt: skip
    folders = ["engine", "players"]
    files = [PACKAGE / name for name in names]
    for folder in folders:
        files.extend(sorted((PACKAGE / folder).glob("*.py")))
    return [file for file in files if file.exists()]


def sources_hash() -> str:
    """Sixteen hexadecimal digits that change with any kernel source and with the Numba or NumPy version."""
    digest = hashlib.sha256(f"numba {numba.__version__} numpy {np.__version__}".encode())
    for file in kernel_sources():
        digest.update(file.name.encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _cache_folder() -> str:
    base = os.environ.get("NUMBA_CACHE_DIR") or platformdirs.user_cache_dir("rummy_env")
    for root in (Path(base), Path(tempfile.gettempdir()) / "rummy_env"):
        folder = root / f"kernels-{sources_hash()}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return str(folder)
    return tempfile.mkdtemp(prefix="rummy_env-kernels-")


CACHE_FOLDER = "" if PYTHON_MODE else _cache_folder()


def kernel(function: F) -> F:
    """Compile a function on first use: without the GIL, cached on disk in `CACHE_FOLDER`."""
    if PYTHON_MODE:
        return function
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = CACHE_FOLDER
    try:
        return numba.njit(nogil=True, cache=True)(function)  # type: ignore[no-any-return]
    finally:
        numba.config.CACHE_DIR = before


def wrapping_kernel(function: F) -> F:
    """A kernel whose 64-bit arithmetic is meant to wrap, which NumPy scalars would warn of in Python mode."""
    if PYTHON_MODE:
        return np.errstate(over="ignore")(function)
    return kernel(function)
