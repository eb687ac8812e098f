// A real browser on a page of another origin: requests and reads that CORS allows. Uses Debian's Chromium; without it
// the test is skipped.

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { sharedTurnpike } from '../../support/shared-turnpike.ts';
import type { Seen } from './browser-page.ts';
import { chromium, openBrowser } from './open-browser.ts';

/** Results posted by the page. */
async function openPage(settings: { url: string; key: string }): Promise<Seen> {
  const { promise, resolve } = Promise.withResolvers<Seen>();
  await openBrowser(join(import.meta.dir, 'browser-page.ts'), settings, (path, said) => {
    if (path !== '/seen') return false;
    resolve(said as Seen);
    return true;
  });
  return promise;
}

test.skipIf(chromium === null)(
  'a page of another origin sends messages, reads streams, errors, limits and costs, and never the admin API',
  async () => {
    await using turnpike = await sharedTurnpike();
    const { secret } = await turnpike.makeKey({}, { rpm: 100 });
    const seen = await openPage({ url: turnpike.url, key: secret });
    expect(seen).toEqual({
      text: 'whole',
      streamed: ['thinking ', 'text streamed'],
      refused: {
        name: 'BadRequestError',
        status: 400,
        code: 'model_not_found',
        requestId: expect.stringMatching(/^req_/),
      },
      vendor: { status: 200, requestId: expect.stringMatching(/^req_/), remaining: expect.stringMatching(/^9\d$/) },
      wrongKey: { status: 401, shouldRetry: 'false', code: 'key_invalid' },
      own: { prefix: secret.slice(0, 10), cost: '0.000006' }, // One input token and one output token.
      admin: 'blocked',
    });
  },
);
