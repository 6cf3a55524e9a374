"""Images, compose file and Kubernetes example: linted and checked against their schemas; none is built or run here."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml
from worker_machines import find_uv, run_or_skip

from tasks.inference.engine import Build, Engine
from tasks.inference.vllm_child import ServerSettings

ROOT = Path(__file__).parents[2]
CONTAINERS, KUBERNETES = ROOT / "deployments" / "containers", ROOT / "deployments" / "kubernetes"
SERVER_VALUES = KUBERNETES / "helm" / "prefect-server.yaml"
IMAGES = sorted(CONTAINERS.glob("*.Dockerfile"))
DASK_OPERATOR = "dask-kubernetes==2026.3.0"
CRD = "dask_kubernetes/operator/deployment/helm/dask-kubernetes-operator/crds/daskcluster.yaml"


def installed_tool(name: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """A command of this environment."""
    return subprocess.run([Path(sys.executable).parent / name, *words], capture_output=True, text=True)


def resources() -> list[dict[str, Any]]:
    """All documents of the Kubernetes example."""
    return [one for path in sorted(KUBERNETES.glob("*.yaml")) for one in yaml.safe_load_all(path.read_text())]


@pytest.mark.parametrize("image", IMAGES, ids=lambda path: path.name)
def test_an_image_passes_the_linter_and_copies_what_exists(image: Path) -> None:
    done = installed_tool("hadolint", str(image))
    assert (done.returncode, done.stdout) == (0, "")
    for build in ("cpu", "cuda"):
        for source in re.findall(r"^COPY (\S+) \S+$", image.read_text(), re.MULTILINE):
            assert (ROOT / source.replace("${BUILD}", build)).exists(), source


def test_the_linter_finds_a_bad_image(tmp_path: Path) -> None:
    bad = tmp_path / "bad.Dockerfile"
    bad.write_text("FROM python\nRUN cd /tmp && pip install uv\n")
    assert installed_tool("hadolint", str(bad)).returncode != 0


def test_the_image_of_a_server_starts_it_as_the_product_does() -> None:
    engine = Engine(Path("/srv/engine"), Build.CUDA, "0" * 64)
    ours = ServerSettings(one_by_one=True).command(engine, 8000)
    text = (CONTAINERS / "engine.Dockerfile").read_text()
    command = text[text.index("exec ") + len("exec ") :].replace("\\\n", " ").replace('\\"', '"').removesuffix('"]\n')
    words = shlex.split(command)
    here = {"/srv/engine/models/smollm2-135m-instruct": "$MODEL", "smollm2-135m-instruct": "$NAME", "2048": "$CONTEXT"}
    assert sorted(words) == sorted([*(here.get(word, word.replace("127.0.0.1", "0.0.0.0")) for word in ours)])
    sent_nowhere = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1"}
    assert sent_nowhere.items() <= ServerSettings().environment("key").items()
    assert all(f"{name}={value}" in text.split() for name, value in sent_nowhere.items())


def test_the_compose_file_fits_its_schema_and_a_broken_one_does_not(tmp_path: Path) -> None:
    file = CONTAINERS / "compose.yaml"
    check = ("check-jsonschema", "--builtin-schema", "vendor.compose-spec")
    assert installed_tool(*check, str(file)).returncode == 0
    broken = tmp_path / "compose.yaml"
    broken.write_text(file.read_text().replace("retries: 12", "retries: [12]"))
    assert installed_tool(*check, str(broken)).returncode != 0


def test_resources_fit_their_schemas_strictly() -> None:
    ours = [one for one in resources() if "dask.org" not in one["apiVersion"]]
    assert {one["kind"] for one in ours} == {
        "CronJob", "Deployment", "Job", "NetworkPolicy", "PersistentVolumeClaim", "Service", "StatefulSet",
    }  # fmt: skip
    for one in ours:
        kubernetes_validate.validate(one, "1.37", strict=True)
    ours[0]["spec"]["unknown"] = 1
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(ours[0], "1.37", strict=True)


def test_the_dask_cluster_fits_the_operators_schema(tmp_path: Path) -> None:
    run_or_skip([find_uv(), "pip", "install", "--quiet", "--no-deps", "--target", str(tmp_path), DASK_OPERATOR])
    (version,) = yaml.safe_load((tmp_path / CRD).read_text())["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    (cluster,) = [one for one in resources() if one["kind"] == "DaskCluster"]
    jsonschema.validate(cluster, schema)
    cluster["spec"]["worker"]["replicas"] = "four"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(cluster, schema)


def test_the_server_of_the_chart_is_the_locked_version_and_its_secrets_are_names() -> None:
    values = yaml.safe_load(SERVER_VALUES.read_text())
    (version,) = re.findall(r"^prefect==(\S+) ", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert values["global"]["prefect"]["image"]["prefectTag"].startswith(f"{version}-")
    assert values["server"]["basicAuth"].keys() == {"enabled", "existingSecret"}
    assert values["secret"] == {"create": False, "name": "privcert-prefect-database"}
    named = {(one["kind"], one["metadata"]["name"]): one for one in resources()}
    policy = named["NetworkPolicy", "privcert-prefect-server"]
    assert policy["spec"]["podSelector"]["matchLabels"] == values["server"]["podLabels"]
    (claim,) = [one["persistentVolumeClaim"]["claimName"] for one in values["server"]["extraVolumes"]]
    assert ("PersistentVolumeClaim", claim) in named


def test_the_values_fit_the_charts_schema() -> None:
    """PRIVCERT_PREFECT_CHARTS: a folder with Prefect's charts, as `helm pull --untar` leaves them."""
    if not (folder := os.environ.get("PRIVCERT_PREFECT_CHARTS")):
        pytest.skip("PRIVCERT_PREFECT_CHARTS names no folder with Prefect's charts")
    schema = json.loads((Path(folder) / "prefect-server" / "values.schema.json").read_text())
    values = yaml.safe_load(SERVER_VALUES.read_text())
    jsonschema.validate(values, schema)
    values["server"]["unknown"] = 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(values, schema)


def test_nothing_private_is_in_an_example() -> None:
    """Parameters are paths, passwords come from secrets, and nothing is open to the outside."""
    text = "\n".join(path.read_text() for path in [*KUBERNETES.rglob("*.yaml"), CONTAINERS / "compose.yaml"])
    assert "password:" not in text.replace("log_password:", "").lower()
    assert not re.search(r"^\s+ports:\s*\[\"?\d", (CONTAINERS / "compose.yaml").read_text(), re.MULTILINE)
    assert "LoadBalancer" not in text and "NodePort" not in text
