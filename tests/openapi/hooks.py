"""What schemathesis leaves out of its requests to the daemon."""

import requests
import schemathesis

# Hyper takes no longer head; whatever it says of one is a bare status (section 2 of the contract).
HEAD_BYTES_MAX = 60_000
# A request may wait for a change for a minute; with one worker everything else would wait with it.
WAIT_S_MAX = 1


@schemathesis.hook
def filter_case(context, case):
    """True for a request that reaches the daemon's own rules, and is answered soon."""
    if waits_long((case.query or {}).get("wait")):
        return False
    sent = case.as_transport_kwargs("http://127.0.0.1")
    try:
        head = requests.Request(
            sent["method"], sent["url"], params=sent.get("params")
        ).prepare()
    except requests.RequestException:
        return True
    lines = (sent.get("headers") or {}).items()
    return len(head.url) + sum(len(str(each)) for line in lines for each in line) < HEAD_BYTES_MAX


def waits_long(wait):
    """True for a number of seconds that takes long. What is none is refused at once."""
    first = wait[0] if isinstance(wait, list) and wait else wait
    try:
        return WAIT_S_MAX < int(first) <= 60
    except (TypeError, ValueError):
        return False
