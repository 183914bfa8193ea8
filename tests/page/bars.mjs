// Figures beside their bars: medians are printed. They are held to their bars where SITECONF_PAGE_ROUNDS asks for
// five rounds or more, on a quiet machine, one test after another (`-- --test-threads=1`); otherwise there is one.
export const rounds = Number(process.env.SITECONF_PAGE_ROUNDS || 1);

const sorted = (list) => [...list].sort((a, b) => a - b);
export const median = (list) => sorted(list)[list.length >> 1];
export const percentile = (list, percent) => sorted(list)[Math.min(list.length - 1, Math.floor((list.length * percent) / 100))];

/** Milliseconds that something takes. */
export async function took(act) {
  const began = performance.now();
  await act();
  return performance.now() - began;
}

/** What is measured, by name: the bar, then what was found. */
export class Figures {
  #of = new Map();

  constructor(bars) {
    for (const [name, bar] of Object.entries(bars)) this.#of.set(name, { bar, found: [] });
  }

  note(name, found) {
    this.#of.get(name).found.push(found);
  }

  /** Prints the medians; fails where one is beyond its bar. */
  judge() {
    const missed = [];
    for (const [name, { bar, found }] of this.#of) {
      const middle = median(found);
      const digits = middle < 1 ? 3 : middle < 100 ? 1 : 0;
      console.log(`    ${name}: ${middle.toFixed(digits)}, at most ${bar} (${found.length} rounds)`);
      if (middle > bar) missed.push(name);
    }
    if (rounds >= 5 && missed.length > 0) throw new Error(`beyond their bars: ${missed.join(", ")}`);
  }
}

/** Bytes of the page's own objects, after a collection. */
export async function heap(person) {
  const session = await person.context.newCDPSession(person.page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize;
}
