"""Who carries out steps: workers, the gateway, the privileged helper, people."""
