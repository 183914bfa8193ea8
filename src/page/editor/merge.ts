// Three-way merge by lines: what two people made of one text. Where they did not touch the same lines both
// changes are taken; where they did, ours stands in the merged text and the place is told.

/** A run of lines, `from` inclusive to `to` exclusive, counted from 0. */
export interface Lines {
  from: number;
  to: number;
}

/** Both changed these lines, differently. */
export interface Clash {
  /** In the merged text, where ours stands. */
  merged: Lines;
  /** In their text. */
  theirs: Lines;
}

export interface MergedLines {
  lines: string[];
  clashes: Clash[];
}

/** Lines of one text that stand for lines of another. */
interface Hunk {
  base: Lines;
  other: Lines;
}

/** Edits beyond which one large hunk is told instead of the shortest script: time and memory grow as their square. */
const EDITS_MAX = 2000;

/** Merges two texts that came from `base`. Each is a list of lines without their ends. */
export function merge(
  base: readonly string[],
  ours: readonly string[],
  theirs: readonly string[],
): MergedLines {
  const left = hunks(base, ours);
  const right = hunks(base, theirs);
  const lines: string[] = [];
  const clashes: Clash[] = [];
  let at = 0; // in base
  let ourShift = 0; // what to add to a line of base to have that of ours
  let theirShift = 0;
  let i = 0;
  let j = 0;
  while (i < left.length || j < right.length) {
    const group = nextGroup(left, i, right, j);
    for (let n = at; n < group.base.from; n++) lines.push(base[n] ?? "");
    const mine = widen(group.base, left.slice(i, group.left), ourShift);
    const their = widen(group.base, right.slice(j, group.right), theirShift);
    const from = lines.length;
    const onlyTheirs = group.left === i;
    const onlyOurs = group.right === j;
    const [taken, run] = onlyTheirs ? [theirs, their] : [ours, mine];
    // One by one: a call takes no list of any length.
    for (let n = run.from; n < run.to; n++) lines.push(taken[n] ?? "");
    if (!onlyTheirs && !onlyOurs && !same(ours, mine, theirs, their)) {
      clashes.push({ merged: { from, to: lines.length }, theirs: their });
    }
    at = group.base.to;
    ourShift = mine.to - at;
    theirShift = their.to - at;
    i = group.left;
    j = group.right;
  }
  for (let n = at; n < base.length; n++) lines.push(base[n] ?? "");
  return { lines, clashes };
}

/** The next run of lines of base that hunks of either side touch, and how far these go in both lists. */
function nextGroup(
  left: Hunk[],
  i: number,
  right: Hunk[],
  j: number,
): { base: Lines; left: number; right: number } {
  const first = [left[i], right[j]].reduce((a, b) => (!a || (b && b.base.from < a.base.from) ? b : a));
  const base = { from: first?.base.from ?? 0, to: first?.base.to ?? 0 };
  for (let grew = true; grew; ) {
    grew = false;
    for (let hunk = left[i]; hunk && touches(base, hunk.base); hunk = left[++i]) {
      base.to = Math.max(base.to, hunk.base.to);
      grew = true;
    }
    for (let hunk = right[j]; hunk && touches(base, hunk.base); hunk = right[++j]) {
      base.to = Math.max(base.to, hunk.base.to);
      grew = true;
    }
  }
  return { base, left: i, right: j };
}

/** Lines in common; an insertion touches what it stands next to, because their order would be a guess. */
function touches(a: Lines, b: Lines): boolean {
  if (a.from === a.to || b.from === b.to) return b.from <= a.to && a.from <= b.to;
  return b.from < a.to && a.from < b.to;
}

/** The lines of one side that stand for a run of base, given the hunks in it. */
function widen(base: Lines, inside: Hunk[], shift: number): Lines {
  const last = inside.at(-1);
  return { from: base.from + shift, to: last ? last.other.to + base.to - last.base.to : base.to + shift };
}

function same(a: readonly string[], left: Lines, b: readonly string[], right: Lines): boolean {
  if (left.to - left.from !== right.to - right.from) return false;
  for (let n = 0; n < left.to - left.from; n++) if (a[left.from + n] !== b[right.from + n]) return false;
  return true;
}

/** What has to be replaced in `a` to have `b`, in order, by the shortest script (Myers 1986). */
function hunks(a: readonly string[], b: readonly string[]): Hunk[] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let endA = a.length;
  let endB = b.length;
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
    endA--;
    endB--;
  }
  if (start === endA && start === endB) return [];
  const whole = [{ base: { from: start, to: endA }, other: { from: start, to: endB } }];
  if (start === endA || start === endB) return whole;
  const number = numbering();
  return script(a.slice(start, endA).map(number), b.slice(start, endB).map(number), start) ?? whole;
}

/** Equal lines get equal numbers: these are compared faster than texts. */
function numbering(): (line: string) => number {
  const known = new Map<string, number>();
  return (line) => {
    let number = known.get(line);
    if (number === undefined) {
      number = known.size;
      known.set(line, number);
    }
    return number;
  };
}

function script(a: number[], b: number[], offset: number): Hunk[] | null {
  const limit = Math.min(a.length + b.length, EDITS_MAX);
  const reach = new Int32Array(2 * limit + 3); // by diagonal: how far in a
  const rounds: Int32Array[] = [];
  for (let edits = 0; edits <= limit; edits++) {
    rounds.push(reach.slice(limit + 1 - edits - 1, limit + 1 + edits + 2));
    for (let k = -edits; k <= edits; k += 2) {
      const down = k === -edits || (k !== edits && at(reach, limit + k) < at(reach, limit + k + 2));
      let x = down ? at(reach, limit + k + 2) : at(reach, limit + k) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      reach[limit + 1 + k] = x;
      if (x >= a.length && x - k >= b.length) return back(rounds, a.length, b.length, offset);
    }
  }
  return null;
}

function at(list: Int32Array, index: number): number {
  return list[index] ?? 0;
}

/** Follows the rounds from the end to the start, and joins edits that lie side by side. */
function back(rounds: Int32Array[], endA: number, endB: number, offset: number): Hunk[] {
  const found: Hunk[] = [];
  let x = endA;
  let y = endB;
  for (let edits = rounds.length - 1; edits > 0; edits--) {
    const before = rounds[edits] ?? new Int32Array();
    const k = x - y;
    const middle = edits + 1; // where diagonal 0 lies in this round's copy
    const down = k === -edits || (k !== edits && at(before, middle + k - 1) < at(before, middle + k + 1));
    const fromX = down ? at(before, middle + k + 1) : at(before, middle + k - 1);
    const fromY = fromX - (down ? k + 1 : k - 1);
    const toX = down ? fromX : fromX + 1;
    const toY = down ? fromY + 1 : fromY;
    const next = found.at(-1);
    if (next && next.base.from === toX + offset && next.other.from === toY + offset) {
      next.base.from = fromX + offset;
      next.other.from = fromY + offset;
    } else {
      found.push({
        base: { from: fromX + offset, to: toX + offset },
        other: { from: fromY + offset, to: toY + offset },
      });
    }
    x = fromX;
    y = fromY;
  }
  return found.reverse();
}
