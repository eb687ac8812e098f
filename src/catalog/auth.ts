// Credentials that are not given as a text: references to a file or a secret manager, and identities at a cloud. Stored in
// clear: the secret that a type needs is the provider's `api_key`, which is sealed.

import { z } from 'zod';
import { bounds } from '../config.ts';

const text = z
  .string()
  .min(1)
  .max(bounds.authCharactersMax)
  .regex(/^[^\p{Cc}\p{Cs}]*$/u, 'must not have control characters');
/** The member of a JSON object that has the secret; absent: the whole text is the secret. */
const field = text.exactOptional();
const role = {
  role_arn: text.regex(/^arn:[\w-]+:iam::\d{12}:role\/\S+$/, 'must be the ARN of a role').exactOptional(),
  external_id: text.exactOptional(),
};
const uuid = z.guid('must be a UUID');

const types = [
  z.strictObject({
    type: z.literal('env'),
    name: text.regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable'),
    field,
  }),
  z.strictObject({ type: z.literal('file'), path: text.regex(/^\//, 'must be an absolute path'), field }),
  z.strictObject({ type: z.literal('aws_secret'), secret: text, region: text.exactOptional(), field }),
  z.strictObject({
    type: z.literal('google_secret'),
    secret: text.regex(
      /^projects\/[^/\s]+\/secrets\/[\w-]+(\/versions\/\w+)?$/,
      'must be projects/PROJECT/secrets/NAME, with or without /versions/VERSION',
    ),
    field,
  }),
  z.strictObject({
    type: z.literal('azure_secret'),
    secret: z.url('must be the URL of a secret, such as https://NAME.vault.azure.net/secrets/NAME'),
    field,
  }),
  z.strictObject({
    type: z.literal('vault'),
    secret: text.regex(/^[\w.-]+(\/[\w.-]+)+$/, 'must be a path such as secret/data/turnpike'),
    field: text,
  }),
  z.strictObject({ type: z.literal('aws'), profile: text.exactOptional(), ...role }),
  z.strictObject({ type: z.literal('aws_keys'), access_key_id: text, ...role }),
  z.strictObject({
    type: z.literal('google'),
    path: text.regex(/^\//, 'must be an absolute path').exactOptional(),
  }),
  z.strictObject({ type: z.literal('google_key') }),
  z.strictObject({ type: z.literal('azure'), client_id: uuid.exactOptional() }),
  z.strictObject({ type: z.literal('azure_client'), tenant_id: uuid, client_id: uuid }),
] as const;

export const authInput = z.discriminatedUnion('type', types, {
  error: (issue) =>
    issue.code === 'invalid_union'
      ? `type must be one of ${types.map(({ shape }) => shape.type.value).join(', ')}`
      : undefined,
});
export type Auth = z.output<typeof authInput>;
export type AuthType = Auth['type'];

const WITH_SECRET: readonly AuthType[] = ['aws_keys', 'google_key', 'azure_client'];

/** Whether the type needs a secret in `api_key`; all others refuse one. */
export function needsSecret({ type }: Auth): boolean {
  return WITH_SECRET.includes(type);
}

const KINDS_OF_IDENTITIES: Readonly<Partial<Record<AuthType, string>>> = {
  aws: 'bedrock',
  aws_keys: 'bedrock',
  google: 'vertex',
  google_key: 'vertex',
  azure: 'foundry',
  azure_client: 'foundry',
};

/** The only provider kind that a type is for; null: any. */
export function kindOfAuth({ type }: Auth): string | null {
  return KINDS_OF_IDENTITIES[type] ?? null;
}
