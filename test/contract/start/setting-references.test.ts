// Settings that are references to a file: read at the start, read again while the service runs, and their faults.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runTurnpike } from '../../support/run-turnpike.ts';
import { type ScriptedSmtp, startScriptedSmtp } from '../../support/scripted-smtp.ts';
import { spawnTurnpike } from '../../support/start-turnpike.ts';

const directory = mkdtempSync(join(tmpdir(), 'turnpike-references-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Writes a secret as operators should: the file is complete when it appears. */
function write(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
  return path;
}

const reference = (path: string, field?: string) => JSON.stringify({ type: 'file', path, field });

describe('a service whose secrets are in files', () => {
  const KEYS = ['sk_test_first000000000', 'sk_test_second00000000'] as const;
  let mails: ScriptedSmtp;
  let stripe: Bun.Server<undefined>;
  const keys: (string | null)[] = [];
  beforeAll(async () => {
    mails = await startScriptedSmtp({ extensions: ['AUTH PLAIN'] });
    stripe = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch({ headers }) {
        keys.push(headers.get('authorization'));
        return Response.json({ error: { type: 'invalid_request_error', message: 'no' } }, { status: 401 });
      },
    });
  });
  afterAll(async () => {
    await mails[Symbol.asyncDispose]();
    await stripe.stop(true);
  });

  const smtpUrl = (password: string) => `smtp://user:${password}@127.0.0.1:${mails.port}`;
  const writeAll = (key: string, password: string) => {
    write('stripe.json', JSON.stringify({ key, webhook: 'whsec_scripted0000' }));
    return write('smtp', smtpUrl(password));
  };
  const login = (password: string) => `AUTH PLAIN ${Buffer.from(`\0user\0${password}`).toString('base64')}`;

  test('uses them, and what they contain later, without a restart', async () => {
    const smtp = writeAll(KEYS[0], 'first-word');
    const stripeFile = join(directory, 'stripe.json');
    await using turnpike = await spawnTurnpike(undefined, {
      TURNPIKE_CREDENTIAL_DIRECTORIES: directory,
      TURNPIKE_PUBLIC_URL: 'https://turnpike.example.com',
      TURNPIKE_MAIL_FROM: 'turnpike@example.com',
      TURNPIKE_SMTP_URL: reference(smtp),
      TURNPIKE_STRIPE_SECRET_KEY: reference(stripeFile, 'key'),
      TURNPIKE_STRIPE_WEBHOOK_SECRET: reference(stripeFile, 'webhook'),
      TURNPIKE_STRIPE_API_URL: stripe.url.origin,
    });
    const { account } = await turnpike.makeKey({ credit: '0' });
    const { token } = await turnpike.admin('POST', '/tokens', { role: 'owner', account });
    const pay = () =>
      fetch(`${turnpike.url}/api/v1/payments`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ amount: '10' }),
      });
    let invited = 0;
    const invite = () => turnpike.admin('POST', '/people', { email: `person${invited++}@example.com`, role: 'viewer' });
    await Promise.all([pay(), invite()]);
    await mails.untilMails(1);
    expect(keys).toEqual([`Bearer ${KEYS[0]}`]);
    expect(mails.commands).toContain(login('first-word'));
    writeAll(KEYS[1], 'second-word');
    while (keys.at(-1) !== `Bearer ${KEYS[1]}` || !mails.commands.includes(login('second-word'))) {
      await Promise.all([pay(), invite()]);
      await Bun.sleep(200);
    }
  });
});

test('what is wrong with a reference is said with its setting, without the text', async () => {
  mkdirSync(join(directory, 'data'));
  const environment = {
    TURNPIKE_CREDENTIAL_DIRECTORIES: directory,
    TURNPIKE_SECRET: reference(join(directory, 'missing')),
    TURNPIKE_DATABASE_URL: reference('/etc/hostname'),
    TURNPIKE_OIDC_CLIENT_SECRET: '{"type":"env","name":"MY_API_KEY"}',
    TURNPIKE_SMTP_URL: '{hidden-word',
    TURNPIKE_STRIPE_SECRET_KEY: '{"type":"vault","secret":"secret/data/turnpike","field":"stripe"}',
    TURNPIKE_STRIPE_WEBHOOK_SECRET: reference(write('empty', '')),
  };
  const flags = ['--data', join(directory, 'data')];
  const { exitCode, error } = await runTurnpike(['serve', ...flags], environment);
  expect(exitCode).toBe(2);
  for (const fault of [
    `TURNPIKE_SECRET: its reference cannot be read: the file ${join(directory, 'missing')} does not exist`,
    'TURNPIKE_DATABASE_URL: its reference cannot be read: /etc/hostname is not below the directories',
    'TURNPIKE_OIDC_CLIENT_SECRET: its reference cannot be read: type must be one of file, aws_secret',
    'TURNPIKE_SMTP_URL: its reference cannot be read: it begins with "{", but is not JSON',
    'TURNPIKE_STRIPE_SECRET_KEY: its reference cannot be read: the environment variable VAULT_ADDR is not set',
    `TURNPIKE_STRIPE_WEBHOOK_SECRET: its reference cannot be read: the file ${join(directory, 'empty')} is empty`,
  ])
    expect(error).toContain(fault);
  expect(error).not.toContain('hidden-word');
  const doctor = await runTurnpike(['doctor', ...flags, '--json'], environment);
  expect(doctor.exitCode).toBe(1);
  expect(doctor.out).toContain('TURNPIKE_SMTP_URL: its reference cannot be read');
  // A command that only calls a service does not need them.
  const { error: clientError } = await runTurnpike(['key', 'list', ...flags], environment);
  expect(clientError).toContain('no service is running here');
});

test('the installation’s secret may be a reference', async () => {
  const path = write('secret', Buffer.alloc(32, 7).toString('base64'));
  const environment = { TURNPIKE_CREDENTIAL_DIRECTORIES: directory, TURNPIKE_SECRET: reference(path) };
  await using turnpike = await spawnTurnpike(undefined, environment);
  const { secret } = await turnpike.makeKey({ credit: '1' });
  expect((await turnpike.post(secret, {})).status).toBe(400);
});
