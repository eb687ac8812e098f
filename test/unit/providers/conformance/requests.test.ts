// The request to every kind of provider, guarantee by guarantee: no part of the conversation or its parameters is
// lost, or it is refused with its path.

import { describe, expect, test } from 'bun:test';
import { DROPPED_MEMBERS, LOST_FIELDS } from '../../../../src/providers/lost-fields.ts';
import type { Block, Dialogue, Exchange } from './dialogue.ts';
import { type Driver, type Json, wireOf } from './driver.ts';
import { drivers } from './drivers.ts';
import { ask, attemptOf, json, TOOLS, takesStops } from './exchange.ts';
import { expectCarried } from './expect-complete.ts';
import type { Fact } from './facts.ts';
import { call, replyOf, type Segment, text, thinking } from './model-reply.ts';

const textBlock = (words: string): Block => ({ is: 'text', text: words, isCached: false });
const picture: Block = { is: 'image', media: 'image/png', data: 'iVBORw0KGgo=' };

function exchangeOf(answer: readonly Segment[], changes: Partial<Exchange> = {}): Exchange {
  const results = [{ content: 'seen', isError: false }];
  return {
    asked: [[textBlock('Go on')]],
    aside: null,
    answer: replyOf(answer),
    by: 0,
    results,
    isReversed: false,
    client: 'faithful',
    ...changes,
  };
}

function dialogueOf(exchanges: Exchange[], changes: Partial<Dialogue> = {}): Dialogue {
  return { system: 'Be kind.', exchanges, last: [textBlock('And now?')], ...changes };
}

async function carried(driver: Driver, dialogue: Dialogue): Promise<Fact[]> {
  return (await expectCarried(driver, dialogue)) ?? expect.unreachable();
}

/** The provider's body for these fields of a request; a fault if they are refused. */
async function sentOf(driver: Driver, members: Json): Promise<{ body: Json | null; refusal: string | null }> {
  const answer = () => json(driver.whole(replyOf([text('.')])));
  const { sent, fault } = await ask(driver, attemptOf(driver, members), answer);
  if (fault !== null && fault.kind !== 'rejected') throw fault;
  return { body: sent === null ? null : (JSON.parse(sent.body) as Json), refusal: fault?.message ?? null };
}

const twoCalls = [call('toolu_aaaa1', 'look', '{"at":1}'), call('toolu_bbbb2', 'get_weather', '{}')];

/** The tool choice in each protocol; null if it has none. */
function choicesOf(driver: Driver): Record<string, unknown> {
  const chosen = 'get_weather';
  switch (wireOf(driver)) {
    case 'anthropic':
      return {
        auto: { type: 'auto' },
        any: { type: 'any' },
        none: { type: 'none' },
        tool: { type: 'tool', name: chosen },
      };
    case 'bedrock':
      return { auto: { auto: {} }, any: { any: {} }, none: undefined, tool: { tool: { name: chosen } } };
    case 'gemini':
      return {
        auto: { mode: 'AUTO' },
        any: { mode: 'ANY' },
        none: { mode: 'NONE' },
        tool: { mode: 'ANY', allowedFunctionNames: [chosen] },
      };
    case 'openai-responses':
      return { auto: 'auto', any: 'required', none: 'none', tool: { type: 'function', name: chosen } };
    default:
      if (driver.name === 'openai (ollama)') return { auto: 'auto', any: null, none: undefined, tool: null };
      return { auto: 'auto', any: 'required', none: 'none', tool: { type: 'function', function: { name: chosen } } };
  }
}

