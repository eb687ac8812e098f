// Which rows a batch needs, read off its operations.

import type { Bundle, Operation } from '../../ledger/ledger.ts';

export interface Needs {
  /** In the order of their ids, in which they are locked. */
  accounts: number[];
  keys: number[];
  /** Messages whose holds are asked for, and those whose records are. */
  holds: string[];
  endings: string[];
  /** Messages of which only the id is known: their accounts and keys are needed too. */
  strays: string[];
  /** Messages that end with an answer: the claims under which they run. */
  answered: string[];
  claims: { key: number; name: string }[];
  credits: { account: number; reference: string }[];
  /** `lock`: some are changed. */
  leases: 'none' | 'read' | 'lock';
  /** Also the holds of those whose lease has lapsed, */
  expires: boolean;
  /** or is given up or taken anew by the batch itself: their nodes. */
  moved: string[];
  /** Those that other nodes are told of. */
  told: Operation[];
}

const TOLD: ReadonlySet<Operation['kind']> = new Set(['credit', 'refund', 'set-account', 'set-key']);

export function readNeeds(bundles: readonly Bundle[]): Needs {
  const found = new Found();
  for (const { operations } of bundles) for (const operation of operations) addNeeds(found, operation);
  const { accounts, keys, holds, endings, strays, answered, ...rest } = found;
  return {
    accounts: [...accounts].sort((one, other) => one - other),
    keys: [...keys],
    holds: [...holds],
    endings: [...endings],
    strays: [...strays],
    answered: [...answered],
    ...rest,
  };
}

class Found {
  readonly accounts = new Set<number>();
  readonly keys = new Set<number>();
  readonly holds = new Set<string>();
  readonly endings = new Set<string>();
  readonly strays = new Set<string>();
  readonly answered = new Set<string>();
  readonly claims: Needs['claims'] = [];
  readonly credits: Needs['credits'] = [];
  leases: Needs['leases'] = 'none';
  expires = false;
  readonly moved: Needs['moved'] = [];
  readonly told: Operation[] = [];
}

function addNeeds(found: Found, operation: Operation): void {
  if (TOLD.has(operation.kind)) found.told.push(operation);
  switch (operation.kind) {
    case 'admit':
      if (found.leases === 'none') found.leases = 'read';
      found.holds.add(operation.requestId);
      found.endings.add(operation.requestId);
      if (operation.claim !== undefined) found.claims.push({ key: operation.key, name: operation.claim.name });
      addPayer(found, operation);
      break;
    case 'settle':
    case 'release':
      found.holds.add(operation.requestId);
      found.endings.add(operation.requestId);
      if (operation.kind === 'settle' && operation.isAnswer === true) found.answered.add(operation.requestId);
      addPayer(found, operation.record);
      break;
    case 'extend':
    case 'leave':
      found.holds.add(operation.requestId);
      if (operation.kind === 'extend' && operation.checkpoint !== null) addPayer(found, operation.checkpoint);
      else found.strays.add(operation.requestId);
      break;
    case 'refund':
      found.endings.add(operation.requestId);
      found.strays.add(operation.requestId);
      break;
    case 'credit':
      found.accounts.add(operation.account);
      if (operation.reference !== null)
        found.credits.push({ account: operation.account, reference: operation.reference });
      break;
    case 'set-account':
      found.accounts.add(operation.account);
      break;
    case 'take':
    case 'set-key':
      addPayer(found, operation);
      break;
    case 'renew':
      found.leases = 'lock';
      if (operation.epoch === null || operation.leaseMs <= 0) found.moved.push(operation.node);
      break;
    case 'expire':
      found.leases = 'lock';
      found.expires = true;
      break;
  }
}

function addPayer(found: Found, { account, key }: { account: number; key: number }): void {
  found.accounts.add(account);
  found.keys.add(key);
}

/** The account that a bundle is about, as far as it says so; null where it names none. */
export function accountOf({ operations }: Bundle): number | null {
  for (const operation of operations) {
    if ('account' in operation) return operation.account;
    if ('record' in operation) return operation.record.account;
    if (operation.kind === 'extend' && operation.checkpoint !== null) return operation.checkpoint.account;
  }
  return null;
}
