"""The environment of workers has the versions of the product's own."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = ("cpu.lock", "cuda.lock")
ONLY_CUDA = re.compile(r"onnxruntime-gpu|nvidia-[a-z0-9-]+")  # the product's own environment has the CPU build
NEVER = ("prefect", "duckdb", "great-expectations", "sqlalchemy", "fastapi", "opendp", "vllm", "torch")


def pinned(lock: Path) -> set[str]:
    """Lines NAME==VERSION, with the marker that says where."""
    return {line.removesuffix(" \\") for line in lock.read_text().splitlines() if re.match(r"[a-z0-9]", line)}


def hashes(lock: Path) -> dict[str, set[str]]:
    """Hashes of each NAME==VERSION."""
    found: dict[str, set[str]] = {}
    name = ""
    for line in lock.read_text().splitlines():
        if re.match(r"[a-z0-9]", line):
            name = line.split()[0]
        found.setdefault(name, set()).update(re.findall(r"sha256:[0-9a-f]{64}", line))
    return found


@pytest.mark.parametrize("lock", LOCKS)
def test_versions_and_hashes_are_those_of_the_product(lock: str) -> None:
    worker, product = hashes(ROOT / "deployments" / "worker" / lock), hashes(ROOT / "requirements.lock")
    shared = {name: found for name, found in worker.items() if not ONLY_CUDA.match(name)}
    assert len(shared) > 40
    assert {name: product.get(name) for name in shared} == shared


@pytest.mark.parametrize("lock", LOCKS)
def test_a_worker_has_no_orchestrator_and_no_database(lock: str) -> None:
    names = {line.split("==")[0] for line in pinned(ROOT / "deployments" / "worker" / lock)}
    assert names & set(NEVER) == set()
    assert {"dask", "distributed", "pyarrow", "tokenizers", "onnxruntime" + "-gpu" * (lock == "cuda.lock")} <= names


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_of_workers_has_hashes_and_no_addresses(lock: str) -> None:
    text = (ROOT / "deployments" / "worker" / lock).read_text()
    assert "://" not in text
    assert all("==" in line for line in pinned(ROOT / "deployments" / "worker" / lock))
    assert all(hashes(ROOT / "deployments" / "worker" / lock).values())
