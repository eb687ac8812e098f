// Access and audit: secrets of keys, tokens, audit records, and creations under an idempotency key.

import { expect, test } from 'bun:test';
import type {
  AccessToken,
  Account,
  Key,
  SortedAccounts,
  SortedKeys,
  SortedRow,
} from '../../../src/accounts/accounts.ts';
import { NO_KEY_LIMITS } from '../../../src/accounts/accounts.ts';
import type { AuditContext, AuditRecord, RememberedCreation } from '../../../src/audit/audit.ts';
import { spreadCut } from '../../../src/storage/account-writes.ts';
import { failureOf, type OpenStores, openWorkbench, START_MS, type Workbench } from '../../money/ledger/workbench.ts';
import { allChanges } from '../../support/everything.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';

export function accessConformance(open: OpenStores): void {
  secretTests(open);
  sortTests(open);
  searchTests(open);
  tokenTests(open);
  auditTests(open);
  creationTests(open);
}

const terms = { status: 'enabled', expiresAtMs: null, ...NO_KEY_LIMITS } as const;

async function keyOf(bench: Workbench): Promise<Key> {
  return (await bench.stores.accounts.getKey(bench.key)) as Key;
}

function secretTests(open: OpenStores): void {
  test('two secrets of a key until the first one expires, and never extends its expiry', async () => {
    await using bench = await openWorkbench(open, 0);
    const { accounts } = bench.stores;
    const key = await keyOf(bench);
    const endOf = async (hash: string) => (await accounts.findKeyBySecretHash([hash]))?.secretExpiresAtMs;
    await accounts.rotateKey({ ...key, prefix: 'sk-tp-2222' }, 'second', 5_000, noAuditContext);
    await accounts.rotateKey({ ...key, prefix: 'sk-tp-3333' }, 'third', 9_000, noAuditContext);
    expect([await endOf(`hash of ${key.id}`), await endOf('second'), await endOf('third')]).toEqual([
      5_000,
      9_000,
      null,
    ]);
    expect((await accounts.findKeyBySecretHash(['second']))?.key).toMatchObject({ id: key.id, prefix: 'sk-tp-3333' });
    expect(await accounts.findKeyBySecretHash(['fourth'])).toBeNull();
  });

  test('keys with unique secrets only', async () => {
    await using bench = await openWorkbench(open, 0);
    const key = await keyOf(bench);
    await failureOf(bench.stores.accounts.rotateKey(key, `hash of ${key.id}`, 5_000, noAuditContext));
    expect((await bench.stores.accounts.findKeyBySecretHash([`hash of ${key.id}`]))?.secretExpiresAtMs).toBeNull();
  });

  test('the maker of each key, and lists a maker’s keys in order and in pages', async () => {
    await using bench = await openWorkbench(open, 0);
    const { accounts } = bench.stores;
    const key = await keyOf(bench);
    for (const id of [91, 92, 93])
      await accounts.createKey(
        { ...key, id, madeBy: id === 92 ? 'tok_b' : 'tok_a' },
        `of ${id}`,
        terms,
        noAuditContext,
      );
    const listed = async (after: number | null, accountId: number | null = null) =>
      (await accounts.listKeys({ accountId, madeBy: 'tok_a', after, limit: 9 })).map((one) => one.id);
    expect([await listed(null), await listed(91), await listed(null, key.accountId)]).toEqual([
      [91, 93],
      [93],
      [91, 93],
    ]);
    expect(await listed(null, key.accountId + 1)).toEqual([]);
    expect([await accounts.countKeys(key.accountId), await accounts.countKeys(404)]).toEqual([4, 0]);
  });
}

const everyKey: SortedKeys = {
  by: 'created',
  order: 'asc',
  accountId: null,
  madeBy: null,
  text: null,
  status: null,
  after: null,
  limit: 9,
};

