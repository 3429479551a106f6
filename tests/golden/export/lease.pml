/* system lease.Two, from random.fsm:39:1 */
/* spin -a FILE && cc -O2 -w -DSAFETY -DNOREDUCE -DBFS -DNOCLAIM -DVECTORSZ=336 -o pan pan.c && ./pan
   Without -c0 the search ends with the first error. Each error is reported once.
   Properties: cc -O2 -w -DNOREDUCE -DPROPERTIES -DVECTORSZ=336 -o pan pan.c && ./pan -a -N claim_0 */

c_decl {
\#include <setjmp.h>
\#include <stdint.h>
\#include <stdio.h>
\#include <stdlib.h>
\#include <string.h>
typedef int64_t V;
\#define NOTHING INT64_MIN
\#define PACKED __attribute__((packed))
enum { CHOICES = 8, ITEMS = 64, SUBSETS = 4096 };
typedef struct Message { signed char event; V a[1]; } PACKED Message;
typedef struct World {
    signed char state[4];
    V Node_holders[2]; /* set<Job> */
    V Job_node[2]; /* Node? */
    V Job_left[2]; /* 0..2 */
    V Job_kind[2]; /* Kind */
\#ifdef PROPERTIES
    V happened; /* promises that the last step kept */
\#endif
    V waited; /* those for which wait is false */
    signed char down;
    signed char waiting, who[1]; /* pending actions */
    short what[1];
    signed char held[1];
    Message messages[1][1];
} PACKED World;
}

c_state "World w" "Global" "first_world()"

c_code {
extern void (*uerror)(char *);
}

