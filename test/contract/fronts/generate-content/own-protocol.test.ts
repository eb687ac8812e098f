// Guarantees of Gemini's protocol alone at a provider of it: signatures, streams as one list, and counts of tokens.

import { expect, test } from 'bun:test';
import { encodeThinking } from '../../../../src/fronts/gemini/carried-thinking.ts';
import { scripts } from '../../../support/scripted-upstream.ts';
import { chunksOf } from '../../../unit/fronts/gemini/chunks.ts';
import { expectMoney, GOOD } from '../../post-messages/world.ts';
import { generateContent } from '../drivers/generate-content.ts';
import { nativeGemini } from '../drivers/native-gemini.ts';
import { post } from '../front-world.ts';
import { postNative, startNative, streamText } from '../native-driver.ts';

const world = await startNative([nativeGemini]);
const { native } = world;

test('a stream is relayed as one list where the client does not ask for events', async () => {
  const { begun, end } = nativeGemini.events(['Hello ', 'there, world!']);
  const stream = [...begun, ...end].join('');
  native.play(streamText(stream));
  const caller = await world.makeKey();
  const listing = { ...generateContent, path: () => '/v1beta/models/gemini-own:streamGenerateContent' };
  expect(await (await post(listing, world, caller.secret)).json()).toEqual(chunksOf(stream));
  await expectMoney(world, caller, [{ ...GOOD, outcome: 'completed' }]);
});

const called = (thoughtSignature: string) => ({
  contents: [
    { parts: [{ text: 'go' }] },
    { role: 'model', parts: [{ functionCall: { name: 'f', args: {} }, thoughtSignature }] },
    { parts: [{ functionResponse: { name: 'f', response: { output: 'done' } } }] },
  ],
});

test('another provider answers after a failure: it gets a message, and no signature of Google', async () => {
  native.play(scripts.overloaded());
  world.upstream.play(scripts.good());
  const { secret } = await world.makeKey();
  const response = await postNative(nativeGemini, world, secret, { model: 'either', members: called('R29vZ2xl') });
  expect(await response.json()).toMatchObject({ responseId: 'upstream' });
  expect(JSON.parse(world.upstream.requests.at(-1)?.body ?? '')).toMatchObject({
    messages: [
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'tool_use', name: 'f' }] },
      { role: 'user', content: [{ type: 'tool_result', content: 'done' }] },
    ],
  });
});

test('a provider of Gemini gets no thinking of another one as a signature', async () => {
  world.upstream.play(scripts.overloaded());
  native.play(scripts.json(JSON.stringify(nativeGemini.answer)));
  const { secret } = await world.makeKey();
  const carried = encodeThinking([{ type: 'thinking', thinking: 'Hm.', signature: 'c2ln' }]) as string;
  const { contents } = called(carried);
  const said = { role: 'model', parts: [{ text: 'Yes.' }, { text: '', thoughtSignature: carried }] };
  const members = { contents: [...contents, said, { parts: [{ text: 'And?' }] }] };
  const response = await postNative(nativeGemini, world, secret, { model: 'other', members });
  expect(await response.json()).toEqual(nativeGemini.answer);
  const sent = native.requests.at(-1)?.body ?? '';
  expect(sent).toContain('"thoughtSignature":"skip_thought_signature_validator"');
  expect(sent).not.toContain(carried);
  expect(JSON.parse(sent).contents[3].parts).toEqual([{ text: 'Yes.' }]);
});

test('tokens of the client’s own body are counted by the provider', async () => {
  native.play(scripts.json('{"totalTokens":777}'));
  const { secret } = await world.makeKey();
  const body = '{"contents":[{"parts":[{"text":"a\\u0020b"}]}]}';
  const counting = { ...generateContent, path: () => '/v1beta/models/gemini-own:countTokens' };
  const response = await post(counting, world, secret, {}, { body });
  expect(await response.json()).toEqual({ totalTokens: 777 });
  expect(native.requests.at(-1)).toMatchObject({
    path: '/v1beta/models/gemini-3-flash:countTokens',
    body: `{"generateContentRequest":${body.slice(0, -1)},"model":"models/gemini-3-flash"}}`,
  });
});
