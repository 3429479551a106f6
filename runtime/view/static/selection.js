// What is chosen, found and coloured is in the address, so that every view has one: #gang=…, #node=…, #tenant=…, #find=….

const KINDS = ["gang", "node", "tenant", "opportunistic"];

export class Selection {
  /** `changed` is called with what is chosen, whenever the address changes. */
  constructor(changed) {
    this.changed = changed;
    addEventListener("hashchange", () => this.changed(this));
  }

  get parameters() {
    return new URLSearchParams(location.hash.slice(1));
  }

  get kind() {
    return KINDS.find((x) => this.parameters.has(x)) ?? "";
  }

  get name() {
    return this.parameters.get(this.kind) ?? "";
  }

  get(key) {
    return this.parameters.get(key) ?? "";
  }

  /** Chooses one thing; the same again: nothing. */
  choose(kind, name = "") {
    const same = this.kind === kind && this.name === name;
    const found = this.parameters;
    for (const x of KINDS) found.delete(x);
    if (!same && kind) found.set(kind, name);
    this.write(found);
  }

  set(key, value) {
    const found = this.parameters;
    if (value) found.set(key, value);
    else found.delete(key);
    history.replaceState(null, "", `#${found}`);
  }

  write(found) {
    location.hash = `${found}`;
  }
}

/** The address of a thing. */
export const address = (kind, name) => `#${new URLSearchParams({ [kind]: name })}`;
