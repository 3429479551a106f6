/* system door.One, from random.fsm:11:1 */
/* spin -a FILE && cc -O2 -w -DSAFETY -DNOREDUCE -DBFS -DNOCLAIM -DVECTORSZ=277 -o pan pan.c && ./pan
   Without -c0 the search ends with the first error. Each error is reported once.
   Properties: cc -O2 -w -DNOREDUCE -DPROPERTIES -DVECTORSZ=277 -o pan pan.c && ./pan -a -N claim_0 */

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
typedef struct Message { short event; V a[1]; } PACKED Message;
typedef struct World {
    short state[1];
\#ifdef PROPERTIES
    V happened; /* promises that the last step kept */
\#endif
    V waited; /* those for which wait is false */
    signed char down;
    signed char waiting, who[1]; /* pending actions */
    short what[1];
    short held[1];
    Message messages[1][1];
} PACKED World;
}

c_state "World w" "Global" "first_world()"

c_code {
extern void (*uerror)(char *);
}

c_code {
enum { UNHANDLED_FAULT = 1, OVERLAP_FAULT = 2, REENTRANCE_FAULT = 3, BUSY_FAULT = 4, NONE_FAULT = 5, RANGE_FAULT = 6, OVERFLOW_FAULT = 7, ENDLESS_FAULT = 8, LOST_FAULT = 9 };
static const char *fault_names[] = {"", "unhandled", "overlap", "reentrance", "busy", "none", "range", "overflow", "endless", "lost"};
static void beyond(const char *why) { printf("beyond: %s\n", why); exit(9); }

/* instances: 0 door */
enum { at_Door_Open, at_Door_Shut };
static const int asynchronous[] = {0};
static const int at[] = {0};
static const char *const resting[] = {"00"};
static const int ordered[] = {0};
static const V sender[] = {0};
static const V receiver[] = {0};

/* Values are whole numbers. See fsmdsl.interop.export.values. */
enum { NUMBER_, RANGE_, OPTIONAL_, SET_, LIST_, INSTANCE_, MAP_ };

typedef struct Type {
    int kind;
    const struct Type *of;
    V low, high;    /* of numbers; a list has at most `high` items, a map as many values */
    V size;         /* how many values there are */
    int head, bits; /* of a list: bits of the length, and of each item; of a map: of each value */
} Type;

static V index_of(const Type *t, V v)
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
    if (t->of->kind == OPTIONAL_ || t->of->kind == SET_ || t->of->kind == LIST_) sort_values(t->of, found, n);
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
    return (list + 1) | index_of(t->of, item) << (t->head + n * t->bits);
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

/* Is a value of one type also one of another? */
static int belongs(const Type *from, const Type *to, V v)
{
    V x[ITEMS];
    int n, i;
    if (to->kind == OPTIONAL_) return v == NOTHING || belongs(from->kind == OPTIONAL_ ? from->of : from, to->of, v);
    if (v == NOTHING) return 0;
    if (from->kind == OPTIONAL_) from = from->of;
    if (to->kind == RANGE_) return v >= to->low && v <= to->high;
    if (to->kind != SET_ && to->kind != LIST_) return 1;
    n = elements_of(from, v, x);
    if (to->kind == LIST_ && n > to->high) return 0;
    for (i = 0; i < n; i++)
        if (!belongs(from->of, to->of, x[i])) return 0;
    return 1;
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
    if (!belongs(of, t->of, item)) return 0;
    item = convert(of, t->of, item);
    n = elements_of(t, all, x);
    for (i = 0; i < n; i++)
        if (x[i] == item) return 1;
    return 0;
}

static V with_item(const Type *t, V all, V item)
{
    return t->kind == SET_ ? all | 1LL << index_of(t->of, item) : put_last(t, all, item);
}

static V without(const Type *t, V all, const Type *of, V item)
{
    if (!belongs(of, t->of, item)) return all;
    item = convert(of, t->of, item);
    return t->kind == SET_ ? all & ~(1LL << index_of(t->of, item)) : without_item(t, all, item);
}

/* What is at a place of a list, or of a set in order. */
static V item_of(const Type *t, V of, int at)
{
    V x[ITEMS];
    elements_of(t, of, x);
    return x[at];
}

static V entry_of(const Type *t, V map, int key)
{
    return value_at(t->of, map >> (t->high - 1 - key) * t->bits & ((1LL << t->bits) - 1));
}

static V with_entry(const Type *t, V map, int key, V value)
{
    int place = (t->high - 1 - key) * t->bits;
    return (map & ~(((1LL << t->bits) - 1) << place)) | index_of(t->of, value) << place;
}

static V filled(const Type *t, V value)
{
    V map = 0;
    int key;
    for (key = 0; key < t->high; key++) map = with_entry(t, map, key, value);
    return map;
}

/* Both round down. */
static V quotient(V a, V b)
{
    return a / b - (a % b && (a < 0) != (b < 0));
}

static V remainder_of(V a, V b)
{
    return a - b * quotient(a, b);
}

static V min_of(V a, V b)
{
    return a < b ? a : b;
}

static V max_of(V a, V b)
{
    return a > b ? a : b;
}


static const Type T0 = {INSTANCE_, 0, 0LL, 0LL, 1LL, 0, 0}; /*  */
static const Type T1 = {SET_, &T0, 0LL, 0LL, 2LL, 0, 0}; /* set<> */



enum { INSTANCES = 1, CHANNELS = 0, STEPS = 4 * CHOICES,
       ARGUMENTS = 1, STEP_ARGUMENTS = 1, PENDING = 1 };
static World w, first, expanded, next[CHOICES], seen[1000];
static int known, choices, listed, unoffered, writes, cut_after, worlds, fault_kind, fault_place, chosen[INSTANCES];
static V busy, touched, happened;
static const Type *(*message_types[])[ARGUMENTS] = {0};

/* What core statements ask of a world and of the step under way, and what they change. */
enum { FINE, FAILED, CUT };
\#define TRY(call) do { int end = (call); if (end != FINE) return end; } while (0)

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


static V do_holds_question_0(void);
static int do_offers(void);
static int do_crash(void);
static int do_recover(void);
static int do_offer_steps(void);
static int do_choose_crash_Door(V v_self);
static int do_forget_Door(V v_self);
static int do_follow_crash_Door(V v_self);
static int do_round(void);
static int do_offer_events_Door(V v_self);
static int do_event_Door_push(V v_self);
static int do_event_Door_pull(V v_self);
static int do_admit_Door_push(V v_self, V v_location);
static int do_handle_Door_push(V v_self, V v_location);
static int do_admit_Door_pull(V v_self, V v_location);
static int do_handle_Door_pull(V v_self, V v_location);
static int do_follow_Door_0(V v_self);
static int do_follow_Door_1(V v_self);
static int (*const choose_crash_of[])(V) = {do_choose_crash_Door};
static int (*const forget_of[])(V) = {do_forget_Door};
static int (*const follow_crash_of[])(V) = {do_follow_crash_Door};
static int (*const offer_events_of[])(V) = {do_offer_events_Door};

/* holds question 0 */
static V do_holds_question_0(void)
{
    return in_states(0, "01" /* Shut */);
}

/* offers */
static int do_offers(void)
{
    if (w.down) {
        { V a[STEP_ARGUMENTS] = {0}; add(0, 0, a); }
        return FINE;
    }
    TRY(do_offer_steps());
    return FINE;
}

/* crash */
static int do_crash(void)
{
    V v_instance;
    { V v[ITEMS]; int i, n = elements_of(&T1, busy, v);
    for (i = 0; i < n; i++) {
        v_instance = v[i];
        busy &= ~(1LL << v_instance);
    } }
    { V v[ITEMS]; int i, n = elements_of(&T1, 1, v);
    for (i = 0; i < n; i++) {
        v_instance = v[i];
        TRY(choose_crash_of[v_instance](v_instance));
    } }
    { V v[ITEMS]; int i, n = elements_of(&T1, 1, v);
    for (i = 0; i < n; i++) {
        v_instance = v[i];
        forget(v_instance);
        w.waited &= ~(1LL << v_instance);
    } }
    drop_all();
    { V v[ITEMS]; int i, n = elements_of(&T1, 1, v);
    for (i = 0; i < n; i++) {
        v_instance = v[i];
        TRY(forget_of[v_instance](v_instance));
    } }
    { V v[ITEMS]; int i, n = elements_of(&T1, 1, v);
    for (i = 0; i < n; i++) {
        v_instance = v[i];
        TRY(follow_crash_of[v_instance](v_instance));
    } }
    return FINE;
}

/* recover */
static int do_recover(void)
{
    if (!w.down) return fault(UNHANDLED_FAULT, 0);
    w.down = 0;
    TRY(do_round());
    return FINE;
}

/* offer steps */
static int do_offer_steps(void)
{
    V v_instance;
    if ((blocker() == NOTHING)) {
        { V v[ITEMS]; int i, n = elements_of(&T1, 1, v);
        for (i = 0; i < n; i++) {
            v_instance = v[i];
            TRY(offer_events_of[v_instance](v_instance));
        } }
    }
    return FINE;
}

/* choose crash door.Door */
static int do_choose_crash_Door(V v_self)
{
    chosen[v_self] = -1;
    return FINE;
}

/* forget door.Door */
static int do_forget_Door(V v_self)
{
    return FINE;
}

/* follow crash door.Door */
static int do_follow_crash_Door(V v_self)
{
    return FINE;
}

/* round */
static int do_round(void)
{
    V v_instance;
    { V v[ITEMS]; int i, n = elements_of(&T1, w.waited, v);
    for (i = 0; i < n; i++) {
        v_instance = v[i];
        if (!waits(v_instance)) {
            w.waited &= ~(1LL << v_instance);
        }
    } }
    return FINE;
}

/* offer events door.Door */
static int do_offer_events_Door(V v_self)
{
    V v_accepted, v_accepted_2;
    v_accepted = 0;
    if (in_states(v_self, "10" /* Open */)) {
        v_accepted = 1;
    }
    if (v_accepted) {
        { V a[STEP_ARGUMENTS] = {v_self}; add(1, 0, a); }
    }
    v_accepted_2 = 0;
    if (in_states(v_self, "01" /* Shut */)) {
        v_accepted_2 = 1;
    }
    if (v_accepted_2) {
        { V a[STEP_ARGUMENTS] = {v_self}; add(2, 0, a); }
    }
    return FINE;
}

/* event door.Door.push */
static int do_event_Door_push(V v_self)
{
    if (!!w.down) return fault(BUSY_FAULT, 0);
    TRY(do_admit_Door_push(v_self, 1));
    TRY(do_handle_Door_push(v_self, 1));
    TRY(do_round());
    return FINE;
}

/* event door.Door.pull */
static int do_event_Door_pull(V v_self)
{
    if (!!w.down) return fault(BUSY_FAULT, 0);
    TRY(do_admit_Door_pull(v_self, 2));
    TRY(do_handle_Door_pull(v_self, 2));
    TRY(do_round());
    return FINE;
}

/* admit door.Door.push */
static int do_admit_Door_push(V v_self, V v_location)
{
    if (!!(busy >> v_self & 1)) return fault(REENTRANCE_FAULT, v_location);
    if (!(nested() <= 64)) return fault(ENDLESS_FAULT, v_location);
    return FINE;
}

/* handle door.Door.push */
static int do_handle_Door_push(V v_self, V v_location)
{
    if (in_states(v_self, "10" /* Open */)) {
        TRY(do_follow_Door_0(v_self));
        return FINE;
    }
    return fault(UNHANDLED_FAULT, v_location);
    return FINE;
}

/* admit door.Door.pull */
static int do_admit_Door_pull(V v_self, V v_location)
{
    if (!!(busy >> v_self & 1)) return fault(REENTRANCE_FAULT, v_location);
    if (!(nested() <= 64)) return fault(ENDLESS_FAULT, v_location);
    return FINE;
}

/* handle door.Door.pull */
static int do_handle_Door_pull(V v_self, V v_location)
{
    if (in_states(v_self, "01" /* Shut */)) {
        TRY(do_follow_Door_1(v_self));
        return FINE;
    }
    return fault(UNHANDLED_FAULT, v_location);
    return FINE;
}

/* follow door.Door.0 */
static int do_follow_Door_0(V v_self)
{
    /* Open -> Shut on push, random.fsm:7:5 */
    touched |= 1LL << v_self;
    busy |= 1LL << v_self;
    w.state[v_self] = at_Door_Shut;
    if (is_cut()) return CUT;
    busy &= ~(1LL << v_self);
    return FINE;
}

/* follow door.Door.1 */
static int do_follow_Door_1(V v_self)
{
    /* Shut -> Open on pull, random.fsm:8:5 */
    touched |= 1LL << v_self;
    busy |= 1LL << v_self;
    w.state[v_self] = at_Door_Open;
    if (is_cut()) return CUT;
    busy &= ~(1LL << v_self);
    return FINE;
}

static int take_step(const Step *s)
{
    switch (s->procedure) {
    case 0: return do_recover();
    case 1: return do_event_Door_push(s->a[0]);
    case 2: return do_event_Door_pull(s->a[0]);
    }
}

static const char *const places[] = {"random.fsm:11:1", "random.fsm:6:11", "random.fsm:6:17"};
static const char *const first_fault = 0;
static int first_seen, deadlock_seen, faults_seen[10][3];
static int questions_seen[1];
static void ask(void);
static int may_rest(void);
static int inside(void);

static World first_world(void)
{
    memset(&first, 0, sizeof first);
    first.state[0] = at_Door_Open;
    return first;
}

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


static void ask(void)
{
    /* reachable shut, random.fsm:13:5 */
    if (do_holds_question_0()) report(&questions_seen[0], "reachable 0 shown: shut");
}

/* Does the system say that it may rest here? */
static int may_rest(void)
{
    return 0;
}

/* Are steps explored from here? */
static int inside(void)
{
    return 1;
}
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
