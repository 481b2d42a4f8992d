"""Knowledge graphs: questions to a trained prover, its answers and their proofs."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import Any

from ._library import Error, ffi, lib, long_call, taken_text
from .training import Run

# A line of a proof as Ludus writes it: branches of three characters each, an atom, and where it comes from.
_LINE = re.compile(r"^(?P<branch>(?:│  |   |├─ |└─ )*)(?P<atom>\S.*?)  (?:(?P<fact>fact)|by (?P<name>[^:]+): (?P<rule>.*))$")


@dataclass(frozen=True)
class Proof:
    """A proof tree: an atom, and the rule that it follows by from what its children prove; a fact has neither."""

    atom: str
    rule: str | None
    rule_name: str | None
    children: tuple[Proof, ...]

    def __str__(self):
        return "\n".join(self._lines("", ""))

    def _lines(self, first, rest):
        yield first + self.atom + (f"  by {self.rule_name}: {self.rule}" if self.rule else "  fact")
        for i, child in enumerate(self.children):
            last = i == len(self.children) - 1
            yield from child._lines(rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))

    @property
    def depth(self) -> int:
        """Rules on the longest way to a fact."""
        return 1 + max((c.depth for c in self.children), default=0) if self.rule else 0

    @staticmethod
    def read(text: str) -> Proof:
        """The tree that a text like that of ``str(proof)`` shows."""
        nodes: list[tuple[int, re.Match]] = []
        for line in text.splitlines():
            match = _LINE.match(line)
            if not match:
                raise Error(f"a proof: expected an atom and a rule or 'fact', found {line!r}")
            nodes.append((len(match["branch"]) // 3, match))

        def build(at):
            depth, match = nodes[at]
            children, next_at = [], at + 1
            while next_at < len(nodes) and nodes[next_at][0] > depth:
                child, next_at = build(next_at)
                children.append(child)
            return Proof(match["atom"], match["rule"], match["name"], tuple(children)), next_at

        return build(0)[0]


@dataclass(frozen=True)
class Answer:
    """What the variables of a query may stand for. `proof` is ``None`` where none was found; `follows` then says what
    the exact prover decides, e.g. ``"refuted"``."""

    atom: str
    bindings: dict[str, str]
    proved: bool
    is_fact: bool
    proof: Proof | None
    steps: int | None
    log_probability: float | None
    follows: str | None


class KnowledgeGraph:
    """A knowledge graph with the prover that was trained on it: the folder of a RUN of proof-ppo."""

    def __init__(self, run: str | os.PathLike):
        self.run = Run(run)
        if self.run.scenario.world != "proof":
            raise Error(f"{run}: expected a RUN in a proof world, found {self.run.scenario.world}")

    def prove(self, query: str, answers: int = 3) -> list[Answer]:
        """Answers to an atom such as ``"grandfather(x, y)"``, the most probable first; none where none was found."""
        out = ffi.new("char **")
        long_call(lib.ludus_prove, os.fspath(self.run.folder).encode(), query.encode(), answers, out)
        found = json.loads(taken_text(out[0]))
        return [Answer(a["atom"], a.get("bindings") or {}, a["proved"], a.get("fact", False),
                       Proof.read(a["proof"]) if a.get("proof") else None, a.get("steps"), a.get("log_probability"),
                       a.get("follows")) for a in found["answers"]]

    def rank(self) -> dict[str, Any]:
        """How well the test queries are ranked among corruptions: ``mrr``, ``hits_1`` and what else `ludus eval` says."""
        return self.run.evaluate()