function sortTests(open: OpenStores): void {
  test('keys by name, last use and creation, in pages', async () => {
    await using bench = await openWorkbench(open, 1_000);
    const { accounts } = bench.stores;
    const key = await keyOf(bench);
    const names = { 91: 'beta', 92: 'Alpha', 93: 'gamma' };
    for (const [id, name] of Object.entries(names))
      await accounts.createKey({ ...key, id: Number(id), name, madeBy: 'tok_a' }, `of ${id}`, terms, noAuditContext);
    for (const used of [93, 91]) {
      await bench.settle(await bench.begin(10, { key: used }), 1, { key: used });
      bench.clock.advance(1_000);
      for (const usedMs = Date.now(); Date.now() === usedMs; ) await Bun.sleep(1); // stores with a clock of their own
    }
    const pagesOf = async (by: SortedKeys['by'], order: 'asc' | 'desc', accountId: number | null = null) => {
      const seen: number[] = [];
      for (let after: SortedRow | null = null, turn = 0; turn < 9; turn++) {
        const rows = await accounts.sortKeys({ ...everyKey, by, order, accountId, madeBy: 'tok_a', after, limit: 2 });
        seen.push(...rows.map(({ id }) => id));
        after = rows.at(-1) ?? null;
        if (rows.length < 2) break;
      }
      return seen;
    };
    expect(await pagesOf('name', 'asc')).toEqual([92, 91, 93]);
    expect(await pagesOf('name', 'desc', key.accountId)).toEqual([93, 91, 92]);
    expect(await pagesOf('last_used', 'desc')).toEqual([91, 93, 92]);
    expect(await pagesOf('created', 'desc')).toEqual([93, 92, 91]);
    expect(await pagesOf('created', 'asc', key.accountId + 1)).toEqual([]);
    expect(await accounts.sortKeys(everyKey)).toHaveLength(4);
  });

  test('accounts by name and balance, of those with a part of a name or a group', async () => {
    await using bench = await openWorkbench(open, 50);
    const { accounts } = bench.stores;
    const first = (await accounts.getAccount(bench.account)) as Account;
    const ids = [first.id];
    for (const [name, balance] of [
      ['Beta', 10],
      ['alphabet', 90],
    ] as const) {
      const id = await bench.addAccount(balance);
      ids.push(id);
      const account = (await accounts.getAccount(id)) as Account;
      const accountTerms = { enabled: true, creditLine: 0, allowance: null, allowancePeriod: 'total' } as const;
      await accounts.updateAccount({ ...account, name, groups: [`of-${name}`] }, accountTerms, noAuditContext);
    }
    const [, beta, alphabet] = ids as [number, number, number];
    const sorted = async (page: Partial<SortedAccounts>) => {
      const all = { by: 'name', order: 'asc', after: null, limit: 9, name: null, group: null } as const;
      return (await accounts.sortAccounts({ ...all, ...page })).map(({ id }) => id);
    };
    expect(await sorted({ name: 'bet' })).toEqual([alphabet, beta]);
    expect(await sorted({ by: 'balance', order: 'desc' })).toEqual([alphabet, first.id, beta]);
    expect(await sorted({ by: 'balance', after: { value: 10, id: beta } })).toEqual([first.id, alphabet]);
    expect(await sorted({ group: 'of-Beta' })).toEqual([beta]);
    expect(await sorted({ group: 'Beta' })).toEqual([]);
  });
}

