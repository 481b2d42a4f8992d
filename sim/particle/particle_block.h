/* Step, observe and reset of the particle world for one number type: included with `real`, REAL_IS_DOUBLE and
 * CODE_NAME defined. Every lane loop is the same arithmetic in the same order whatever the vector width, so
 * results do not depend on the instruction set, the batch split or a lane's neighbours. particle_cuda.cu
 * includes it with PARTICLE_ON_DEVICE defined: there a thread is one environment, and rooms of its own size
 * stand for LUD_PARTICLE_MAX_ROWS, _ENTITIES and _OBSERVATION. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "sim/particle/particle_model.h"

#if defined(PARTICLE_ON_DEVICE)
#define LANES 1
#define SIMD
#define RESTRICT __restrict__
#else
#define LANES    LUD_PARTICLE_LANES
#define SIMD     _Pragma("omp simd")
#define RESTRICT restrict
#endif
#define BLOCK_CODE LUD_HD static inline
#define EACH_LANE                                                                                            \
    SIMD                                                                                                     \
    for (int l = 0; l < LANES; l++)

typedef real row_type[LANES] __attribute__((aligned(LANES * sizeof(real))));
typedef row_type *rows_type;

#if REAL_IS_DOUBLE
typedef uint64_t bits_type;
#define REAL_EPSILON 2.220446049250313e-16
#define EXP_LIMIT    700.0
#define EXP_MAGIC    6755399441055744.0 /* 1.5 * 2^52: adding it rounds to a whole number */
#define EXP_BIAS     1023
#define EXP_SHIFT    52
#define LN2_HIGH     6.93147180369123816490e-01
#define LN2_LOW      1.90821492927058770002e-10
#else
typedef uint32_t bits_type;
#define REAL_EPSILON 1.1920928955078125e-7f
#define EXP_LIMIT    87.0f
#define EXP_MAGIC    12582912.0f /* 1.5 * 2^23 */
#define EXP_BIAS     127
#define EXP_SHIFT    23
#define LN2_HIGH     0.693359375f
#define LN2_LOW      -2.12194440e-4f
#endif

BLOCK_CODE real square_root(real x) {
#if REAL_IS_DOUBLE
    return sqrt(x);
#else
    return sqrtf(x);
#endif
}

/* e^-a for -3 <= a <= EXP_LIMIT: 2^n times the Taylor polynomial of the remainder, |r| <= ln(2) / 2. Our own,
 * because vectorised loops cannot call the library's and its last bit differs between machines. */
BLOCK_CODE real exp_minus(real a) {
    real shifted = a * (real)-1.4426950408889634074 + EXP_MAGIC;
    real whole = shifted - EXP_MAGIC;
    real r = (-a - whole * LN2_HIGH) - whole * LN2_LOW;
    bits_type bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + EXP_BIAS) << EXP_SHIFT;
    real power;
    memcpy(&power, &bits, sizeof power);
#if REAL_IS_DOUBLE
    real p = (real)(1.0 / 87178291200.0);
    p = p * r + (real)(1.0 / 6227020800.0);
    p = p * r + (real)(1.0 / 479001600.0);
    p = p * r + (real)(1.0 / 39916800.0);
    p = p * r + (real)(1.0 / 3628800.0);
    p = p * r + (real)(1.0 / 362880.0);
    p = p * r + (real)(1.0 / 40320.0);
    p = p * r + (real)(1.0 / 5040.0);
#else
    real p = (real)(1.0 / 5040.0);
#endif
    p = p * r + (real)(1.0 / 720.0);
    p = p * r + (real)(1.0 / 120.0);
    p = p * r + (real)(1.0 / 24.0);
    p = p * r + (real)(1.0 / 6.0);
    p = p * r + (real)0.5;
    p = p * r + 1;
    p = p * r + 1;
    return p * power;
}

