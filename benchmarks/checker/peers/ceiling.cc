// HiveD-lite, hand-written C++ breadth-first search: the ceiling for generated native code.
// State packed in one 64-bit word: 3 bits per AG, then user and reserver (3 bits each) per cell; the cell's
// kind is implied by (user, reserver), so 3*A + 6*C <= 63. Shared open-addressing table of 64-bit atomics, no locks.
// g++ -O3 -march=native -std=c++17 -DA=5 -DC=6 -DK=2 ceiling.cc -o ceiling -lpthread ; ./ceiling THREADS LOG2_SLOTS
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <thread>
#include <vector>
typedef uint64_t u64;
enum { PEN, PRE, ALL, BPR, DEL };
static_assert(3 * A + 6 * C <= 63, "does not fit");
static std::atomic<u64> *table;
static u64 mask;
static std::vector<std::vector<int>> sets;

struct S { uint8_t ag[A + 1], user[C], res[C]; };
static inline u64 pack(const S &s) {
  u64 w = 0;
  for (int g = 1; g <= A; g++) w = w << 3 | s.ag[g];
  for (int c = 0; c < C; c++) w = w << 6 | s.user[c] << 3 | s.res[c];
  return w;
}
static inline S unpack(u64 w) {
  S s;
  for (int c = C - 1; c >= 0; c--) { s.res[c] = w & 7; s.user[c] = w >> 3 & 7; w >>= 6; }
  for (int g = A; g >= 1; g--) { s.ag[g] = w & 7; w >>= 3; }
  s.ag[0] = 7;
  return s;
}
static bool inv(const S &s) {
  for (int c = 0; c < C; c++) {
    int u = s.user[c], r = s.res[c];
    if (u && !r && s.ag[u] != ALL && s.ag[u] != BPR) return false;
    if (u && r && s.ag[u] != BPR) return false;
    if (r && s.ag[r] != PRE) return false;
  }
  for (int g = 1; g <= A; g++)
    if (s.ag[g] == ALL) {
      int n = 0;
      for (int c = 0; c < C; c++) n += s.user[c] == g;
      if (n != K) return false;
    }
  return true;
}
static inline bool insert(u64 w) {
  u64 h = (w * 0x9E3779B97F4A7C15ull);
  h ^= h >> 29;
  for (u64 i = h & mask;; i = (i + 1) & mask) {
    u64 v = table[i].load(std::memory_order_relaxed);
    if (v == w + 1) return false;
    if (v == 0) {
      if (table[i].compare_exchange_strong(v, w + 1, std::memory_order_relaxed)) return true;
      if (v == w + 1) return false;
    }
  }
}
struct Worker {
  std::vector<u64> next;
  u64 trans = 0;
  void emit(const S &s) {
    trans++;
    u64 w = pack(s);
    if (insert(w)) {
      if (!inv(s)) { fprintf(stderr, "invariant violated\n"); exit(1); }
      next.push_back(w);
    }
  }
  static void cancel(S &n, int g) { for (int c = 0; c < C; c++) if (n.res[c] == g) n.res[c] = 0; }
  void expand(u64 w) {
    const S s = unpack(w);
    bool crash = false;
    for (int g = 1; g <= A; g++) {
      switch (s.ag[g]) {
      case PEN: {
        bool el[C];
        for (int c = 0; c < C; c++) {
          int u = s.user[c];
          el[c] = (u == 0 || s.ag[u] == BPR || u < g) && s.res[c] < g;
        }
        for (const auto &set : sets) {
          bool ok = true;
          for (int c : set) ok &= el[c];
          if (!ok) continue;
          S n = s;
          bool pre = false;
          for (int c : set) {
            pre |= s.user[c] != 0;
            if (s.res[c]) { n.ag[s.res[c]] = PEN; cancel(n, s.res[c]); }
          }
          for (int c : set)
            if (pre) { n.res[c] = g; if (n.user[c]) n.ag[n.user[c]] = BPR; }
            else n.user[c] = g;
          n.ag[g] = pre ? PRE : ALL;
          emit(n);
        }
        break;
      }
      case BPR: case ALL: {
        S n = s;
        n.ag[g] = DEL;
        for (int c = 0; c < C; c++) if (n.user[c] == g) n.user[c] = 0;
        emit(n);
        crash |= s.ag[g] == BPR;
        break;
      }
      case PRE: {
        crash = true;
        bool all = true;
        for (int c = 0; c < C; c++) all &= !(s.res[c] == g && s.user[c]);
        if (all) {
          S n = s;
          n.ag[g] = ALL;
          for (int c = 0; c < C; c++) if (n.res[c] == g) { n.res[c] = 0; n.user[c] = g; }
          emit(n);
        }
        S n = s;
        n.ag[g] = DEL;
        cancel(n, g);
        emit(n);
        break;
      }
      case DEL: { S n = s; n.ag[g] = PEN; emit(n); break; }
      }
    }
    if (crash) {
      S n = s;
      for (int g = 1; g <= A; g++) n.ag[g] = s.ag[g] == PRE ? PEN : s.ag[g] == BPR ? ALL : s.ag[g];
      for (int c = 0; c < C; c++) n.res[c] = 0;
      emit(n);
    }
  }
};
int main(int argc, char **argv) {
  int T = atoi(argv[1]);
  u64 slots = 1ull << atoi(argv[2]);
  mask = slots - 1;
  table = (std::atomic<u64> *)mmap(0, slots * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise((void *)table, slots * 8, MADV_HUGEPAGE);
  for (int m = 0; m < 1 << C; m++)
    if (__builtin_popcount(m) == K) {
      std::vector<int> v;
      for (int c = 0; c < C; c++) if (m >> c & 1) v.push_back(c);
      sets.push_back(v);
    }
  auto t0 = std::chrono::steady_clock::now();
  std::vector<u64> front{0};
  insert(0);
  u64 states = 1, trans = 0;
  int depth = 0;
  for (;; depth++) {
    std::vector<Worker> ws(T);
    std::atomic<size_t> at{0};
    auto work = [&](int t) {
      for (size_t i; (i = at.fetch_add(1024)) < front.size();)
        for (size_t j = i; j < i + 1024 && j < front.size(); j++) ws[t].expand(front[j]);
    };
    std::vector<std::thread> th;
    for (int t = 1; t < T; t++) th.emplace_back(work, t);
    work(0);
    for (auto &t : th) t.join();
    std::vector<u64> nf = std::move(ws[0].next);
    trans += ws[0].trans;
    for (int t = 1; t < T; t++) { nf.insert(nf.end(), ws[t].next.begin(), ws[t].next.end()); trans += ws[t].trans; }
    states += nf.size();
    if (nf.empty()) break;
    front = std::move(nf);
  }
  double dt = std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count();
  printf("A=%d C=%d K=%d states=%lu transitions=%lu depth=%d seconds=%.3f states/s=%.0f trans/s=%.0f\n", A, C, K, states,
         trans, depth, dt, states / dt, trans / dt);
}
