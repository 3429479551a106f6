"""Python names made from the names of a spec: by convention, never a keyword, never taken twice."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable

RESERVED = frozenset([*keyword.kwlist, *dir(builtins)])
"""Names that a module or a function cannot use for its own."""

RESERVED_IN_CLASSES = frozenset([
    *keyword.kwlist, "all", "any", "bool", "dict", "float", "frozenset", "int", "isinstance", "len", "list", "max",
    "min", "object", "property", "sorted", "str", "sum", "super", "tuple",
])  # fmt: skip
"""Names that a class cannot use for its members, which its constructor takes: its own text needs them."""

STANDARD_LIBRARY = frozenset([
    "__future__", "abc", "aifc", "annotationlib", "antigravity", "argparse", "array", "ast", "asynchat",
    "asyncio", "asyncore", "atexit", "audioop", "base64", "bdb", "binascii", "bisect", "builtins", "bz2",
    "cProfile", "calendar", "cgi", "cgitb", "chunk", "cmath", "cmd", "code", "codecs", "codeop", "collections",
    "colorsys", "compileall", "compression", "concurrent", "configparser", "contextlib", "contextvars", "copy",
    "copyreg", "crypt", "csv", "ctypes", "curses", "dataclasses", "datetime", "dbm", "decimal", "difflib",
    "dis", "distutils", "doctest", "email", "encodings", "ensurepip", "enum", "errno", "faulthandler", "fcntl",
    "filecmp", "fileinput", "fnmatch", "fractions", "ftplib", "functools", "gc", "genericpath", "getopt",
    "getpass", "gettext", "glob", "graphlib", "grp", "gzip", "hashlib", "heapq", "hmac", "html", "http",
    "idlelib", "imaplib", "imghdr", "imp", "importlib", "inspect", "io", "ipaddress", "itertools", "json",
    "keyword", "lib2to3", "linecache", "locale", "logging", "lzma", "mailbox", "mailcap", "marshal", "math",
    "mimetypes", "mmap", "modulefinder", "msilib", "msvcrt", "multiprocessing", "netrc", "nis", "nntplib", "nt",
    "ntpath", "nturl2path", "numbers", "opcode", "operator", "optparse", "os", "ossaudiodev", "pathlib", "pdb",
    "pickle", "pickletools", "pipes", "pkgutil", "platform", "plistlib", "poplib", "posix", "posixpath",
    "pprint", "profile", "pstats", "pty", "pwd", "py_compile", "pyclbr", "pydoc", "pydoc_data", "pyexpat",
    "queue", "quopri", "random", "re", "readline", "reprlib", "resource", "rlcompleter", "runpy", "sched",
    "secrets", "select", "selectors", "shelve", "shlex", "shutil", "signal", "site", "smtpd", "smtplib",
    "sndhdr", "socket", "socketserver", "spwd", "sqlite3", "sre_compile", "sre_constants", "sre_parse", "ssl",
    "stat", "statistics", "string", "stringprep", "struct", "subprocess", "sunau", "symtable", "sys",
    "sysconfig", "syslog", "tabnanny", "tarfile", "telnetlib", "tempfile", "termios", "textwrap", "this",
    "threading", "time", "timeit", "tkinter", "token", "tokenize", "tomllib", "trace", "traceback",
    "tracemalloc", "tty", "turtle", "turtledemo", "types", "typing", "unicodedata", "unittest", "urllib", "uu",
    "uuid", "venv", "warnings", "wave", "weakref", "webbrowser", "winreg", "winsound", "wsgiref", "xdrlib",
    "xml", "xmlrpc", "zipapp", "zipfile", "zipimport", "zlib", "zoneinfo",
])  # fmt: skip
"""Modules of Python, in whatever version: a package of the same name would be imported in their place."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*|[0-9]+")


def _words(name: str) -> list[str]:
    """`BeingPreempted`, `being_preempted` and `BEING_PREEMPTED` have the same words."""
    return [w.lower() for part in name.split("_") for w in _WORDS.findall(part)]


def snake(name: str) -> str:
    """For methods, attributes, variables and files."""
    joined = "_".join(_words(name)) or "x"
    return f"n{joined}" if joined[0].isdigit() else joined


def upper(name: str) -> str:
    """For members of enums."""
    return snake(name).upper()


def camel(name: str) -> str:
    """For classes."""
    if re.fullmatch(r"[A-Z][A-Za-z0-9]*", name):
        return name
    joined = "".join(w.capitalize() for w in _words(name)) or "X"
    return f"N{joined}" if joined[0].isdigit() else joined


def module_of(qualified: str) -> str:
    """The module of something called by its qualified name: `yunikorn.core` of `yunikorn.core.Node`."""
    return qualified.rpartition(".")[0]


def own_name(qualified: str) -> str:
    """What its module calls it: `Node`."""
    return qualified.rpartition(".")[2]


def prefixed(module: str, name: str) -> str:
    """A name that is taken, made another by the module that it comes from: `CoreState`, `core_fits`."""
    return f"{camel(module)}{name}" if name[:1].isupper() else f"{module}_{name}"


def with_article(name: str) -> str:
    """`a Cell`, `an AffinityGroup`."""
    return f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"


def numbered(name: str) -> tuple[int, list[tuple[int, str]]]:
    """A Python name to sort by: constants, then classes, then functions; digits count as numbers. Of `a as b`, `a`
    says what it is."""
    first = name.split(" ")[0]
    kind = 0 if first.isupper() and len(first) > 1 else 1 if first[:1].isupper() else 2
    return kind, [(int(digits or 0), text) for text, digits in re.findall(r"(\D*)(\d*)", name)]


_C_WORDS = frozenset([
    "alignof", "asm", "attribute", "auto_type", "complex", "const", "extension", "func", "imag", "inline", "int128",
    "label", "null", "real", "restrict", "signed", "thread", "typeof", "volatile",
])  # fmt: skip


def private(name: str) -> str:
    """With an underscore before it. Compiled code has two, which makes words of C of some names."""
    return f"_{name}_" if name in _C_WORDS else f"_{name}"


class Namespace:
    """Names in one scope: a name that is taken gets an underscore behind it."""

    def __init__(self, taken: Iterable[str] = RESERVED) -> None:
        self.taken = set(taken)

    def claim(self, name: str) -> str:
        """The name, or the next free one like it."""
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name
