// Every kind of provider behind the running service: unmodified clients, the bill of what it reports, and of what it does not
// report.

import { afterAll, describe, expect, test } from 'bun:test';
import { formatUsd } from '../../../../src/base/money.ts';
import { type Event, eventsOf, expectMoney } from '../../../contract/post-messages/world.ts';
import { makeRandom } from '../../../support/random.ts';
import { startTurnpike } from '../../../support/start-turnpike.ts';
import { AGENT_BETAS, agentRequest, VENDOR_MEMBERS } from './agent-request.ts';
import { resultOf, toolClients } from './clients.ts';
import { countWireOf } from './count-wires.ts';
import { bytesOf, type Driver, type Json } from './driver.ts';
import { kinds } from './drivers.ts';
import { json, PLACE, streamed, withToolNamesOf } from './exchange.ts';
import { exactText } from './facts.ts';
import { call, type ModelReply, replyOf, text, thinking } from './model-reply.ts';
import { answerHost, type SentRequest } from './network.ts';

const PRICE = { input: '3', output: '15', cache_read: '1', cache_write_5m: '4' };

const service = await startTurnpike({
  providers: Object.fromEntries(
    kinds.map(({ kind, baseUrl, credential }) => [
      kind,
      { kind, base_url: baseUrl, api_key: credential, ...(kind === 'bedrock' && { region: PLACE.region }) },
    ]),
  ),
  models: Object.fromEntries(
    kinds.map(({ kind, model }) => [kind, { price: PRICE, routes: [{ provider: kind, model }] }]),
  ),
});
afterAll(async () => {
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0, faults: [] });
  await service.stop();
});

/** Answers with these replies in turn, until disposed. */
function replying(driver: Driver, stream: boolean, ...replies: ModelReply[]): Disposable & { sent: SentRequest[] } {
  const sent: SentRequest[] = [];
  const host = answerHost(driver.baseUrl, (request) => {
    const reply = withToolNamesOf(driver, replies[sent.length] as ModelReply, request);
    sent.push(request);
    if (!stream) return json(driver.whole(reply));
    return streamed(driver, [bytesOf(driver, driver.stream(reply, makeRandom(1)))]);
  });
  return Object.assign(host, { sent });
}

const messageOf = ({ kind }: Driver, stream: boolean) => ({
  model: kind,
  max_tokens: 2_000,
  messages: [{ role: 'user', content: 'Hi' }],
  stream,
});

/** The usage that a client has at the end. */
async function usageOf(response: Response, stream: boolean): Promise<Json> {
  const body = await response.text();
  expect({ status: response.status, body }).toMatchObject({ status: 200 });
  if (!stream) return (JSON.parse(body) as { usage: Json }).usage;
  const usages = eventsOf(body).map(
    ({ json: { message, usage } }) => usage ?? (message as Json | undefined)?.['usage'],
  );
  return Object.assign({}, ...usages);
}

/** Billed by these counts, each token once. */
function billOf(usage: Json): Json {
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens } = usage as Record<
    string,
    number | undefined
  >;
  const [input = 0, read = 0, write = 0, output = 0] = [
    ...[input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens],
  ];
  const cost = formatUsd(1_000 * (3 * input + read + 4 * write + 15 * output));
  return { input_tokens: input, cache_read_input_tokens: read, output_tokens: output, cost, usage_source: 'reported' };
}

