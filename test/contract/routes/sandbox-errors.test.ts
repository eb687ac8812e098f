// The sandbox's error models give the same response however often they are called, one after another or at once:
// circuit breakers and cooldowns change the order of targets, and never refuse a message.

import { afterAll, expect, test } from 'bun:test';
import { type Json, startOwnWorld } from '../post-messages/world.ts';

const world = await startOwnWorld('it opens the circuits of the sandbox');
afterAll(() => world.stop());
const { secret } = await world.makeKey({ groups: ['sandbox'] }, { groups: ['sandbox'] });

const EXPECTED: Readonly<Record<number, [status: number, code: string, retryAfter: string | null]>> = {
  400: [400, 'upstream_rejected', null],
  401: [502, 'upstream_credentials', null],
  403: [502, 'upstream_credentials', null],
  404: [502, 'upstream_credentials', null],
  413: [413, 'upstream_rejected', null],
  429: [429, 'upstream_rate_limited', '1'],
  500: [502, 'upstream_failed', null],
  502: [502, 'upstream_failed', null],
  503: [529, 'upstream_overloaded', null],
  504: [504, 'upstream_timeout', null],
  529: [529, 'upstream_overloaded', null],
};

const ask = (path: string, status: number, stream: boolean) =>
  fetch(world.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': secret },
    body: JSON.stringify({
      model: `sandbox-error-${status}`,
      max_tokens: 16,
      stream,
      messages: [{ role: 'user', content: 'Good morning!' }],
    }),
  });

for (const [status, expected] of Object.entries(EXPECTED))
  test(`sandbox-error-${status} always answers the same, and its prompt is always counted exactly`, async () => {
    const seen = async (stream: boolean) => {
      const answer = await ask('/v1/messages', Number(status), stream);
      const { error } = (await answer.json()) as { error: Json };
      return [answer.status, error['code'], answer.headers.get('retry-after')];
    };
    for (let time = 0; time < 12; time++) expect(await seen(time % 2 === 0)).toEqual(expected);
    const atOnce = await Promise.all(Array.from({ length: 24 }, (_, place) => seen(place % 2 === 0)));
    expect(atOnce).toEqual(atOnce.map(() => expected));
    const counted = await ask('/v1/messages/count_tokens', Number(status), false);
    expect(await counted.json()).toEqual({ input_tokens: 4 });
  });
