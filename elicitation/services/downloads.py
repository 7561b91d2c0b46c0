"""Handing out the file of an export, whole or one part of it, so that a download that broke can go on; and the verifier
beside it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from audit import verify
from audit.models import Export
from elicitation.services import exports

_CHUNK: Final = 1 << 18
_RANGE: Final = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


def download(export: Export, request: HttpRequest) -> HttpResponseBase | None:
    """The answer with the file (RFC 9110, section 14: one range, or all of it); ``None`` when it is not there."""
    try:
        file = exports.path_of(export).open("rb")
    except FileNotFoundError:
        return None
    size, tag = os.fstat(file.fileno()).st_size, f'"{export.uid}"'
    start, stop, status = 0, size, 200
    part = _RANGE.fullmatch(request.headers.get("Range", ""))
    if part and part.group() != "bytes=-" and request.headers.get("If-Range", tag) == tag:
        start, stop, status = _part(part[1], part[2], size)
    if status == 416:
        file.close()
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
    response = StreamingHttpResponse(_read(file, start, stop), status=status)
    response["Content-Type"] = "text/csv; charset=utf-8" if export.format == "csv" else "application/jsonl"
    response["Content-Length"] = str(stop - start)
    response["Content-Disposition"] = f'attachment; filename="{exports.name_of(export)}"'
    response["Accept-Ranges"], response["ETag"], response["Cache-Control"] = "bytes", tag, "no-store"
    if status == 206:
        response["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
    return response


def verifier() -> HttpResponse:
    """The verifier as one file, which needs nothing of the desk."""
    return HttpResponse(
        Path(verify.__file__).read_bytes(),
        content_type="text/x-python; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="verify.py"'},
    )


def _part(first: str, last: str, size: int) -> tuple[int, int, int]:
    """Where the part begins and ends, and the status."""
    if not first:
        start, stop = max(0, size - int(last)), size
    else:
        start, stop = int(first), min(int(last) + 1, size) if last else size
    return (start, stop, 206) if start < stop else (0, 0, 416)


def _read(file: BinaryIO, start: int, stop: int) -> Iterator[bytes]:
    with file:
        file.seek(start)
        left = stop - start
        while left and (chunk := file.read(min(_CHUNK, left))):
            left -= len(chunk)
            yield chunk