/* ln(1 + t) for 0 <= t <= 1 as 2 artanh(t / (2 + t)). */
BLOCK_CODE real log_one_plus(real t) {
    real s = t / (2 + t), q = s * s;
#if REAL_IS_DOUBLE
    real p = (real)(1.0 / 35.0);
    p = p * q + (real)(1.0 / 33.0);
    p = p * q + (real)(1.0 / 31.0);
    p = p * q + (real)(1.0 / 29.0);
    p = p * q + (real)(1.0 / 27.0);
    p = p * q + (real)(1.0 / 25.0);
    p = p * q + (real)(1.0 / 23.0);
    p = p * q + (real)(1.0 / 21.0);
    p = p * q + (real)(1.0 / 19.0);
    p = p * q + (real)(1.0 / 17.0);
    p = p * q + (real)(1.0 / 15.0);
#else
    real p = (real)(1.0 / 15.0);
#endif
    p = p * q + (real)(1.0 / 13.0);
    p = p * q + (real)(1.0 / 11.0);
    p = p * q + (real)(1.0 / 9.0);
    p = p * q + (real)(1.0 / 7.0);
    p = p * q + (real)(1.0 / 5.0);
    p = p * q + (real)(1.0 / 3.0);
    p = p * q + 1;
    return 2 * s * p;
}

/* k ln(1 + e^((reach - r) / k)): how deep two bodies are in each other, softly. Exactly zero beyond EXP_LIMIT
 * * k. */
BLOCK_CODE real penetration(real r, real reach, real k) {
    real x = (reach - r) / k;
    real positive = x > 0 ? x : 0;
    real a = x > 0 ? x : -x;
    real t = exp_minus(a < EXP_LIMIT ? a : EXP_LIMIT);
    real tail = log_one_plus(t);
    return k * (positive + (a < EXP_LIMIT ? tail : 0));
}

/* Force on the body at distance vector (dx, dy) from the other. Coincident centres push along +x (the formula
 * is 0/0). */
BLOCK_CODE void contact_force(real stiffness, real k, real dx, real dy, real r, real reach, real *fx,
                              real *fy) {
    real pen = penetration(r, reach, k);
    bool apart = r > 0;
    real divisor = apart ? r : 1;
    real nx = apart ? dx / divisor : 1;
    real ny = dy / divisor;
    *fx = stiffness * nx * pen;
    *fy = stiffness * ny * pen;
}

/* Force of a wall on a disc; `par` and `perp` are its coordinates along the wall and across it. Zero out of
 * reach. */
BLOCK_CODE bool wall_force(real stiffness, real k, real half_width, real at, real from, real to, real par,
                           real perp, real radius, real *force_par, real *force_perp) {
    *force_par = *force_perp = 0;
    if (par < from - radius || par > to + radius) return false;
    real beyond = par < from ? par - from : par > to ? par - to : 0;
    real sine = beyond / radius;
    real cosine = square_root(1 - sine * sine);
    real reach = cosine * radius + half_width;
    real delta = perp - at, r = delta < 0 ? -delta : delta;
    real magnitude = stiffness * (delta < 0 ? -1 : 1) * penetration(r, reach, k);
    *force_perp = cosine * magnitude;
    *force_par = sine * (magnitude < 0 ? -magnitude : magnitude);
    return true;
}

/* --- blocks --- */

/* Transposes the states of up to LANES environments into rows; idle lanes repeat the last one. */
BLOCK_CODE void load_block(const lud_particle_model *m, const uint8_t *states, int n, rows_type rows) {
    size_t stride = (size_t)m->n_words * sizeof(real);
    const uint8_t *lane[LANES];
    for (int l = 0; l < LANES; l++) lane[l] = states + stride * (size_t)(l < n ? l : n - 1);
    for (int w = 0; w < m->n_words; w++)
        for (int l = 0; l < LANES; l++) memcpy(&rows[w][l], lane[l] + (size_t)w * sizeof(real), sizeof(real));
    int width = m->options.speech_size > 2 ? (int)m->options.speech_size : 2;
    memset(rows[m->zero_row], 0, sizeof(row_type) * (size_t)width);
}

