"""The tables of keys in ``scenario.md`` as data: what ``leafspine schema`` says of each key."""

import json
import re
from pathlib import Path

PAGE = Path(__file__).parent / "scenario.md"


def sections() -> dict[str, dict[str, dict[str, str]]]:
    """By table and key: the cells ``default`` and ``meaning``, without Markdown."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    names: list[str] = []
    heads: list[str] = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if marker := re.fullmatch(r"<!-- keys: (\S+) -->", line):
            names.append(marker[1])
            found.setdefault(marker[1], {})
        elif not line.startswith("|"):
            names = []
        elif line.startswith("| key |"):
            heads = cells
        elif names and line.startswith("| `"):
            row = dict(zip(heads, cells, strict=True))
            entry = {head: plain(row[head]) for head in ("default", "meaning")}
            for name in names:
                found[name] |= {key: entry for key in re.findall(r"`(\S+)`", cells[0])}
    return found


def plain(cell: str) -> str:
    """A cell without Markdown's marks; a default is without its quotes, too."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cell).replace("\\|", "|")
    if re.fullmatch(r"`[^`]*`", text):
        return text.strip("`").strip('"')
    return text.replace("`", "")


def keys_file() -> str:
    """The contents of ``python/leafspine/data/keys.json``."""
    return json.dumps(sections(), indent=1, ensure_ascii=False) + "\n"
