"""Connections to HDFS, and what its errors mean."""

from __future__ import annotations

import errno
import functools
import re
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from hdfs_native import Client

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_OF_A_NODE = re.compile(r'RPCError\("([\w.$]+)", "(.{0,500}?)(?:\\n|"\)$)', re.DOTALL)
"""The exception of a server, and the first line of what it says."""


def with_short_errors(method: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Errors as those of an operating system, without the name node's stack."""

    @functools.wraps(method)
    def told(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        try:
            return method(*arguments, **named)
        except OSError as error:
            raise type(error)(error.errno or _NUMBERS.get(type(error), errno.EIO), _first_line(error)) from error
        except RuntimeError as error:
            found = _OF_A_NODE.match(str(error))
            number = errno.EACCES if found and found[1].endswith("AccessControlException") else errno.EIO
            raise OSError(number, found[2] if found else _first_line(error)) from error

    return told


_NUMBERS: dict[type, int] = {
    FileNotFoundError: errno.ENOENT,
    FileExistsError: errno.EEXIST,
    PermissionError: errno.EACCES,
    NotADirectoryError: errno.ENOTDIR,
}


def _first_line(error: BaseException) -> str:
    return str(getattr(error, "strerror", None) or error).partition("\n")[0][:500]


@functools.lru_cache(64)
def client_of(process: int, address: str, settings: tuple[tuple[str, str], ...]) -> Client:
    """A connection of this process; its threads do not live on in a fork."""
    return Client(address, dict(settings))
