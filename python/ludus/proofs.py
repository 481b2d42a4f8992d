"""Knowledge graphs: questions to a trained prover, its answers and their proofs."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

from ._library import Error, ffi, lib, long_call, taken_text
from .training import Run


@dataclass(frozen=True)
class Proof:
    """A proof tree: an atom, and the rule that it follows by from what its children prove; a fact has neither, but
    a score where its file has scores."""

    atom: str
    rule: str | None
    rule_name: str | None
    children: tuple[Proof, ...]
    score: float | None = None

    def __str__(self):
        return "\n".join(self._lines("", ""))

    def _lines(self, first, rest):
        yield first + self.atom + (f"  by {self.rule_name}: {self.rule}" if self.rule else "  fact" + self._scored())
        for i, child in enumerate(self.children):
            last = i == len(self.children) - 1
            yield from child._lines(rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))

    def _scored(self):
        return "" if self.score in (None, 1.0) else f" (score {self.score:g})"

    @property
    def depth(self) -> int:
        """Rules on the longest way to a fact."""
        return 1 + max((c.depth for c in self.children), default=0) if self.rule else 0

    @staticmethod
    def read(tree: dict[str, Any]) -> Proof:
        """The tree as `ludus run --query … --json` writes it."""
        children = tuple(Proof.read(child) for child in tree["children"])
        return Proof(tree["atom"], tree["rule"], tree["rule_name"], children, tree.get("score"))


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
                       Proof.read(a["tree"]) if a.get("tree") else None, a.get("steps"), a.get("log_probability"),
                       a.get("follows")) for a in found["answers"]]

    def rank(self) -> dict[str, Any]:
        """How well the test queries are ranked among corruptions: ``mrr``, ``hits_1`` and what else `ludus eval` says."""
        return self.run.evaluate()
