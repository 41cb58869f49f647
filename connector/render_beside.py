"""Makes posts of texts without holding the event loop up: what renders quickly at once, the rest in a thread."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from connector.render import costly

T = TypeVar("T")


async def beside(text: str, work: Callable[[], T]) -> T:
    """What `work` makes of `text`, which it renders; in a thread where that may take long, else before this returns.

    Raises what `work` raises.
    """
    return await asyncio.to_thread(work) if costly(text) else work()
