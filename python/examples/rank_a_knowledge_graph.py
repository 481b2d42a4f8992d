"""Trains a prover on a knowledge graph, ranks the test queries among corruptions, and shows proofs.

    python rank_a_knowledge_graph.py [--world proof/family_tree] [--query "grandfather(x, y)"] [--short]
"""

import argparse
import tempfile

import ludus

SHORT = {"learner.total_steps": 512, "learner.n_envs": 8, "learner.n_steps": 64, "learner.batch_size": 64,
         "learner.n_epochs": 1, "learner.evaluation.queries": 5, "learner.evaluation.candidates": 5}


def progress(iteration, n_iterations, metrics):
    print(f"iteration {iteration} of {n_iterations}: return {metrics['episode/return']:.3f}", end="\r", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--world", default="proof/family_tree")
    parser.add_argument("--query", default="grandfather(x, y)")
    parser.add_argument("--short", action="store_true", help="a moment of training, and no ranking")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = ludus.train(ludus.scenario_path(options.world), f"{folder}/run", overrides=SHORT if options.short else None,
                          device="cpu", progress=progress)
        print()
        graph = ludus.KnowledgeGraph(run.folder)
        if not options.short:
            rank = graph.rank()
            print(f"MRR {rank['mrr']:.3f}, first {100 * rank['hits_1']:.0f} %, among ten {100 * rank['hits_10']:.0f} %")
        for answer in graph.prove(options.query):
            print(f"{answer.atom}: " + (f"a proof of depth {answer.proof.depth}\n{answer.proof}" if answer.proof
                                         else answer.follows or "not proved"))


if __name__ == "__main__":
    main()
