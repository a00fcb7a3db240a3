"""What the newest gpu-health documents say about the devices on which a worker is to start."""

from __future__ import annotations

from collections.abc import Callable

from rocsteady.heal.placement import visible
from rocsteady.heal.view import NodeView


class Documents:
    """Answers from documents that are young enough; where there is none, nothing is started on a GPU."""

    def __init__(
        self, views: Callable[[], dict[str, NodeView]], clock: Callable[[], float], max_age: float
    ) -> None:  # fmt: skip
        self._views = views
        self._clock = clock
        self._max_age = max_age

    def _view(self, node: str) -> NodeView | None:
        view = self._views().get(node)
        return view if view is not None and self._clock() - view.at <= self._max_age else None

    def visible(self, node: str, devices: tuple[str, ...]) -> str | None:
        """HIP indices of the devices, None where they are not known."""
        view = self._view(node)
        return visible(view, devices) if view is not None else None

    def render_nodes(self, node: str, devices: tuple[str, ...]) -> str:
        """Render nodes of the devices, '' where the document does not know one."""
        view = self._view(node)
        found = [view.device(name) for name in devices] if view is not None else []
        names = [d.render_node for d in found if d is not None and d.render_node]
        return ",".join(names) if len(names) == len(devices) else ""

    def unfit(self, node: str, devices: tuple[str, ...]) -> str:
        """Why nothing may be started on these devices now, '' when it may."""
        view = self._view(node)
        if view is None:
            return f"waits for a gpu-health document of {node}"
        for name in devices:
            device = view.device(name)
            if device is None:
                return f"{name} is not in the gpu-health document"
            if device.state in ("unhealthy", "unknown"):
                return f"{name} is {device.state}"
        return ""
