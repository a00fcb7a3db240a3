"""Frozen types that the rooms exchange, and the error tree. No I/O, no default that hides an unknown."""

from rocsteady.model.base import (
    NODE,
    Category,
    Evidence,
    Gap,
    Risk,
    Role,
    Severity,
    Subject,
    SubjectKind,
    Verdict,
)
from rocsteady.model.errors import (
    Absent,
    CatalogError,
    Denied,
    Failed,
    InputError,
    LimitError,
    ReadError,
    RocsteadyError,
    TimedOut,
    TooLarge,
)
from rocsteady.model.events import Event, EventLog, Span, Unexplained
from rocsteady.model.facts import Fact, Gpu, NodeFacts, Note
from rocsteady.model.findings import Diagnosis, Finding, Remedy
from rocsteady.model.plan import Advice, Guard, Interval, MemoryPlan, PerGpu, Phase
from rocsteady.model.suppression import Suppressed, Suppression

__all__ = [
    "NODE",
    "Absent",
    "Advice",
    "CatalogError",
    "Category",
    "Denied",
    "Diagnosis",
    "Event",
    "EventLog",
    "Evidence",
    "Fact",
    "Failed",
    "Finding",
    "Gap",
    "Gpu",
    "Guard",
    "InputError",
    "Interval",
    "LimitError",
    "MemoryPlan",
    "NodeFacts",
    "Note",
    "PerGpu",
    "Phase",
    "ReadError",
    "Remedy",
    "Risk",
    "RocsteadyError",
    "Role",
    "Severity",
    "Span",
    "Subject",
    "SubjectKind",
    "Suppressed",
    "Suppression",
    "TimedOut",
    "TooLarge",
    "Unexplained",
    "Verdict",
]