c_code {
/* instances: 0 n0, 1 n1, 2 j0, 3 j1 */
enum { at_Node_Up, at_Node_Down };
enum { at_Job_Waiting, at_Job_Running, at_Job_Done };
enum { on_Node_take_event, on_Node_give_event, on_Node_fail_event, on_Node_heal_event, on_Job_start_event, on_Job_refused_event, on_Job_lost_event, on_Job_finish_event };
enum { UNHANDLED_FAULT = 1, OVERLAP_FAULT = 2, REENTRANCE_FAULT = 3, BUSY_FAULT = 4, NONE_FAULT = 5, RANGE_FAULT = 6, OVERFLOW_FAULT = 7, ENDLESS_FAULT = 8, LOST_FAULT = 9 };
static const char *fault_names[] = {"", "unhandled", "overlap", "reentrance", "busy", "none", "range", "overflow", "endless", "lost"};
enum { EVENT_STEP, ANSWER_STEP, TIMER_STEP, DELIVER_STEP, LOSE_STEP, DUPLICATE_STEP, CRASH_STEP, RECOVER_STEP };
static void beyond(const char *why) { printf("beyond: %s\n", why); exit(9); }

/* Values are whole numbers. See fsmdsl.interop.export.values. */
enum { NUMBER_, RANGE_, OPTIONAL_, SET_, LIST_, INSTANCE_ };

typedef struct Type {
    int kind;
    const struct Type *of;
    V low, high;    /* of numbers; a list has at most `high` items */
    V size;         /* how many values there are */
    int head, bits; /* of a list: bits of the length, and of each item */
} Type;

static int index_of(const Type *t, V v)
{
    if (t->kind == RANGE_) return v - t->low;
    if (t->kind == OPTIONAL_) return v == NOTHING ? 0 : 1 + index_of(t->of, v);
    return v;
}

static V value_at(const Type *t, V i)
{
    if (t->kind == RANGE_) return t->low + i;
    if (t->kind == OPTIONAL_) return i == 0 ? NOTHING : value_at(t->of, i - 1);
    return i;
}

static int length_of(const Type *t, V v)
{
    int n = 0;
    if (t->kind == LIST_) return v & ((1LL << t->head) - 1);
    for (; v; v &= v - 1) n++;
    return n;
}

static V item_at(const Type *t, V v, int n)
{
    return value_at(t->of, v >> (t->head + n * t->bits) & ((1LL << t->bits) - 1));
}

static int elements_of(const Type *t, V v, V *found);

/* Less than 0, 0, or more: in the order in which loops visit values. */
static int compare_values(const Type *t, V a, V b)
{
    V x[ITEMS], y[ITEMS];
    int n, m, i, c;
    if (a == NOTHING || b == NOTHING) return (a != NOTHING) - (b != NOTHING);
    if (t->kind == OPTIONAL_) return compare_values(t->of, a, b);
    if (t->kind != SET_ && t->kind != LIST_) return (a > b) - (a < b);
    n = elements_of(t, a, x);
    m = elements_of(t, b, y);
    for (i = 0; i < n && i < m; i++)
        if ((c = compare_values(t->of, x[i], y[i]))) return c;
    return n - m;
}

static void sort_values(const Type *t, V *v, int n)
{
    int i, j;
    for (i = 1; i < n; i++)
        for (j = i; j > 0 && compare_values(t, v[j - 1], v[j]) > 0; j--) {
            V x = v[j];
            v[j] = v[j - 1];
            v[j - 1] = x;
        }
}

/* What a set or list holds, in order. */
static int elements_of(const Type *t, V v, V *found)
{
    int n = 0, i;
    if (t->kind == LIST_) {
        for (n = length_of(t, v), i = 0; i < n; i++) found[i] = item_at(t, v, i);
        return n;
    }
    for (i = 0; i < t->of->size; i++)
        if (v >> i & 1) found[n++] = value_at(t->of, i);
    if (t->of->kind >= OPTIONAL_ && t->of->kind != INSTANCE_) sort_values(t->of, found, n);
    return n;
}

/* The subsets of a size, in order. */
static int subsets_of(const Type *t, V set, V size, V *found)
{
    V x[ITEMS];
    int n = elements_of(t, set, x), at[ITEMS], count = 0, i;
    if (size < 0 || size > n) return 0;
    for (i = 0; i < size; i++) at[i] = i;
    for (;;) {
        V subset = 0;
        for (i = 0; i < size; i++) subset |= 1LL << index_of(t->of, x[at[i]]);
        if (count == SUBSETS) beyond("more subsets than an export enumerates");
        found[count++] = subset;
        for (i = size - 1; i >= 0 && at[i] == n - size + i; i--);
        if (i < 0) return count;
        for (at[i]++, i++; i < size; i++) at[i] = at[i - 1] + 1;
    }
}

static V put_last(const Type *t, V list, V item)
{
    int n = length_of(t, list);
    return (list + 1) | (V) index_of(t->of, item) << (t->head + n * t->bits);
}

static V list_from(const Type *t, const V *items, int n)
{
    V list = 0;
    int i;
    for (i = 0; i < n; i++) list = put_last(t, list, items[i]);
    return list;
}

static V concat(const Type *t, V list, V more)
{
    V x[ITEMS];
    int n = elements_of(t, more, x), i;
    for (i = 0; i < n; i++) list = put_last(t, list, x[i]);
    return list;
}

static V rest_of(const Type *t, V list)
{
    V x[ITEMS];
    int n = elements_of(t, list, x);
    return n ? list_from(t, x + 1, n - 1) : 0;
}

static V without_item(const Type *t, V list, V item)
{
    V x[ITEMS];
    int n = elements_of(t, list, x), i, j;
    for (i = 0; i < n && x[i] != item; i++);
    for (j = i; j + 1 < n; j++) x[j] = x[j + 1];
    return list_from(t, x, i < n ? n - 1 : n);
}

/* Why a place of a type cannot hold a value of another: a kind of fault, or 0. */
static int misfit_of(const Type *from, const Type *to, V v)
{
    V x[ITEMS];
    int n, i, why;
    if (to->kind == OPTIONAL_) {
        if (v == NOTHING) return 0;
        return misfit_of(from->kind == OPTIONAL_ ? from->of : from, to->of, v);
    }
    if (from->kind == OPTIONAL_) from = from->of;
    if (to->kind == RANGE_) return v == NOTHING || v < to->low || v > to->high ? RANGE_FAULT : 0;
    if (to->kind == INSTANCE_) return v == NOTHING ? NONE_FAULT : 0;
    if (to->kind != SET_ && to->kind != LIST_) return 0;
    n = elements_of(from, v, x);
    if (to->kind == LIST_ && n > to->high) return OVERFLOW_FAULT;
    for (i = 0; i < n; i++)
        if ((why = misfit_of(from->of, to->of, x[i]))) return why;
    return 0;
}

/* The same value as one of another type, which holds it. */
static V convert(const Type *from, const Type *to, V v)
{
    V x[ITEMS], r = 0;
    int n, i;
    if (v == NOTHING) return v;
    if (from->kind == OPTIONAL_) from = from->of;
    if (to->kind == OPTIONAL_) to = to->of;
    if (to->kind != SET_ && to->kind != LIST_) return v;
    n = elements_of(from, v, x);
    for (i = 0; i < n; i++) {
        V item = convert(from->of, to->of, x[i]);
        r = to->kind == SET_ ? r | 1LL << index_of(to->of, item) : put_last(to, r, item);
    }
    return r;
}

static int contains(const Type *t, V all, const Type *of, V item)
{
    V x[ITEMS];
    int n, i;
    if (misfit_of(of, t->of, item)) return 0;
    item = convert(of, t->of, item);
    n = elements_of(t, all, x);
    for (i = 0; i < n; i++)
        if (x[i] == item) return 1;
    return 0;
}


static const Type T0 = {INSTANCE_, 0, 0LL, 0LL, 4LL, 0, 0}; /* Job */
static const Type T1 = {SET_, &T0, 0LL, 0LL, 16LL, 0, 0}; /* set<Job> */
static const Type T2 = {RANGE_, 0, -1LL, 1LL, 3LL, 0, 0}; /* -1..1 */
static const Type T3 = {RANGE_, 0, 0LL, 2LL, 3LL, 0, 0}; /* 0..2 */
static const Type T4 = {INSTANCE_, 0, 0LL, 0LL, 4LL, 0, 0}; /* Node */
static const Type T5 = {SET_, &T4, 0LL, 0LL, 16LL, 0, 0}; /* set<Node> */



enum { ARGUMENTS = 1, RIVALS = 6, PENDING = 1, ROUND = 1000 };
static const int at[] = {0, 1, 0, 1}, ordinal[] = {0, 1, 0, 1};
static World w, expanded, next[CHOICES];
static int known, choices, listed, unoffered, writes, cut_after, fault_kind, fault_place;
static V busy, touched, happened;
static jmp_buf *out;

/* Fairness: which promises a step keeps. */
static void happens(int self, int t)
{
    if (self == 2 && (t == 2)) happened |= 1LL;
    if (self == 3 && (t == 2)) happened |= 2LL;
}
static const Type *(*message_types[])[ARGUMENTS] = {0};
static const int bounds[] = {0}, ordered[] = {0}, lossy[] = {0}, duplicating[] = {0}, patient[] = {0};

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


static void on_Node_take(int self, const V *a, int misfit, int place);
static void on_Node_give(int self, const V *a, int misfit, int place);
static void on_Node_fail(int self, const V *a, int misfit, int place);
static void on_Node_heal(int self, const V *a, int misfit, int place);
static void on_Job_start(int self, const V *a, int misfit, int place);
static void on_Job_refused(int self, const V *a, int misfit, int place);
static void on_Job_lost(int self, const V *a, int misfit, int place);
static void on_Job_finish(int self, const V *a, int misfit, int place);

/* Up -> (internal) on take, random.fsm:13:5 */
static V guard_Node_0(int self, const V *a)
{
    V job_ = a[0];
    return (length_of(&T1, w.Node_holders[at[self]])) < (1);
}

/* Up -> (internal) on busy, random.fsm:14:5 */
static V guard_Node_1(int self, const V *a)
{
    V job_ = a[0];
    return (length_of(&T1, w.Node_holders[at[self]])) == (1);
}

/* Up -> (internal) on take, random.fsm:13:5 */
static void follow_Node_0(int self, const V *a)
{
    V job_ = a[0];
    begin(self);
    { int o = self; V v = ({ V x = job_; w.Node_holders[at[o]] | 1LL << index_of(&T0, x); }); w.Node_holders[at[o]] = v; wrote(); }
    end(self, 0);
}

/* Up -> (internal) on busy, random.fsm:14:5 */
static void follow_Node_1(int self, const V *a)
{
    V job_ = a[0];
    begin(self);
    { V t = present(job_, 1); V a[ARGUMENTS] = {0}; int misfit = 0; V g1 = self; a[0] = g1; on_Job_refused(t, a, misfit, 2); }
    end(self, 0);
}

/* Up -> (internal) on give, random.fsm:15:5 */
static void follow_Node_2(int self, const V *a)
{
    V job_ = a[0];
    begin(self);
    { int o = self; V v = without(&T1, w.Node_holders[at[o]], &T0, job_); w.Node_holders[at[o]] = v; wrote(); }
    end(self, 0);
}

/* Down -> (internal) on give, random.fsm:15:5 */
static void follow_Node_3(int self, const V *a)
{
    V job_ = a[0];
    begin(self);
    { int o = self; V v = without(&T1, w.Node_holders[at[o]], &T0, job_); w.Node_holders[at[o]] = v; wrote(); }
    end(self, 0);
}

/* Up -> Down on fail, random.fsm:16:5 */
static void follow_Node_4(int self, const V *a)
{
    begin(self);
    { V v2[ITEMS]; int i2, n2 = elements_of(&T1, w.Node_holders[at[self]], v2);
      for (i2 = 0; i2 < n2; i2++) {
        V j_ = v2[i2];
        { V t = present(j_, 4); V a[ARGUMENTS] = {0}; int misfit = 0; on_Job_lost(t, a, misfit, 5); }
      } }
    w.state[self] = at_Node_Down;
    wrote();
    end(self, 0);
}

/* Down -> Up on heal, random.fsm:17:5 */
static void follow_Node_5(int self, const V *a)
{
    begin(self);
    w.state[self] = at_Node_Up;
    wrote();
    end(self, 0);
}

static void follow_Node(int self, int t, const V *a)
{
    switch (t) {
    case 0: follow_Node_0(self, a); break;
    case 1: follow_Node_1(self, a); break;
    case 2: follow_Node_2(self, a); break;
    case 3: follow_Node_3(self, a); break;
    case 4: follow_Node_4(self, a); break;
    case 5: follow_Node_5(self, a); break;
    }
}

static const char *before_Node[] = {"000000", "000000", "000000", "000000", "000000", "000000"};
static const int places_Node[] = {6, 7, 8, 8, 9, 10};

static int choose_Node_take(int self, const V *a)
{
    int found[6], n;
    switch (w.state[self]) {
    case at_Node_Up:
        n = 0;
        if (guard_Node_0(self, a)) found[n++] = 0;
        if (guard_Node_1(self, a)) found[n++] = 1;
        if (n) return preferred(before_Node, places_Node, found, n);
        return -1;
    }
    return -1;
}

static int choose_Node_give(int self, const V *a)
{
    int found[6], n;
    switch (w.state[self]) {
    case at_Node_Up:
        n = 0;
        found[n++] = 2;
        if (n) return preferred(before_Node, places_Node, found, n);
        return -1;
    case at_Node_Down:
        n = 0;
        found[n++] = 3;
        if (n) return preferred(before_Node, places_Node, found, n);
        return -1;
    }
    return -1;
}

static int choose_Node_fail(int self, const V *a)
{
    int found[6], n;
    switch (w.state[self]) {
    case at_Node_Up:
        n = 0;
        found[n++] = 4;
        if (n) return preferred(before_Node, places_Node, found, n);
        return -1;
    }
    return -1;
}

static int choose_Node_heal(int self, const V *a)
{
    int found[6], n;
    switch (w.state[self]) {
    case at_Node_Down:
        n = 0;
        found[n++] = 5;
        if (n) return preferred(before_Node, places_Node, found, n);
        return -1;
    }
    return -1;
}

static int choose_own_Node_on_crash(int self, const V *a)
{
    int found[6], n;
    switch (w.state[self]) {
    }
    return -1;
}

static int choose_own_Node_next(int self, const V *a)
{
    int found[6], n;
    switch (w.state[self]) {
    }
    return -1;
}

static int accepts_Node_take(int self, const V *a)
{
    switch (w.state[self]) {
    case at_Node_Up: return may(guard_Node_0, self, a) || may(guard_Node_1, self, a);
    }
    return 0;
}

/* take, random.fsm:9:11 */
static void on_Node_take(int self, const V *a, int misfit, int place)
{
    receive(self, misfit, place);
    {
        int t = choose_Node_take(self, a);
        if (t >= 0) follow_Node(self, t, a);
        else if (!(2ULL >> w.state[self] & 1)) fail(UNHANDLED_FAULT, place);
    }
}

static int accepts_Node_give(int self, const V *a)
{
    switch (w.state[self]) {
    case at_Node_Up: return 1;
    case at_Node_Down: return 1;
    }
    return 0;
}

/* give, random.fsm:10:11 */
static void on_Node_give(int self, const V *a, int misfit, int place)
{
    receive(self, misfit, place);
    {
        int t = choose_Node_give(self, a);
        if (t >= 0) follow_Node(self, t, a);
        else if (!(0ULL >> w.state[self] & 1)) fail(UNHANDLED_FAULT, place);
    }
}

static int accepts_Node_fail(int self, const V *a)
{
    switch (w.state[self]) {
    case at_Node_Up: return 1;
    }
    return 0;
}

/* fail, random.fsm:11:11 */
static void on_Node_fail(int self, const V *a, int misfit, int place)
{
    receive(self, misfit, place);
    {
        int t = choose_Node_fail(self, a);
        if (t >= 0) follow_Node(self, t, a);
        else if (!(0ULL >> w.state[self] & 1)) fail(UNHANDLED_FAULT, place);
    }
}

static int accepts_Node_heal(int self, const V *a)
{
    switch (w.state[self]) {
    case at_Node_Down: return 1;
    }
    return 0;
}

/* heal, random.fsm:12:11 */
static void on_Node_heal(int self, const V *a, int misfit, int place)
{
    receive(self, misfit, place);
    {
        int t = choose_Node_heal(self, a);
        if (t >= 0) follow_Node(self, t, a);
        else if (!(0ULL >> w.state[self] & 1)) fail(UNHANDLED_FAULT, place);
    }
}

/* Waiting -> Running on start, random.fsm:32:5 */
static V guard_Job_0(int self, const V *a)
{
    V n_ = a[0];
    return (w.Job_left[at[self]]) > (0);
}

/* Running -> Done on finish, random.fsm:34:5 */
static V guard_Job_2(int self, const V *a)
{
    return (w.Job_node[at[self]]) != (NOTHING);
}

/* Waiting -> Running on start, random.fsm:32:5 */
static void follow_Job_0(int self, const V *a)
{
    V n_ = a[0];
    begin(self);
    { int o = self; V v = n_; w.Job_node[at[o]] = v; wrote(); }
    { int o = self; V v = (w.Job_left[at[self]]) - (1); check(&T2, &T3, v, 12); w.Job_left[at[o]] = v; }
    { V t = present(n_, 13); V a[ARGUMENTS] = {0}; int misfit = 0; V g3 = self; a[0] = g3; on_Node_take(t, a, misfit, 14); }
    w.state[self] = at_Job_Running;
    wrote();
    end(self, 0);
}

/* Running -> Waiting on lost, random.fsm:33:5 */
static void follow_Job_1(int self, const V *a)
{
    begin(self);
    { int o = self; V v = NOTHING; w.Job_node[at[o]] = v; wrote(); }
    w.state[self] = at_Job_Waiting;
    wrote();
    end(self, 0);
}

/* Running -> Done on finish, random.fsm:34:5 */
static void follow_Job_2(int self, const V *a)
{
    happens(self, 2);
    begin(self);
    { V t = present(present(w.Job_node[at[self]], 16), 16); V a[ARGUMENTS] = {0}; int misfit = 0; V g4 = self; a[0] = g4; on_Node_give(t, a, misfit, 17); }
    w.state[self] = at_Job_Done;
    wrote();
    end(self, 0);
}

static void follow_Job(int self, int t, const V *a)
{
    switch (t) {
    case 0: follow_Job_0(self, a); break;
    case 1: follow_Job_1(self, a); break;
    case 2: follow_Job_2(self, a); break;
    }
}

static const char *before_Job[] = {"000", "000", "000"};
static const int places_Job[] = {18, 19, 20};

static int choose_Job_start(int self, const V *a)
{
    int found[3], n;
    switch (w.state[self]) {
    case at_Job_Waiting:
        n = 0;
        if (guard_Job_0(self, a)) found[n++] = 0;
        if (n) return preferred(before_Job, places_Job, found, n);
        return -1;
    }
    return -1;
}

static int choose_Job_refused(int self, const V *a)
{
    int found[3], n;
    switch (w.state[self]) {
    }
    return -1;
}

static int choose_Job_lost(int self, const V *a)
{
    int found[3], n;
    switch (w.state[self]) {
    case at_Job_Running:
        n = 0;
        found[n++] = 1;
        if (n) return preferred(before_Job, places_Job, found, n);
        return -1;
    }
    return -1;
}

static int choose_Job_finish(int self, const V *a)
{
    int found[3], n;
    switch (w.state[self]) {
    case at_Job_Running:
        n = 0;
        if (guard_Job_2(self, a)) found[n++] = 2;
        if (n) return preferred(before_Job, places_Job, found, n);
        return -1;
    }
    return -1;
}

static int choose_own_Job_on_crash(int self, const V *a)
{
    int found[3], n;
    switch (w.state[self]) {
    }
    return -1;
}

static int choose_own_Job_next(int self, const V *a)
{
    int found[3], n;
    switch (w.state[self]) {
    }
    return -1;
}

static int accepts_Job_start(int self, const V *a)
{
    switch (w.state[self]) {
    case at_Job_Waiting: return may(guard_Job_0, self, a);
    }
    return 0;
}

/* start, random.fsm:28:11 */
static void on_Job_start(int self, const V *a, int misfit, int place)
{
    receive(self, misfit, place);
    {
        int t = choose_Job_start(self, a);
        if (t >= 0) follow_Job(self, t, a);
        else if (!(0ULL >> w.state[self] & 1)) fail(UNHANDLED_FAULT, place);
    }
}

static int accepts_Job_refused(int self, const V *a)
{
    switch (w.state[self]) {
    }
    return 0;
}

/* refused, random.fsm:29:11 */
static void on_Job_refused(int self, const V *a, int misfit, int place)
{
    receive(self, misfit, place);
    {
        int t = choose_Job_refused(self, a);
        if (t >= 0) follow_Job(self, t, a);
        else if (!(7ULL >> w.state[self] & 1)) fail(UNHANDLED_FAULT, place);
    }
}

static int accepts_Job_lost(int self, const V *a)
{
    switch (w.state[self]) {
    case at_Job_Running: return 1;
    }
    return 0;
}

/* lost, random.fsm:30:11 */
static void on_Job_lost(int self, const V *a, int misfit, int place)
{
    receive(self, misfit, place);
    {
        int t = choose_Job_lost(self, a);
        if (t >= 0) follow_Job(self, t, a);
        else if (!(7ULL >> w.state[self] & 1)) fail(UNHANDLED_FAULT, place);
    }
}

static int accepts_Job_finish(int self, const V *a)
{
    switch (w.state[self]) {
    case at_Job_Running: return may(guard_Job_2, self, a);
    }
    return 0;
}

/* finish, random.fsm:31:11 */
static void on_Job_finish(int self, const V *a, int misfit, int place)
{
    receive(self, misfit, place);
    {
        int t = choose_Job_finish(self, a);
        if (t >= 0) follow_Job(self, t, a);
        else if (!(0ULL >> w.state[self] & 1)) fail(UNHANDLED_FAULT, place);
    }
}

static const int leaf_places_Node[] = {21, 22};
static const int leaf_places_Job[] = {23, 24, 25};
static int (*const choose_next[])(int, const V *) = {choose_own_Node_next, choose_own_Node_next, choose_own_Job_next, choose_own_Job_next};
static int (*const choose_crash[])(int, const V *) = {choose_own_Node_on_crash, choose_own_Node_on_crash, choose_own_Job_on_crash, choose_own_Job_on_crash};
static void (*const follow_of[])(int, int, const V *) = {follow_Node, follow_Node, follow_Job, follow_Job};
static const int *const transition_places[] = {places_Node, places_Node, places_Job, places_Job};
static const int *const state_places[] = {leaf_places_Node, leaf_places_Node, leaf_places_Job, leaf_places_Job};
static const char *const lasting[] = {"11", "11", "111", "111"};
static const char *const finals[] = {0, 0, "001", "001"};
static void (*const handlers[])(int, const V *, int, int) = {on_Node_take, on_Node_give, on_Node_fail, on_Node_heal, on_Job_start, on_Job_refused, on_Job_lost, on_Job_finish};
static const int event_places[] = {26, 27, 28, 29, 30, 31, 32, 33};
static void (*const *const answers[])(int, const V *, int, int) = {0};
static const int outcomes[] = {0};
static const int asynchronous[] = {0};
static const int action_places[] = {0};
static void (*const *const message_handlers[])(int, const V *, int, int) = {0};
static int (*const *const accepts_of[])(int, const V *) = {0};
static const unsigned long long *const ignored_of[] = {0};
static const int receiver[] = {0};
static const int channel_places[] = {0};

enum { INSTANCES = 4, CHANNELS = 0, FINALS = 2, STEPS = 4 * CHOICES,
       RECOVERS = 0 };
typedef struct Step { int kind, instance, what, position, misfit, inside, writes; V of, a[ARGUMENTS]; } Step;
static Step steps[STEPS];
static void add(int kind, int instance, int what, int position);
static void add_event(int instance, int event, const V *a, int misfit);
static void add_crash(int inside, int after);
static void add_crash_of(V of);
static void add_cuts(int inside, int from, int to);
static int writes_of(int n);
static int truth(V (*condition)(int), int self);
static int comes(V (*condition)(int));
static void offer(void (*line)(const V *), const V *x);
static void report(int *seen, const char *text);
static V given[16];

static World first;
static World first_world(void)
{
    memset(&first, 0, sizeof first);
    first.state[0] = at_Node_Up;
    first.state[1] = at_Node_Up;
    first.state[2] = at_Job_Waiting;
    first.Job_node[at[2]] = NOTHING;
    first.Job_left[at[2]] = 2;
    first.state[3] = at_Job_Waiting;
    first.Job_node[at[3]] = NOTHING;
    first.Job_left[at[3]] = 2;
    return first;
}

static void reset(V of)
{
    int i;
    for (i = 0; i < INSTANCES; i++) {
        if (of && !(of >> i & 1)) continue;
        switch (i) {
        case 2:
        case 3:
            w.Job_left[at[i]] = first.Job_left[at[i]];
            w.Job_kind[at[i]] = first.Job_kind[at[i]];
            break;
        }
    }
}

/* start, random.fsm:43:9 */
static void offer_0_2(const V *x)
{
    int self = -1; V j_ = x[0]; V n_ = x[1];
    { V t = present(j_, 34); V a[ARGUMENTS] = {0}; int misfit = 0; V g7 = n_; a[0] = g7;
        if (!awaits(t) && accepts_Job_start(t, a)) add_event(t, on_Job_start_event, a, misfit); }
}

/* start, random.fsm:43:9 */
static void offer_0_1(const V *x)
{
    int self = -1; V j_ = x[0];
    V v6[ITEMS]; int i6, n6 = elements_of(&T5, 3, v6); V y[2];
    memcpy(y, x, 1 * sizeof(V));
    for (i6 = 0; i6 < n6; i6++) { y[1] = v6[i6]; offer(offer_0_2, y); }
}

/* start, random.fsm:43:9 */
static void offer_0_0(const V *x)
{
    int self = -1;
    V v5[ITEMS]; int i5, n5 = elements_of(&T1, 12, v5); V y[1];
    memcpy(y, x, 0 * sizeof(V));
    for (i5 = 0; i5 < n5; i5++) { y[0] = v5[i5]; offer(offer_0_1, y); }
}

/* finish, random.fsm:44:9 */
static void offer_1_1(const V *x)
{
    int self = -1; V j_ = x[0];
    { V t = present(j_, 35); V a[ARGUMENTS] = {0}; int misfit = 0;
        if (!awaits(t) && accepts_Job_finish(t, a)) add_event(t, on_Job_finish_event, a, misfit); }
}

/* finish, random.fsm:44:9 */
static void offer_1_0(const V *x)
{
    int self = -1;
    V v8[ITEMS]; int i8, n8 = elements_of(&T1, 12, v8); V y[1];
    memcpy(y, x, 0 * sizeof(V));
    for (i8 = 0; i8 < n8; i8++) { y[0] = v8[i8]; offer(offer_1_1, y); }
}

/* fail, random.fsm:45:9 */
static void offer_2_0(const V *x)
{
    int self = -1;
    { V t = 0; V a[ARGUMENTS] = {0}; int misfit = 0;
        if (!awaits(t) && accepts_Node_fail(t, a)) add_event(t, on_Node_fail_event, a, misfit); }
}

/* heal, random.fsm:46:9 */
static void offer_3_0(const V *x)
{
    int self = -1;
    { V t = 0; V a[ARGUMENTS] = {0}; int misfit = 0;
        if (!awaits(t) && accepts_Node_heal(t, a)) add_event(t, on_Node_heal_event, a, misfit); }
}

static void offered(void)
{
    offer(offer_0_0, 0);
    offer(offer_1_0, 0);
    offer(offer_2_0, 0);
    offer(offer_3_0, 0);
}

static void timers(void)
{
}

static int timer_holds(int instance, int t)
{
    return 1;
}

static void recover(int self)
{
}

static V crash_when_0(int self)
{
    return ({ V v9[ITEMS]; int i9, n9 = elements_of(&T1, 12, v9); V r9 = 1; for (i9 = 0; i9 < n9; i9++) { V j_ = v9[i9]; if (!(in_states(j_, 1ULL /* Waiting */))) { r9 = 0; break; } } r9; });
}

static void crashes(int others)
{
    int i;
    if (comes(crash_when_0)) add_crash(0, 0);
}

static void crashes_of_recovery(void)
{
}

/* invariant apart, random.fsm:49:5 */
static V question_0(int self)
{
    return ({ V v10[ITEMS]; int i10, n10 = elements_of(&T5, 3, v10); V r10 = 1; for (i10 = 0; i10 < n10; i10++) { V n_ = v10[i10]; if (!((length_of(&T1, w.Node_holders[at[present(n_, 36)]])) <= (1))) { r10 = 0; break; } } r10; });
}

/* invariant Job: invariant 1, random.fsm:36:5 */
static V question_1(int self)
{
    return ((w.Job_node[at[self]]) != (NOTHING)) || (!(in_states(self, 2ULL /* Running */)));
}

/* reachable done, random.fsm:50:5 */
static V question_2(int self)
{
    return ({ V v11[ITEMS]; int i11, n11 = elements_of(&T1, 12, v11); V r11 = 1; for (i11 = 0; i11 < n11; i11++) { V j_ = v11[i11]; if (!(in_states(j_, 4ULL /* Done */))) { r11 = 0; break; } } r11; });
}

static int questions_seen[3];
static void ask(void)
{
    if (!truth(question_0, -1)) report(&questions_seen[0], "invariant 0 violated: apart");
    if (!truth(question_1, 2)) report(&questions_seen[1], "invariant 1 violated: Job: invariant 1");
    if (!truth(question_1, 3)) report(&questions_seen[1], "invariant 1 violated: Job: invariant 1");
    if (truth(question_2, -1)) report(&questions_seen[2], "reachable 2 shown: done");
}

/* Are steps explored from here? */
static int inside(void)
{
    return 1;
}

/* random.fsm:51:35 */
static V condition_0(int self)
{
    V j_ = given[0];
    return in_states(j_, 2ULL /* Running */);
}

static int holds_0(V j_)
{
    given[0] = j_;
    w = now.w;
    return truth(condition_0, -1);
}

/* random.fsm:51:51 */
static V condition_1(int self)
{
    V j_ = given[0];
    return !(in_states(j_, 2ULL /* Running */));
}

static int holds_1(V j_)
{
    given[0] = j_;
    w = now.w;
    return truth(condition_1, -1);
}

/* random.fsm:51:35 */
static V condition_2(int self)
{
    V j_ = given[0];
    return in_states(j_, 2ULL /* Running */);
}

static int holds_2(V j_)
{
    given[0] = j_;
    w = now.w;
    return truth(condition_2, -1);
}

/* random.fsm:51:51 */
static V condition_3(int self)
{
    V j_ = given[0];
    return !(in_states(j_, 2ULL /* Running */));
}

static int holds_3(V j_)
{
    given[0] = j_;
    w = now.w;
    return truth(condition_3, -1);
}

/* random.fsm:52:32 */
static V condition_4(int self)
{
    return in_states(2, 1ULL /* Waiting */);
}

static int holds_4(void)
{
    w = now.w;
    return truth(condition_4, -1);
}

/* random.fsm:53:39 */
static V condition_5(int self)
{
    return in_states(2, 1ULL /* Waiting */);
}

static int holds_5(void)
{
    w = now.w;
    return truth(condition_5, -1);
}

/* random.fsm:54:21 */
static V condition_6(int self)
{
    return in_states(2, 2ULL /* Running */);
}

static int holds_6(void)
{
    w = now.w;
    return truth(condition_6, -1);
}

/* random.fsm:54:43 */
static V condition_7(int self)
{
    return !(in_states(2, 2ULL /* Running */));
}

static int holds_7(void)
{
    w = now.w;
    return truth(condition_7, -1);
}

static const char *const places[] = {"random.fsm:13:53", "random.fsm:14:54", "random.fsm:14:54", "random.fsm:15:29", "random.fsm:16:52", "random.fsm:16:52", "random.fsm:13:5", "random.fsm:14:5", "random.fsm:15:5", "random.fsm:16:5", "random.fsm:17:5", "random.fsm:32:62", "random.fsm:32:72", "random.fsm:32:89", "random.fsm:32:89", "random.fsm:33:41", "random.fsm:34:60", "random.fsm:34:60", "random.fsm:32:5", "random.fsm:33:5", "random.fsm:34:5", "random.fsm:7:5", "random.fsm:8:5", "random.fsm:25:5", "random.fsm:26:5", "random.fsm:27:5", "random.fsm:9:11", "random.fsm:10:11", "random.fsm:11:11", "random.fsm:12:11", "random.fsm:28:11", "random.fsm:29:11", "random.fsm:30:11", "random.fsm:31:11", "random.fsm:43:37", "random.fsm:44:25", "random.fsm:49:43"};

static const char *const first_fault = 0;
static int first_seen, deadlock_seen, faults_seen[10][37];
}

