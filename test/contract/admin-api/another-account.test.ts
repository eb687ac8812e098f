// Users of one account cannot see or change another account. A smaller authorization.test.ts over real sockets and
// the persistent store: every route is requested with the ids of the other account.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { startOwnTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import type { Json } from './installation.ts';
import { bodyRules } from './matrix/body-values.ts';
import { type OpenapiDocument, type Operation, readOperations } from './matrix/operations.ts';
import { policy } from './matrix/policy.ts';

interface Holding {
  account: string;
  tokens: { owner: string; member: string };
  /** The ids of the other account by kind of object. */
  ids: Record<string, string[]>;
}

let turnpike: Turnpike;
let operations: Operation[];
let mine: Holding;
let theirs: Holding;
beforeAll(async () => {
  turnpike = await startOwnTurnpike('it lists all tokens and people');
  operations = readOperations((await (await fetch(`${turnpike.url}/api/v1/openapi.json`)).json()) as OpenapiDocument);
  mine = await makeHolding('alpha');
  theirs = await makeHolding('bravo');
});
afterAll(() => turnpike.stop());

async function makeHolding(name: string): Promise<Holding> {
  const members = { name: `${name}-works`, credit: '10.00', note: `note-of-${name}`, groups: ['sandbox'] };
  const account = String((await turnpike.admin('POST', '/accounts', members))['id']);
  const owner = await turnpike.admin('POST', '/tokens', { role: 'owner', account, name: `owner-of-${name}` });
  const member = await turnpike.admin('POST', '/tokens', { role: 'member', account, name: `member-of-${name}` });
  const email = `${name}@example.com`;
  const person = await turnpike.admin('POST', '/people', { role: 'member', account, email, name: `person-of-${name}` });
  const key = (await ask('POST', '/api/v1/keys', String(owner['token']), { name: `key-of-${name}` })).body;
  const message = { model: 'sandbox-echo', max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] };
  const answer = await turnpike.post(String(key['key']), message);
  await answer.text();
  return {
    account,
    tokens: { owner: String(owner['token']), member: String(member['token']) },
    ids: {
      account: [account],
      key: [String(key['id'])],
      token: [owner, member].map(({ id }) => String(id)),
      person: [String(person['id'])],
      usage: [String(answer.headers.get('request-id'))],
      provider: ['sandbox'],
    },
  };
}

async function ask(method: string, path: string, token: string, body?: Json) {
  const response = await fetch(turnpike.url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = /^application\/json\b/.test(response.headers.get('content-type') ?? ''); // exports are not
  return { status: response.status, text, body: (isJson ? JSON.parse(text) : {}) as Json };
}

/** Everything of the other account, as its operator sees it. */
async function readOtherAccount(): Promise<unknown> {
  const { account } = theirs;
  const paths = [
    `/accounts/${account}`,
    `/accounts/${account}/entries`,
    `/audit?account=${account}`,
    '/tokens?limit=1000',
    `/people?account=${account}&limit=1000`,
  ];
  const lists = [`/keys?account=${account}`, `/usage?account=${account}`, `/usage/totals?account=${account}`];
  return Promise.all([...paths, ...lists].map((path) => turnpike.admin('GET', path)));
}

test('no route shows or changes anything of another account, for any role of an account', async () => {
  const words = ['bravo', ...['account', 'key', 'token', 'person', 'usage'].flatMap((kind) => theirs.ids[kind] ?? [])];
  const before = await readOtherAccount();
  const faults: string[] = [];
  let count = 0;
  for (const operation of operations)
    for (const [role, token] of Object.entries(mine.tokens))
      for (const { path, body, isTheirs } of requestsFor(operation)) {
        count++;
        const { status, text } = await ask(operation.method, path, token, body);
        const shown = words.filter((word) => text.includes(word) && !`${path} ${body?.['account']}`.includes(word));
        if (shown.length > 0 || status >= 500 || (isTheirs && status < 400))
          faults.push(`${role}: ${operation.method} ${path} ${status} ${shown}`);
      }
  expect(faults).toEqual([]);
  expect(count).toBeGreaterThan(100);
  expect(await readOtherAccount()).toEqual(before);
});

/** Requests with every id of the other account: in the path, as a list filter, and as the account of the body. */
function requestsFor(operation: Operation): { path: string; body?: Json; isTheirs: boolean }[] {
  const { name, path, queryParameters, members } = operation;
  const body = bodyRules[name]?.least(null, 'of nobody', 'of nobody');
  const kind = policy[name]?.object ?? null;
  const more = body === undefined ? {} : { body };
  if (kind !== null)
    return (theirs.ids[kind] ?? []).map((id) => ({ path: path.replace(/\{\w+\}/, id), ...more, isTheirs: true }));
  if (members?.includes('account')) return [{ path, body: { ...body, account: theirs.account }, isTheirs: true }];
  const filters = queryParameters.filter((query) => ['account', 'key', 'object', 'actor'].includes(query));
  const narrowed = filters.flatMap((query) =>
    Object.values(theirs.ids)
      .flat()
      .map((id) => ({ path: `${path}?${query}=${id}`, isTheirs: query === 'account' || query === 'key' })),
  );
  return [{ path, ...more, isTheirs: false }, ...narrowed];
}
