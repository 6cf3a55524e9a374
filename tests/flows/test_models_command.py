"""`privcert models`: list, check and pull from the command line; no home is needed."""

import json

import onnxruntime
import polars as pl
import pytest
from relayed_server import Relay

from tasks.support import models
from tasks.support.check_pairs import CHECK_PAIRS
from tests.tasks.inference.tiny_onnx import constant_model, write_encoder

TOKENIZER = "tasks/support/nli_mini/tokenizer.json"


def test_list_says_name_kind_and_what_is_here(privcert, tmp_path):
    rows = json.loads(privcert("models", "list", "--json").out)["models"]
    assert {
        "name": "nli-mini",
        "kind": "nli",
        "available_offline": True,
        "revision": None,
        "takes_windows": True,
    } in rows
    assert set(models.SUPPORT_MODELS) <= {row["name"] for row in rows}
    table = privcert("models", "list").out
    assert all(name in table for name in models.SUPPORT_MODELS)
    assert not (tmp_path / "home").exists()


def test_check_gives_accuracy_stability_speed_and_cost(privcert, tmp_path):
    answer = privcert("models", "check", "nli-mini", "--records", "5000", "--statements", "40", "--json")
    facts = json.loads(answer.out)
    pairs = sum(len(yes) + len(no) for yes, no in CHECK_PAIRS.values())
    assert (answer.code, facts["pairs"], facts["refused"]) == (0, pairs, 0)
    for name in ("accuracy", "recall", "precision"):
        low, high = facts[f"{name}_interval"]
        assert 0 < low < facts[name] < high < 1
    assert (facts["neighbour_flips"], facts["changed_bits"], facts["neighbour_comparisons"]) == (0, 0, 416)
    assert facts["pairs_per_second"] > 0
    assert facts["cost"] == {
        "records": 5000,
        "statements": 40,
        "pairs": 200_000,
        "hours": round(200_000 / facts["pairs_per_second"] / 3600, 3),
    }
    assert len(facts["fingerprint"]) == 64
    assert not (tmp_path / "home").exists()


def test_check_answers_a_file_of_pairs_with_a_model_in_a_folder(privcert, tmp_path, request):
    (tmp_path / "mine").mkdir()
    tokenizer = (request.config.rootpath / TOKENIZER).read_text()
    config = {"id2label": {"0": "entailment", "1": "neutral"}}
    write_encoder(tmp_path / "mine", constant_model((1.0, 0.0)), tokenizer, config)  # it says yes to everything
    rows = {"premise": ["a", "b", "c", "d"], "hypothesis": ["e"] * 4, "label": [1, 1, 1, 0]}
    pl.DataFrame(rows).write_csv(tmp_path / "pairs.csv")
    answer = privcert(*"models check ./mine --pairs pairs.csv --premise-windows max --json".split())
    facts = json.loads(answer.out)
    assert (facts["name"], facts["accuracy"], facts["recall"], facts["precision"]) == ("mine", 0.75, 1.0, 0.75)
    assert facts["cost"] is None
    assert "windows" in facts["description"]["truncation"]
    text = " ".join(privcert(*"models check ./mine --pairs pairs.csv --records 10".split()).out.split())
    assert "accuracy 0.750 (0.194 to 0.994, exact 95 %), of 4 pairs" in text
    assert "10 records x 200 statements = 2000 pairs" in text


def test_keyword_answers_the_pairs_of_its_domain(privcert):
    facts = json.loads(privcert(*"models check keyword --domain restaurant-reviews --json".split()).out)
    assert facts["pairs"] >= 20
    assert facts["refused"] > 0
    assert (facts["neighbour_flips"], facts["changed_bits"]) == (0, None)
    assert privcert(*"models check keyword".split()).code == 2


