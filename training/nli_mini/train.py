"""Fine-tune a small sentence encoder (BERT shape) as a 3-way NLI cross-encoder, on CPU.

Each round trains on public pairs (some premises padded with unrelated ones), on pairs derived from them, on generated
pairs and, where given, on real review sentences.
The learning rate follows the wall clock (--minutes) or the number of steps (--steps; then the run is deterministic).
"""

import argparse
import itertools
import json
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from data import LABELS, NOT_ENTAILMENT, THREE_WAY, Pair, derived_pairs, is_dev, load_pairs, load_sentences, pad_premise
from generate import Grammar, ask, generate
from transformers import AutoTokenizer, BertForSequenceClassification

PATHS = ("pairs", "base", "out", "sentiment")
CURVE_POINTS = 5  # scores of the learning curve, evenly over the schedule
CURVE_PAIRS = 100  # of each source: a score costs training time


def parse_arguments() -> argparse.Namespace:
    """The command line; every path is an argument."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=Path, required=True, help="Parquet: source, split, premise, hypothesis, label.")
    parser.add_argument("--base", type=Path, required=True, help="Folder of the base encoder.")
    parser.add_argument("--out", type=Path, required=True, help="Folder for the trained model.")
    parser.add_argument("--minutes", type=float, default=35.0, help="Wall time of the schedule.")
    parser.add_argument("--steps", type=int, help="Schedule by steps instead of minutes.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2, help="One core each; gradients are averaged.")
    parser.add_argument("--batch-size", type=int, default=32, help="Pairs a process and step.")
    parser.add_argument("--learning-rate", type=float, default=1.5e-4)
    parser.add_argument("--frozen", type=int, default=0, help="First layers that are not trained.")
    parser.add_argument("--dropout", type=float, default=0.0, help="Of hidden states; few rounds need none.")
    parser.add_argument("--part", type=float, default=1.0, help="Share of the public pairs in a round.")
    parser.add_argument("--padded", type=float, default=0.25, help="Share of public pairs with padded premises.")
    parser.add_argument(
        "--derived", type=float, default=0.0, help="Derived pairs (data.derived_pairs) per public pair."
    )
    parser.add_argument("--generated", type=float, default=1.0, help="Generated pairs per public pair.")
    parser.add_argument("--present", type=float, default=0.62, help="Share of generated statements on what is there.")
    parser.add_argument("--sentiment", type=Path, help="Parquet of review sentences: source, positive, text.")
    parser.add_argument("--bf16", action="store_true", help="Autocast; ten times slower on a CPU without bf16.")
    parser.add_argument("--max-tokens", type=int, default=144, help="Joint length in training, in word pieces.")
    return parser.parse_args()


class Schedule:
    """Linear warm-up over 6 % and decay to zero, by minutes or by steps; the same in all processes.

    progress: share of the schedule that is over, 0 to 1. step: updates done.
    """

    def __init__(self, minutes: float, steps: int | None) -> None:
        self.minutes, self.steps, self.started = minutes, steps, time.monotonic()
        self.step, self.progress = 0, 0.0

    def progress_here(self) -> float:
        """What the progress will be after this step, by this process's clock."""
        if self.steps is not None:
            return min(1.0, (self.step + 1) / self.steps)
        return min(1.0, (time.monotonic() - self.started) / 60 / self.minutes)

    def minutes_so_far(self) -> float:
        """Wall time since the start."""
        return round((time.monotonic() - self.started) / 60, 2)

    def advance(self, progress: float) -> None:
        """One step was done; `progress` was agreed by all."""
        self.step, self.progress = self.step + 1, progress

    def factor(self) -> float:
        """What to multiply the learning rate by."""
        return max(1e-3, min(self.progress / 0.06, (1 - self.progress) / 0.94))


