/* How far values lie outside of their ranges; pl_abs is put in. */

static PL_UNUSED void look_at(const pl_real *v, int n, const pl_real *middle, const pl_real *per_half,
                              pl_real *share, int32_t *number) {
    for (int j = 0; j < n; j++) {
        const pl_real outside = pl_abs(v[j] - middle[j]) * per_half[j];
        const int worse = outside > *share;
        *share = pl_select(worse, outside, *share);
        *number += worse * (j - *number);
    }
}