function searchTests(open: OpenStores): void {
  test('keys by a part of their name, secret, tags or account, and by their status', async () => {
    await using bench = await openWorkbench(open, 1_000);
    const { accounts } = bench.stores;
    const { name: _, ...key } = await keyOf(bench);
    const other = await bench.addAccount(10);
    const account = (await accounts.getAccount(other)) as Account;
    const accountTerms = { enabled: true, creditLine: 0, allowance: null, allowancePeriod: 'total' } as const;
    await accounts.updateAccount({ ...account, name: 'Rockets 50%' }, accountTerms, noAuditContext);
    const made: Pick<Key, 'id' | 'name'>[] = [
      { id: 91, name: 'beta' },
      { id: 92, name: 'Alphabet' },
      { id: 93, name: 'gamma' },
    ];
    const more: Partial<Key>[] = [
      { prefix: 'sk-tp-Xyz', tags: { team: 'Search "a"', env: 'prod' } },
      { accountId: other, expiresAtMs: 500 },
      { status: 'revoked' },
    ];
    for (const [at, one] of made.entries())
      await accounts.createKey({ ...key, ...one, ...more[at] }, `of ${one.id}`, terms, noAuditContext);
    const found = async (page: Partial<SortedKeys>) =>
      (await accounts.sortKeys({ ...everyKey, ...page })).map(({ id }) => id).filter((id) => id > 90 && id < 94);
    expect(await found({ text: 'bet' })).toEqual([91, 92]);
    expect(await found({ text: 'bet', by: 'name', order: 'asc' })).toEqual([92, 91]);
    expect(
      await found({ text: 'bet', by: 'name', order: 'asc', limit: 1, after: { value: 'alphabet', id: 92 } }),
    ).toEqual([91]);
    expect(await found({ text: 'tp-xyz' })).toEqual([91]);
    expect(await found({ text: 'team:search' })).toEqual([91]);
    expect(await found({ text: 'rockets 50%' })).toEqual([92]);
    expect(await found({ text: 'bet', accountId: other })).toEqual([92]);
    expect(await found({ text: '%' })).toEqual([92]);
    expect(await found({ status: { is: 'revoked', atMs: 1 } })).toEqual([93]);
    expect(await found({ status: { is: 'expired', atMs: 500 } })).toEqual([92]);
    expect(await found({ status: { is: 'enabled', atMs: 499 } })).toEqual([91, 92]);
    expect(await found({ status: { is: 'enabled', atMs: 500 }, text: 'bet', by: 'last_used' })).toEqual([91]);
  });
}

function tokenTests(open: OpenStores): void {
  test('tokens by their secrets, and lists of them by account', async () => {
    await using bench = await openWorkbench(open, 0);
    const { tokens } = bench.stores;
    const token = (id: number, accountId: number | null): AccessToken => ({
      id,
      accountId,
      role: accountId === null ? 'viewer' : 'owner',
      name: '',
      prefix: 'tk-tp-abcd',
      status: 'enabled',
      expiresAtMs: null,
      madeBy: 'local',
      createdAtMs: START_MS + id,
    });
    await tokens.createToken(token(1, null), 'hash 1', noAuditContext);
    await tokens.createToken(token(2, bench.account), 'hash 2', noAuditContext);
    await tokens.updateToken({ ...token(2, bench.account), status: 'revoked' }, noAuditContext);
    expect(await tokens.findTokenBySecretHash(['hash 2'])).toMatchObject({ id: 2, status: 'revoked' });
    expect(await tokens.findTokenBySecretHash(['hash 3'])).toBeNull();
    expect(await tokens.getToken(1)).toEqual(token(1, null));
    expect(await tokens.getToken(3)).toBeNull();
    const idsOf = (rows: AccessToken[]) => rows.map((row) => row.id);
    expect(idsOf(await tokens.listTokens({ accountId: null, after: null, limit: 9 }))).toEqual([1, 2]);
    expect(idsOf(await tokens.listTokens({ accountId: null, after: 1, limit: 9 }))).toEqual([2]);
    expect(idsOf(await tokens.listTokens({ accountId: bench.account, after: null, limit: 9 }))).toEqual([2]);
    expect([await tokens.countTokens(bench.account), await tokens.countTokens(404)]).toEqual([1, 0]);
    await failureOf(tokens.createToken(token(4, null), 'hash 1', noAuditContext));
  });
}

const record = (object: string, members: Partial<AuditRecord> = {}): AuditRecord => ({
  atMs: START_MS,
  actor: { id: 'tok_a', role: 'owner', address: '192.0.2.1', requestId: 'req_1' },
  action: 'key.update',
  object,
  account: 7,
  before: { name: 'a' },
  after: { name: 'b' },
  ...members,
});
const auditContextOf = (...audit: AuditRecord[]): AuditContext => ({ audit, creation: null });

