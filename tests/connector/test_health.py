"""The health of the parts: what counts as well, as ready, as stopped, and the words for each."""

from connector.health import Failing, Health, Waiting, Works
from engine.events import SECOND

T0 = 1_800_000_000 * SECOND


def starting() -> Health:
    return Health.starting(T0, gateway_due=T0 + 60 * SECOND, children_due=T0 + 180 * SECOND)


def running() -> Health:
    return starting().works("gateway").works("children")


def test_a_start_says_what_it_waits_for() -> None:
    health = starting()

    assert health.status_line() == "Starting: waiting for Discord's gateway and the agent's first answer"
    assert health.works("gateway").status_line() == "Starting: waiting for the agent's first answer"
    assert (health.ok, health.ready) == (False, False)


def test_ready_needs_both_and_is_never_taken_back() -> None:
    assert not starting().works("gateway").ready
    assert not starting().works("children").ready
    assert running().ready
    assert running().fails("gateway", "closed", T0, due=T0).ready


def test_a_disk_that_is_down_does_not_hold_up_the_start() -> None:
    health = starting().fails("ledger", "disk is full", T0, due=T0).works("gateway").works("children")

    assert (health.ready, health.ok) == (True, False)


def test_all_is_well() -> None:
    health = running()

    assert health.ok
    assert health.parts() == {"gateway": Works(), "ledger": Works(), "children": Works(), "loop": Works()}
    assert health.status_line() == (
        "Running: connected to Discord, the ledger is written, the agent answers, the lanes answer"
    )


def test_a_failure_tells_since_when_how_often_and_why() -> None:
    health = running()
    for number in range(3):
        health = health.fails("gateway", f"no. {number}", T0 + number * SECOND, due=T0 + (number + 60) * SECOND)

    assert health.gateway == Failing("no. 2", T0, T0 + 62 * SECOND, 2)
    line = "gateway fails since 2027-01-15 08:00:00 UTC, tried 3 times: no. 2"
    assert health.status_line() == f"Running: {line}"
    assert health.works("gateway").ok


def test_a_start_that_fails_has_failed_since_it_waits() -> None:
    health = starting().fails("children", "it exited", T0 + 5 * SECOND, due=T0 + 9 * SECOND)

    assert health.children == Failing("it exited", T0, T0 + 9 * SECOND)
    assert health.status_line() == (
        "Starting: waiting for Discord's gateway; children fails since 2027-01-15 08:00:00 UTC: it exited"
    )


def test_the_same_failure_going_on_is_no_further_try() -> None:
    health = running().fails("ledger", "slow", T0, due=T0 + 1)

    assert health.fails("ledger", "slow", T0 + 2, due=T0 + 3, again=False).ledger == Failing("slow", T0, T0 + 3)


def test_a_part_has_stopped_when_nothing_is_heard_of_it_in_time() -> None:
    health = running().fails("gateway", "closed", T0, due=T0 + 10).fails("ledger", "full", T0, due=T0 + 20)

    assert health.stopped(T0 + 10) == ()
    assert health.stopped(T0 + 11) == ("gateway",)
    assert health.until("gateway", T0 + 30).stopped(T0 + 21) == ("ledger",)
    assert running().stopped(T0 + 10**18) == ()
    assert starting().stopped(T0 + 61 * SECOND) == ("gateway",)


def test_a_sign_of_life_changes_nothing_else() -> None:
    assert starting().until("gateway", T0 + 1).gateway == Waiting("Discord's gateway", T0, T0 + 1)
    assert running().until("gateway", T0) == running()
