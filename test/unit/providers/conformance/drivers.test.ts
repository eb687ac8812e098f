// Every kind of provider is complete: it has a driver here, stands in the documentation, and has a preset.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { providerPresets } from '../../../../src/catalog/provider-presets.ts';
import { providerKinds } from '../../../../src/providers/providers.ts';
import { wireOf } from './driver.ts';
import { drivers, kinds } from './drivers.ts';

const textOf = (path: string) => readFileSync(join(import.meta.dir, '../../../..', path), 'utf8');

test('every kind that calls a provider has a driver', () => {
  const called = [...providerKinds.keys()].filter((kind) => kind !== 'sandbox').toSorted();
  expect([...new Set(drivers.map(({ kind }) => kind))].toSorted()).toEqual(called);
  expect(kinds.map(({ kind }) => kind).toSorted()).toEqual([...new Set(drivers.map(wireOf))].toSorted());
});

test('every kind is documented, and has a preset', () => {
  const isIn = (path: string, pattern: string) => new RegExp(pattern, 'm').test(textOf(path));
  for (const kind of providerKinds.keys())
    expect({
      kind,
      providers: isIn('docs/providers.md', `^\\| \\[?\`${kind}\``),
      configuration: isIn('docs/configuration.md', `\`${kind}\``),
      preset: providerPresets.some((preset) => preset.kind === kind),
    }).toEqual({ kind, providers: true, configuration: true, preset: true });
});
