// Makes answers from values of the code. The schema of an answer states its members, their order and their forms: `created_at`, a time,
// is the text of `createdAtMs`. Only members of the schema are in the answer.

import { z } from '@hono/zod-openapi';
import { type CamelCase, camelCase } from '../base/member-names.ts';

declare const form: unique symbol;

/** A text that the code has as a `Value`, in a member whose name ends with `Suffix` there. */
export type Encoded<Value, Suffix extends string = ''> = z.ZodString & { readonly [form]: [Value, Suffix] };

interface Form {
  encode: Encode;
  suffix: string;
}

type Encode = (value: unknown) => unknown;

/** By the definition of the schema, which its clones share. */
const forms = new WeakMap<object, Form>();

export function encoded<Value, const Suffix extends string = ''>(
  schema: z.ZodString,
  encode: (value: Value) => string,
  suffix?: Suffix,
): Encoded<Value, Suffix> {
  forms.set(schema.def, { encode: encode as Encode, suffix: suffix ?? '' });
  return schema as unknown as Encoded<Value, Suffix>;
}

type Inner<Schema> = Schema extends z.ZodNullable<infer Of> | z.ZodOptional<infer Of> ? Inner<Of> : Schema;
type SuffixOf<Schema> = Inner<Schema> extends { readonly [form]: [unknown, infer Suffix extends string] } ? Suffix : '';
type MembersOf<Shape> = {
  [Name in keyof Shape & string as `${CamelCase<Name>}${SuffixOf<Shape[Name]>}`]: ValueOf<Shape[Name]>;
};

/** The value that a schema encodes. */
export type ValueOf<Schema> = Schema extends { readonly [form]: [infer Value, string] }
  ? Value
  : Schema extends z.ZodNullable<infer Of>
    ? ValueOf<Of> | null
    : Schema extends z.ZodOptional<infer Of>
      ? ValueOf<Of> | undefined
      : Schema extends z.ZodArray<infer Of>
        ? readonly ValueOf<Of>[]
        : Schema extends z.ZodObject<infer Shape>
          ? MembersOf<Shape>
          : Schema extends z.ZodRecord<infer Names, infer Of>
            ? Readonly<Partial<Record<z.output<Names>, ValueOf<Of>>>>
            : z.output<Schema>;

/** Makes the JSON of values by this schema. */
export function encoderOf<Schema extends z.ZodObject>(schema: Schema): (value: ValueOf<Schema>) => z.output<Schema> {
  return membersEncoder(schema) as (value: unknown) => z.output<Schema>;
}

function membersEncoder(schema: z.ZodObject): Encode {
  const members = Object.entries(schema.shape).map(([name, member]) => {
    const { encode, suffix } = formOf(member as z.ZodType);
    return { name, from: camelCase(name) + suffix, encode };
  });
  return (given) => {
    const value = given as Record<string, unknown>;
    const json: Record<string, unknown> = {};
    for (const { name, from, encode } of members) {
      const member = value[from];
      json[name] = member == null ? member : encode(member);
    }
    return json;
  };
}

const asItIs: Encode = (value) => value;

function formOf(schema: z.ZodType): Form {
  const known = forms.get(schema.def);
  if (known !== undefined) return known;
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) return formOf(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodObject) return { encode: membersEncoder(schema), suffix: '' };
  if (schema instanceof z.ZodRecord) {
    const { encode } = formOf(schema.valueType as z.ZodType);
    const encodeMembers: Encode = (members) =>
      Object.fromEntries(Object.entries(members as object).map(([name, value]) => [name, encode(value)]));
    return { encode: encode === asItIs ? asItIs : encodeMembers, suffix: '' };
  }
  if (!(schema instanceof z.ZodArray)) return { encode: asItIs, suffix: '' };
  const { encode } = formOf(schema.element as z.ZodType);
  const encodeEach: Encode = (values) => (values as readonly unknown[]).map((value) => encode(value));
  return { encode: encode === asItIs ? asItIs : encodeEach, suffix: '' };
}
