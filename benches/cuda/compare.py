#!/usr/bin/env python3
"""The chapter's kernel in CUDA C++ and gravitile, in turn on the same GPU: a table of ratios.

    benches/cuda/compare.py [--out DIR] [--sizes 1024,4096,...] [--tune SECS] [--gravitile PROGRAM]

Builds nbody.cu with nvcc, lets it find its best shape for each number of bodies, then runs both
programs by turns and prints their steps per second as markdown. --out DIR keeps compare.json (every
sample), compare.md and cuda.jsonl (every line of the CUDA program). Only the standard library is used.

A step is one force on all by all and one leapfrog pass in both programs; all steps of a run are queued
without a wait in between. gravitile is timed by the difference of a long and a short run, which leaves out
what is done once (first forces, snapshots, energies); that scatters by some hundredths of a second, of the
5 that a run takes. The CUDA program takes its best shape at each size; with --tune gravitile does the same
('gravitile tune'), without it takes its defaults.

Exit: 0 done; 1 a program failed or a result was wrong; 2 no nvcc, no GPU or no gravitile.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SIZES = "1024,4096,16384,65536,262144,1048576"
DT = 0.001
# Seconds for each shape of the CUDA kernel while the best is looked for.
SWEEP_SECS = 0.3
# Above these sizes a sweep of every shape takes too long: only the best of the size before are tried.
ALL_SHAPES_UP_TO, SOME_SHAPES_UP_TO = 65536, 262144
SOME_SHAPES, FEW_SHAPES = 16, 4


class Unavailable(Exception):
    """What is needed is not on this machine."""


class Failed(Exception):
    """A program did not do what it should."""


def call(command, limit=300):
    command = [str(word) for word in command]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        raise Failed(f"{' '.join(command)}: not done after {limit} s") from None
    except OSError as error:
        raise Failed(f"{command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise Failed(f"{' '.join(command)}: exit {done.returncode}\n{words}")
    return done.stdout


def nvcc_program():
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    places = [shutil.which("nvcc")] + [home and str(Path(home, "bin", "nvcc")) for home in homes]
    for place in places:
        if place and os.access(place, os.X_OK):
            return place
    raise Unavailable("no nvcc on PATH, in CUDA_HOME or in /usr/local/cuda: the CUDA side cannot be built")


def smi(field):
    """One field of nvidia-smi for the first GPU, or None."""
    try:
        return call(["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader"], 60).splitlines()[0].strip()
    except (Failed, IndexError):
        return None


def build(folder):
    """The CUDA program and the flags that it was built with."""
    nvcc, target = nvcc_program(), Path(folder, "nbody")
    architectures = ["native"]
    capability = smi("compute_cap")
    if capability:
        # For compilers that do not know 'native'.
        architectures.append("sm_" + capability.replace(".", ""))
    for architecture in architectures:
        flags = ["-O3", "-use_fast_math", f"-arch={architecture}", "-std=c++17"]
        try:
            call([nvcc, *flags, "-o", target, HERE / "nbody.cu"])
            return target, " ".join(flags)
        except Failed as error:
            problem = error
    raise problem


def cuda_lines(program, arguments):
    lines = []
    for line in call([program, *arguments]).splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            raise Failed(f"{program} printed what is no JSON: {line[:200]}") from None
    if not lines:
        raise Failed(f"{program} printed nothing")
    return lines


def shapes_for(n, before):
    """Shapes worth trying, from the sweep at the size before; None for all."""
    if n <= ALL_SHAPES_UP_TO or not before:
        return None
    ranked = sorted((line for line in before if not line["best"]), key=lambda line: line["median_secs"])
    ranked = ranked[: SOME_SHAPES if n <= SOME_SHAPES_UP_TO else FEW_SHAPES]
    return " ".join(f"{line['p']},{line['q']},{line['u']}" for line in ranked)


def gravitile_run(program, n, steps, extra):
    with tempfile.TemporaryDirectory() as folder:
        time_of_run = repr(steps * DT)
        command = [program, "run", "plummer", "-n", n, "--method", "direct", "--eps", "0.05"]
        command += ["--dt", DT, "--until", time_of_run, "--every", time_of_run]
        command += ["--engine", "gpu", "--out", Path(folder, "run"), "--json", *extra]
        text = call(command)
    try:
        result = json.loads(text)
        if result["steps"] != steps:
            raise Failed(f"gravitile did {result['steps']} steps instead of {steps}")
        return result
    except (ValueError, KeyError) as error:
        raise Failed(f"gravitile run --json answered something else ({error}): {text[:200]}") from None


def gravitile_rate(program, n, steps, extra):
    """Steps per second, from two runs, and the long run's own report."""
    for _ in range(4):
        few = max(1, steps // 10)
        # The driver keeps compiled kernels: the first run of a shape takes longer than the later ones.
        runs = [gravitile_run(program, n, few, extra) for _ in range(2)]
        short = min(run["wall_secs"] for run in runs)
        long = gravitile_run(program, n, steps, extra)
        secs = long["wall_secs"] - short
        # What is done once scatters by more than a few steps take.
        if secs > 0.5 * short:
            return (steps - few) / secs, long
        steps *= 2
    raise Failed(f"n = {n}: even {steps // 2} steps took little longer than {few}")


def same_device(cuda, vulkan):
    """Whether two names mean one GPU; drivers differ in the words around the model."""
    common = {"nvidia", "geforce", "graphics", "gpu", "tesla"}
    words = [set(name.lower().split()) - common for name in (cuda, vulkan)]
    return bool(words[0] & words[1])


def compare_at(n, cuda, gravitile, before, options):
    """One row, and the CUDA program's lines for this size."""
    if options.tune:
        call([gravitile, "tune", "-n", n, "--secs", options.tune, "--json"], 60 + 3 * options.tune)
    arguments = ["--n", n, "--sweep", "--secs", min(options.secs, SWEEP_SECS)]
    among = shapes_for(n, before)
    if among:
        arguments += ["--among", among]
    lines = cuda_lines(cuda, arguments)
    best = lines[-1]
    shape = ["--p", best["p"], "--q", best["q"], "--u", best["u"]]
    steps = min(1_000_000, max(4, round(options.secs * best["steps_per_sec"])))
    cuda_samples, own_samples, events = [], [], []
    rounds = options.rounds if best["steps_per_sec"] > 20 else min(options.rounds, 2)
    for _ in range(rounds):
        line = cuda_lines(cuda, ["--n", n, *shape, "--secs", options.secs])[-1]
        lines.append(line)
        cuda_samples.append(line["steps_per_sec"])
        events += line["samples"]
        rate, report = gravitile_rate(gravitile, n, steps, options.gravitile_args.split())
        own_samples.append(rate)
    cuda_rate, own_rate = statistics.median(cuda_samples), statistics.median(own_samples)
    row = {
        "n": n,
        "ratio": own_rate / cuda_rate,
        "cuda": {
            "p": best["p"], "q": best["q"], "u": best["u"], "steps_per_sec": cuda_rate,
            "steps_per_sec_samples": cuda_samples, "event_secs_per_step_samples": events,
            "g_interactions_per_sec": cuda_rate * n * n / 1e9, "rms_error": best["rms_error"],
        },
        "gravitile": {
            "configuration": report["configuration"], "adapter": report["adapter"],
            "steps_per_sec": own_rate, "steps_per_sec_samples": own_samples, "steps": report["steps"],
            "g_interactions_per_sec": own_rate * n * n / 1e9, "energy_error": report["energy_error"],
        },
        "device": best["device"],
    }
    if not same_device(best["device"], report["adapter"] or ""):
        raise Failed(f"CUDA ran on {best['device']}, gravitile on {report['adapter']}: "
                     "choose with --gravitile-args '--adapter NAME'")
    return row, lines


def spread(samples):
    """Half the range over the median, in percent."""
    return 50.0 * (max(samples) - min(samples)) / statistics.median(samples)


def markdown(report):
    lines = [
        f"{report['device']}, driver {report['driver']}, CUDA {report['cuda']}, {report['gravitile']}",
        "",
        "| N | CUDA p, q, u | CUDA steps/s | G interactions/s | gravitile steps/s | G interactions/s "
        "| gravitile / CUDA | gravitile kernel |",
        "|---:|---|---:|---:|---:|---:|---:|---|",
    ]
    for row in report["rows"]:
        cuda, own = row["cuda"], row["gravitile"]
        cells = [
            f"{row['n']:,}", f"{cuda['p']}, {cuda['q']}, {cuda['u']}",
            f"{cuda['steps_per_sec']:,.4g} ± {spread(cuda['steps_per_sec_samples']):.1f} %",
            f"{cuda['g_interactions_per_sec']:,.4g}",
            f"{own['steps_per_sec']:,.4g} ± {spread(own['steps_per_sec_samples']):.1f} %",
            f"{own['g_interactions_per_sec']:,.4g}", f"{row['ratio']:.2f}",
            own["configuration"].rsplit("), ", 1)[-1],
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def keep(folder, report, lines):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "compare.json").write_text(json.dumps(report, indent=1) + "\n")
    (folder / "compare.md").write_text(markdown(report))
    (folder / "cuda.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default=SIZES, help="numbers of bodies, multiples of 1024 (%(default)s)")
    parser.add_argument("--secs", type=float, default=5.0,
                        help="seconds per sample of either program (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of both programs (%(default)s)")
    parser.add_argument("--gravitile", default=str(HERE.parents[1] / "target" / "release" / "gravitile"))
    parser.add_argument("--gravitile-args", default="", help="more options of 'gravitile run', in one word")
    parser.add_argument("--tune", type=float, default=0.0, metavar="SECS",
                        help="let gravitile tune itself that long for each size first")
    parser.add_argument("--nbody", help="a built CUDA program instead of building one")
    parser.add_argument("--out", type=Path, help="folder for compare.json, compare.md and cuda.jsonl")
    options = parser.parse_args(arguments)
    try:
        options.sizes = [int(word) for word in options.sizes.split(",")]
    except ValueError:
        parser.error("--sizes wants numbers with commas between")
    if not all(0 < n <= 1 << 26 for n in options.sizes):
        parser.error("--sizes must lie between 1 and 67108864")
    if not (options.secs > 0.0 and options.rounds >= 1 and options.tune >= 0.0):
        parser.error("--secs must be greater than 0, --rounds at least 1 and --tune not negative")
    return options


def main(arguments):
    options = options_of(arguments)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        # Neither what this machine's user tuned before nor what is tuned here meets the other.
        os.environ["GRAVITILE_CACHE_DIR"] = folder
        if not os.access(options.gravitile, os.X_OK):
            raise Unavailable(f"no program {options.gravitile}: cargo build --release, or --gravitile PROGRAM")
        cuda, flags = (options.nbody, "as given") if options.nbody else build(folder)
        report = {
            "driver": smi("driver_version"), "flags": flags, "tuned_secs": options.tune,
            "gravitile": call([options.gravitile, "--version"]).strip(), "rows": [],
        }
        lines, before = [], []
        for n in sorted(options.sizes):
            row, before = compare_at(n, cuda, options.gravitile, before, options)
            lines += before
            version = before[0]["cuda_runtime"]
            report["device"] = row.pop("device")
            report["cuda"] = f"{version // 1000}.{version % 1000 // 10}"
            report["rows"].append(row)
            print(f"n = {n}: {row['ratio']:.2f} ({time.monotonic() - begun:.0f} s)", file=sys.stderr, flush=True)
            if options.out:
                # After every size: an end in between keeps what was measured.
                keep(options.out, report, lines)
    print(markdown(report))
    print(json.dumps(report))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Unavailable as error:
        sys.exit(print(f"compare.py: {error}", file=sys.stderr) or 2)
    except Failed as error:
        sys.exit(print(f"compare.py: {error}", file=sys.stderr) or 1)
    except KeyboardInterrupt:
        sys.exit(130)
