"""Small trainings of every learner, solutions and recordings, which chaos.py and soak.py run."""
import os

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MAPPO_NETWORKS = "hidden_size: 16, graph: {hidden_size: 4, heads: 2, embed_hidden_size: 8, layers: 1}"


def scenario(name):
    return os.path.join(SOURCE, "scenarios", name)


def learner(text):
    return "learner={" + text + "}"


# name: (scenario, overrides, the override that says how long, a length that takes about two seconds, one without an end)
PHASE = ("hidden_dim: 16, goal_feature_dim: 8, updates_per_iteration: 40, batch_size: 16, buffer_size: 4000, buffer_memory: 4M, environments: 2")
TRAININGS = {
    "graph-mappo": ("particle/navigation_graph.yaml", [
        "run.environments=8", learner("type: graph-mappo, automatic: false, rollout_length: 12, chunk_length: 6, recurrent: true, epochs: 2, "
                                      "minibatches: 2, evaluation_episodes: 8, " + MAPPO_NETWORKS)],
                    "learner.steps", 12000, 1000000000),
    "proof-ppo": ("proof/family_tree.yaml", [
        "learner.network={embedding_size: 12, hidden: 16, layers: 1, dropout: 0.1, constant_scale: 0.02, states: concat}",
        "learner.n_envs=16", "learner.n_steps=16", "learner.batch_size=64",
        "learner.evaluation={every: 8, queries: 6, candidates: 4, slots: 8}"], "learner.total_steps", 40000, 1000000000),
    "kge": ("proof/family_tree.yaml", [learner("type: kge, scorer: complex, dimension: 12, negatives: 8")],
            "learner.epochs", 300, 1000000),
    "empo-phase1": ("empo/step_out_of_the_way.yaml", [learner("type: empo-phase1, " + PHASE)],
                    "learner.num_training_steps", 1200, 100000000),
    "empo-phase2": ("empo/step_out_of_the_way.yaml", [
        learner("type: empo-phase2, automatic: false, human_prior: {type: random}, exact_max_states: 0, warmup_v_h_e_steps: 50, "
                "warmup_x_h_steps: 20, warmup_u_r_steps: 20, warmup_q_r_steps: 20, warmup_v_r_steps: 20, "
                "beta_r_rampup_steps: 50, " + PHASE)], "learner.num_training_steps", 1200, 100000000),
    "empo-phase2, met": ("defaults/between.yaml", [
        learner("type: empo-phase2, met_memory: 0.0005, hidden_dim: 16, goal_feature_dim: 8, updates_per_iteration: 20, batch_size: 16, "
                "environments: 2")], "learner.num_training_steps", 300, 100000000),
    "ticks": ("particle/navigation_graph.yaml", [
        "run.environments=8", learner("type: ticks, ticks_per_iteration: 20, evaluation_episodes: 8, "
                                      "gate: {mode: top_k, rate: 0.3, warmup_experiences: 0}, policy: {" + MAPPO_NETWORKS + "}")],
              "learner.ticks", 600, 100000000),
    "clone": ("particle/navigation_graph.yaml", [
        "run.environments=8", learner("type: clone, report_every: 10, batch: 32, windows: {horizon: 3}, "
                                      "idle_weight: 1, evaluation_episodes: 8, dagger: {rounds: 3, labels: 400, environments: 4, "
                                      "expert: random}, network: {" + MAPPO_NETWORKS + "}")],
              "learner.steps", 200, 100000000),
}


def train(name, run, endless=False, threads=1, extra=()):
    """The words of `ludus train` after the program's name."""
    file, sets, key, short, long = TRAININGS[name]
    words = ["train", scenario(file), "-o", run, "-q", "-t", str(threads)]
    for text in sets + [f"{key}={long if endless else short}"]:
        words += ["--set", text]
    return words + list(extra)
