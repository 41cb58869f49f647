"""Files of the fake Discord: kept in memory, under addresses of the fake itself; serves nothing."""

from __future__ import annotations

import io
import mimetypes
import re
import unicodedata
from dataclasses import dataclass
from urllib.parse import quote

from PIL import Image

from fakes.discord_records import Json, Upload


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A multipart file in the form simcord reads."""

    filename: str
    fp: io.BytesIO
    description: str | None


def secured(filename: str) -> str:
    """The name under which Discord keeps an upload: blanks become underscores, signs and letters beyond ASCII go."""
    plain = unicodedata.normalize("NFKD", filename).encode("ascii", "ignore").decode()
    kept = re.sub(r"[^A-Za-z0-9_.-]", "", "_".join(plain.split())).strip("._")
    return kept if kept.rpartition(".")[0] or (kept and "." not in filename) else f"unnamed{'.' if kept else ''}{kept}"


class LoopbackCdn:
    """Attachments kept in memory under an address of the fake itself."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.files: dict[str, Upload] = {}
        self._signing = 1

    def expire(self) -> None:
        """From now on no address that was told before holds; a message that is read again tells new ones."""
        self._signing += 1

    def signed(self, url: str) -> str:
        """The address as it is told now."""
        return f"{url.partition('?')[0]}?ex={self._signing}"

    def find(self, path: str, expires: str) -> Upload | None:
        """What an address leads to: nothing, once it has expired."""
        return self.files.get(path) if expires == str(self._signing) else None

    def store_attachment(
        self, attachment_id: int, channel_id: int, filename: str, data: bytes, description: str | None
    ) -> Json:
        """Keep one file of a bot, under the name Discord gives it, and give its attachment object."""
        kept = secured(filename)
        attachment = self.store(attachment_id, channel_id, Upload(kept, data), description)
        return attachment if kept == filename else attachment | {"title": filename.rpartition(".")[0] or filename}

    def store(self, attachment_id: int, channel_id: int, upload: Upload, description: str | None = None) -> Json:
        """The same for an `Upload`, whose claims about itself are believed."""
        path = f"/attachments/{channel_id}/{attachment_id}/{quote(upload.name)}"
        self.files[path] = upload
        kind = upload.content_type or mimetypes.guess_type(upload.name)[0] or "application/octet-stream"
        url = self.signed(self.base + path)
        attachment: Json = {
            "id": str(attachment_id),
            "filename": upload.name,
            "size": len(upload.data) if upload.size is None else upload.size,
            "url": url,
            "proxy_url": url,
            "content_type": kind,
        }
        if description is not None:
            attachment["description"] = description
        if kind.startswith("image/"):
            try:
                with Image.open(io.BytesIO(upload.data)) as image:
                    attachment["width"], attachment["height"] = image.size
            except OSError:
                pass  # not a picture after all; Discord then leaves the measures out
        return attachment
