"""pip-audit, by its own command line, also where an index serves no document of single releases; run by `.ci/supply`.

It judges nothing itself. There the project's document is taken, whose vulnerabilities are those of its newest release,
and only for a pin of just that one; any other pin stays one that could not be audited, which `--strict` fails on.
"""

from typing import Any

from pip_audit import _cli
from pip_audit._service import pypi


class Projects:
    """A session that answers with the project's document where that of its newest release is not served."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def get(self, url: str, **options: Any) -> Any:
        """Answer for `https://pypi.org/pypi/NAME/VERSION/json`."""
        answer = self._session.get(url=url, **options)
        if answer.status_code != 404:
            return answer
        base, version, _ = url.rsplit("/", 2)
        project = self._session.get(url=f"{base}/json", **options)
        if project.ok and project.json()["info"]["version"] == version:
            return project
        return answer


def main() -> None:
    """Run pip-audit's own command line on this one's arguments."""
    plain = pypi.caching_session
    pypi.caching_session = lambda *arguments, **options: Projects(plain(*arguments, **options))
    _cli.audit()


if __name__ == "__main__":
    main()
