// Checks before every resource: token, body, unknown paths, the shape of errors.

import { beforeAll, describe, expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { errorOf, type Installation, type Json, makeAccount, makeInstallation, TOKEN } from './installation.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await makeInstallation();
});

async function send(path: string, request: RequestInit): Promise<{ status: number; headers: Headers; body: Json }> {
  const answer = await installation.api.fetch(new Request(`http://127.0.0.1${path}`, request), '192.0.2.7');
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Json };
}
const withToken = { authorization: `Bearer ${TOKEN}` };
const json = { ...withToken, 'content-type': 'application/json' };

describe('without a valid token', () => {
  test('every path is answered with 401', async () => {
    for (const path of ['/api/v1/accounts', '/api/v1/nothing']) {
      const { status, body } = await send(path, {});
      expect([status, errorOf(body).code]).toEqual([401, 'token_missing']);
    }
    for (const authorization of ['Bearer wrong', `Bearer ${TOKEN}x`, `bearer ${TOKEN.slice(0, -1)}`]) {
      const { status, body } = await send('/api/v1/accounts', { headers: { authorization } });
      expect([status, errorOf(body).code]).toEqual([401, 'token_invalid']);
    }
    expect((await send('/api/v1/accounts', { headers: { authorization: `Basic ${TOKEN}` } })).status).toBe(401);
  });

  test('no body is read', async () => {
    let pulled = 0;
    const body = new ReadableStream({
      pull: (controller) => {
        pulled++;
        controller.enqueue(new Uint8Array(65_536));
      },
    });
    const { status } = await send('/api/v1/accounts', { method: 'POST', body });
    expect(status).toBe(401);
    expect(pulled).toBeLessThan(4);
  });
});

