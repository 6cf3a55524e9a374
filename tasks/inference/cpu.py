"""What kind of kernels a CPU makes an inference engine choose."""

import platform
import re
from functools import cache
from pathlib import Path

import numpy as np

VECTOR_FLAG = re.compile(r"avx|fma|f16c|sse4|amx|asimd|sve|sme(?!p)|bf16|i8mm|neon|fphp")  # smep is no vector unit


@cache
def cpu_kernel_class() -> str:
    """Machine architecture and the vector extensions found: engines pick kernels, and so roundings, by these.

    Linux: the flags that the kernel lists. Elsewhere: those that numpy finds.
    """
    return " ".join([platform.machine().lower(), *sorted(_linux_flags() or _numpy_flags())])


def _linux_flags() -> set[str]:
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.exists():
        return set()
    for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name.strip().lower() in ("flags", "features"):
            return {flag for flag in value.lower().split() if VECTOR_FLAG.match(flag)}
    return set()


def _numpy_flags() -> set[str]:
    found: list[str] = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    return {flag.lower() for flag in found}
