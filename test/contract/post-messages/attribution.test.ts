// Tags, sessions and agents of messages: where they come from, which are refused, and what reports make of them.

import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { bodyOf, expectError, type Json, sharedWorld } from './world.ts';

const world = await sharedWorld({ settings: { tags_pinned: ['cost_centre'] } });
afterAll(() => world.stop());
beforeEach(() => world.reset());

const CLAUDE = {
  'x-claude-code-session-id': '9ab2c5f0-8f3c-4c53-a8fb-cc0a2b1f5a11',
  'x-claude-code-agent-id': 'agent-7',
  'x-claude-code-parent-agent-id': 'agent-1',
};

/** Sends a message in a new account, and returns what its record says. */
async function send(headers: Record<string, string>, { body = bodyOf(), path = '/v1/messages', tags = {} } = {}) {
  const { account, key, secret } = await world.makeKey({}, { tags });
  const response = await post(secret, headers, body, path);
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
  const { data } = await world.admin('GET', `/usage?key=${key}`);
  const [record] = data as Json[];
  return { record: record as Json, account, key, secret };
}

function post(secret: string, headers: Record<string, string>, body: Json, path = '/v1/messages'): Promise<Response> {
  return fetch(`${world.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}`, ...headers },
    body: JSON.stringify(body),
  });
}

const said = (of: Json) => ({ tags: of['tags'], session: of['session'], agent: of['agent'] });

describe('tags', () => {
  test('of the header are on the record, and are not sent to the provider', async () => {
    const { record } = await send({ 'x-turnpike-tags': ' Team=search,env=M%C3%BCnchen%20s , x=1=2,,' });
    expect(said(record)).toEqual({ tags: { team: 'search', env: 'München s', x: '1=2' }, session: null, agent: null });
  });

  test('are absent for a message without any', async () => {
    const { record } = await send({});
    expect(said(record)).toEqual({ tags: {}, session: null, agent: null });
  });

  test('of account, person and key come before those of the header', async () => {
    const { account, secret, key } = await send({}, { tags: { team: 'ofkey', env: 'ofkey' } });
    await world.admin('PATCH', `/accounts/${account}`, { tags: { team: 'ofaccount' } });
    const response = await post(secret, { 'x-turnpike-tags': 'team=mine,env=mine,own=mine' }, bodyOf());
    expect(response.status).toBe(200);
    await response.text();
    const { data } = await world.admin('GET', `/usage?key=${key}`);
    expect(said((data as Json[])[0] as Json).tags).toEqual({ team: 'ofaccount', env: 'ofkey', own: 'mine' });
  });

  test('that are pinned are ignored in the header and in bodies, and taken from the key', async () => {
    const header = { 'x-turnpike-tags': 'cost_centre=mine,team=a' };
    expect(said((await send(header)).record).tags).toEqual({ team: 'a' });
    const { record } = await send(header, { tags: { cost_centre: '4711' } });
    expect(said(record).tags).toEqual({ team: 'a', cost_centre: '4711' });
  });

  test.each([
    ['team', 'must be a list such as "team=search, env=prod"'],
    ['7team=a', 'must be a list such as'],
    ['__proto__=a', 'must be a list such as'],
    ['team=', 'the value of "team" must have 1 to 64 characters'],
    [`team=${'x'.repeat(65)}`, 'the value of "team" must have 1 to 64 characters'],
    ['team=%00', 'the value of "team" must have'],
    ['team=a,TEAM=b', 'has the tag "team" twice'],
    [Array.from({ length: 11 }, (_, at) => `t${at}=a`).join(','), 'must have at most 10 tags'],
    [`team=${'x'.repeat(1_024)}`, 'must have at most 1024 characters'],
  ])('are refused with the name of the header: %s', async (header, words) => {
    const { secret } = await world.makeKey();
    const response = await post(secret, { 'x-turnpike-tags': header }, bodyOf());
    expect(await expectError(response, 400, 'invalid_request_error', 'invalid_request')).toContain(
      `x-turnpike-tags: ${words}`,
    );
    expect(world.upstream.requests).toEqual([]);
  });

  test('that the account requires are named in the refusal, and the header or the key can give them', async () => {
    const { account, key, secret } = await world.makeKey();
    await world.admin('PATCH', `/accounts/${account}`, { tags_required: ['team'] });
    const message = await expectError(
      await post(secret, {}, bodyOf()),
      400,
      'invalid_request_error',
      'invalid_request',
    );
    expect(message).toContain('the tag "team" is required: send the header "x-turnpike-tags: team=…"');
    const given = await post(secret, { 'x-turnpike-tags': 'team=a' }, bodyOf());
    expect([given.status, await given.text()]).toEqual([200, expect.any(String)]);
    await world.admin('PATCH', `/keys/${key}`, { tags: { team: 'ofkey' } });
    const fixed = await post(secret, {}, bodyOf());
    expect([fixed.status, await fixed.text()]).toEqual([200, expect.any(String)]);
  });
});

