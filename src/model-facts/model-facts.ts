// Facts about models that are data, each with its source and day, as prices are: models.json by model names, where the first match
// of a list applies, and claude-platforms.json by clouds. The last rows of each list are the defaults.

import { z } from 'zod';
import { type CamelCase, camelCase } from '../base/member-names.ts';
import platformsFile from './claude-platforms.json' with { type: 'json' };
import modelsFile from './models.json' with { type: 'json' };

/** In ascending order; `none` turns thinking off. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

const sourced = { source: z.string().min(10), as_of: z.iso.date() };
const pattern = z.string().transform((text, context) => {
  try {
    return new RegExp(text);
  } catch {
    context.addIssue('must be a regular expression');
    return z.NEVER;
  }
});
const tokens = z.int().min(0);
const ofModels = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.array(z.strictObject({ models: pattern, ...shape, ...sourced })).min(1);

const modelsSchema = z.strictObject({
  openai: ofModels({
    efforts: z.array(z.enum(EFFORTS)).describe('Empty: the model does not reason.'),
    chat_effort_with_tools: z.enum(['sent', 'left out', 'none', 'refused']).default('sent'),
  }),
  gemini: ofModels({
    output_tokens_streamed_max: tokens.describe('Output tokens of one call.'),
    output_tokens_max: tokens,
  }),
  gemini_thinking: ofModels({
    budget: z.strictObject({ least: tokens, from: tokens, most: tokens }).optional(),
    levels: z.strictObject({ lowest: z.string(), middle: z.string() }).optional(),
  }),
  thinking_by_default: ofModels({}).describe('Models that may think by default without showing it.'),
  gemini_without_sampling: ofModels({}),
  gemini_signatures: ofModels({}).describe('Models that refuse their own function calls without their signatures.'),
  claude: ofModels({
    thinks: z.enum(['adaptively', 'by budget', 'never']),
    takes_budget: z.boolean().describe('Thinking may have a budget in tokens.'),
    off: z
      .enum(['disabled', 'between_tools'])
      .nullable()
      .describe('The type of thinking that turns it off, or to its least; null: nothing does.'),
    efforts: z.enum(['all', 'no xhigh', 'none']),
    takes_sampling: z.boolean(),
    takes_both_sampling: z.boolean().describe('`temperature` and `top_p` together.'),
    takes_forced_call: z.boolean().describe('A call of a tool can be forced.'),
  }),
  claude_abilities: ofModels({
    images: z.boolean(),
    documents: z.boolean().describe('With citations.'),
    structured_outputs: z.boolean(),
    context_edits: z.boolean(),
  }),
});

const words = z.array(z.string());
const platformSchema = z.strictObject({
  body_version: z.string().nullable().describe('The API version that the body has; null: it is in a header.'),
  betas_in_body: z.boolean().describe('The body has a list of betas; otherwise they are in the header.'),
  fields: words.describe('Members of the body.'),
  betas: z
    .record(z.string(), z.strictObject({ as: z.string().optional(), models: pattern.optional() }))
    .describe(
      'Betas that it takes of the client’s: its own name for it, if that differs, and the models that take it.',
    ),
  tool_betas: z.array(z.tuple([pattern, z.string()])).describe('Betas that a tool of this type needs.'),
  tool_members: words.describe('Members of tools beyond the usual ones.'),
  web_search: z.string().nullable().describe('The only version of web search; null: any.'),
  edits: z.strictObject({ types: words, ...sourced }).describe('Edits of the context that it takes.'),
  server_tools: words.describe('Server tools by the beginning of their name.'),
  tool_changes: z.boolean().describe('Messages may add and remove tools.'),
  has_addresses: z.boolean().describe('It reads images and documents at addresses.'),
  has_files: z.boolean().describe('It has stored files.'),
  long_cache: z
    .strictObject({ models: pattern, ...sourced })
    .describe('Models whose cache may keep a prefix for an hour.'),
  ...sourced,
});
const platformsSchema = z.strictObject({ bedrock: platformSchema, vertex: platformSchema, foundry: platformSchema });

type Row<Given> = { readonly [Name in keyof Given as CamelCase<Name & string>]: Given[Name] };
type Lists = { [List in keyof z.output<typeof modelsSchema>]: Row<z.output<typeof modelsSchema>[List][number]>[] };
export type ClaudePlatform = keyof z.output<typeof platformsSchema>;
export type PlatformFacts = Row<z.output<typeof platformSchema>>;

function rowOf<Given extends object>(given: Given): Row<Given> {
  const members = Object.entries(given).map(([name, value]) => [camelCase(name), value]);
  return Object.freeze(Object.fromEntries(members));
}

const lists = Object.fromEntries(
  Object.entries(modelsSchema.parse(modelsFile)).map(([list, rows]) => [list, rows.map(rowOf)]),
) as Lists;
const platforms = Object.fromEntries(
  Object.entries(platformsSchema.parse(platformsFile)).map(([name, platform]) => [name, rowOf(platform)]),
) as Record<ClaudePlatform, PlatformFacts>;

/** The first row of a list that matches the name as the provider has it; null: none does. */
export function factsOf<List extends keyof Lists>(list: List, model: string): Lists[List][number] | null {
  return lists[list].find(({ models }) => models.test(model)) ?? null;
}

export function platformFacts(platform: ClaudePlatform): PlatformFacts {
  return platforms[platform];
}
