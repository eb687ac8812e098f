// Requests to addresses that customers chose: to the checked address only, bounded in time and in what is read.

import { describe, expect, test } from 'bun:test';
import { findUrlFault, postTo } from '../../../src/delivery/send-http.ts';

const message = (url: string) => ({ url, headers: { 'content-type': 'application/json' }, body: '{}' });

function serve(answer: (request: Request) => Response | Promise<Response>) {
  return Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: answer });
}

describe('a URL', () => {
  test.each([
    'http://example.com/',
    'https://user@example.com/',
    'https://example.com/#x',
    'https://example.com:22/',
    'https://127.1/',
    'https://[fd00::1]/',
    'https://2130706433/',
    'https://metadata.internal/',
    'https://intranet/',
    'file:///etc/passwd',
    'nothing',
  ])('%s is refused', (url) => {
    expect(findUrlFault(url, false)).not.toBeNull();
  });

  test.each(['https://example.com/', 'https://example.com:8443/a?b=c', 'https://93.184.216.34/'])(
    '%s may be used',
    (url) => {
      expect(findUrlFault(url, false)).toBeNull();
    },
  );
});

describe('a request', () => {
  test('goes to the address that was checked, with the name as its host', async () => {
    await using server = serve((request) => new Response(request.headers.get('host'), { status: 500 }));
    const lookup = async () => ['127.0.0.1'];
    const result = await postTo(message(`http://hooks.example.test:${server.port}/`), {
      lookup,
      isPrivateAllowed: true,
    });
    expect(result).toMatchObject({ status: 500, excerpt: `hooks.example.test:${server.port}` });
  });

  test('is not sent to a name that leads to a private address by then', async () => {
    let requests = 0;
    await using server = serve(() => new Response(String(++requests)));
    const rebound = async () => ['93.184.216.34', '127.0.0.1'];
    const url = `https://hooks.example.com:${server.port}/`;
    expect(await postTo(message(url), { lookup: rebound, isPrivateAllowed: false })).toMatchObject({
      error: 'the host has a private address',
    });
    expect(requests).toBe(0);
  });

  test('follows no redirect', async () => {
    let requests = 0;
    await using server = serve((request) => {
      requests++;
      return Response.redirect(new URL('/again', request.url).href, 307);
    });
    const url = `http://127.0.0.1:${server.port}/`;
    const result = await postTo(message(url), { lookup: async () => [], isPrivateAllowed: true });
    expect(result).toMatchObject({ status: 307, error: 'redirects are not followed (307)' });
    expect(requests).toBe(1);
  });

  test('ends although the answer does not, and reads only its beginning', async () => {
    await using server = serve(() => {
      const body = new ReadableStream({ pull: (controller) => controller.enqueue(Buffer.alloc(65_536, 'x')) });
      return new Response(body, { status: 503 });
    });
    const url = `http://127.0.0.1:${server.port}/`;
    const result = await postTo(message(url), { lookup: async () => [], isPrivateAllowed: true });
    expect(result).toMatchObject({ status: 503, error: 'answered 503' });
    expect(result.excerpt).toHaveLength(300);
  });

  test('ends when there is no answer in time', async () => {
    const never = Promise.withResolvers<Response>();
    await using server = serve(() => never.promise);
    const options = { lookup: async () => [], isPrivateAllowed: true, msMax: 50 };
    const result = await postTo(message(`http://127.0.0.1:${server.port}/`), options);
    expect(result).toMatchObject({ status: null, error: 'no answer in time' });
    never.resolve(new Response());
  });

  test('fails at a port where nobody listens, and at a name that does not resolve', async () => {
    const unknown = async () => Promise.reject(new Error('ENOTFOUND'));
    const refused = await postTo(message('http://127.0.0.1:1/'), { lookup: unknown, isPrivateAllowed: true });
    expect(refused.error).toStartWith('the connection failed');
    const named = await postTo(message('https://no.example/'), { lookup: unknown, isPrivateAllowed: false });
    expect(named.error).toBe('the name of the host cannot be resolved');
  });
});
