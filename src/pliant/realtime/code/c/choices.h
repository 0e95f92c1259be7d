/* Choices without branches, for pl_real; pl_bits is an unsigned integer of the same size. */

/* read from memory as if it could change, so that compilers make no branch of a choice */
static const volatile pl_bits pl_masks[2] = {0, ~(pl_bits)0};

/* a where c is 1, b where c is 0; both were evaluated before */
static inline PL_UNUSED pl_real pl_select(int c, pl_real a, pl_real b) {
    const pl_bits mask = pl_masks[c];
    pl_bits first, second;
    pl_real chosen;
    memcpy(&first, &a, sizeof first);
    memcpy(&second, &b, sizeof second);
    first = (first & mask) | (second & ~mask);
    memcpy(&chosen, &first, sizeof chosen);
    return chosen;
}
static inline PL_UNUSED pl_real pl_min(pl_real a, pl_real b) {
    return pl_select(a < b, a, b);
}
static inline PL_UNUSED pl_real pl_max(pl_real a, pl_real b) {
    return pl_select(a > b, a, b);
}
static inline PL_UNUSED pl_real pl_sign(pl_real a) {
    return (pl_real)((a > 0) - (a < 0));
}
