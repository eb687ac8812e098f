// How the funds of an account add up. Pure.

import type { AccountShape } from '../../../src/admin-api/shapes.ts';
import { negated, type Sum, sumDigitsOf } from '../../money.ts';

type Funds = Pick<AccountShape, 'available' | 'balance' | 'held' | 'debt' | 'credit_line'>;

/** What new requests can spend; zero instead of a negative sum. */
function fundsSum({ available, balance, held, debt, credit_line: line }: Funds): Sum {
  return { parts: [balance, negated(held), negated(debt), line], sum: available };
}

/** The fraction digits of the funds of accounts. `more`: other sums that are shown beside them. */
export function fundsDigits(accounts: readonly Funds[], more: readonly Sum[] = []): number {
  return sumDigitsOf([...accounts.map(fundsSum), ...more]);
}
