/* Eventless transitions of those that took part, one at a time, until none is enabled. */
static void finish_round(void)
{
    static World seen[ROUND + 1];
    int count = 0, i, t;
    V pending = 0;
again:
    for (i = 0; i < INSTANCES; i++) {
        if (!(touched >> i & 1) || awaits(i) || (t = choose_next[i](i, 0)) < 0) continue;
        follow_of[i](i, t, 0);
        {
            int j;
            for (j = 0; j < count && memcmp(&seen[j], &w, sizeof w); j++);
            if (j < count || count >= ROUND) fail(ENDLESS_FAULT, transition_places[i][t]);
        }
        seen[count++] = w;
        goto again;
    }
    for (i = 0; i < w.waiting; i++) pending |= 1LL << w.who[i];
    w.waited &= pending;
}

/* All instances at once lose what is not durable, or those of a mask alone. */
static void crash(V of)
{
    int chosen[INSTANCES], i, kept = 0;
    busy = 0;
    for (i = 0; i < INSTANCES; i++) {
        chosen[i] = -1;
        if (of && !(of >> i & 1)) continue;
        chosen[i] = choose_crash[i](i, 0);
        if (chosen[i] < 0 && lasting[i][w.state[i]] == '0') fail(LOST_FAULT, state_places[i][w.state[i]]);
    }
    for (i = 0; i < w.waiting; i++) {
        if (!of || of >> w.who[i] & 1) continue;
        w.who[kept] = w.who[i];
        w.what[kept++] = w.what[i];
    }
    memset(w.who + kept, 0, sizeof w.who - kept * sizeof w.who[0]);
    memset(w.what + kept, 0, sizeof w.what - kept * sizeof w.what[0]);
    w.waiting = kept;
    w.waited &= of ? ~of : 0;
    if (!of) {
        memset(w.held, 0, sizeof w.held);
        memset(w.messages, 0, sizeof w.messages);
    }
    reset(of);
    for (i = 0; i < INSTANCES; i++)
        if (chosen[i] >= 0) follow_of[i](i, chosen[i], 0);
    if (!of) w.down = RECOVERS;
}

static void add(int kind, int instance, int what, int position)
{
    Step *s = &steps[listed];
    if (listed == STEPS) beyond("more steps in one state than an export has room for");
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->instance = instance;
    s->what = what;
    s->position = position;
    listed++;
}

static void add_event(int instance, int event, const V *a, int misfit)
{
    add(EVENT_STEP, instance, event, 0);
    memcpy(steps[listed - 1].a, a, sizeof steps[0].a);
    steps[listed - 1].misfit = misfit;
}

static void add_answers(int i)
{
    int o;
    for (o = 0; o < outcomes[w.what[i]]; o++) add(ANSWER_STEP, w.who[i], w.what[i], o);
}

/* The system stands still for the first action that is not `async`. */
static int add_all_answers(void)
{
    int i, j;
    for (i = 0; i < w.waiting; i++)
        if (!asynchronous[w.what[i]]) {
            add_answers(i);
            return 1;
        }
    for (i = 0; i < w.waiting; i++) {
        for (j = 0; j < i && (w.who[j] != w.who[i] || w.what[j] != w.what[i]); j++);
        if (j == i) add_answers(i);
    }
    return 0;
}

/* Is a message handled, or ignored on purpose? */
static int takes(int c, const Message *x)
{
    int i = receiver[c];
    return accepts_of[c][x->event](i, x->a) || ignored_of[c][x->event] >> w.state[i] & 1;
}

static void add_messages(void)
{
    int c, n;
    for (c = 0; c < CHANNELS; c++) {
        int free = !awaits(receiver[c]);
        for (n = 0; n < w.held[c]; n++) {
            if (n && !memcmp(&w.messages[c][n - 1], &w.messages[c][n], sizeof(Message))) continue;
            if (free && (n == 0 || !ordered[c]) && (!patient[c] || takes(c, &w.messages[c][n])))
                add(DELIVER_STEP, receiver[c], c, n);
            if (lossy[c]) add(LOSE_STEP, receiver[c], c, n);
            if (duplicating[c] && w.held[c] < bounds[c]) add(DUPLICATE_STEP, receiver[c], c, n);
        }
    }
}

