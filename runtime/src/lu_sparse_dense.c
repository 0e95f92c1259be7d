/* Dense kernels of the supernodal LU: products of tall panels in tiles of 8 x 4 reals that stay in registers.
 *
 * A complex product runs through the real tile. With a = (re, im, re, im, ..) down a column and b = (re, im)
 * across, the real products p[i][j] of all these numbers hold re(a b) = p[2i][2j] - p[2i+1][2j+1],    im(a b)
 * = p[2i+1][2j] + p[2i][2j+1], so one kernel serves both, with only the last subtraction different (the idea
 * of the 4m methods, Van Zee & Smith, ACM TOMS 44 (2017), here with interleaved storage).
 *
 * Four reals travel as one v4: a GCC vector where there are any, else a struct. Lanes never mix except in
 * fixed order at the end of a dot product. Multiplications and additions are fused where the processor can (asked for
 * explicitly, so that it does not depend on the compiler): a processor always gives the same bits, another one without
 * fused operations gives others in the last places. Tiles read up to PL_PADDING reals past the end of a panel and throw the result away.
 */
#include "lu_sparse_dense.h"

#include <math.h>
#include <string.h>

#if defined(__GNUC__) && defined(__x86_64__) && defined(__linux__) && !defined(PL_NARROW)
#include <immintrin.h>
#define HAS_WIDE 1
#else
#define HAS_WIDE 0
#endif

#if defined(__GNUC__)
#define INLINE      static inline __attribute__((always_inline))
#define PREFETCH(p) __builtin_prefetch(p)
#define UNROLL      _Pragma("GCC unroll 8")
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
#define INLINE      static inline
#define PREFETCH(p) ((void)(p))
#define UNROLL
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

/* max(|a|, b); b where a is not a number */
INLINE double larger(double a, double b) {
    a = fabs(a);
    return a > b ? a : b;
}

INLINE pair pair_larger(pair a, pair b) {
    b.low[0] = larger(a.low[0], b.low[0]);
    b.low[1] = larger(a.low[1], b.low[1]);
    b.high[0] = larger(a.high[0], b.high[0]);
    b.high[1] = larger(a.high[1], b.high[1]);
    return b;
}

/* the first `count` lanes of a, then zeros, or the lanes of b */
INLINE pair pair_join(pair a, pair b, int count) {
    if (count > 0) b.low[0] = a.low[0];
    if (count > 1) b.low[1] = a.low[1];
    if (count > 2) b.high[0] = a.high[0];
    if (count > 3) b.high[1] = a.high[1];
    return b;
}

#define VARIANT(x) x##_narrow
#define TARGET
#define VECTORS_16      1
#define v4              pair
#define LOAD(p)         pair_load(p)
#define STORE(p, v)     pair_store((p), (v))
#define ALL(s)          pair_all(s)
#define FOUR(p)         pair_load(p)
#define ADDMUL(c, a, b) ((c) = pair_add((c), pair_mul((a), (b))))
#define SUBMUL(c, a, b) ((c) = pair_sub((c), pair_mul((a), (b))))
#define LESS(c, a, b)   ((c) - (a) * (b))
#define SUB(a, b)       pair_sub((a), (b))
#define MUL(a, b)       pair_mul((a), (b))
#define ADD(a, b)       pair_add((a), (b))
#define LARGER(a, b)    pair_larger((a), (b))
#define JOIN(a, b, n)   pair_join((a), (b), (n))
#define KEEP(a, n)      pair_join((a), pair_all(0.0), (n))
#define LARGEST(v, s)   larger((v).low[0], larger((v).low[1], larger((v).high[0], larger((v).high[1], (s)))))
#define SUM_EVEN(v)     ((v).low[0] + (v).high[0])
#define SUM_ODD(v)      ((v).low[1] + (v).high[1])
#define SUM(v)          (SUM_EVEN(v) + SUM_ODD(v))
#include "lu_sparse_dense_kernel.h"
#include "lu_sparse_dense_solve.h"

