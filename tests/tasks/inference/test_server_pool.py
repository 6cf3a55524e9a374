"""Which server takes the next request."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tasks.inference.protocol import EngineRefusedError, EngineUnavailableError
from tasks.inference.server_pool import ServerPool

ONE, TWO = "http://127.0.0.1:1", "http://127.0.0.1:2"


def both_up(pool: ServerPool) -> None:
    """A pool asks for the health of one server a call; two calls have asked both."""
    for url in [pool.take(), pool.take()]:
        pool.give(url, failed=False)


def test_the_least_busy_server_is_taken_and_no_server_gets_more_than_its_slots() -> None:
    pool = ServerPool([ONE, TWO], lambda _: True, in_flight=3, patience_seconds=5)
    both_up(pool)
    assert sorted(pool.take() for _ in range(6)) == [ONE] * 3 + [TWO] * 3


def test_a_request_waits_until_a_slot_is_returned() -> None:
    pool = ServerPool([ONE], lambda _: True, in_flight=1, patience_seconds=5)
    pool.take()
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(pool.take)
        time.sleep(0.2)
        assert not waiting.done()
        pool.give(ONE, failed=False)
        assert waiting.result(timeout=5) == ONE


def test_never_more_in_flight_than_slots_with_many_threads() -> None:
    pool = ServerPool([ONE, TWO], lambda _: True, in_flight=2, patience_seconds=5)
    lock, busy, most = threading.Lock(), {ONE: 0, TWO: 0}, {ONE: 0, TWO: 0}

    def work(_: int) -> None:
        url = pool.take()
        with lock:
            busy[url] += 1
            most[url] = max(most[url], busy[url])
        time.sleep(0.001)
        with lock:
            busy[url] -= 1
        pool.give(url, failed=False)

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(work, range(400)))
    assert most == {ONE: 2, TWO: 2}


def test_a_server_that_was_tried_is_taken_again_only_where_there_is_no_other() -> None:
    pool = ServerPool([ONE, TWO], lambda _: True, in_flight=2, patience_seconds=5)
    both_up(pool)
    assert pool.take({ONE}) == TWO
    assert pool.take({ONE}) == TWO
    assert pool.take({ONE}) == ONE


def test_a_server_that_failed_gets_no_request_until_it_is_healthy_again() -> None:
    ill = {ONE}
    pool = ServerPool([ONE, TWO], lambda url: url not in ill, in_flight=50, patience_seconds=5)
    assert {pool.take() for _ in range(20)} == {TWO}
    ill.clear()
    ill.add(TWO)
    pool.give(TWO, failed=True)
    assert {pool.take() for _ in range(20)} == {ONE}


def test_patience_ends_where_no_server_is_healthy() -> None:
    pool = ServerPool([ONE, TWO], lambda _: False, in_flight=1, patience_seconds=0.1)
    with pytest.raises(EngineUnavailableError, match="2 of 2 language-model servers are not healthy"):
        pool.take()


def test_what_a_health_check_raises_reaches_the_caller() -> None:
    def other_model(_: str) -> bool:
        raise EngineRefusedError("another model")

    with pytest.raises(EngineRefusedError, match="another model"):
        ServerPool([ONE], other_model, in_flight=1, patience_seconds=1).take()


@pytest.mark.parametrize(("urls", "in_flight"), [([], 1), ([ONE, ONE], 1), ([ONE], 0)])
def test_a_pool_without_a_slot_or_with_one_server_twice_is_refused(urls: list[str], in_flight: int) -> None:
    with pytest.raises(ValueError, match="a pool needs"):
        ServerPool(urls, lambda _: True, in_flight, patience_seconds=1)


def test_servers_that_are_not_healthy_are_named_among_how_many() -> None:
    pool = ServerPool([ONE, TWO], lambda url: url == ONE, in_flight=1, patience_seconds=0.1)
    with pytest.raises(EngineUnavailableError, match=f"^1 of 2 language-model servers is not healthy: {TWO}$"):
        pool.ask_all()
    none = ServerPool([ONE, TWO], lambda _: False, in_flight=1, patience_seconds=0.1)
    with pytest.raises(EngineUnavailableError, match=f"^2 of 2 language-model servers are not healthy: {ONE}, {TWO}$"):
        none.take()