describe('every response', () => {
  test('has a request id, in the header and in the body of an error', async () => {
    const { headers, body } = await send('/api/v1/nothing', { headers: withToken });
    expect(headers.get('request-id')).toMatch(/^req_[0-9A-Za-z]{25}$/);
    expect(body['request_id']).toBe(headers.get('request-id'));
    expect(body['type']).toBe('error');
    expect(Object.keys(body).sort()).toEqual(['error', 'request_id', 'type']);
    expect((await send('/api/v1/accounts', { headers: withToken })).headers.get('request-id')).toMatch(/^req_/);
  });

  test('has no CORS header, whatever the origin of the browser', async () => {
    const headers = { ...withToken, origin: 'https://evil.example' };
    for (const path of ['/api/v1/accounts', '/api/v1/nothing']) {
      const names = [...(await send(path, { headers })).headers.keys()];
      expect(names.filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
    expect(
      (await send('/api/v1/accounts', { method: 'OPTIONS', headers: { origin: 'https://evil.example' } })).status,
    ).toBe(401);
  });

  test('to a GET is compressed if it is long JSON and the client accepts it, with the same content', async () => {
    const get = (path: string, accepted: string) => {
      const headers = { ...withToken, 'accept-encoding': accepted };
      return installation.api.fetch(new Request(`http://127.0.0.1${path}`, { headers }), '192.0.2.7');
    };
    const texts = new Set<string>();
    for (const [accepted, encoding] of [
      ['gzip, br', 'gzip'],
      ['identity', null],
      ['gzip;q=0', null],
    ] as const) {
      const answer = await get('/api/v1/settings', accepted);
      expect([accepted, answer.headers.get('content-encoding')]).toEqual([accepted, encoding]);
      expect(answer.headers.get('vary')).toBe('accept-encoding');
      const bytes = new Uint8Array(await answer.arrayBuffer());
      texts.add(new TextDecoder().decode(encoding === null ? bytes : Bun.gunzipSync(bytes)));
    }
    expect(texts.size).toBe(1);
    expect((await get('/api/v1/nothing', 'gzip')).headers.get('content-encoding')).toBeNull();
  });

  test('forbids caching', async () => {
    expect((await send('/api/v1/accounts', { headers: withToken })).headers.get('cache-control')).toBe('no-store');
  });
});

test('an unknown path is 404, and a known path with another method is 405 with the allowed methods', async () => {
  const unknown = await send('/api/v1/accounts/x/y/z', { headers: withToken });
  expect([unknown.status, errorOf(unknown.body).code]).toEqual([404, 'route_not_found']);
  expect((await send('/api/v1/accounts/', { headers: withToken })).status).toBe(404);
  const wrong = await send('/api/v1/keys/key_x/revoke', { headers: withToken });
  expect([wrong.status, errorOf(wrong.body).code, wrong.headers.get('allow')]).toEqual([
    405,
    'method_not_allowed',
    'POST',
  ]);
  const remove = await send('/api/v1/accounts', { method: 'DELETE', headers: withToken });
  expect(remove.headers.get('allow')?.split(', ').sort()).toEqual(['GET', 'HEAD', 'POST']);
});

describe('a body', () => {
  test('with a content type other than JSON, or compressed, is 415', async () => {
    const body = '{"name":"x"}';
    for (const headers of [
      { ...withToken, 'content-type': 'text/plain' },
      { ...withToken, 'content-type': 'application/x-www-form-urlencoded' },
      { ...json, 'content-encoding': 'gzip' },
    ]) {
      const answer = await send('/api/v1/accounts', { method: 'POST', headers, body });
      expect([answer.status, errorOf(answer.body).code]).toEqual([415, 'content_type_unsupported']);
    }
  });

  test('with invalid JSON is 400 invalid_json', async () => {
    for (const body of ['{"name":', '{"name":"x"} {}', new Uint8Array([0x7b, 0xff, 0x7d])]) {
      const answer = await send('/api/v1/accounts', { method: 'POST', headers: json, body });
      expect([answer.status, errorOf(answer.body).code]).toEqual([400, 'invalid_json']);
    }
  });

  test('with a duplicate key at any level, or nested too deeply, is 400 and changes nothing', async () => {
    const { id } = await makeAccount(installation);
    const path = `/api/v1/accounts/${id}/credits`;
    for (const [url, body, message] of [
      [path, '{"amount":"1.00","amount":"2.00"}', 'amount: Duplicate key in one object'],
      [path, '{"amount":"1.00","amoun\\u0074":"2.00"}', 'amount: Duplicate key in one object'],
      ['/api/v1/apply', '{"document":{"groups":{"a":{"rpm":1,"rpm":2}}}}', 'document.groups.a.rpm: Duplicate key in'],
      ['/api/v1/apply', '['.repeat(200_000), 'nested deeper'],
    ] as const) {
      const answer = await send(url, { method: 'POST', headers: json, body });
      expect([answer.status, errorOf(answer.body).code]).toEqual([400, 'invalid_request']);
      expect(errorOf(answer.body).message).toContain(message);
    }
    expect((await installation.ask('GET', `/api/v1/accounts/${id}`)).body['balance']).toBe('10.00');
  });

  test('that is not an object is 400', async () => {
    for (const body of ['[]', '"x"', 'null', '1']) {
      const answer = await send('/api/v1/accounts', { method: 'POST', headers: json, body });
      expect([answer.status, errorOf(answer.body).code]).toEqual([400, 'invalid_request']);
    }
  });

  test('above the size limit is 413, with or without a declared length', async () => {
    const body = new Uint8Array(bounds.adminBodyBytesMax + 1).fill(32);
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue(body);
        controller.close();
      },
    });
    for (const request of [{ body }, { body: stream }]) {
      const answer = await send('/api/v1/accounts', { method: 'POST', headers: json, ...request });
      expect([answer.status, errorOf(answer.body).code]).toEqual([413, 'body_too_large']);
    }
  });

  test('with unknown fields is refused with the names of all of them', async () => {
    const { status, body } = await installation.ask('POST', '/api/v1/accounts', {
      name: 'x',
      balance: '1',
      admin: true,
    });
    expect(status).toBe(400);
    expect(errorOf(body).message).toContain('balance');
    expect(errorOf(body).faults?.map((fault) => fault['path'])).toEqual([['balance'], ['admin']]);
  });

  test('with invalid fields is refused with the names of all of them', async () => {
    const { body } = await installation.ask('POST', '/api/v1/accounts', { name: 3, credit: 5, groups: [] });
    const faults = errorOf(body).faults?.map(({ path, message }) => `${(path as string[]).join('.')}: ${message}`);
    expect(faults?.toSorted()).toEqual([
      'credit: must be an amount in USD as a decimal string with at most 9 fraction digits, such as "10.00"',
      'groups: must not be an empty list',
      'name: must be a string',
    ]);
  });
});

test('a query with unknown parameters is refused with their names', async () => {
  const { status, body } = await installation.ask('GET', '/api/v1/accounts?limit=5&offset=10');
  expect([status, errorOf(body).message]).toEqual([400, 'offset: unknown member']);
});

test('an internal error is reported to the operator in full, and to the client only by its request id', async () => {
  const broken = await makeInstallation();
  broken.stores.tables.accountMeters.set = () => {
    throw new Error('disk /secret/path is full');
  };
  const { status, body } = await broken.ask('POST', '/api/v1/accounts', { name: 'x' });
  expect(status).toBeGreaterThanOrEqual(500);
  expect(JSON.stringify(body)).not.toContain('secret');
  expect(broken.notifications).toHaveLength(1);
  expect(broken.notifications[0]).toStartWith(String(body['request_id']));
});
