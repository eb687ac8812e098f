// Every kind of provider over real sockets: who leaves stops it, no redirect is followed, nothing that a caller names is
// fetched, and a probe costs nothing.

import { describe, expect, test } from 'bun:test';
import { type ProviderEndpoint, probeProvider } from '../../../src/providers/providers.ts';
import { Secret } from '../../../src/secrets/secrets.ts';
import { makeRandom } from '../../support/random.ts';
import { type Script, scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { faultOf } from '../make-attempt.ts';
import type { Driver } from './driver.ts';
import { drivers } from './drivers.ts';
import { attemptOf, providerOf, THINKING } from './exchange.ts';
import { leadHost } from './network.ts';
import { sayingOf, text } from './saying.ts';

/** The first events of an answer, and then what `ending` does. */
const begin =
  (driver: Driver, ending: (answer: Parameters<Script>[0]) => void): Script =>
  async (answer) => {
    answer.begin(200, { 'content-type': 'text/event-stream' });
    const saying = driver.fit(sayingOf([text('Something long enough for several events')]));
    await answer.write(driver.stream(saying, makeRandom(1)).slice(0, 4).join(''));
    await Bun.sleep(20); // so that what was written is read before the ending
    ending(answer);
  };

const endpointOf = ({ kind, baseUrl, credential }: Driver): ProviderEndpoint => ({
  name: 'theirs',
  kind,
  baseUrl,
  credential: new Secret(credential),
});

/** Reads until something was said. */
async function readText(driver: Driver, signal: AbortSignal) {
  const reply = await providerOf(driver).submit(attemptOf(driver, { stream: true, thinking: THINKING }, { signal }));
  if (reply.form !== 'stream') throw new Error('it was not streamed');
  for (;;) {
    const events = await reply.events.next();
    if (events === null) throw new Error('nothing was said');
    if (events.some(({ name }) => name === 'content_block_delta')) return reply.events;
  }
}

describe.each(drivers.map((driver): [string, Driver] => [driver.name, driver]))('%s', (_name, driver) => {
  test('is stopped by an abort before its answer, in the middle of a wait, and between two reads', async () => {
    await using upstream = await startScriptedUpstream(
      scripts.hangBeforeHead(),
      begin(driver, () => undefined),
    );
    using _host = leadHost(driver.baseUrl, upstream.url);
    const [before, waiting, between] = [new AbortController(), new AbortController(), new AbortController()];
    const opening = readText(driver, before.signal);
    while (upstream.requests.length === 0) await Bun.sleep(2);
    before.abort();
    expect((await faultOf(opening)).kind).toBe('aborted');
    await upstream.aborted(1);
    const source = await readText(driver, waiting.signal);
    const next = source.next();
    waiting.abort();
    expect((await faultOf(next)).kind).toBe('aborted');
    await upstream.aborted(2);
    const other = await readText(driver, between.signal);
    between.abort();
    await upstream.aborted(3);
    expect((await faultOf(other.next())).kind).toBe('aborted');
  });

  test('that breaks off in the middle is a failure', async () => {
    await using upstream = await startScriptedUpstream(
      begin(driver, (answer) => answer.drop()),
      begin(driver, (answer) => answer.reset()),
    );
    using _host = leadHost(driver.baseUrl, upstream.url);
    for (let turn = 0; turn < 2; turn++) {
      const source = await readText(driver, new AbortController().signal);
      expect(await faultOf(source.next())).toMatchObject({ kind: 'failed', status: null });
    }
  });

  test('is followed to no other place, neither with a message nor with a probe', async () => {
    await using elsewhere = await startScriptedUpstream(scripts.json('{}'));
    await using upstream = await startScriptedUpstream(scripts.redirect(`${elsewhere.url}/v1/messages`));
    using _host = leadHost(driver.baseUrl, upstream.url);
    for (const stream of [true, false]) {
      const fault = await faultOf(providerOf(driver).submit(attemptOf(driver, { stream })));
      expect(fault).toMatchObject({ kind: 'failed', status: 307 });
    }
    const probed = await probeProvider(providerOf(driver), endpointOf(driver));
    expect(probed).toMatchObject({ ok: false, status: 307, fault: 'failed' });
    expect(elsewhere.connectionCount).toBe(0);
  });

  test('has nothing fetched for it that a caller names: an address goes there as it is, or is refused by its path', async () => {
    await using named = await startScriptedUpstream(scripts.html(200));
    await using upstream = await startScriptedUpstream((answer) =>
      answer.send(200, { 'content-type': 'application/json' }, driver.whole(driver.fit(sayingOf([text('A cat.')])))),
    );
    using _host = leadHost(driver.baseUrl, upstream.url);
    const source = { type: 'url', url: `${named.url}/cat.png` };
    for (const block of [
      { type: 'image', source },
      { type: 'document', source },
    ]) {
      const result = { type: 'tool_result', tool_use_id: 'toolu_look1', content: [block] };
      const used = { type: 'tool_use', id: 'toolu_look1', name: 'look', input: {} };
      const user = (content: unknown) => ({ role: 'user', content });
      for (const messages of [
        [user([block])],
        [user('Look'), { role: 'assistant', content: [used] }, user([result])],
      ]) {
        upstream.requests.length = 0;
        const fault = await providerOf(driver)
          .submit(attemptOf(driver, { messages }))
          .then(
            () => null,
            (thrown) => thrown,
          );
        if (fault === null) expect(upstream.requests[0]?.body).toContain(source.url);
        else
          expect(fault).toMatchObject({
            kind: 'rejected',
            message: expect.stringMatching(/^messages\.\d\.content\.0/),
          });
        expect(upstream.requests).toHaveLength(fault === null ? 1 : 0);
      }
    }
    expect(named.connectionCount).toBe(0);
  });

  test('is probed by its list of models, and tells a credential that is not taken', async () => {
    await using upstream = await startScriptedUpstream(scripts.json(driver.models), (answer) =>
      answer.send(401, { 'content-type': 'application/json' }, `{"error":{"message":"No: ${driver.credential}"}}`),
    );
    using _host = leadHost(driver.baseUrl, upstream.url);
    expect(await probeProvider(providerOf(driver), endpointOf(driver))).toMatchObject({ ok: true, models: 2 });
    expect(upstream.requests[0]).toMatchObject({ method: 'GET', body: '' });
    expect(upstream.requests[0]?.path).not.toContain(driver.credential);
    const refused = await probeProvider(providerOf(driver), endpointOf(driver));
    expect(refused).toMatchObject({ ok: false, fault: 'credentials' });
    expect(JSON.stringify(refused)).not.toContain(driver.credential);
  });

  test('gets the credential in a header alone, and of the caller’s headers none', async () => {
    await using upstream = await startScriptedUpstream(scripts.html(500));
    using _host = leadHost(driver.baseUrl, upstream.url);
    await faultOf(providerOf(driver).submit(attemptOf(driver, {})));
    const { path, headers, body } = upstream.requests[0] ?? expect.unreachable();
    const holding = Object.entries(headers).filter(([, value]) => value.includes(driver.credential));
    expect(holding).toHaveLength(1);
    expect(path + body).not.toContain(driver.credential);
    expect(Object.keys(headers)).not.toContain('cookie');
  });
});
