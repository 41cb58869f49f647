"""Which MESSAGE_UPDATE is an edit by its author: one that changes the text; it keeps hashes, no texts."""

from collections import OrderedDict

from connector.gateway_facts import Json
from connector.gateway_values import snowflake

_KEPT = 5_000


class Texts:
    """The texts of the last messages, as hashes."""

    def __init__(self) -> None:
        self._texts: OrderedDict[int, int] = OrderedDict()

    def heard(self, data: Json) -> None:
        """A message payload was seen."""
        self._keep(snowflake(data["id"]), hash(data["content"]))

    def changed(self, data: Json) -> bool:
        """Whether an update is an edit: an `edited_timestamp`, and a text that is not the last known one.

        A link preview has no such timestamp, or that of an edit before it; of a message that is not known any more
        whoever keeps the text decides.
        """
        if data.get("edited_timestamp") is None or "content" not in data:
            return False
        number, text = snowflake(data["id"]), hash(data["content"])
        known = self._texts.get(number)
        self._keep(number, text)
        return known != text

    def _keep(self, number: int, text: int) -> None:
        self._texts[number] = text
        self._texts.move_to_end(number)
        while len(self._texts) > _KEPT:
            self._texts.popitem(last=False)
