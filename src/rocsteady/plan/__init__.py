"""Memory plans: what fits, which flags, and how sure we are. Imports neither torch nor an engine."""
