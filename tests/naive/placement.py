"""Naive twins of streamlb.placement and of the pipeline simulator.

The loops are those of the paper, and the simulator is made of dictionaries.
"""

import math

_MASK = (1 << 64) - 1


def pipeline_steps(t, n):
    """Return M_init, M'_init, M'_trn (Eq. 6), M'_trn (Eq. 10) and M'_inter, made entry by entry."""
    g = math.gcd(t, n)
    st, sn = t // g, n // g
    init = [[i * n + j for j in range(n)] for i in range(t)]
    comp = [[v // t for v in row] for row in init]
    trn = [None] * t
    for i in range(t):
        trn[i // st + (i % st) * g] = comp[i]
    moved = [[None] * n for _ in range(t)]
    for r in range(st):
        for c in range(sn):
            new = (r * sn + c) % st
            for a in range(g):
                for b in range(g):
                    moved[new * g + a][c * g + b] = trn[r * g + a][c * g + b]
    inter = [[None] * n for _ in range(t)]
    for r in range(st):
        for c in range(sn):
            for a in range(g):
                for b in range(g):
                    inter[r * g + (a + b) % g][c * g + b] = moved[r * g + a][c * g + b]
    return init, comp, trn, moved, inter


def refined_to_the_letter(inter, edges):
    """Return M'_fin after the printed lines of Algorithm 2, exchange by exchange in the matrix."""
    n = len(inter[0])
    g = math.gcd(len(inter), n)
    m = [sorted(inter[0][b * g : (b + 1) * g]) for b in range(n // g)]
    r_minus = {}
    for block in m:
        for s in block:
            r_minus[s] = sorted((v for v in block if v != s and (s, v) not in edges), reverse=True)
    final = [list(row) for row in inter]
    num_of_swaps = 0

    def check_swap(i, j):
        nonlocal num_of_swaps
        k = 0
        for x in range(g):
            for y in range(g):
                source, target = m[i][x], m[j][y]
                if (source, target) in edges:
                    if num_of_swaps < g // 2:
                        if k < len(r_minus[source]):
                            exchanged = {r_minus[source][k]: target, target: r_minus[source][k]}
                            for row in final:
                                row[:] = [exchanged.get(v, v) for v in row]
                            k += 1
                            num_of_swaps += 1
                    else:
                        num_of_swaps = 0
                        return "GoTo Line 3"
        return None

    for i in range(len(m) - 1):
        for j in range(i + 1, len(m)):
            if check_swap(i, j) == "GoTo Line 3":
                break
    return final


def tasks_with_a_common_divisor(t, n):
    """Return the least number from t on that shares a divisor with n; t itself where n is 1."""
    more = t
    while n > 1 and not any(more % d == n % d == 0 for d in range(2, n + 1)):
        more += 1
    return more


def refinement(inter, edges):
    """Return the exchanges of Algorithm 2, by its four loops, as we restate it."""
    t, n = len(inter), len(inter[0])
    g = math.gcd(t, n)
    m = [sorted(inter[0][b * g : (b + 1) * g]) for b in range(n // g)]
    sends = set(map(tuple, edges))
    r_minus = {
        s: [v for v in sorted(block, reverse=True) if v != s and (s, v) not in sends] for block in m for s in block
    }
    block_of = {s: b for b, block in enumerate(m) for s in block}
    used, swaps = set(), []
    for i in range(len(m) - 1):
        moved = 0
        for j in range(i + 1, len(m)):
            for s in m[i]:
                for d in m[j]:
                    if (s, d) not in sends or moved >= g // 2 or block_of[s] != i or block_of[d] != j or d in used:
                        continue
                    for v in r_minus[s]:
                        if v not in used and block_of[v] == i:
                            block_of[v], block_of[d] = j, i
                            used |= {s, d}
                            moved += 1
                            swaps.append((v, d))
                            break
    return swaps


def task_nodes(final, counts):
    """Return each task's node: the q-th time a component comes up in the rows is its task q."""
    seen = [0] * len(counts)
    nodes = {}
    for row in final:
        for j, v in enumerate(row):
            if v < len(counts):
                if seen[v] < counts[v]:
                    nodes[v, seen[v]] = j
                seen[v] += 1
    return [nodes[v, q] for v, count in enumerate(counts) for q in range(count)]


def most_parts(schedule, task_node, component, edges, stages, slots):
    """Return the most parts that one task receives in each slot."""
    out = []
    for k in range(slots):
        received = [0] * len(task_node)
        for (u, v), stage in zip(edges, stages):
            if k >= stage:
                row = schedule[(k - stage) % len(schedule)]
                for a, ca in enumerate(component):
                    for b, cb in enumerate(component):
                        if ca == u and cb == v and row[task_node[a]] == task_node[b]:
                            received[b] += 1
        out.append(max(received))
    return out


def relabelling_objective(column, counts, edges, rates, slot, load_factor):
    """Return the inter-node share of the traffic plus the weighted variation of the loads."""
    n = len(column[0])
    nodes = [[column[q][slot[v]] for q in range(counts[v])] for v in range(len(counts))]
    total = sum(rates[a] for a, _ in edges)
    share = 1.0 if edges else 0.0
    for a, b in edges:
        together = sum(x == y for x in nodes[a] for y in nodes[b])
        share -= rates[a] / total * together / (counts[a] * counts[b])
    load = [0.0] * n
    for v, own in enumerate(nodes):
        for node in own:
            load[node] += rates[v] / counts[v] / sum(rates)
    return share + load_factor * (n * sum(x * x for x in load) - 1)


def climb(column, counts, edges, rates, slot, order, sweeps, load_factor):
    """Take every exchange that improves, in the order given.

    The whole objective is evaluated afresh each time.
    """
    slot = list(slot)
    value = relabelling_objective(column, counts, edges, rates, slot, load_factor)
    for _ in range(sweeps):
        improved = False
        for v in range(len(counts)):
            for target in order:
                other = slot.index(target) if target in slot else -1
                if target == slot[v] or 0 <= other < v:
                    continue
                trial = list(slot)
                trial[v] = target
                if other >= 0:
                    trial[other] = slot[v]
                now = relabelling_objective(column, counts, edges, rates, trial, load_factor)
                if now < value - 1e-10:
                    slot, value, improved = trial, now, True
        if not improved:
            break
    return slot


def _mix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def _unit(seed, index):
    return (_mix((seed + (index + 1) * 0x9E3779B97F4A7C15) & _MASK) >> 11) * 2.0**-53


def simulate_pipeline(
    task_node, component, edges, stages, spouts, schedule, *, gate, stalls, slots, load, part, cores, buffer, window,
    bandwidth, distance_cost, resend, seed, limit=200_000,
):  # fmt: skip
    """Run the slotted cluster with a dictionary for each queue; return the counts of the kernel."""
    tasks, nodes = len(task_node), len(schedule[0])
    members = {v: [i for i in range(tasks) if component[i] == v] for v in set(component)}
    pairs = []  # (sender, receiver, stage, delay, edge)
    for a in range(tasks):
        for e, (u, v) in enumerate(edges):
            if component[a] == u:
                for b in members[v]:
                    delay = 1 + math.ceil(distance_cost * abs(task_node[a] - task_node[b]) - 1e-9)
                    pairs.append((a, b, stages[e], delay, e))
    outputs = {a: sorted({p[4] for p in pairs if p[0] == a}) for a in range(tasks)}
    waiting, born = [0] * tasks, [0.0] * tasks
    held, held_born, retry = [0] * len(pairs), [0.0] * len(pairs), [0] * len(pairs)
    turn = {(a, e): 0 for a in range(tasks) for e in outputs[a]}
    flying = []  # (slot of arrival, receiver, tuples, births)
    done = [0] * tasks
    out = dict(entered=0, refused=0, resent=0, crossed=0, stayed=0, stalled=0, sink=0, latency=0.0, peak=0, delivered=0)
    delay_of = [0.0] * slots  # summed latency of what the sinks handle in each slot
    step = now = 0
    while now < limit:
        for arrival in [f for f in flying if f[0] == now]:
            waiting[arrival[1]] += arrival[2]
            born[arrival[1]] += arrival[3]
            flying.remove(arrival)
        if now < slots:
            for a in range(tasks):
                if component[a] in spouts and _unit(seed, now * tasks + a) < load:
                    n = min(part, buffer - waiting[a])
                    waiting[a] += n
                    born[a] += n * float(now)
                    out["entered"] += n
                    out["refused"] += part - n
        for node in range(nodes):
            own = [a for a in range(tasks) if task_node[a] == node]
            left = cores
            for k in range(len(own)):
                a = own[(now % len(own) + k) % len(own)]
                mine = [p for p in range(len(pairs)) if pairs[p][0] == a]
                if left == 0 or waiting[a] == 0 or sum(held[p] for p in mine) >= window:
                    continue
                left -= 1
                n = min(part, waiting[a])
                birth = born[a] * n / waiting[a]
                waiting[a] -= n
                born[a] -= birth
                done[a] += n
                if not outputs[a]:
                    out["sink"] += n
                    out["latency"] += n * (now + 1.0) - birth
                    if now < slots:
                        out["delivered"] += n
                        delay_of[now] += n * (now + 1.0) - birth
                for e in outputs[a]:
                    group = [p for p in mine if pairs[p][4] == e]
                    for i in range(n):  # one tuple at a time, each to the next receiver
                        p = group[(turn[a, e] + i) % len(group)]
                        held[p] += 1
                        held_born[p] += birth / n
                    turn[a, e] = (turn[a, e] + n) % len(group)
        load_of = [sum(held[p] for p in range(len(pairs)) if pairs[p][0] == a) for a in range(tasks)]
        busy = any(component[a] not in spouts and waiting[a] > 0 and load_of[a] < window for a in range(tasks))
        if gate == "steps" and stalls and busy:
            out["stalled"] += 1
        else:
            egress, ingress = [bandwidth] * nodes, [bandwidth] * nodes
            start = (_mix(now) >> 33) % len(pairs) if pairs else 0
            phases = {"none": [1], "steps": [0], "work-conserving": [0, 1]}[gate]
            for phase in phases:
                for k in range(len(pairs)):
                    p = (start + k) % len(pairs)
                    a, b, stage, delay, _ = pairs[p]
                    if held[p] == 0 or retry[p] > now:
                        continue
                    if phase == 0 and (
                        step < stage or schedule[(step - stage) % len(schedule)][task_node[a]] != task_node[b]
                    ):
                        continue
                    there = waiting[b] + sum(f[2] for f in flying if f[1] == b)
                    n = held[p]
                    if gate != "none":
                        n = min(n, part)
                    if task_node[a] != task_node[b]:
                        n = min(n, egress[task_node[a]], ingress[task_node[b]])
                    if gate == "work-conserving":
                        n = min(n, part * (delay + 1 - phase) - there)
                    if n <= 0:
                        continue
                    if n > buffer - there:
                        out["resent"] += n - (buffer - there)
                        retry[p] = now + resend
                        n = buffer - there
                    if n <= 0:
                        continue
                    birth = held_born[p] * n / held[p]
                    held[p] -= n
                    held_born[p] -= birth
                    flying.append((now + delay, b, n, birth))
                    if task_node[a] != task_node[b]:
                        egress[task_node[a]] -= n
                        ingress[task_node[b]] -= n
                        out["crossed"] += n
                    else:
                        out["stayed"] += n
            step += 1
        inside = sum(waiting) + sum(held)
        if now < slots:
            out["peak"] = max(out["peak"], inside)
        now += 1
        if now > slots and inside == 0 and not flying:
            break
    return {**out, "slots": now, "steps": step, "done": done, "delay_of": delay_of}
