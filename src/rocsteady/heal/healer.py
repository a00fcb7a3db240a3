"""Carries out what ``decide`` decides: intent on disk, act, verify, receipt. Survives being killed at any point.

``checkpoint`` is called between any two effects with a name; tests raise there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from rocsteady.heal.actuators.base import Actuator, Probe, Refused, Workers
from rocsteady.heal.decide import approved, decide
from rocsteady.heal.journal import Journal
from rocsteady.heal.policy import Policy
from rocsteady.heal.records import Action, Outcome, Step
from rocsteady.heal.state import Event, Notice, State, Tick, WorkersSeen
from rocsteady.heal.verify import verified
from rocsteady.heal.view import NodeView

STEP_SECONDS = 300.0
"""Limit of one step. The longest is a stop that waits for running requests, or a reset; both take a minute or two."""
OPTIONAL_SECONDS = 10.0
"""Limit of a step that the action can do without: a gateway that answers does so in milliseconds."""
RESETTING = {"reset-gpu": "members", "reload-driver": "", "reboot": ""}
"""Verbs after which older evidence about GPUs does not count."""


class Healer:
    """One healer over one journal."""

    def __init__(
        self, journal: Journal, actuators: Mapping[str, Actuator], workers: tuple[Workers, ...], policy: Policy,
        clock: Callable[[], float], checkpoint: Callable[[str], None] = lambda _: None,
    ) -> None:  # fmt: skip
        self.journal = journal
        self.policy = policy
        self._actuators = actuators
        self._workers = workers
        self._clock = clock
        self._checkpoint = checkpoint
        self.state = journal.state(clock())

    def reload(self) -> None:
        """After an error of the database: what it holds is true, what was only in memory is not."""
        fresh = self.journal.state(self._clock())
        self.state = replace(
            fresh, nodes=self.state.nodes, workers=self.state.workers, workers_known=self.state.workers_known
        )  # fmt: skip

    def take(self, event: Event) -> None:
        """Take an event into account, and put on disk what comes of it."""
        self._decide(event)

    def tick(self) -> None:
        """One round: look at the workers, hear the inbox and people, decide, go on with what is under way."""
        self._refresh()
        for number, event in self.journal.inbox():
            self._decide(event, number)
        self._approvals()
        self._decide(Tick())
        for name in [action.id for action in self.state.actions if action.phase in ("running", "verifying")]:
            self._advance(name)
        self._look()

    def _refresh(self) -> None:
        """What other processes may have changed."""
        since, cleared = self.journal.breaker()
        self.state = replace(
            self.state, pauses=self.journal.pauses(), breaker_since=since, breaker_cleared=cleared
        )  # fmt: skip
        self._look()

    def _look(self) -> None:
        self._decide(WorkersSeen(tuple(view for executor in self._workers for view in executor.look())))

    def _decide(self, event: Event, number: int | None = None) -> None:
        now = self._clock()
        decision = decide(self.state, event, now, self.policy)
        with self.journal.transaction():
            self.journal.save(self.state, decision.state, now)
            for notice in decision.notices:
                self.journal.notice(notice, now)
            if number is not None:
                self.journal.took(number)
            self._checkpoint("decided")
        self.state = decision.state
        self._checkpoint("saved")

    def _put(self, action: Action, more: State | None = None) -> None:
        """Write one action."""
        now = self._clock()
        base = more or self.state
        after = replace(base, actions=tuple(action if a.id == action.id else a for a in base.actions))
        self.journal.save(self.state, after, now)
        self.state = after

    def _approvals(self) -> None:
        now = self._clock()
        for said in self.journal.approvals():
            action = next((a for a in self.state.actions if a.id == said.action), None)
            if action is None or action.phase != "approval":
                self.journal.heard(said.action)
                continue
            if said.yes:
                changed, why = approved(self.state, action, said.by, now, self.policy)
                if why:
                    changed = replace(changed, detail=f"{action.detail.split(' (waits: ')[0]} (waits: {why})")
            else:
                changed, why = _ended(action, now, "expired", f"denied by {said.by}"), ""
            with self.journal.transaction():
                self._put(changed)
                if not why:
                    self.journal.heard(said.action)
            self._checkpoint("approved")
        for action in self.state.actions:
            if action.phase != "approval":
                continue
            fault = next((f for f in self.state.faults if f.id == action.fault), None)
            if fault is None or fault.closed_at is not None:
                self._put(_ended(action, now, "abandoned", "the fault is closed"))
            elif now - action.created_at > self.policy.approval_expires:
                text = f"nobody approved it within {self.policy.approval_expires:.0f} s"
                with self.journal.transaction():
                    self._put(_ended(action, now, "expired", text))
                    self.journal.notice(Notice(f"{action.id}-expired", f"{action.node}: {action.detail}: {text}"), now)

    def _advance(self, name: str) -> None:
        """Go on with an action as far as it goes now."""
        while True:
            action = next(a for a in self.state.actions if a.id == name)
            if action.phase == "verifying":
                self._verify(action)
                return
            failed = next((s for s in action.steps if s.state == "failed" and not s.optional), None)
            index = next(
                (
                    i for i, s in enumerate(action.steps)
                    if s.state in ("started", "acted") or (s.state == "pending" and (failed is None or s.always))
                ),
                None,
            )  # fmt: skip
            if index is None:
                self._acted(action, failed)
                return  # verified in the next round, from what is seen after the act
            if not self._step(action, index):
                return

    def _step(self, action: Action, index: int) -> bool:
        """One step; False when it has to be waited for."""
        step, key = action.steps[index], f"{action.id}#{index}"
        actuator = self._actuators.get(step.actuator)
        now = self._clock()
        if actuator is None:
            self._set(action, index, replace(step, state="failed", detail=f"nobody here is called {step.actuator}"))
            return True
        if step.state == "pending":
            step = replace(step, state="started", started_at=now)
            action = self._set(action, index, step)
            self._checkpoint(f"{step.verb}: started")
            return self._begin(actuator, action, index, step, key)
        try:
            found = actuator.probe(action, step, key)
        except (OSError, TimeoutError) as error:
            found = Probe("unknown", str(error))
        self._checkpoint(f"{step.verb}: probed")
        if found.became == "absent" and step.state == "started":
            return self._begin(actuator, action, index, step, key)  # killed before it began
        if found.became in ("done", "failed"):
            self._set(
                action, index, replace(step, state="done" if found.became == "done" else "failed", detail=found.detail)
            )
            self._checkpoint(f"{step.verb}: done")
            return True
        limit = (OPTIONAL_SECONDS if step.optional else STEP_SECONDS) + float(step.arguments.get("seconds", "0"))
        if now - (step.started_at or now) > limit:
            text = f"{found.became} after {limit:.0f} s, not repeated{': ' + found.detail if found.detail else ''}"
            self._set(action, index, replace(step, state="failed", detail=text))
            return True
        return False

    def _begin(self, actuator: Actuator, action: Action, index: int, step: Step, key: str) -> bool:
        try:
            actuator.begin(action, step, key)
        except Refused as error:
            self._checkpoint(f"{step.verb}: refused")
            self._set(action, index, replace(step, state="failed", detail=str(error)))
            return True
        except (OSError, TimeoutError) as error:
            self._set(action, index, replace(step, detail=str(error)))
            return False  # what became of it is asked in the next round
        self._checkpoint(f"{step.verb}: begun")
        self._set(action, index, replace(step, state="acted"))
        self._checkpoint(f"{step.verb}: acted")
        return True

    def _set(self, action: Action, index: int, step: Step) -> Action:
        changed = replace(action, steps=(*action.steps[:index], step, *action.steps[index + 1 :]))
        resets = self.state.resets
        if step.verb in RESETTING and step.state in ("started", "done"):
            # from its begin on: evidence that comes in meanwhile is of a GPU that is being reset
            bdfs = (
                step.arguments["members"].split() if RESETTING[step.verb] else _gpus(self.state.nodes.get(action.node))
            )
            resets = {**resets, **{f"{action.node}/{bdf}": self._clock() for bdf in bdfs}}
        self._put(changed, replace(self.state, resets=resets))
        return changed

    def _acted(self, action: Action, failed: Step | None) -> None:
        now = self._clock()
        if failed is not None:
            began = any(s.state == "done" and not s.always for s in action.steps)
            outcome: Outcome = "failed" if began else "refused"
            self._put(_ended(action, now, outcome, f"{failed.verb} {failed.target}: {failed.detail}"))
        elif action.verify in ("none", "steps"):
            self._put(_ended(action, now, "succeeded", action.detail))
        else:
            self._put(replace(action, phase="verifying", acted_at=now))
        self._checkpoint("steps done")

    def _verify(self, action: Action) -> None:
        now = self._clock()
        good, detail = verified(action, self.state, now)
        if good is None and now - (action.acted_at or now) <= action.verify_seconds:
            return
        if good:
            ended = _ended(action, now, "succeeded", f"{action.detail}; {detail}")
        else:
            text = detail if good is False else f"not seen within {action.verify_seconds:.0f} s: {detail}"
            ended = _ended(action, now, "failed", f"{action.detail}; {text}")
        self._checkpoint("verified")
        with self.journal.transaction():
            self._put(ended)
            if not good:
                self.journal.notice(Notice(f"{action.id}-failed", f"{action.node}: {ended.detail}"), now)
        self._checkpoint("receipt")


def _gpus(view: NodeView | None) -> tuple[str, ...]:
    return tuple(sorted({d.bdf for d in view.devices})) if view is not None else ()


def _ended(action: Action, now: float, outcome: Outcome, detail: str) -> Action:
    return replace(action, phase="done", finished_at=now, outcome=outcome, detail=detail)
