// Tests of Claude Code for `npm run test:clients`: the program itself, in an empty home and its own directory, works
// with tools over a provider of each kind. Not part of `npm test`, since the command installs the program first.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findClaudeCode } from './clients.ts';
import { type Json, PNG } from './conversations/conversation.ts';
import { type Agent, runAgent, SIGNATURE, turnsOf } from './run-agent.ts';
import { type Kind, kinds } from './upstreams/speak.ts';
import { GEMINI_SIGNATURE } from './upstreams/speak-gemini.ts';

const AGENT_MS_MAX = 100_000;
const isThere = findClaudeCode() !== null;
if (!isThere) test.skip('claude-code: its program is not available for this machine', () => {});

/** How each kind of provider recognizes its own thinking; Chat Completions has no way. */
const signatures: Record<Kind, string | null> = {
  anthropic: SIGNATURE,
  openai: null,
  'openai-responses': 'gAAAA.rs_1==',
  gemini: GEMINI_SIGNATURE,
};

for (const kind of isThere ? kinds : [])
  describe(`claude-code over ${kind}`, () => {
    let agent: Agent;
    beforeAll(async () => {
      agent = await runAgent(kind);
    }, AGENT_MS_MAX);
    afterAll(() => agent?.[Symbol.asyncDispose]());

    test('completes every turn of the model', () => {
      expect(agent.printed.at(-1)).toMatchObject({ type: 'result', subtype: 'success', result: 'All is done.' });
      expect([agent.exitCode, agent.errors]).toEqual([0, expect.not.stringContaining('rror')]);
      expect(agent.continued).toMatchObject({ type: 'result', subtype: 'success', result: 'Nothing more.' });
      expect(agent.requests).toHaveLength(5);
    });

    test('gets the input of each call as the model wrote it, to the byte', () => {
      const written = turnsOf(agent.directory).flatMap(({ content }) =>
        content.flatMap((block) => (block.type === 'tool_use' ? [[block.name, block.input]] : [])),
      );
      // Gemini's inputs arrive as parsed JSON, so that whitespace between members is lost.
      const spaced =
        kind === 'gemini' ? written.map(([name, input = '']) => [name, JSON.stringify(JSON.parse(input))]) : written;
      expect(callsOf(agent.printed)).toEqual(spaced as [string, string][]);
      expect(readFileSync(join(agent.directory, 'written.txt'), 'utf8')).toBe(agent.written);
    });

    test('has the results of its tools, also images and errors, matched to their calls', () => {
      const last = agent.requests[4]?.body ?? '{}';
      for (const words of ['first line', PNG, 'No such file', `${Buffer.byteLength(agent.written)} written.txt`])
        expect([words, last.includes(words)]).toEqual([words, true]);
      expect(pairsOf(kind, JSON.parse(last))).toEqual([
        ['Read', true],
        ['Read', true],
        ['Write', true],
        ['Bash', true],
        ['Bash', true],
      ]);
    });

    const signature = signatures[kind];
    if (signature !== null)
      test('has thinking sent back with its signature, unchanged', () => {
        // A restarted process omits the thinking of answers that name another model.
        const sent = agent.requests.slice(2, kind === 'anthropic' ? 5 : 4);
        expect(sent.map(({ body }) => body.includes(signature))).toEqual(sent.map(() => true));
      });

    test('stays on one of two equal routes through all of its turns, also after a restart', () => {
      expect(agent.routes.map(({ requests }) => requests.length).sort()).toEqual([0, 5]);
    });

    test('has each turn sent with the same prefix as the one before, for the prompt cache', () => {
      const beginnings = agent.requests.slice(0, 4).map(({ body }) => beginningOf(JSON.parse(body) as Json));
      for (const [place, one] of beginnings.slice(1).entries())
        expect([place, one.startsWith((beginnings[place] ?? '').slice(0, -2))]).toEqual([place, true]);
    });

    test('pays for each turn’s usage, and sees the same total', async () => {
      const output = kind === 'openai-responses' ? 40 : 30;
      const cost = ((20 * 3 + 100 * 0.3 + output * 15) / 1e6).toFixed(9).replace(/0+$/, '');
      const turn = {
        input_tokens: 20,
        cache_read_input_tokens: 100,
        output_tokens: output,
        cost,
        outcome: 'completed',
      };
      expect(agent.records).toMatchObject(Array(5).fill({ ...turn, usage_source: 'reported', stream: true }));
      expect(agent.printed.at(-1)).toMatchObject({
        usage: { input_tokens: 80, cache_read_input_tokens: 400, output_tokens: 4 * output },
      });
      expect(await agent.turnpike.check()).toMatchObject({ ok: true, open_holds: 0, faults: [] });
    });

    test('connects only to the service', () => {
      expect(agent.callsElsewhere).toEqual([]);
    });
  });