c_code {
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
\#ifndef PROPERTIES
    uerror((char *) text);
\#endif
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
\#ifdef PROPERTIES
            next[choices].happened = happened;
\#endif
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

\#ifdef PROPERTIES
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
\#endif

}

active proctype steps()
{
end:
    do
    :: d_step { c_expr { (possible(0)) } -> c_code { take(0); } }
    :: d_step { c_expr { (possible(1)) } -> c_code { take(1); } }
    :: d_step { c_expr { (possible(2)) } -> c_code { take(2); } }
    :: d_step { c_expr { (possible(3)) } -> c_code { take(3); } }
    :: d_step { c_expr { (possible(4)) } -> c_code { take(4); } }
    :: d_step { c_expr { (possible(5)) } -> c_code { take(5); } }
    :: d_step { c_expr { (possible(6)) } -> c_code { take(6); } }
    :: d_step { c_expr { (possible(7)) } -> c_code { take(7); } }
    od
}

/* property ends */
ltl claim_0 { ([] (c_expr { (holds_0(2)) } -> (<> c_expr { (holds_1(2)) }))) }

/* property ends */
ltl claim_1 { ([] (c_expr { (holds_2(3)) } -> (<> c_expr { (holds_3(3)) }))) }

/* property waits */
ltl claim_2 { (<> c_expr { (holds_4()) }) }

/* property stays */
ltl claim_3 { ([] (<> c_expr { (holds_5()) })) }

/* property ended */
ltl claim_4 { ((([] (<> (! c_expr { (can(0)) } || c_expr { (does(0)) }))) && ([] (<> (! c_expr { (can(1)) } || c_expr { (does(1)) })))) -> ([] (c_expr { (holds_6()) } -> (<> c_expr { (holds_7()) })))) }
