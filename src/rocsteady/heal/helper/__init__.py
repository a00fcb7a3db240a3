"""The privileged helper: a process of its own, run as root, with a fixed list of verbs over a unix socket. No shell."""
