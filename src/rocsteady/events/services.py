"""Services and jobs as their managers see them: systemd, logind, Slurm, Ray."""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_SYSTEMD = "https://www.freedesktop.org/software/systemd/man/latest/"
_UNIT = r"(?P<service>[\w@.\\:-]+\.service)"

KINDS = (
    Kind(
        name="service-start-timeout",
        needles=("operation timed out. Terminating",),
        pattern=_UNIT + r": (?P<phase>start|start-pre|start-post) operation timed out\. Terminating",
        sample="systemd[1]: vllm.service: start operation timed out. Terminating.",
        source=_SYSTEMD + "systemd.service.html",
        about="service",
    ),
    Kind(
        name="service-watchdog",
        needles=("Watchdog timeout (limit", "result 'watchdog'"),
        pattern=_UNIT + r": (?:Watchdog timeout \(limit (?P<limit>[^)]+)\)|Failed with result 'watchdog')",
        sample="systemd[1]: vllm.service: Watchdog timeout (limit 30s)!",
        source=_SYSTEMD + "systemd.service.html",
        about="service",
    ),
    Kind(
        name="service-stop-timeout",
        needles=("timed out. Killing",),
        pattern=_UNIT + r": State '(?P<state>[\w-]+)' timed out\. Killing",
        sample="systemd[1]: vllm.service: State 'stop-sigterm' timed out. Killing.",
        source=_SYSTEMD + "systemd.service.html",
        about="service",
    ),
    Kind(
        name="service-exited",
        needles=("Main process exited, code=",),
        pattern=_UNIT + r": Main process exited, code=(?P<code>\w+), status=(?P<status>\d+)(?:/(?P<status_name>\w+))?",
        sample=("systemd[1]: vllm.service: Main process exited, code=killed, status=9/KILL",
                "systemd[1]: vllm.service: Main process exited, code=exited, status=1/FAILURE"),
        source=_SYSTEMD + "systemd.exec.html",
        level="notice",
        about="service",
    ),
    Kind(
        name="service-start-limit",
        needles=("Start request repeated too quickly", "result 'start-limit-hit'"),
        pattern=_UNIT + r": (?:Start request repeated too quickly|Failed with result 'start-limit-hit')",
        sample="systemd[1]: vllm.service: Start request repeated too quickly.",
        source=_SYSTEMD + "systemd.unit.html",
        about="service",
    ),
    Kind(
        name="service-stopping",
        needles=("Stopping vllm", "Stopping sglang", "Stopping ollama", "Stopping docker", "Stopping containerd", "Stopping llama"),
        pattern=r"Stopping (?P<service>(?:vllm|sglang|ollama|docker|containerd|llama)[\w@.-]*)",
        sample="systemd[1]: Stopping vllm.service - vLLM OpenAI server...",
        source=_SYSTEMD + "systemctl.html",
        level="notice",
        about="service",
    ),
    Kind(
        name="session-killed",
        needles=("Killing process", "Waiting for processes to exit", "Stopping User Manager"),
        pattern=r"(?P<scope>session-\w+\.scope|user@\d+\.service): Killing process (?P<pid>\d+) \((?P<process>[^)]+)\) with signal (?P<signal>SIG\w+)",
        sample="systemd[1]: session-42.scope: Killing process 4312 (python3) with signal SIGTERM.",
        source=_SYSTEMD + "logind.conf.html",
        level="notice",
        about="process",
    ),
    Kind(
        name="session-logout",
        needles=("Removed session", "logged out. Waiting for processes", "Stopping User Manager for UID"),
        pattern=r"Removed session (?P<session>\w+)|Session (?P<session2>\w+) logged out\. Waiting for processes to exit|Stopping User Manager for UID (?P<uid>\d+)",
        sample="systemd-logind[700]: Session 42 logged out. Waiting for processes to exit.",
        source=_SYSTEMD + "logind.conf.html",
        level="notice",
        about="node",
    ),
    Kind(
        name="node-shutdown",
        needles=("System is powering down", "System is rebooting", "Power key pressed", "reboot: Restarting system", "reboot: Power down",
                 "Reached target Shutdown", "Reached target shutdown"),
        pattern=r"System is (?P<what>powering down|rebooting)|Power key pressed|reboot: (?:Restarting system|Power down)|Reached target [Ss]hutdown",
        sample="systemd-logind[700]: System is rebooting.",
        source=_SYSTEMD + "systemd-logind.service.html",
        level="notice",
        about="node",
    ),
    Kind(
        name="slurm-cancelled",
        needles=("CANCELLED AT",),
        pattern=r"(?:JOB|STEP) (?P<job>[\d.]+) ON (?P<node>\S+) CANCELLED AT (?P<when>\S+)(?: DUE TO (?P<why>[A-Z ]+?))?(?: \*\*\*|$)",
        sample="slurmstepd: error: *** JOB 4711 ON gpu-1 CANCELLED AT 2026-01-02T03:00:12 DUE TO TIME LIMIT ***",
        source="https://slurm.schedmd.com/job_state_codes.html",
        level="notice",
        about="node",
    ),
    Kind(
        name="ray-node-dead",
        needles=("missed too many heartbeats", "health check failed due to missing too many heartbeats", "Raylet is terminated", "marked dead"),
        pattern=r"(?:missed too many heartbeats|missing too many heartbeats)|(?P<raylet>Raylet is terminated)|node .{0,80} marked dead",
        sample=(
            "The node with node id: 0a1b and address: 10.0.0.2 and node name: 10.0.0.2 has been marked dead because the detector has "
            "missed too many heartbeats from it.",
        ),
        source="https://docs.ray.io/en/latest/ray-core/fault_tolerance/nodes.html",
        about="node",
    ),
)  # fmt: skip
