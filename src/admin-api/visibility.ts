// Strips what the operator hides from account holders. Schemas mark the members that name a provider, an upstream
// model, a group or a multiplier; each answer to an account holder is stripped by the schema of its route.

import { z } from '@hono/zod-openapi';
import {
  emptied,
  type Hidden,
  type Hideable,
  hiddenFromAccounts,
  hideableOf,
  NOTHING_HIDDEN,
  withoutHidden,
} from '../catalog/catalog.ts';
import { invalidMember } from './admin-app.ts';
import type { AdminDependencies, Principal } from './dependencies.ts';

type Mark = Hideable | 'untyped' | 'text';

/** By the definition of the schema, which its clones share. */
const marks = new WeakMap<object, Mark>();

/** A member that may be hidden: then a list is empty, and any other value null. */
export function hideable<Schema extends z.ZodArray | z.ZodNullable>(thing: Hideable, schema: Schema): Schema;
export function hideable<Schema extends z.ZodType>(thing: Hideable, schema: Schema): z.ZodNullable<Schema>;
export function hideable(thing: Hideable, schema: z.ZodType): z.ZodType {
  const isOwn = schema instanceof z.ZodArray || schema instanceof z.ZodNullable;
  const marked = isOwn ? schema : schema.nullable();
  marks.set(marked.def, thing);
  return marked;
}

/** JSON without a schema, from which members are removed by their names. */
export function untyped<Schema extends z.ZodType>(schema: Schema): Schema {
  marks.set(schema.def, 'untyped');
  return schema;
}

/** A message that may have the words of a provider. */
export function providerText<Schema extends z.ZodString>(schema: Schema): Schema {
  marks.set(schema.def, 'text');
  return schema;
}

/** The things that the principal does not see; undefined: a client without a token. */
export function hiddenFrom({ catalog }: Pick<AdminDependencies, 'catalog'>, principal: Principal | undefined): Hidden {
  return principal?.accountId === null ? NOTHING_HIDDEN : hiddenFromAccounts(catalog.current());
}

/** Query parameters whose values are dimensions. */
const DIMENSIONS = ['group_by', 'then_by', 'by'];

/** Refuses what would tell whether a hidden name is right. Throws invalid_request. */
export function refuseHidden(asked: object | undefined, { things }: Hidden): void {
  if (things.size === 0) return;
  for (const [name, value] of Object.entries(asked ?? {})) {
    if (value === undefined) continue;
    const thing = hideableOf(name);
    const isHidden = DIMENSIONS.includes(name)
      ? [value].flat().some((one) => things.has(one as Hideable))
      : thing !== null && things.has(thing);
    if (isHidden) throw invalidMember(name, 'is not available: the operator hides it from accounts');
  }
}

export type Strip = (value: unknown, hidden: Hidden) => unknown;

/** Strips answers of a schema; null if nothing in them can be hidden. */
export function stripperOf(schema: z.ZodType): Strip | null {
  const mark = marks.get(schema.def);
  if (mark === 'untyped') return withoutHidden;
  if (mark === 'text') return (value, hidden) => (typeof value === 'string' ? hidden.redact(value) : value);
  const inner = innerStripperOf(schema);
  if (mark === undefined) return inner;
  return (value, hidden) => {
    if (hidden.things.has(mark)) return emptied(value);
    return inner === null ? value : inner(value, hidden);
  };
}

function innerStripperOf(schema: z.ZodType): Strip | null {
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional)
    return stripperOf(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodArray) return membersStripper(stripperOf(schema.element as z.ZodType));
  if (schema instanceof z.ZodRecord) return valuesStripper(stripperOf(schema.valueType as z.ZodType));
  return schema instanceof z.ZodObject ? objectStripper(schema) : null;
}

function membersStripper(strip: Strip | null): Strip | null {
  if (strip === null) return null;
  return (value, hidden) => (Array.isArray(value) ? value.map((member) => strip(member, hidden)) : value);
}

function valuesStripper(strip: Strip | null): Strip | null {
  return strip && ((value, hidden) => mapped(value, (member) => strip(member, hidden)));
}

function objectStripper(schema: z.ZodObject): Strip | null {
  const strips = new Map<string, Strip>();
  for (const [name, member] of Object.entries(schema.shape)) {
    const strip = stripperOf(member as z.ZodType);
    if (strip !== null) strips.set(name, strip);
  }
  if (strips.size === 0) return null;
  return (value, hidden) =>
    mapped(value, (member, name) => {
      const strip = strips.get(name);
      return strip === undefined ? member : strip(member, hidden);
    });
}

function mapped(value: unknown, change: (member: unknown, name: string) => unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, change(member, name)]));
}
