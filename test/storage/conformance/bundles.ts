// Bundles: all operations or none, with rows of other modules in the same transaction.

import { expect, test } from 'bun:test';
import type { Operation } from '../../../src/ledger/ledger.ts';
import { failureOf, type OpenStores, openWorkbench, type Workbench } from '../../money/ledger/workbench.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';

export function bundleConformance(open: OpenStores): void {
  bundleTests(open);
  coCommittedTests(open);
}

function bundleTests(open: OpenStores): void {
  test('whose operations see each other’s effects', async () => {
    await using bench = await openWorkbench(open, 0);
    const admission = bench.admission(50);
    const record = bench.record(admission.requestId, { cost: 20 });
    const answers = await bench.stores.gate.submit({
      operations: [creditOf(bench, 50), admission, { kind: 'settle', requestId: admission.requestId, record }],
    });
    expect(answers).toMatchObject([{ balance: 50 }, { kind: 'admitted' }, { cost: 20 }]);
    expect(await bench.wallet()).toEqual({ balance: 30, held: 0 });
  });

  test('as a whole or not at all, each refusal with its own answer', async () => {
    await using bench = await openWorkbench(open, 10);
    const answers = await bench.stores.gate.submit({
      operations: [creditOf(bench, 5), creditOf(bench, -100), creditOf(bench, 7)],
    });
    expect(answers).toEqual([
      { ok: false, reason: 'bundle_refused' },
      { ok: false, reason: 'below_available', available: 15 },
      { ok: false, reason: 'bundle_refused' },
    ]);
    expect(await bench.wallet()).toEqual({ balance: 10, held: 0 });
    expect(await bench.entries()).toHaveLength(1);
  });

  test('that end a message of an earlier bundle in the same batch', async () => {
    await using bench = await openWorkbench(open, 100);
    const admission = bench.admission(50);
    const record = bench.record(admission.requestId, { cost: 20 });
    const settle: Operation = { kind: 'settle', requestId: admission.requestId, record };
    await Promise.all([
      bench.ask(admission),
      bench.stores.gate.submit({ operations: [settle, creditOf(bench, 1)] }),
      bench.stores.gate.submit({ operations: [settle, creditOf(bench, 1, 'once')] }),
      bench.stores.gate.submit({ operations: [creditOf(bench, 1, 'once'), creditOf(bench, 1, 'once')] }),
    ]);
    expect(await bench.wallet()).toEqual({ balance: 82, held: 0 });
  });

  test('without operations', async () => {
    await using bench = await openWorkbench(open, 0);
    expect(await bench.stores.gate.submit({ operations: [] })).toEqual([]);
  });
}

function coCommittedTests(open: OpenStores): void {
  test('with co-committed rows, and without them if the bundle is refused', async () => {
    await using bench = await openWorkbench(open, 100);
    const account = await bench.stores.accounts.getAccount(bench.account);
    if (account === null) throw new Error('the account is not there');
    const terms = { enabled: false, creditLine: 0, allowance: null, allowancePeriod: 'total' } as const;
    await bench.begin(100);
    await bench.stores.accounts.updateAccount(
      { ...account, name: 'renamed', status: 'disabled' },
      terms,
      noAuditContext,
    );
    expect(await bench.stores.accounts.getAccount(bench.account)).toMatchObject({ name: 'renamed' });
    expect(await bench.admit(1)).toMatchObject({ reason: 'account_disabled' });
    await bench.credit(10);
    const tooFar = { ...terms, creditLine: Number.MAX_SAFE_INTEGER };
    expect(
      await failureOf(
        bench.stores.accounts.updateAccount({ ...account, name: 'renamed again' }, tooFar, noAuditContext),
      ),
    ).toMatchObject({ code: 'invalid_request' });
    expect(await bench.stores.accounts.getAccount(bench.account)).toMatchObject({ name: 'renamed' });
  });

  test('without co-committed rows if the credit was given before', async () => {
    await using bench = await openWorkbench(open, 0);
    const document = (name: string) => ({ kind: 'group', name, origin: 'file', document: { models: ['*'] } });
    for (const name of ['first', 'again']) {
      const coCommitted = [{ table: 'catalog', put: document(name) }];
      await bench.stores.gate.submit({ operations: [creditOf(bench, 5, 'invoice 1')], coCommitted });
    }
    expect((await bench.stores.catalog.loadCatalog()).map(({ name }) => name)).toEqual(['first']);
    expect(await bench.wallet()).toEqual({ balance: 5, held: 0 });
  });

  test('with a key that is found by its hash, also after a change', async () => {
    await using bench = await openWorkbench(open, 100);
    const caller = await bench.stores.accounts.findKeyBySecretHash([`hash of ${bench.key}`]);
    expect(caller).toMatchObject({ account: { id: bench.account }, key: { id: bench.key } });
    if (caller === null) throw new Error('the key is not there');
    const terms = { status: 'disabled', expiresAtMs: null, quota: null, quotaPeriod: 'total' } as const;
    const limits = {
      requestsPerMinute: 1,
      inputTokensPerMinute: 2,
      outputTokensPerMinute: 3,
      concurrency: 4,
    };
    await bench.stores.accounts.updateKey(
      { ...caller.key, status: 'disabled' },
      { ...terms, ...limits },
      noAuditContext,
    );
    const changed = await bench.stores.accounts.findKeyBySecretHash([`hash of ${bench.key}`]);
    expect(changed).toMatchObject({ key: { status: 'disabled' } });
    expect(await bench.stores.ledger.keyMeters(bench.key, bench.clock.nowMs())).toMatchObject(limits);
    expect(await bench.stores.accounts.findKeyBySecretHash(['hash of nothing'])).toBeNull();
  });

  test('that put and remove documents of the catalog together', async () => {
    await using bench = await openWorkbench(open, 0);
    const put = (name: string) => ({ kind: 'group', name, origin: 'file', document: { models: ['*'] } }) as never;
    await bench.stores.catalog.saveCatalog([put('b'), put('a')], [], noAuditContext);
    await bench.stores.catalog.saveCatalog([put('c')], [{ kind: 'group', name: 'b' } as never], noAuditContext);
    expect((await bench.stores.catalog.loadCatalog()).map(({ name }) => name)).toEqual(['a', 'c']);
  });
}

function creditOf(bench: Workbench, amount: number, reference: string | null = null): Operation {
  return { kind: 'credit', account: bench.account, amount, source: 'payment', reference, note: null };
}
