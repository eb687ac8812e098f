// An installation as a real service leaves it, for tests that move it: every table has rows, over several months, and
// a former secret is still needed.

import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from 'bun';
import { DAY_MS } from '../../../src/base/clock.ts';
import { newRequestId } from '../../../src/base/ids.ts';
import { GroupCommit, journalRetainedSinceMs } from '../../../src/ledger/ledger.ts';
import {
  ConnectionWriter,
  databasePath,
  openForWriting,
  SqliteLedgerStore,
  sqliteStores,
  sumLedger,
} from '../../../src/storage/sqlite/sqlite.ts';
import { secretIn } from '../../contract/admin-api/mailing.ts';
import { NO_LIMITS, Workbench } from '../../money/ledger/workbench.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { runTurnpike } from '../../support/run-turnpike.ts';
import { readMail, type ScriptedSmtp, startScriptedSmtp } from '../../support/scripted-smtp.ts';
import { ScriptedStripe } from '../../support/scripted-stripe.ts';
import { spawnTurnpike, type Turnpike } from '../../support/start-turnpike.ts';

export interface InstallationToMove {
  /** Data directory, to be copied. */
  directory: string;
  /** Key of the account with this id and balance. */
  key: string;
  account: string;
  /** Another key of it, hashed under the former secret. */
  oldKey: string;
  token: string;
  /** Environment variables that give nodes its secrets. */
  secrets: { TURNPIKE_SECRET: string; TURNPIKE_PREVIOUS_SECRET: string };
}

const MONTHS_DAYS = 124;
/** The reserve of a batch, with what is left in it. No start of a service ends it. */
export const OPEN_RESERVE = { requestId: 'rsv_5000000000_0', amount: 30 };
export const MESSAGE = { model: 'sandbox-echo', max_tokens: 50, messages: [{ role: 'user', content: 'Hello there' }] };

/** Posts a message, which must be answered, and returns its id. */
export async function postMessage(turnpike: Turnpike, key: string, more: RequestInit = {}): Promise<string> {
  const response = await turnpike.post(key, MESSAGE, more);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status}: ${text}`);
  return response.headers.get('request-id') as string;
}

let shared: Promise<InstallationToMove> | null = null;

/** Shared by all tests of this process, which move copies of it. */
export function sharedInstallation(): Promise<InstallationToMove> {
  shared ??= makeInstallation();
  return shared;
}

/** Served, stopped, given another secret, and served again; then used for months. */
async function makeInstallation(): Promise<InstallationToMove> {
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-move-'));
  // The pipe closes when this process ends, for whatever reason.
  spawn(['sh', '-c', 'cat; rm -rf "$0"', directory], { stdin: 'pipe', stdout: 'ignore', stderr: 'ignore' }).unref();
  const first = await useFirst(directory);
  const rotated = await runTurnpike(['secret', 'rotate', '--data', directory]);
  if (rotated.exitCode !== 0) throw new Error(rotated.error);
  await useAgain(directory, first);
  await useForMonths(databasePath(directory));
  const read = (name: string) => readFileSync(join(directory, name), 'utf8').trim();
  const secrets = { TURNPIKE_SECRET: read('secret'), TURNPIKE_PREVIOUS_SECRET: read('secret.previous') };
  return { directory, ...first, secrets };
}

async function useFirst(directory: string): Promise<Pick<InstallationToMove, 'key' | 'oldKey' | 'account' | 'token'>> {
  await using turnpike = await spawnTurnpike(directory);
  const { account, secret } = await turnpike.makeKey({ credit: '25.00' });
  const more = await turnpike.admin('POST', '/keys', { account });
  await turnpike.admin('POST', '/people', { email: 'ada@example.com', role: 'operator' });
  const token = await turnpike.admin('POST', '/tokens', { name: 'reports', role: 'viewer' });
  for (let count = 0; count < 5; count++) await postMessage(turnpike, secret);
  await postMessage(turnpike, secret, { headers: { 'idempotency-key': 'order-1' } });
  await turnpike.post('wrong', MESSAGE);
  const refunded = await postMessage(turnpike, secret);
  await turnpike.admin('POST', `/usage/${refunded}/refunds`, { note: 'sorry' });
  await turnpike.admin('POST', `/keys/${more['id']}/rotate`, { grace: '24h' });
  await makeOnce(directory, account);
  return { account, key: secret, oldKey: more['key'] as string, token: token['token'] as string };
}

/** A key created under an idempotency key, with its secret sealed. */
async function makeOnce(directory: string, account: string): Promise<void> {
  const operator = JSON.parse(readFileSync(join(directory, 'operator.json'), 'utf8')) as { url: string; token: string };
  const response = await fetch(`${operator.url}/api/v1/keys`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${operator.token}`,
      'content-type': 'application/json',
      'idempotency-key': 'key-1',
    },
    body: JSON.stringify({ account }),
  });
  if (response.status !== 201) throw new Error(await response.text());
}