BLOCK_CODE void store_block(const lud_particle_model *m, rows_type rows, int n, uint8_t *states) {
    size_t stride = (size_t)m->n_words * sizeof(real);
    for (int l = 0; l < n; l++) {
        uint8_t *state = states + stride * (size_t)l;
        for (int w = 0; w < m->n_words; w++)
            memcpy(state + (size_t)w * sizeof(real), &rows[w][l], sizeof(real));
    }
}

/* Copies position and velocity of what each slot has drawn into the slot's own rows. */
BLOCK_CODE void follow_slots(const lud_particle_model *m, rows_type rows) {
    for (int s = 0; s < m->n_slots; s++) {
        int id = m->n_entities + s, p = m->position_row[id], v = m->velocity_row[id];
        for (int l = 0; l < LANES; l++) {
            int drawn = (int)rows[m->slot_row + s][l];
            for (int axis = 0; axis < 2; axis++) {
                rows[p + axis][l] = rows[m->position_row[drawn] + axis][l];
                rows[v + axis][l] = rows[m->velocity_row[drawn] + axis][l];
            }
        }
    }
}

BLOCK_CODE void distances_between(const lud_particle_model *m, rows_type rows, int a, int b,
                                  real *RESTRICT distance) {
    const real *ax = rows[m->position_row[a]], *ay = rows[m->position_row[a] + 1];
    const real *bx = rows[m->position_row[b]], *by = rows[m->position_row[b] + 1];
    EACH_LANE {
        real dx = ax[l] - bx[l], dy = ay[l] - by[l];
        distance[l] = square_root(dx * dx + dy * dy);
    }
}

/* Number c of an entity's colour in every lane: its own, that of what a slot has drawn, or painted by a
 * choice. */
BLOCK_CODE void colour_lanes(const lud_particle_model *m, rows_type rows, int id, int c, real *out) {
    const bool painted = id < m->n_entities && m->paint_slot[id] >= 0;
    const int of = painted ? m->paint_slot[id] : id;
    if (of >= m->n_entities) {
        const real *drawn = rows[m->slot_row + of - m->n_entities];
        for (int l = 0; l < LANES; l++) out[l] = (real)m->colour[(int)drawn[l] * LUD_PARTICLE_MAX_COLOUR + c];
    } else {
        for (int l = 0; l < LANES; l++) out[l] = (real)m->colour[of * LUD_PARTICLE_MAX_COLOUR + c];
    }
    if (!painted) return;
    const real scale = (real)m->paint_scale[id], offset = (real)m->paint_offset[id];
    for (int l = 0; l < LANES; l++) out[l] = out[l] * scale + offset;
}

/* --- step --- */

