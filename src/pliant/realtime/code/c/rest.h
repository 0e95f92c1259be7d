/* States that come to rest on a level; pl_abs, PL_STILL and PL_WINDOW (realtime/sparsing/resting_states.py) are put in. */

/* x after a step: on the level, if it was crossed shortly before and x does not move any more */
static inline PL_UNUSED pl_real pl_rest(pl_real before, pl_real after, pl_real dx, pl_real level,
                                        int32_t *crossed) {
    const int rests = (*crossed > 0) & (pl_abs(dx) <= PL_STILL * pl_abs(after - level));
    const pl_real x = pl_select(rests, level, after);
    const int now = (before - level) * (x - level) < 0;
    *crossed = now * PL_WINDOW + !now * (*crossed - (*crossed > 0));
    return x;
}
