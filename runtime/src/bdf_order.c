/* BDF: coefficients, change of order and step size.
 *
 * Notation (Byrne & Hindmarsh, ACM TOMS 1 (1975); Jackson & Sacks-Davis, ACM TOMS 6 (1980); Brown, Byrne &
 * Hindmarsh, SIAM J. Sci. Stat. Comput. 10 (1989)): xi_i = (t_n - t_(n-i))/h. The corrector adds e Lambda(x),
 *     Lambda(x) = sum l_j x^j = (1 + x/xi*_q) prod_(i<q) (1 + x/xi_i),
 * to the predicted polynomial; xi*_q is such that l_1 = 1 + 1/2 + .. + 1/q = -alpha0 whatever the past steps
 * were (fixed leading coefficient). With alpha0_hat = -sum_(i<=q) 1/xi_i:
 *     local error of order q   = ||e|| |a / (alpha0 (1 + q a))|,   a = 1 - alpha0_hat + alpha0;
 *     h^(q+1) x^(q+1)          ~ e (1 + q a) / (xi_q ... ) up to a common factor (e_to_derivative).
 * Step factors carry the biases 6 (same and lower order) and 10 (higher order); a change below 1.5 is not
 * made.
 */
#include "bdf.h"

#include <math.h>

#define BIAS         6.0
#define BIAS_UP      10.0
#define LEAST_GROWTH 1.5
#define TINY         1e-6

void pl_bdf_rescale(pl_bdf *s, pl_real eta) {
    int n = s->head.n;
    pl_real factor = eta;
    for (int j = 1; j <= s->q; j++) {
        pl_real *z = pl_bdf_z(s, s->valid, j);
        for (int i = 0; i < n; i++) z[i] *= factor;
        factor *= eta;
    }
    s->h *= eta;
}

void pl_bdf_coefficients(pl_bdf *s) {
    int q = s->q;
    pl_real *l = s->l, alpha0 = -1.0, alpha0_hat = -1.0, inverse_xi = 1.0, inverse_xi_star = 1.0, sum = s->h;
    for (int j = 2; j <= q; j++) l[j] = 0.0;
    l[0] = l[1] = 1.0;
    if (q > 1) {
        for (int j = 2; j < q; j++) {
            sum += s->tau[j - 1];
            inverse_xi = s->h / sum;
            alpha0 -= 1.0 / j;
            for (int i = j; i >= 1; i--) l[i] += l[i - 1] * inverse_xi;
        }
        alpha0 -= 1.0 / q;
        inverse_xi_star = -l[1] - alpha0;
        sum += s->tau[q - 1];
        inverse_xi = s->h / sum;
        alpha0_hat = -l[1] - inverse_xi;
        for (int i = q; i >= 1; i--) l[i] += l[i - 1] * inverse_xi_star;
    }
    pl_real a = 1.0 - alpha0_hat + alpha0, b = 1.0 + q * a;
    s->to_error = fabs(a / (alpha0 * b));
    s->e_to_derivative = fabs(b * inverse_xi_star / (l[q] * inverse_xi));
    s->gamma = s->h / l[1];
    if (s->wait != 1) return; /* the order is looked at after this step */
    s->to_error_down = 1.0;
    if (q > 1) {
        pl_real lower = alpha0 + 1.0 / q, lower_hat = alpha0_hat + inverse_xi;
        s->to_error_down = fabs(inverse_xi_star / l[q] * (1.0 - lower_hat + lower) / lower);
    }
    sum += s->tau[q];
    inverse_xi = s->h / sum;
    pl_real higher = alpha0 - 1.0 / (q + 1), higher_hat = alpha0_hat - inverse_xi;
    s->to_error_up = fabs((1.0 - higher_hat + higher) / b / (inverse_xi * (q + 2) * higher));
}

/* Raise: a new column is fitted to the last correction so that past values are met; lower: the highest column
 * is taken out together with the multiple of x^2 prod (x + xi_j) that keeps them. */
