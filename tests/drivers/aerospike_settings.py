"""Settings of the Aerospike client with time enough for a busy machine: most of its own are one second."""

TIMEOUT_MS = 120_000
KINDS = ["read", "write", "operate", "remove", "apply", "batch", "batch_parent_write", "scan", "query"]


def settings(hosts, policies=None, **config):
    """A configuration; what is given comes before what stands here."""
    policy = {"total_timeout": TIMEOUT_MS, "socket_timeout": TIMEOUT_MS}
    single = {"timeout": TIMEOUT_MS}
    all_policies = {**{kind: policy for kind in KINDS}, "info": single, "admin": single, "login_timeout_ms": TIMEOUT_MS, **(policies or {})}
    return {"hosts": hosts, "connect_timeout": TIMEOUT_MS, "policies": all_policies, **config}
