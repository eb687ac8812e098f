// Refused requests of the whole service: each is counted once under its key and code, and is seen by those who may.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { temporaryDirectory } from '../../storage/temporary-directory.ts';
import { spawnTurnpike, startOwnTurnpike, type Turnpike } from '../../support/start-turnpike.ts';

interface Refusal {
  account: string | null;
  key: string | null;
  code: string;
  status: number;
  count: number;
  message: string;
}

let turnpike: Turnpike;
beforeAll(async () => {
  turnpike = await startOwnTurnpike('it counts the refusals of all clients');
});
afterAll(() => turnpike.stop());

const message = (model = 'sandbox-echo') => ({
  model,
  max_tokens: 16,
  messages: [{ role: 'user', content: 'Hello' }],
});

const refusals = async (query = '') => (await turnpike.admin('GET', `/refusals${query}`))['data'] as Refusal[];

/** Code, status and number of the refusals of a key. */
const ofKey = async (key: string) =>
  (await refusals(`?key=${key}`)).map(({ code, status, count }) => `${code} ${status} ${count}`).toSorted();

test('every refusal of a known key is counted under it: bad requests, unknown models, an empty balance, rates, a revoked key', async () => {
  const rich = await turnpike.makeKey({ name: 'rich', credit: '10' }, { rpm: 2 });
  const empty = await turnpike.makeKey({ name: 'empty', credit: '0' });
  const answers = [
    await turnpike.post(rich.secret, message('no-such-model')),
    await turnpike.post(rich.secret, message('no-such-model')),
    await turnpike.post(rich.secret, { ...message(), max_tokens: 'many' }),
    await turnpike.post(empty.secret, message()),
    await turnpike.post(rich.secret, message()),
    await turnpike.post(rich.secret, message()),
    await turnpike.post(rich.secret, message()),
  ];
  expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400, 200, 200, 429]);
  await Promise.all(answers.map((answer) => answer.text()));
  await turnpike.admin('POST', `/keys/${rich.key}/revoke`, {});
  expect((await turnpike.post(rich.secret, message())).status).toBe(401);
  expect(await ofKey(rich.key)).toEqual([
    'invalid_request 400 1',
    'key_disabled 401 1',
    'model_not_found 400 2',
    'requests_rate_exceeded 429 1',
  ]);
  expect(await ofKey(empty.key)).toEqual(['insufficient_user_quota 400 1']);
  const [unknown] = await refusals(`?key=${rich.key}&code=model_not_found`);
  expect(unknown?.account).toBe(rich.account);
  expect(unknown?.message).toContain('no-such-model');
});

test('requests without a known key are counted by code, also those to paths that do not exist', async () => {
  const secret = `sk-tp-${'x'.repeat(49)}`;
  await turnpike.post(secret, message());
  await fetch(`${turnpike.url}/v1/models`);
  await fetch(`${turnpike.url}/v1/nowhere/${secret}`);
  await fetch(`${turnpike.url}/v1/messages`);
  const found = (await refusals()).filter(({ key }) => key === null);
  expect(found.map(({ code, status, account }) => `${code} ${status} ${account}`).toSorted()).toEqual([
    'key_invalid 401 null',
    'key_missing 401 null',
    'method_not_allowed 405 null',
    'route_not_found 404 null',
  ]);
  expect(JSON.stringify(found)).not.toContain(secret.slice(6));
});

test('an owner sees the refusals of the account, a member those of its own keys, and neither those of others', async () => {
  const { account, key, secret } = await turnpike.makeKey({ name: 'of owner' });
  const tokenOf = async (role: string) =>
    String((await turnpike.admin('POST', '/tokens', { name: role, role, account }))['token']);
  const [owner, member] = [await tokenOf('owner'), await tokenOf('member')];
  const ask = async (token: string, path: string, init: RequestInit = {}) =>
    (await fetch(`${turnpike.url}/api/v1${path}`, {
      ...init,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    }).then((response) => response.json())) as Record<string, unknown>;
  const made = await ask(member, '/keys', { method: 'POST', body: JSON.stringify({ name: 'own' }) });
  await turnpike.post(String(made['key']), message('mine'));
  await turnpike.post(secret, message('theirs'));
  await turnpike.post('wrong', message());
  const keysOf = async (token: string) =>
    ((await ask(token, '/refusals'))['data'] as Refusal[]).map((row) => row.key).toSorted();
  expect(await keysOf(owner)).toEqual([key, String(made['id'])].toSorted());
  expect(await keysOf(member)).toEqual([String(made['id'])]);
  const total = async (token: string, query = '') =>
    ((await ask(token, `/refusals/totals${query}`))['total'] as { count: number }).count;
  expect(await total(owner)).toBe(2);
  expect(await total(member)).toBe(1);
  expect(await total(owner, '?group_by=hour&code=model_not_found')).toBe(2);
  expect(await ask(member, `/refusals?key=${key}`)).toMatchObject({ error: { code: 'object_not_found' } });
});

test('what was counted is stored when the service stops', async () => {
  using directory = temporaryDirectory();
  const first = await spawnTurnpike(directory.path);
  await first.post('wrong', message());
  await first.stop();
  const second = await spawnTurnpike(directory.path);
  const { data } = await second.admin('GET', '/refusals');
  await second.stop();
  expect(data).toMatchObject([{ code: 'key_invalid', count: 1 }]);
});
