# SPDX-License-Identifier: Apache-2.0
"""Make a release in one go: version, changelog, tag, wheel and sdist, checked and tried in fresh environments.

    python tools/release.py 0.2.0 --url https://forge.example/armwright [--dry-run]

Everything happens in a clone of the last commit, in a temporary folder. Only when all of it has worked, the commit and
the tag go into this checkout and the files into ``dist/``; with ``--dry-run`` only the files do. Nothing is uploaded.

A package index shows the README away from the repository, so links and pictures become absolute: below `url`, at the
tag of the release.
"""

from __future__ import annotations

import argparse
import datetime
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SMOKE = (
    "import numpy as np, armwright as aw; arm = aw.load('ur5'); q, qd, tau = np.full((3, 9, 6), 0.1); "
    "qdd = aw.forward_dynamics(arm, q, qd, tau); assert np.allclose(aw.inverse_dynamics(arm, q, qd, qdd), tau); "
    "print('inverse after forward dynamics:', aw.__version__)"
)
COMMANDS = (
    ("robots",),
    ("doctor",),
    ("show", "ur5", "--json"),
    ("simulate", "ur5", "--law", "pd", "--duration", "0.1"),
)
LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s]+)\)")


class ReleaseError(Exception):
    """Why there is no release, in a sentence."""


def absolute_links(text: str, url: str, tag: str) -> str:
    """Return Markdown with links to files of the repository made absolute, pictures to their raw bytes."""

    def absolute(found: re.Match[str]) -> str:
        label, target = found.groups()
        if re.match(r"[a-z]+:|#", target):
            return found.group(0)
        return f"{label}({url.rstrip('/')}/{'raw' if label.startswith('!') else 'blob'}/{tag}/{target})"

    return LINK.sub(absolute, text)


def relative_links(text: str) -> list[str]:
    """Return the targets of links that lead nowhere outside the repository."""
    return [target for _, target in LINK.findall(text) if not re.match(r"[a-z]+:|#", target)]


def dated_changelog(text: str, version: str, day: str) -> str:
    """Return the changelog with its heading "Unreleased" turned into the version's, a new empty one above it.

    Raises:
        ReleaseError: there is nothing unreleased, or the version is there already.
    """
    if re.search(rf"^## {re.escape(version)}\b", text, re.M):
        raise ReleaseError(f"CHANGELOG.md has a section {version} already")
    heading = re.search(r"^## Unreleased.*$", text, re.M)
    if heading is None or not text[heading.end() :].split("\n## ", 1)[0].strip():
        raise ReleaseError("CHANGELOG.md: nothing stands under '## Unreleased'")
    return text[: heading.start()] + f"## Unreleased\n\n## {version} ({day})" + text[heading.end() :]


def replaced(file: Path, pattern: str, new: str) -> None:
    """Replace the one match of a pattern in a file.

    Raises:
        ReleaseError: there is not exactly one.
    """
    text, count = re.subn(pattern, new, file.read_text(encoding="utf-8"), flags=re.M)
    if count != 1:
        raise ReleaseError(f"{file.name}: expected one line like {pattern!r}, found {count}")
    file.write_text(text, encoding="utf-8")


