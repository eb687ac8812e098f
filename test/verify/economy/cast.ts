// Who takes part in the economy: honest accounts, and attackers with small and large wallets and limited keys.

import { type KeyTerms, makeKeySecret } from '../../../src/accounts/accounts.ts';

export interface CastKey {
  id: number;
  secret: string;
  terms: Partial<KeyTerms>;
}

export interface CastAccount {
  id: number;
  isHonest: boolean;
  creditNano: number;
  keys: readonly CastKey[];
  /** The plan that it begins with. */
  plan: PlanName | null;
}

export const NANO_PER_DOLLAR = 1_000_000_000;
const FIRST_ID = 2 ** 33;

export const accountNames = ['ann', 'ben', 'eve', 'mal', 'moe', 'pam'] as const;
export type AccountName = (typeof accountNames)[number];
export type Cast = Record<AccountName, CastAccount>;

/** Plans of the same price, and the least of their windows. */
export const plans = {
  burst: [
    { length: '5h', limit: 0.4 * NANO_PER_DOLLAR },
    { length: 'week', limit: 1.2 * NANO_PER_DOLLAR },
  ],
  steady: [{ length: 'month', limit: 0.6 * NANO_PER_DOLLAR }],
} as const;
export type PlanName = keyof typeof plans;
export const planNames = Object.keys(plans) as PlanName[];

function account(
  place: number,
  isHonest: boolean,
  dollars: number,
  terms: readonly Partial<KeyTerms>[],
  plan: PlanName | null = null,
): CastAccount {
  const id = FIRST_ID + place * 100;
  return {
    id,
    isHonest,
    creditNano: dollars * NANO_PER_DOLLAR,
    plan,
    keys: terms.map((of, at) => ({ id: id + at + 1, secret: secretOf(place, at), terms: of })),
  };
}

/** The same in each run. */
function secretOf(account: number, key: number): string {
  return makeKeySecret(new Uint8Array(32).fill(account * 16 + key + 1)).secret.reveal();
}

export const cast: Cast = {
  ann: account(1, true, 10_000, [{}]),
  ben: account(2, true, 10_000, [{}]),
  /** Has money, and keys with limits. */
  eve: account(3, false, 1_000, [{}, { concurrency: 1 }, { concurrency: 3 }, { quota: 0.2 * NANO_PER_DOLLAR }]),
  /** Has hardly any money, and several keys to spend it with. */
  mal: account(4, false, 0.75, [{}, {}, { concurrency: 2 }, { requestsPerMinute: 30 }]),
  /** Has enough for one prompt with a picture or a page. */
  moe: account(6, false, 2.5, [{}, {}]),
  /** Has a plan, and nothing else. */
  pam: account(5, false, 0, [{}, {}], 'burst'),
};

export const honestNames = accountNames.filter((name) => cast[name].isHonest);
export const attackerNames = accountNames.filter((name) => !cast[name].isHonest);

/** The key of the account at this place; the first again after the last. */
export function keyOf(by: AccountName, at: number): CastKey {
  const { keys } = cast[by];
  return keys[at % keys.length] as CastKey;
}
