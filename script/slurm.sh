#!/usr/bin/env bash
# An example for Slurm: one rank per GPU on two nodes with four GPUs each. First build the program on the cluster:
#   cargo build --release --features mpi        (docs/clusters.md)
# Then: sbatch script/slurm.sh
# For a tree of many bodies, a rank per node with all its GPUs copies less: --ntasks-per-node=1 here, and below
#   plummer -n 200m --method tree --engine gpu --devices 4 --files ranks
#SBATCH --job-name=gravitile
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=8
#SBATCH --gpus-per-node=4
#SBATCH --time=04:00:00
#SBATCH --signal=INT@120
set -euo pipefail

run=${RUN:-$PWD/run-$SLURM_JOB_ID}
program=${GRAVITILE:-target/release/gravitile}

# --kill-on-bad-exit: if a rank dies, the others end instead of waiting for it.
# --signal above: two minutes before the time limit the run saves its state and stops, and can be resumed.
if [ -e "$run/run.toml" ]; then
  srun --kill-on-bad-exit=1 "$program" resume "$run"
else
  srun --kill-on-bad-exit=1 "$program" run plummer -n 1m --dt 0.001 --until 10 --every 0.1 \
    --engine gpu --method direct --out "$run"
fi
