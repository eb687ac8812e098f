// Texts as PostgreSQL takes them: a zero character can be in none of them, and in documents that it reads also not as an escape, nor
// can half of a pair of surrogates. Each becomes U+FFFD, where it can be seen that there was something.

const REPLACEMENT = '\ufffd';
const UNREADABLE = /\\u(?:0000|d[89a-f])/i;

/** A text for a column, or to be compared with one; the same where there is nothing to replace. */
export function suitText(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes('\0') ? whole.replaceAll('\0', REPLACEMENT) : whole;
}

/** A value as it can be sent: what comes from outside must not keep a message from being billed, nor a list from being read. */
export function suitValue<Value>(value: Value): Value | string {
  return typeof value === 'string' ? suitText(value) : value;
}

/** A JSON document for a column; the same where there is nothing to replace. */
export function suitDocument(document: string): string {
  if (!UNREADABLE.test(document)) return suitText(document);
  const value: unknown = JSON.parse(document);
  const suited = JSON.stringify(suitMembers(value));
  return suited === JSON.stringify(value) ? document : suited; // escapes may have been a pair, or be spoken of
}

function suitMembers(value: unknown): unknown {
  if (typeof value === 'string') return suitText(value);
  if (Array.isArray(value)) return value.map(suitMembers);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [suitText(name), suitMembers(member)]));
}
