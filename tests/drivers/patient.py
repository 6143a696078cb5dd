"""Options of Cassandra's driver for machines that are slow, and stall for seconds: its own give up after 5 s of connecting, 2 s of the control connection and 10 s of a statement."""

from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile

from waiting import SECONDS_MAX


def patient(profile=None, **options):
    """Keyword arguments of a Cluster; `profile` is for statements."""
    if profile is None:
        profile = ExecutionProfile(request_timeout=SECONDS_MAX)
    patience = {"connect_timeout": SECONDS_MAX, "control_connection_timeout": SECONDS_MAX, "max_schema_agreement_wait": SECONDS_MAX}
    return {"execution_profiles": {EXEC_PROFILE_DEFAULT: profile}, **patience, **options}
