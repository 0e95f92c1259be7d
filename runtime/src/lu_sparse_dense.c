/* Dense kernels of the supernodal LU: products of tall panels in tiles of 8 x 4 reals that stay in registers.
 *
 * A complex product runs through the real tile. With a = (re, im, re, im, ..) down a column and b = (re, im)
 * across, the real products p[i][j] of all these numbers hold re(a b) = p[2i][2j] - p[2i+1][2j+1],    im(a b)
 * = p[2i+1][2j] + p[2i][2j+1], so one kernel serves both, with only the last subtraction different (the idea
 * of the 4m methods, Van Zee & Smith, ACM TOMS 44 (2017), here with interleaved storage).
 *
 * Four reals travel as one v4: a GCC vector where there are any, else a struct. Lanes never mix except in
 * fixed order at the end of a dot product, there is no fused multiply-add, so every compiler and every clone
 * gives the same bits. Tiles read up to PL_PADDING reals past the end of a panel and throw the result away.
 */
#include "lu_sparse_dense.h"

#include <string.h>

#if defined(__GNUC__) && defined(__x86_64__) && defined(__linux__) && !defined(PL_NARROW)
#define HAS_WIDE 1
#else
#define HAS_WIDE 0
#endif

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
typedef double v2 __attribute__((vector_size(16)));
typedef double v2_loose __attribute__((vector_size(16), aligned(8), may_alias));
typedef struct pair {
    v2 low, high;
} pair;
INLINE pair pair_load(const double *p) {
    pair v = {*(const v2_loose *)(const void *)p, *(const v2_loose *)(const void *)(p + 2)};
    return v;
}
INLINE void pair_store(double *p, pair v) {
    *(v2_loose *)(void *)p = v.low;
    *(v2_loose *)(void *)(p + 2) = v.high;
}
INLINE pair pair_all(double s) {
    pair v = {{s, s}, {s, s}};
    return v;
}
INLINE pair pair_mul(pair a, pair b) {
    pair v = {a.low * b.low, a.high * b.high};
    return v;
}
INLINE pair pair_add(pair a, pair b) {
    pair v = {a.low + b.low, a.high + b.high};
    return v;
}
INLINE pair pair_sub(pair a, pair b) {
    pair v = {a.low - b.low, a.high - b.high};
    return v;
}
#else
#define INLINE static inline
typedef struct pair {
    double low[2], high[2];
} pair;
INLINE pair pair_load(const double *p) {
    pair v = {{p[0], p[1]}, {p[2], p[3]}};
    return v;
}
INLINE void pair_store(double *p, pair v) {
    p[0] = v.low[0], p[1] = v.low[1], p[2] = v.high[0], p[3] = v.high[1];
}
INLINE pair pair_all(double s) {
    pair v = {{s, s}, {s, s}};
    return v;
}
INLINE pair pair_mul(pair a, pair b) {
    pair v = {{a.low[0] * b.low[0], a.low[1] * b.low[1]}, {a.high[0] * b.high[0], a.high[1] * b.high[1]}};
    return v;
}
INLINE pair pair_add(pair a, pair b) {
    pair v = {{a.low[0] + b.low[0], a.low[1] + b.low[1]}, {a.high[0] + b.high[0], a.high[1] + b.high[1]}};
    return v;
}
INLINE pair pair_sub(pair a, pair b) {
    pair v = {{a.low[0] - b.low[0], a.low[1] - b.low[1]}, {a.high[0] - b.high[0], a.high[1] - b.high[1]}};
    return v;
}
#endif

#define VARIANT(x) x##_narrow
#define TARGET
#define VECTORS_16      1
#define v4              pair
#define LOAD(p)         pair_load(p)
#define STORE(p, v)     pair_store((p), (v))
#define ALL(s)          pair_all(s)
#define ADDMUL(c, a, b) ((c) = pair_add((c), pair_mul((a), (b))))
#define SUB(a, b)       pair_sub((a), (b))
#define MUL(a, b)       pair_mul((a), (b))
#define SUM_EVEN(v)     ((v).low[0] + (v).high[0])
#define SUM_ODD(v)      ((v).low[1] + (v).high[1])
#define SUM(v)          (SUM_EVEN(v) + SUM_ODD(v))
#include "lu_sparse_dense_kernel.h"

#if HAS_WIDE
#undef VARIANT
#undef TARGET
#undef VECTORS_16
#undef v4
#undef LOAD
#undef STORE
#undef ALL
#undef ADDMUL
#undef SUB
#undef MUL
#undef SUM_EVEN
#undef SUM_ODD
typedef double wide __attribute__((vector_size(32)));
typedef double wide_loose __attribute__((vector_size(32), aligned(8), may_alias));
#define VARIANT(x)      x##_wide
#define TARGET          __attribute__((target("avx2")))
#define VECTORS_16      0
#define v4              wide
#define LOAD(p)         (*(const wide_loose *)(const void *)(p))
#define STORE(p, v)     (*(wide_loose *)(void *)(p) = (v))
#define ALL(s)          ((wide){(s), (s), (s), (s)})
#define ADDMUL(c, a, b) ((c) += (a) * (b))
#define SUB(a, b)       ((a) - (b))
#define MUL(a, b)       ((a) * (b))
#define SUM_EVEN(v)     ((v)[0] + (v)[2])
#define SUM_ODD(v)      ((v)[1] + (v)[3])
#include "lu_sparse_dense_kernel.h"
#define PICK(name, arguments)                                                                                \
    do {                                                                                                     \
        if (__builtin_cpu_supports("avx2"))                                                                  \
            name##_wide arguments;                                                                           \
        else                                                                                                 \
            name##_narrow arguments;                                                                         \
    } while (0)
#else
#define PICK(name, arguments) name##_narrow arguments
#endif

void pl_dense_update_real(const pl_dense_update *u) {
    PICK(dense_update_real, (u));
}

void pl_dense_update_complex(const pl_dense_update *u) {
    PICK(dense_update_complex, (u));
}

void pl_dense_subtract_real(int m, double *y, const double *a, const double *u) {
    PICK(dense_subtract_real, (m, y, a, u));
}

void pl_dense_subtract_complex(int m, double *y, const double *a, const double *u) {
    PICK(dense_subtract_complex, (m, y, a, u));
}

void pl_dense_forward_real(int m, int w, const double *a, int lda, const double *y, const int *row,
                           double *x) {
    PICK(dense_forward_real, (m, w, a, lda, y, row, x));
}

void pl_dense_forward_complex(int m, int w, const double *a, int lda, const double *y, const int *row,
                              double *x) {
    PICK(dense_forward_complex, (m, w, a, lda, y, row, x));
}

void pl_dense_backward_real(int m, int w, const double *a, int lda, double *y, const int *row,
                            const double *x, double *g) {
    PICK(dense_backward_real, (m, w, a, lda, y, row, x, g));
}

void pl_dense_backward_complex(int m, int w, const double *a, int lda, double *y, const int *row,
                               const double *x, double *g) {
    PICK(dense_backward_complex, (m, w, a, lda, y, row, x, g));
}
