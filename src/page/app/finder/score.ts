/**
 * How well a text fits what somebody typed, -1 where it does not. The letters must come in their order; best is
 * the whole in one piece, late in the text, at the beginning of a name.
 */
export function score(text: string, typed: string): number {
  const low = text.toLowerCase();
  const wanted = typed.toLowerCase();
  const at = low.lastIndexOf(wanted);
  const short = -text.length / 100;
  if (at >= 0) {
    const begins = at === 0 || !/[\p{L}\p{N}]/u.test(low[at - 1]!);
    return 1000 + (begins ? 100 : 0) - (low.length - at) / 10 + short;
  }
  let points = 0;
  let from = 0;
  let last = -2;
  for (const letter of wanted) {
    const next = low.indexOf(letter, from);
    if (next < 0) return -1;
    if (next === last + 1) points += 4;
    else if (next === 0 || low[next - 1] === "/") points += 3;
    last = next;
    from = next + 1;
  }
  return points + Math.max(short, -1) + 1;
}
