/* Weights of a delay of so many steps: the formulas of realtime/sparsing/past.py; PL_DELAY_NEAR is put in. */

/* what rounding makes of a number of steps */
static PL_ONCE double delay_room_of(double steps) {
    return PL_DELAY_NEAR * (steps > 1.0 ? steps : 1.0);
}

/* the model is evaluated `ahead` steps behind the last value kept; share: of the value up to the end of a step, of
 * that from there on, of the difference to the one before, of the value now */
static PL_ONCE void delay_weights(double steps, double ahead, int begins, int is_left, int32_t *back,
                                  pl_real *share) {
    const double room = delay_room_of(steps), c = steps - ahead;
    double left = 0.0, right = 0.0, slope = 0.0, now = 0.0;
    int32_t n = 0;
    if (steps <= room) {
        now = 1.0;
    } else if (c < -room) {
        now = -c / ahead;
        right = 1.0 - now;
    } else {
        n = (int32_t)floor(c + room);
        slope = c - (double)n;
        if (begins && steps < 1.0 - room) {
            left = 1.0;
            now = 1.0 - slope;
            right = -now;
        } else if (slope > room) {
            left = 1.0;
        } else {
            slope = 0.0;
            left = (double)is_left;
            right = 1.0 - left;
        }
    }
    *back = n;
    share[0] = (pl_real)left;
    share[1] = (pl_real)right;
    share[2] = (pl_real)slope;
    share[3] = (pl_real)now;
}