/** The first key is rehashed with the new secret, the others are not. Payments, codes, mails and events have rows. */
async function useAgain(directory: string, { key, account }: { key: string; account: string }): Promise<void> {
  const stripe = new ScriptedStripe();
  const listening = await stripe.listen();
  const smtp = await startScriptedSmtp();
  {
    await using turnpike = await spawnTurnpike(directory, {
      TURNPIKE_PUBLIC_URL: 'https://turnpike.example.com',
      TURNPIKE_STRIPE_SECRET_KEY: stripe.secretKey,
      TURNPIKE_STRIPE_WEBHOOK_SECRET: stripe.webhookSecret,
      TURNPIKE_STRIPE_API_URL: listening.url,
      TURNPIKE_SMTP_URL: smtp.url,
      TURNPIKE_MAIL_FROM: 'turnpike@example.com',
    });
    await postMessage(turnpike, key);
    await turnpike.admin('POST', '/apply', { document: { settings: { sign_up: 'on' } } });
    await signUp(turnpike, smtp);
    await addDelivery(turnpike);
    await turnpike.admin('POST', '/code-batches', { name: 'spring', amount: '1.00', count: 2 });
    await pay(turnpike, stripe, account);
  }
  await smtp[Symbol.asyncDispose]();
  await listening.stop();
}

async function signUp(turnpike: Turnpike, smtp: ScriptedSmtp): Promise<void> {
  const ask = (email: string) => turnpike.admin('POST', '/sign-ups', { email, name: 'Bea', account_name: 'Bea Ltd' });
  await ask('bea@example.com');
  const [mail] = await smtp.untilMails(1);
  const token = secretIn(readMail(mail?.raw ?? ''));
  await turnpike.admin('POST', '/sign-ups/accept', { token, password: 'long enough' });
  smtp.script = () => '451 Try again later'; // so that the next mail waits
  await ask('cyd@example.com');
}

/** It stays undelivered: there is no such host. */
async function addDelivery(turnpike: Turnpike): Promise<void> {
  const address = 'https://hooks.invalid/turnpike';
  const { id } = await turnpike.admin('POST', '/destinations', { kind: 'webhook', address, types: ['*'] });
  await turnpike.admin('POST', `/destinations/${id}/test`, {});
  while (((await turnpike.admin('GET', '/deliveries'))['data'] as unknown[]).length === 0) await Bun.sleep(20);
}

async function pay(turnpike: Turnpike, stripe: ScriptedStripe, account: string): Promise<void> {
  const { id } = await turnpike.admin('POST', '/payments', { account, amount: '10.00' });
  const session = [...stripe.state.sessions.values()].find(({ metadata }) => metadata['turnpike_payment'] === id);
  stripe.payCheckout(session?.id ?? '');
  for (const event of stripe.takeEvents()) {
    const { body, headers } = stripe.sign(event);
    await fetch(`${turnpike.url}/webhooks/stripe`, { method: 'POST', body, headers });
  }
}

/** Uses the stores directly, with a clock that the test sets: a test cannot wait for months. */
async function useForMonths(path: string): Promise<void> {
  const clock = manualClock(Date.now() - (MONTHS_DAYS + 1) * DAY_MS); // Its lease has lapsed since.
  const database = openForWriting(path);
  database.run('UPDATE leases SET expires_at_ms = 0'); // the services stopped long ago
  const stores = sqliteStores(
    path,
    new GroupCommit(new SqliteLedgerStore(database, clock, new ConnectionWriter(database))),
  );
  const close = () => {
    stores.close();
    database.close();
  };
  await using bench = new Workbench(clock, { stores, sums: () => sumLedger(path), close });
  await bench.takeLease('node-1');
  bench.account = await bench.addAccount(2 ** 53 - 10_000);
  bench.key = await bench.addKey();
  await bench.credit(700, { reference: 'order 1' });
  for (let at = 0; at < MONTHS_DAYS / 2; at++) {
    const requestId = newRequestId(clock.nowMs());
    await bench.begin(1000 + at, { requestId });
    await bench.settle(requestId, at % 7 === 0 ? 0 : 1000 + at, { providerCost: at % 2 === 0 ? 500 : null });
    clock.advance(DAY_MS * 2);
  }
  await bench.credit(1_000, { reference: 'order "7"\\{}', note: 'Zeilen\nund, "Zeichen" – {\\N} \u{1f600}' });
  await bench.stores.samples.saveSamples([['sandbox-echo', { ratios: [1.5] } as never]]);
  await bench.takeLease('node-1');
  await bench.begin(10, { requestId: newRequestId(clock.nowMs()) });
  await bench.begin(20, {
    requestId: newRequestId(clock.nowMs()),
    claim: { name: 'order-2', requestHash: 'hash' },
  });
  await reserveSome(bench);
  await carrySome(bench);
}

/** Makes the reserve, from which a message is running. */
async function reserveSome(bench: Workbench): Promise<void> {
  const { account, key, clock } = bench;
  const of = { account, key, group: 'default', limits: NO_LIMITS, draft: { model: 'sandbox-echo', stream: false } };
  await bench.ask({ kind: 'reserve', requestId: OPEN_RESERVE.requestId, ...of, amount: OPEN_RESERVE.amount + 15 });
  await bench.begin(15, {
    requestId: newRequestId(clock.nowMs()),
    reserve: OPEN_RESERVE.requestId,
    claim: { name: 'item 1', requestHash: 'hash' },
  });
}

/** Some of the oldest entries are replaced by an opening balance. */
async function carrySome({ stores, account, clock }: Workbench): Promise<void> {
  const beforeMs = journalRetainedSinceMs(2, clock.nowMs());
  await stores.retention.keepSince('usage', beforeMs);
  await stores.retention.forget('usage_records', beforeMs);
  await stores.retention.keepSince('journal', beforeMs);
  await stores.retention.carry(account, beforeMs);
}
