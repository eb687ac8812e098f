// Payments that were made after the backup that is restored: they are at the payment provider only, and `turnpike payments check`
// finds those of customers that the backup knows. Nothing is credited twice.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type PaymentsService, startPayments } from '../../contract/payments/payments-service.ts';
import { runTurnpike } from '../../support/run-turnpike.ts';
import { spawnTurnpike } from '../../support/start-turnpike.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'turnpike-restored-payments-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

interface Difference {
  kind: string;
  payment: string | null;
  account: string | null;
  worth: string | null;
}

async function pay(service: PaymentsService, session: string): Promise<void> {
  service.stripe.payCheckout(session);
  const statuses = await service.send(service.stripe.takeEvents());
  expect(statuses.every((status) => status === 200)).toBe(true);
}

async function beginFor(service: PaymentsService, account: string): Promise<string> {
  const { token } = await service.turnpike.admin('POST', '/tokens', { role: 'owner', account });
  const headers = { authorization: `Bearer ${token}` };
  const { body } = await service.ask('POST', '/payments', { amount: '5.00' }, headers);
  const sessions = [...service.stripe.state.sessions.values()];
  return sessions.find(({ metadata }) => metadata['turnpike_payment'] === body['id'])?.id ?? '';
}

test('one begun before the backup is credited once, one begun later is reported, and one of a later customer is not', async () => {
  await using service = await startPayments();
  const { turnpike, account, stripe } = service;
  const before = await service.begin('25.00');
  const file = join(directory, 'backup.db');
  expect((await runTurnpike(['backup', file, '--data', turnpike.dataDirectory])).exitCode).toBe(0);

  await pay(service, before.session);
  await pay(service, (await service.begin('10.00')).session);
  const { account: later } = await turnpike.makeKey({ credit: '0' });
  await pay(service, await beginFor(service, later));
  expect(await service.balance()).toBe('35.00');

  const data = join(directory, 'restored');
  const given = ['restore', file, '--data', data, '--secret', join(turnpike.dataDirectory, 'secret')];
  expect(await runTurnpike(given)).toMatchObject({ exitCode: 0, error: expect.stringContaining('payments check') });
  await using restored = await spawnTurnpike(data, {
    TURNPIKE_PUBLIC_URL: 'https://turnpike.example.com',
    TURNPIKE_STRIPE_SECRET_KEY: stripe.secretKey,
    TURNPIKE_STRIPE_WEBHOOK_SECRET: stripe.webhookSecret,
    TURNPIKE_STRIPE_API_URL: service.stripeUrl,
  });
  for (let times = 0; times < 2; times++) {
    const { exitCode, out } = await runTurnpike(['payments', 'check', '--repair', '--json', '--data', data]);
    const { differences } = JSON.parse(out) as { differences: Difference[] };
    expect([exitCode, differences]).toMatchObject([1, [{ kind: 'unknown', payment: null, account, worth: '10.00' }]]);
    expect(await restored.admin('GET', `/accounts/${account}`)).toMatchObject({ balance: '25.00' });
  }
  expect(await restored.check()).toMatchObject({ ok: true });
});
