"""The playground as static files: `python editors/playground/build.py OUT`, after `npm ci` in this folder.

It is the live page (`fsmdsl/editor/live/static`) with Python and Graphviz as WebAssembly in the place of its server.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from hashlib import sha256
from importlib.metadata import distribution
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
MODULES = HERE / "node_modules"

PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")

SPECS = {
    "hived": "HiveD: groups and cells", "confine": "Confine", "grove": "Grove",
    "yunikorn": "YuniKorn: core, shim, protocol",
}  # fmt: skip
"""Folders of `specs` that are examples, with their titles."""

LEFT_OUT = (
    "cli", "editor/lsp", "classes", "interop/imports", "testing", "notebook.py", "pytest_plugin.py",
    "editor/live/static", "report/static", "syntax/parse/table.json",
)  # fmt: skip
"""Parts of the toolkit that the page has no use for, or has already."""

POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; style-src 'self' 'nonce-playground'; style-src-attr 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'"
)


def built(out: Path) -> None:
    """Write the playground. Raises `FileNotFoundError` before `npm ci`, `CalledProcessError` where Python as
    WebAssembly fails."""
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(ROOT / "fsmdsl" / "editor" / "live" / "static", out / "static")
    shutil.copytree(ROOT / "fsmdsl" / "report" / "static", out / "shared")
    own = out / "playground"
    (own / "pyodide").mkdir(parents=True)
    for name in PYODIDE:
        shutil.copy(MODULES / "pyodide" / name, own / "pyodide" / name)
    shutil.copy(MODULES / "@viz-js" / "viz" / "dist" / "viz.js", own)
    for path in sorted((HERE / "src").iterdir()):
        if path.name != "service.js":
            shutil.copy(path, own)
    (own / "settings.json").write_text(json.dumps(settings()), "utf-8")
    (own / "examples.json").write_text(json.dumps(examples()), "utf-8")
    pack(own / "toolkit.zip")
    command = ["node", "snapshot.mjs", *(str((own / x).resolve()) for x in ("toolkit.zip", "settings.json"))]
    subprocess.run([*command, "warm.py", str((own / "snapshot.gz").resolve())], cwd=HERE, check=True)
    (out / "static" / "index.html").unlink()
    (out / "index.html").write_text(page(), "utf-8")
    (out / "service.js").write_text(service(out), "utf-8")


def settings() -> dict[str, object]:
    """What Pyodide is started with: the lock of its packages, of which none is used, and where packages lie."""
    lock = json.loads((MODULES / "pyodide" / "pyodide-lock.json").read_text("utf-8"))
    minor = ".".join(lock["info"]["python"].split(".")[:2])
    return {"lock": {"info": lock["info"], "packages": {}}, "packages": f"/lib/python{minor}/site-packages"}


def pack(path: Path) -> None:
    """The modules of the toolkit that the page needs, and of `graphviz`, with which DOT is written."""
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for file in sorted((ROOT / "fsmdsl").rglob("*")):
            name = file.relative_to(ROOT / "fsmdsl").as_posix()
            if file.is_file() and "__pycache__" not in file.parts and not name.startswith(LEFT_OUT):
                archive.writestr(ZipInfo(f"fsmdsl/{name}"), file.read_bytes(), ZIP_DEFLATED)
        for listed in distribution("graphviz").files or ():
            if listed.parts[0] == "graphviz" and listed.suffix == ".py":
                archive.writestr(ZipInfo(listed.as_posix()), listed.read_binary(), ZIP_DEFLATED)


def examples() -> list[dict[str, object]]:
    """Projects to begin with, by a name that links may use."""
    found = [
        ("lease", "A lease: one node, two jobs", {"lease.fsm": (HERE / "lease.fsm").read_text("utf-8")}),
        ("gang", "A deadlock: two gangs, two GPUs", {"gang.fsm": (ROOT / "fsmdsl/cli/gang.fsm").read_text("utf-8")}),
    ]
    for n, (title, text) in enumerate(tutorial(), 1):
        found.append((f"tutorial-{n}", f"Tutorial: {title}", {"lease.fsm": text}))
    for name, title in SPECS.items():
        files = {x.name: x.read_text("utf-8") for x in sorted((ROOT / "specs" / name).glob("*.fsm"))}
        found.append((name, title, files))
    return [{"name": name, "title": title, "files": files} for name, title, files in found]


def tutorial() -> list[tuple[str, str]]:
    """The whole files in the tutorial, with the headings that they stand below."""
    text = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
    pieces = re.findall(r"^## (.*?)$|^```fsm specs/lease\.fsm\n(module .*?)^```", text, re.MULTILINE | re.DOTALL)
    found, heading = [], "a machine"
    for title, block in pieces:
        heading = title or heading
        if block:
            found.append((heading, block))
    return found


def page() -> str:
    """The live page, with another start and a policy of its own: no server sends one."""
    text = (ROOT / "fsmdsl" / "editor" / "live" / "static" / "index.html").read_text("utf-8")
    start = '<script type="module" src="static/main.js"></script>'
    assert text.count(start) == 1
    sheet = '<link rel="stylesheet" href="playground/playground.css">'
    text = text.replace(start, f'{sheet}\n<script type="module" src="playground/start.js"></script>')
    text = text.replace("<title>fsm</title>", "<title>fsm playground</title>")
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    return text.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n{policy}').replace(
        "{{ nonce }}", "playground"
    )


def service(out: Path) -> str:
    """The service worker, which keeps all files of this version."""
    files = sorted(x for x in out.rglob("*") if x.is_file())
    version = sha256(b"".join(sha256(x.read_bytes()).digest() for x in files)).hexdigest()[:16]
    names = ["./", *(x.relative_to(out).as_posix() for x in files)]
    text = (HERE / "src" / "service.js").read_text("utf-8")
    return text.replace("{{ version }}", version).replace("{{ files }}", json.dumps(names))


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        built(Path(folder) / "playground")
        place = Path(sys.argv[1] if len(sys.argv) > 1 else "build/playground")
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(Path(folder) / "playground", place)
