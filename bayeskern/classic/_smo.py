r"""The one loop behind every support vector machine: two-variable steps on a box.

Maximise :math:`t'\beta - \varepsilon\|\beta\|_1 - \frac12 \beta'(K + c + D)\beta` over
:math:`A \le \beta \le B`, with or without a fixed sum of :math:`\beta` over each of a few
consecutive segments. With :math:`\beta_i = y_i\alpha_i` no label ever appears: what can move up has
``up = -eps`` or ``+eps`` (the slope of the kink it stands on), what cannot has ``-BIG``, so that
the two passes over the points have neither branches nor cases.

The passes are written so that LLVM vectorises them: extrema go through ``llvm.maxnum``, and the
place of an extremum is looked for only in the block that holds it.
"""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

BIG = 1e30
BLOCK = 128
TILE = 1024
GRAM, RBF, ASK = range(3)  # where a kernel row comes from
DONE, LIMIT, WANT, INDEFINITE = range(4)  # why the loop returned
# neither "reassoc" (it undoes the rounding trick of exp2) nor infinities (BIG stands for them)
FAST = {"nnan", "nsz", "ninf", "contract", "arcp"}


def _extremum(name):
    @intrinsic
    def function(typingctx, a, b):
        def codegen(context, builder, signature, args):
            kind = args[0].type
            suffix = "f32" if isinstance(kind, ir.FloatType) else "f64"
            declared = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(kind, (kind, kind)), f"llvm.{name}.{suffix}"
            )
            return builder.call(declared, args, fastmath=("nnan", "nsz"))

        return a(a, a), codegen

    return function


fmax, fmin = _extremum("maxnum"), _extremum("minnum")


