// Every kind of provider over real sockets: a disconnect stops it, no redirect is followed, no address in a request
// is fetched, and a probe costs nothing.

import { describe, expect, test } from 'bun:test';
import { type ProviderEndpoint, probeProvider } from '../../../../src/providers/providers.ts';
import { Secret } from '../../../../src/secrets/secrets.ts';
import { makeRandom } from '../../../support/random.ts';
import { type Script, scripts, startScriptedUpstream } from '../../../support/scripted-upstream.ts';
import { faultOf } from '../make-attempt.ts';
import { bytesOf, type Driver, streamTypeOf } from './driver.ts';
import { drivers } from './drivers.ts';
import { attemptOf, PLACE, providerOf, THINKING } from './exchange.ts';
import { replyOf, text } from './model-reply.ts';
import { leadHost } from './network.ts';

/** The first events of a response, then the given ending, once the client has read the events. */
const begin =
  (driver: Driver, ending: (answer: Parameters<Script>[0]) => void, isRead: Promise<void> = never): Script =>
  async (answer) => {
    answer.begin(200, { 'content-type': streamTypeOf(driver) });
    const reply = driver.fit(replyOf([text('Something long enough for several events')]));
    await answer.write(bytesOf(driver, driver.stream(reply, makeRandom(1)).slice(0, 4)));
    await isRead;
    ending(answer);
  };
const never = new Promise<void>(() => {});

const endpointOf = ({ kind, baseUrl, credential }: Driver): ProviderEndpoint => ({
  name: 'theirs',
  kind,
  baseUrl,
  credential: new Secret(credential),
  ...PLACE,
});

/** Reads until there is text. */
async function readText(driver: Driver, signal: AbortSignal) {
  const reply = await providerOf(driver).submit(attemptOf(driver, { stream: true, thinking: THINKING }, { signal }));
  if (reply.form !== 'stream') throw new Error('the response was not streamed');
  for (;;) {
    const events = await reply.events.next();
    if (events === null) throw new Error('there was no text');
    if (events.some(({ name }) => name === 'content_block_delta')) return reply.events;
  }
}

describe.each(drivers.map((driver): [string, Driver] => [driver.name, driver]))('%s', (_name, driver) => {
  test('is stopped by an abort before its response, during a wait, and between two reads', async () => {
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

  test('that breaks off midway is a failure', async () => {
    const isRead = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    await using upstream = await startScriptedUpstream(
      begin(driver, (answer) => answer.drop(), isRead[0].promise),
      begin(driver, (answer) => answer.reset(), isRead[1].promise),
    );
    using _host = leadHost(driver.baseUrl, upstream.url);
    for (const turn of isRead) {
      const source = await readText(driver, new AbortController().signal);
      turn.resolve();
      expect(await faultOf(source.next())).toMatchObject({ kind: 'failed', status: null });
    }
  });

  test('cannot redirect a message or a probe elsewhere', async () => {
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

  test('causes no fetch of an address in a request: it is passed on unchanged, or refused with its path', async () => {
    await using named = await startScriptedUpstream(scripts.html(200));
    await using upstream = await startScriptedUpstream((answer) =>
      answer.send(200, { 'content-type': 'application/json' }, driver.whole(driver.fit(replyOf([text('A cat.')])))),
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

  test('is probed by its list of models or a free refusal, and a refused credential is reported', async () => {
    const { models } = driver;
    const hasList = typeof models === 'string';
    const first: Script = (answer) => {
      const { status, body } = hasList ? { status: 200, body: models } : models;
      answer.send(status, { 'content-type': 'application/json' }, body);
    };
    await using upstream = await startScriptedUpstream(first, (answer) =>
      answer.send(401, { 'content-type': 'application/json' }, `{"error":{"message":"No: ${driver.credential}"}}`),
    );
    using _host = leadHost(driver.baseUrl, upstream.url);
    expect(await probeProvider(providerOf(driver), endpointOf(driver))).toMatchObject({
      ok: true,
      models: hasList ? 2 : null,
    });
    expect(upstream.requests[0]).toMatchObject(hasList ? { method: 'GET', body: '' } : { method: 'POST', body: '{}' });
    expect(upstream.requests[0]?.path).not.toContain(driver.credential);
    const refused = await probeProvider(providerOf(driver), endpointOf(driver));
    expect(refused).toMatchObject({ ok: false, fault: 'credentials' });
    expect(JSON.stringify(refused)).not.toContain(driver.credential);
  });

  test('gets the credential only in a header, and no header of the client', async () => {
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
