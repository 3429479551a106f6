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
