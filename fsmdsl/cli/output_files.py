"""What commands write: files that were named, and folders of output. What cannot be written ends the command with 2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fsmdsl.cli import usage
from fsmdsl.cli.messages import misuse, say
from fsmdsl.text.files import reason
from fsmdsl.text.files import write as disk

if TYPE_CHECKING:
    from fsmdsl.text.files import manifest

F = TypeVar("F", bound=Callable[..., Any])


def force_option(command: F) -> F:
    """`--force`."""
    description = "Also overwrite files in the folder that this command did not write, and replace links."
    return usage.option("--force", is_flag=True, help=description)(command)


def generated(content: bytes, in_manifest: bool) -> bool:
    """Code whose first line says that changes belong in the spec: it is written anew whatever has become of it."""
    from fsmdsl.classes import marked

    return marked(content)


def earlier(is_ours: Callable[[bytes], bool]) -> manifest.Ours:
    """What a version without manifests has made. What the manifest lists is judged by its check sum."""
    return lambda content, in_manifest: not in_manifest and is_ours(content)


def write(path: Path, content: str | bytes, *, follow: bool = False) -> bool:
    """Write a file that the user has named; see `text.files.write`. True if that changed anything."""
    try:
        return disk.write(path, content, follow=follow)
    except (OSError, ValueError) as error:
        misuse(f"cannot write `{path}`: {reason(error)}")


def write_folder(
    folder: Path,
    purpose: str,
    files: Mapping[str, str | bytes],
    *,
    ours: manifest.Ours = lambda _, __: False,
    force: bool = False,
    prune: bool = True,
) -> manifest.Plan:
    """Write files into a folder of output, and say what is removed from it; see `text.files.manifest`."""
    from fsmdsl.text.files import manifest

    try:
        plan = manifest.plan(folder, purpose, files, ours=ours, force=force, prune=prune)
        manifest.carry_out(plan)
    except manifest.RefusedError as error:
        misuse("nothing was written:", *error.reasons)
    except (OSError, ValueError) as error:
        path = getattr(error, "filename", None) or folder
        misuse(f"cannot write `{path}`: {reason(error)}")
    for name in plan.removed:
        say(f"removed {folder / name}", err=True)
    for name in plan.edited:
        say(f"not removed: {folder / name} has changed since it was written; remove it if it is not needed", err=True)
    return plan
