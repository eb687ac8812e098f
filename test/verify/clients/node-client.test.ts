// The official SDKs in plain Node: its HTTP client, not this runtime's, is at the other end of the socket.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { sharedTurnpike } from '../../support/shared-turnpike.ts';
import type { Turnpike } from '../../support/start-turnpike.ts';

let turnpike: Turnpike;
let secret: string;
beforeAll(async () => {
  turnpike = await sharedTurnpike();
  ({ secret } = await turnpike.makeKey());
});
afterAll(async () => {
  await turnpike.stop();
});

/** Output of test/verify/clients/node-client.mjs. */
async function runNode(packageName: string): Promise<Record<string, unknown>> {
  const node = Bun.which('node') ?? 'node is not installed';
  const child = Bun.spawn([node, join(import.meta.dir, 'node-client.mjs'), packageName, turnpike.url, secret], {
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [printed, errors, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  expect([exitCode, errors]).toEqual([0, '']);
  return JSON.parse(printed) as Record<string, unknown>;
}

/** The record of a message whose client disconnected: it appears once the disconnect was noticed. */
async function recordOf(requestId: string): Promise<Record<string, unknown>> {
  for (let waitedMs = 0; waitedMs < 2_000; waitedMs += 10) {
    const record = await turnpike.admin('GET', `/usage/${requestId}`).catch(() => null);
    if (record !== null) return record;
    await Bun.sleep(10);
  }
  throw new Error(`there is no record of ${requestId}`);
}

describe.each(['@anthropic-ai/sdk', 'anthropic-sdk-0'])('%s in Node', (packageName) => {
  test('handles messages, streams, refusals and tool calls', async () => {
    const said = await runNode(packageName);
    expect(said).toMatchObject({
      runtime: 'node',
      text: 'said in Node',
      usage: { input_tokens: 3, output_tokens: 12 },
      stopReason: 'max_tokens',
      aborted: 'APIUserAbortError',
      refusal: { isBadRequest: true, code: 'model_not_found' },
      limited: { isRateLimit: true, code: 'upstream_rate_limited' },
      toolText: 'noon',
    });
    expect(said['events']).toEqual([
      'message_start',
      'content_block_start',
      ...Array<string>(3).fill('content_block_delta'),
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    const record = await turnpike.admin('GET', `/usage/${said['requestId']}`);
    expect(record).toMatchObject({ outcome: 'completed', input_tokens: 3, output_tokens: 3, cost: '0.000018' });
    const left = await recordOf(said['leftRequestId'] as string);
    expect(left).toMatchObject({ outcome: 'client_gone', input_tokens: 3, usage_source: 'estimated' });
    expect(left['output_tokens'] as number).toBeLessThan(1_000);
    expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
  });
});
