// Earlier spoken answers in a conversation, named by their ids: whose they are, where they are sent, and what is held and charged.

import { afterAll, expect, test } from 'bun:test';
import { scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { sharedTurnpike } from '../../support/shared-turnpike.ts';
import { chatCompletions } from '../fronts/drivers/chat-completions.ts';
import { expectError } from '../fronts/front-world.ts';
import { type Caller, expectMoney, expectNoTrace, type Json, sharedWorld } from '../post-messages/world.ts';
import { findCanaries } from '../safety/encodings.ts';

const json = (value: unknown): string => JSON.stringify(value);
const answers = (value: unknown) => scripts.json(json(value));
const upstream = await startScriptedUpstream(answers({}));
const own = (more: Json) => ({ kind: 'openai', base_url: upstream.url, private_network: true, ...more });
const keys = (...names: string[]) => ({
  credentials: Object.fromEntries(names.map((name) => [name, { api_key: `key-${name}` }])),
});
const PRICE = { input: '2.5', output: '10', units: { audio_input: '32', audio_output: '64' } };
const model = (providers: string[], price: Json = PRICE) => ({
  price,
  max_output_tokens: 1_000,
  routes: providers.map((provider, priority) => ({ provider, model: 'gpt-audio', priority })),
});
const world = await sharedWorld({
  providers: {
    chat: own(keys('one', 'two')),
    other: own({ api_key: 'key-other' }),
    claude: own({ kind: 'anthropic', api_key: 'key-claude' }),
  },
  models: {
    talker: model(['chat']),
    both: model(['other', 'chat']),
    elsewhere: model(['other']),
    writer: model(['claude'], { input: '2.5', output: '10' }),
    unpriced: model(['chat'], { input: '2.5', output: '10', units: { audio_output: '64' } }),
  },
});
afterAll(async () => {
  await world.stop();
  await upstream.close();
});

const LATER = 4_000_000_000; // seconds
const spoken = (expires_at = LATER): Json => ({ id: 'audio_1', data: 'AAEC', transcript: 'Guten Morgen', expires_at });
const chat = (message: Json, [prompt, heard, output, said]: [number, number | null, number, number]): Json => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model: 'gpt-audio',
  choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: 'stop' }],
  usage: {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    ...(heard !== null && { prompt_tokens_details: { audio_tokens: heard } }),
    completion_tokens_details: { audio_tokens: said },
  },
});
const SPOKEN = { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'mp3' } };
const FIRST = { role: 'user', content: 'Speak' };
const ask = ({ secret }: Caller, members: Json = {}) =>
  fetch(`${world.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: json({ model: 'talker', max_completion_tokens: 100, messages: [FIRST], ...members }),
  });
const sent = (place = -1) => {
  const { headers, body } = upstream.requests.at(place) ?? { headers: {} as Record<string, string>, body: '{}' };
  return { key: headers['authorization'], messages: (JSON.parse(body) as Json)['messages'] as Json[] };
};
/** The second turn of a conversation whose first answer was spoken. */
const recall = (audio: Json, more: Json = {}): Json => ({
  messages: [FIRST, { role: 'assistant', audio, ...more }, { role: 'user', content: 'Again' }],
});
/** An independent receipt of the second turn, in dollars. */
const receipt = (text: number, heard: number, output: number) =>
  String(Number((text * 2.5 + heard * 32 + output * 10).toFixed(3)) / 1e6);
const FIRST_COST = String((3 * 2.5 + 12 * 10 + 48 * 64) / 1e6);

/** The id that a client gets for a spoken answer with 48 tokens of sound. */
async function speak(caller: Caller, audio: Json = spoken()): Promise<string> {
  upstream.play(answers(chat({ audio }, [3, 0, 60, 48])));
  const body = (await (await ask(caller, SPOKEN)).json()) as { choices: [{ message: { audio: Json } }] };
  const got = body.choices[0].message.audio;
  expect(got).toEqual({ ...audio, id: expect.stringMatching(/^audio_v1\.[\w-]+$/) });
  return String(got['id']);
}

/** A quarter more than the tokens of the answer, and the marks. */
const HEARD_MOST = 48 * 1.25 + 32;

test('an earlier spoken answer is sent by the id of its provider, to the credential that has it, and billed as sound', async () => {
  const caller = await world.makeKey();
  const records: Json[] = [];
  for (let turn = 0; turn < 4; turn++) {
    const id = await speak(caller);
    const { key } = sent();
    upstream.play(answers(chat({ content: 'Hello' }, [70, 55, 5, 0])));
    expect((await ask(caller, recall({ id }))).status).toBe(200);
    expect(sent()).toEqual({
      key,
      messages: [
        FIRST,
        { role: 'assistant', content: null, audio: { id: 'audio_1' } },
        { role: 'user', content: 'Again' },
      ],
    });
    const cost = receipt(15, 55, 5);
    records.unshift({ units: { input_audio_tokens: 55 }, input_tokens: 15, cost }, { cost: FIRST_COST });
  }
  await expectMoney(world, caller, records);
});

test.each<[string, number | null, number]>([
  ['does not count sound apart is billed by what the answer may have', null, HEARD_MOST],
  ['counts no sound has read it as text', 0, 0],
])('a provider that %s', async (_, reported, heard) => {
  const caller = await world.makeKey();
  const id = await speak(caller);
  upstream.play(answers(chat({ content: 'Hello' }, [200, reported, 5, 0])));
  expect((await ask(caller, recall({ id }))).status).toBe(200);
  await expectMoney(world, caller, [{ cost: receipt(200 - heard, heard, 5) }, { cost: FIRST_COST }]);
});

test('a message is refused unless the sound of earlier answers is payable', async () => {
  const caller = await world.makeKey({ credit: '0.008' });
  const id = await speak(caller); // leaves 0.0048005 USD: the sound costs up to 0.002944, a hundred tokens of an answer 0.001
  upstream.play(answers(chat({ content: 'Hello' }, [70, 55, 5, 0])));
  const few = { max_completion_tokens: 10 };
  const many = [recall({ id }), recall({ id })].flatMap(({ messages }) => messages as Json[]);
  await expectError(chatCompletions, await ask(caller, { messages: many, ...few }), 'insufficient_user_quota');
  expect((await ask(caller, { ...recall({ id }), ...few })).status).toBe(200);
  await expectMoney(world, caller, [{ cost: receipt(15, 55, 5), written_off: '0' }, { cost: FIRST_COST }], '0.008');
});

test('the id of a streamed answer follows its sound, and is sent like that of a whole one', async () => {
  const caller = await world.makeKey();
  const chunk = (delta: Json, more: Json = {}) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    model: 'gpt-audio',
    choices: [{ index: 0, delta, finish_reason: null }],
    ...more,
  });
  const { usage } = chat({}, [3, 0, 12, 4]);
  const pieces: Json[] = [
    { id: 'audio_1' },
    { id: 'audio_1', transcript: 'Guten ' },
    { transcript: 'Morgen', data: Buffer.alloc(9_600).toString('base64') },
    { expires_at: LATER },
  ];
  const end = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
  const chunks = [...pieces.map((audio) => chunk({ audio })), chunk({}, end), chunk({}, { choices: [], usage })];
  upstream.play(scripts.rawStream(`${chunks.map((one) => `data: ${json(one)}\n\n`).join('')}data: [DONE]\n\n`));
  const terms = { ...SPOKEN, audio: { voice: 'alloy', format: 'pcm16' } };
  const text = await (await ask(caller, { ...terms, stream: true })).text();
  const heard = text
    .split('\n')
    .flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6)).choices[0]?.delta.audio ?? []] : []))
    .flat();
  const [, , ...rest] = pieces;
  expect(heard).toEqual([{ transcript: 'Guten ' }, ...rest, { id: expect.stringMatching(/^audio_v1\./) }]);
  const { key } = sent();
  upstream.play(answers(chat({ content: 'Hello' }, [70, null, 5, 0])));
  expect((await ask(caller, recall({ id: heard.at(-1).id }))).status).toBe(200);
  expect(sent()).toMatchObject({ key, messages: [FIRST, { audio: { id: 'audio_1' } }, {}] });
  const most = Math.ceil(Math.ceil((1.5 * 12_800) / 3_200) * 1.25) + 32; // a half more than its PCM has
  const cost = String((3 * 2.5 + 8 * 10 + 4 * 64) / 1e6);
  await expectMoney(world, caller, [{ cost: receipt(70 - most, most, 5) }, { cost }]);
});

test('an id is refused like an unknown one if it is of another account, altered, or the provider’s own', async () => {
  const [owner, other] = [await world.makeKey(), await world.makeKey()];
  const id = await speak(owner);
  const altered = `${id.slice(0, -6)}${id.at(-6) === 'A' ? 'B' : 'A'}${id.slice(-5)}`;
  const messages = new Set<string>();
  const count = upstream.requests.length;
  for (const wrong of [id, altered, 'audio_1', 'audio_v1.', 'file-1', '']) {
    const audio = { id: wrong, transcript: 'Guten Morgen' };
    for (const members of [recall({ id: wrong }), recall(audio)]) {
      const response = await ask(wrong === id ? other : owner, members);
      messages.add(((await response.clone().json()) as { error: { message: string } }).error.message);
      await expectError(chatCompletions, response, 'invalid_request', 'messages.1.audio.id');
    }
  }
  expect(messages.size).toBe(1);
  const blocks = [{ type: 'audio', id: 'audio_1' }];
  for (const path of ['messages', 'messages/count_tokens']) {
    const response = await fetch(`${world.url}/v1/${path}`, {
      method: 'POST',
      headers: { 'x-api-key': owner.secret, 'content-type': 'application/json' },
      body: json({
        model: 'talker',
        max_tokens: 9,
        messages: [FIRST, { role: 'assistant', content: blocks }, FIRST],
      }),
    });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('messages.1.content.0.id: No such audio');
  }
  expect(upstream.requests.length).toBe(count);
  await expectNoTrace(world, other);
});

test('the id of a provider is in nothing that clients, account holders and operators get', async () => {
  const caller = await world.makeKey();
  const canary = { name: 'id', text: `canary${crypto.randomUUID().replaceAll('-', '')}` };
  const id = await speak(caller, { ...spoken(), id: canary.text });
  const other = await world.makeKey();
  upstream.play(answers(chat({ audio: { ...spoken(), id: canary.text } }, [70, 55, 60, 48])));
  const texts = {
    id,
    second: await (await ask(caller, { ...recall({ id }), ...SPOKEN })).text(),
    refused: await (await ask(other, recall({ id }))).text(),
    'without a route': await (await ask(caller, { ...recall({ id }), model: 'elsewhere' })).text(),
    records: json(await world.admin('GET', `/usage?account=${caller.account}`)),
  };
  expect(sent().messages[1]).toMatchObject({ audio: { id: canary.text } });
  expect(findCanaries(texts, [canary])).toEqual([]);
});

test('an id that is too long for a provider’s is left out', async () => {
  const caller = await world.makeKey();
  upstream.play(answers(chat({ audio: { ...spoken(), id: 'a'.repeat(513) } }, [3, 0, 60, 48])));
  const { choices } = (await (await ask(caller, SPOKEN)).json()) as { choices: [{ message: { audio: Json } }] };
  const { id: _, ...rest } = spoken();
  expect(choices[0].message.audio).toEqual(rest);
});

test('only the route that has an answer is tried, and its transcript is sent where there is none', async () => {
  const caller = await world.makeKey();
  const id = await speak(caller);
  const { key } = sent();
  const count = upstream.requests.length;
  upstream.play(scripts.error(500, 'api_error', 'broken'));
  await expectError(chatCompletions, await ask(caller, { ...recall({ id }), model: 'both' }), 'upstream_failed');
  expect(upstream.requests.length).toBe(count + 1);
  expect(sent()).toMatchObject({ key, messages: [FIRST, { audio: { id: 'audio_1' } }, {}] });
  const expectRefusal = async (members: Json, code: 'invalid_request' | 'feature_not_priced', path: string) =>
    expectError(chatCompletions, await ask(caller, members), code, path);
  for (const name of ['elsewhere', 'writer'])
    await expectRefusal({ ...recall({ id }), model: name }, 'invalid_request', 'messages.1.audio.id');
  await expectRefusal({ ...recall({ id }), model: 'unpriced' }, 'feature_not_priced', 'messages.1.audio.id');
  expect(upstream.requests.length).toBe(count + 1);
  upstream.play(answers(chat({ content: 'Hello' }, [20, null, 5, 0])));
  expect((await ask(caller, { ...recall({ ...spoken(), id }), model: 'unpriced' })).status).toBe(200);
  expect(sent().messages[1]).toEqual({ role: 'assistant', content: 'Guten Morgen' });
  for (const [audio, more] of [
    [{ id, transcript: 'Guten Morgen' }, {}],
    [{ id }, { content: 'Guten Morgen' }],
    [{ ...spoken(), id }, { content: null }],
  ] as const) {
    upstream.play(answers(chat({ content: 'Hello' }, [20, null, 5, 0])));
    expect((await ask(caller, { ...recall(audio, more), model: 'elsewhere' })).status).toBe(200);
    expect(sent()).toMatchObject({
      key: 'Bearer key-other',
      messages: [FIRST, { role: 'assistant', content: 'Guten Morgen' }, {}],
    });
  }
  upstream.play(scripts.good());
  expect((await ask(caller, { ...recall(spoken(), {}), ...recall({ ...spoken(), id }), model: 'writer' })).status).toBe(
    200,
  );
  expect(json(sent().messages)).toContain('Guten Morgen');
  expect(json(sent().messages)).not.toContain('audio');
  const { length } = upstream.requests;
  expect(length).toBe(count + 6);
});

test('an answer that has expired is refused by name, unless its transcript is there', async () => {
  const caller = await world.makeKey();
  const id = await speak(caller, spoken(1_000_000_000));
  const error = await ask(caller, recall({ id }));
  expect(await error.clone().text()).toContain('has expired');
  await expectError(chatCompletions, error, 'invalid_request', 'messages.1.audio.id');
  upstream.play(answers(chat({ content: 'Hello' }, [20, null, 5, 0])));
  expect((await ask(caller, recall({ id, transcript: 'Guten Morgen' }))).status).toBe(200);
  expect(sent().messages[1]).toEqual({ role: 'assistant', content: 'Guten Morgen' });
  await expectMoney(world, caller, [{ cost: receipt(20, 0, 5) }, { cost: FIRST_COST }]);
});

test('a text without an id is an answer in text, and answers in a row are messages of their own', async () => {
  const caller = await world.makeKey();
  const id = await speak(caller);
  upstream.play(answers(chat({ content: 'Hello' }, [70, 55, 5, 0])));
  const text = { role: 'assistant', audio: { transcript: 'Hm' } };
  const answer = { role: 'assistant', content: 'Beside', audio: { id } };
  const messages = [FIRST, text, FIRST, answer, { role: 'assistant', audio: { id } }, FIRST];
  expect((await ask(caller, { messages })).status).toBe(200);
  const audio = { id: 'audio_1' };
  expect(sent().messages).toEqual([
    FIRST,
    { role: 'assistant', content: 'Hm' },
    FIRST,
    { role: 'assistant', audio },
    { role: 'assistant', content: 'Beside', audio },
    FIRST,
  ]);
});

test('the sandbox speaks, and counts what it said before', async () => {
  const turnpike = await sharedTurnpike();
  const { secret, account } = await turnpike.makeKey({ name: 'recalling', credit: '1.00' });
  const say = async (messages: Json[]) => {
    const response = await fetch(`${turnpike.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: json({
        model: 'sandbox-voice',
        max_completion_tokens: 100,
        messages,
        ...SPOKEN,
        audio: { voice: 'a', format: 'wav' },
      }),
    });
    expect(response.status).toBe(200);
    return (await response.json()) as { choices: [{ message: { audio: Json } }]; usage: Json };
  };
  const { choices } = await say([{ role: 'user', content: 'Good morning' }]);
  const { id } = choices[0].message.audio;
  const { usage } = await say([FIRST, { role: 'assistant', audio: { id } }, { role: 'user', content: 'Thanks' }]);
  expect(usage).toMatchObject({ prompt_tokens: 6, prompt_tokens_details: { audio_tokens: 3 }, completion_tokens: 2 });
  const { data } = (await turnpike.admin('GET', `/usage?account=${account}`)) as { data: Json[] };
  expect(data[0]).toMatchObject({
    input_tokens: 3,
    units: { input_audio_tokens: 3, output_audio_tokens: 2 },
    cost: String((3 * 1 + 3 * 10 + 2 * 20) / 1e6),
  });
});
