// Guarantees of Responses alone: sealed reasoning, and the header and the list of models of Codex.

import { describe, expect, test } from 'bun:test';
import { sealThinking } from '../../../../src/fronts/responses/sealed-thinking.ts';
import { scripts } from '../../../support/scripted-upstream.ts';
import { expectMoney, GOOD, type Json } from '../../post-messages/world.ts';
import { nativeResponses, REASONING } from '../drivers/native-responses.ts';
import { CREDENTIAL, postNative, startNative } from '../native-driver.ts';

const world = await startNative([nativeResponses]);
const { native } = world;

const sent = () => JSON.parse(native.requests.at(-1)?.body ?? '') as Json & { input: Json[] };
const answers = scripts.json(JSON.stringify(nativeResponses.answer));

describe('reasoning', () => {
  const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'c2lnbmVk' };
  const sealed = { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: sealThinking(thinking) };
  const text = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] };
  const stored = { type: 'reasoning', id: 'rs_3', summary: [] }; // names what another account may have stored
  const shown = {
    summary: [{ type: 'summary_text', text: 'Hm.' }],
    content: [{ type: 'reasoning_text', text: 'Hm.' }],
  };
  const withFile = { ...REASONING, ...shown, content: [...shown.content, { type: 'input_file', file_id: 'file-1' }] };
  const conversation = [
    { role: 'user', content: 'a' },
    REASONING,
    withFile,
    sealed,
    stored,
    text,
    { role: 'user', content: 'b' },
  ];

  test('goes back to the kind that it came from, and to no other', async () => {
    native.play(answers);
    world.upstream.play(scripts.good());
    const { secret } = await world.makeKey();
    expect(
      (await postNative(nativeResponses, world, secret, { model: 'own', members: { input: conversation } })).status,
    ).toBe(200);
    expect(sent().input.filter(({ type }) => type === 'reasoning')).toEqual([REASONING, { ...REASONING, ...shown }]);
    expect(
      (await postNative(nativeResponses, world, secret, { model: 'other', members: { input: conversation } })).status,
    ).toBe(200);
    const { messages } = JSON.parse(world.upstream.requests.at(-1)?.body ?? '') as { messages: Json[] };
    expect(messages[1]?.['content']).toEqual([thinking, { type: 'text', text: 'Hi' }]);
  });

  test('that another provider of the kind sealed is dropped, and the message is answered', async () => {
    const error = {
      type: 'invalid_request_error',
      code: 'invalid_encrypted_content',
      message: 'It could not be verified.',
    };
    native.play((answer, { body }) =>
      body.includes('gAAAA')
        ? answer.send(400, { 'content-type': 'application/json' }, JSON.stringify({ error }))
        : answers(answer, {} as never),
    );
    const caller = await world.makeKey();
    const response = await postNative(nativeResponses, world, caller.secret, {
      model: 'own',
      members: { input: conversation },
    });
    expect(await response.json()).toEqual(nativeResponses.answer);
    expect(sent().input.map(({ type, role }) => type ?? role)).toEqual(['user', 'message', 'user']);
    await expectMoney(world, caller, [GOOD]);
  });
});

test('the header that says where tools are is forwarded, and no other', async () => {
  native.play(answers);
  const { secret } = await world.makeKey();
  const lite = 'x-openai-internal-codex-responses-lite';
  await postNative(
    nativeResponses,
    world,
    secret,
    { model: 'own' },
    { headers: { [lite]: 'true', 'x-codex-turn-metadata': 'x' } },
  );
  expect(native.requests.at(-1)?.headers).toMatchObject({ [lite]: 'true', authorization: `Bearer ${CREDENTIAL}` });
  expect(native.requests.at(-1)?.headers).not.toHaveProperty('x-codex-turn-metadata');
  await postNative(nativeResponses, world, secret, { model: 'own' });
  expect(native.requests.at(-1)?.headers).not.toHaveProperty(lite);
});

test('Codex gets the list of models in the form that it reads, and others the usual one', async () => {
  const { secret } = await world.makeKey();
  const read = async (query: string) => {
    const headers = { authorization: `Bearer ${secret}` };
    return (await fetch(`${world.url}/v1/models${query}`, { headers })).json() as Promise<Record<string, unknown>>;
  };
  const { models } = (await read('?client_version=0.169.0')) as { models: Record<string, unknown>[] };
  expect(models.map(({ slug }) => slug)).toContain('plain');
  // Without any of these members, Codex ignores the whole list.
  for (const model of models)
    expect(model).toMatchObject({
      display_name: expect.any(String),
      supported_reasoning_levels: expect.any(Array),
      shell_type: 'unified_exec',
      visibility: 'list',
      supported_in_api: true,
      priority: 1,
      support_verbosity: false,
      truncation_policy: { mode: 'tokens', limit: 10_000 },
      experimental_supported_tools: [],
      base_instructions: expect.stringContaining('coding agent'),
    });
  expect(await read('')).toMatchObject({ object: 'list' });
});

test('input tokens are counted free of charge, and a wrong field is named', async () => {
  world.upstream.play(scripts.json('{"input_tokens":7}'));
  const caller = await world.makeKey();
  const count = (body: Json) =>
    fetch(`${world.url}/v1/responses/input_tokens`, {
      method: 'POST',
      headers: { authorization: `Bearer ${caller.secret}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const response = await count({ model: 'plain', input: 'Hi', instructions: 'Be brief.' });
  expect([response.status, await response.json()]).toEqual([200, { object: 'response.input_tokens', input_tokens: 7 }]);
  const sent = world.upstream.requests.at(-1);
  expect(sent?.path).toBe('/v1/messages/count_tokens');
  expect(JSON.parse(sent?.body ?? '')).toMatchObject({ system: [{ type: 'text', text: 'Be brief.' }] });
  const refused = await count({ model: 'plain', input: 7 });
  expect([refused.status, await refused.json()]).toMatchObject([400, { error: { param: 'input' } }]);
  await expectMoney(world, caller, []);
});