describe('sessions and agents', () => {
  test('are those of Claude Code’s headers, which are not sent to the provider', async () => {
    const userId = JSON.stringify({ device_id: 'd1', account_uuid: '', session_id: 'other' });
    const { record } = await send(CLAUDE, { body: bodyOf({ metadata: { user_id: userId } }) });
    expect(said(record)).toEqual({
      tags: { user: 'd1', parent_agent: 'agent-1' },
      session: CLAUDE['x-claude-code-session-id'],
      agent: 'agent-7',
    });
    const sent = Object.keys(world.upstream.requests[0]?.headers ?? {});
    expect(sent.length).toBeGreaterThan(0);
    expect(sent.filter((name) => /turnpike|claude-code/.test(name))).toEqual([]);
  });

  test.each([
    ['a user', { user: 'a user' }, null],
    ['user_ab1_account_c-2_session_d-3', { user: 'c-2' }, 'd-3'],
    ['user_ab1_account__session_d-3', { user: 'ab1' }, 'd-3'],
    ['{"device_id":7,"session_id":"s"}', {}, 's'],
    ['{"not json', { user: '{"not json' }, null],
    [`a\u0007${'b'.repeat(200)}`, { user: `a${'b'.repeat(126)}` }, null],
  ])('are read of metadata.user_id %s', async (userId, tags, session) => {
    const { record } = await send({}, { body: bodyOf({ metadata: { user_id: userId } }) });
    expect(said(record)).toEqual({ tags, session, agent: null });
  });

  test('are those of Codex and of other clients of OpenAI’s protocols', async () => {
    const turn = JSON.stringify({ session_id: 's', agent_name: 'reviewer' });
    const codex = { 'session-id': 'codex-1', 'x-codex-turn-metadata': turn };
    const body = { model: 'plain', input: 'hello', prompt_cache_key: 'cache', safety_identifier: 'anna' };
    expect(said((await send(codex, { body, path: '/v1/responses' })).record)).toEqual({
      tags: { user: 'anna' },
      session: 'codex-1',
      agent: 'reviewer',
    });
    const chat = bodyOf({ user: 'anna', prompt_cache_key: 'cache' });
    expect(said((await send(codex, { body: chat, path: '/v1/chat/completions' })).record)).toEqual({
      tags: { user: 'anna' },
      session: 'cache',
      agent: null,
    });
  });

  test('of a client of Gemini are absent, and its tags are those of the header', async () => {
    const body = { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] };
    const header = { 'x-turnpike-tags': 'team=a', ...CLAUDE };
    const { record } = await send(header, { body, path: '/v1beta/models/plain:generateContent' });
    expect(said(record)).toEqual({ tags: { team: 'a' }, session: null, agent: null });
  });
});

describe('reports', () => {
  async function sendTagged() {
    const first = await send({ 'x-turnpike-tags': 'team=search,env=prod', ...CLAUDE });
    const { secret } = first;
    for (const header of ['team=search', 'team=ads', '']) {
      const response = await post(secret, { 'x-turnpike-tags': header }, bodyOf({ model: 'paired' }));
      expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
    }
    return first;
  }

  test('have the cost of each value of a tag, which add up to the whole', async () => {
    const { account } = await sendTagged();
    const totals = async (query: string) => {
      const { data, total } = await world.admin('GET', `/usage/totals?account=${account}&${query}`);
      return { data: data as Json[], messages: (total as Json)['messages'] };
    };
    const { data, messages } = await totals('group_by=tag&tag_name=team');
    expect(data.map(({ tag, messages: count }) => [tag, count])).toEqual([
      ['search', 2],
      [null, 1],
      ['ads', 1],
    ]);
    expect(messages).toBe(4);
    const pairs = await totals('group_by=tag&then_by=model&tag_name=team&tag=team:search');
    expect(pairs.data.map(({ tag, model, messages: count }) => [tag, model, count])).toEqual([
      ['search', 'paired', 1],
      ['search', 'plain', 1],
    ]);
    expect((await totals('group_by=provider')).data).toMatchObject([{ provider: 'first', messages: 4 }]);
    expect((await totals('group_by=tag&tag_name=user')).data).toMatchObject([{ tag: null, messages: 4 }]);
    expect(await world.check()).toMatchObject({ ok: true });
  });

  test('find the messages of a tag and of a session, and sum it up by model and by agent', async () => {
    const { account, record } = await sendTagged();
    const find = async (query: string) => {
      const { data } = await world.admin('GET', `/usage?account=${account}&${query}`);
      return (data as Json[]).length;
    };
    const session = `session=${CLAUDE['x-claude-code-session-id']}`;
    expect(await find('tag=team:search')).toBe(2);
    expect(await find('tag=team:search&model=plain')).toBe(1);
    expect(await find(session)).toBe(1);
    expect(await find(`${session}&sort=cost`)).toBe(1);
    expect(await find(`${session}&outcome=failed`)).toBe(0);
    expect(await find('agent=agent-7')).toBe(1);
    const summary = async (groupBy: string) => {
      const query = `account=${account}&${session}&group_by=${groupBy}`;
      const { total, data } = await world.admin('GET', `/usage/summary?${query}`);
      return { total: total as Json, data: data as Json[] };
    };
    expect(await summary('model')).toMatchObject({
      total: { messages: 1, cost: record['cost'] },
      data: [{ model: 'plain', messages: 1 }],
    });
    expect((await summary('agent')).data).toMatchObject([{ agent: 'agent-7', messages: 1 }]);
    const { data } = await world.admin('GET', `/usage/summary?account=${account}&group_by=session`);
    expect((data as Json[]).map(({ session: name, messages }) => [name, messages])).toEqual([
      [null, 3],
      [CLAUDE['x-claude-code-session-id'], 1],
    ]);
  });
});
