// Every error has the format of its front's clients, including errors that arise before the route's own code, and names the
// field as the client wrote it.

import { describe, expect, test } from 'bun:test';
import type { ErrorCode } from '../../../src/errors.ts';
import { scripts } from '../../support/scripted-upstream.ts';
import { startControlled } from '../post-messages/controlled-service.ts';
import { bodyOf, expectMoney, expectNoTrace } from '../post-messages/world.ts';
import { fronts } from './drivers/drivers.ts';
import { expectError, expectHeaders, post, sharedFronts } from './front-world.ts';

const world = await sharedFronts();

const RATES = ['limit', 'remaining', 'reset'].map((figure) => `x-ratelimit-${figure}-requests`);
const ratesOf = ({ headers }: Response) => RATES.map((name) => headers.get(name));

describe.each(fronts)('%s', (_, front) => {
  const paramOf = (path: string) => (front.hasParam ? path : null);

  test('400: an invalid field, and what is not offered, are named by their path', async () => {
    world.upstream.play(scripts.good());
    const caller = await world.makeKey();
    const refuses = async (members: object, code: string, path: string) => {
      const response = await post(front, world, caller.secret, { members: { ...members } });
      const message = await expectError(front, response, code as ErrorCode, paramOf(path));
      expect(message).toStartWith(`${path}: `);
    };
    for (const [members, path] of front.invalid) await refuses(members, 'invalid_request', path);
    for (const [members, code, path] of front.notOffered) await refuses(members, code, path);
    await expectNoTrace(world, caller);
  });

  test('400: errors of the provider have the field paths of the client’s request', async () => {
    world.upstream.play(scripts.refusedContent());
    const caller = await world.makeKey();
    for (const stream of [false, true]) {
      const prompt = { stream, system: 'Be brief.', turns: [{ image: 'AAAA' }] };
      const response = await post(front, world, caller.secret, prompt);
      const message = await expectError(front, response, 'upstream_rejected', paramOf(front.imagePath));
      expect(message).toBe(`${front.imagePath}: invalid base64 data`);
    }
    await expectMoney(world, caller, [{ cost: '0' }, { cost: '0' }]);
  });

  test('400: invalid JSON, insufficient balance, unknown model', async () => {
    const { secret } = await world.makeKey();
    const poor = await world.makeKey({ credit: '0.000001' });
    await expectError(front, await post(front, world, secret, {}, { body: '{' }), 'invalid_json');
    await expectError(front, await post(front, world, poor.secret), 'insufficient_user_quota');
    const unknown = await post(front, world, secret, { model: 'none' });
    await expectError(front, unknown, 'model_not_found', paramOf('model'));
  });

  test('401, 404, 405, 413, 415: errors outside the route’s own code', async () => {
    const { secret } = await world.makeKey();
    await expectError(front, await post(front, world, 'sk-tp-wrong'), 'key_invalid');
    // An invalid key is reported before any fault of the body.
    await expectError(front, await post(front, world, 'sk-tp-wrong', {}, { body: '{' }), 'key_invalid');
    const [headers] = front.keyHeaders('sk-tp-wrong');
    for (const path of front.unknownPaths)
      for (const method of ['GET', 'POST'])
        await expectError(front, await fetch(world.url + path, { method, headers }), 'route_not_found');
    const get = await fetch(world.url + front.path({}));
    expect(get.headers.get('allow')).toContain('POST');
    await expectError(front, get, 'method_not_allowed');
    const plain = await post(front, world, secret, {}, { headers: { 'content-type': 'text/plain' } });
    await expectError(front, plain, 'content_type_unsupported');
    await using narrow = await startControlled({ settings: { body_bytes_max: 4_096 } });
    const large = await post(front, narrow, await narrow.makeKey(), { turns: [{ user: 'x'.repeat(5_000) }] });
    await expectError(front, large, 'body_too_large');
  });

  test('429: the time to wait and the remaining limits are where its clients read them', async () => {
    world.upstream.play(scripts.good());
    const caller = await world.makeKey({}, { rpm: 1, input_tpm: 60_000, output_tpm: 30_000 });
    const rates = front.hasOpenAiHeaders ? ['1', '0', expect.stringMatching(/^(1m0|[1-5]?\d)s$/)] : [null, null, null];
    const first = await post(front, world, caller.secret);
    expectHeaders(front, first);
    expect(ratesOf(first)).toEqual(rates);
    expect(first.headers.get('x-ratelimit-limit-tokens')).toBe(front.hasOpenAiHeaders ? '90000' : null);
    const limited = await post(front, world, caller.secret);
    expect(ratesOf(limited)).toEqual(rates);
    await expectError(front, limited, 'requests_rate_exceeded');
    expect(ratesOf(await world.post(caller.secret, bodyOf()))).toEqual([null, null, null]);
  });

  test('502 and 529: faults of the provider and of the service', async () => {
    const { secret } = await world.makeKey();
    world.upstream.play(scripts.unauthorized());
    await expectError(front, await post(front, world, secret), 'upstream_credentials');
    world.upstream.play(scripts.overloaded());
    await expectError(front, await post(front, world, secret), 'upstream_overloaded');
    await using busy = await startControlled({ loopDelayMs: () => 10_000 });
    const shed = await post(front, busy, 'sk-tp-unknown', { model: 'm' });
    expect(Number(shed.headers.get('retry-after'))).toBeWithin(1, 6);
    await expectError(front, shed, 'overloaded');
  });

  test('a browser may send a preflight, and a page can read its errors', async () => {
    const [keyHeader = ''] = Object.keys(front.keyHeaders('')[0]);
    const preflight = await fetch(world.url + front.path({}), {
      method: 'OPTIONS',
      headers: {
        origin: 'https://app.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': `${keyHeader}, content-type, x-stainless-os`,
      },
    });
    expect(preflight.status).toBe(204);
    for (const name of [keyHeader, 'content-type', 'x-stainless-os'])
      expect(preflight.headers.get('access-control-allow-headers')).toContain(name);
    const caller = await world.makeKey({}, { origins: ['https://other.example'] });
    const refused = await post(front, world, caller.secret, {}, { headers: { origin: 'https://app.example' } });
    expect(refused.headers.get('access-control-allow-origin')).toBe('https://app.example');
    await expectError(front, refused, 'origin_not_allowed');
  });
});