describe.each(kinds.map((driver): [string, Driver] => [driver.kind, driver]))('%s', (_, driver) => {
  test.each([true, false])(
    'is billed as it reports, each token once, and knows no key of a client (streamed: %p)',
    async (stream) => {
      const reply = driver.fit(replyOf([text('Hello there.')]));
      using provider = replying(driver, stream, reply);
      const caller = await service.makeKey();
      const usage = await usageOf(await service.post(caller.secret, messageOf(driver, stream)), stream);
      expect(usage).toMatchObject(driver.reportedCounts(reply.counted));
      await expectMoney(service, caller, [{ ...billOf(usage), outcome: 'completed', stream }]);
      const [{ url, headers, body }] = provider.sent as [SentRequest];
      expect(JSON.stringify([url, [...headers], body])).not.toContain(caller.secret);
    },
  );

  test.each([true, false])(
    'without reported usage is billed by an estimate, which is shown to the client (streamed: %p)',
    async (stream) => {
      const wire = countWireOf(driver);
      const word = { chat: 'stop', gemini: 'STOP', converse: 'end_turn', responses: 'completed', messages: 'end_turn' };
      const end = word[wire.protocol];
      const said = 'word '.repeat(200);
      const streamOf = () => wire.stream({ pieces: [{ text: said, report: null }], word: end, last: null });
      using _host = answerHost(driver.baseUrl, () =>
        stream ? streamed(driver, [bytesOf(driver, streamOf())]) : json(wire.whole(said, end, null)),
      );
      const caller = await service.makeKey();
      const response = await service.post(caller.secret, messageOf(driver, stream));
      const usage = await usageOf(response.clone() as Response, stream);
      const [record] = await expectMoney(service, caller, [{ usage_source: 'estimated', outcome: 'completed' }]);
      expect(record?.['output_tokens']).toBeGreaterThan(50);
      expect(record?.['input_tokens']).toBeGreaterThan(0);
      expect(usage['output_tokens']).toBe(record?.['output_tokens']);
      if (!stream) return;
      // Clients require a count at the beginning, when the provider has not counted yet.
      const [start] = eventsOf(await response.text()) as [Event];
      const begun = (start.json['message'] as { usage: Record<string, number> }).usage;
      expect(begun['input_tokens']).toBeGreaterThan(0);
      expect(begun['output_tokens']).toBe(0);
    },
  );

  for (const client of toolClients)
    test.each([true, false])(`has its tools called over two turns by ${client.name} (streamed: %p)`, async (stream) => {
      const first = driver.fit(
        replyOf([
          thinking('Two cities.'),
          text('I look.'),
          call('toolu_paris1', 'look', '{"city":"Paris"}', 'CALLSEAL1'),
          call('toolu_rome22', 'look', '{"city":"Rome"}'),
        ]),
      );
      const last = driver.fit(replyOf([text('Sun in both.')]));
      using provider = replying(driver, stream, first, last);
      const caller = await service.makeKey();
      const conversation = { url: service.url, secret: caller.secret, model: driver.kind, stream };
      const shown = driver.shown(first).map((block) => (block.type === 'thinking' ? block.thinking : ''));
      expect(await client.run(conversation)).toEqual({ thinking: shown.join(''), text: 'Sun in both.' });
      const { facts } = driver.read(provider.sent[1]?.body ?? '');
      const said = facts.flatMap((fact) => ('text' in fact ? fact.text : 'call' in fact ? exactText(fact.input) : []));
      expect(said).toEqual(
        expect.arrayContaining(['I look.', '{"city":"Paris"}', '{"city":"Rome"}', resultOf('Paris'), resultOf('Rome')]),
      );
      const numbers = facts.flatMap((fact) =>
        'call' in fact ? [fact.call] : 'result' in fact ? [-1 - fact.result] : [],
      );
      expect(numbers).toEqual([0, 1, -1, -2]);
      const seals = facts.flatMap((fact) => ('seal' in fact && fact.seal !== null ? [fact.seal] : []));
      expect(seals).toEqual(driver.back(first).flatMap(({ seal }) => seal ?? []));
      const bill = billOf(driver.reportedCounts(first.counted));
      await expectMoney(service, caller, [bill, bill]);
    });

  test('serves a coding agent, and gets no members that only the vendor of the agent reads', async () => {
    using provider = replying(driver, true, driver.fit(replyOf([text('Done.')])));
    const caller = await service.makeKey({ credit: '100' });
    const headers = { 'anthropic-version': '2023-06-01', 'anthropic-beta': AGENT_BETAS };
    const response = await service.post(caller.secret, agentRequest(driver.kind), { headers });
    expect([response.status, eventsOf(await response.text()).at(-1)?.name]).toEqual([200, 'message_stop']);
    const body = provider.sent[0]?.body ?? '';
    expect(body).toContain('12345678901234567890');
    expect(body).toContain('Working directory: /');
    if (!driver.speaksMessages) for (const member of VENDOR_MEMBERS) expect(body).not.toContain(member);
    await expectMoney(service, caller, [{ outcome: 'completed', usage_source: 'reported' }], '100');
  });
});
