#!/usr/bin/env python3
"""What to expect of uts, stencil and skynet on a cluster: a model on paper (docs/mpi-model.md), drawn.

    bench/mpi/model.py [--workers 16] > model.svg     the share of linear that each keeps, over the number of ranks
    bench/mpi/model.py --table                        what goes in, as the page has it
    bench/mpi/model.py --check                        the page's table is this one's; the curves are sane

It is a hypothesis: nothing here has run on more than one machine.
"""

import argparse
import math
import pathlib
import sys
import xml.dom.minidom

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs/mpi-model.md"
sys.dont_write_bytecode = True
sys.path.append(str(ROOT / "bench"))
from plots import line, svg, text

RANKS = [2**i for i in range(11)]
NETWORKS = {"fast": ("alpha_fast", "beta_fast", "#0b62c4"), "Ethernet": ("alpha_ethernet", "beta_ethernet", "#d97706")}

# name: figure, unit, source
INPUTS = {
    "alpha_fast": (1.5e-6, "s a message", "assumed: a network of the InfiniBand kind"),
    "beta_fast": (0.08e-9, "s a byte", "assumed: 100 Gbit/s"),
    "alpha_ethernet": (25e-6, "s a message", "assumed: TCP over Ethernet"),
    "beta_ethernet": (0.8e-9, "s a byte", "assumed: 10 Gbit/s"),
    "task": (0.2e-6, "s a round more than plain MPI", "assumed: the most that bench/mpi/compare.py allows"),
    "node": (0.25e-6, "s a node of uts", "assumed; `make cluster` measures it"),
    "cell": (1e-9, "s a cell of stencil", "assumed"),
    "spawn": (16.8e-9, "s a task of skynet", "measured here: spawn with one worker, bench/cores/RESULTS.md"),
    "nodes": (102181082, "nodes of T1L", "published, with the tree"),
    "depth": (13, "depth of T1L", "published, with the tree"),
    "side": (16384, "cells a side of stencil", "chosen"),
    "steps": (200, "steps of stencil", "the example's default"),
    "leaves": (100000000, "leaves of skynet", "chosen: a hundred times the example's"),
    "parts": (10000, "parts that are dealt out", "leaves over the example's 10000 a part"),
}
V = {name: entry[0] for name, entry in INPUTS.items()}


def inside():
    """The share of linear by workers of one rank: simulated (make cores), the row fork-join of RESULTS.md."""
    rows = [row.split("|") for row in (ROOT / "bench/cores/RESULTS.md").read_text().splitlines() if row.startswith("| ")]
    shares = next([float(s) for s in row[2:10]] for row in rows if row[1].strip().startswith("fork-join, share"))
    return {2**i: share for i, share in enumerate(shares)}


def uts(ranks, power, alpha, beta):
    steal = 2 * alpha + beta * 64 * 24 + V["task"]
    over = 0 if ranks == 1 else V["depth"] * (V["node"] + steal) + 4 * alpha * math.log2(ranks)
    return V["nodes"] * V["node"] / (ranks * power) + over


def stencil(ranks, power, alpha, beta):
    rows = V["side"] / ranks
    halo = alpha + beta * 8 * V["side"] + V["task"]
    edge = 2 * V["side"] * V["cell"]  # by the task that has the halos
    return V["steps"] * max(rows * V["side"] * V["cell"] / power, halo + edge if ranks > 1 else 0)


def skynet(ranks, power, alpha, beta):
    share = math.ceil(V["parts"] / ranks) / V["parts"]
    dealing = 0 if ranks == 1 else V["parts"] * V["task"] / 2 + 2 * alpha + beta * 24
    return max(V["leaves"] * 10 / 9 * V["spawn"] * share / power, dealing)


MODELS = {"uts T1L": uts, "stencil": stencil, "skynet": skynet}


def share(model, ranks, workers, network):
    alpha, beta = V[NETWORKS[network][0]], V[NETWORKS[network][1]]
    power = workers * inside()[workers]
    return model(1, power, alpha, beta) / (ranks * model(ranks, power, alpha, beta))


def draw(workers):
    parts, width, height = [], 260, 200
    for column, (title, model) in enumerate(MODELS.items()):
        left, top = 45 + column * (width + 40), 40
        parts.append(text(left, top - 14, f"{title}, share of linear", 13, weight="bold"))
        for tick in (0, 0.5, 1):
            y = top + height * (1 - tick)
            parts += [line(left, y, left + width, y), text(left - 6, y + 4, tick, 11, "end")]
        step = width / (len(RANKS) - 1)
        for i, ranks in enumerate(RANKS[::2]):
            parts.append(text(left + 2 * i * step, top + height + 16, ranks, 11, "middle"))
        for row, (network, (_, _, colour)) in enumerate(NETWORKS.items()):
            ys = [top + height * (1 - share(model, ranks, workers, network)) for ranks in RANKS]
            parts += [line(left + i * step, ys[i], left + (i + 1) * step, ys[i + 1], colour, 2) for i in range(len(ys) - 1)]
            parts.append(text(left + 8, top + height - 10 - 16 * row, network, 11, fill=colour))
    parts.append(text(45, 282, f"ranks of {workers} workers; a model (docs/mpi-model.md), not a measurement", 11))
    return svg(45 + 3 * (width + 40), 294, parts, "What to expect on a cluster").replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)


def table():
    rows = [f"| `{name}` | {figure:g} | {unit} | {source} |" for name, (figure, unit, source) in INPUTS.items()]
    return "\n".join(["| name | figure | unit | source |", "| --- | --- | --- | --- |", *rows])


def check():
    assert table() in PAGE.read_text(), "docs/mpi-model.md has another table than bench/mpi/model.py --table"
    assert inside()[1] == 1.0 and len(inside()) == 8
    for name, model in MODELS.items():
        for network in NETWORKS:
            shares = [share(model, ranks, 16, network) for ranks in RANKS]
            assert abs(shares[0] - 1) < 1e-9, name
            assert all(0 < s <= 1 + 1e-9 for s in shares), (name, network, shares)
            assert all(b <= a + 1e-9 for a, b in zip(shares, shares[1:])), (name, network, shares)
        assert share(model, 1024, 16, "fast") >= share(model, 1024, 16, "Ethernet"), name
    xml.dom.minidom.parseString(draw(16))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=16, choices=sorted(inside()))
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if args.check:
        check()
    else:
        print(table() if args.table else draw(args.workers))


if __name__ == "__main__":
    main()