def test_a_model_that_neighbours_move_ends_the_command_with_code_1(privcert, monkeypatch):
    class Crowd:
        name, fingerprint, description = "crowd", "0" * 64, {}

        def verdicts(self, texts, statements):
            import numpy as np

            return np.full((len(texts), len(statements)), len(texts) % 2 == 1)

    entry = models.ModelEntry(lambda reference: Crowd())
    monkeypatch.setattr(models, "SUPPORT_MODELS", {**models.SUPPORT_MODELS, "crowd": entry})
    answer = privcert("models", "check", "crowd", "--json")
    assert (answer.code, json.loads(answer.out)["neighbour_flips"]) == (1, 224)
    assert "depends on other records" in answer.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("check gpt-9", "unknown support model"),
        ("check ./nowhere", "has no model.onnx"),
        ("check nli-mini --pairs absent.csv", "absent.csv"),
        ("check keyword --domain restaurant-reviews --premise-windows max", "premise_windows"),
        ("pull ./nowhere", "nothing to fetch"),
        ("pull owner/model", "OWNER/NAME@COMMIT"),
    ],
)
def test_what_cannot_be_had_is_refused_in_one_line(privcert, arguments, reason):
    answer = privcert("models", *arguments.split())
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert reason in answer.err


def test_pull_of_a_packaged_model_fetches_nothing(privcert):
    answer = json.loads(privcert("models", "pull", "nli-mini", "--json").out)
    assert answer == {"name": "nli-mini", "revision": None, "fetched": False, "files": []}


def pairs_of(path):
    rows = {"premise": ["Cold soup.", "Lovely soup."], "hypothesis": ["The soup was good."] * 2, "label": [0, 1]}
    pl.DataFrame(rows).write_csv(path)
    return str(path)


def test_check_asks_a_judge_one_by_one_unless_it_is_told(privcert, tmp_path, language_server, shared_key):
    at = ["--engine-url", language_server.url, "--language-model", language_server.model]
    answer = privcert("models", "check", "judge", "--pairs", pairs_of(tmp_path / "pairs.csv"), *at, "--json")
    facts = json.loads(answer.out)
    assert (answer.code, answer.err, facts["name"], facts["pairs"]) == (0, "", "judge", 2)
    assert (facts["neighbour_flips"], facts["changed_bits"], facts["neighbour_comparisons"]) == (0, 0, 14)
    assert facts["description"]["batch_shape"].startswith("declared one request at a time")
    assert not (tmp_path / "home").exists()


def test_check_finds_a_judge_whose_engine_mixes_requests(privcert, tmp_path, language_server, shared_key):
    replies = []

    def drift(reply):
        replies.append(reply)
        for entry in reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"] if len(replies) > 1 else []:
            entry["logprob"] -= len(replies) / 64  # the first is the probe
        return reply

    with Relay(language_server.url, change_reply=drift) as relay:
        at = ["--engine-url", relay.url, "--language-model", language_server.model, "--engine-mode", "batched"]
        answer = privcert("models", "check", "judge", "--pairs", pairs_of(tmp_path / "pairs.csv"), *at, "--json")
    assert answer.code == 1
    assert json.loads(answer.out)["changed_bits"]
    assert "depends on other records" in answer.err


def test_the_engine_that_a_judge_needs_is_listed_and_asked_for(privcert, tmp_path, monkeypatch):
    monkeypatch.setenv("PRIVCERT_ENGINE", str(tmp_path / "none"))
    (row,) = [row for row in json.loads(privcert("models", "list", "--json").out)["models"] if row["name"] == "judge"]
    assert (row["kind"], row["available_offline"]) == ("judge", False)
    assert "no: privcert engine install" in privcert("models", "list").out
    answer = privcert("models", "check", "judge")
    assert (answer.code, "privcert engine install" in answer.err) == (2, True)
    answer = privcert("models", "check", "nli-mini", "--language-model", "x")
    assert (answer.code, "leave the flags of the engine out" in answer.err) == (2, True)
    assert privcert("models", "pull", "judge").code == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [("keyword --domain restaurant-reviews", "is no NLI model"), ("nli-mini", "no CUDAExecutionProvider")],
)
def test_a_device_that_a_model_or_this_machine_has_not_is_refused_by_name(privcert, words, said):
    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("this environment's ONNX Runtime computes on CUDA devices")
    answer = privcert(*f"models check {words} --device cuda".split())
    assert (answer.code, answer.err.startswith("privcert: device: "), said in answer.err) == (2, True, True)


def test_the_engine_that_is_installed_is_listed(privcert, engine):
    (row,) = [row for row in json.loads(privcert("models", "list", "--json").out)["models"] if row["name"] == "judge"]
    assert row["available_offline"] is True
