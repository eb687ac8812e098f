// The refusal of a message beyond the budget of a person, in the words of each protocol, and what `GET /v1/key` says of it.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { sharedTurnpike } from '../../support/shared-turnpike.ts';
import type { Turnpike } from '../../support/start-turnpike.ts';

let turnpike: Turnpike;
let secret: string;

beforeAll(async () => {
  turnpike = await sharedTurnpike();
  const { account } = await turnpike.makeKey({ groups: ['sandbox'] });
  const email = `budget-${account}@example.com`.toLowerCase();
  const person = await turnpike.admin('POST', '/people', { role: 'member', email, account });
  await turnpike.admin('PATCH', `/people/${person['id']}/budget`, { limits: [{ window: 'month', limit: '0.00001' }] });
  secret = String((await turnpike.admin('POST', '/keys', { account, person: person['id'] }))['key']);
});
afterAll(() => turnpike.stop());

const say = [{ role: 'user', content: 'go' }];
const model = 'sandbox-echo';

test.each([
  ['Messages', '/v1/messages', { model, max_tokens: 1_000, messages: say }],
  ['Chat Completions', '/v1/chat/completions', { model, max_tokens: 1_000, messages: say }],
  ['Responses', '/v1/responses', { model, max_output_tokens: 1_000, input: 'go' }],
  ['Gemini', `/v1beta/models/${model}:generateContent`, { contents: [{ parts: [{ text: 'go' }] }] }],
])('of %s names the window, its end and whom to ask', async (_, path, body) => {
  const response = await fetch(turnpike.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  expect([response.status, response.headers.get('x-should-retry')]).toEqual([400, 'false']);
  expect(text).toMatch(
    /The budget of the person whose key this is for the month is too low until \d{4}-\d\d-01T00:00:00/,
  );
  expect(text).toContain('ask an owner of the account for a higher budget');
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
});

test('is foretold by GET /v1/key', async () => {
  const response = await fetch(`${turnpike.url}/v1/key`, { headers: { authorization: `Bearer ${secret}` } });
  expect(await response.json()).toMatchObject({
    budgets: [{ window: 'month', limit: '0.00001', remaining: '0.00001', stops: true }],
    spendable: '0.00001',
  });
});
