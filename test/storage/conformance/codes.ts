// Redemption codes in every store: a code is credited once, whatever its requests were decided by.

import { expect, test } from 'bun:test';
import { Outpaced } from '../../../src/ledger/ledger.ts';
import { type CodeBatch, codeReference, type StoredCode } from '../../../src/payments/payments.ts';
import { failureOf, type OpenStores, openWorkbench, START_MS, type Workbench } from '../../money/ledger/workbench.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';

const batchOf = (facts: Partial<CodeBatch> = {}): CodeBatch => ({
  id: 7,
  name: 'spring',
  kind: 'promotion',
  amount: 5,
  count: 3,
  redeemed: 0,
  expiresAtMs: null,
  isOncePerAccount: false,
  note: 'welcome',
  status: 'enabled',
  madeBy: 'local',
  createdAtMs: START_MS,
  ...facts,
});

const hashesOf = (batch: CodeBatch) => Array.from({ length: batch.count }, (_, at) => `hash ${batch.id}.${at + 1}`);

async function create({ stores }: Workbench, facts: Partial<CodeBatch> = {}): Promise<CodeBatch> {
  const batch = batchOf(facts);
  await stores.codes.createCodeBatch(batch, hashesOf(batch), noAuditContext);
  return batch;
}

/** Redeems a code that nobody has redeemed, as far as this request knows. */
async function redeem({ stores, account, clock }: Workbench, batch: CodeBatch, number: number, by = account) {
  const code: StoredCode = { batch: batch.id, number, redemption: null };
  const [answer] = await stores.gate.submit({
    operations: [
      {
        kind: 'credit',
        account: by,
        amount: batch.amount,
        source: batch.kind,
        reference: codeReference(code),
        note: batch.note,
      },
    ],
    coCommitted: stores.codes.redemptionRows(batch, code, { account: by, by: 'tok_1', atMs: clock.nowMs() }),
  });
  return answer;
}

async function balanceOf({ stores, clock }: Workbench, account: number): Promise<number | undefined> {
  return (await stores.ledger.accountMeters(account, clock.nowMs()))?.balance;
}

export function codeConformance(open: OpenStores): void {
  batchTests(open);
  redemptionTests(open);
}

function batchTests(open: OpenStores): void {
  test('batches of codes, newest first, and their codes in order', async () => {
    await using bench = await openWorkbench(open, 0);
    const { codes } = bench.stores;
    const batches: CodeBatch[] = [];
    for (const [at, createdAtMs] of [START_MS, START_MS + 1, START_MS + 1].entries())
      batches.push(await create(bench, { id: 10 + at, createdAtMs, expiresAtMs: START_MS + 9, kind: 'payment' }));
    const [first, second, third] = batches as [CodeBatch, CodeBatch, CodeBatch];
    expect(await codes.listCodeBatches({ before: null, limit: 9 })).toEqual([third, second, first]);
    expect(await codes.listCodeBatches({ before: 12, limit: 1 })).toEqual([second]);
    expect(await codes.getCodeBatch(11)).toEqual(second);
    expect(await codes.getCodeBatch(99)).toBeNull();
    await codes.setCodeBatchStatus(11, 'disabled', noAuditContext);
    expect(await codes.getCodeBatch(11)).toEqual({ ...second, status: 'disabled' });
    const listed = await codes.listCodes({ batch: 10, after: 1, limit: 9 });
    expect(listed).toEqual([2, 3].map((number) => ({ batch: 10, number, redemption: null })));
    expect(await codes.findCode('hash 12.3')).toEqual({
      batch: third,
      code: { batch: 12, number: 3, redemption: null },
    });
    expect(await codes.findCode('hash 12.4')).toBeNull();
  });

  test('a batch of more codes than one statement takes', async () => {
    await using bench = await openWorkbench(open, 0);
    await create(bench, { count: 1_203 });
    expect((await bench.stores.codes.findCode('hash 7.1203'))?.code.number).toBe(1_203);
    expect(await bench.stores.codes.listCodes({ batch: 7, after: 1_200, limit: 9 })).toHaveLength(3);
  });
}

function redemptionTests(open: OpenStores): void {
  test('one redemption of a code, and refuses others that were decided before it', async () => {
    await using bench = await openWorkbench(open, 10);
    const batch = await create(bench);
    const other = await bench.addAccount(0);
    expect(await redeem(bench, batch, 2)).toMatchObject({ ok: true, amount: 5, repeated: false });
    expect(await failureOf(redeem(bench, batch, 2, other))).toBeInstanceOf(Outpaced);
    expect(await redeem(bench, batch, 2)).toMatchObject({ ok: true, amount: 5, repeated: true });
    expect([await balanceOf(bench, bench.account), await balanceOf(bench, other)]).toEqual([15, 0]);
    const found = await bench.stores.codes.findCode('hash 7.2');
    expect(found?.batch).toEqual({ ...batch, redeemed: 1 });
    expect(found?.code.redemption).toMatchObject({ account: bench.account, by: 'tok_1' });
  });

  test('one redemption of a code that many accounts redeem at once, and refuses only the others', async () => {
    await using bench = await openWorkbench(open, 0);
    const batch = await create(bench);
    const accounts = [bench.account];
    while (accounts.length < 8) accounts.push(await bench.addAccount(0));
    const others = [bench.credit(1), bench.credit(1)];
    const results = await Promise.allSettled(accounts.map((account) => redeem(bench, batch, 1, account)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const one of results) if (one.status === 'rejected') expect(one.reason).toBeInstanceOf(Outpaced);
    await Promise.all(others);
    const balances = await Promise.all(accounts.map((account) => balanceOf(bench, account)));
    expect(balances.reduce((sum: number, balance) => sum + (balance ?? 0), 0)).toBe(7);
    expect((await bench.stores.codes.getCodeBatch(batch.id))?.redeemed).toBe(1);
  });

  test('one code per account of a batch that is once per account', async () => {
    await using bench = await openWorkbench(open, 0);
    const batch = await create(bench, { isOncePerAccount: true });
    const other = await bench.addAccount(0);
    expect(await bench.stores.codes.hasRedeemed(batch.id, bench.account)).toBe(false);
    const attempts = await Promise.allSettled([1, 2, 3].map((number) => redeem(bench, batch, number)));
    expect(attempts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const left = (await bench.stores.codes.listCodes({ batch: batch.id, after: null, limit: 3 })).find(
      ({ redemption }) => redemption === null,
    ) as StoredCode;
    expect(await redeem(bench, batch, left.number, other)).toMatchObject({ ok: true, repeated: false });
    expect(await bench.stores.codes.hasRedeemed(batch.id, bench.account)).toBe(true);
    expect([await balanceOf(bench, bench.account), await balanceOf(bench, other)]).toEqual([5, 5]);
  });

  test('no redemption of a batch that expired or was disabled meanwhile', async () => {
    await using bench = await openWorkbench(open, 0);
    const expired = await create(bench, { id: 8, expiresAtMs: bench.clock.nowMs() });
    const disabled = await create(bench, { id: 9 });
    await bench.stores.codes.setCodeBatchStatus(9, 'disabled', noAuditContext);
    for (const batch of [expired, disabled]) expect(await failureOf(redeem(bench, batch, 1))).toBeInstanceOf(Outpaced);
    expect(await balanceOf(bench, bench.account)).toBe(0);
    await bench.stores.codes.setCodeBatchStatus(9, 'enabled', noAuditContext);
    expect(await redeem(bench, disabled, 1)).toMatchObject({ ok: true });
  });
}
