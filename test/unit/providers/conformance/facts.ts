// A conversation as facts, independent of any protocol: as it was meant, and as a reader finds it in a provider's
// request. Texts are stamped, so that each is found wherever the protocol puts it. It has no tests of its own.

/** The content of a request, in its order. */
export type Fact =
  | { by: 'system' | 'user' | 'assistant' | 'result'; text: string }
  | { attached: string }
  | { call: number; name: string; input: string; seal: string | null }
  | { result: number; isError: boolean }
  | { thought: string | null; seal: string | null };

/** A seal that belongs to the text before it. */
export function onText(seal: string): string {
  return `on the text: ${seal}`;
}

/** Texts that no provider may lose or change, each marked with its number. */
export class Stamp {
  #count = 0;

  mark(text: string): string {
    return `⟦${this.#count++}|${text}⟧`;
  }
}

const MARKED = /⟦\d+\|[^⟧]*⟧/g;

/**
 * The facts with every text split into its marked pieces. Any other text must be white space or text that this kind
 * is known to add; throws otherwise.
 */
export function takeApart(facts: readonly Fact[], added: readonly RegExp[]): Fact[] {
  return facts.flatMap((fact): Fact[] => {
    if (!('text' in fact)) return [fact];
    let rest = fact.text.replaceAll(MARKED, '\u0001');
    for (const pattern of added) rest = rest.replaceAll(pattern, '');
    if (rest.replaceAll('\u0001', '').trim() !== '')
      throw new Error(`invented: ${JSON.stringify(rest)} in ${JSON.stringify(fact)}`);
    return [...fact.text.matchAll(MARKED)].map(([text]) => ({ by: fact.by, text }));
  });
}

/** JSON with its numbers as texts of their exact value, so that reading changes none. */
export function readExactly(json: string): unknown {
  const keep = (_name: string, value: unknown, { source }: { source?: string } = {}) =>
    typeof value === 'number' && source !== undefined ? exactNumber(source) : value;
  return (JSON.parse as (text: string, reviver: typeof keep) => unknown)(json, keep);
}

/** The same text for all notations of one JSON value. */
export function exactText(json: string): string {
  return JSON.stringify(readExactly(json));
}

/** "#125e-1" for 12.5, 1.25e1 and 12.50. */
function exactNumber(source: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const kept = digits.replace(/0+$/, '');
  if (kept === '') return '#0';
  const power = Number(exponent) - fraction.length + (digits.length - kept.length);
  return `#${sign}${kept}e${power}`;
}
