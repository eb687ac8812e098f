// Webhooks of a running service: signatures that the library of the specification accepts, types, and refused addresses.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Webhook } from 'standardwebhooks';
import { sharedTurnpike } from '../../support/shared-turnpike.ts';
import { startReceiver } from '../../support/start-receiver.ts';
import { startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';

let turnpike: Turnpike;
beforeAll(async () => {
  turnpike = await startTurnpike({ settings: { webhook_private_network: 'everyone' } });
});
afterAll(() => turnpike.stop());

test('a new key is reported to the account’s webhook with a valid signature, and to no other account', async () => {
  using own = startReceiver();
  using other = startReceiver();
  const { account } = await turnpike.makeKey();
  const { account: stranger } = await turnpike.makeKey();
  const create = (address: string, of: string) =>
    turnpike.admin('POST', '/destinations', { kind: 'webhook', address, types: ['key.*'], account: of });
  const { id, secret } = await create(own.url, account);
  await create(other.url, stranger);
  const key = await turnpike.admin('POST', '/keys', { account, name: 'new key' });
  await own.until((received) => received.length > 0);
  const [message] = own.received;
  expect(message).toMatchObject({ type: 'key.created', data: { key: key['id'], name: 'new key', actor: 'local' } });
  expect(message?.body).not.toContain(String(key['key']));
  const verify = (text: string) => new Webhook(String(secret)).verify(text, message?.headers ?? {});
  expect(verify(message?.body ?? '')).toMatchObject({ id: message?.id });
  expect(() => verify(`${message?.body} `)).toThrow();
  expect(other.received).toEqual([]);
  const { secret: second } = await turnpike.admin('POST', `/destinations/${id}/rotate`, {});
  await turnpike.admin('POST', `/destinations/${id}/test`, {});
  await own.until((received) => received.length > 1);
  const tested = own.received[1];
  for (const valid of [secret, second])
    new Webhook(String(valid)).verify(tested?.body ?? '', tested?.headers as Record<string, string>);
  const { data } = (await turnpike.admin('GET', `/deliveries?destination=${id}`)) as { data: { status: string }[] };
  expect(data).toHaveLength(2);
});

test('private addresses are refused by default, when the destination is created', async () => {
  await using strict = await sharedTurnpike();
  const create = (address: string, kind = 'webhook') =>
    strict.admin('POST', '/destinations', { kind, address, types: ['*'] }).then(
      () => 'created',
      (failure) => String(failure),
    );
  for (const address of ['https://127.0.0.1/', 'https://0x7f.1/', 'https://[::ffff:10.0.0.1]/', 'https://localhost/'])
    expect(await create(address)).toContain('private addresses are refused (setting webhook_private_network)');
  expect(await create('http://example.com/')).toContain('https://');
  expect(await create('https://169.254.169.254/latest', 'slack')).toContain('private addresses are refused');
});
