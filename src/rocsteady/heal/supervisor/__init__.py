"""Runs workers as plain processes of one machine: start, wait for health, stop, restart elsewhere, back off."""
