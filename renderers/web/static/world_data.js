// What a gridworld's map and side column read: a recorded world at any tick (renderers/web/world.py), or one that is
// played (renderers/web/live.py). Both have world, seats, k, ready, objects, go() and the methods of WorldData.
"use strict";

coterie.letters = (n) => (n < 26 ? "" : coterie.letters(Math.floor(n / 26) - 1)) + String.fromCharCode(65 + n % 26);

class WorldData {
  ready = false;
  k = 0;

  clock() { return this.world.clock + this.k; }

  id(s) { return this.of("id", s) < 0 ? s : this.of("id", s); }

  // An agent's number, and the letter of its family.
  name(s) {
    const label = this.of("label", s);
    return `${this.id(s)}${this.world.belongs && label >= 0 ? coterie.letters(label) : ""}`;
  }

  kin(s) {
    if (this.world.kin) return this.world.kin[s].filter(([other]) => this.of("alive", other));
    const label = this.of("label", s);
    const found = [];
    for (let other = 0; label >= 0 && other < this.world.slots; other++) {
      if (other !== s && this.of("label", other) === label && this.of("alive", other)) found.push([other, 1]);
    }
    return found;
  }

  living() { return Array.from({ length: this.world.slots }, (_, s) => s).filter((s) => this.of("alive", s)); }
}

coterie.unpack = async function ({ layout, data }) {
  const kinds = { i1: Int8Array, i2: Int16Array, i4: Int32Array, f4: Float32Array };
  const text = atob(data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const found = {};
  let at = 0;
  for (const [name, kind, size] of layout) {
    const end = at + size * kinds[kind].BYTES_PER_ELEMENT;
    found[name] = new kinds[kind](buffer.slice(at, end));
    at = end;
  }
  return found;
};

// A recorded world; `k` is the tick that is shown.
coterie.WorldRecord = class extends WorldData {
  #column = {};
  #item = [];
  #paid = [];
  #changes = null;
  #applied = 0; // changes of objects that have been applied
  #walled = [];

  constructor(show) {
    super();
    [this.world, this.seats, this.ticks] = [show.world, show.seats, show.world.ticks];
  }

  // Sums along the ticks of each slot; the numbers stand slot by slot.
  #summed(differences, Kind) {
    const made = new Kind(differences.length);
    for (let i = 0; i < made.length; i++) made[i] = differences[i] + (i % (this.ticks + 1) ? made[i - 1] : 0);
    return made;
  }

  async read() {
    const { world, ticks } = this;
    const raw = await coterie.unpack(world.state);
    for (const name of Object.keys(raw)) {
      if (!/[.]|^reward$/.test(name)) this.#column[name] = this.#summed(raw[name], Int32Array);
    }
    this.#item = world.items.map((_, j) => this.#summed(raw[`item.${j}`], Int32Array));
    this.#paid = raw.reward;
    const returns = this.#column.returns = this.#summed(raw.reward, Float64Array);
    this.total = new Float64Array(ticks + 1);
    this.alive = new Int32Array(ticks + 1);
    for (let s = 0; s < world.slots; s++) {
      for (let t = 0; t <= ticks; t++) {
        this.total[t] += returns[s * (ticks + 1) + t];
        this.alive[t] += this.#column.alive[s * (ticks + 1) + t];
      }
    }
    this.objects = {};
    const changes = this.#changes = { tick: new Int32Array(raw["change.tick"]), place: raw["change.place"], to: {}, from: {} };
    for (let i = 1; i < changes.tick.length; i++) changes.tick[i] += changes.tick[i - 1];
    for (const name of ["type", "row", "col", "hp", "stock", "busy_until"]) {
      this.objects[name] = Int32Array.from(raw[`objects.${name}`]);
      const now = Int32Array.from(this.objects[name]);
      changes.to[name] = raw[`change.${name}`];
      changes.from[name] = changes.to[name].map((value, i) => { const old = now[changes.place[i]]; now[changes.place[i]] = value; return old; });
    }
    this.#walled = Array.from(changes.place, ((count) => (o, i) => (count += Number(changes.from.type[i] === 0)))(0));
    this.ready = true;
  }

  of(name, s, t = this.k) { return this.#column[name][s * (this.ticks + 1) + t]; }
  held(j, s) { return this.#item[j][s * (this.ticks + 1) + this.k]; }
  reward(s) { return this.#paid[s * (this.ticks + 1) + this.k]; }

  // How many changes of walls have happened.
  walls() { return this.#applied ? this.#walled[this.#applied - 1] : 0; }

  // Bring the objects to tick k.
  go() {
    const changes = this.#changes;
    const write = (values, i) => { for (const name in this.objects) this.objects[name][changes.place[i]] = values[name][i]; };
    while (this.#applied < changes.tick.length && changes.tick[this.#applied] <= this.k) write(changes.to, this.#applied++);
    while (this.#applied > 0 && changes.tick[this.#applied - 1] > this.k) write(changes.from, --this.#applied);
  }
};

// A world that is played: `take` brings it to the server's tick.
coterie.LiveWorld = class extends WorldData {
  #now = null;
  #walls = 0;

  // Returns whether this is another world.
  take(live, seats) {
    this.#now = live;
    const fields = ["type", "row", "col", "hp", "stock", "busy_until"];
    if (live.world) {
      [this.world, this.seats, this.objects] = [live.world, seats, live.objects];
      this.#walls += 1;
      this.ready = true;
    }
    for (const [place, ...values] of live.changed || []) {
      this.#walls += Number(this.objects.type[place] === 0);
      fields.forEach((name, i) => { this.objects[name][place] = values[i]; });
    }
    this.k = live.clock;
    return Boolean(live.world);
  }

  clock() { return this.#now.clock; }
  of(name, s) { return name === "returns" ? this.#now.returns[s] : this.#now.agents[name][s]; }
  held(j, s) { return this.#now.items[j][s]; }
  reward(s) { return this.#now.reward[s]; }
  walls() { return this.#walls; }
  go() {}
};
