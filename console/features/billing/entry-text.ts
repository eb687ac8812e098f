// What entries of the journal say of themselves, in words in place of the references of the service.

import type { EntryShape } from '../../../src/admin-api/shapes.ts';

/** The payment of an entry. The reference of a payment that was entered by hand has another form. */
export function paymentOf({ reference }: Pick<EntryShape, 'reference'>): string | null {
  return /^(?:stripe|bonus):(pay_[0-9A-Za-z]{9}):\d+$/.exec(reference ?? '')?.[1] ?? null;
}

/** Null without anything to say. */
export function noteOf(entry: Pick<EntryShape, 'reference' | 'note' | 'change'>): string | null {
  const payment = paymentOf(entry);
  if (payment === null) return entry.note;
  const isBonus = entry.reference?.startsWith('bonus:') === true;
  if (entry.change.startsWith('-')) return isBonus ? 'Bonus taken back' : 'Taken back: refund or dispute';
  return isBonus ? 'Bonus' : 'Paid';
}

/** "Payment pay_000000001 · Taken back: refund or dispute" */
export function describeEntry(entry: Pick<EntryShape, 'reference' | 'note' | 'change'>): string {
  const payment = paymentOf(entry);
  const from = payment === null ? entry.reference : `Payment ${payment}`;
  return [from, noteOf(entry)].filter((text) => text !== null && text !== '').join(' · ');
}
