/* The search: what can come next, and what comes of it. */
static void restart(int cut)
{
    w = expanded;
    busy = touched = happened = writes = worlds = 0;
    cut_after = cut;
}

/* Take a step from the state `expanded`. */
static int attempt(const Step *s, int cut)
{
    restart(cut);
    if (s->procedure != SYSTEM_CRASH) return take_step(s);
    if (s->writes) attempt(&steps[s->inside], s->writes);
    happened = 0;
    return do_crash();
}

static int writes_of(int n)
{
    int count = attempt(&steps[n], 0) == FINE ? writes : 0;
    w = expanded;
    return count;
}

static void report(int *seen, const char *text)
{
    if (*seen) return;
    *seen = 1;
#ifndef PROPERTIES
    uerror((char *) text);
#endif
}

static void report_fault(void)
{
    static char text[200];
    snprintf(text, sizeof text, "fault %d at %d: %s, %s", fault_kind, fault_place, fault_names[fault_kind], places[fault_place]);
    report(&faults_seen[fault_kind][fault_place], text);
}

/* Nothing leads on, and the system may not rest: a message waits, or an instance is where it may not stay. */
static void look_for_deadlock(void)
{
    int n;
    if (unoffered) return;
    for (n = 0; n < listed; n++)
        if (!steps[n].crash) return;
    for (n = 0; n < CHANNELS; n++)
        if (w.held[n]) report(&deadlock_seen, "deadlock");
    if (may_rest()) return;
    for (n = 0; n < INSTANCES && resting[n][w.state[n]] == '1'; n++);
    if (n < INSTANCES || !INSTANCES) report(&deadlock_seen, "deadlock");
}

/* All steps from the present state: what they lead to is in `next`. */
static void expand(void)
{
    int i;
    expanded = w = now.w;
    known = 1;
    choices = listed = unoffered = 0;
    if (first_fault && !first_seen) report(&first_seen, first_fault);
    ask();
    if (!inside()) return;
    do_offers();
    look_for_deadlock();
    for (i = 0; i < listed; i++) {
        if (attempt(&steps[i], 0) != FINE) report_fault();
        else if (choices == CHOICES) beyond("more choices in one state than CHOICES");
        else {
            next[choices] = w;
#ifdef PROPERTIES
            next[choices].happened = happened;
#endif
            choices++;
        }
    }
}

/* Is there a choice of this number? */
static int possible(int k)
{
    if (!known || memcmp(&expanded, &now.w, sizeof expanded)) expand();
    return k < choices;
}

static void take(int k)
{
    now.w = next[k];
}

#ifdef PROPERTIES
/* Does some step from here keep a promise? */
static int can(int promise)
{
    int i;
    if (!known || memcmp(&expanded, &now.w, sizeof expanded)) expand();
    for (i = 0; i < choices; i++)
        if (next[i].happened >> promise & 1) return 1;
    return 0;
}

static int does(int promise)
{
    return now.w.happened >> promise & 1;
}
#endif
