// The JSON of usage records: what is written is read back, and so is what development versions wrote.

import { expect, test } from 'bun:test';
import { emptyRecord } from '../../src/ledger/usage-record.ts';
import { documents } from '../../src/storage/stored-documents.ts';
import { readDetails, writeDetails } from '../../src/storage/usage-details.ts';

const read = (json: string) => readDetails(documents.usageDetails.read(json), ADMITTED.account);

const ADMITTED = { requestId: 'req_1', account: 7, key: 9, group: 'default', model: 'm', stream: true };
const RATES = { tier: 'standard', input: '3' };
const EARLY_ATTEMPT = { provider: 'p', model: 'up', result: 'answered', status: 200, ms: 4 };
const ATTEMPT = { ...EARLY_ATTEMPT, credential: 'main', reason: 'why "so"', startedMs: 2 };
const QUOTA = { limit: 100, period: 'month', before: 5, after: 6 } as const;

test('details of a usage record are read as they were written', () => {
  for (const meters of [
    null,
    { balance: { before: 9, after: 8 }, quota: null, allowance: null },
    { balance: { before: 9, after: 8 }, quota: QUOTA, allowance: { ...QUOTA, period: 'day' as const } },
  ]) {
    const record = {
      ...emptyRecord(ADMITTED),
      provider: 'p',
      upstreamModel: 'up',
      usageSource: 'estimated' as const,
      rates: RATES,
      attempts: [ATTEMPT, { ...ATTEMPT, credential: null, status: null }],
      admittedMs: 3,
      latencyMs: 4,
      firstTokenMs: 5,
      meters,
    };
    expect({ ...record, ...read(writeDetails(record)) }).toStrictEqual(record);
    for (const planPaid of [0, 5]) {
      const failed = { ...record, planPaid, error: { code: 'upstream_overloaded', message: 'why "so"' } };
      expect({ ...failed, ...read(writeDetails(failed)) }).toStrictEqual(failed);
    }
    const below = { ...record, above: [5, 3], payer: 3, person: 12 };
    expect({ ...below, ...read(writeDetails(below)) }).toStrictEqual(below);
    const whole = { ...emptyRecord({ ...ADMITTED, stream: false }), meters };
    expect({ ...whole, ...read(writeDetails(whole)) }).toStrictEqual(whole);
  }
});

test('details that development versions wrote are read, and can be written again', () => {
  const shared = {
    provider: 'p',
    upstreamModel: 'up',
    stream: true,
    usageSource: 'reported' as const,
    rates: RATES,
    attempts: [EARLY_ATTEMPT],
    latencyMs: 4,
    firstTokenMs: null,
  };
  const quota = [QUOTA.limit, QUOTA.period, QUOTA.before, QUOTA.after];
  for (const [stored, details] of [
    [shared, { ...shared, admittedMs: null, meters: null, planPaid: 0, error: null }],
    [
      { ...shared, admittedMs: 3, meters: { balance: [9, 8], quota } },
      {
        ...shared,
        admittedMs: 3,
        meters: { balance: { before: 9, after: 8 }, quota: QUOTA, allowance: null },
        planPaid: 0,
        error: null,
      },
    ],
  ] as const) {
    const chain = { above: [], payer: ADMITTED.account, person: null };
    const attempts = [{ ...EARLY_ATTEMPT, credential: null, reason: null, startedMs: null }];
    expect(read(JSON.stringify(stored))).toEqual({ ...details, ...chain, attempts });
    const written = read(writeDetails({ ...emptyRecord(ADMITTED), ...details }));
    expect(written).toMatchObject({ ...details, attempts });
  }
});
