// Callers who leave at any moment, by the hundred: before their body is read, while they are admitted,
// before the first event, in the midst of a stream, at its very end. Whatever they held comes back.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { parseUsd } from '../../src/base/money.ts';
import { makeRandom } from '../support/random.ts';
import { type ScriptedUpstream, scripts, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { startTurnpike, type Turnpike } from '../support/start-turnpike.ts';

const CALLERS = 600;
const PLACES = 40;

let upstream: ScriptedUpstream;
let turnpike: Turnpike;
beforeAll(async () => {
  const random = makeRandom(3);
  upstream = await startScriptedUpstream(async (answer, request) => {
    await Bun.sleep(random() * 40);
    if (!answer.isGone) await scripts.good()(answer, request);
  });
  const route = { provider: 'scripted', model: 'late' };
  turnpike = await startTurnpike({
    providers: { scripted: { kind: 'anthropic', base_url: upstream.url, private_network: true } },
    models: { late: { price: { input: '1', output: '5' }, routes: [route] } },
  });
});
afterAll(async () => {
  await turnpike.stop();
  await upstream.close();
});

/** Sends a message, half of its body first, over a socket that is destroyed after `leavesMs`; resolves when it is. */
async function leaveAfter(secret: string, body: object, leavesMs: number, isReset: boolean): Promise<void> {
  const { hostname, port } = new URL(turnpike.url);
  const text = JSON.stringify(body);
  const socket = await Bun.connect({ hostname, port: Number(port), socket: { data() {}, close() {}, error() {} } });
  const head = `POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: ${secret}\r\ncontent-type: application/json\r\n`;
  socket.write(`${head}content-length: ${text.length}\r\n\r\n${text.slice(0, text.length / 2)}`);
  await Bun.sleep(leavesMs / 4);
  socket.write(text.slice(text.length / 2));
  await Bun.sleep((leavesMs * 3) / 4);
  if (isReset) socket.terminate();
  else socket.end();
}

describe('callers who leave', () => {
  test(`at any moment, ${CALLERS} of them, leave no hold and no taken place behind, and pay for what they used alone`, async () => {
    const made = await turnpike.makeKey({ credit: '1.00' }, { concurrency: PLACES });
    const random = makeRandom(11);
    const models = ['late', 'late', 'sandbox-lorem', 'sandbox-echo', 'sandbox-cut', 'sandbox-error-529'];
    const leaving = Array.from({ length: CALLERS }, async (_, at) => {
      await Bun.sleep(random() * 1_000);
      const model = models[at % models.length];
      const messages = [{ role: 'user', content: 'go' }];
      const body = { model, max_tokens: 100, stream: random() < 0.6, messages };
      await leaveAfter(made.secret, body, random() * 60, random() < 0.5);
    });
    await Promise.all(leaving);
    await until(async () => (await turnpike.admin('GET', `/accounts/${made.account}`))['held'] === '0');
    expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });

    const usage = await turnpike.admin('GET', `/usage?account=${made.account}&limit=1000`);
    const records = usage['data'] as Record<string, string | number>[];
    const paid = records.reduce((sum, { cost }) => sum + (parseUsd(cost as string) as number), 0);
    const { balance } = await turnpike.admin('GET', `/accounts/${made.account}`);
    expect(parseUsd(balance as string)).toBe(1_000_000_000 - paid);
    const outcomes = new Set(records.map(({ outcome }) => outcome));
    for (const outcome of ['completed', 'client_gone', 'failed']) expect([...outcomes]).toContain(outcome);
    for (const record of records) {
      if (record['outcome'] === 'failed') expect(record).toMatchObject({ cost: '0', usage_source: 'none' });
      if (record['model'] === 'sandbox-lorem') expect(record['output_tokens'] as number).toBeLessThanOrEqual(100);
    }
    const again = Array.from({ length: PLACES }, () =>
      turnpike.post(made.secret, { model: 'late', max_tokens: 9, messages: [{ role: 'user', content: 'go' }] }),
    );
    expect((await Promise.all(again)).map(({ status }) => status)).toEqual(Array<number>(PLACES).fill(200));
  }, 20_000);
});

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let waitedMs = 0; waitedMs < 3_000; waitedMs += 20) {
    if (await isSo()) return;
    await Bun.sleep(20);
  }
  throw new Error('it did not come to be within three seconds');
}
