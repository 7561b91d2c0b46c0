"""A process that sweeps on demand, as a worker does: it is told how many are to be moved."""

from __future__ import annotations

from elicitation.bench.on_demand import serve, set_up


def main() -> None:
    set_up()
    from elicitation.services.sweeps.expiring import expire

    def work(asked: str) -> dict[str, int]:
        most, moved = int(asked), 0
        while moved < most and (done := expire(most - moved)):
            moved += done
        return {"moved": moved}

    serve(work)


if __name__ == "__main__":
    main()
