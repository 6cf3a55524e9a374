"""The scheduling of a run's chunks, event by event: one driver, workers of unlike speed that stall and die."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

import simpy


@dataclass(frozen=True, slots=True)
class Cluster:
    """workers: each answers `rate` pairs/s times a lognormal factor with deviation `unlike` of its logarithm.

    chunk_seconds: what a chunk should last. hours_between_deaths: of one worker, exponential. restart_seconds: until it
    scores again, loading of the model included. slow: so many workers have only `slow_share` of their speed.
    stalled: share of the chunks that last stall_factor times as long (a busy disk, a neighbour).
    """

    workers: int
    rate: float
    unlike: float
    chunk_seconds: float
    hours_between_deaths: float
    restart_seconds: float
    slow: int = 0
    slow_share: float = 0.1
    stalled: float = 0.0
    stall_factor: float = 10.0

    @property
    def chunk_pairs(self) -> int:
        """Pairs of one chunk."""
        return max(1, round(self.rate * self.chunk_seconds))

    def speeds(self, rng: random.Random) -> list[float]:
        """One factor a worker, of mean 1 before the slow ones are slowed."""
        drawn = [rng.lognormvariate(-(self.unlike**2) / 2, self.unlike) for _ in range(self.workers)]
        return [speed * (self.slow_share if at < self.slow else 1) for at, speed in enumerate(drawn)]

    def lives(self, rng: random.Random) -> float:
        """Seconds until a worker dies."""
        return rng.expovariate(1.0) * self.hours_between_deaths * 3600


@dataclass(slots=True)
class Simulated:
    """What a run did: chunks lost, seconds of the driver, of the whole."""

    lost: int = 0
    driver_seconds: float = 0.0
    wall_seconds: float = 0.0


@dataclass
class _Partition:
    """Chunks that wait, and how many are back."""

    cluster: Cluster
    driver_seconds: float
    chunks: int
    rng: random.Random
    found: Simulated
    back: int = 0

    def run(self, speeds: list[float]) -> float:
        """Seconds until the last chunk is back."""
        self.environment = simpy.Environment()
        self.desk, self.all_back = simpy.Resource(self.environment), self.environment.event()
        self.waiting = simpy.Store(self.environment)
        self.waiting.items = list(range(self.chunks))
        for speed in speeds:
            self.environment.process(self._work(speed))
        self.environment.run(until=self.all_back)
        return float(self.environment.now)

    def _work(self, speed: float) -> Iterator[simpy.Event]:
        lives = self.cluster.lives(self.rng)
        while True:
            chunk = yield self.waiting.get()
            with self.desk.request() as turn:
                yield turn
                self.found.driver_seconds += self.driver_seconds
                yield self.environment.timeout(self.driver_seconds)
            lasts = self.cluster.chunk_seconds / speed
            if self.rng.random() < self.cluster.stalled:
                lasts *= self.cluster.stall_factor
            if lasts > lives:
                yield self.environment.timeout(lives)
                self.waiting.put(chunk)
                self.found.lost += 1
                yield self.environment.timeout(self.cluster.restart_seconds)
                lives = self.cluster.lives(self.rng)
                continue
            yield self.environment.timeout(lasts)
            lives -= lasts
            self.back += 1
            if self.back == self.chunks:
                self.all_back.succeed()


def simulate(cluster: Cluster, driver_seconds: float, partitions: list[int], seed: int) -> Simulated:
    """Partitions of so many chunks one after the other, each when the last chunk of the one before is back.

    driver_seconds: of one chunk. Workers ask the one driver for a chunk, score it, and now and then die with it: it
    waits again for whoever is free.
    """
    rng, found = random.Random(seed), Simulated()
    speeds = cluster.speeds(rng)
    for chunks in partitions:
        found.wall_seconds += _Partition(cluster, driver_seconds, chunks, rng, found).run(speeds)
    return found
