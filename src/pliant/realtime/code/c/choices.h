/* Choices without branches, for pl_real; pl_bits is an unsigned integer of the same size. */

/* a where c is 1, b where c is 0; both were evaluated before */
static inline PL_UNUSED pl_real pl_select(int c, pl_real a, pl_real b) {
    union {
        pl_real value;
        pl_bits bits;
    } first, second;
    pl_bits mask = (pl_bits)0 - (pl_bits)c;
    PL_HIDE(mask);
    first.value = a;
    second.value = b;
    first.bits = (first.bits & mask) | (second.bits & ~mask);
    return first.value;
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
