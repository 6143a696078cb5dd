"""Waiting for what comes some time. Bounds are for machines that are slow, and stall for seconds."""

import time

SECONDS_MAX = 240


def wait_until(condition):
    deadline = time.monotonic() + SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(0.05)


def while_it_lives(scenario, seconds):
    """Calls `scenario(seconds)`, which looks at something that lives so long. Where the machine took as long as that, what it found says nothing: then again with a longer life."""
    while True:
        begun = time.monotonic()
        try:
            return scenario(seconds)
        except Exception:
            # A second less: servers count whole ones.
            if time.monotonic() - begun < seconds - 1 or seconds > SECONDS_MAX:
                raise
        seconds *= 5