BLOCK_CODE real clip_unit(real x) {
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* Reads the joint action: control (after the sensitivity) into its rows, speech into the speech rows. Speech
 * may be written here because nothing reads the old speech later in the step. */
BLOCK_CODE void read_actions(const lud_particle_model *m, const particle_io *io, int first, int n,
                             rows_type rows) {
    bool mpe = m->options.physics.family == FAMILY_MPE;
    int speech_size = (int)m->options.speech_size;
    for (int a = 0; a < m->n_agents; a++) {
        real *ux = rows[m->control_row + 2 * a], *uy = rows[m->control_row + 2 * a + 1];
        bool movable = m->entities[a].movable;
        int speech = m->speech_row[a];
        real scale = (real)m->control_scale[a];
        if (m->options.actions == 0) {
            int32_t ids[LANES];
            for (int l = 0; l < LANES; l++) {
                ids[l] =
                    io->discrete[(size_t)(first + (l < n ? l : n - 1)) * (size_t)m->n_agents + (size_t)a];
                assert(ids[l] >= 0 && ids[l] < m->base.layout.actions[a].n_discrete);
            }
            /* the two families number left and right, down and up the other way round */
            real sense = mpe ? scale : -scale;
            EACH_LANE {
                int32_t move = movable ? ids[l] % 5 : 0;
                ux[l] = sense * (real)((move == 2) - (move == 1));
                uy[l] = sense * (real)((move == 4) - (move == 3));
            }
            for (int c = 0; speech >= 0 && c < speech_size; c++)
                EACH_LANE rows[speech + c][l] = (movable ? ids[l] / 5 : ids[l]) == c;
            continue;
        }
        for (int l = 0; l < LANES; l++) {
            size_t at = ((size_t)(first + (l < n ? l : n - 1)) * (size_t)m->n_agents + (size_t)a) *
                        (size_t)m->max_continuous;
            real v[5 + LUD_PARTICLE_MAX_SPEECH];
            int count = m->base.layout.actions[a].n_continuous;
            for (int i = 0; i < count; i++) {
                v[i] = io->wide ? (real)((const double *)io->continuous)[at + (size_t)i]
                                : (real)((const float *)io->continuous)[at + (size_t)i];
                if (mpe) v[i] = clip_unit(v[i]);
            }
            int used = 0;
            ux[l] = uy[l] = 0;
            if (movable && mpe) {
                ux[l] = (v[2] - v[1]) * scale;
                uy[l] = (v[4] - v[3]) * scale;
                used = 5;
            } else if (movable) {
                ux[l] = v[0] * scale;
                uy[l] = v[1] * scale;
                used = 2;
            }
            for (int c = 0; speech >= 0 && c < speech_size; c++) rows[speech + c][l] = v[used + c];
        }
    }
}

/* Gaussian noise on control forces and on speech. */
BLOCK_CODE void add_noise(const lud_particle_model *m, lud_range range, int first, int n, rows_type rows) {
    for (int a = 0; a < m->n_agents; a++) {
        int force = m->force_row[a], speech = m->speech_row[a];
        for (int l = 0; l < n; l++) {
            lud_random_key key = {range.seed, range.first_environment + (uint32_t)(first + l)};
            uint32_t tick = range.tick[first + l];
            double normal[2];
            if (m->control_noise[a] > 0 && force >= 0) {
                lud_words w = lud_draw(key, tick, (uint32_t)a, LUD_PURPOSE_TRANSITION, 0);
                lud_normal_pair(w.v[0], w.v[1], normal);
                for (int axis = 0; axis < 2; axis++)
                    rows[force + axis][l] += (real)(m->control_noise[a] * normal[axis]);
            }
            for (int c = 0; m->speech_noise[a] > 0 && speech >= 0 && c < m->options.speech_size; c += 2) {
                lud_words w = lud_draw(key, tick, (uint32_t)a, LUD_PURPOSE_TRANSITION, 1 + (uint32_t)c / 2);
                lud_normal_pair(w.v[0], w.v[1], normal);
                for (int i = 0; i < 2 && c + i < m->options.speech_size; i++)
                    rows[speech + c + i][l] += (real)(m->speech_noise[a] * normal[i]);
            }
        }
    }
}

BLOCK_CODE void add_pair_force(const lud_particle_model *m, const particle_pair *pair, rows_type rows) {
    const real stiffness = (real)m->options.physics.contact_force,
               k = (real)m->options.physics.contact_margin;
    const real reach = (real)pair->reach, near = reach + (real)EXP_LIMIT * k;
    const real *ax = rows[m->position_row[pair->a]], *ay = rows[m->position_row[pair->a] + 1];
    const real *bx = rows[m->position_row[pair->b]], *by = rows[m->position_row[pair->b] + 1];
    row_type dx, dy, r;
    int any = 0;
    EACH_LANE {
        dx[l] = ax[l] - bx[l];
        dy[l] = ay[l] - by[l];
        r[l] = square_root(dx[l] * dx[l] + dy[l] * dy[l]);
    }
    for (int l = 0; l < LANES; l++) any |= r[l] <= near;
    /* beyond `near` the force is exactly zero and forces are never -0, so leaving the addition out changes no
     * bit */
    if (!any) return;
    row_type fx, fy;
    EACH_LANE contact_force(stiffness, k, dx[l], dy[l], r[l], reach, &fx[l], &fy[l]);
    if (pair->on_a != 0) {
        real s = (real)pair->on_a;
        real *x = rows[m->force_row[pair->a]], *y = rows[m->force_row[pair->a] + 1];
        EACH_LANE {
            x[l] += s * fx[l];
            y[l] += s * fy[l];
        }
    }
    if (pair->on_b != 0) {
        real s = (real)pair->on_b;
        real *x = rows[m->force_row[pair->b]], *y = rows[m->force_row[pair->b] + 1];
        EACH_LANE {
            x[l] -= s * fx[l];
            y[l] -= s * fy[l];
        }
    }
}

BLOCK_CODE void add_wall_forces(const lud_particle_model *m, int e, rows_type rows) {
    real stiffness = (real)m->options.physics.contact_force, k = (real)m->options.physics.contact_margin;
    for (int i = 0; i < m->n_walls; i++) {
        const lud_particle_wall *wall = &m->walls[i];
        if (m->entities[e].ghost && !wall->hard) continue;
        int par = wall->vertical ? 1 : 0, perp = 1 - par;
        for (int l = 0; l < LANES; l++) {
            real along, across;
            if (!wall_force(stiffness, k, (real)(0.5 * wall->width), (real)wall->at, (real)wall->from,
                            (real)wall->to, rows[m->position_row[e] + par][l],
                            rows[m->position_row[e] + perp][l], (real)m->radius[e], &along, &across))
                continue;
            rows[m->force_row[e] + par][l] += along;
            rows[m->force_row[e] + perp][l] += across;
        }
    }
}

#include "sim/particle/particle_block_walls.h"

BLOCK_CODE void integrate(const lud_particle_model *m, int e, rows_type rows) {
    const particle_physics *physics = &m->options.physics;
    const real dt = (real)physics->dt, keep = 1 - (real)physics->damping, mass = (real)m->entities[e].mass;
    const real limit = (real)m->entities[e].max_speed;
    const bool velocity_first = physics->family == FAMILY_NAVIGATION;
    real *px = rows[m->position_row[e]], *py = rows[m->position_row[e] + 1];
    real *vx = rows[m->velocity_row[e]], *vy = rows[m->velocity_row[e] + 1];
    const real *fx = rows[m->force_row[e]], *fy = rows[m->force_row[e] + 1];
    if (!velocity_first) EACH_LANE {
            px[l] = px[l] + vx[l] * dt;
            py[l] = py[l] + vy[l] * dt;
        }
    EACH_LANE {
        vx[l] = vx[l] * keep + fx[l] / mass * dt;
        vy[l] = vy[l] * keep + fy[l] / mass * dt;
    }
    if (limit > 0) EACH_LANE {
            real speed = square_root(vx[l] * vx[l] + vy[l] * vy[l]);
            real x = vx[l] / speed * limit, y = vy[l] / speed * limit;
            vx[l] = speed > limit ? x : vx[l];
            vy[l] = speed > limit ? y : vy[l];
        }
    if (velocity_first) EACH_LANE {
            px[l] = px[l] + vx[l] * dt;
            py[l] = py[l] + vy[l] * dt;
        }
}

/* Random kicks of position and velocity that fade with the episode: std N(0, I4) e^(-decay t), t from 1. */
BLOCK_CODE void disturb(const lud_particle_model *m, lud_range range, const double *given, int first, int n,
                        rows_type rows) {
    const particle_disturbance *d = &m->options.disturbance;
    for (int a = 0; a < m->n_agents; a++) {
        real(*w)[LANES] = rows + m->disturbance_row + 4 * a;
        for (int l = 0; l < LANES; l++) {
            int e = first + (l < n ? l : n - 1);
            if (given) {
                for (int i = 0; i < 4; i++)
                    w[i][l] = (real)given[((size_t)e * (size_t)m->n_agents + (size_t)a) * 4 + (size_t)i];
                continue;
            }
            lud_random_key key = {range.seed, range.first_environment + (uint32_t)e};
            lud_words words = lud_draw(key, range.tick[e], (uint32_t)a, LUD_PURPOSE_DISTURB, 0);
            double normal[4], size = d->std * exp(-d->decay * (double)(rows[m->step_row][l] + 1));
            lud_normal_pair(words.v[0], words.v[1], normal);
            lud_normal_pair(words.v[2], words.v[3], normal + 2);
            for (int i = 0; i < 4; i++) w[i][l] = (real)(size * normal[i]);
        }
        if (!m->entities[a].movable) continue;
        row_type old[2];
        for (int i = 0; i < 2; i++) {
            memcpy(old[i], rows[m->position_row[a] + i], sizeof old[i]);
            EACH_LANE rows[m->position_row[a] + i][l] += w[i][l];
            EACH_LANE rows[m->velocity_row[a] + i][l] += w[2 + i][l];
        }
        if (m->n_walls > 0) stop_at_walls(m, a, old[0], old[1], rows);
    }
}

/* Penalty for leaving the square: 0 up to 0.9, linear to 1, exponential beyond, at most 10. */
BLOCK_CODE real boundary(real x) {
    x = x < 0 ? -x : x;
    real linear = 10 * (x - (real)0.9);
    real exponent = 2 * x - 2, beyond = exp_minus(exponent < 3 ? -exponent : -3);
    return x < (real)0.9 ? 0 : x < 1 ? linear : beyond < 10 ? beyond : 10;
}

/* What a body contributes on its own. */
BLOCK_CODE void unary_term(const lud_particle_model *m, const particle_rule *rule, int from, rows_type rows,
                           real *value) {
    switch (rule->term) {
    case REWARD_BOUNDARY: {
        const real *x = rows[m->position_row[from]], *y = rows[m->position_row[from] + 1];
        EACH_LANE value[l] = boundary(x[l]) + boundary(y[l]);
        break;
    }
    case REWARD_CONTROL: {
        const real *x = rows[m->control_row + 2 * from], *y = rows[m->control_row + 2 * from + 1];
        EACH_LANE value[l] = square_root(x[l] * x[l] + y[l] * y[l]);
        break;
    }
    default:
        EACH_LANE value[l] = 1;
    }
}

/* What a pair of bodies contributes. */
BLOCK_CODE void pair_term(const lud_particle_model *m, const particle_rule *rule, int from, int to,
                          rows_type rows, real *RESTRICT value) {
    const real within = (real)rule->within;
    if (rule->term == REWARD_SPEECH_ERROR) {
        /* squared distance of what is said to a colour; saying nothing at all counts 0 */
        row_type sum = {0}, loud = {0}, colour;
        for (int c = 0; c < m->options.speech_size; c++) {
            colour_lanes(m, rows, to, c, colour);
            const real *said = rows[m->speech_row[from] + c];
            EACH_LANE {
                real d = said[l] - colour[l];
                sum[l] += d * d;
                loud[l] = said[l] != 0 ? 1 : loud[l];
            }
        }
        EACH_LANE value[l] = loud[l] > 0 ? sum[l] : 0;
        return;
    }
    const real *ax = rows[m->position_row[from]], *ay = rows[m->position_row[from] + 1];
    const real *bx = rows[m->position_row[to]], *by = rows[m->position_row[to] + 1];
    if (rule->term == REWARD_DISTANCE && rule->power == 2) EACH_LANE {
            real dx = ax[l] - bx[l], dy = ay[l] - by[l], d = dx * dx + dy * dy;
            value[l] = square_root(d) < within ? 0 : d;
        }
    else if (rule->term == REWARD_DISTANCE)
        EACH_LANE {
            real dx = ax[l] - bx[l], dy = ay[l] - by[l], d = square_root(dx * dx + dy * dy);
            value[l] = d < within ? 0 : d;
        }
    else {
        const real limit = rule->term == REWARD_OVERLAP ? (real)(m->radius[from] + m->radius[to]) : within;
        EACH_LANE {
            real dx = ax[l] - bx[l], dy = ay[l] - by[l];
            value[l] = square_root(dx * dx + dy * dy) < limit ? 1 : 0;
        }
    }
}

/* Folds the count-th value into the accumulator. */
BLOCK_CODE void fold(particle_reduce how, int count, real *RESTRICT sum, const real *RESTRICT value) {
    if (count == 0)
        memcpy(sum, value, sizeof(row_type));
    else if (how == REDUCE_MIN)
        EACH_LANE sum[l] = value[l] < sum[l] ? value[l] : sum[l];
    else if (how == REDUCE_MAX)
        EACH_LANE sum[l] = value[l] > sum[l] ? value[l] : sum[l];
    else
        EACH_LANE sum[l] = sum[l] + value[l];
}

BLOCK_CODE void fold_end(particle_reduce how, int count, real *sum) {
    if (how == REDUCE_MEAN && count > 0)
        for (int l = 0; l < LANES; l++) sum[l] = sum[l] / (real)count;
}

BLOCK_CODE void pay(const lud_particle_model *m, rows_type rows) {
    memset(rows[m->rewards_row], 0, sizeof(row_type) * (size_t)m->n_agents);
    for (const particle_rule *rule = m->rules; rule < m->rules + m->n_rules; rule++) {
        row_type total = {0};
        int n_from = 0;
        for (int f = 0; f < rule->from.n; f++) {
            int from = rule->from.ids[f];
            row_type sum, value;
            if (rule->to.n == 0)
                unary_term(m, rule, from, rows, sum);
            else {
                int n_to = 0;
                for (int t = 0; t < rule->to.n; t++) {
                    if (rule->to.ids[t] == from) continue; /* never paired with itself */
                    pair_term(m, rule, from, rule->to.ids[t], rows, value);
                    fold(rule->over_to, n_to++, sum, value);
                }
                if (n_to == 0) continue;
                fold_end(rule->over_to, n_to, sum);
            }
            fold(rule->over_from, n_from++, total, sum);
        }
        fold_end(rule->over_from, n_from, total);
        const real weight = (real)rule->weight, tally = (real)rule->tally;
        real *returns = rows[m->return_row + rule->row], *all = rows[m->reward_sum_row];
        EACH_LANE {
            returns[l] += tally * total[l];
            all[l] += tally * total[l];
        }
        for (int r = 0; r < rule->receivers.n; r++) {
            real *reward = rows[m->rewards_row + rule->receivers.ids[r]];
            EACH_LANE reward[l] += weight * total[l];
        }
    }
}

/* Counts collisions: every overlapping other agent once a step, obstacles at most once a step. */
BLOCK_CODE void count_collisions(const lud_particle_model *m, rows_type rows) {
    for (int i = 0; i < m->n_collider_agents; i++) {
        int a = m->collider_agents[i];
        row_type distance, hit = {0};
        for (int j = i + 1; j < m->n_collider_agents; j++) {
            int b = m->collider_agents[j];
            real reach = (real)(m->radius[a] + m->radius[b]);
            real *count_a = rows[m->agent_hit_row + a], *count_b = rows[m->agent_hit_row + b];
            distances_between(m, rows, a, b, distance);
            EACH_LANE {
                real overlap = distance[l] < reach ? 1 : 0;
                count_a[l] += overlap;
                count_b[l] += overlap;
            }
        }
        for (int j = 0; j < m->n_collider_obstacles; j++) {
            int b = m->collider_obstacles[j];
            real reach = (real)(m->radius[a] + m->radius[b]);
            distances_between(m, rows, a, b, distance);
            EACH_LANE hit[l] = distance[l] < reach ? 1 : hit[l];
        }
        real *count = rows[m->obstacle_hit_row + a];
        EACH_LANE count[l] += hit[l];
    }
}

/* all[l] = 1 when every item of the success rule is met now; notes the first step of each when `note`. */
BLOCK_CODE void measure_success(const lud_particle_model *m, rows_type rows, bool note, real *RESTRICT all) {
    EACH_LANE all[l] = m->n_items > 0;
    const real *step = rows[m->step_row];
    for (int i = 0; i < m->n_items; i++) {
        const particle_item *item = &m->items[i];
        row_type met = {0}, distance;
        for (int t = 0; t < item->to.n; t++) {
            int to = item->to.ids[t];
            if (to == item->item) continue;
            real within =
                (real)(m->success_within > 0 ? m->success_within : m->radius[item->item] + m->radius[to]);
            distances_between(m, rows, item->item, to, distance);
            EACH_LANE met[l] = distance[l] < within ? 1 : met[l];
        }
        EACH_LANE all[l] = met[l] > 0 ? all[l] : 0;
        if (!note) continue;
        real *reached = rows[m->reached_row + i];
        EACH_LANE reached[l] = ((reached[l] < 0) & (met[l] > 0)) ? step[l] : reached[l];
    }
}

BLOCK_CODE void step_block(const lud_particle_model *m, lud_range range, uint8_t *states,
                           const particle_io *io, int first, int n, rows_type rows) {
    load_block(m, states, n, rows);
    read_actions(m, io, first, n, rows);
    for (int e = 0; e < m->n_entities; e++) {
        if (m->force_row[e] < 0) continue;
        for (int axis = 0; axis < 2; axis++) {
            real *force = rows[m->force_row[e] + axis];
            if (e >= m->n_agents) {
                memset(force, 0, sizeof(row_type));
                continue;
            }
            const real *control = rows[m->control_row + 2 * e + axis];
            real scale = (real)m->force_scale[e];
            EACH_LANE force[l] = scale * control[l] + (real)0; /* + 0 turns -0 into 0, see add_pair_force */
        }
    }
    add_noise(m, range, first, n, rows);
    for (int a = 0; a < m->n_entities; a++) {
        for (int p = m->pair_begin[a]; p < m->pair_begin[a + 1]; p++) add_pair_force(m, &m->pairs[p], rows);
        if (m->n_walls > 0 && m->force_row[a] >= 0) add_wall_forces(m, a, rows);
    }
    for (int e = 0; e < m->n_entities; e++) {
        if (m->force_row[e] < 0) continue;
        row_type old[2];
        for (int i = 0; i < 2; i++) memcpy(old[i], rows[m->position_row[e] + i], sizeof old[i]);
        integrate(m, e, rows);
        if (m->n_walls > 0) stop_at_walls(m, e, old[0], old[1], rows);
    }
    if (m->options.disturbance.std > 0 || io->disturbance) disturb(m, range, io->disturbance, first, n, rows);
    real *step = rows[m->step_row];
    EACH_LANE step[l] = step[l] + 1;
    follow_slots(m, rows);

    pay(m, rows);
    count_collisions(m, rows);
    row_type success;
    measure_success(m, rows, true, success);
    store_block(m, rows, n, states);
    for (int l = 0; l < n; l++) {
        size_t e = (size_t)(first + l);
        if (io->rewards && io->wide)
            for (int a = 0; a < m->n_agents; a++)
                ((double *)io->rewards)[e * (size_t)m->n_agents + (size_t)a] =
                    (double)rows[m->rewards_row + a][l];
        else if (io->rewards)
            for (int a = 0; a < m->n_agents; a++)
                ((float *)io->rewards)[e * (size_t)m->n_agents + (size_t)a] =
                    (float)rows[m->rewards_row + a][l];
        bool terminated = m->terminate && success[l] > 0;
        if (io->terminated) io->terminated[e] = terminated;
        if (io->truncated)
            io->truncated[e] =
                !terminated && m->base.layout.max_steps > 0 && step[l] >= (real)m->base.layout.max_steps;
    }
}

BLOCK_CODE void step_range(const lud_particle_model *m, lud_range range, uint8_t *states,
                           const particle_io *io) {
    row_type rows[LUD_PARTICLE_MAX_ROWS];
    for (int first = 0; first < range.n; first += LANES) {
        int n = range.n - first < LANES ? range.n - first : LANES;
        step_block(m, range, states + (size_t)first * m->base.layout.state_bytes, io, first, n, rows);
    }
}

#include "sim/particle/particle_block_observe.h"
