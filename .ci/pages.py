"""Write the page of every shipped pack to docs/packs/; with --check only say which are stale."""

from __future__ import annotations

import sys
from pathlib import Path

from qrewrite.pages import pack_page
from qrewrite.patterns.packs.find import known_packs
from qrewrite.patterns.packs.load import load_pack

PAGES = Path(__file__).parents[1] / "docs" / "packs"


def main() -> int:
    shipped = [pack.name for pack in known_packs() if pack.origin == "shipped"]
    pages = {PAGES / f"{name}.md": pack_page(load_pack(name)) for name in shipped}
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text() != text]
    extra = [path for path in PAGES.glob("*.md") if path not in pages]
    if "--check" in sys.argv:
        for path in [*stale, *extra]:
            print(f"{path} is stale: run .ci/pages.py", file=sys.stderr)
        return 1 if stale or extra else 0
    for path in stale:
        path.write_text(pages[path])
    for path in extra:
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
