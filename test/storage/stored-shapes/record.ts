// Records the present shape of each stored document that has changed as its next version, with documents of it:
//   sh bin/with-bun all test/storage/stored-shapes/record.ts

import { isDeepStrictEqual } from 'node:util';
import { rootDirectory } from '../../check.ts';
import { presentDocuments, readRecorded, type ShapedDocument, type ShapeVersion, writeRecorded } from './shapes.ts';

type Schema = Partial<{
  type: string;
  enum: unknown[];
  const: unknown;
  anyOf: Schema[];
  properties: Record<string, Schema>;
  required: string[];
  additionalProperties: Schema | false;
  items: Schema | false;
  prefixItems: Schema[];
}>;

const recorded = readRecorded();
for (const document of presentDocuments()) {
  const { table, name, shape } = document;
  const versions = recorded[table]?.[name] ?? [];
  const last = versions.at(-1);
  if (isDeepStrictEqual(last?.shape, shape)) continue;
  const version = (last?.version ?? 0) + 1;
  const next: ShapeVersion = { version, shape, samples: samplesOf(document) };
  recorded[table] = { ...recorded[table], [name]: [...versions, next] };
  writeRecorded(table, recorded[table]);
  console.log(
    `${table}, ${name}: version ${version}${next.samples.length === 0 ? ', to which you must add a sample' : ''}`,
  );
}
const biome = ['node_modules/@biomejs/biome/bin/biome', 'format', '--write', 'test/storage/stored-shapes'];
await Bun.spawn([process.execPath, ...biome], { cwd: rootDirectory, stdio: ['ignore', 'ignore', 'inherit'] }).exited;

/** As many documents as one choice in the shape has, so that each word, null and absent member is in one of them. */
function samplesOf({ shape, read }: ShapedDocument): ShapeVersion['samples'] {
  const count = choicesIn(shape);
  const samples = Array.from({ length: count }, (_, at) => sampleOf(shape, at));
  try {
    return samples.map((stored) => {
      const value = JSON.parse(JSON.stringify(read(typeof stored === 'string' ? stored : JSON.stringify(stored))));
      return isDeepStrictEqual(value, stored) ? { stored } : { stored, read: value };
    });
  } catch {
    return []; // it has rules beyond its shape
  }
}

function choicesIn(schema: Schema): number {
  const { anyOf = [], properties = {}, required = [], prefixItems = [], items, additionalProperties } = schema;
  const further = [items, additionalProperties].filter((one) => typeof one === 'object');
  const below = [...anyOf, ...Object.values(properties), ...prefixItems, ...further].map(choicesIn);
  const own = schema.enum?.length ?? (anyOf.length > 0 ? anyOf.length * Math.max(...anyOf.map(choicesIn)) : 1);
  return Math.max(own, ...below, Object.keys(properties).length > required.length ? 2 : 1);
}

function sampleOf(schema: Schema, at: number): unknown {
  if ('const' in schema) return schema.const;
  if (schema.enum !== undefined) return schema.enum[at % schema.enum.length];
  if (schema.anyOf !== undefined) {
    const { length } = schema.anyOf;
    return sampleOf(schema.anyOf[at % length] as Schema, Math.floor(at / length));
  }
  switch (schema.type) {
    case 'integer':
      return 7;
    case 'number':
      return 2.5;
    case 'string':
      return 'a text';
    case 'boolean':
      return at % 2 === 0;
    case 'null':
      return null;
    case 'array':
      if (schema.prefixItems !== undefined) return schema.prefixItems.map((one) => sampleOf(one, at));
      return [sampleOf(schema.items || {}, at)];
    case 'object':
      return sampleObject(schema, at);
    default:
      return 'anything';
  }
}

function sampleObject({ properties, required = [], additionalProperties }: Schema, at: number): object {
  if (properties === undefined) return { name: sampleOf(additionalProperties || {}, at) };
  const names = Object.keys(properties).filter((name) => at % 2 === 0 || required.includes(name));
  return Object.fromEntries(names.map((name) => [name, sampleOf(properties[name] as Schema, at)]));
}