@intrinsic
def float_of_bits(typingctx, bits):
    """Read a 32-bit integer as the float with the same bits."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.int32), codegen


@njit(inline="always", fastmath=FAST, error_model="numpy")
def exp2(x):
    """Return 2**x for x in [-126, 0] in single precision, relative error about 1e-7."""
    x = fmax(x, np.float32(-126.0))
    whole = (x + np.float32(12582912.0)) - np.float32(12582912.0)  # rounds to nearest
    r = x - whole
    p = np.float32(1.535336188319500e-4)
    p = p * r + np.float32(1.339887440266574e-3)
    p = p * r + np.float32(9.618437357674640e-3)
    p = p * r + np.float32(5.550332471162809e-2)
    p = p * r + np.float32(2.402264791363012e-1)
    p = p * r + np.float32(6.931472028550421e-1)
    p = p * r + np.float32(1.0)
    return p * float_of_bits(np.int32((np.int32(whole) + np.int32(127)) << np.int32(23)))


@njit(cache=True, fastmath=FAST, error_model="numpy", nogil=True)
def fill_row(S, i, acc, out):
    """Write row ``i`` of the kernel 2**(-|s_i - s_k|^2), the columns of S being the points.

    Differences cost no more than products here, and do not cancel.
    """
    d, n = S.shape
    for start in range(0, n, TILE):
        stop = min(start + TILE, n)
        width = stop - start
        acc[:width] = 0
        f = 0
        while f + 8 <= d:  # eight features a sweep, so that acc is read and written seldom
            a0, a1, a2, a3 = S[f, i], S[f + 1, i], S[f + 2, i], S[f + 3, i]
            a4, a5, a6, a7 = S[f + 4, i], S[f + 5, i], S[f + 6, i], S[f + 7, i]
            s0, s1, s2 = S[f][start:stop], S[f + 1][start:stop], S[f + 2][start:stop]
            s3, s4, s5 = S[f + 3][start:stop], S[f + 4][start:stop], S[f + 5][start:stop]
            s6, s7 = S[f + 6][start:stop], S[f + 7][start:stop]
            for k in range(width):
                d0, d1, d2, d3 = s0[k] - a0, s1[k] - a1, s2[k] - a2, s3[k] - a3
                d4, d5, d6, d7 = s4[k] - a4, s5[k] - a5, s6[k] - a6, s7[k] - a7
                left = d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3
                acc[k] += left + (d4 * d4 + d5 * d5 + d6 * d6 + d7 * d7)
            f += 8
        while f + 2 <= d:
            a0, a1 = S[f, i], S[f + 1, i]
            s0, s1 = S[f][start:stop], S[f + 1][start:stop]
            for k in range(width):
                d0, d1 = s0[k] - a0, s1[k] - a1
                acc[k] += d0 * d0 + d1 * d1
            f += 2
        if f < d:
            a0, s0 = S[f, i], S[f][start:stop]
            for k in range(width):
                d0 = s0[k] - a0
                acc[k] += d0 * d0
        to = out[start:stop]
        for k in range(width):
            to[k] = exp2(-acc[k])


@njit(cache=True, nogil=True)
def claim(i, slot_of, owner, stamp, clock):
    """Give point ``i`` the slot used least recently, and return it."""
    slot = 0
    oldest = stamp[0]
    for s in range(1, len(stamp)):
        if stamp[s] < oldest:
            oldest, slot = stamp[s], s
    if owner[slot] >= 0:
        slot_of[owner[slot]] = -1
    owner[slot] = i
    slot_of[i] = slot
    clock[0] += 1
    stamp[slot] = clock[0]
    return slot


@njit(cache=True, nogil=True)
def fetch(i, source, S, acc, rows, slot_of, owner, stamp, clock):
    """Return the slot that holds row ``i``, or -1 when only the caller can supply it."""
    slot = slot_of[i]
    if slot >= 0:
        if source != GRAM:
            clock[0] += 1
            stamp[slot] = clock[0]
        return slot
    if source == ASK:
        return -1
    slot = claim(i, slot_of, owner, stamp, clock)
    fill_row(S, i, acc, rows[slot])
    return slot


@njit(cache=True, fastmath=FAST, error_model="numpy", nogil=True)
def move(F, up, low, Ki, Kj, di, dj, const, lo, hi, tops, bottoms):
    """Update F on a segment; per block, keep max(F + up) and min(F + low)."""
    block = 0
    for start in range(lo, hi, BLOCK):
        width = min(BLOCK, hi - start)
        f, u, l = F[start : start + width], up[start : start + width], low[start : start + width]
        a, b = Ki[start : start + width], Kj[start : start + width]
        top, bottom = -BIG, BIG
        for k in range(width):
            value = f[k] - (di * a[k] + dj * b[k] + const)
            f[k] = value
            top = fmax(top, value + u[k])
            bottom = fmin(bottom, value + l[k])
        tops[block], bottoms[block] = top, bottom
        block += 1
    return block


@njit(cache=True, nogil=True)
def place_of_max(F, shift, start, hi):
    """Return the index of the largest F + shift in one block."""
    best, place = -2 * BIG, start
    for k in range(start, min(start + BLOCK, hi)):
        value = F[k] + shift[k]
        if value > best:
            best, place = value, k
    return place


@njit(cache=True, nogil=True)
def place_of_min(F, shift, start, hi):
    """Return the index of the smallest F + shift in one block."""
    best, place = 2 * BIG, start
    for k in range(start, min(start + BLOCK, hi)):
        value = F[k] + shift[k]
        if value < best:
            best, place = value, k
    return place


@njit(inline="always", fastmath=FAST, error_model="numpy")
def pair_score(level, f, l, curvature, tiny):
    """Twice the gain of moving a pair along its difference, per unit of curvature."""
    d = fmax(np.float32(level - (f + l)), np.float32(0.0))
    return d * d / fmax(np.float32(curvature), tiny)


@njit(cache=True, fastmath=FAST, error_model="numpy", nogil=True)
def best_partner(F, low, row, diagonal, level, kii, tiny, lo, hi):
    """Choose j by the gain of the pair (i, j) when the sum is kept (Fan, Chen and Lin 2005)."""
    best, where = np.float32(-1.0), lo
    for start in range(lo, hi, BLOCK):
        width = min(BLOCK, hi - start)
        f, l = F[start : start + width], low[start : start + width]
        a, q = row[start : start + width], diagonal[start : start + width]
        top = np.float32(0.0)
        for k in range(width):
            top = fmax(top, pair_score(level, f[k], l[k], kii + q[k] - (a[k] + a[k]), tiny))
        if top > best:
            best, where = top, start
    best, place = np.float32(-1.0), where
    for k in range(where, min(where + BLOCK, hi)):
        value = pair_score(level, F[k], low[k], kii + diagonal[k] - (row[k] + row[k]), tiny)
        if value > best:
            best, place = value, k
    return place


@njit(inline="always", fastmath=FAST, error_model="numpy")
def free_score(f, u, l, k, step, inverse, q, tiny):
    """Twice the gain left for a second variable once the first has moved by ``step``."""
    value = f - step * k
    g = fmax(np.float32(fmax(value + u, -(value + l))), np.float32(0.0))
    k = np.float32(k)
    return g * g / fmax(np.float32(q) - k * k * inverse, tiny)


@njit(cache=True, fastmath=FAST, error_model="numpy", nogil=True)
def best_second(F, up, low, row, diagonal, step, const, kii, tiny, n):
    """Choose j by the gain of the pair (i, j) when the two move freely."""
    best, where = np.float32(-1.0), 0
    inverse = np.float32(1.0 / kii)
    for start in range(0, n, BLOCK):
        width = min(BLOCK, n - start)
        f, u, l = F[start : start + width], up[start : start + width], low[start : start + width]
        a, q = row[start : start + width], diagonal[start : start + width]
        top = np.float32(0.0)
        for k in range(width):
            score = free_score(f[k], u[k], l[k], a[k] + const, step, inverse, q[k], tiny)
            top = fmax(top, score)
        if top > best:
            best, where = top, start
    best, place = np.float32(-1.0), where
    for k in range(where, min(where + BLOCK, n)):
        kij = row[k] + const
        score = free_score(F[k], up[k], low[k], kij, step, inverse, diagonal[k], tiny)
        if score > best:
            best, place = score, k
    return place


@njit(cache=True, nogil=True)
def gain(gi, gj, a, b, k, x, y):
    """Value of the two-variable problem at a step (x, y)."""
    return gi * x + gj * y - 0.5 * (a * x * x + b * y * y) - k * x * y


@njit(cache=True, nogil=True)
def best_step(gi, gj, a, b, k, li, ui, lj, uj):
    """Maximise gi x + gj y - (a x^2 + 2 k x y + b y^2) / 2 over a rectangle."""
    det = a * b - k * k
    if det > 1e-12 * a * b:
        x, y = (b * gi - k * gj) / det, (a * gj - k * gi) / det
        if li <= x <= ui and lj <= y <= uj:
            return x, y
    best, bx, by = -np.inf, 0.0, 0.0
    for edge in range(4):
        if edge < 2:
            x = li if edge == 0 else ui
            y = min(max((gj - k * x) / b, lj), uj)
        else:
            y = lj if edge == 2 else uj
            x = min(max((gi - k * y) / a, li), ui)
        value = gain(gi, gj, a, b, k, x, y)
        if value > best:
            best, bx, by = value, x, y
    return bx, by


@njit(cache=True, nogil=True)
def mark(i, beta, A, B, eps, up, low):
    """Say in which directions variable ``i`` can move, and at which slope."""
    b = beta[i]
    up[i] = -BIG if b >= B[i] else (-eps if b >= 0 else eps)
    low[i] = BIG if b <= A[i] else (-eps if b > 0 else eps)


@njit(cache=True, nogil=True)
def piece(b, A, B, eps, rising):
    """Return the interval on which the objective is smooth, in the direction of travel."""
    if eps == 0.0:
        return A, B
    if b > 0 or (b == 0 and rising):
        return max(A, 0.0), B
    return A, min(B, 0.0)


@njit(cache=True, nogil=True)
def solve(
    F, beta, A, B, eps, diagonal, extra, const, segments, coupled, tol, max_iter,
    source, S, rows, slot_of, owner, stamp, clock,
):  # fmt: skip
    """Run to tolerance from ``beta`` with ``F = t - (K + const + extra) beta``, both in place.

    ``diagonal`` is that of the whole matrix, in the type of the rows. Returns the reason to stop,
    the iterations used, the violation left, and the row wanted when there is one.
    """
    n = len(F)
    up, low = np.empty(n), np.empty(n)
    for k in range(n):
        mark(k, beta, A, B, eps, up, low)
    n_segments = len(segments) - 1
    n_blocks = n // BLOCK + 1
    tops, bottoms = np.empty((n_segments, n_blocks)), np.empty((n_segments, n_blocks))
    used = np.zeros(n_segments, np.int64)
    acc = np.empty(TILE, np.float32)
    largest = 0.0
    for k in range(n):
        largest = max(largest, diagonal[k])
    tiny = np.float32(max(1e-6 * largest, 1e-30))
    for s in range(n_segments):
        used[s] = move(
            F, up, low, F, F, 0.0, 0.0, 0.0, segments[s], segments[s + 1], tops[s], bottoms[s]
        )
    violation = BIG
    for iteration in range(max_iter):
        # the segment, and the point in it, that violate most
        violation, seg, top, bottom, top_block, bottom_block = -4 * BIG, 0, -BIG, BIG, 0, 0
        for s in range(n_segments):
            high, low_value, hb, lb = -2 * BIG, 2 * BIG, 0, 0
            for block in range(used[s]):
                if tops[s, block] > high:
                    high, hb = tops[s, block], block
                if bottoms[s, block] < low_value:
                    low_value, lb = bottoms[s, block], block
            if high - low_value > violation:
                violation, seg = high - low_value, s
                top, bottom, top_block, bottom_block = high, low_value, hb, lb
        if not coupled:
            violation = 2 * max(top, -bottom)
        violation = max(violation, 0.0)
        if violation <= tol:
            return DONE, iteration, violation, -1
        lo, hi = segments[seg], segments[seg + 1]
        rising = coupled or top >= -bottom
        if rising:
            i = place_of_max(F, up, lo + top_block * BLOCK, hi)
        else:
            i = place_of_min(F, low, lo + bottom_block * BLOCK, hi)
        si = fetch(i, source, S, acc, rows, slot_of, owner, stamp, clock)
        if si < 0:
            return WANT, iteration, violation, i
        Ki = rows[si]
        kii = np.float64(diagonal[i])
        if coupled:
            level = F[i] + up[i]
            j = best_partner(F, low, Ki, diagonal, level, diagonal[i], tiny, lo, hi)
            sj = fetch(j, source, S, acc, rows, slot_of, owner, stamp, clock)
            if sj < 0:
                return WANT, iteration, violation, j
            slope = level - (F[j] + low[j])
            curvature = kii + diagonal[j] - 2.0 * Ki[j]
            if curvature < -1e-6 * largest:
                return INDEFINITE, iteration, violation, i
            _, end_i = piece(beta[i], A[i], B[i], eps, True)
            end_j, _ = piece(beta[j], A[j], B[j], eps, False)
            room_i, room_j = end_i - beta[i], beta[j] - end_j
            step = slope / max(curvature, 1e-12 * largest)
            if step >= room_i or step >= room_j:
                step = min(room_i, room_j)
            old_i, old_j = beta[i], beta[j]
            beta[i] = end_i if step == room_i else old_i + step
            beta[j] = end_j if step == room_j else old_j - step
            di, dj = step, -step
        else:
            wide_lo, wide_hi = piece(beta[i], A[i], B[i], eps, rising)
            li, ui = wide_lo - beta[i], wide_hi - beta[i]
            gi = F[i] + (up[i] if rising else low[i])
            if kii <= 1e-12 * largest:  # a flat direction: go to its end
                di = ui if rising else li
            else:
                di = min(max(gi / kii, li), ui)
            keep_up, keep_low = up[i], low[i]
            up[i], low[i] = -BIG, BIG  # so that i is not its own partner
            j = best_second(F, up, low, Ki, diagonal, di, const, max(kii, 1e-12 * largest), tiny, n)
            up[i], low[i] = keep_up, keep_low
            kij = Ki[j] + const
            value = F[j] - di * kij
            rising_j = value + up[j] > 0
            sj, dj = si, 0.0
            if j != i and (rising_j or value + low[j] < 0):
                sj = fetch(j, source, S, acc, rows, slot_of, owner, stamp, clock)
                if sj < 0:
                    return WANT, iteration, violation, j
                kjj = np.float64(diagonal[j])
                if kii * kjj - kij * kij < -1e-6 * largest * largest:
                    return INDEFINITE, iteration, violation, i
                wj_lo, wj_hi = piece(beta[j], A[j], B[j], eps, rising_j)
                lj, uj = wj_lo - beta[j], wj_hi - beta[j]
                if kii > 1e-12 * largest and kjj > 1e-12 * largest:
                    gj = F[j] + (up[j] if rising_j else low[j])
                    di, dj = best_step(gi, gj, kii, kjj, kij, li, ui, lj, uj)
                elif kjj <= 1e-12 * largest:
                    dj = uj if rising_j else lj
                beta[j] = wj_hi if dj >= uj else (wj_lo if dj <= lj else beta[j] + dj)
            beta[i] = wide_hi if di >= ui else (wide_lo if di <= li else beta[i] + di)
        mark(i, beta, A, B, eps, up, low)
        mark(j, beta, A, B, eps, up, low)
        F[i] -= di * extra[i]
        F[j] -= dj * extra[j]
        Kj = rows[sj]
        for s in range(n_segments):
            move(
                F, up, low, Ki, Kj, di, dj, const * (di + dj), segments[s], segments[s + 1],
                tops[s], bottoms[s],
            )  # fmt: skip
    return LIMIT, max_iter, violation, -1