#if HAS_WIDE
#undef VARIANT
#undef TARGET
#undef VECTORS_16
#undef v4
#undef LOAD
#undef STORE
#undef ALL
#undef FOUR
#undef ADDMUL
#undef SUB
#undef SUBMUL
#undef LESS
#undef MUL
#undef ADD
#undef LARGER
#undef JOIN
#undef KEEP
#undef LARGEST
#undef SUM_EVEN
#undef SUM_ODD
typedef double wide __attribute__((vector_size(32)));
typedef double wide_loose __attribute__((vector_size(32), aligned(8), may_alias));
typedef long long wide_bits __attribute__((vector_size(32)));
#define AVX2 __attribute__((target("avx2,fma"))) INLINE
AVX2 wide wide_larger(wide a, wide b) {
    wide_bits size = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
    return (wide)_mm256_max_pd((__m256d)((wide_bits)a & size), (__m256d)b);
}
AVX2 wide_bits wide_mask(int count) {
    wide_bits lane = {0, 1, 2, 3}, all = {count, count, count, count};
    return all > lane;
}
AVX2 wide wide_join(wide a, wide b, int count) {
    return (wide)_mm256_blendv_pd((__m256d)b, (__m256d)a, (__m256d)wide_mask(count));
}
AVX2 wide wide_keep(wide a, int count) {
    return (wide)((wide_bits)a & wide_mask(count));
}
#define VARIANT(x)      x##_wide
#define TARGET          __attribute__((target("avx2,fma")))
#define VECTORS_16      0
#define v4              wide
#define LOAD(p)         (*(const wide_loose *)(const void *)(p))
#define STORE(p, v)     (*(wide_loose *)(void *)(p) = (v))
#define ALL(s)          ((wide){(s), (s), (s), (s)})
#define FOUR(p)         ((wide){(p)[0], (p)[1], (p)[2], (p)[3]})
#define ADDMUL(c, a, b) ((c) = (wide)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define SUBMUL(c, a, b) ((c) = (wide)_mm256_fnmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define LESS(c, a, b)   __builtin_fma(-(a), (b), (c))
#define SUB(a, b)       ((a) - (b))
#define MUL(a, b)       ((a) * (b))
#define ADD(a, b)       ((a) + (b))
#define LARGER(a, b)    wide_larger((a), (b))
#define JOIN(a, b, n)   wide_join((a), (b), (n))
#define KEEP(a, n)      wide_keep((a), (n))
#define LARGEST(v, s)   larger((v)[0], larger((v)[1], larger((v)[2], larger((v)[3], (s)))))
#define SUM_EVEN(v)     ((v)[0] + (v)[2])
#define SUM_ODD(v)      ((v)[1] + (v)[3])
#include "lu_sparse_dense_kernel.h"
#include "lu_sparse_dense_solve.h"
#define PICK(name, arguments)                                                                                \
    do {                                                                                                     \
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))                                 \
            name##_wide arguments;                                                                           \
        else                                                                                                 \
            name##_narrow arguments;                                                                         \
    } while (0)
#else
#define PICK(name, arguments) name##_narrow arguments
#endif

void pl_dense_update_real(const pl_dense_product *u) {
    PICK(dense_update_real, (u));
}

void pl_dense_update_complex(const pl_dense_product *u) {
    PICK(dense_update_complex, (u));
}

void pl_dense_negate_real(const pl_dense_product *u) {
    PICK(dense_negate_real, (u));
}

void pl_dense_negate_complex(const pl_dense_product *u) {
    PICK(dense_negate_complex, (u));
}

void pl_dense_open_real(const pl_dense_panel *p, const pl_dense_entries *e) {
    PICK(dense_open_real, (p, e));
}

void pl_dense_open_complex(const pl_dense_panel *p, const pl_dense_entries *e) {
    PICK(dense_open_complex, (p, e));
}

void pl_dense_take_real(const pl_dense_panel *p, const pl_dense_child *c) {
    PICK(dense_take_real, (p, c));
}

void pl_dense_take_complex(const pl_dense_panel *p, const pl_dense_child *c) {
    PICK(dense_take_complex, (p, c));
}

void pl_dense_pass_real(double *to, int ld, int w, const pl_dense_child *c) {
    PICK(dense_pass_real, (to, ld, w, c));
}

void pl_dense_pass_complex(double *to, int ld, int w, const pl_dense_child *c) {
    PICK(dense_pass_complex, (to, ld, w, c));
}

int pl_dense_factor_real(const pl_dense_panel *p, int from, int to, pl_dense_tests *test) {
    int fine;
    PICK(fine = dense_factor_real, (p, from, to, test));
    return fine;
}

void pl_dense_subtract_complex(int m, double *y, const double *a, const double *u) {
    PICK(dense_subtract_complex, (m, y, a, u));
}

void pl_dense_forward_real(const pl_dense_walk *t, double *x) {
    PICK(dense_forward_real, (t, x));
}

void pl_dense_backward_real(const pl_dense_walk *t, double *x, double *gathered) {
    PICK(dense_backward_real, (t, x, gathered));
}

void pl_dense_forward_complex(int m, int w, const double *a, int lda, const double *y, const int *row,
                              double *x) {
    PICK(dense_forward_complex, (m, w, a, lda, y, row, x));
}

void pl_dense_backward_complex(int m, int w, const double *a, int lda, double *y, const int *row,
                               const double *x, double *g) {
    PICK(dense_backward_complex, (m, w, a, lda, y, row, x, g));
}
