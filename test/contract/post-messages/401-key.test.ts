// Refused keys: missing, unknown, disabled, revoked, expired, or of a disabled account. The refusal comes before the
// body is checked.

import { afterAll, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { exchange } from '../../unit/http/raw-socket.ts';
import { bodyOf, expectError, expectMoney, expectNoTrace, GOOD, startOwnWorld } from './world.ts';

const world = await startOwnWorld(
  'its invalid keys count against the address of all tests, and it reads the data directory',
);
afterAll(() => world.stop());

const post = (headers: Record<string, string>, body = JSON.stringify(bodyOf())) =>
  fetch(`${world.url}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
const refuse = (response: Response, code: string) => expectError(response, 401, 'authentication_error', code);

test('a missing key, an empty one, and another scheme are key_missing', async () => {
  for (const headers of [{}, { 'x-api-key': '' }, { 'x-api-key': '  ' }, { authorization: 'Bearer ' }])
    await refuse(await post(headers as Record<string, string>), 'key_missing');
  await refuse(await post({ authorization: 'Basic dXNlcjpwYXNz' }), 'key_missing');
});

test('an unknown key and a malformed one get the same response, byte for byte except its id', async () => {
  const caller = await world.makeKey();
  const { secret } = caller;
  const answers = new Set<string>();
  // Never issued but with valid check digits, one wrong digit, too short, doubled, hostile.
  const invented = secret.replace(/.$/, (digit) => (digit === 'A' ? 'B' : 'A'));
  for (const refused of [
    invented,
    secret.slice(0, 20),
    `${secret}x`,
    secret.toLowerCase(),
    "' OR 1=1 --",
    'sk-ant-1',
  ]) {
    const response = await post({ 'x-api-key': refused });
    const id = response.headers.get('request-id') as string;
    answers.add((await response.clone().text()).replace(id, 'ID'));
    await refuse(response, 'key_invalid');
  }
  expect(answers.size).toBe(1);
  await expectNoTrace(world, caller);
});

test('two keys in two x-api-key headers are refused', async () => {
  const caller = await world.makeKey();
  await refuse(await post({ 'x-api-key': `${caller.secret}, ${caller.secret}` }), 'key_invalid');
});

test('the key is read from x-api-key, otherwise from Authorization: Bearer, with any capitalization of the scheme', async () => {
  const caller = await world.makeKey();
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'Bearer  '])
    expect((await post({ authorization: `${scheme} ${caller.secret}` })).status).toBe(200);
  expect((await post({ 'x-api-key': ` ${caller.secret} ` })).status).toBe(200);
  await expectMoney(world, caller, Array(5).fill(GOOD));
});

test('x-api-key takes precedence over Authorization, unless its key does not exist', async () => {
  const payer = await world.makeKey();
  const other = await world.makeKey();
  const both = { 'x-api-key': payer.secret, authorization: `Bearer ${other.secret}` };
  expect((await post(both)).status).toBe(200);
  for (const dummy of ['sk-tp-wrong', 'dummy', '']) // clients that need some key send any
    expect((await post({ ...both, 'x-api-key': dummy })).status).toBe(200);
  await expectMoney(world, payer, [GOOD]);
  await expectMoney(world, other, [GOOD, GOOD, GOOD]);
  await world.admin('PATCH', `/keys/${payer.key}`, { status: 'disabled' });
  await refuse(await post(both), 'key_disabled');
});

test('the refusal of an unknown key names the header that was sent', async () => {
  const said = async (headers: Record<string, string>) => await refuse(await post(headers), 'key_invalid');
  expect(await said({ 'x-api-key': 'sk-tp-wrong' })).toStartWith('invalid x-api-key');
  const authorization = 'Bearer sk-tp-wrong';
  expect(await said({ authorization })).toStartWith('Invalid bearer token');
  expect(await said({ authorization, 'x-api-key': 'dummy' })).toStartWith('Invalid bearer token');
});

test('a disabled key is refused at once and works again when it is enabled', async () => {
  const caller = await world.makeKey();
  expect((await world.post(caller.secret, bodyOf())).status).toBe(200);
  await world.admin('PATCH', `/keys/${caller.key}`, { status: 'disabled' });
  await refuse(await world.post(caller.secret, bodyOf()), 'key_disabled');
  await world.admin('PATCH', `/keys/${caller.key}`, { status: 'enabled' });
  expect((await world.post(caller.secret, bodyOf())).status).toBe(200);
  await expectMoney(world, caller, [GOOD, GOOD]);
});

test('a revoked key is key_disabled', async () => {
  const caller = await world.makeKey();
  await world.admin('POST', `/keys/${caller.key}/revoke`, {});
  await refuse(await world.post(caller.secret, bodyOf()), 'key_disabled');
  await expectNoTrace(world, caller);
});

test('an expired key is key_expired, also if it was just used', async () => {
  const expiresAtMs = Date.now() + 2_000;
  const caller = await world.makeKey({}, { expires_at: new Date(expiresAtMs).toISOString() });
  expect((await world.post(caller.secret, bodyOf())).status).toBe(200);
  await Bun.sleep(expiresAtMs + 10 - Date.now());
  await refuse(await world.post(caller.secret, bodyOf()), 'key_expired');
  await expectMoney(world, caller, [GOOD]);
});

test('a secret that is replaced while the body is still being received is refused', async () => {
  const caller = await world.makeKey();
  const body = JSON.stringify(bodyOf());
  const head = `POST /v1/messages HTTP/1.1\r\nhost: a\r\nx-api-key: ${caller.secret}\r\ncontent-type: application/json\r\n`;
  const rotate = () => world.admin('POST', `/keys/${caller.key}/rotate`, { grace: '0s' });
  const parts = [`${head}content-length: ${body.length}\r\n\r\n`, body.slice(0, 9), 50, rotate, 300, body.slice(9)];
  const answer = await exchange(Number(new URL(world.url).port), parts, (received) => received.includes('}}'));
  expect(answer).toStartWith('HTTP/1.1 401');
  expect(answer).toContain('"key_expired"');
  await expectNoTrace(world, caller);
});

test('a key of a disabled account is account_disabled', async () => {
  const caller = await world.makeKey();
  await world.admin('PATCH', `/accounts/${caller.account}`, { status: 'disabled' });
  await refuse(await world.post(caller.secret, bodyOf()), 'account_disabled');
  await world.admin('PATCH', `/accounts/${caller.account}`, { status: 'enabled' });
  expect((await world.post(caller.secret, bodyOf())).status).toBe(200);
  await expectMoney(world, caller, [GOOD]);
});

test('an unknown key is refused before the body is checked', async () => {
  await refuse(await post({ 'x-api-key': 'sk-tp-wrong' }, 'no JSON'), 'key_invalid');
  await refuse(await post({}, 'no JSON'), 'key_missing');
});

test('the secret is not found anywhere in the data directory', async () => {
  const caller = await world.makeKey();
  await world.post(caller.secret, bodyOf());
  const files = await Array.fromAsync(new Bun.Glob('**/*').scan({ cwd: world.dataDirectory }));
  const plainHash = createHash('sha256').update(caller.secret).digest('hex');
  for (const file of files.filter((name) => name.includes('.db') || name.includes('sqlite'))) {
    const text = Buffer.from(await Bun.file(`${world.dataDirectory}/${file}`).arrayBuffer()).toString('latin1');
    expect(text).not.toContain(caller.secret);
    expect(text).not.toContain(plainHash);
  }
  expect(files.length).toBeGreaterThan(0);
  await expectMoney(world, caller, [GOOD]);
});