def round_of_pairs(public: dict[str, list[Pair]], arguments: argparse.Namespace, number: int) -> list[Pair]:
    """A part of the public pairs (and of the review sentences), derived and generated ones; shuffled."""
    seed = arguments.seed * 1000 + number
    rng = random.Random(seed)
    pairs: list[Pair] = []
    distractors: list[str] = []
    for source, every in sorted(public.items()):
        rows = rng.sample(every, int(len(every) * arguments.part))
        premises = [row.premise for row in rows if len(row.premise) < 200]
        distractors += premises if source in THREE_WAY else []
        derived = derived_pairs(rows, rng) if arguments.derived and source in THREE_WAY else []
        rows = rows + rng.sample(derived, min(len(derived), int(len(rows) * arguments.derived)))
        pairs += [pad_premise(row, premises, rng) if rng.random() < arguments.padded else row for row in rows]
    grammar = Grammar(evaluation=False, present=arguments.present)
    if arguments.sentiment is not None:
        sentences = load_sentences(arguments.sentiment, train=True)
        sentences = rng.sample(sentences, int(len(sentences) * arguments.part))
        pairs += [pair for row in sentences for pair in ask(row, grammar, rng)]
    pairs += generate(int(len(pairs) * arguments.generated), seed, distractors, grammar)
    rng.shuffle(pairs)
    return pairs


def batches(pairs: Sequence[Pair], tokenizer: AutoTokenizer, size: int, limit: int, rng: random.Random) -> Iterator:
    """Encoded batches of near-equal length: (inputs, labels)."""
    for start in range(0, len(pairs), size * 40):
        window = pairs[start : start + size * 40]
        encoded = tokenizer(
            [pair.premise for pair in window],
            [pair.hypothesis for pair in window],
            truncation="longest_first",  # a derived hypothesis may be longer than all that is read
            max_length=limit,
        )
        order = sorted(range(len(window)), key=lambda row: len(encoded["input_ids"][row]))
        chunks = [order[place : place + size] for place in range(0, len(order), size)]
        rng.shuffle(chunks)
        for rows in chunks:
            columns = {name: [values[row] for row in rows] for name, values in encoded.items()}
            inputs = tokenizer.pad(columns, pad_to_multiple_of=8, return_tensors="pt")
            yield dict(inputs), torch.tensor([window[row].label for row in rows])


def in_groups(source: Iterator, size: int) -> Iterator[list]:
    """Full groups of `size` items; a last group that is not full is left out."""
    while len(group := list(itertools.islice(source, size))) == size:
        yield group


def pair_loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Cross entropy; a pair known only not to be entailed costs -log(1 - p(entailment))."""
    log_probabilities = torch.log_softmax(logits.float(), -1)
    three_way = -log_probabilities.gather(1, labels.clamp(min=0).unsqueeze(1)).squeeze(1)
    not_entailed = -torch.logsumexp(log_probabilities[:, [0, 2]], 1)
    return torch.where(labels == NOT_ENTAILMENT, not_entailed, three_way).mean()


@torch.no_grad()
def score_dev(
    model: BertForSequenceClassification, tokenizer: AutoTokenizer, dev: dict[str, list[Pair]]
) -> dict[str, float]:
    """Accuracy of entailment against not on the pairs set aside, by source; the same in all processes."""
    model.eval()
    scores = {}
    for source, pairs in sorted(dev.items()):
        right = 0
        for inputs, labels in batches(pairs, tokenizer, 64, 160, random.Random(0)):
            right += ((model(**inputs).logits.argmax(1) == 1) == (labels == 1)).sum().item()
        scores[source] = round(right / len(pairs), 4)
    model.train()
    return scores


def build_optimizer(model: BertForSequenceClassification, learning_rate: float, frozen: int) -> torch.optim.AdamW:
    """AdamW; word vectors stay as pretrained (half of the parameters, and rare words keep their place).

    frozen: first layers that stay as they are, with all embeddings; each saves about a tenth of the time.
    """
    model.bert.embeddings.word_embeddings.weight.requires_grad_(False)
    for part in (model.bert.embeddings, *model.bert.encoder.layer[:frozen]) if frozen else ():
        part.requires_grad_(False)
    matrices = [weight for weight in model.parameters() if weight.requires_grad and weight.dim() > 1]
    vectors = [weight for weight in model.parameters() if weight.requires_grad and weight.dim() <= 1]
    shared = {"initial_lr": learning_rate}
    groups = [{"params": matrices, "weight_decay": 0.01, **shared}, {"params": vectors, "weight_decay": 0.0, **shared}]
    return torch.optim.AdamW(groups, lr=learning_rate, fused=True)


def load_base(base: Path, dropout: float) -> tuple[BertForSequenceClassification, AutoTokenizer]:
    """The base encoder with an untrained 3-way head, and its tokenizer without padding or truncation of its own."""
    tokenizer = AutoTokenizer.from_pretrained(base)
    tokenizer.model_max_length = 512
    tokenizer.backend_tokenizer.no_padding()
    tokenizer.backend_tokenizer.no_truncation()
    model = BertForSequenceClassification.from_pretrained(
        base,
        num_labels=len(LABELS),
        id2label=dict(enumerate(LABELS)),
        label2id={name: code for code, name in enumerate(LABELS)},
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=0.0,
        attn_implementation="eager",  # trains twice as fast as the fused kernel on CPU
    )
    return model, tokenizer


def average_gradients(model: BertForSequenceClassification, progress: float) -> float:
    """Average the gradients over the processes; returns the progress of process 0, so that all stop together."""
    gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
    flat = torch.cat([gradient.flatten() for gradient in gradients] + [torch.tensor([progress])])
    flat[-1] *= dist.get_world_size() * (dist.get_rank() == 0)
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    start = 0
    for gradient in gradients:
        gradient.copy_(flat[start : start + gradient.numel()].view_as(gradient))
        start += gradient.numel()
    return flat[-1].item()


def train_step(
    model, optimizer, inputs: dict[str, torch.Tensor], labels: torch.Tensor, schedule: Schedule, bf16: bool
) -> float:
    """One update; returns the loss of this process's batch."""
    for group in optimizer.param_groups:
        group["lr"] = group["initial_lr"] * schedule.factor()
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        logits = model(**inputs).logits
    loss = pair_loss(logits, labels)
    loss.backward()
    schedule.advance(average_gradients(model, schedule.progress_here()))
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss.item()


