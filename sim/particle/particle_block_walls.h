/* Walls that no speed carries a body through: included by particle_block.h. Contact forces alone stop what
 * comes slowly; a centre that would be on the other side of a wall's middle after a step is stopped where its
 * disc touches the wall. Nothing changes for a body that stays on its side. */

/* Whether the straight way of a centre from `old` to `now` meets the middle of the wall, and after what share
 * of it. Rounding is on the side of the wall. */
BLOCK_CODE bool meets_wall(const lud_particle_wall *wall, const real old[2], const real now[2], real *share) {
    const int par = wall->vertical ? 1 : 0, perp = 1 - par;
    const real at = (real)wall->at;
    if ((old[perp] < at) == (now[perp] < at)) return false;
    const real size = (old[par] < 0 ? -old[par] : old[par]) + (now[par] < 0 ? -now[par] : now[par]);
    const real slack = 8 * REAL_EPSILON * size;
    *share = (at - old[perp]) / (now[perp] - old[perp]);
    const real along = old[par] + *share * (now[par] - old[par]);
    return !(along < (real)wall->from - slack || along > (real)wall->to + slack);
}

BLOCK_CODE bool stops(const lud_particle_model *m, const lud_particle_wall *wall, int e) {
    return wall->hard || !m->entities[e].ghost;
}

/* The first wall on the way, -1: none. */
BLOCK_CODE int first_wall(const lud_particle_model *m, int e, const real old[2], const real now[2]) {
    int first = -1;
    real nearest = 0, share = 0;
    for (int i = 0; i < m->n_walls; i++) {
        if (!stops(m, &m->walls[i], e) || !meets_wall(&m->walls[i], old, now, &share)) continue;
        if (first >= 0 && !(share < nearest)) continue;
        first = i;
        nearest = share;
    }
    return first;
}

/* One environment. Each wall takes back one coordinate and is not met again: what is left of the way only
 * becomes shorter. */
BLOCK_CODE void stop_lane(const lud_particle_model *m, int e, const real old[2], real now[2],
                          real velocity[2]) {
    for (int i; (i = first_wall(m, e, old, now)) >= 0;) {
        const lud_particle_wall *wall = &m->walls[i];
        const int perp = wall->vertical ? 0 : 1;
        const real at = (real)wall->at, face = (real)(0.5 * wall->width) + (real)m->radius[e];
        const bool below = old[perp] < at;
        const real touch = below ? at - face : at + face;
        const bool nearer = below ? !(touch < at) || old[perp] > touch : old[perp] < touch;
        now[perp] = nearer ? old[perp] : touch;
        velocity[perp] = 0;
    }
}

/* After body e has moved from (old_x, old_y). */
BLOCK_CODE void stop_at_walls(const lud_particle_model *m, int e, const real *old_x, const real *old_y,
                              rows_type rows) {
    real *x = rows[m->position_row[e]], *y = rows[m->position_row[e] + 1];
    real *vx = rows[m->velocity_row[e]], *vy = rows[m->velocity_row[e] + 1];
    int any = 0;
    for (int i = 0; i < m->n_walls; i++) {
        const real at = (real)m->walls[i].at;
        const real *before = m->walls[i].vertical ? old_x : old_y, *after = m->walls[i].vertical ? x : y;
        for (int l = 0; l < LANES; l++) any |= (before[l] < at) != (after[l] < at);
    }
    for (int l = 0; l < LANES && any; l++) {
        const real old[2] = {old_x[l], old_y[l]};
        real now[2] = {x[l], y[l]}, velocity[2] = {vx[l], vy[l]};
        stop_lane(m, e, old, now, velocity);
        x[l] = now[0];
        y[l] = now[1];
        vx[l] = velocity[0];
        vy[l] = velocity[1];
    }
}