void pl_bdf_change_order(pl_bdf *s, int q_new) {
    int n = s->head.n, q = s->q;
    pl_real l[BDF_COLUMNS + 1] = {0.0, 0.0, 1.0};
    if (q_new > q) {
        pl_real alpha0 = -1.0, alpha1 = 1.0, product = 1.0, xi_old = 1.0, sum = s->h;
        for (int j = 1; j < q; j++) {
            sum += s->tau[j + 1];
            pl_real xi = sum / s->h;
            product *= xi;
            alpha0 -= 1.0 / (j + 1);
            alpha1 += 1.0 / xi;
            for (int i = j + 2; i >= 2; i--) l[i] = l[i] * xi_old + l[i - 1];
            xi_old = xi;
        }
        pl_real factor = (-alpha0 - alpha1) / product;
        pl_real *top = pl_bdf_z(s, s->valid, q + 1);
        const pl_real *saved = pl_bdf_array(s, BDF_SAVED);
        for (int i = 0; i < n; i++) top[i] = factor * saved[i];
        for (int j = 2; j <= q; j++) {
            pl_real *z = pl_bdf_z(s, s->valid, j);
            for (int i = 0; i < n; i++) z[i] += l[j] * top[i];
        }
    } else if (q_new < q) {
        pl_real sum = 0.0;
        const pl_real *top = pl_bdf_z(s, s->valid, q);
        for (int j = 1; j <= q - 2; j++) {
            sum += s->tau[j];
            pl_real xi = sum / s->h;
            for (int i = j + 2; i >= 2; i--) l[i] = l[i] * xi + l[i - 1];
        }
        for (int j = 2; j < q; j++) {
            pl_real *z = pl_bdf_z(s, s->valid, j);
            for (int i = 0; i < n; i++) z[i] -= l[j] * top[i];
        }
    }
    s->q = s->q_next = q_new;
    s->wait = q_new + 1;
    s->has_saved = 0;
}

static pl_real growth(pl_real bias, pl_real error, int power) {
    return 1.0 / (pow(bias * error, 1.0 / power) + TINY);
}

static pl_real growth_up(pl_bdf *s) {
    if (s->q == s->q_max || !s->has_saved || s->saved_scale == 0.0) return 0.0;
    int n = s->head.n;
    if (n == 0) return 0.0;
    const pl_real *e = pl_bdf_array(s, BDF_E), *saved = pl_bdf_array(s, BDF_SAVED);
    const pl_real *weight = pl_bdf_error_weight(s);
    pl_real ratio = s->e_to_derivative / s->saved_scale * pow(s->h / s->tau[2], s->q + 1), sum = 0.0;
    for (int i = 0; i < n; i++) {
        pl_real v = (e[i] - ratio * saved[i]) * weight[i];
        sum += v * v;
    }
    return growth(BIAS_UP, s->to_error_up * sqrt(sum / n), s->q + 2);
}

/* After an accepted step: order and step size of the next one. */
void pl_bdf_plan_next(pl_bdf *s, pl_real error) {
    int n = s->head.n, q = s->q, q_next = q;
    s->eta_next = 1.0;
    s->q_next = q;
    s->still++;
    if (s->eta_max == 1.0) { /* a failure happened in this step: neither grow nor change order yet */
        if (s->wait < 2) s->wait = 2;
        s->still = 0;
        return;
    }
    if (s->look && s->wait > 0) return;
    pl_real eta = growth(BIAS, error, q + 1);
    if (s->wait == 0) {
        s->wait = 2;
        s->look = 0;
        pl_real down = 0.0, up = growth_up(s);
        if (q > 1) {
            pl_real norm = pl_weighted_norm(n, pl_bdf_z(s, s->valid, q), pl_bdf_error_weight(s));
            down = growth(BIAS, norm * s->to_error_down, q);
        }
        pl_real best = fmax(eta, fmax(down, up));
        if (best < LEAST_GROWTH) return;
        if (best > eta) {
            q_next = best == down ? q - 1 : q + 1;
            eta = best;
        }
        if (q_next > q) {
            const pl_real *e = pl_bdf_array(s, BDF_E);
            pl_real *saved = pl_bdf_array(s, BDF_SAVED);
            for (int i = 0; i < n; i++) saved[i] = e[i];
        }
    }
    if (eta < LEAST_GROWTH) return;
    eta = fmin(eta, s->eta_max);
    if (s->hold > 0) eta = 1.0;
    if (s->h_max > 0.0) eta /= fmax(1.0, s->h * eta / s->h_max);
    s->eta_next = eta;
    s->q_next = q_next;
    if (eta != 1.0 || q_next != q) s->still = 0;
}
