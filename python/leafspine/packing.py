"""A finished result as bytes, for the way from another machine; and the store between two machines.

A packed result is a ZIP file, not compressed (Parquet is), of the result's files with their sums.
A store is any place that fsspec can write to, such as a shared folder or an object store; results
lie there by key, build of the engine and whether they were checked, so that nobody takes one for
another's.
"""

import io
import shutil
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import Any

from leafspine import engine, files
from leafspine.errors import InputError, WriteError


def pack(directory: Path) -> bytes:
    """The files of a finished result."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for path in sorted(directory.iterdir()):
            # A fixed time, so that the same result gives the same bytes.
            archive.writestr(zipfile.ZipInfo(path.name), path.read_bytes())
    return stream.getvalue()


def unpack(packed: bytes, directory: Path) -> None:
    """Write a packed result, all or nothing. Raises :class:`WriteError`, also for one whose bytes
    are not those of its sums. One that was not checked, where this one was, is replaced."""
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            contents = {name: archive.read(name) for name in archive.namelist()}
    except zipfile.BadZipFile as error:
        raise WriteError(f"{directory}: damaged on the way from a worker: {error}") from None
    for line in contents.pop(files.SUMS).decode().splitlines():
        value, name = line.split("  ", 1)
        if sha256(contents.get(name, b"")).hexdigest() != value:
            raise WriteError(f"{directory}: {name} was damaged on the way from a worker")
    with files.replacing(directory, over=directory.is_dir()) as folder:
        for name, data in contents.items():
            (folder / name).write_bytes(data)


def move(made: Path, directory: Path) -> None:
    """Take over a result that a worker wrote elsewhere."""
    unpack(pack(made), directory)
    shutil.rmtree(made, ignore_errors=True)


class Store:
    """Packed results in a place that several machines reach."""

    def __init__(self, url: str) -> None:
        """Raises :class:`InputError` for a place that there cannot be."""
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise InputError(
                "--store needs fsspec, which is not installed: pip install 'leafspine[dask]'"
            ) from None
        self.url = url
        try:
            self.system: Any
            self.system, self.path = url_to_fs(url)
            self.system.makedirs(self.path, exist_ok=True)
        except (OSError, ValueError, ImportError) as error:
            text = " ".join(str(error).split())
            raise InputError(f"--store {url}: nothing can be written there: {text}") from None

    def _name(self, key: str, checked: bool) -> str:
        return f"{self.path}/{key}-{engine.build()}{'-checked' if checked else ''}.zip"

    def has(self, key: str, *, checked: bool) -> bool:
        """Whether the result of a key is there."""
        return bool(self.system.exists(self._name(key, checked)))

    def put(self, key: str, packed: bytes, *, checked: bool) -> None:
        """Keep a result. Of two workers with the same one, both write the same bytes."""
        self.system.pipe_file(self._name(key, checked), packed)

    def get(self, key: str, *, checked: bool) -> bytes:
        """The result of a key."""
        data: bytes = self.system.cat_file(self._name(key, checked))
        return data
