// Concurrent prompts never cost more together than the balance, whatever was sent before, and prompts that fit
// together are all accepted.

import { afterAll, expect, test } from 'bun:test';
import {
  type Answer,
  type RecordedRequest,
  type Script,
  scripts,
  upstreamEvents,
} from '../../support/scripted-upstream.ts';
import { type Caller, type Json, sharedWorld } from '../post-messages/world.ts';

const world = await sharedWorld({
  models: {
    dear: { price: { input: '10', output: '10' }, routes: [{ provider: 'first', model: 'upstream-model' }] },
  },
});
afterAll(() => world.stop());

const PROMPT_BYTES = 45_000; // 0.45 USD at a token per byte

function promptOf(character: string): Json {
  const content = character.repeat(PROMPT_BYTES);
  return { model: 'dear', max_tokens: 20, messages: [{ role: 'user', content }] };
}

function isCount({ path }: RecordedRequest): boolean {
  return path.endsWith('/count_tokens');
}

/** Responds with an honest count of the prompt: this many tokens per byte of its text. It has no token counter. */
function counting(tokensPerByte: number): Script {
  return (answer, request) => {
    if (isCount(request)) return scripts.error(404, 'not_found_error', 'no such path')(answer, request);
    const { messages } = JSON.parse(request.body) as { messages: { content: string }[] };
    const usage = { input_tokens: Math.ceil((messages[0]?.content.length ?? 0) * tokensPerByte), output_tokens: 1 };
    const finalUsage = { output_tokens: 5 };
    return scripts.good({ usage, finalUsage })(answer, request);
  };
}

async function sumUp({ account }: Caller): Promise<{ writtenOff: number; balance: number; records: number }> {
  const { data } = (await world.admin('GET', `/usage?account=${account}&limit=1000`)) as { data: Json[] };
  const { balance } = await world.admin('GET', `/accounts/${account}`);
  const writtenOff = data.reduce((sum, record) => sum + Number(record['written_off']), 0);
  return { writtenOff, balance: Number(balance), records: data.length };
}

for (const stream of [true, false]) {
  const form = stream ? 'streams' : 'messages';

  test(`120 concurrent ${form} with prompts of 0.45 USD spend no more than the wallet, even after cheaper prompts`, async () => {
    const caller = await world.makeKey({ credit: '10.00' });
    world.upstream.play(counting(0.001));
    for (let sent = 0; sent < 20; sent++) await (await world.post(caller.secret, promptOf(' '))).text();
    world.upstream.play(counting(1));
    const answers = await Promise.all(
      Array.from({ length: 120 }, () => world.post(caller.secret, { ...promptOf('7'), stream })),
    );
    const statuses = new Set<number>();
    for (const answer of answers) {
      statuses.add(answer.status);
      const text = await answer.text();
      if (answer.status !== 200) expect(text).toContain('insufficient_user_quota');
    }
    expect([...statuses].sort()).toEqual([200, 400]);
    const { writtenOff, balance, records } = await sumUp(caller);
    expect(writtenOff).toBe(0);
    expect(balance).toBeGreaterThanOrEqual(0);
    expect(balance).toBeLessThan(0.9); // and the wallet is used almost completely
    expect(records - 20).toBe(answers.filter(({ status }) => status === 200).length);
    expect(await world.check()).toMatchObject({ ok: true, open_holds: 0 });
  });
}

test('concurrent streams whose prompts fit the wallet are all served, even if their worst cases together do not fit', async () => {
  const streams = 30;
  const caller = await world.makeKey({ credit: '5.00' }); // 30 × 0.45 by bytes, 30 × 0.1125 by the provider's count
  let begun = 0;
  const all = Promise.withResolvers<void>();
  world.upstream.play(async (answer: Answer, request: RecordedRequest) => {
    if (isCount(request)) return scripts.error(404, 'not_found_error', 'no such path')(answer, request);
    const usage = { input_tokens: PROMPT_BYTES / 4, output_tokens: 1 };
    const events = upstreamEvents({ usage, finalUsage: { output_tokens: 5 } });
    answer.begin(200, { 'content-type': 'text/event-stream' });
    await answer.write(events.slice(0, 4).join(''));
    if (++begun === streams) all.resolve();
    await all.promise; // no stream ends before all have begun
    await answer.write(events.slice(4).join(''));
    answer.end();
  });
  const answers = await Promise.all(
    Array.from({ length: streams }, () => world.post(caller.secret, { ...promptOf('x'), stream: true })),
  );
  for (const answer of answers)
    expect({ status: answer.status, text: await answer.text() }).toMatchObject({ status: 200 });
  expect((await sumUp(caller)).writtenOff).toBe(0);
  expect(await world.check()).toMatchObject({ ok: true, open_holds: 0 });
});
