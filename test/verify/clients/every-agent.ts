// Tests of coding agents for `npm run test:clients`: each program itself, in an empty home and its own directory, works
// with tools over a provider of each kind. Not part of `npm test`, since the command installs the programs first.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { scripts } from '../../support/scripted-upstream.ts';
import { beginningOf, pairsOf } from './agent-requests.ts';
import { type AgentProgram, agents, SIGNATURE, turnsOf, WRITTEN } from './agents.ts';
import { type Json, PNG } from './conversations/conversation.ts';
import { type AgentRun, runAgent } from './run-agent.ts';
import { type Kind, kinds } from './upstreams/speak.ts';
import { GEMINI_SIGNATURE } from './upstreams/speak-gemini.ts';

const AGENT_MS_MAX = 100_000;
const selected = process.env['AGENTS_SELECTED']?.split(',') ?? agents.map(({ name }) => name);
const isEveryKind = process.env['AGENTS_OVER'] === 'every-kind';

/** How each kind of provider recognizes its own thinking; Chat Completions has no way. */
const signatures: Record<Kind, string | null> = {
  anthropic: SIGNATURE,
  openai: null,
  'openai-responses': 'gAAAA.rs_1==',
  gemini: GEMINI_SIGNATURE,
  bedrock: SIGNATURE,
  vertex: SIGNATURE,
  foundry: SIGNATURE,
};

for (const program of agents.filter(({ name }) => selected.includes(name))) {
  if (program.find() === null) test.skip(`${program.name}: its program is not available for this machine`, () => {});
  else {
    for (const kind of isEveryKind && program.kinds.length > 1 ? new Set([...kinds, ...program.kinds]) : program.kinds)
      describe(`${program.name} with ${program.model} over ${kind}`, () => worksOver(program, kind));
    if (agents.find(({ name }) => name === program.name) === program)
      describe(program.name, () => meetsFailures(program));
    if (program.name === 'claude-code') describe(program.name, () => recovers(program));
  }
}

function worksOver(program: AgentProgram, kind: Kind): void {
  let run: AgentRun;
  beforeAll(async () => {
    run = await runAgent(program, kind);
  }, AGENT_MS_MAX);
  afterAll(() => run?.[Symbol.asyncDispose]());

  sendsRightRequests(program, kind, () => run);

  test('completes every turn of the model', () => {
    expect(program.endOf(run.printed).result).toBe('All is done.');
    expect(program.endOf(run.continued).result).toBe('Nothing more.');
    expect([run.exitCode, run.requests.length]).toEqual([0, 5]);
  });

  if (program.name === 'claude-code')
    test('gets the input of each call as the model wrote it, to the byte', () => {
      const written = turnsOf(program, run.directory).flatMap(({ content }) =>
        content.flatMap((block) => (block.type === 'tool_use' ? [[block.name, block.input]] : [])),
      );
      // Gemini's inputs arrive as parsed JSON, so that whitespace between members is lost.
      const spaced =
        kind === 'gemini' ? written.map(([name, input = '']) => [name, JSON.stringify(JSON.parse(input))]) : written;
      expect(callsOf(run.printed)).toEqual(spaced as [string, string][]);
    });

  test('writes the file that the model wants, to the byte', () => {
    expect(readFileSync(join(run.directory, 'written.txt'), 'utf8')).toBe(WRITTEN);
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
    expect(run.records).toMatchObject(Array(5).fill({ ...turn, usage_source: 'reported', stream: true }));
    expect(program.endOf(run.printed).usage).toEqual({ input: 80, cacheRead: 400, output: 4 * output });
    expect(await run.turnpike.check()).toMatchObject({ ok: true, open_holds: 0, faults: [] });
  });

  test('connects only to the service', () => {
    expect(run.callsElsewhere).toEqual([]);
  });
}

