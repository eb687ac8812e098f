// The list of models in the form of Codex.

import { expect, test } from 'bun:test';
import { codexModelsBody, isForCodex } from '../../../../src/fronts/responses/codex-models.ts';

const listed = (data: object[]) =>
  (JSON.parse(codexModelsBody({ data } as never)) as { models: Record<string, unknown>[] }).models;

test('only requests of Codex get its form', () => {
  expect([isForCodex('?client_version=0.171.0'), isForCodex('?limit=1000')]).toEqual([true, false]);
});

test('a model has its name here, its context if that is known, and images unless one of its routes takes none', () => {
  const takes = (supported: boolean) => ({ image_input: { supported } });
  const models = listed([
    { id: 'a', display_name: 'A of the works', max_input_tokens: 1_000, capabilities: takes(true) },
    { id: 'b', display_name: '', max_input_tokens: null, capabilities: takes(false) },
    { id: 'c', display_name: 'C', max_input_tokens: null, capabilities: null },
  ]);
  expect(models).toMatchObject([
    { slug: 'a', display_name: 'A of the works', context_window: 1_000, input_modalities: ['text', 'image'] },
    { slug: 'b', display_name: 'b', input_modalities: ['text'] },
    { slug: 'c', display_name: 'C', input_modalities: ['text', 'image'] },
  ]);
  expect(models[1]).not.toHaveProperty('context_window');
});