def run(words: Sequence[str | Path], where: Path, quiet: bool = True) -> str:
    """Run a program; its output.

    Raises:
        ReleaseError: it failed, with the end of what it said.
    """
    done = subprocess.run(
        [str(word) for word in words],
        cwd=where,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        told = (done.stdout + done.stderr).strip()[-2000:]
        raise ReleaseError(f"{' '.join(str(word) for word in words)}: exit code {done.returncode}\n{told}")
    if not quiet:
        print(done.stdout.strip())
    return done.stdout


def pythons(names: Iterable[str] = PYTHONS) -> list[str]:
    """Return every Python at hand that the package names: those on the PATH that run, pyenv's, and this one."""
    found: dict[str, str] = {"{}.{}".format(*sys.version_info[:2]): sys.executable}
    for name in names:
        places = [shutil.which(f"python{name}"), *sorted(Path.home().glob(f".pyenv/versions/{name}*/bin/python"))]
        for place in places:
            if place and name not in found:
                tried = subprocess.run([str(place), "-c", "import venv"], capture_output=True, check=False)
                if tried.returncode == 0:
                    found[name] = str(place)
    return [found[name] for name in sorted(found, key=lambda name: int(name.split(".")[1]))]


def prepared(clone: Path, version: str, day: str) -> None:
    """Write the version into the clone, commit and tag it."""
    replaced(clone / "src/armwright/__init__.py", r'^__version__ = ".*"$', f'__version__ = "{version}"')
    replaced(clone / "CITATION.cff", r"^version: .*$", f"version: {version}")
    replaced(clone / "CITATION.cff", r"^date-released: .*$", f'date-released: "{day}"')
    changelog = clone / "CHANGELOG.md"
    changelog.write_text(dated_changelog(changelog.read_text(encoding="utf-8"), version, day), encoding="utf-8")
    run(["git", "commit", "--quiet", "--all", "-m", f"Release {version}"], clone)
    run(["git", "tag", "-a", f"v{version}", "-m", f"Armwright {version}"], clone)


def built(clone: Path, url: str, version: str) -> list[Path]:
    """Build wheel and sdist with a README that stands alone, and check them; their paths."""
    readme = clone / "README.md"
    readme.write_text(absolute_links(readme.read_text(encoding="utf-8"), url, f"v{version}"), encoding="utf-8")
    left = relative_links(readme.read_text(encoding="utf-8"))
    if left:
        raise ReleaseError(f"README.md: links that an index cannot follow: {', '.join(left)}")
    replaced(
        clone / "pyproject.toml",
        r"^\[project\.scripts\]$",
        f'[project.urls]\nSource = "{url}"\nChangelog = "{url}/blob/v{version}/CHANGELOG.md"\n\n[project.scripts]',
    )
    run([sys.executable, "-m", "build", "--outdir", "dist"], clone)
    files = sorted((clone / "dist").iterdir())
    run([sys.executable, "-m", "twine", "check", "--strict", *files], clone, quiet=False)
    return files


def tried(python: str, wheel: Path, folder: Path) -> str:
    """Install the wheel alone in a fresh environment and use it, away from the checkout; what it said."""
    environment = folder / f"env-{Path(python).name}-{abs(hash(python))}"
    run([python, "-m", "venv", environment], folder)
    program = environment / ("Scripts" if sys.platform == "win32" else "bin")
    run([program / "python", "-m", "pip", "install", "--quiet", wheel], folder)
    for words in COMMANDS:
        run([program / "armwright", *words], folder)
    said = run([program / "python", "-c", SMOKE], folder).strip()
    size = sum(file.stat().st_size for file in environment.rglob("*") if file.is_file() and not file.is_symlink())
    shutil.rmtree(environment)
    return f"{run([python, '--version'], folder).strip()}: {said}; environment {size / 1e6:.0f} MB"


def release(version: str, url: str, dry_run: bool) -> None:
    """Make the release; see the text of this file."""
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        raise ReleaseError(f"{version!r} is no version; 0.2.0 and 0.2.0rc1 are")
    if not re.match(r"https://[^/\s]+/\S+$", url):
        raise ReleaseError(f"{url!r} is no address of a repository; https://HOST/PATH is")
    if run(["git", "status", "--porcelain"], ROOT).strip():
        raise ReleaseError("the checkout has changes that are not committed")
    if run(["git", "tag", "--list", f"v{version}"], ROOT).strip():
        raise ReleaseError(f"the tag v{version} is there already")
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    with tempfile.TemporaryDirectory(prefix="release") as place:
        folder, clone = Path(place), Path(place) / "clone"
        run(["git", "clone", "--quiet", ROOT, clone], folder)
        for key in ("user.name", "user.email"):
            run(["git", "config", key, run(["git", "config", key], ROOT).strip()], clone)
        prepared(clone, version, day)
        files = built(clone, url, version)
        wheel = next(file for file in files if file.suffix == ".whl")
        for python in pythons():
            print(tried(python, wheel, folder), flush=True)
        (ROOT / "dist").mkdir(exist_ok=True)
        for file in files:
            shutil.copy2(file, ROOT / "dist" / file.name)
            print(f"dist/{file.name}: {file.stat().st_size / 1e6:.1f} MB")
        if not dry_run:
            run(["git", "pull", "--quiet", "--ff-only", clone, "HEAD"], ROOT)
            run(["git", "fetch", "--quiet", clone, f"refs/tags/v{version}:refs/tags/v{version}"], ROOT)
            print(f"committed and tagged v{version}; push it, then: python -m twine upload dist/*{version}*")


def main() -> int:
    """Read the words of the command."""
    parser = argparse.ArgumentParser(description="Make a release ready.")
    parser.add_argument("version", help="such as 0.2.0")
    parser.add_argument("--url", required=True, help="where the repository can be read; links of the README lead there")
    parser.add_argument("--dry-run", action="store_true", help="build, check and try; no commit and no tag here")
    asked = parser.parse_args()
    try:
        release(asked.version, asked.url, asked.dry_run)
    except ReleaseError as error:
        print(f"no release: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
