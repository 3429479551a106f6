// As much of the editor's test explorer and tree views as the extension uses: what is listed, what is run, what comes out.

class Items {
  items = new Map();
  get size() {
    return this.items.size;
  }
  replace(items) {
    this.items = new Map(items.map((x) => [x.id, x]));
  }
  get(id) {
    return this.items.get(id);
  }
  [Symbol.iterator]() {
    return this.items[Symbol.iterator]();
  }
}

/** A test explorer. `run(...items)` is what the button does; the answer is what became of each test, by its label. */
export class TestController {
  items = new Items();
  constructor(id, label, never) {
    Object.assign(this, { id, label, never });
  }
  createTestItem(id, label, uri) {
    return { id, label, uri, children: new Items() };
  }
  createRunProfile(label, kind, handler) {
    this.handler = handler;
  }
  createTestRun() {
    const outcomes = (this.outcomes = {});
    const note = (outcome) => (item, messages) => {
      outcomes[item.label] = { outcome, messages: [messages].flat().filter((x) => x?.message !== undefined) };
    };
    const run = { enqueued: note("enqueued"), started: note("started"), passed: note("passed"), failed: note("failed") };
    return Object.assign(run, {
      errored: note("errored"),
      skipped: note("skipped"),
      appendOutput: (text) => (this.output = (this.output ?? "") + text),
      end: () => undefined,
    });
  }
  async run(...include) {
    await this.handler({ include: include.length ? include : undefined, exclude: [] }, this.never);
    return this.outcomes;
  }
  /** A test by its label. */
  test(label) {
    return [...this.items].flatMap(([, file]) => [...file.children]).map(([, item]) => item).find((x) => x.label === label);
  }
  dispose() {}
}

export class TestMessage {
  constructor(message) {
    this.message = message;
  }
}

export class TreeItem {
  constructor(label, collapsibleState = 0) {
    Object.assign(this, { label, collapsibleState });
  }
}

/** A tree as a person would see it with everything unfolded: `[label, description, children]`. */
export class TreeView {
  revealed = [];
  constructor(options) {
    this.provider = options.treeDataProvider;
  }
  shown(node) {
    return this.provider.getChildren(node).map((x) => {
      const { label, description } = this.provider.getTreeItem(x);
      return [label, description, this.shown(x)];
    });
  }
  async reveal(node) {
    if (this.provider.getParent(node) === undefined && !this.provider.getChildren().includes(node)) throw new Error("not there");
    this.revealed.push(this.provider.getTreeItem(node).label);
  }
  dispose() {}
}