function auditTests(open: OpenStores): void {
  test('audit records of changes that were made, and none of refused changes', async () => {
    await using bench = await openWorkbench(open, 10);
    const { accounts, audit } = bench.stores;
    const key = await keyOf(bench);
    await accounts.updateKey({ ...key, name: 'b' }, terms, auditContextOf(record('key_1')));
    const account = (await accounts.getAccount(bench.account)) as Account;
    const owing = { enabled: true, creditLine: -20, allowance: null, allowancePeriod: 'total' } as const;
    await failureOf(accounts.updateAccount(account, owing, auditContextOf(record('acct_1'))));
    const stored = await audit.listAudit(allChanges);
    expect(stored).toEqual([{ ...record('key_1'), seq: expect.any(Number) as never }]);
  });

  test('audit records that can be filtered, newest first, in pages', async () => {
    await using bench = await openWorkbench(open, 0);
    const { catalog, audit } = bench.stores;
    const other = { id: 'tok_b', role: 'operator', address: '', requestId: null } as const;
    await catalog.saveCatalog([], [], auditContextOf(record('one'), record('two', { atMs: START_MS + 5, account: 8 })));
    await catalog.saveCatalog(
      [],
      [],
      auditContextOf(record('three', { atMs: START_MS + 9, actor: other, account: null })),
    );
    const found = async (page: Partial<typeof allChanges> | object) =>
      (await audit.listAudit({ ...allChanges, ...page })).map((one) => one.object);
    expect(await found({})).toEqual(['three', 'two', 'one']);
    expect(await found({ account: 8 })).toEqual(['two']);
    expect(await found({ actor: 'tok_a' })).toEqual(['two', 'one']);
    expect(await found({ actor: 'tok_a', account: 7 })).toEqual(['one']);
    expect(await found({ object: 'three', actor: 'tok_a' })).toEqual([]);
    expect(await found({ sinceMs: START_MS + 5 })).toEqual(['three', 'two']);
    expect(await found({ untilMs: START_MS + 5 })).toEqual(['two', 'one']);
    const [first] = await audit.listAudit({ ...allChanges, limit: 1 });
    expect(await found({ before: first?.seq })).toEqual(['two', 'one']);
  });
}

function creationTests(open: OpenStores): void {
  test('changes with the epoch they are based on, and changes that notify other nodes', async () => {
    await using bench = await openWorkbench(open, 0);
    const { accounts, gate } = bench.stores;
    const key = await keyOf(bench);
    const since = { epoch: Number.MAX_SAFE_INTEGER, account: bench.account };
    await accounts.updateKey({ ...key, name: 'named' }, terms, { ...noAuditContext, since });
    expect((await keyOf(bench)).name).toBe('named');
    await spreadCut(gate, bench.key);
  });

  test('a creation under its idempotency key for one day', async () => {
    await using bench = await openWorkbench(open, 0);
    const { catalog, audit } = bench.stores;
    const creation = (idempotencyKey: string, atMs: number): RememberedCreation => ({
      principal: 'tok_a',
      idempotencyKey,
      atMs,
      requestHash: 'hash',
      object: 'key_1',
      secretSealed: null,
    });
    const remember = (one: RememberedCreation) => catalog.saveCatalog([], [], { audit: [], creation: one });
    await remember(creation('first', START_MS));
    expect(await audit.findCreation('tok_a', 'first')).toEqual(creation('first', START_MS));
    expect(await audit.findCreation('tok_b', 'first')).toBeNull();
    await remember(creation('second', START_MS + 86_400_000 - 1));
    expect(await audit.findCreation('tok_a', 'first')).not.toBeNull();
    await remember(creation('first', START_MS + 86_400_000));
    expect((await audit.findCreation('tok_a', 'first'))?.atMs).toBe(START_MS + 86_400_000);
  });
}
