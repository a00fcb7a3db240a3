"""CUDA source to HIP source, with every doubtful place named.

The room reads and writes sources of a project, never a node: it imports no `hostfs`. All edits are made on the spans of
a lossless tokeniser (`tokens`), so text outside an edit stays byte for byte; rules are data (`data/rules`), and each
edit that may change meaning leaves a note.
"""
