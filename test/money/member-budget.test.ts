// A member who tries everything: random sequences of all changes of the admin API, sent with the session of a member, with random
// bodies, while all secrets that they ever learned send messages. Whatever is answered, they never get more than their budget.

import { expect, test } from 'bun:test';
import { nanoOf } from '../../console/money.ts';
import { Browser, signUp } from '../contract/sign-in/browser.ts';
import { makeRandom } from '../support/random.ts';
import { sharedTurnpike } from '../support/shared-turnpike.ts';
import type { Turnpike } from '../support/start-turnpike.ts';

const SEEDS = [1, 2, 3];
const STEPS = 150;
const STEPS_MAX = 1_500; // until the budget is used, and has refused a message
const MESSAGES_AT_ONCE = 6;
const MEMBERS_GIVEN = 0.15;
const BUDGET = '0.001';
const LEAST_USED = '0.0005';

interface Schema {
  type?: string | string[];
  enum?: unknown[];
  properties?: Record<string, Schema>;
  anyOf?: Schema[];
  items?: Schema;
  pattern?: string;
}
interface Operation {
  requestBody?: { content: { 'application/json': { schema: Schema } } };
}

interface Attacker {
  turnpike: Turnpike;
  browser: Browser;
  random: () => number;
  /** Every secret that an answer had. */
  secrets: string[];
  /** Ids that paths and bodies may have. */
  ids: string[];
  answers: Map<string, number>;
}

function pick<Value>({ random }: Pick<Attacker, 'random'>, values: readonly Value[]): Value {
  return values[Math.floor(random() * values.length)] as Value;
}

const TEXTS = ['x', '0', '0.0001', '100.00', 'day', 'month', 'total', 'enabled', 'disabled', 'owner', 'operator', '0s'];
const LATER = '2099-01-01T00:00:00Z';

/** A value that the schema may accept, or another. */
function valueFor(attacker: Attacker, schema: Schema, depth = 0): unknown {
  const { random } = attacker;
  if (random() < 0.03 || depth > 4) return pick(attacker, [null, ...TEXTS, ...attacker.ids, LATER, 7, true]);
  if (schema.enum !== undefined) return pick(attacker, schema.enum);
  if (schema.anyOf !== undefined) return valueFor(attacker, pick(attacker, schema.anyOf), depth + 1);
  const type = Array.isArray(schema.type) ? pick(attacker, schema.type) : schema.type;
  if (type === 'object')
    return Object.fromEntries(
      Object.entries(schema.properties ?? {})
        .filter(() => random() < MEMBERS_GIVEN)
        .map(([name, member]) => [name, valueFor(attacker, member, depth + 1)]),
    );
  if (type === 'array') return [valueFor(attacker, schema.items ?? {}, depth + 1)];
  if (type === 'integer' || type === 'number') return pick(attacker, [1, 2, 60, 1_000]);
  if (type === 'boolean') return random() < 0.5;
  if (type === 'null') return null;
  const pattern = new RegExp(schema.pattern ?? '');
  const fitting = [...TEXTS, LATER, ...attacker.ids].filter((text) => pattern.test(text));
  return pick(attacker, fitting.length > 0 ? fitting : TEXTS);
}

async function readChanges(turnpike: Turnpike): Promise<{ method: string; path: string; operation: Operation }[]> {
  const document = (await (await fetch(`${turnpike.url}/api/v1/openapi.json`)).json()) as {
    paths: Record<string, Record<string, Operation>>;
  };
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => method !== 'get')
      .map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