def load_sets(path: Path) -> tuple[dict[str, list[Pair]], dict[str, list[Pair]]]:
    """Pairs set aside for the learning curve, with generated ones of held-out entries; and those to train on."""
    rows = load_pairs(path, "train")
    dev = {source: [pair for pair in pairs if is_dev(pair)] for source, pairs in rows.items()}
    dev["generated"] = generate(CURVE_PAIRS, 11, grammar=Grammar(evaluation=True))
    public = {source: [pair for pair in pairs if not is_dev(pair)] for source, pairs in rows.items()}
    return {source: pairs[:CURVE_PAIRS] for source, pairs in dev.items()}, public


def train(rank: int, arguments: argparse.Namespace, meeting: str) -> None:
    """One of the processes: it takes every n-th batch; process 0 reports and writes the model."""
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=arguments.processes)
    torch.set_num_threads(1)
    torch.manual_seed(arguments.seed)
    rng = random.Random(arguments.seed)
    model, tokenizer = load_base(arguments.base, arguments.dropout)
    dev, public = load_sets(arguments.pairs)
    optimizer = build_optimizer(model, arguments.learning_rate, arguments.frozen)
    model.train()
    schedule, losses, seen, rounds = Schedule(arguments.minutes, arguments.steps), [], 0, 0
    curve: list[dict[str, object]] = []
    while schedule.progress < 1:
        pairs = round_of_pairs(public, arguments, rounds)
        encoded = batches(pairs, tokenizer, arguments.batch_size, arguments.max_tokens, rng)
        for share in in_groups(encoded, arguments.processes):
            losses.append(train_step(model, optimizer, *share[rank], schedule, arguments.bf16))
            seen += sum(len(labels) for _, labels in share)
            if rank == 0 and schedule.progress * CURVE_POINTS >= len(curve) + 1:
                loss = round(float(np.mean(losses[-50:])), 4)
                scores = score_dev(model, tokenizer, dev)
                curve.append({"minutes": schedule.minutes_so_far(), "pairs": seen, "loss": loss, **scores})
                print(json.dumps(curve[-1]), flush=True)
            if schedule.progress >= 1:
                break
        rounds += 1
    if rank == 0:
        model.save_pretrained(arguments.out)
        tokenizer.backend_tokenizer.no_truncation()  # what was set while training is no part of the model
        tokenizer.save_pretrained(arguments.out)
        facts = {name: str(value) for name, value in vars(arguments).items() if name not in PATHS}
        facts |= {"review_sentences": arguments.sentiment is not None}
        facts |= {"steps_done": schedule.step, "pairs_seen": seen, "rounds": rounds, "curve": curve}
        (arguments.out / "train.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    dist.destroy_process_group()


def main() -> None:
    """Train, then write the model, its tokenizer and train.json to --out."""
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train, args=(arguments, f"{folder}/meeting"), nprocs=arguments.processes)


if __name__ == "__main__":
    main()
