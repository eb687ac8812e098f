// The classification of failures of every kind of provider: by status, text or form, before the response and in the
// middle of it. None of them repeats the credential.

import { describe, expect, test } from 'bun:test';
import { ProviderFault as Fault, type FaultKind, type ProviderFault } from '../../../../src/providers/providers.ts';
import { makeRandom } from '../../../support/random.ts';
import { bytesOf, type Driver } from './driver.ts';
import { drivers } from './drivers.ts';
import { ask, attemptOf, json, type Outcome, streamed, THINKING } from './exchange.ts';
import { call, replyOf, text } from './model-reply.ts';

/** The faults for a request with this response, streamed and whole. */
async function faultsOf(driver: Driver, answer: () => Response): Promise<ProviderFault[]> {
  const faults: ProviderFault[] = [];
  for (const stream of [true, false]) {
    const { fault, events } = await ask(driver, attemptOf(driver, { stream, thinking: THINKING }), answer);
    if (fault === null) throw new Error('the attempt did not fail');
    expect(events).toEqual([]); // no content was sent: another route may be tried
    faults.push(fault);
  }
  return faults;
}

async function streamOf(driver: Driver, ...events: string[]): Promise<Outcome> {
  const attempt = attemptOf(driver, { stream: true, thinking: THINKING });
  const pieces = events.map((event) => bytesOf(driver, [event]));
  return await ask(driver, attempt, () => streamed(driver, pieces));
}

const STATUSES: readonly [status: number, kind: FaultKind][] = [
  [401, 'credentials'],
  [402, 'credentials'],
  [403, 'credentials'],
  [404, 'not_found'],
  [408, 'timeout'],
  [413, 'rejected'],
  [422, 'rejected'],
  [429, 'rate_limited'],
  [500, 'failed'],
  [502, 'failed'],
  [503, 'overloaded'],
  [504, 'timeout'],
  [529, 'overloaded'],
];
const BODIES = ['', '{}', '[]', 'null', '{"error":', '<html><body>It works!</body></html>'];

describe.each(drivers.map((driver): [string, Driver] => [driver.name, driver]))('%s', (_name, driver) => {
  test('classifies a failure by its status, whatever its body is', async () => {
    for (const [status, kind] of STATUSES)
      for (const body of BODIES)
        for (const fault of await faultsOf(driver, () => json(body, status)))
          expect([status, body, fault.kind, fault.status]).toEqual([status, body, kind, status]);
  });

  test.each(Object.entries(driver.refusals))('recognizes %s', async (name, refusal) => {
    const { status, headers = {}, body, kind, retryAfterMs } = refusal;
    for (const fault of await faultsOf(driver, () => json(body, status, headers))) {
      expect(fault.kind).toBe(kind);
      if (retryAfterMs !== undefined) expect(fault.retryAfterMs).toBe(retryAfterMs);
      if (name === 'rejected content') expect(fault.message).toEndWith('the text of the refusal');
    }
  });

  test('reports the retry time, in seconds or as a date', async () => {
    for (const status of [429, 503, 529]) {
      const [seconds] = await faultsOf(driver, () => json('{}', status, { 'retry-after': '7' }));
      expect(seconds?.retryAfterMs).toBe(7_000);
      const date = new Date(Date.now() + 60_000).toUTCString();
      const [dated] = await faultsOf(driver, () => json('{}', status, { 'retry-after': date }));
      expect(dated?.retryAfterMs).toBeWithin(1, 60_001);
      const [never] = await faultsOf(driver, () => json('{}', status, { 'retry-after': 'soon' }));
      expect(never?.retryAfterMs).toBeNull();
    }
  });

  test('recognizes an error with status 200, streamed and whole', async () => {
    const { body } = driver.refusals['rejected content'] ?? expect.unreachable();
    await faultsOf(driver, () => json(body));
    const { events, fault } = await streamOf(driver, driver.midway.event);
    expect([events, fault?.kind]).toEqual([[], driver.midway.kind]);
  });

  test('throws an error in the middle after all events before it, and does not end the message', async () => {
    const begun = driver.stream(driver.fit(replyOf([text('Something that is cut off')])), makeRandom(1)).slice(0, 5);
    for (const error of [driver.midway.event, 'data: <h1>It works!</h1>\n\n', 'data: 7\n\n']) {
      const { events, fault } = await streamOf(driver, ...begun, error);
      expect(fault?.kind).toBe(error === driver.midway.event ? driver.midway.kind : 'failed');
      expect(fault?.message).not.toContain('It works');
      const names = events.map(({ name }) => name);
      expect(names).toContain('content_block_delta');
      expect(names).not.toContain('message_stop');
    }
  });

  test.each(['{}', '[]', 'null', '7', '{"ok":true}', '', '<html></html>'])(
    'refuses an invalid response: %s',
    async (body) => {
      for (const fault of await faultsOf(driver, () => json(body))) expect(fault.kind).toBe('failed');
      const page = () => new Response(body, { headers: { 'content-type': 'text/html' } });
      const { fault } = await ask(driver, attemptOf(driver, { stream: true }), page);
      expect(fault?.kind).toBe('failed');
    },
  );

  test('treats a response that is nested too deeply as unusable, with its counts: the model wrote it', async () => {
    const input = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    const reply = driver.fit(replyOf([{ is: 'call', id: 'toolu_deep1', name: 'look', input, seal: null }]));
    for (const fault of await faultsOf(driver, () => json(driver.whole(reply))))
      expect({ kind: fault.kind, usage: fault.usage }).toEqual({
        kind: 'unusable',
        usage: expect.objectContaining(driver.reportedCounts(reply.counted)),
      });
  });

  test('has all counts of an answer that cannot be used, also those that follow its fault', async () => {
    if (driver.speaksMessages) return; // its content is passed on as it is
    const reply = driver.fit(
      replyOf([call('toolu_bad1', 'look', '[1]'), text('More.'), call('toolu_2', 'look', '{}')]),
    );
    const counts = expect.objectContaining(driver.reportedCounts(reply.counted));
    const { fault } = await streamOf(driver, ...driver.stream(reply, makeRandom(1)));
    expect({ kind: fault?.kind, usage: fault?.usage }).toEqual({ kind: 'unusable', usage: counts });
    const whole = await ask(driver, attemptOf(driver, {}), () => json(driver.whole(reply)));
    expect({ kind: whole.fault?.kind, usage: whole.fault?.usage }).toEqual({ kind: 'unusable', usage: counts });
  });

  test('never repeats the credential in a fault, plain or encoded', async () => {
    const forms = [driver.credential, Buffer.from(`key:${driver.credential}`).toString('base64')];
    const secret = /ours|Ours|b3Vyc|T3Vyc|91cn|VycyOi/;
    const segments = forms.map((form) => `Not with ${form}.`).join(' ');
    const shown = (fault: ProviderFault | null) =>
      JSON.stringify([fault?.message, fault?.errorType, fault?.upstreamRequestId]);
    for (const { body, status } of Object.values(driver.refusals)) {
      const repeated = body.replaceAll(/"message":"[^"]*"/g, () => `"message":"messages.0: ${segments}"`);
      for (const fault of await faultsOf(driver, () => json(repeated, status, { 'x-request-id': driver.credential })))
        expect(shown(fault)).not.toMatch(secret);
    }
    const midway = driver.midway.event.replace(/"message":"[^"]*"/, () => `"message":"${segments}"`);
    const { fault } = await streamOf(driver, midway);
    expect(fault).toBeInstanceOf(Fault);
    expect(shown(fault)).not.toMatch(secret);
  });
});
