// A caller may leave while the beginning of an answer is held back, since another route might still answer instead: it
// is one answer all the same, it is stopped, and no other route is asked for nobody.

import { expect, test } from 'bun:test';
import { expectMoney } from '../post-messages/world.ts';
import { startFaultUpstream } from '../support/fault-upstream.ts';
import { startTurnpike } from '../support/start-turnpike.ts';
import { type Dialect, dialects } from './dialects.ts';
import { STREAM_TYPE } from './faults.ts';
import { answerWell, BAD_TEXT } from './two-routes.ts';

test('who leaves between the beginning of a stream and its content pays what was reported, and it is stopped', async () => {
  const dialect = dialects[0] as Dialect;
  const begun = Promise.withResolvers<void>();
  await using first = await startFaultUpstream((wire) => {
    wire.begin(200, STREAM_TYPE);
    wire.chunk(dialect.stream([BAD_TEXT]).begin.join(''));
    begun.resolve();
  });
  await using second = await startFaultUpstream(answerWell(dialect));
  const providerAt = ({ url }: { url: string }) => ({ kind: dialect.kind, base_url: url, private_network: true });
  await using turnpike = await startTurnpike({
    providers: { first: providerAt(first), second: providerAt(second) },
    models: {
      paired: {
        price: { input: '3', output: '15' },
        routes: [{ provider: 'first' }, { provider: 'second', priority: 1 }],
      },
    },
  });
  const caller = await turnpike.makeKey();
  const leaving = new AbortController();
  const messages = [{ role: 'user', content: 'Good morning!' }];
  const body = { model: 'paired', max_tokens: 100, stream: true, messages };
  const posted = turnpike.post(caller.secret, body, { signal: leaving.signal }).catch(() => {});
  await begun.promise;
  await Bun.sleep(300); // until the service has read it
  leaving.abort();
  await posted;
  const attempts = [{ provider: 'first', result: 'aborted' }];
  await expectMoney(turnpike, caller, [{ outcome: 'client_gone', provider: 'first', input_tokens: 25, attempts }]);
  for (let tries = 0; tries < 200 && first.danglingCount > 0; tries++) await Bun.sleep(10);
  expect([first.danglingCount, first.requests.length, second.requests.length]).toEqual([0, 1, 0]);
});