if (isThere)
  describe('claude-code', () => {
    test(
      'reports an exhausted balance, and does not retry',
      async () => {
        await using agent = await runAgent('anthropic', { credit: '0' });
        expect(agent.printed.at(-1)).toMatchObject({ type: 'result', is_error: true });
        expect(String(agent.printed.at(-1)?.['result'])).toMatch(/balance/i);
        expect(agent.requests).toEqual([]);
        const page = await (await agent.turnpike.scrape()).text();
        expect(page).toContain('turnpike_refusals_total{code="insufficient_user_quota"} 1');
      },
      AGENT_MS_MAX,
    );

    test(
      'continues when an overloaded provider recovers',
      async () => {
        await using agent = await runAgent('anthropic', { isOverloadedFirst: true });
        expect(agent.printed.at(-1)).toMatchObject({ subtype: 'success', result: 'All is done.' });
      },
      AGENT_MS_MAX,
    );
  });

/** Instructions, tools and messages of a request in this order, without cache markers, which move. */
function beginningOf({ system, instructions, systemInstruction, tools, messages, input, contents }: Json): string {
  const parts = [tools, system ?? instructions ?? systemInstruction ?? '', messages ?? input ?? contents];
  return JSON.stringify(parts, (name, value) => (name === 'cache_control' ? undefined : value));
}

/** Name and input of each call, with the input assembled from the stream. */
function callsOf(printed: readonly Json[]): [string, string][] {
  const calls: [string, string][] = [];
  for (const { type, event } of printed) {
    if (type !== 'stream_event') continue;
    const { content_block: block, delta } = event as { content_block?: Json; delta?: Json };
    if (block?.['type'] === 'tool_use') calls.push([String(block['name']), '']);
    const call = calls.at(-1);
    if (delta?.['type'] === 'input_json_delta' && call !== undefined) call[1] += String(delta['partial_json']);
  }
  return calls;
}

/**
 * The calls of a request, by name, and whether each has its own result. Gemini's have no ids, so their order decides.
 */
function pairsOf(kind: string, body: Json): [string, boolean][] {
  const all = ((body['messages'] ?? body['input'] ?? body['contents']) as Json[]).flatMap(blocksOf);
  const results = all.flatMap(({ result }) => result ?? []);
  const calls = all.flatMap(({ call, name }) => (call === undefined ? [] : [{ call, name: String(name) }]));
  return calls.map(({ call, name }, place) => [
    name,
    kind === 'gemini' ? results[place] === name : results.includes(call),
  ]);
}

/** A call, or the result of one, by the call's id. */
interface Paired {
  call?: string;
  name?: unknown;
  result?: string;
}

/** Calls and results of one message or item, of any protocol. */
function blocksOf(message: Json): Paired[] {
  const blocks = [message, message['content'], message['parts'], message['tool_calls']].flat() as (Json | undefined)[];
  return blocks.flatMap((block): Paired[] => {
    if (typeof block !== 'object' || block === null) return [];
    const { functionCall, functionResponse } = block as Record<string, Json | undefined>;
    if (functionCall !== undefined) return [{ call: '', name: functionCall['name'] }];
    if (functionResponse !== undefined) return [{ result: String(functionResponse['name']) }];
    switch (block['type'] ?? block['role']) {
      case 'tool_use':
        return [{ call: String(block['id']), name: block['name'] }];
      case 'function':
        return [{ call: String(block['id']), name: (block['function'] as Json)['name'] }];
      case 'function_call':
        return [{ call: String(block['call_id']), name: block['name'] }];
      case 'tool_result':
        return [{ result: String(block['tool_use_id']) }];
      case 'tool':
        return [{ result: String(block['tool_call_id']) }];
      case 'function_call_output':
        return [{ result: String(block['call_id']) }];
      default:
        return [];
    }
  });
}
