"""What else happens on a node: cron, log rotation, timers, package upgrades, monitors, clock steps, logins.

All of it is normal. The kinds are notices: they feed the crash timeline, and a rule may use one only beside a
failure.
"""

from __future__ import annotations

from rocsteady.events.kinds import Kind

_SYSTEMD = "https://www.freedesktop.org/software/systemd/man/latest/"

KINDS = (
    Kind(
        name="cron-job",
        needles=("CMD (", "anacron", "cron.daily", "cron.hourly", "cron.weekly"),
        pattern=r"\((?P<user>[\w.-]+)\) CMD \(\s*(?P<activity>.+?)\s*\)\s*$|Job `(?P<job>cron\.\w+)' (?P<what>started|terminated)",
        sample=("CRON[4211]: (root) CMD (   cd / && run-parts --report /etc/cron.hourly)", "anacron[11]: Job `cron.daily' started"),
        source="https://man7.org/linux/man-pages/man8/cron.8.html",
        level="notice",
        mark="activity",
        about="node",
    ),
    Kind(
        name="log-rotation",
        needles=("logrotate", "Rotate log files", "Rotating log"),
        pattern=r"(?:Starting|Started|Finished) (?:logrotate\.service|Rotate log files)|logrotate\.service: (?:Succeeded|Deactivated)"
        r"|logrotate(?:\[\d+\])?: |Rotate log files|logrotate\.service",
        sample=("systemd[1]: Starting Rotate log files...", "systemd[1]: logrotate.service: Succeeded.",
                "systemd[1]: logrotate.service: Deactivated successfully."),
        source="https://github.com/logrotate/logrotate",
        level="notice",
        mark="activity",
        about="node",
    ),
    Kind(
        name="rotation-restarts-server",
        needles=("postrotate",),
        pattern=r"^\s*postrotate\s*$",
        more=r"^\s+(?P<last_command>(?:/\S+/)?(?:systemctl (?:--\S+ )*(?:restart|try-restart|kill|stop|reload-or-restart)|docker (?:restart|kill|stop)"
        r"|podman (?:restart|kill|stop)|supervisorctl restart|pkill|killall|service \S+ restart)\b.*?(?:vllm|sglang|llama|ollama|inference|tgi|llm)\S*.*)$"
        r"|^\s+\S",
        more_limit=8,
        sample="    postrotate\n        systemctl restart vllm.service\n    endscript",
        source="https://github.com/logrotate/logrotate",
        level="notice",
        about="node",
    ),
    Kind(
        name="timer-job",
        needles=("Starting Daily", "Starting Discard unused blocks", "Cleanup of Temporary Directories", "Starting Update the local",
                 "apt-daily", "fwupd-refresh", "fstrim.service", "man-db.service", "plocate-updatedb", "dnf-makecache", "sysstat-collect"),
        pattern=r"(?:Starting|Started|Finished) (?P<job>Daily [\w -]+|Discard unused blocks[\w ]*|Cleanup of Temporary Directories"
        r"|Update the local[\w ]*|[\w-]*(?:apt-daily|fwupd-refresh|fstrim|man-db|plocate-updatedb|dnf-makecache|sysstat-collect)[\w.-]*)"
        r"|(?P<unit>(?:apt-daily|fwupd-refresh|fstrim|man-db|plocate-updatedb|dnf-makecache|sysstat-collect)[\w-]*\.service): "
        r"(?:Succeeded|Deactivated successfully)",
        sample=("systemd[1]: Starting Daily apt upgrade and clean activities...", "systemd[1]: apt-daily-upgrade.service: Succeeded.",
                "systemd[1]: Starting Cleanup of Temporary Directories..."),
        source=_SYSTEMD + "systemd.timer.html",
        level="notice",
        mark="activity",
        about="node",
    ),
    Kind(
        name="monitor-scrape",
        needles=("node_exporter", "telegraf", "device-metrics-exporter", "rocm-smi", "amd-smi", "collectd", "GET /metrics"),
        pattern=r"(?P<monitor>node_exporter|telegraf|device-metrics-exporter|collectd)(?:\[\d+\])?:|CMD \(.*(?P<tool>rocm-smi|amd-smi)"
        r"|\"GET (?P<path>/metrics) HTTP",
        sample=('INFO:     10.0.0.9:51234 - "GET /metrics HTTP/1.1" 200 OK', "telegraf[801]: 2026-01-01T03:00:10Z I! [agent] gather"),
        source="https://github.com/prometheus/node_exporter",
        level="notice",
        mark="activity",
        about="node",
    ),
    Kind(
        name="backup-job",
        needles=("restic", "borgbackup", "borgmatic", "rsnapshot", "bareos", "veeam", "duplicity", "timeshift"),
        pattern=r"\b(?P<tool>restic|borgbackup|borgmatic|rsnapshot|bareos|veeam\w*|duplicity|timeshift)\b",
        sample="CRON[811]: (root) CMD (/usr/local/bin/restic backup /srv)",
        source="https://man7.org/linux/man-pages/man8/cron.8.html",
        level="notice",
        mark="activity",
        about="node",
    ),
    Kind(
        name="driver-package-changed",
        needles=("amdgpu-dkms", "linux-firmware", "rocm-core", "hsa-rocr"),
        pattern=r"(?:\b(?P<action>upgrade|install|configure|remove|Upgraded?|Updated?|Installed)\b:? ?|status installed )"
        r"(?P<package>amdgpu-dkms(?:-firmware)?|linux-firmware|rocm-core|hsa-rocr)(?::\w+)?[ -](?P<version>\S+)(?: (?P<new>\d\S+))?",
        sample=(
            "2026-01-02 06:41:11 upgrade amdgpu-dkms:all 1:6.10.5.60303-1 1:6.12.12.60400-1",
            "2026-01-02T06:41:11+0000 SUBDEBUG Upgraded: amdgpu-dkms-1:6.10.5.60303-1.el9.noarch",
        ),
        source="https://man7.org/linux/man-pages/man1/dpkg.1.html",
        level="notice",
        mark="activity",
        about="node",
    ),
    Kind(
        name="kernel-package-changed",
        needles=("linux-image-", "kernel-core-", "kernel-default-"),
        pattern=r"\b(?:install|upgrade|configure|Installed|Upgraded?)\b:? ?(?:linux-image-|kernel-core-|kernel-default-)(?:unsigned-)?(?P<kernel>\d[\w.+~-]*)",
        sample="2026-01-02 06:41:11 install linux-image-6.8.0-60-generic:amd64 <none> 6.8.0-60.63",
        source="https://man7.org/linux/man-pages/man1/dpkg.1.html",
        level="notice",
        mark="activity",
        about="node",
    ),
    Kind(
        name="unattended-upgrade",
        needles=("Packages that will be upgraded", "unattended-upgrade", "dnf-automatic"),
        pattern=r"Packages that will be upgraded: ?(?P<packages>.*)|unattended-upgrades?(?:\[\d+\])?:|(?P<tool>dnf-automatic)",
        sample="2026-01-02 06:40:01,123 INFO Packages that will be upgraded: amdgpu-dkms libdrm-amdgpu1",
        source="https://wiki.debian.org/UnattendedUpgrades",
        level="notice",
        mark="activity",
        about="node",
    ),
    Kind(
        name="needrestart",
        needles=("needrestart", "Restarting services..."),
        pattern=r"needrestart|^Restarting services\.\.\.",
        more=r"^ *(?:systemctl restart|/etc/needrestart/\S+) (?P<services>.+)",
        more_limit=4,
        sample="Restarting services...\n systemctl restart vllm.service containerd.service",
        source="https://github.com/liske/needrestart",
        level="notice",
        mark="activity",
        about="node",
    ),
    Kind(
        name="systemd-reload",
        needles=("Reloading requested from", "systemd[1]: Reloading.", "Reexecuting", "Reloading..."),
        pattern=r"Reloading requested from client PID (?P<pid>\d+)(?: \('(?P<who>[^']+)'\))?|systemd\[1\]: Reloading\.|Reloading\.\.\.\s*$|Reexecuting",
        sample=("systemd[1]: Reloading requested from client PID 4711 ('systemctl') (unit session-3.scope)...", "systemd[1]: Reloading."),
        source=_SYSTEMD + "systemctl.html",
        level="notice",
        mark="activity",
        about="node",
    ),
    Kind(
        name="clock-step",
        needles=("clock wrong by", "clock was stepped by", "time jump detected", "Time jumped", "System time changed", "Time has been changed"),
        pattern=r"clock wrong by (?P<seconds>-?[\d.]+) seconds|clock was stepped by (?P<seconds2>-?[\d.]+)"
        r"|(?P<what>(?:Forward|Backward)s? time jump detected|Time jumped backwards|Time has been changed)",
        sample=("chronyd[700]: System clock wrong by 3594.112312 seconds", "chronyd[700]: System clock was stepped by 3594.112312 seconds",
                "chronyd[700]: Forward time jump detected!"),
        source="https://chrony-project.org/doc/4.4/chronyd.html",
        level="notice",
        mark="activity",
        about="node",
    ),
    Kind(
        name="clocksource-unstable",
        needles=("timekeeping watchdog", "Marking clocksource"),
        pattern=r"timekeeping watchdog on (?:CPU)?\d+: Marking clocksource '(?P<clock>\w+)' as unstable|Marking clocksource '(?P<clock2>\w+)' as unstable",
        sample="[99.1] clocksource: timekeeping watchdog on CPU12: Marking clocksource 'tsc' as unstable because the skew is too large:",
        source="https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/kernel/time/clocksource.c",
        level="notice",
        about="node",
    ),
    Kind(
        name="messages-suppressed",
        needles=("messages from", "callbacks suppressed", "messages dropped"),
        pattern=r"Suppressed (?P<count_lost>\d+) messages from (?P<unit>\S+)|(?P<count_lost2>\d+) callbacks suppressed",
        sample="systemd-journald[500]: Suppressed 21321 messages from vllm.service",
        source=_SYSTEMD + "journald.conf.html",
        level="notice",
        about="node",
    ),
)  # fmt: skip
