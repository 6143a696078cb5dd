"""Waiting for what comes some time."""

import time

SECONDS_MAX = 240


def wait_until(condition):
    deadline = time.monotonic() + SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(0.05)


def while_it_lasts(attempt, lifetimes=(2, 20, 90)):
    """Gives what `attempt` gives, which is told how many seconds it has before something expires. Only one that took longer is made again, with more time."""
    for seconds in lifetimes:
        began = time.monotonic()
        try:
            return attempt(seconds)
        except Exception:
            # Times to live are whole seconds: one may end up to a second early.
            if time.monotonic() - began < seconds - 1:
                raise
    raise AssertionError("not even the longest time is enough")
