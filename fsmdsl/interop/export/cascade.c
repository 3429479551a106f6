/* Steps, as fsmdsl.step defines them. What fails leaves by `out`. */
static void fail(int kind, int place)
{
    fault_kind = kind;
    fault_place = place;
    longjmp(*out, 1);
}

static V present(V v, int place)
{
    if (v == NOTHING) fail(NONE_FAULT, place);
    return v;
}

/* Both round down. */
static V quotient(V a, V b, int place)
{
    if (!b) fail(NONE_FAULT, place);
    return a / b - (a % b && (a < 0) != (b < 0));
}

static V remainder_of(V a, V b, int place)
{
    return a - b * quotient(a, b, place);
}

/* What is at a place of a list, or of a set in order. */
static V item_of(const Type *t, V of, V at, int place)
{
    V x[ITEMS];
    int n = elements_of(t, of, x);
    if (at < 0 || at >= n) fail(NONE_FAULT, place);
    return x[at];
}

static int in_states(V x, unsigned long long states)
{
    return x != NOTHING && states >> w.state[x] & 1;
}

/* A write: to a durable field, or a change of state. A crash may cut the step after it. */
static void wrote(void)
{
    if (++writes == cut_after) longjmp(*out, 2);
}

static void check(const Type *from, const Type *to, V v, int place)
{
    int why = misfit_of(from, to, v);
    if (why) fail(why, place);
}

static V without(const Type *t, V all, const Type *of, V item)
{
    if (misfit_of(of, t->of, item)) return all;
    item = convert(of, t->of, item);
    return t->kind == SET_ ? all & ~(1LL << index_of(t->of, item)) : without_item(t, all, item);
}

static int awaits(int self)
{
    int i;
    for (i = 0; i < w.waiting; i++)
        if (w.who[i] == self) return 1;
    return 0;
}

static void request(int self, int action)
{
    if (w.waiting == PENDING) beyond("more pending actions than an export has room for");
    w.who[w.waiting] = self;
    w.what[w.waiting++] = action;
}

static void begin(int self)
{
    busy |= 1LL << self;
    touched |= 1LL << self;
}

static void end(int self, int waits)
{
    busy &= ~(1LL << self);
    if (waits) w.waited |= 1LL << self;
}

/* An event reaches an instance. */
static void receive(int self, int misfit, int place)
{
    if (busy >> self & 1) fail(REENTRANCE_FAULT, place);
    if (awaits(self)) fail(BUSY_FAULT, place);
    if (misfit) fail(misfit, place);
}

/* Of enabled transitions the one that has priority. */
static int preferred(const char **before, const int *places, const int *found, int n)
{
    int best[RIVALS], count = 0, i, j;
    for (i = 0; i < n; i++) {
        for (j = 0; j < n && before[found[j]][found[i]] != '1'; j++);
        if (j == n) best[count++] = found[i];
    }
    if (count == 0)
        for (count = 0; count < n; count++) best[count] = found[count];
    if (count > 1) fail(OVERLAP_FAULT, places[best[count - 1]]);
    return best[0];
}

/* Does a guard hold, or fail, so that the step would show why? */
static int may(V (*guard)(int, const V *), int self, const V *a)
{
    jmp_buf here, *outer = out;
    volatile int found = 1;
    out = &here;
    if (!setjmp(here)) found = guard(self, a) != 0;
    out = outer;
    return found;
}

static int compare_messages(int channel, const Message *x, const Message *y)
{
    int i, c;
    if (x->event != y->event) return x->event - y->event;
    for (i = 0; i < ARGUMENTS; i++) {
        const Type *t = message_types[channel][x->event][i];
        if (t && (c = compare_values(t, x->a[i], y->a[i]))) return c;
    }
    return 0;
}

static void post(int channel, int event, const V *a, int place)
{
    Message *held = w.messages[channel], message;
    int n = w.held[channel];
    if (n >= bounds[channel]) fail(OVERFLOW_FAULT, place);
    memset(&message, 0, sizeof message);
    message.event = event;
    memcpy(message.a, a, sizeof message.a);
    if (!ordered[channel])
        for (; n > 0 && compare_messages(channel, &held[n - 1], &message) > 0; n--) held[n] = held[n - 1];
    held[n] = message;
    w.held[channel]++;
}

static void drop(int channel, int position)
{
    int i, last = --w.held[channel];
    for (i = position; i < last; i++) w.messages[channel][i] = w.messages[channel][i + 1];
    memset(&w.messages[channel][last], 0, sizeof(Message));
}

static void duplicate(int channel, int position)
{
    int i;
    for (i = w.held[channel]++; i > position; i--) w.messages[channel][i] = w.messages[channel][i - 1];
}
