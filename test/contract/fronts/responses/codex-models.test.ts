// Guarantees of Responses alone: the list of models for Codex.

import { expect, test } from 'bun:test';
import { startFronts } from '../front-world.ts';

const world = await startFronts();

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
