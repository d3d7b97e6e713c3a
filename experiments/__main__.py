"""``python -m experiments``."""

import sys


def main() -> int:
    """Run the command: studies, or one of those that need fewer libraries."""
    if sys.argv[1:2] == ["baseline"]:
        from experiments.baseline.cli import main as baseline

        return baseline(sys.argv[2:])
    if sys.argv[1:2] == ["sensitivity"]:
        from experiments.sensitivity.cli import main as sensitivity

        return sensitivity(sys.argv[2:])
    if sys.argv[1:2] == ["tables"]:
        from experiments.tables.cli import main as tables

        return tables(sys.argv[2:])
    if sys.argv[1:2] == ["streaming"]:
        from experiments.streaming import main as streaming

        return int(streaming(sys.argv[2:], standalone_mode=False) or 0)
    from experiments.cli import main as studies

    return studies()


if __name__ == "__main__":  # worker processes import this module too
    sys.exit(main())
