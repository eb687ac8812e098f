// The place of an account in a company: its parent, and whose balance pays. Operators place accounts anywhere; owners manage the
// accounts below theirs, which never have more than operators gave to the account above.

import type { Account } from '../accounts/accounts.ts';
import { formatId } from '../base/ids.ts';
import type { Fault } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { accountForNew, groupsFor } from './accounts.ts';
import { invalidMember, invalidRequest } from './admin-app.ts';
import { listChain } from './dependencies.ts';
import type { Call } from './route.ts';

/** The account and those above it, nearest first, from an id in a body. Throws invalid_request for one that is not seen. */
export async function findParent(call: Call, id: string): Promise<Account[]> {
  const number = (await accountForNew(call, id, 'is required', 'parent')).id;
  return listChain(call.accounts, number);
}

/**
 * Throws invalid_request, naming `parent`, unless the account fits below the first of `above`: no cycle, at most three levels with what
 * is below the account, and a bounded number of accounts below the uppermost one.
 */
export async function checkPlace({ accounts }: Call, account: Account, above: readonly Account[]): Promise<void> {
  const top = above.at(-1);
  if (top === undefined) return;
  if (above.some(({ id }) => id === account.id))
    throw invalidMember('parent', 'must not be the account itself or one below it');
  const moved = await accounts.listBelow(account.id);
  if (above.length + countLevels(new Set([account.id]), moved) > bounds.accountLevelsMax)
    throw invalidMember(
      'parent',
      `would make more than ${bounds.accountLevelsMax} levels, counted with the accounts below this one`,
    );
  const others = (await accounts.listBelow(top.id)).filter(
    ({ id }) => id !== account.id && !moved.some((one) => one.id === id),
  );
  if (others.length + moved.length + 1 > bounds.accountsBelowMax)
    throw invalidMember(
      'parent',
      `would put more than ${bounds.accountsBelowMax} accounts below ${formatId('acct', top.id)}`,
    );
}

/** The levels that these accounts and those below them are on. */
function countLevels(ids: ReadonlySet<number>, below: readonly Account[]): number {
  const next = below.filter(({ parentId }) => parentId != null && ids.has(parentId)).map(({ id }) => id);
  return next.length === 0 ? 1 : 1 + countLevels(new Set(next), below);
}

/** Throws invalid_request for terms that an account with this payer cannot have. */
export function checkPayer({ parentId = null, paysFrom = 'own' }: Account, creditLine: number): void {
  if (paysFrom === 'own') return;
  if (parentId === null) throw invalidMember('pays_from', 'must be own: the account has no parent');
  if (creditLine > 0) throw invalidMember('credit_line', 'must be 0: the account pays from the one above');
}

/** Throws invalid_request for groups that the account above does not have: an account below has no more than it. */
export async function checkGroupsAbove(call: Call, groups: readonly string[], parent: Account): Promise<void> {
  const allowed = await groupsFor(call, parent);
  const faults: Fault[] = groups.flatMap((group, at) =>
    allowed.includes(group)
      ? []
      : [{ path: ['groups', at], message: `"${group}" is not one of the groups of the account above` }],
  );
  if (faults.length > 0) throw invalidRequest(faults);
}

/** Members that owners may set, and where: in their own account, too, in those below, or only in those below that pay from above. */
const ofOwners: ReadonlyMap<string, 'own' | 'below' | 'paying'> = new Map([
  ['low_balances', 'own'],
  ['person_budget', 'own'],
  ['warns_at', 'own'],
  ['name', 'below'],
  ['parent', 'below'],
  ['groups', 'paying'],
  ['status', 'paying'],
  ['allowance', 'paying'],
  ['allowance_period', 'paying'],
]);
/** Values that change nothing for a new account below theirs: no credit, and the only payer. */
const ofNewAccounts = new Map<string, (value: unknown) => boolean>([
  ['pays_from', (value) => value === 'parent'],
  ['credit_line', (value) => value === 0],
  ['credit', (value) => value === 0],
  ['credit_kind', () => true],
  ['note', () => true],
  ['reference', () => true],
]);

type Members = Readonly<Record<string, unknown>>;

/** Throws invalid_request for members that only operators can change. */
export function refuseOperatorsMembers({ principal }: Call, account: Account, body: Members): void {
  if (principal.accountId === null) return;
  const isOwn = principal.accountId === account.id;
  for (const [name, value] of Object.entries(body)) {
    const of = ofOwners.get(name);
    if (value === undefined || of === 'own') continue;
    if (of === undefined || isOwn) throw invalidMember(name, OPERATORS_ONLY);
    if (of === 'paying' && account.paysFrom !== 'parent')
      throw invalidMember(name, `${OPERATORS_ONLY}: the account has a balance of its own`);
    if (name === 'parent' && value === null) throw invalidMember(name, 'can be set to null by operators only');
  }
}

const OPERATORS_ONLY = 'can be set by operators only';

/** Throws invalid_request for what owners cannot give to a new account below theirs, which pays from the one above. */
export function refuseOperatorsCreation(body: Members): void {
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined || ofNewAccounts.get(name)?.(value)) continue;
    if (name === 'pays_from')
      throw invalidMember(name, 'must be parent: only operators create accounts with a balance of their own');
    if (!ofOwners.has(name)) throw invalidMember(name, OPERATORS_ONLY);
    if (name === 'parent' && value === null) throw invalidMember(name, 'must be your account or one below it');
  }
}

/** Throws conflict for a credit to an account whose balance is not used. */
export function refuseUnusedBalance({ id, paysFrom = 'own' }: Account): void {
  if (paysFrom === 'own') return;
  const words = `The account ${formatId('acct', id)} pays from the account above, which needs the credit instead.`;
  throw new TurnpikeError('conflict', words);
}
