// The rules of the economy about payments, their bonus, and what takes them back.

import { type AccountName, accountNames, cast } from './cast.ts';
import type { Facts } from './episode.ts';
import type { Billed } from './judge.ts';
import type { World } from './world.ts';

export function judgeTill(bills: readonly Billed[], facts: Facts, world: World): string | null {
  for (const by of accountNames) {
    const finding = wrongBooks(by, world) ?? spentTwice(by, bills, facts);
    if (finding !== null) return finding;
  }
  return null;
}

/** The journal has what Stripe's books are worth, and the same part of each bonus. */
function wrongBooks(by: AccountName, { tables, till }: World): string | null {
  const { id } = cast[by];
  const sumOf = (prefix: string) =>
    tables.entries
      .filter(({ account, reference }) => account === id && reference?.startsWith(prefix))
      .reduce((sum, { credit, amount }) => sum + BigInt(credit === id ? amount : -amount), 0n);
  const { paid, bonus } = till.booksOf(id);
  const journal = { paid: sumOf('stripe:'), bonus: sumOf('bonus:') };
  if (journal.paid !== paid) return `payments: ${by} paid ${paid}, less what was taken back, and has ${journal.paid}`;
  if (journal.bonus !== bonus) return `bonus: ${by} may keep ${bonus} of it, and has ${journal.bonus}`;
  return null;
}

/** After each payment and reversal, later messages take no more than is left of all that the account was given. */
function spentTwice(by: AccountName, bills: readonly Billed[], { paid, wasSuspended }: Facts): string | null {
  if (wasSuspended) return null; // others spend what a node held that stands still
  const own = bills.filter(({ message }) => message.asked.by === by);
  const costOf = (of: readonly Billed[]) =>
    of.reduce((sum, { paid: cost, record }) => sum + BigInt(cost - record.planPaid), 0n);
  const changes = paid.filter((change) => change.by === by);
  for (const [at, { atMs, epochMs, books }] of changes.entries()) {
    const untilMs = changes[at + 1]?.atMs ?? Number.POSITIVE_INFINITY;
    const ended = own.filter(({ record }) => record.atMs < epochMs);
    const later = own.filter(({ message: { sentMs } }) => sentMs > atMs && sentMs < untilMs);
    const left = BigInt(cast[by].creditNano) + books.paid + books.bonus - costOf(ended);
    const spent = costOf(later);
    if (spent > (left > 0n ? left : 0n)) return `owed: ${by} spent ${spent}, and had ${left} after a reversal`;
  }
  return null;
}
