// Traits of a model go by the model at any host, as far as the host lets them: each model at each family, with and without the
// vendor in its name.

import { describe, expect, test } from 'bun:test';
import { sealReasoning } from '../../../../src/protocols/thinking.ts';
import { convertMessages } from '../../../../src/providers/openai/convert-messages.ts';
import { ignoredFields } from '../../../../src/providers/openai/convert-request.ts';
import { chooseProfile } from '../../../../src/providers/openai/profile.ts';
import type { JsonObject } from '../../../../src/wire/wire.ts';
import { addresses, attemptAt, type Family } from './read-fixture.ts';

const families = Object.keys(addresses) as Family[];
const profileAt = (family: Family, model: string) => chooseProfile(addresses[family], model);
const namesOf = (vendor: string, models: readonly string[]) =>
  models.flatMap((model) => [model, model.toUpperCase(), `${vendor}/${model}`]);

describe('calls of Mistral’s models have ids of nine characters at every host', () => {
  test.each(namesOf('mistralai', ['mistral-large-2512', 'devstral-small', 'magistral-medium', 'ministral-8b']))(
    '%s',
    (model) => {
      for (const family of families) {
        const { toolIds, userAfterTools } = profileAt(family, model);
        expect([family, toolIds.madeCharacters, userAfterTools]).toEqual([family, 9, false]);
      }
    },
  );
});

const MEMBERS: Partial<Record<Family, string>> = {
  compatible: 'reasoning_content',
  cerebras: 'reasoning',
  ollama: 'reasoning',
};
const tools = [{ name: 'look', input_schema: { type: 'object' } }];

/** The assistant's messages of a tool loop that began with a thought and went on without. */
function loopAt(family: Family, model: string): JsonObject[] {
  const use = (id: string) => ({ type: 'tool_use', id, name: 'look', input: {} });
  const result = (id: string) => ({ role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'x' }] });
  const thinking = { type: 'thinking', thinking: 'I look.', signature: sealReasoning(model, []) };
  const messages = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: [thinking, use('toolu_a')] },
    result('toolu_a'),
    { role: 'assistant', content: [use('toolu_b')] },
    result('toolu_b'),
  ];
  return convertMessages({ tools, messages }, profileAt(family, model), model).filter(
    ({ role }) => role === 'assistant',
  );
}

describe('thinking goes back within a tool loop, in the member of the host', () => {
  const needed = [
    ...namesOf('deepseek-ai', ['deepseek-v3.2', 'deepseek-r1']),
    ...namesOf('moonshotai', ['kimi-k2-thinking']),
  ];
  const wanted = [
    ...namesOf('zai-org', ['glm-4.6', 'glm-4.7', 'zai-glm-4.7', 'glm-5']),
    ...namesOf('minimaxai', ['minimax-m2', 'minimax-m2.1']),
    ...namesOf('qwen', ['qwen3-32b', 'qwen-3.8-27b', 'qwen3:8b', 'qwq-32b']),
  ];
  test.each([...needed.map((model) => [model, true] as const), ...wanted.map((model) => [model, false] as const)])(
    '%s (also an empty one: %p)',
    (model, isNeeded) => {
      for (const family of ['compatible', 'cerebras', 'ollama'] as const) {
        const member = MEMBERS[family] as string;
        const [first, second] = loopAt(family, model);
        expect([family, first?.[member], second?.[member]]).toEqual([family, 'I look.', isNeeded ? '' : undefined]);
        for (const other of ['reasoning_content', 'reasoning'])
          if (other !== member) expect(first).not.toHaveProperty(other);
      }
    },
  );

  test.each(['llama-3.3-70b', 'qwen2.5-72b', 'qwen-7b-chat', 'glm-4-9b', 'chatglm-6b', 'mistral-large'])(
    'but not to %s',
    (model) => {
      for (const family of ['compatible', 'cerebras', 'ollama', 'groq'] as const)
        expect(JSON.stringify(loopAt(family, model))).not.toContain('"reasoning');
    },
  );
});

describe('a model of OpenAI that reasons', () => {
  test.each(namesOf('openai', ['gpt-5', 'gpt-5.5-mini', 'o3-mini', 'o4-mini-2025-04-16']))(
    '%s gets its effort and no sampling behind any compatible server',
    (model) => {
      for (const family of ['openai', 'azure', 'compatible'] as const) {
        const { thinking, sampling, efforts } = profileAt(family, model);
        expect([family, thinking, sampling.length, efforts.includes('high')]).toEqual([
          family,
          'reasoning_effort',
          0,
          true,
        ]);
      }
      expect(profileAt('openai', model)).toMatchObject({ systemRole: 'developer', stopMax: 0 });
      expect(profileAt('compatible', model)).toMatchObject({ systemRole: 'system', stopMax: Number.POSITIVE_INFINITY });
    },
  );

  test('names the sampling that it does not get', () => {
    const attempt = attemptAt('compatible', { model: 'openai/gpt-5', temperature: 0.3, top_p: 0.9 });
    const profile = chooseProfile(attempt.provider.baseUrl, attempt.upstreamModel);
    expect(ignoredFields(attempt, profile)).toEqual(['temperature', 'top_p']);
  });

  test.each(['gpt-4.1', 'gpt-5-chat-latest', 'gpt-oss-120b', 'olmo-3', 'phi-4'])('is not %s', (model) => {
    expect(profileAt('compatible', model).sampling).toEqual(['temperature', 'top_p']);
  });
});
