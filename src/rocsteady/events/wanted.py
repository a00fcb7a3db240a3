"""Which logs and log commands a snapshot takes and the live diagnosis reads. Data only, shared with the script."""

LOGS = (
    "var/log/dmesg", "var/log/dmesg.[0-9]*", "var/log/kern.log*", "var/log/messages*", "var/log/syslog*",
    "var/log/journal.txt", "var/log/cron*", "var/log/*.log", "var/log/vllm/*", "var/log/sglang/*",
    "var/log/ollama/*", "var/log/rocsteady/*",
)  # fmt: skip
"""Where distributions and engines keep logs; rotated ones too, packed or not."""

COMMANDS = (
    ("dmesg",),
    ("journalctl", "-k", "-b", "-o", "short-iso", "--no-pager", "-n", "200000"),
    (
        "journalctl", "-b", "-o", "short-iso", "--no-pager", "-n", "50000",
        "_TRANSPORT=stdout", "_TRANSPORT=syslog", "_TRANSPORT=journal",
    ),
)  # fmt: skip
"""The ring buffer, the kernel's part of the journal with wall-clock times, and what services wrote."""
