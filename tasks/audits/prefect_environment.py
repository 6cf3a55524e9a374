"""Where Prefect keeps its state and what it must not do; set before Prefect is imported."""

import os

import psutil

from tasks.storage.home import PRIVATE_DIRECTORY, Home


def use_private_prefect(home: Home) -> None:
    """Point Prefect at the private zone and keep it quiet; what the operator set in the environment wins.

    Without PREFECT_API_URL each run starts a server as a child; one that an earlier, killed run left behind is ended.
    """
    folder = home.private / "prefect"
    folder.mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
    settings = {
        "PREFECT_HOME": str(folder),
        "PREFECT_LOCAL_STORAGE_PATH": str(folder / "storage"),
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_LOGGING_LEVEL": "CRITICAL",
        "PREFECT_LOGGING_ROOT_LEVEL": "CRITICAL",
        "PREFECT_LOGGING_TO_API_ENABLED": "false",
        "DASK_LOGGING__DISTRIBUTED": "critical",  # else its notes reach the terminal through Prefect's handler
        "DO_NOT_TRACK": "1",
    }
    for name, value in settings.items():
        os.environ.setdefault(name, value)
    if "PREFECT_API_URL" not in os.environ:
        _end_orphaned_servers(str(folder))


def _end_orphaned_servers(folder: str) -> None:
    """End servers of this home whose parent is gone: kill -9 of a run leaves its server behind."""
    for process in psutil.process_iter(["pid", "cmdline", "ppid"]):
        if "prefect.server.api.server:create_app" not in (process.info["cmdline"] or []):
            continue
        try:
            orphaned = process.info["ppid"] == 1 or not psutil.pid_exists(process.info["ppid"])
            if orphaned and process.environ().get("PREFECT_HOME") == folder:
                process.terminate()
        except psutil.Error:
            continue
