// Text for journal entries: words in place of the references that the service writes.

import type { EntryShape } from '../../../src/admin-api/shapes.ts';

/** The payment of an entry. The reference of a payment that was entered by hand has another form. */
export function paymentOf({ reference }: Pick<EntryShape, 'reference'>): string | null {
  return /^(?:stripe|bonus):(pay_[0-9A-Za-z]{9}):\d+$/.exec(reference ?? '')?.[1] ?? null;
}

/** Null without anything to say. */
export function noteOf(entry: Pick<EntryShape, 'reference' | 'note' | 'change'>): string | null {
  if (paymentOf(entry) === null) return entry.note;
  const isTakenBack = entry.change.startsWith('-');
  if (entry.reference?.startsWith('bonus:') === true) return isTakenBack ? 'Bonus taken back' : 'Bonus';
  return isTakenBack ? 'Refund or dispute' : null;
}

/** "Refund or dispute · pay_000000001" */
export function describeEntry(entry: Pick<EntryShape, 'reference' | 'note' | 'change'>): string {
  const payment = paymentOf(entry);
  const parts = payment === null ? [entry.reference, entry.note] : [noteOf(entry), payment];
  return parts.filter((text) => text !== null && text !== '').join(' · ');
}