describe.each(drivers.map((driver): [string, Driver] => [driver.name, driver]))('%s', (_name, driver) => {
  test('gets the system prompt, as one text or blocks, and system messages in the middle', async () => {
    for (const system of ['Be kind.', ['Be kind.', 'Be brief.']]) {
      const facts = await carried(
        driver,
        dialogueOf([exchangeOf([text('Yes.')], { aside: 'It is late.' })], { system }),
      );
      expect(facts.filter((fact) => 'by' in fact && fact.by === 'system').length).toBeGreaterThanOrEqual(
        typeof system === 'string' ? 1 : 2,
      );
    }
  });

  test('gets the results of several calls with their text, images and errors, and the text beside them', async () => {
    const results = [
      { content: [textBlock('It shows'), picture, textBlock('a cat')], isError: false },
      { content: 'No such city', isError: true },
      { content: null, isError: false },
    ];
    for (const isReversed of [false, true]) {
      const last = [textBlock('What do you see?'), picture];
      const facts = await carried(driver, dialogueOf([exchangeOf(twoCalls, { results, isReversed })], { last }));
      expect(facts.filter((fact) => 'attached' in fact)).toHaveLength(2);
      expect(facts.filter((fact) => 'result' in fact && fact.isError)).toHaveLength(1);
    }
  });

  test('gets its own thinking back as it sealed it, in every turn of a tool loop', async () => {
    const turn = (number: number) => [
      thinking(`Thought ${number}`, `SEAL${number}/+==`),
      { is: 'sealed' as const, seal: `HIDDEN${number}` },
      call(`toolu_turn${number}`, 'look', `{"turn":${number}}`, `CALLSEAL${number}`),
    ];
    const facts = await carried(driver, dialogueOf([1, 2, 3].map((number) => exchangeOf(turn(number)))));
    const received = facts.flatMap((fact) => ('seal' in fact && fact.seal !== null ? [fact.seal] : []));
    const expected = [1, 2, 3].flatMap((number) =>
      driver
        .back(driver.fit(replyOf(turn(number))))
        .flatMap((segment) => (segment.seal === null ? [] : [segment.seal])),
    );
    expect(received).toEqual(expected);
  });

  test('gets a distinct id for each call of a conversation, even if it repeats its own ids in every response', async () => {
    const again = [1, 2, 3].map(() => exchangeOf([call('call_same', 'look', '{}'), call('call_0', 'look', '{}')]));
    const facts = await carried(driver, dialogueOf(again));
    expect(facts.filter((fact) => 'result' in fact).map((fact) => 'result' in fact && fact.result)).toEqual([
      0, 1, 2, 3, 4, 5,
    ]);
  });

  test('never gets seals of another kind', async () => {
    const answer = [
      thinking('Theirs', 'FOREIGN/seal=='),
      text('Yes.'),
      call('toolu_theirs', 'look', '{"id":9223372036854775807}', 'FOREIGNCALL'),
    ];
    const facts = await carried(driver, dialogueOf([1, 2, 3].map((by) => exchangeOf(answer, { by }))));
    expect(facts.filter((fact) => 'seal' in fact && fact.seal !== null)).toEqual([]);
  });

  test('gets the limits and the format of the response, and hints are left out', async () => {
    const stops = takesStops(driver) ? { stop_sequences: ['END', 'STOP'] } : {};
    const { body } = await sentOf(driver, { max_tokens: 321, top_p: 0.25, ...stops });
    const { maxTokens, stopSequences, topP } = driver.parameters(body ?? {});
    expect(maxTokens).toBe(321);
    expect(stopSequences).toEqual(takesStops(driver) ? ['END', 'STOP'] : undefined);
    expect([0.25, undefined]).toContain(topP as number | undefined);
    if (!takesStops(driver))
      expect((await sentOf(driver, { stop_sequences: ['END'] })).refusal).toStartWith('stop_sequences: ');
  });

  test('gets the tools it may call, must call, or must not call', async () => {
    for (const [type, expected] of Object.entries(choicesOf(driver))) {
      const tool_choice = type === 'tool' ? { type, name: 'get_weather' } : { type };
      const { body, refusal } = await sentOf(driver, { tools: TOOLS, tool_choice });
      if (expected === null) expect(refusal).toStartWith('tool_choice: ');
      else expect([type, driver.parameters(body ?? {}).toolChoice]).toEqual([type, expected]);
    }
  });

  test('gets tools that the system adds in the middle of the conversation', async () => {
    const added = { type: 'tool_addition', tool: { definition: { name: 'later', input_schema: { type: 'object' } } } };
    const { body } = await sentOf(driver, {
      tools: TOOLS.slice(0, 1),
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'system', content: [added] },
      ],
    });
    if (driver.speaksMessages && driver.gathersTools !== true)
      expect(JSON.stringify(body)).toContain(JSON.stringify(added));
    else expect(driver.read(JSON.stringify(body)).tools.map(({ name }) => name)).toEqual(['look', 'later']);
  });

  test('gets cache breakpoints if its protocol has them, and none otherwise', async () => {
    const cache_control = { type: 'ephemeral' };
    const { body } = await sentOf(driver, {
      system: [{ type: 'text', text: 'Be kind.', cache_control }],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', cache_control }] }],
      tools: [{ ...TOOLS[0], cache_control }],
    });
    const count = JSON.stringify(body).split('"cache_control"').length - 1;
    expect(count).toBe(driver.speaksMessages ? 3 : driver.name === 'openai (openrouter)' ? 2 : 0);
  });

  test('gets tool schemas and numbers in the history with every digit', async () => {
    const input_schema = '{"type":"object","properties":{"id":{"type":"integer","maximum":9223372036854775807}}}';
    const used = '{"type":"tool_use","id":"toolu_1","name":"look","input":{"id":9223372036854775807,"far":1e400}}';
    const result = '{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"."}]}';
    const messages = `[{"role":"user","content":"Hi"},{"role":"assistant","content":[${used}]},${result}]`;
    const schema = `{"type":"json_schema","schema":${input_schema}}`;
    const format = driver.name.includes('deepseek') ? '' : `"output_config":{"format":${schema}},`;
    const request = `{"model":"m",${format}"max_tokens":100,"temperature":0.10000000000000000555,"tools":[{"name":"look","input_schema":${input_schema}}],"messages":${messages}}`;
    const answer = () => json(driver.whole(replyOf([text('.')])));
    const { sent } = await ask(driver, attemptOf(driver, request), answer);
    expect(sent?.body.split('9223372036854775807')).toHaveLength(format === '' ? 3 : 4);
    expect(sent?.body).toMatch(/far\\?":1e400/);
  });

  test('refuses unsupported parameters by name, and leaves out hints', async () => {
    if (driver.speaksMessages) return; // it supports every parameter
    const { refused, dropped } = LOST_FIELDS[wireOf(driver) as keyof typeof LOST_FIELDS];
    for (const name of Object.keys(refused)) {
      const pending = name === 'stop_sequences' ? ['END'] : [{ type: 'x' }];
      expect((await sentOf(driver, { [name]: pending })).refusal).toStartWith(`${name}: `);
      for (const nothing of name === 'stop_sequences' ? [null, []] : [null, [], {}])
        expect((await sentOf(driver, { [name]: nothing })).refusal).toBeNull();
    }
    const hint = { type: 'auto', name: 'a hint that is lost' };
    const members = Object.fromEntries(
      DROPPED_MEMBERS.filter((name) => name !== 'cache_control').map((name) => [name, hint]),
    );
    const fields = [...dropped, 'field_of_the_future'].filter((name) => !name.includes('.') && name !== 'top_k');
    const asked = {
      ...Object.fromEntries(fields.map((name) => [name, hint])),
      speed: 'standard',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', ...members }] }],
      tools: [{ ...TOOLS[0], ...members }],
    };
    const plain = { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }], tools: [TOOLS[0] as Json] };
    expect((await sentOf(driver, asked)).body).toEqual((await sentOf(driver, plain)).body);
  });
});
