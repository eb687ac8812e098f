// The recorded versions of stored shapes: a file for each table, with each version's shape as a JSON schema and documents of it.
// A recorded version never changes. record.ts adds one.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Glob } from 'bun';
import { z } from 'zod';
import { storedSchemas } from '../../../src/catalog/store.ts';
import { describeEvent, type EventType, eventTypes } from '../../../src/events/events.ts';
import { documents, storedDocuments } from '../../../src/storage/stored-documents.ts';

export interface Sample {
  stored: unknown;
  /** Value that the present reader returns. Absent: the same. */
  read?: unknown;
}

export interface ShapeVersion {
  version: number;
  shape: object;
  samples: Sample[];
}

/** By document: its versions, the present one last. */
export type Recorded = Record<string, ShapeVersion[]>;

export interface ShapedDocument {
  table: string;
  name: string;
  shape: object;
  read(text: string): unknown;
}

/** Every stored document, with the shape that the code has now. */
export function presentDocuments(): ShapedDocument[] {
  const fromSchema = (schema: z.ZodType) =>
    withoutLimits(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }));
  const ofCatalog = Object.entries(storedSchemas).map(([kind, schema]) => ({
    table: 'catalog',
    name: `document of ${kind}`,
    shape: fromSchema(schema),
    read: (text: string) => schema.parse(documents.catalog.read(text)),
  }));
  const ofEvents = (Object.keys(eventTypes) as EventType[]).map((type) => ({
    table: 'events',
    name: `document of ${type}`,
    shape: fromSchema(eventTypes[type].data),
    read: (text: string) => describeEvent({ type, data: documents.event.read(text) }),
  }));
  const others = storedDocuments.map(({ table, column, where, describe, read }) => ({
    table,
    name: where === null ? column : `${column} where ${where}`,
    shape: describe(),
    read,
  }));
  return [...others, ...ofCatalog, ...ofEvents];
}

const LIMITS = ['$schema', 'pattern', 'format', 'description', 'minimum', 'maximum', 'exclusiveMinimum'];
const LENGTHS = ['minLength', 'maxLength', 'minItems', 'maxItems', 'default', 'propertyNames'];

/** Limits are no part of a shape. */
function withoutLimits(schema: object): object {
  return JSON.parse(JSON.stringify(schema), (name, value) =>
    [...LIMITS, ...LENGTHS].includes(name) && !isMember(value) ? undefined : value,
  );
}

/** Whether it is the schema of a member with such a name. */
function isMember(value: unknown): boolean {
  return typeof value === 'object' && value !== null && ('type' in value || 'anyOf' in value);
}

export function readRecorded(): Record<string, Recorded> {
  const tables = [...new Glob('*.json').scanSync(import.meta.dir)].sort();
  return Object.fromEntries(
    tables.map((file) => [
      file.replace('.json', '').replaceAll('-', '_'),
      JSON.parse(readFileSync(pathOf(file), 'utf8')),
    ]),
  );
}

export function writeRecorded(table: string, recorded: Recorded): void {
  writeFileSync(pathOf(`${table.replaceAll('_', '-')}.json`), `${JSON.stringify(recorded, null, 2)}\n`);
}

function pathOf(file: string): string {
  return join(import.meta.dir, file);
}
