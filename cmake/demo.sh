#!/usr/bin/env bash
# A story in three chapters, each with a video: a rescue solved exactly, a team that learns, a prover: demo.sh LUDUS
set -euo pipefail
ludus=$1
runs=runs/demo
rm -rf "$runs"
mkdir -p "$runs"

chapter() { printf '\n=== %s\n' "$1"; }
show() { echo "\$ ludus $*"; "$ludus" "$@"; }

chapter "A person is locked in. Ludus solves the world exactly: what would a robot do that cares for the power of people?"
show solve scenarios/empo/fetch_the_key.yaml -o $runs/rescue -q
show eval $runs/rescue --policy random
show record $runs/rescue -o demo-rescue.mp4 --episodes 2 --hold 1.5 -q \
  --caption "Locked in: the robot fetches the key and opens the door"

chapter "Three agents learn to reach their places without running into each other."
show train scenarios/particle/navigation_3.yaml -o $runs/team --set learner.steps=51200 --set learner.evaluation_episodes=256
show record $runs/team -o demo-team.mp4 --episodes 3 --frames-per-step 4 -q \
  --caption "A team that learned for half a minute to reach its places"

chapter "A prover learns to derive what is missing in a family tree."
show train scenarios/proof/family_tree.yaml -o $runs/prover --set learner.total_steps=57344 --set learner.evaluation.queries=50
show run $runs/prover --query "grandfather(x, y)"
show record $runs/prover -o demo-prover.mp4 --episodes 2 --seed 5 --hold 1.5 -q --set proof.negatives.per_positive=0 \
  --caption "A prover that learned for half a minute derives who is related how"

cat <<END

Three videos to open: demo-rescue.mp4, demo-team.mp4, demo-prover.mp4. Then look around live:
  export PATH="\$PWD/$(dirname "$ludus"):\$PATH"
  ludus view $runs/rescue
  ludus view $runs/team
  ludus run  $runs/prover --query "aunt(x, paul_bach)"
END
