/* What core statements ask of a world and of the step under way, and what they change. */
enum { FINE, FAILED, CUT };
#define TRY(call) do { int end = (call); if (end != FINE) return end; } while (0)

static int fault(int kind, int place)
{
    fault_kind = kind;
    fault_place = place;
    return FAILED;
}

static int in_states(V x, const char *leaves)
{
    return x != NOTHING && leaves[w.state[x]] == '1';
}

static int nested(void)
{
    int n = 0;
    V b;
    for (b = busy; b; b &= b - 1) n++;
    return n;
}

static int is_cut(void)
{
    return ++writes == cut_after;
}

/* Has the round made this world for the first time, and are there no more than the limit? */
static int progress(int limit)
{
    int i;
    for (i = 0; i < worlds; i++)
        if (!memcmp(&seen[i], &w, sizeof w)) return 0;
    if (worlds >= limit) return 0;
    seen[worlds++] = w;
    return 1;
}

/* Pending actions, in the order in which they were requested. */
static int pending_at(V self)
{
    int i;
    for (i = 0; i < w.waiting && w.who[i] != self; i++);
    return i;
}

static int waits(V self)
{
    return pending_at(self) < w.waiting;
}

static int awaited(V self)
{
    return w.what[pending_at(self)];
}

static int is_pending(V self, int action)
{
    int i;
    for (i = 0; i < w.waiting; i++)
        if (w.who[i] == self && w.what[i] == action) return 1;
    return 0;
}

/* The first that is not `async`; behind all if there is none. */
static int blocking(void)
{
    int i;
    for (i = 0; i < w.waiting && asynchronous[w.what[i]]; i++);
    return i;
}

static V blocker(void)
{
    int i = blocking();
    return i < w.waiting ? w.who[i] : NOTHING;
}

static int blocks(V self, int action)
{
    int i = blocking();
    return i < w.waiting && w.who[i] == self && w.what[i] == action;
}

static int is_answerable(int n)
{
    int i;
    if (blocking() < w.waiting) return n == blocking();
    for (i = 0; i < n; i++)
        if (w.who[i] == w.who[n] && w.what[i] == w.what[n]) return 0;
    return 1;
}

static void await(V self, int action)
{
    if (w.waiting == PENDING) beyond("more pending actions than an export has room for");
    w.who[w.waiting] = self;
    w.what[w.waiting++] = action;
}

static void remove_pending(int i)
{
    for (w.waiting--; i < w.waiting; i++) {
        w.who[i] = w.who[i + 1];
        w.what[i] = w.what[i + 1];
    }
    w.who[i] = w.what[i] = 0;
}

static void answered(V self, int action)
{
    int i;
    for (i = 0; w.who[i] != self || w.what[i] != action; i++);
    remove_pending(i);
}

static void forget(V self)
{
    while (waits(self)) remove_pending(pending_at(self));
}

/* Queues. */
static int queue_of(int q, V from, V to)
{
    while (sender[q] != from || receiver[q] != to) q++;
    return q;
}

static int compare_messages(int q, const Message *x, const Message *y)
{
    int i, c;
    if (x->event != y->event) return x->event - y->event;
    for (i = 0; i < ARGUMENTS; i++) {
        const Type *t = message_types[q][x->event][i];
        if (t && (c = compare_values(t, x->a[i], y->a[i]))) return c;
    }
    return 0;
}

static void put(int q, int event, const V *a)
{
    Message *all = w.messages[q], message;
    int n = w.held[q]++;
    memset(&message, 0, sizeof message);
    message.event = event;
    memcpy(message.a, a, sizeof message.a);
    if (!ordered[q])
        for (; n > 0 && compare_messages(q, &all[n - 1], &message) > 0; n--) all[n] = all[n - 1];
    all[n] = message;
}

static void drop(int q, int position)
{
    int i, last = --w.held[q];
    for (i = position; i < last; i++) w.messages[q][i] = w.messages[q][i + 1];
    memset(&w.messages[q][last], 0, sizeof(Message));
}

static void duplicate(int q, int position)
{
    int i;
    for (i = w.held[q]++; i > position; i--) w.messages[q][i] = w.messages[q][i - 1];
}

static void drop_all(void)
{
    memset(w.held, 0, sizeof w.held);
    memset(w.messages, 0, sizeof w.messages);
}

static int is_repeated(int q, int n)
{
    return n > 0 && !memcmp(&w.messages[q][n - 1], &w.messages[q][n], sizeof(Message));
}

/* Steps that can come next: a procedure with its arguments, or a crash of the system, alone or inside another step
   after a number of writes. */
typedef struct Step { int procedure, crash, inside, writes; V a[STEP_ARGUMENTS]; } Step;
enum { SYSTEM_CRASH = -1 };
static Step steps[STEPS];

static Step *add_step(int procedure, int crash)
{
    Step *s = &steps[listed];
    if (listed == STEPS) beyond("more steps in one state than an export has room for");
    memset(s, 0, sizeof *s);
    s->procedure = procedure;
    s->crash = crash;
    listed++;
    return s;
}

static void add(int procedure, int crash, const V *a)
{
    memcpy(add_step(procedure, crash)->a, a, sizeof steps[0].a);
}

static void add_crash(int inside, int after)
{
    Step *s = add_step(SYSTEM_CRASH, 1);
    s->inside = inside;
    s->writes = after;
}

static int writes_of(int n);

/* Behind each write but the last of each step so far; and before the first, if `from` is 0. */
static void add_crashes(int from)
{
    int n, k, others = listed;
    for (n = 0; n < others; n++)
        if (!steps[n].crash) {
            int last = writes_of(n);
            for (k = from; k < last || k == 0; k++) add_crash(n, k);
        }
}

static void report_fault(void);

/* What has no value is not offered. */
static void unoffer(int crash)
{
    report_fault();
    if (!crash) unoffered++;
}