static void take_whole(const Step *s)
{
    Message message;
    int i;
    switch (s->kind) {
    case EVENT_STEP: handlers[s->what](s->instance, s->a, s->misfit, event_places[s->what]); break;
    case ANSWER_STEP:
        for (i = 0; w.who[i] != s->instance || w.what[i] != s->what; i++);
        for (w.waiting--; i < w.waiting; i++) {
            w.who[i] = w.who[i + 1];
            w.what[i] = w.what[i + 1];
        }
        w.who[i] = w.what[i] = 0;
        answers[s->what][s->position](s->instance, 0, 0, action_places[s->what]);
        break;
    case TIMER_STEP:
        if (!timer_holds(s->instance, s->what)) fail(UNHANDLED_FAULT, transition_places[s->instance][s->what]);
        follow_of[s->instance](s->instance, s->what, 0);
        break;
    case DELIVER_STEP:
        message = w.messages[s->what][s->position];
        drop(s->what, s->position);
        message_handlers[s->what][message.event](s->instance, message.a, 0, channel_places[s->what]);
        break;
    case LOSE_STEP: drop(s->what, s->position); break;
    case DUPLICATE_STEP: duplicate(s->what, s->position); break;
    case RECOVER_STEP:
        w.down = 0;
        recover(-1);
        break;
    }
    finish_round();
}

/* Take a step from the state `expanded`: 1, or 0 where it fails. */
static int attempt(const Step *s, int cut)
{
    jmp_buf here, *outer = out;
    volatile int done = 0;
    int why;
    w = expanded;
    busy = touched = happened = writes = 0;
    cut_after = cut;
    out = &here;
    why = setjmp(here);
    if (why == 0) take_whole(s);
    if (why != 1) done = 1;
    cut_after = 0;
    out = outer;
    return done;
}

/* The same for a crash, alone or inside another step. */
static int attempt_crash(const Step *s)
{
    jmp_buf here, *outer = out;
    volatile int done = 0;
    if (s->writes == 0) w = expanded;
    else if (!attempt(&steps[s->inside], s->writes)) return 0;
    busy = touched = happened = writes = 0;
    out = &here;
    if (setjmp(here) == 0) {
        crash(s->of);
        done = 1;
    }
    out = outer;
    return done;
}

static int writes_of(int n)
{
    int found = attempt(&steps[n], 0) ? writes : 0;
    w = expanded;
    return found;
}

static void add_crash(int inside, int after)
{
    add(CRASH_STEP, 0, 0, 0);
    steps[listed - 1].inside = inside;
    steps[listed - 1].writes = after;
}

static void add_crash_of(V of)
{
    add_crash(0, 0);
    steps[listed - 1].of = of;
}

static void add_cuts(int inside, int from, int to)
{
    for (; from < to; from++) add_crash(inside, from);
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

/* A condition without a value counts as false. */
static int truth(V (*condition)(int), int self)
{
    jmp_buf here, *outer = out;
    volatile int found = 0;
    out = &here;
    if (!setjmp(here)) found = condition(self) != 0;
    out = outer;
    return found;
}

/* A line of the environment, for some values of its variables; what has no value is not offered. */
static void offer(void (*line)(const V *), const V *x)
{
    jmp_buf here, *outer = out;
    out = &here;
    if (!setjmp(here)) line(x);
    else {
        report_fault();
        unoffered++;
    }
    out = outer;
}

/* The same for when everything crashes. */
static int comes(V (*condition)(int))
{
    jmp_buf here, *outer = out;
    volatile int found = 0;
    out = &here;
    if (!setjmp(here)) found = condition(-1) != 0;
    else report_fault();
    out = outer;
    return found;
}

static void list_steps(void)
{
    int n, others, failing;
    if (w.down) {
        add(RECOVER_STEP, -1, 0, 0);
        crashes_of_recovery();
        return;
    }
    if (!add_all_answers()) {
        offered();
        timers();
        add_messages();
    }
    others = listed;
    failing = unoffered;
    crashes(others);
    if (others || failing) return;
    for (n = 0; n < CHANNELS; n++)
        if (w.held[n]) report(&deadlock_seen, "deadlock");
    for (n = 0; n < INSTANCES && (!finals[n] || finals[n][w.state[n]] == '1'); n++);
    if (FINALS == 0 || n < INSTANCES) report(&deadlock_seen, "deadlock");
}

/* All steps from the present state: what they lead to is in `next`. */
static void expand(void)
{
    volatile int i;
    expanded = w = now.w;
    known = 1;
    choices = listed = unoffered = 0;
    if (first_fault && !first_seen) report(&first_seen, first_fault);
    ask();
    if (!inside()) return;
    list_steps();
    for (i = 0; i < listed; i++) {
        int done = steps[i].kind == CRASH_STEP ? attempt_crash(&steps[i]) : attempt(&steps[i], 0);
        if (!done) report_fault();
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