/** Sends one random change, and keeps what its answer reveals. */
async function change(attacker: Attacker, changes: Awaited<ReturnType<typeof readChanges>>): Promise<void> {
  const ofKeys = changes.filter(({ path }) => path.startsWith('/api/v1/keys'));
  const { method, path, operation } = pick(attacker, attacker.random() < 0.7 ? ofKeys : changes);
  const schema = operation.requestBody?.content['application/json']?.schema ?? {};
  const kind = /people/.test(path) ? 'person_' : /accounts/.test(path) ? 'acct_' : 'key_';
  const ids = attacker.ids.filter((id) => id.startsWith(kind));
  const at = path.replace(/\{\w+\}/, pick(attacker, ids.length > 0 ? ids : attacker.ids));
  const body = valueFor(attacker, { ...schema, type: 'object' });
  const sent = typeof body === 'object' && body !== null && !Array.isArray(body) ? body : {};
  const { status, body: answer } = await attacker.browser.ask(method, at, sent);
  expect([`${method} ${at}`, status < 500]).toEqual([`${method} ${at}`, true]);
  const name = `${method} ${path} ${status < 300 ? 'done' : 'refused'}`;
  attacker.answers.set(name, (attacker.answers.get(name) ?? 0) + 1);
  const { id, key } = answer;
  if (typeof key === 'string' && key.startsWith('sk-')) attacker.secrets.push(key);
  if (typeof id === 'string' && !attacker.ids.includes(id)) attacker.ids.push(id);
}

const say = [{ role: 'user', content: 'go' }];
const fronts: readonly [path: string, body: object][] = [
  ['/v1/messages', { max_tokens: 20, messages: say }],
  ['/v1/messages', { max_tokens: 40, messages: say, stream: true }],
  ['/v1/chat/completions', { max_tokens: 20, messages: say }],
  ['/v1/responses', { max_output_tokens: 20, input: 'go' }],
];

async function send({ turnpike, random, secrets, answers }: Attacker): Promise<void> {
  const [path, body] = pick({ random }, fronts);
  const secret = secrets[Math.floor((1 - random() ** 2) * secrets.length)] ?? '';
  const response = await fetch(turnpike.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox-echo', ...body }),
  });
  const text = await response.text();
  const name = text.includes('The budget of the person') ? 'beyond the budget' : String(response.status);
  answers.set(name, (answers.get(name) ?? 0) + 1);
}

async function attack(turnpike: Turnpike, seed: number): Promise<void> {
  const { account } = await turnpike.makeKey({ groups: ['sandbox'], credit: '50.00' });
  const owner = await signUp(turnpike, `owner${seed}@example.com`, 'owner', account);
  const member = await signUp(turnpike, `member${seed}@example.com`, 'member', account);
  await turnpike.admin('PATCH', `/people/${member.id}/budget`, { limits: [{ window: 'month', limit: BUDGET }] });
  const browser = new Browser(turnpike.url);
  expect((await browser.signIn(member.email)).status).toBe(200);
  const ids = [account, owner.id, member.id];
  const given = await turnpike.admin('POST', '/keys', { account, person: member.id, quota: '0.0003' });
  const ofOwner = await turnpike.admin('POST', '/keys', { account, person: owner.id });
  const secrets = [String(given['key'])];
  ids.push(String(given['id']), String(ofOwner['id']));
  const attacker: Attacker = { turnpike, browser, random: makeRandom(seed), secrets, ids, answers: new Map() };
  const changes = await readChanges(turnpike);
  const used = async () => {
    const { total } = (await turnpike.admin('GET', `/usage/totals?account=${account}&group_by=account`)) as {
      total: { cost: string };
    };
    return nanoOf(total.cost);
  };
  const isRefused = () => attacker.answers.has('beyond the budget');
  let isAttack = false; // the budget was used, and has refused a message
  for (let step = 0; step < STEPS || (step < STEPS_MAX && !isAttack); step++) {
    await Promise.all([change(attacker, changes), ...Array.from({ length: MESSAGES_AT_ONCE }, () => send(attacker))]);
    if (step % 25 !== 24) continue;
    const nano = await used();
    expect(nano).toBeLessThanOrEqual(nanoOf(BUDGET));
    isAttack = isRefused() && nano > nanoOf(LEAST_USED);
  }
  expect(await used()).toBeLessThanOrEqual(nanoOf(BUDGET));
  expect(isAttack).toBe(true);
  expect(attacker.answers.get('POST /api/v1/keys done') ?? 0).toBeGreaterThan(0);
  expect(attacker.answers.get('PATCH /api/v1/people/{id}/budget done')).toBeUndefined();
}

test('no sequence of calls gives a member more than their budget', async () => {
  const turnpike = await sharedTurnpike();
  for (const seed of SEEDS) await attack(turnpike, seed);
  expect(await turnpike.check()).toMatchObject({ ok: true, faults: [] });
  await turnpike.stop();
});