function sendsRightRequests(program: AgentProgram, kind: Kind, run: () => AgentRun): void {
  test('has the results of its tools, also images and errors, matched to their calls', () => {
    const last = run().requests[program.omits === 'more' ? 3 : 4]?.body ?? '{}';
    for (const words of ['first line', PNG, 'No such file', `${Buffer.byteLength(WRITTEN)} written.txt`])
      expect([words, last.includes(words)]).toEqual([words, true]);
    const called = turnsOf(program, run().directory).flatMap(({ content }) =>
      content.flatMap((block) => (block.type === 'tool_use' ? [[block.name, true] as [string, boolean]] : [])),
    );
    expect(pairsOf(kind, JSON.parse(last))).toEqual(called);
  });

  const signature = signatures[kind];
  if (signature !== null)
    test('has thinking sent back with its signature, unchanged', () => {
      const isKept = program.omits === 'nothing' || (program.omits === 'thinking' && signature === SIGNATURE);
      const sent = run().requests.slice(2, isKept ? 5 : 4);
      expect(sent.map(({ body }) => body.includes(signature))).toEqual(sent.map(() => true));
    });

  test('stays on one of two equal routes through all of its turns, also after a restart', () => {
    const counts = run().routes.map(({ requests }) => requests.length);
    expect(Math.max(...counts)).toBeGreaterThanOrEqual(program.omits === 'more' ? 4 : 5);
  });

  test('has each turn sent with the same prefix as the one before, for the prompt cache', () => {
    const beginnings = run()
      .requests.slice(0, 4)
      .map(({ body }) => beginningOf(JSON.parse(body) as Json));
    for (const [place, one] of beginnings.slice(1).entries())
      expect([place, one.startsWith((beginnings[place] ?? '').slice(0, -2))]).toEqual([place, true]);
  });
}

function meetsFailures(program: AgentProgram): void {
  test(
    'reports an exhausted balance, and does not retry',
    async () => {
      await using run = await runAgent(program, 'anthropic', { credit: '0' });
      expect(JSON.stringify(run.printed)).toMatch(/balance/i);
      expect(run.requests).toEqual([]);
      const page = await (await run.turnpike.scrape()).text();
      expect(page).toContain('turnpike_refusals_total{code="insufficient_user_quota"} 1');
    },
    AGENT_MS_MAX,
  );

  test(
    'continues when an overloaded provider recovers',
    async () => {
      const refusesOnce = { isOf: () => true, play: scripts.overloaded() };
      await using run = await runAgent(program, 'anthropic', { refusesOnce });
      expect(program.endOf(run.printed).result).toBe('All is done.');
    },
    AGENT_MS_MAX,
  );
}

/**
 * Claude Code finds in the provider's own words what a model refuses, sends the request again without it, and leaves it out from then
 * on: what its release 2.1.332 looks for is in the words here.
 */
const RECOVERIES: readonly [
  what: string,
  words: string,
  isIn: (body: string) => boolean,
  settings?: Record<string, string>,
][] = [
  [
    'a type of thinking',
    'thinking.type.enabled: "enabled" is not supported for this model.',
    (body) => ((JSON.parse(body) as Json)['thinking'] as Json | undefined)?.['type'] === 'enabled',
  ],
  ['a signature', 'messages.3.content.0: Invalid `signature` in `thinking` block', (body) => body.includes(SIGNATURE)],
  [
    'a system message in the conversation',
    "messages.1.role: role 'system' is not supported on this model",
    (body) => ((JSON.parse(body) as Json)['messages'] as Json[]).some(({ role }) => role === 'system'),
    { CLAUDE_CODE_FORCE_MID_CONVERSATION_SYSTEM: '1' },
  ],
];

function recovers(program: AgentProgram): void {
  test.each(RECOVERIES)(
    'goes on without %s that the provider refuses',
    async (_, words, isIn, settings = {}) => {
      const isOf = ({ body }: { body: string }) => isIn(body);
      const refusesOnce = { isOf, play: scripts.refusedContent(words) };
      await using run = await runAgent(program, 'anthropic', { refusesOnce, settings });
      expect(run.routes[0]?.requests.filter(isOf)).toHaveLength(1);
      expect(program.endOf(run.printed).result).toBe('All is done.');
    },
    AGENT_MS_MAX,
  );
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
