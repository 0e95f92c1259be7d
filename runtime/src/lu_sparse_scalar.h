/* Arithmetic on one scalar, real (SC 1) or complex as an interleaved pair (SC 2). Included by the kernels,
 * once for each. No C99 complex: not every compiler has it, and its multiplication checks for infinities. */

/* y -= a * b */
static inline void NAME(submul)(pl_real *y, const pl_real *a, const pl_real *b) {
#if SC == 1
    y[0] -= a[0] * b[0];
#else
    pl_real re = a[0] * b[0] - a[1] * b[1], im = a[0] * b[1] + a[1] * b[0];
    y[0] -= re;
    y[1] -= im;
#endif
}

/* y = a * b; y may be a or b */
static inline void NAME(mul)(pl_real *y, const pl_real *a, const pl_real *b) {
#if SC == 1
    y[0] = a[0] * b[0];
#else
    pl_real re = a[0] * b[0] - a[1] * b[1], im = a[0] * b[1] + a[1] * b[0];
    y[0] = re;
    y[1] = im;
#endif
}

/* Size of a scalar; for complex numbers the 1-norm, within sqrt(2) of the modulus and without a root. */
static inline pl_real NAME(size)(const pl_real *a) {
#if SC == 1
    return fabs(a[0]);
#else
    return fabs(a[0]) + fabs(a[1]);
#endif
}

/* y = 1 / a, scaled against overflow (Smith 1962) */
static inline void NAME(invert)(pl_real *y, const pl_real *a) {
#if SC == 1
    y[0] = 1.0 / a[0];
#else
    if (fabs(a[0]) >= fabs(a[1])) {
        pl_real q = a[1] / a[0], d = a[0] + a[1] * q;
        y[0] = 1.0 / d;
        y[1] = -q / d;
    } else {
        pl_real q = a[0] / a[1], d = a[1] + a[0] * q;
        y[0] = q / d;
        y[1] = -1.0 / d;
    }
#endif
}

static inline void NAME(copy)(pl_real *y, const pl_real *a) {
    y[0] = a[0];
#if SC == 2
    y[1] = a[1];
#endif
}

static inline void NAME(scaled)(pl_real *y, const pl_real *a, pl_real factor) {
    y[0] = a[0] * factor;
#if SC == 2
    y[1] = a[1] * factor;
#endif
}

static inline void NAME(zero)(pl_real *y) {
    y[0] = 0.0;
#if SC == 2
    y[1] = 0.0;
#endif
}
